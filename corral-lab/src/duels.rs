//! Who does better than whom on real data: wins and losses by the test of the contextual bandit bake-off.
//!
//! Bietti, Agarwal, Langford 2021: on a data set of n rows, a loses to b when
//! 1 - Phi((p_a - p_b)/sqrt(p_a (1 - p_a)/n + p_b (1 - p_b)/n)) < 0.05, with p the progressive validation loss. Here p is
//! the mean over seeds, and n stays the number of rows: the seeds play the same rows.

use serde::Serialize;

use crate::spec::{Spec, distinct};
use crate::summary::SummaryRow;

/// The 95% quantile of the normal distribution.
const ONE_SIDED_95: f64 = 1.644_853_6;

/// A learner against all the others, over the data sets.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Duels {
    /// The learner's label.
    pub label: String,
    /// Data sets won, over all opponents.
    pub wins: u64,
    /// Data sets lost, over all opponents.
    pub losses: u64,
    /// Data sets on which it wins against the best base of the set, picked per set after the fact.
    pub wins_over_best: u64,
    /// Data sets on which it loses against the best base of the set.
    pub losses_to_best: u64,
    /// Wins less losses against each learner, in the order of the list.
    pub net: Vec<i64>,
}

/// Whether a mean 0/1 loss of `a` is larger than one of `b`, each over `n` rounds, by more than chance explains.
pub fn loses(a: f64, b: f64, n: f64) -> bool {
    let variance = (a * (1.0 - a) + b * (1.0 - b)) / n;
    // Two losses without variance differ for sure, or not at all.
    a > b && (a - b) > ONE_SIDED_95 * variance.max(0.0).sqrt()
}

/// Every learner against every other on the data sets of `spec`; empty where there are fewer than two.
pub fn duels(spec: &Spec, rows: &[SummaryRow]) -> Vec<Duels> {
    let sets: Vec<&str> =
        spec.environments.iter().filter(|e| e.name == "dataset").map(|e| e.label.as_str()).collect();
    let rounds = spec.rounds.iter().max();
    let labels = distinct(spec.learners.iter().map(|l| l.label.as_str()));
    // Of one set the words say it, corrected for all pairs.
    if sets.len() < 2 || labels.len() < 2 {
        return Vec::new();
    }
    let on = |set: &str, label: &str| {
        let here = |r: &&SummaryRow| r.environment == set && r.label == label && Some(&r.rounds) == rounds;
        rows.iter().find(here).filter(|r| r.loss.mean.is_finite())
    };
    let best = |set: &str| {
        let alone = rows.iter().filter(|r| r.environment == set && r.alone && Some(&r.rounds) == rounds);
        alone.filter(|r| r.loss.mean.is_finite()).min_by(|a, b| a.loss.mean.total_cmp(&b.loss.mean))
    };
    let mut found: Vec<Duels> = labels
        .iter()
        .map(|label| Duels { label: (*label).to_owned(), net: vec![0; labels.len()], ..Duels::default() })
        .collect();
    for set in &sets {
        for (i, a) in labels.iter().enumerate() {
            let Some(mine) = on(set, a) else { continue };
            let verdict = |other: &SummaryRow| {
                let n = mine.played.min(other.played) as f64;
                i64::from(loses(other.loss.mean, mine.loss.mean, n))
                    - i64::from(loses(mine.loss.mean, other.loss.mean, n))
            };
            for (j, b) in labels.iter().enumerate().filter(|(j, _)| *j != i) {
                let net = on(set, b).map_or(0, verdict);
                found[i].net[j] += net;
                found[i].wins += u64::from(net > 0);
                found[i].losses += u64::from(net < 0);
            }
            let net = best(set).map_or(0, verdict);
            found[i].wins_over_best += u64::from(net > 0);
            found[i].losses_to_best += u64::from(net < 0);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_is_that_of_the_bake_off() {
        // 0.20 against 0.18 over 1,000 rounds: z = 0.02/sqrt((0.16 + 0.1476)/1000) = 1.14; over 5,000: 2.55.
        assert!(!loses(0.20, 0.18, 1000.0));
        assert!(loses(0.20, 0.18, 5000.0));
        assert!(!loses(0.18, 0.20, 5000.0));
        // The bound itself: z = 1.6449 is 0.05.
        let n = |z: f64| z * z * (0.16 + 0.1476) / (0.02 * 0.02);
        assert!(!loses(0.20, 0.18, n(1.6448)) && loses(0.20, 0.18, n(1.6450)));
        let two_sided = |a: f64, b: f64, n: f64| {
            let variance = (a * (1.0 - a) + b * (1.0 - b)) / n;
            crate::over_rows::Gap { gap: b - a, variance, freedom: f64::INFINITY }.p()
        };
        assert!((two_sided(0.20, 0.18, n(1.6449)) - 0.1).abs() < 1e-4 && two_sided(0.3, 0.3, 10.0) == 1.0);
        assert_eq!(two_sided(1.0, 0.0, 5.0), 0.0);
        assert!(loses(1.0, 0.0, 1.0) && !loses(0.3, 0.3, 1e9) && !loses(f64::NAN, 0.3, 10.0));
    }
}
