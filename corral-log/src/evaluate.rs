//! What policies would have earned, from the rows of a log.

use serde::Serialize;

use crate::blocks::{self, Block, ByUnit, PairBlock};
use crate::robust::Robust;
use crate::sums::Sums;
use crate::{Header, Model, Motion, Row, Sequence, Target};

/// Which estimators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// Inverse propensity scores.
    Ips,
    /// The same, divided by the sum of the weights.
    Snips,
    /// The same with weights that are cut.
    Clipped,
    /// What a model predicts.
    Direct,
    /// A model, corrected by weights.
    Dr,
    /// Weights that are moved as little as possible so that their mean is 1.
    CressieRead,
}

impl Estimator {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Ips, Self::Snips, Self::Clipped, Self::CressieRead, Self::Direct, Self::Dr];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ips => "ips",
            Self::Snips => "snips",
            Self::Clipped => "clipped",
            Self::Direct => "direct",
            Self::Dr => "dr",
            Self::CressieRead => "cressie-read",
        }
    }
}

/// What is computed, and how sure it is to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Which estimators; what is not asked for is not computed.
    pub estimators: Vec<Estimator>,
    /// Whether intervals that are valid at any time are computed.
    pub any_time: bool,
    /// Whether differences of policies are computed.
    pub differences: bool,
    /// The probability with which an interval may miss.
    pub alpha: f64,
    /// Where the clipped estimator cuts weights.
    pub clip: f64,
    /// Propensities below this raise an alarm.
    pub floor: f64,
    /// Whether rows are grouped by their unit.
    pub units: bool,
    /// Whether the environment may change: then no policy stands still.
    pub drift: bool,
    /// Whether values over time are kept, for pictures.
    pub looks: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            estimators: Estimator::ALL.to_vec(),
            any_time: true,
            differences: true,
            alpha: 0.05,
            clip: 10.0,
            floor: 1e-3,
            units: false,
            drift: false,
            looks: false,
        }
    }
}

impl Options {
    pub(crate) fn asks(&self, estimator: Estimator) -> bool {
        self.estimators.contains(&estimator)
    }
}

/// What is known of one policy.
pub(crate) struct Tally {
    pub policy: Box<dyn Target>,
    pub motion: Motion,
    pub sums: Sums,
    pub sequence: Option<Sequence>,
    /// The same with weights that are cut.
    pub clipped: Option<Sequence>,
    pub robust: Option<Robust>,
    /// Rows in which the policy did not say its probability.
    pub unknown: u64,
    /// Rows of which its whole distribution is not known.
    pub without_distribution: u64,
    pub units: ByUnit<Block>,
    pub weights: [u64; BINS.len() + 1],
    pub looks: Vec<Look>,
}

/// Where weights are counted: 0, then up to each of these, then above.
pub const BINS: [f64; 8] = [0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0];

/// A look at a policy after some rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// After how many rows.
    pub rows: u64,
    /// The IPS estimate.
    pub value: f64,
    /// The interval that is valid at any time; NaN where there is none.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The effective sample size.
    pub effective: f64,
}

/// A pair of policies.
pub(crate) struct Pair {
    pub a: usize,
    pub b: usize,
    pub rows: u64,
    /// How many decisions the rows stand for.
    decisions: f64,
    sum: f64,
    /// Valid at any time; none between units.
    pub sequence: Option<Sequence>,
    pub units: ByUnit<PairBlock>,
    /// Rows of which a whole distribution is not known.
    pub unknown: u64,
}

impl Pair {
    /// The estimate of the first value less the second.
    pub fn mean(&self) -> f64 {
        self.sum / self.decisions
    }
}

/// Values policies, row by row, in bounded memory (but for units).
pub struct Evaluation {
    pub(crate) options: Options,
    pub(crate) tallies: Vec<Tally>,
    pub(crate) pairs: Vec<Pair>,
    model: Option<Box<dyn Model>>,
    pub(crate) header: Header,
    pub(crate) counts: Counts,
    /// Distributions of all policies over the offered actions, one after the other; predictions of the model.
    pi: Vec<f64>,
    known: Vec<bool>,
    weights: Vec<Option<f64>>,
    predicted: Vec<f64>,
    next_look: u64,
}

/// What happened to the rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counts {
    /// Decisions that were read.
    pub rows: u64,
    /// Decisions that were used.
    pub used: u64,
    /// Decisions that no policy made.
    pub forced: u64,
    /// Decisions without an outcome.
    pub no_outcome: u64,
    /// Decisions without a propensity.
    pub no_propensity: u64,
    /// Decisions without a unit, where they are grouped by it.
    pub no_unit: u64,
    /// Propensities that are estimates.
    pub inexact: u64,
    /// Propensities below the floor.
    pub below_floor: u64,
    /// The least propensity.
    pub least: f64,
    /// Whether rows were kept with different probabilities.
    pub uneven: bool,
    /// The probability with which rows were kept.
    pub(crate) keep: Option<f64>,
    /// Which actions were played; how many were offered at most; which were offered by a list.
    played: Vec<bool>,
    first: u32,
    listed: Vec<bool>,
}

