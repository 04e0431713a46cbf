//! The role of a master.

use rand_core::Rng;
use serde::{Deserialize, Serialize};

use crate::audit::Audit;
use crate::{ParamError, SnapshotError, sample_index};

/// A master: a distribution over bases, moved by the losses of the decisions that were played. A state machine over
/// indices; what it wants done comes back as a value.
///
/// # What an implementation owes
/// - `probabilities` is a distribution: finite, non-negative, summing to 1 within rounding.
/// - `update` and `retire` that fail leave the state as it was.
/// - Credit may come late and out of order: the weight is that of the round in which the decision was made.
/// - A retired base has probability 0 for ever, until `rerange` starts over.
/// - `load(save())` continues bit for bit; no allocation in a round.
pub trait Master: Send {
    /// The distribution pbar_t from which the base of this round is drawn.
    fn probabilities(&self) -> &[f64];

    /// Draws a base from [`probabilities`](Master::probabilities): one number of the generator.
    fn sample(&self, rng: &mut dyn Rng) -> usize {
        sample_index(self.probabilities(), 1.0, rng).unwrap_or(0)
    }

    /// Learns the loss of a decision that was played, credited to the bases. Returns the bases whose range changed,
    /// to be told before the next round.
    ///
    /// # Errors
    /// The loss is outside [0, 1], a weight is negative, not finite or above its base's range, an index is out of
    /// bounds, or the step could not be solved. Nothing changed then.
    fn update(&mut self, loss: f64, credit: Credit<'_>) -> Result<&[Rerange], MasterError>;

    /// Takes a base out for good: the distribution is restricted to the others and renormalised.
    ///
    /// # Errors
    /// No such base, or it is the last one.
    fn retire(&mut self, base: usize) -> Result<(), MasterError>;

    /// Starts over as a master whose own losses carry weights up to `range` (it is a base of another master).
    ///
    /// # Errors
    /// The range is not a number of at least 1.
    fn rerange(&mut self, range: f64, remaining: Option<u64>) -> Result<(), MasterError>;

    /// The largest weight that feedback to `base` may carry at present, the range that [`rerange`](Master::rerange)
    /// was told included (ranges multiply). Infinite: the master knows none, and the ensemble doubles them itself.
    fn range(&self, _base: usize) -> f64 {
        f64::INFINITY
    }

    /// The rounds that are left, where the master knows them.
    fn remaining(&self) -> Option<u64> {
        None
    }

    /// The learning rate per base, for those that have one; else empty.
    fn rates(&self) -> &[f64] {
        &[]
    }

    /// What is proved of every run, checked on this one, by masters that were asked to.
    fn audit(&self) -> Option<Audit> {
        None
    }

    /// Everything that decides the future, as a framed snapshot ([`crate::snapshot`]).
    fn save(&self) -> Vec<u8>;

    /// Continues from a snapshot, validated as strictly as a constructor would. On error nothing changed.
    ///
    /// # Errors
    /// The snapshot is damaged, of another algorithm or version, or of another number of bases.
    fn load(&mut self, state: &[u8]) -> Result<(), MasterError>;
}

impl<M: Master + ?Sized> Master for Box<M> {
    fn probabilities(&self) -> &[f64] {
        (**self).probabilities()
    }
    fn sample(&self, rng: &mut dyn Rng) -> usize {
        (**self).sample(rng)
    }
    fn update(&mut self, loss: f64, credit: Credit<'_>) -> Result<&[Rerange], MasterError> {
        (**self).update(loss, credit)
    }
    fn retire(&mut self, base: usize) -> Result<(), MasterError> {
        (**self).retire(base)
    }
    fn rerange(&mut self, range: f64, remaining: Option<u64>) -> Result<(), MasterError> {
        (**self).rerange(range, remaining)
    }
    fn range(&self, base: usize) -> f64 {
        (**self).range(base)
    }
    fn remaining(&self) -> Option<u64> {
        (**self).remaining()
    }
    fn rates(&self) -> &[f64] {
        (**self).rates()
    }
    fn audit(&self) -> Option<Audit> {
        (**self).audit()
    }
    fn save(&self) -> Vec<u8> {
        (**self).save()
    }
    fn load(&mut self, state: &[u8]) -> Result<(), MasterError> {
        (**self).load(state)
    }
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

/// From now on feedback to `base` carries weights up to `range`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rerange {
    /// The base.
    pub base: usize,
    /// Its new range: that of the weights which reach the base, so the master's own range included.
    pub range: f64,
    /// The rounds that are left, where that is known.
    pub remaining: Option<u64>,
}

/// Why a master could not do what it was asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MasterError {
    /// A parameter that the algorithm is not defined for.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// A loss outside [0, 1] (or, where losses may leave it, no number).
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
    /// The last base cannot be retired.
    #[error("base {0} is the last one left")]
    LastBase(usize),
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
