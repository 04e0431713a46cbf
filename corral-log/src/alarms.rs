//! What makes the figures of an evaluation doubtful.

use crate::Evaluation;
use crate::blocks::FEW_UNITS;
use crate::units::contradict;

/// Fewer effective rows than this, or than a hundredth of the rows, are too few.
const FEW: f64 = 100.0;
/// A mean weight further from 1 than this is an alarm at any size of the log.
const FAR: f64 = 0.1;

pub(crate) fn of(evaluation: &Evaluation) -> Vec<String> {
    let (counts, options) = (&evaluation.counts, &evaluation.options);
    let mut alarms = Vec::new();
    if counts.used == 0 {
        alarms.push(format!("no decision could be used, of {}", counts.rows));
    }
    for (count, what) in [
        (counts.no_propensity, "no propensity, or an action that was not offered: they are left out"),
        (
            counts.no_outcome,
            "no outcome: they are left out, which is right only if that does not depend on the outcome",
        ),
        (counts.no_unit, "no unit: they are left out"),
        (counts.inexact, "a propensity that is an estimate: no interval accounts for its error"),
    ] {
        if count > 0 {
            alarms.push(format!("{count} of {} decisions have {what}", counts.rows));
        }
    }
    if counts.below_floor > 0 {
        alarms.push(format!(
            "{} propensities are below {}, the least is {}: few rows carry most of the weight",
            counts.below_floor, options.floor, counts.least
        ));
    }
    let units = evaluation.tallies.iter().map(|tally| tally.units.len()).max().unwrap_or(0);
    if options.units && counts.used > 0 && units < FEW_UNITS {
        alarms.push(match units {
            0 | 1 => "all decisions are of one unit: between units there is no interval".to_owned(),
            _ => format!(
                "there are {units} units: below {FEW_UNITS}, intervals miss more often than they promise"
            ),
        });
    }
    if counts.uneven {
        alarms.push("rows were kept with different probabilities: no interval is valid at any time".into());
    }
    let never: Vec<u32> = counts.never_played().collect();
    if !never.is_empty() && counts.used > 0 {
        let mut names: Vec<String> = never.iter().take(5).map(|a| evaluation.header.action(*a)).collect();
        if never.len() > names.len() {
            names.push("...".into());
        }
        alarms.push(format!(
            "the logger never took {} of the actions that it could take ({}): a policy that takes them cannot be valued",
            never.len(),
            names.join(", ")
        ));
    }
    for tally in &evaluation.tallies {
        let (name, sums) = (tally.policy.name(), &tally.sums);
        if tally.unknown > 0 {
            alarms.push(format!(
                "{name}: its probability is not known in {} of {} decisions: they are left out",
                tally.unknown, counts.used
            ));
        }
        let bounds = tally.sequence.as_ref().map(|sequence| sequence.interval(options.alpha));
        if bounds.is_some_and(|(low, high)| contradict(low, high)) {
            alarms.push(format!(
                "{name}: the bounds of its value contradict each other: probabilities of the log, or its own, are wrong"
            ));
        }
        let (rows, effective, mean) = (sums.rows() as f64, sums.effective(), sums.mean_weight());
        if rows == 0.0 {
            continue;
        }
        if effective < FEW.max(0.01 * rows) {
            alarms.push(format!("{name}: the effective sample size is {effective:.0}, of {rows} rows"));
        }
        // Var w = E w^2 - 1, as n (n/effective - 1) is up to the mean weight.
        let error = mean * ((1.0 / effective.max(1e-300) - 1.0 / rows).max(0.0)).sqrt();
        let off = (mean - 1.0).abs();
        if off > FAR || off > 0.01 && off > 4.0 * error {
            alarms.push(format!(
                "{name}: the mean weight is {mean:.3}, and should be 1: the propensities are wrong, or rare actions rule"
            ));
        }
    }
    alarms
}