impl Counts {
    /// The actions that were offered and never played.
    pub(crate) fn never_played(&self) -> impl Iterator<Item = u32> + '_ {
        let most = (self.first as usize).max(self.listed.len()).min(COUNTED);
        let offered = |a: usize| a < self.first as usize || self.listed.get(a) == Some(&true);
        let played = |a: usize| self.played.get(a) == Some(&true);
        (0..most).filter(move |a| offered(*a) && !played(*a)).map(|a| a as u32)
    }
}

/// The most actions of which is kept whether they were played.
const COUNTED: usize = 100_000;

impl Evaluation {
    /// Values these policies; `model` is needed for direct and doubly robust estimates, which are left out without it.
    pub fn new(policies: Vec<Box<dyn Target>>, model: Option<Box<dyn Model>>, options: Options) -> Self {
        let robust = model.is_some() && (options.asks(Estimator::Dr) || options.asks(Estimator::Direct));
        let motion = |policy: &dyn Target| if options.drift { Motion::Moves } else { policy.motion() };
        let any_time = options.any_time && !options.units;
        let tallies: Vec<Tally> = policies
            .into_iter()
            .map(|policy| {
                let motion = motion(&*policy);
                Tally {
                    policy,
                    motion,
                    sums: Sums::default(),
                    sequence: any_time.then(|| Sequence::value(motion)),
                    clipped: (any_time && options.asks(Estimator::Clipped)).then(|| Sequence::value(motion)),
                    robust: robust.then(|| Robust::new(motion)),
                    unknown: 0,
                    without_distribution: 0,
                    units: ByUnit::new(),
                    weights: [0; BINS.len() + 1],
                    looks: Vec::new(),
                }
            })
            .collect();
        let mut pairs = Vec::new();
        for b in 0..if options.differences { tallies.len() } else { 0 } {
            for a in 0..b {
                let still = tallies[a].motion == Motion::Still && tallies[b].motion == Motion::Still;
                let motion = if still { Motion::Still } else { Motion::Moves };
                pairs.push(Pair {
                    a,
                    b,
                    rows: 0,
                    decisions: 0.0,
                    sum: 0.0,
                    sequence: (!options.units).then(|| Sequence::difference(motion)),
                    units: ByUnit::new(),
                    unknown: 0,
                });
            }
        }
        Self {
            model: if robust { model } else { None },
            options,
            tallies,
            pairs,
            header: Header::default(),
            counts: Counts { least: 1.0, ..Counts::default() },
            pi: Vec::new(),
            known: Vec::new(),
            weights: Vec::new(),
            predicted: Vec::new(),
            next_look: 20,
        }
    }

    /// The log says what it has: before the first row, and when bases come or go.
    ///
    /// # Errors
    /// A policy needs what the log does not have.
    pub fn meet(&mut self, header: &Header) -> Result<(), String> {
        self.header.clone_from(header);
        self.tallies.iter_mut().try_for_each(|tally| tally.policy.meet(header))
    }

    /// After the last row: whether the log ever had what the policies need.
    ///
    /// # Errors
    /// A policy names what is not in the log.
    pub fn met(&self) -> Result<(), String> {
        let used = self.counts.used > 0;
        self.tallies.iter().filter(|_| used).try_for_each(|tally| tally.policy.met())
    }

