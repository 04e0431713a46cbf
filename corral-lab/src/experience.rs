//! What a run says of its bases, as a prior for later runs (docs/experience.md).

use crate::summary::SummaryRow;

/// What a run says of a base.
#[derive(Debug, Clone, PartialEq)]
pub struct Lesson {
    /// The base's label.
    pub base: String,
    /// Its mean reward per round less that of all bases alone, over the environments.
    pub relative: f64,
    /// How many plays in a new environment that is worth.
    pub plays: f64,
}

/// The variance of a loss in [0, 1], at most.
const NOISE: f64 = 0.25;
/// What one environment is worth, which cannot say how much of it carries over.
const UNSURE: f64 = 10.0;
/// What no number of environments is worth more than.
const MOST: f64 = 1_000.0;

/// The mean loss of a base alone in an environment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alone<'a> {
    /// The environment, and its horizon.
    pub environment: (&'a str, u64),
    /// The base's label.
    pub base: &'a str,
    /// Per round.
    pub loss: f64,
}

/// What the rows of a summary say of bases alone.
pub fn alone(rows: &[SummaryRow]) -> Vec<Alone<'_>> {
    let mut all = Vec::new();
    for SummaryRow { environment, rounds, label, loss, .. } in rows.iter().filter(|row| row.alone) {
        if loss.mean.is_finite() {
            all.push(Alone { environment: (environment, *rounds), base: label, loss: loss.mean });
        }
    }
    all
}

/// What the bases that ran alone say, in the order in which they ran.
///
/// rel_i is the mean over environments e of r_ie = mean_j loss_je - loss_ie. In a new environment the relative reward has the
/// variance tau^2 (1 + 1/E) around it, with tau^2 the variance of r_ie over the E environments, pooled over the bases: as much as
/// the mean of sigma^2/(tau^2 (1 + 1/E)) losses, whose number are the plays.
pub fn lessons(alone: &[Alone<'_>]) -> Vec<Lesson> {
    let level = |environment| {
        let here = || alone.iter().filter(|one| one.environment == environment).map(|one| one.loss);
        here().sum::<f64>() / here().count() as f64
    };
    let mut seen: Vec<(&str, Vec<f64>)> = Vec::new();
    for one in alone {
        let relative = level(one.environment) - one.loss;
        match seen.iter_mut().find(|(base, _)| *base == one.base) {
            Some((_, all)) => all.push(relative),
            None => seen.push((one.base, vec![relative])),
        }
    }
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    let squares = |all: &[f64]| all.iter().map(|r| (r - mean(all)).powi(2)).sum::<f64>();
    let freedom: usize = seen.iter().map(|(_, all)| all.len() - 1).sum();
    let carried = seen.iter().map(|(_, all)| squares(all)).sum::<f64>() / freedom as f64;
    let lesson = |(base, all): (&str, Vec<f64>)| {
        let worth = NOISE / (carried * (1.0 + 1.0 / all.len() as f64));
        let plays = if freedom == 0 { UNSURE } else { worth.min(MOST) };
        Lesson { base: base.to_owned(), relative: mean(&all), plays }
    };
    seen.into_iter().map(lesson).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_worth_what_its_environments_agree_on() {
        let one = |environment, base, loss| Alone { environment: (environment, 100), base, loss };
        let rows = [one("x", "a", 0.1), one("x", "b", 0.3), one("y", "a", 0.5), one("y", "b", 0.9)];
        let found = lessons(&rows);
        // r_a = 0.1 and 0.2, r_b = -0.1 and -0.2: tau^2 = (0.005 + 0.005)/2, and 0.25/(0.005 (1 + 1/2)) plays.
        let expected = [("a", 0.15), ("b", -0.15)];
        for (lesson, (base, relative)) in found.iter().zip(expected) {
            assert_eq!(lesson.base, base);
            assert!((lesson.relative - relative).abs() < 1e-12, "{lesson:?}");
            assert!((lesson.plays - 0.25 / 0.0075).abs() < 1e-9, "{lesson:?}");
        }
        assert_eq!(found.len(), 2);
        // One environment cannot say how much carries over.
        assert!(lessons(&rows[..2]).iter().all(|lesson| lesson.plays == UNSURE));
        assert_eq!(lessons(&[]), []);
    }
}
