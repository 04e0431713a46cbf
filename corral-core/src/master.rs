//! The role of a master.

use rand_core::Rng;

use crate::audit::Audit;
use crate::omd::OmdError;
use crate::{Order, ParamError, SnapshotError, Spending, forward, sample_index};

/// A master: a distribution over bases, moved by the losses of the decisions that were played. A state machine over
/// indices; what it wants done comes back as a value.
///
/// # What an implementation owes
/// - `probabilities` is a distribution: finite, non-negative, summing to 1 within rounding.
/// - `update` and `retire` that fail leave the state as it was.
/// - Credit may come late and out of order: the weight is that of the round in which the decision was made.
/// - A retired base has probability 0 until the master starts over or takes it back.
/// - `load(save())` continues bit for bit; no allocation in a round.
pub trait Master: Send {
    /// The distribution pbar_t from which the base of this round is drawn.
    fn probabilities(&self) -> &[f64];

    /// Learns the loss of a decision that was played, credited to the bases. Returns the orders to its bases, to be
    /// told before the next round.
    ///
    /// # Errors
    /// The loss is outside [0, 1], a weight is negative, not finite or above its base's range, an index is out of
    /// bounds, or the step could not be solved. Nothing changed then.
    fn update(&mut self, loss: f64, credit: Credit<'_>) -> Result<&[(usize, Order)], MasterError>;

    /// Takes a base out for good: the distribution is restricted to the others and renormalised.
    ///
    /// # Errors
    /// No such base, or it is the last one.
    fn retire(&mut self, base: usize) -> Result<(), MasterError>;

    /// How far feedback to `base` may go at present, where the master knows.
    fn limits(&self, _base: usize) -> Limits {
        Limits::default()
    }

    /// What can be looked at from outside, for reports.
    fn telemetry(&self) -> Telemetry<'_> {
        Telemetry::default()
    }

    /// Everything that decides the future, as a framed snapshot ([`crate::snapshot`]).
    fn save(&self) -> Vec<u8>;

    /// Continues from a snapshot, validated as strictly as a constructor would. On error nothing changed.
    ///
    /// # Errors
    /// The snapshot is damaged, of another algorithm or version, or of another number of bases.
    fn load(&mut self, state: &[u8]) -> Result<(), MasterError>;

    /// What few masters have: `Some(self)` of a master that is a [`MasterExtra`] too. Of another one bases are drawn from
    /// [`probabilities`](Master::probabilities), none are taken in while it runs, and its band is no base of another band.
    fn extra(&mut self) -> Option<&mut dyn MasterExtra> {
        None
    }
}

/// What a master may have beyond [`Master`], and says by [`extra`](Master::extra).
pub trait MasterExtra: Master {
    /// Starts over, with all its bases back, as a master whose own losses carry weights up to `range`: it is a base of
    /// another master.
    ///
    /// # Errors
    /// The range is not a number of at least 1, or this master cannot be a base of another.
    fn start_over(&mut self, range: f64, remaining: Option<u64>) -> Result<(), MasterError> {
        let _ = (range, remaining);
        Err(MasterError::Alone)
    }

    /// Whether it has to know what every decision cost in money.
    fn needs_cost(&self) -> bool {
        false
    }

    /// A decision for this action was made, and will cost something; of a master that [needs costs](MasterExtra::needs_cost). Points
    /// all count as action 0.
    fn chose(&mut self, _action: usize) {}

    /// What a decision for this action cost in money, `None` where that will never be known: once for every decision, after
    /// [`update`](Master::update). One that was not announced by [`chose`](MasterExtra::chose) was made by another copy of the band.
    fn paid(&mut self, _action: usize, _cost: Option<f64>) {}

    /// Draws a base from [`probabilities`](Master::probabilities), and says with which probability: for masters that do not have
    /// to write all of them out for it. One number of the generator, unless the master says otherwise.
    fn draw(&self, rng: &mut dyn Rng) -> (usize, f64) {
        draw_from(self.probabilities(), rng)
    }

    /// Takes another base in, behind the others, with probability `share`; the probabilities of the others are
    /// multiplied by 1 - share, so they keep their ratios. (Masters that mix with the uniform distribution do so before
    /// the mixing.) Returns orders as [`update`](Master::update) does.
    ///
    /// # Errors
    /// The share is not in (0, 1), or this master takes no bases while it runs: those that put all probability on one base
    /// have no use for a share.
    fn admit(&mut self, share: f64) -> Result<&[(usize, Order)], MasterError> {
        let _ = share;
        Err(MasterError::Fixed)
    }

    /// Takes a retired base back, with probability `share`; the others as after [`admit`](MasterExtra::admit).
    ///
    /// # Errors
    /// No such base, it is not retired, the share is not in (0, 1), or this master takes no base back.
    fn reinstate(&mut self, base: usize, share: f64) -> Result<&[(usize, Order)], MasterError> {
        let _ = (base, share);
        Err(MasterError::Fixed)
    }

    /// As [`load`](Master::load), of a snapshot over the first `bases` bases: the master is over these from then on, and may
    /// [`admit`](MasterExtra::admit) others.
    ///
    /// # Errors
    /// As [`load`](Master::load), or this master takes no bases while it runs.
    fn load_of(&mut self, state: &[u8], bases: usize) -> Result<(), MasterError> {
        if bases == self.probabilities().len() { self.load(state) } else { Err(MasterError::Fixed) }
    }
}