    /// Adds a row.
    pub fn add(&mut self, row: &Row) {
        self.counts.rows += 1;
        if row.forced {
            self.counts.forced += 1;
            return;
        }
        let Some(r) = row.reward else {
            self.counts.no_outcome += 1;
            return;
        };
        let (Some(p), Some(played)) = (row.propensity, row.offered.position(row.action)) else {
            self.counts.no_propensity += 1;
            return;
        };
        let unit = row.unit.as_deref().filter(|_| self.options.units).map(blocks::hash);
        if self.options.units && unit.is_none() {
            self.counts.no_unit += 1;
            return;
        }
        self.count(row, p);
        let c = 1.0 / row.keep;
        self.ask(row, p);
        let actions = row.offered.len();
        for (at, tally) in self.tallies.iter_mut().enumerate() {
            let Some(w) = self.weights[at] else {
                tally.unknown += 1;
                continue;
            };
            tally.sums.add(w, r, c, self.options.clip);
            if self.options.looks {
                tally.weights[BINS.partition_point(|edge| *edge < w)] += 1;
            }
            let cut = w.min(self.options.clip);
            for (sequence, w) in [(&mut tally.sequence, w), (&mut tally.clipped, cut)] {
                if let Some(sequence) = sequence {
                    sequence.add(w * r, w * (1.0 - r));
                }
            }
            let robust = match &mut tally.robust {
                Some(robust) if self.known[at] => {
                    let pi = &self.pi[at * actions..(at + 1) * actions];
                    robust.add(row, c, [pi, &self.predicted], [w, r], played)
                }
                Some(_) => {
                    tally.without_distribution += 1;
                    None
                }
                None => None,
            };
            if let Some(unit) = unit {
                tally.units.entry(unit).or_default().add(c, [w, cut], r, robust);
            }
        }
        for pair in &mut self.pairs {
            let (Some(first), Some(second)) = (self.weights[pair.a], self.weights[pair.b]) else { continue };
            pair.rows += 1;
            pair.decisions += c;
            pair.sum += c * (first - second) * r;
            if !(self.known[pair.a] && self.known[pair.b]) {
                pair.unknown += 1;
                continue;
            }
            let of = |at: usize| &self.pi[at * actions..(at + 1) * actions];
            // Z = (w1 - w2)^+ r + (w2 - w1)^+ (1 - r) - d, d = sum_a (pi2 - pi1)^+: its mean is V1 - V2, it is at least
            // -d, and 0 where the policies agree (docs/evaluation.md#differences).
            let apart: f64 = of(pair.a).iter().zip(of(pair.b)).map(|(a, b)| (b - a).max(0.0)).sum();
            let (more, less) = ((first - second).max(0.0), (second - first).max(0.0));
            let sides = [more * r + less * (1.0 - r) - apart, less * r + more * (1.0 - r) - apart];
            if let Some(sequence) = &mut pair.sequence {
                sequence.add(sides[0], sides[1]);
            }
            if let Some(unit) = unit {
                let block = pair.units.entry(unit).or_default();
                block.rows += c;
                block.sides.iter_mut().zip(sides).for_each(|(sum, side)| *sum += c * side);
            }
        }
        if let Some(model) = &mut self.model {
            model.learn(row);
        }
        self.tallies.iter_mut().for_each(|tally| tally.policy.learn(row));
        if self.options.looks && self.counts.used >= self.next_look {
            self.look();
        }
    }

    /// What the policies and the model say of a row.
    fn ask(&mut self, row: &Row, p: f64) {
        let actions = row.offered.len();
        let whole = !self.pairs.is_empty() || self.model.is_some();
        self.pi.clear();
        self.known.clear();
        self.weights.clear();
        for tally in &mut self.tallies {
            // A probability is one: NaN fails.
            let own = tally.policy.probability(row).filter(|own| (0.0..=1.0 + 1e-9).contains(own));
            self.weights.push(own.map(|own| own / p));
            if whole {
                let from = self.pi.len();
                let known = tally.policy.distribution(row, &mut self.pi);
                self.pi.resize(from + actions, 0.0);
                self.known.push(known);
            }
        }
        if let Some(model) = &mut self.model {
            self.predicted.clear();
            model.predict(row, &mut self.predicted);
            self.predicted.resize(actions, 0.5);
            self.predicted.iter_mut().for_each(|q| *q = if q.is_nan() { 0.5 } else { q.clamp(0.0, 1.0) });
        }
    }

    fn count(&mut self, row: &Row, p: f64) {
        let counts = &mut self.counts;
        counts.used += 1;
        counts.inexact += u64::from(!row.exact);
        counts.below_floor += u64::from(p < self.options.floor);
        counts.least = counts.least.min(p);
        counts.uneven |= counts.keep.replace(row.keep).is_some_and(|keep| keep != row.keep);
        let mark = |list: &mut Vec<bool>, action: u32| {
            let at = action as usize;
            if at < COUNTED {
                if list.len() <= at {
                    list.resize(at + 1, false);
                }
                list[at] = true;
            }
        };
        mark(&mut counts.played, row.action);
        match &row.offered {
            crate::Offered::First(n) => counts.first = counts.first.max(*n),
            crate::Offered::These(list) => list.iter().for_each(|a| mark(&mut counts.listed, *a)),
        }
    }

    /// Keeps where every policy stands.
    pub(crate) fn look(&mut self) {
        self.next_look = (self.counts.used as f64 * 1.05) as u64 + 1;
        for tally in &mut self.tallies {
            let interval = tally.sequence.as_ref().map(|s| s.interval(self.options.alpha));
            let (low, high) = interval.filter(|(low, high)| low <= high).unwrap_or((f64::NAN, f64::NAN));
            tally.looks.push(Look {
                rows: self.counts.used,
                value: tally.sums.ips().value,
                low,
                high,
                effective: tally.sums.effective(),
            });
        }
    }
}
