//! The page of an evaluation from a decision log.

use corral_log::{BINS, Look, Report, Validity, Weights};
use maud::{Markup, html};

use super::{Page, key, table};
use crate::chart::{Axis, AxisScale, Chart, Panel, Point, Series};
use crate::summary::number;
use crate::valuation::shown;

/// The page.
pub fn html(title: &str, report: &Report) -> String {
    let mut page = Page::default();
    let classes: Vec<String> = report.weights.iter().map(|w| page.palette.style(&w.policy).class()).collect();
    page.part("answer", "The answer in words", answer(report));
    page.part("alarms", "Alarms", alarms(report));
    page.part("values", "Values", Some(values(report, &classes)));
    page.part("differences", "Differences", differences(report));
    let drawn = over_time(&mut page, report);
    page.part("time", "Values over time", drawn);
    page.part("weights", "Weights", Some(weights(report, &classes)));
    let dropped = report.rows - report.used;
    page.whole(
        title,
        html! { p { (report.rows) " decisions, " (report.used) " used"
        @if dropped > 0 { ", " (dropped) " left out" }
        ", corral " (env!("CARGO_PKG_VERSION")) } },
    )
}

fn answer(report: &Report) -> Option<Markup> {
    (!report.verdict.is_empty()).then(|| html! { ul class="answer" { li { (report.verdict) } } })
}

fn alarms(report: &Report) -> Option<Markup> {
    (!report.alarms.is_empty()).then(|| {
        html! { @for alarm in &report.alarms { p class="note" { strong { "Alarm. " } (alarm) } } }
    })
}

fn cell(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), shown)
}

fn interval(low: Option<f64>, high: Option<f64>) -> String {
    if low.or(high).is_some() { format!("[{}, {}]", cell(low), cell(high)) } else { "–".to_owned() }
}

/// What rows of a table assume: each once, by a letter.
#[derive(Default)]
struct Assumptions<'a>(Vec<&'a str>);

impl<'a> Assumptions<'a> {
    /// The letter of an assumption.
    fn letter(&mut self, text: &'a str) -> String {
        let at = self.0.iter().position(|known| *known == text).unwrap_or_else(|| {
            self.0.push(text);
            self.0.len() - 1
        });
        letter(at)
    }

    fn list(&self) -> Markup {
        html! { ul { @for (at, text) in self.0.iter().enumerate() { li { b { (letter(at)) } " " (text) } } } }
    }
}

/// a, b, ..., and a number after z.
fn letter(at: usize) -> String {
    (b'a'..=b'z').nth(at).map_or_else(|| (at + 1).to_string(), |c| char::from(c).to_string())
}

fn values(report: &Report, classes: &[String]) -> Markup {
    let class = |policy: &str| report.weights.iter().position(|w| w.policy == policy).map(|i| &classes[i]);
    let mut assumptions = Assumptions::default();
    let lines = html! { @for v in &report.values {
        tr {
            td { @if let Some(class) = class(&v.policy) { (key(class)) } (v.policy) }
            td { (v.estimator.name()) }
            td { (cell(v.value)) }
            td { (interval(v.low, v.high)) }
            td { @if v.low.is_some() { (if v.kind == Validity::AnyTime { "any time" } else { "one look" }) } }
            td { (assumptions.letter(&v.assumes)) }
        }
    } };
    html! {
        (table(["policy", "estimator", "value", "interval", "valid", "assumes"], &lines))
        (assumptions.list())
    }
}

fn differences(report: &Report) -> Option<Markup> {
    let mut assumptions = Assumptions::default();
    let lines = html! { @for d in &report.differences {
        tr {
            td { (d.a) " less " (d.b) }
            td { (cell(d.value)) }
            td { (interval(d.low, d.high)) }
            td { (assumptions.letter(&d.assumes)) }
        }
    } };
    let one_look = report.differences.iter().any(|d| d.kind == Validity::FixedTime);
    let interval = if one_look { "interval, one look" } else { "interval, any time" };
    (!report.differences.is_empty()).then(|| {
        html! {
            (table(["difference", "value", interval, "assumes"], &lines))
            (assumptions.list())
        }
    })
}

/// Values and effective sample sizes, side by side.
fn over_time(page: &mut Page, report: &Report) -> Option<Markup> {
    let seen: Vec<&Weights> = report.weights.iter().filter(|w| w.looks.len() > 1).collect();
    if seen.is_empty() {
        return None;
    }
    let shown: Vec<(String, String)> =
        seen.iter().map(|w| (w.policy.clone(), page.palette.style(&w.policy).class())).collect();
    let value = |look: &Look| Point {
        x: look.rows as f64,
        y: look.value,
        low: if look.low.is_nan() { look.value } else { look.low },
        high: if look.high.is_nan() { look.value } else { look.high },
    };
    let effective = |look: &Look| Point::new(look.rows as f64, look.effective);
    let values = "Bands are intervals that are valid at any time.";
    let worth = "How many rows of the policy's own the log is worth: (sum w)^2/sum w^2. A step down is one row with a huge weight.";
    let figures = [
        drawn(page, &seen, "Value", "IPS, reward in [0, 1]", values, &value),
        drawn(page, &seen, "Effective sample size", "rows", worth, &effective),
    ];
    let names = shown.iter().map(|(name, class)| (name.as_str(), class.as_str()));
    Some(html! { (super::world::legend(names)) div class="charts" { @for figure in &figures { (figure) } } })
}

fn drawn(
    page: &mut Page,
    seen: &[&Weights],
    title: &str,
    axis: &str,
    caption: &str,
    point: &dyn Fn(&Look) -> Point,
) -> Markup {
    let series = seen.iter().map(|w| {
        let points = w.looks.iter().filter(|look| look.value.is_finite()).map(point).collect();
        Series::line(&w.policy, page.palette.style(&w.policy), points)
    });
    let panel = Panel::only(series.collect());
    let linear = |name: &str| Axis::new(name, AxisScale::Linear);
    page.figure(&Chart::new(title, caption, linear("decisions"), linear(axis), vec![panel]))
}

fn weights(report: &Report, classes: &[String]) -> Markup {
    let mut heads: Vec<String> =
        vec!["policy".into(), "rows".into(), "effective".into(), "mean".into(), "largest".into()];
    let counted = |w: &Weights| w.bins.iter().sum::<u64>() > 0;
    let bins = report.weights.iter().any(counted);
    if bins {
        heads.push("0".into());
        heads.extend(BINS[1..].iter().map(|edge| format!("to {edge}")));
        heads.push("above".into());
    }
    let lines = html! { @for (w, class) in report.weights.iter().zip(classes) {
        tr {
            td { (key(class)) (w.policy) }
            td { (w.rows) }
            td { (format!("{:.0}", w.effective)) }
            td { (w.mean.map_or("–".to_owned(), number)) }
            td { (number(w.largest)) }
            @if bins { @for count in &w.bins { td { (count) } } }
        }
    } };
    html! {
        p { "A weight is the probability of the action under the policy, divided by the logger's. The mean weight should be 1. "
            "The further columns count weights by size." }
        (table(heads.iter().map(String::as_str), &lines))
    }
}
