//! What an evaluation found.

use serde::Serialize;

use crate::evaluate::{Block, Evaluation, Tally};
use crate::sums::{Estimate, from_below, quantile};
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

/// The difference of two policies: a less b. Its interval is valid at any time.
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
/// Its normal approximation misses more often than it promises where few rows carry most of the weight.
const NO_INTERVAL: &str = "no interval";
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
        for &estimator in &options.estimators {
            let robust =
                tally.robust.as_ref().filter(|_| tally.without_distribution < tally.sums.rows().max(1));
            match (estimator, robust) {
                (Estimator::Ips, _) => {
                    let interval = match options.units {
                        true => {
                            from_below(self.between(tally, |b| b[0]), self.between(tally, |b| b[1] - b[0]), z)
                        }
                        false => from_below(tally.sums.ips(), tally.sums.ips_lost(), z),
                    };
                    fixed(estimator, tally.sums.ips().value, interval, ONE_LOOK);
                }
                (Estimator::Snips, _) => {
                    let assumes = format!("biased by a term that shrinks as 1/n; {NO_INTERVAL}");
                    fixed(estimator, tally.sums.snips(), none, &assumes);
                }
                (Estimator::Clipped, _) => {
                    let assumes = format!(
                        "{ONE_LOOK}; the value is too small by what weights above {} carry",
                        options.clip
                    );
                    let both = from_below(tally.sums.clipped(), tally.sums.clipped_lost(), z);
                    let interval = if options.units { none } else { both };
                    fixed(estimator, tally.sums.clipped().value, interval, &assumes);
                }
                (Estimator::CressieRead, _) => {
                    let assumes = format!("mass that is missing earns what the log earned; {NO_INTERVAL}");
                    fixed(estimator, tally.sums.cressie_read(), none, &assumes);
                }
                (Estimator::Direct, Some(robust)) => {
                    fixed(estimator, robust.direct(), none, "the model is right; no interval");
                }
                (Estimator::Dr, Some(robust)) => {
                    let whole = tally.without_distribution + robust.without_logger == 0;
                    let [earned, lost] = robust.sides();
                    let interval = if whole && !options.units { from_below(earned, lost, z) } else { none };
                    let assumes = match (whole, tally.motion) {
                        (false, _) => {
                            format!(
                                "{NO_INTERVAL}, as the log does not have the logger's whole distributions"
                            )
                        }
                        (true, Motion::Still) => format!("{ONE_LOOK}; {STILL} (weights by StableVar)"),
                        (true, Motion::Moves) => ONE_LOOK.to_owned(),
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
        if let Some(sequence) = tally.sequence.as_ref().filter(|_| options.asks(Estimator::Ips)) {
            let (low, high) = sequence.interval(options.alpha);
            row(Estimator::Ips, tally.sums.ips().value, low, high, Validity::AnyTime, &assumes);
        }
        if let Some(robust) = &tally.robust
            && options.any_time
            && options.asks(Estimator::Dr)
            && tally.without_distribution + robust.without_logger == 0
            && tally.sums.rows() > 0
        {
            let (low, high) = robust.sequence.interval(options.alpha);
            row(Estimator::Dr, robust.doubly_robust(), low, high, Validity::AnyTime, &assumes);
        }
    }

    /// The mean over decisions of a sum of each unit, with the error that it has between units.
    fn between(&self, tally: &Tally, of: fn(&Block) -> f64) -> Estimate {
        let blocks = || tally.units.values();
        let whole: f64 = blocks().map(|block| block[2]).sum();
        let value = blocks().map(of).sum::<f64>() / whole;
        let squares: f64 = blocks().map(|block| (of(block) - value * block[2]).powi(2)).sum();
        Estimate { value, error: squares.sqrt() / whole }
    }

    fn differences(&self, units: Units) -> Vec<Difference> {
        let pairs = self.pairs.iter().filter(|pair| pair.rows > 0 && !self.counts.uneven);
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
                Difference {
                    a: a.policy.name().to_owned(),
                    b: b.policy.name().to_owned(),
                    value: known(units.difference(pair.sum / pair.rows as f64)),
                    low: known(low),
                    high: known(high),
                    assumes: format!("{}; any look ({how})", if still { STILL } else { MOVES }),
                }
            })
            .collect()
    }

    /// The interval of a difference: by the total-variation form, or from two separate intervals.
    pub(crate) fn difference(&self, pair: &crate::evaluate::Pair, alpha: f64) -> (f64, f64) {
        if pair.unknown == 0 {
            return pair.sequence.interval(alpha);
        }
        let own = |at: usize| self.tallies[at].sequence.as_ref().map(|s| s.interval(alpha / 2.0));
        match (own(pair.a), own(pair.b)) {
            (Some(a), Some(b)) => (a.0 - b.1, a.1 - b.0),
            _ => (f64::NAN, f64::NAN),
        }
    }
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
