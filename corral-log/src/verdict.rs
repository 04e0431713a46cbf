//! Which policy is best, if that is decided.

use crate::Evaluation;
use crate::units::{Units, contradict};

pub(crate) fn of(evaluation: &Evaluation, units: Units) -> String {
    let (tallies, one_look) = (&evaluation.tallies, evaluation.options.units);
    if tallies.len() < 2 || evaluation.pairs.is_empty() || evaluation.counts.uneven && !one_look {
        return String::new();
    }
    let value = |at: usize| tallies[at].sums.ips().value;
    let name = |at: usize| tallies[at].policy.name();
    let usable: Vec<usize> = (0..tallies.len()).filter(|at| value(*at).is_finite()).collect();
    let Some(&best) = usable.iter().max_by(|a, b| value(**a).total_cmp(&value(**b))) else {
        return String::new();
    };
    // The best was picked by looking: its differences must hold together with all others.
    let alpha = evaluation.options.alpha / evaluation.pairs.len() as f64;
    // Of the best less each other: estimate, low, high, rows.
    let mut leads: Vec<(usize, f64, f64, f64, f64)> = Vec::new();
    for pair in evaluation.pairs.iter().filter(|p| (p.a == best || p.b == best) && p.rows > 0) {
        let (low, high) = evaluation.difference(pair, alpha);
        let mean = pair.mean();
        let rows = pair.rows as f64;
        leads.push(match pair.a == best {
            true => (pair.b, mean, low, high, rows),
            false => (pair.a, -mean, -high, -low, rows),
        });
    }
    if leads.iter().any(|(_, _, low, high, _)| contradict(*low, *high)) {
        return "nothing is decided: bounds contradict each other, so that probabilities of the log are wrong".to_owned();
    }
    // Between fewer than two units there is no interval.
    if leads.iter().any(|(_, _, low, high, _)| low.is_nan() || high.is_nan()) {
        return String::new();
    }
    let Some(&(second, mean, low, high, rows)) = leads.iter().min_by(|a, b| a.2.total_cmp(&b.2)) else {
        return String::new();
    };
    // Not -0.
    let size = |d: f64| figure(units.difference(d).abs() * d.signum() + 0.0);
    if low > 0.0 {
        let (nearest, mean, low, high, _) =
            *leads.iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(&(second, mean, low, high, rows));
        let within = leads.iter().map(|lead| lead.2).fold(f64::INFINITY, f64::min);
        return format!(
            "{} is best; better than {} by {} [{}, {}], valid {}; nothing else is within {}",
            name(best),
            name(nearest),
            size(mean),
            size(low),
            size(high),
            if one_look { "at one look that was fixed in advance" } else { "at any time" },
            size(within),
        );
    }
    // Intervals shrink as 1/sqrt(n).
    let short = (mean - low) / mean;
    let more = rows * (short * short - 1.0);
    let wait = match more.is_finite() && mean > 0.0 && more < 1e12 {
        true => format!("about {} more decisions at this rate", grouped(more)),
        false => "the estimates do not differ".to_owned(),
    };
    format!(
        "not decided yet between {} and {} ({} [{}, {}]): {wait}",
        name(best),
        name(second),
        size(mean),
        size(low),
        size(high),
    )
}

fn figure(value: f64) -> String {
    // Two figures of what is small, no more than four places of what is not.
    let places = if value == 0.0 { 2 } else { (2 - value.abs().log10().floor() as i32).clamp(0, 8) };
    format!("{value:.*}", places as usize)
}

/// A count to two figures, in thousands.
fn grouped(count: f64) -> String {
    let power = 10f64.powi((count.max(1.0).log10().floor() as i32 - 1).max(0));
    let digits = format!("{:.0}", (count / power).ceil() * power);
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}