impl<M: Master + ?Sized> Master for Box<M> {
    forward!(Master: self => **self);
}

/// Draws the base of a round from the distribution of `master`, and says with which probability.
#[inline]
pub fn draw_base<M: Master + ?Sized>(master: &mut M, rng: &mut dyn Rng) -> (usize, f64) {
    match master.extra() {
        Some(extra) => extra.draw(rng),
        None => draw_from(master.probabilities(), rng),
    }
}

#[inline]
fn draw_from(probabilities: &[f64], rng: &mut dyn Rng) -> (usize, f64) {
    let base = sample_index(probabilities, 1.0, rng).unwrap_or(0);
    (base, probabilities.get(base).copied().unwrap_or(0.0))
}

/// How far feedback to a base may go.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// The largest weight that it may carry at present, the range that [`start_over`](MasterExtra::start_over) was told included
    /// (ranges multiply). `None`: not known; the ensemble then widens ranges as they are needed.
    pub range: Option<f64>,
    /// The rounds that are left, of all bases together.
    pub remaining: Option<u64>,
}

/// To whom a loss is credited: base i's loss is estimated by `loss * weight_i`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Credit<'a> {
    /// Algorithm 1: the base that was followed, with weight 1/pbar at choice; 0 for the others.
    Chosen {
        /// The base that was followed.
        base: usize,
        /// Its weight.
        weight: f64,
    },
    /// A weight for every base.
    Shared(&'a [f64]),
}

/// What a master shows of itself beside its distribution.
#[derive(Debug, Clone, Copy, Default)]
pub struct Telemetry<'a> {
    /// Its name; empty: not told.
    pub name: &'static str,
    /// Its parameters.
    pub params: Option<&'a dyn std::fmt::Debug>,
    /// The learning rate per base, for masters that have one; else empty.
    pub rates: &'a [f64],
    /// What is proved of every run, checked on this one, by masters that were asked to.
    pub audit: Option<Audit>,
    /// What was spent, by masters that keep a budget.
    pub spending: Option<Spending>,
}

/// Why a master could not do what it was asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MasterError {
    /// A parameter that the algorithm is not defined for.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// A loss outside [0, 1] (or, where any loss is allowed, not a number).
    #[error("a loss must be in [0, 1], but is {0}")]
    Loss(f64),
    /// A weight that is negative, not finite or above the base's range.
    #[error("the weight of base {base} must be in [0, {range}], but is {weight}")]
    Weight {
        /// The base.
        base: usize,
        /// The offending weight.
        weight: f64,
        /// The range in force.
        range: f64,
    },
    /// No such base.
    #[error("there is no base {base} among {bases}")]
    Index {
        /// The index that was given.
        base: usize,
        /// How many bases there are.
        bases: usize,
    },
    /// A list of weights of another length.
    #[error("{found} weights were given for {bases} bases")]
    Length {
        /// Length of the list.
        found: usize,
        /// How many bases there are.
        bases: usize,
    },
    /// The base was retired before.
    #[error("base {0} is retired")]
    Retired(usize),
    /// The base is not retired.
    #[error("base {0} is not retired")]
    Present(usize),
    /// The last base cannot be retired.
    #[error("base {0} is the last one left")]
    LastBase(usize),
    /// The master takes no bases while it runs.
    #[error("this master takes no bases while it runs")]
    Fixed,
    /// The master cannot start over, which the base of another master has to.
    #[error("this master cannot start over, so its band cannot be a base of another band")]
    Alone,
    /// A share that is not in (0, 1), or so small that weights would be too large.
    #[error("a share must be in (0, 1) and at least {LEAST_SHARE:e}, but is {0}")]
    Share(f64),
    /// A range below 1 or not finite.
    #[error("a range must be finite and at least 1, but is {0}")]
    Range(f64),
    /// The step of the distribution could not be solved.
    #[error("the distribution's step ended with |sum p - 1| = {residual} after {iterations} iterations")]
    Step {
        /// What remained.
        residual: f64,
        /// How many iterations were spent.
        iterations: usize,
    },
    /// A snapshot that cannot be used.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

impl From<OmdError> for MasterError {
    fn from(error: OmdError) -> Self {
        match error {
            OmdError::Residual { residual, iterations } => Self::Step { residual, iterations },
            _ => Self::Step { residual: f64::NAN, iterations: 0 },
        }
    }
}

impl Telemetry<'_> {
    /// The master and its parameters in one line.
    pub fn describe(&self) -> String {
        if self.name.is_empty() {
            return "not described".into();
        }
        let params = self.params.map(|params| format!("{params:?}")).unwrap_or_default();
        let keys = params.split_once('{').map_or("", |(_, keys)| keys.trim_end_matches('}').trim());
        if keys.is_empty() { self.name.into() } else { format!("{} ({keys})", self.name) }
    }
}

/// Below it the range 2/share of a base would exceed the largest weight that masters take.
const LEAST_SHARE: f64 = 2e-100;

/// Passes over a share in (0, 1). Written so that NaN fails.
pub(crate) fn check_share(share: f64) -> Result<(), MasterError> {
    if (LEAST_SHARE..1.0).contains(&share) { Ok(()) } else { Err(MasterError::Share(share)) }
}
