//! What an evaluation found.

use serde::Serialize;

use crate::blocks::{self, Block};
use crate::evaluate::{Evaluation, Tally};
use crate::fixed_time::{Estimate, from_below, quantile};
use crate::robust::Robust;
use crate::units::Units;
use crate::{Counts, Estimator, Look, Motion, alarms, verdict};

/// Whether an interval holds for one look or for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Validity {
    /// For one look, at a time that was fixed in advance.
    FixedTime,
    /// However often one looks, and whenever one stops.
    AnyTime,
}

/// A value of a policy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Value {
    /// The policy.
    pub policy: String,
    /// The estimator.
    pub estimator: Estimator,
    /// The value; none where no row could be used.
    pub value: Option<f64>,
    /// The lower end of its interval; none where there is no interval.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// When the interval holds.
    pub kind: Validity,
    /// What must be true for it.
    pub assumes: String,
}

/// The difference of two policies: a less b.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The first policy.
    pub a: String,
    /// The second.
    pub b: String,
    /// The value of a less that of b.
    pub value: Option<f64>,
    /// The lower end of its interval.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// When the interval holds: at any time, or between units at one look.
    pub kind: Validity,
    /// What must be true for it.
    pub assumes: String,
}

/// The weights of a policy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Weights {
    /// The policy.
    pub policy: String,
    /// The rows that it could be valued by.
    pub rows: u64,
    /// The effective sample size.
    pub effective: f64,
    /// The mean weight.
    pub mean: Option<f64>,
    /// The largest.
    pub largest: f64,
    /// How many weights are 0, then up to each edge of [`BINS`](crate::BINS), then above, where looks were asked for.
    #[serde(skip)]
    pub bins: Vec<u64>,
    /// The policy over time, where looks were asked for.
    #[serde(skip)]
    pub looks: Vec<Look>,
}

/// What an evaluation found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Decisions that were read.
    pub rows: u64,
    /// Decisions that were used.
    pub used: u64,
    /// What makes the figures doubtful.
    pub alarms: Vec<String>,
    /// The values.
    pub values: Vec<Value>,
    /// The differences.
    pub differences: Vec<Difference>,
    /// Which policy is best, if that is decided.
    pub verdict: String,
    /// The weights of every policy.
    pub weights: Vec<Weights>,
    /// Whether larger values are better.
    pub larger_is_better: bool,
    /// What happened to the rows.
    #[serde(skip)]
    pub counts: Counts,
}

fn known(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

const ONE_LOOK: &str = "one look, at a time that was fixed in advance; many rows";
const ONE_LOOK_BETWEEN_UNITS: &str =
    "one look, at a time that was fixed in advance; many units, which do not depend on each other";
const NO_INTERVAL: &str = "no interval";
/// What its bounds would need is the error of the model: `dr` estimates that.
const DIRECT: &str =
    "the model is right; no interval, as the error of the model is not known (dr corrects it)";
const STILL: &str = "the policy and the environment do not change";
const MOVES: &str = "nothing stands still: the policy may learn, rewards may drift";

impl Evaluation {
    /// What was found so far. `notes` are alarms about the lines of the log themselves.
    pub fn report(&mut self, notes: Vec<String>) -> Report {
        if self.options.looks
            && self.tallies.iter().all(|t| t.looks.last().is_none_or(|l| l.rows < self.counts.used))
        {
            self.look();
        }
        let units = Units::of(&self.header);
        let mut values = Vec::new();
        self.tallies.iter().for_each(|tally| self.values(tally, units, &mut values));
        let mut alarms = notes;
        alarms.extend(alarms::of(self));
        alarms.extend(without_width(&values));
        Report {
            rows: self.counts.rows,
            used: self.counts.used,
            alarms,
            values,
            differences: self.differences(units),
            verdict: verdict::of(self, units),
            weights: self.tallies.iter().map(weights).collect(),
            larger_is_better: units.0.rewards,
            counts: self.counts.clone(),
        }
    }

    fn values(&self, tally: &Tally, units: Units, into: &mut Vec<Value>) {
        let options = &self.options;
        let mut row = |estimator, value: f64, low: f64, high: f64, kind, assumes: &str| {
            let (low, high) = units.interval(low, high, Units::value);
            into.push(Value {
                policy: tally.policy.name().to_owned(),
                estimator,
                value: known(units.value(value)),
                low: known(low),
                high: known(high),
                kind,
                assumes: assumes.to_owned(),
            });
        };
        let z = quantile(options.alpha);
        let none = (f64::NAN, f64::NAN);
        let mut fixed = |estimator, value: f64, (low, high): (f64, f64), assumes: &str| {
            row(estimator, value, low, high, Validity::FixedTime, assumes);
        };
        let sums = &tally.sums;
        // Rows, or the sums of units.
        let from_below =
            |[earned, lost]: [Estimate; 2], of: fn(&Block) -> ([f64; 2], f64)| match options.units {
                true => blocks::interval(&tally.units, of, options.alpha),
                false => from_below(earned, lost, z),
            };
        let one_look = one_look(options.units);
        for &estimator in &options.estimators {
            let robust = tally.robust.as_ref().filter(|_| tally.without_distribution < sums.rows().max(1));
            match (estimator, robust) {
                (Estimator::Ips, _) => {
                    let interval = from_below([sums.ips(), sums.ips_lost()], |b| (b.plain, b.rows));
                    fixed(estimator, sums.ips().value, interval, one_look);
                }
                (Estimator::Snips, _) => {
                    let interval = match options.units {
                        true => blocks::ratio(&tally.units, options.alpha),
                        false => sums.ratio().interval(z),
                    };
                    let assumes = format!("{one_look}; the value is biased by a term that shrinks as 1/n");
                    fixed(estimator, sums.snips(), interval, &assumes);
                }
                (Estimator::Clipped, _) => {
                    let assumes = format!("{one_look}; {}", too_small(options.clip));
                    let interval = from_below([sums.clipped(), sums.clipped_lost()], |b| (b.clipped, b.rows));
                    fixed(estimator, sums.clipped().value, interval, &assumes);
                }
                (Estimator::CressieRead, _) => {
                    let value = "the value: mass that is missing earns what the log earned";
                    let (interval, assumes) = match options.units {
                        true => (none, format!("{NO_INTERVAL} between units (snips has one); {value}")),
                        false => (
                            sums.likelihood().interval(options.alpha),
                            format!("{ONE_LOOK}; proved for a logger that does not learn; {value}"),
                        ),
                    };
                    fixed(estimator, sums.cressie_read(), interval, &assumes);
                }
                (Estimator::Direct, Some(robust)) => fixed(estimator, robust.direct(), none, DIRECT),
                (Estimator::Dr, Some(robust)) => {
                    let whole = tally.without_distribution + robust.without_logger == 0;
                    let interval = match whole {
                        true => from_below(robust.sides(), |b| (b.robust, b.counted)),
                        false => none,
                    };
                    let assumes = match (whole, tally.motion) {
                        (false, _) => {
                            format!(
                                "{NO_INTERVAL}, as the log does not have the logger's whole distributions"
                            )
                        }
                        (true, Motion::Still) => format!("{one_look}; {STILL} (weights by StableVar)"),
                        (true, Motion::Moves) => one_look.to_owned(),
                    };
                    fixed(estimator, robust.weighted(), interval, &assumes);
                }
                (Estimator::Direct | Estimator::Dr, None) => {}
            }
        }
        if self.counts.uneven {
            return;
        }
        let assumes = match tally.motion {
            Motion::Still => format!("{STILL}; any look (betting)"),
            Motion::Moves => format!("{MOVES}; any look (mixture empirical Bernstein)"),
        };
        let robust = tally.robust.as_ref().filter(|robust| {
            options.any_time
                && !options.units
                && sums.rows() > 0
                && tally.without_distribution + robust.without_logger == 0
        });
        let sequences = [
            (Estimator::Ips, sums.ips().value, tally.sequence.as_ref(), None),
            // V = E w r/E w, and E w = 1 is known: what bounds E w r bounds the ratio.
            (Estimator::Snips, sums.snips(), tally.sequence.as_ref(), Some("the interval of ips".to_owned())),
            (Estimator::Clipped, sums.clipped().value, tally.clipped.as_ref(), Some(too_small(options.clip))),
            (
                Estimator::Dr,
                robust.map_or(f64::NAN, Robust::doubly_robust),
                robust.map(|r| &r.sequence),
                None,
            ),
        ];
        for (estimator, value, sequence, further) in sequences {
            let Some(sequence) = sequence.filter(|_| options.asks(estimator)) else { continue };
            let (low, high) = sequence.interval(options.alpha);
            let assumes = further.map_or(assumes.clone(), |further| format!("{assumes}; {further}"));
            row(estimator, value, low, high, Validity::AnyTime, &assumes);
        }
    }

    fn differences(&self, units: Units) -> Vec<Difference> {
        let one_look = self.options.units;
        let pairs = self.pairs.iter().filter(|pair| pair.rows > 0 && (one_look || !self.counts.uneven));
        pairs
            .map(|pair| {
                let (low, high) = self.difference(pair, self.options.alpha);
                let (low, high) = units.interval(low, high, Units::difference);
                let [a, b] = [pair.a, pair.b].map(|at| &self.tallies[at]);
                let still = a.motion == Motion::Still && b.motion == Motion::Still;
                let how = match pair.unknown {
                    0 => "total-variation form",
                    _ => "two separate intervals, as the log has no whole distributions",
                };
                let (kind, when) = match one_look {
                    true => (Validity::FixedTime, ONE_LOOK_BETWEEN_UNITS.to_owned()),
                    false => (Validity::AnyTime, format!("{}; any look", if still { STILL } else { MOVES })),
                };
                Difference {
                    a: a.policy.name().to_owned(),
                    b: b.policy.name().to_owned(),
                    value: known(units.difference(pair.mean())),
                    low: known(low),
                    high: known(high),
                    kind,
                    assumes: format!("{when} ({how})"),
                }
            })
            .collect()
    }

    /// The interval of a difference: by the total-variation form, or from two separate intervals.
    pub(crate) fn difference(&self, pair: &crate::evaluate::Pair, alpha: f64) -> (f64, f64) {
        let units = self.options.units;
        if pair.unknown == 0 {
            return match &pair.sequence {
                Some(sequence) => sequence.interval(alpha),
                None => blocks::difference(&pair.units, alpha),
            };
        }
        let own = |at: usize| match units {
            true => Some(blocks::interval(&self.tallies[at].units, |b| (b.plain, b.rows), alpha / 2.0)),
            false => self.tallies[at].sequence.as_ref().map(|s| s.interval(alpha / 2.0)),
        };
        match (own(pair.a), own(pair.b)) {
            (Some(a), Some(b)) => (a.0 - b.1, a.1 - b.0),
            _ => (f64::NAN, f64::NAN),
        }
    }
}

fn one_look(units: bool) -> &'static str {
    if units { ONE_LOOK_BETWEEN_UNITS } else { ONE_LOOK }
}

/// Where all decisions are alike, the normal approximation has no error: that is no certainty.
fn without_width(values: &[Value]) -> Vec<String> {
    let narrow = |v: &&Value| {
        let width = v.low.zip(v.high).map(|(low, high)| (high - low) / high.abs().max(1.0));
        v.kind == Validity::FixedTime && width.is_some_and(|width| width < 1e-9)
    };
    let mut names: Vec<&str> = values.iter().filter(narrow).map(|v| v.policy.as_str()).collect();
    names.dedup();
    let said = "an interval for one look has no width, as all decisions are alike: it is not to be trusted";
    names.into_iter().map(|name| format!("{name}: {said}")).collect()
}

fn too_small(clip: f64) -> String {
    format!("the value is too small by what weights above {clip} carry")
}

fn weights(tally: &Tally) -> Weights {
    Weights {
        policy: tally.policy.name().to_owned(),
        rows: tally.sums.rows(),
        effective: tally.sums.effective(),
        mean: known(tally.sums.mean_weight()),
        largest: tally.sums.largest_weight(),
        bins: tally.weights.to_vec(),
        looks: tally.looks.clone(),
    }
}
