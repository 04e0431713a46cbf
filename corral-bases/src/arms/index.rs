//! Index bases: every arm has a number that depends on what was seen of it, and the arm with the lowest is played.
//!
//! They are lazy: they learn from the observed loss in rounds that they saw, never from loss * weight, and need no
//! change of widths (docs/stability.md#lazy-bases). Weakly stable with alpha = 1/2, in the strong
//! form without restarts.

use corral_core::snapshot::SnapshotError;
use corral_core::{
    Abilities, Arm, Base, BaseError, Feedback, LossDomain, Memo, Order, Proposal, Rng, Setup, uniform,
};
use serde::{Deserialize, Serialize};

use super::random::uniform_arm;
use crate::built::BaseParams;
use crate::common::{Clock, RangeChange, arm_count, check_arm, keep_or_restart, reopen, seal};

/// Which of several arms with the lowest index is played.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// The one that is counted first.
    #[default]
    Lowest,
    /// A random one.
    Random,
}

/// What was seen of one arm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ArmStats {
    /// How many losses.
    pub count: f64,
    /// Their mean.
    pub mean: f64,
    /// The sum of their squared deviations from the mean (Welford).
    pub spread: f64,
}

impl ArmStats {
    /// Counts one more loss.
    #[inline]
    pub fn add(&mut self, loss: f64) {
        self.count += 1.0;
        let off = loss - self.mean;
        self.mean += off / self.count;
        self.spread += off * (loss - self.mean);
    }

    /// The (biased) variance; 0 before the first loss.
    pub fn variance(&self) -> f64 {
        if self.count > 0.0 { (self.spread / self.count).max(0.0) } else { 0.0 }
    }
}

/// What the index of an arm may depend on beside its tally.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// T, where it is known; at least 2.
    pub horizon: Option<f64>,
    /// Losses seen so far, of all arms.
    pub seen: f64,
    /// The number of arms.
    pub actions: f64,
    /// The largest weight of feedback.
    pub range: f64,
}

/// The rule that gives an arm its index.
pub trait Index: BaseParams {
    /// The index of an arm: a lower confidence bound of its mean loss. Minus infinity before the first loss.
    fn index(&self, tally: &ArmStats, moment: &Moment) -> f64;

    /// Whether the index of an arm only changes with its own tally when the horizon is known.
    fn is_local(&self) -> bool {
        true
    }

    /// Rounds at the beginning in which a random arm is played, counted in losses seen.
    fn random_start(&self) -> u64 {
        0
    }

    /// Which of several lowest arms is played.
    fn ties(&self) -> Ties {
        Ties::Lowest
    }

    /// `Keep` or `Restart`.
    fn range_change(&self) -> RangeChange {
        RangeChange::Keep
    }

    /// Whether loss * weight of every round is counted, 0 where it was not seen, in place of the observed loss of
    /// rounds that were seen.
    fn counts_estimates(&self) -> bool {
        false
    }
}

/// A base that plays the arm with the lowest index.
#[derive(Debug, Clone)]
pub struct IndexBase<R> {
    rule: R,
    losses: LossDomain,
    state: State,
    /// The index of every arm, kept up to date.
    indices: Vec<f64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct State {
    clock: Clock,
    seen: f64,
    tallies: Vec<ArmStats>,
}

impl<R: Index> IndexBase<R> {
    /// The base with `rule` for the world of `setup`.
    pub(crate) fn new(rule: R, setup: &Setup) -> Result<Self, BaseError> {
        rule.check()?;
        keep_or_restart(rule.range_change())?;
        let actions = arm_count(setup)?;
        let losses = if R::REAL_LOSSES { setup.losses } else { LossDomain::Unit };
        let state =
            State { clock: Clock::new(setup), seen: 0.0, tallies: vec![ArmStats::default(); actions] };
        let mut base = Self { rule, losses, state, indices: vec![0.0; actions] };
        base.refresh();
        Ok(base)
    }

    /// What was seen of each arm.
    pub fn tallies(&self) -> &[ArmStats] {
        &self.state.tallies
    }

    /// The index of each arm.
    pub fn indices(&self) -> &[f64] {
        &self.indices
    }

    fn moment(&self) -> Moment {
        Moment {
            horizon: self.state.clock.tuned(),
            seen: self.state.seen,
            actions: self.indices.len() as f64,
            range: self.state.clock.range,
        }
    }

    fn refresh(&mut self) {
        let moment = self.moment();
        for (index, tally) in self.indices.iter_mut().zip(&self.state.tallies) {
            *index = self.rule.index(tally, &moment);
        }
    }

    #[inline]
    fn add(&mut self, arm: usize, loss: f64) {
        self.state.seen += 1.0;
        self.state.tallies[arm].add(loss);
        if self.state.clock.horizon.is_some() && self.rule.is_local() {
            self.indices[arm] = self.rule.index(&self.state.tallies[arm], &self.moment());
        } else {
            self.refresh();
        }
    }

    fn starts_at_random(&self) -> bool {
        self.state.seen < self.rule.random_start() as f64
    }

    /// The lowest index, the first arm that has it, and how many have it.
    #[inline]
    fn lowest(&self) -> (f64, usize, usize) {
        let (mut low, mut first, mut count) = (f64::INFINITY, 0, 0);
        for (arm, &index) in self.indices.iter().enumerate() {
            if index < low {
                (low, first, count) = (index, arm, 1);
            } else if index == low {
                count += 1;
            }
        }
        (low, first, count)
    }
}

impl<R: Index, X: ?Sized> Base<X, Arm> for IndexBase<R> {
    fn propose(&mut self, _x: &X, rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        if self.starts_at_random() {
            return Ok(Proposal::new(Arm::from(uniform_arm(self.indices.len(), rng))));
        }
        let (low, first, count) = self.lowest();
        if count <= 1 || self.rule.ties() == Ties::Lowest {
            return Ok(Proposal::new(Arm::from(first)));
        }
        let nth = ((uniform(rng) * count as f64) as usize).min(count - 1);
        let arm = self.indices.iter().enumerate().filter(|(_, i)| **i == low).nth(nth);
        Ok(Proposal::new(Arm::from(arm.map_or(first, |(arm, _)| arm))))
    }

    fn learn(&mut self, _x: &X, made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
        let feedback = feedback.check_in(self.losses, self.state.clock.range)?;
        let arm = check_arm(made.decision, self.indices.len())?;
        if self.rule.counts_estimates() {
            self.add(arm, feedback.estimate());
        } else if let Some(loss) = feedback.observed() {
            self.add(arm, loss);
        }
        self.state.clock.tick();
        Ok(())
    }

    fn pass(&mut self, _x: &X) -> Result<(), BaseError> {
        if self.rule.counts_estimates() {
            // The proposal would have been this arm, and its estimate 0.
            self.add(self.lowest().1, 0.0);
            self.state.clock.tick();
        }
        Ok(())
    }

    fn likelihood(&self, _x: &X, decision: &Arm) -> Option<(f64, Memo)> {
        let index = *self.indices.get(decision.index())?;
        let probability = if self.starts_at_random() {
            1.0 / self.indices.len() as f64
        } else {
            match (self.lowest(), self.rule.ties()) {
                ((_, first, _), Ties::Lowest) => f64::from(decision.index() == first),
                ((low, _, count), Ties::Random) => f64::from(index == low) / count.max(1) as f64,
            }
        };
        Some((probability, Memo::empty()))
    }

    fn abilities(&self) -> Abilities {
        let estimates = self.rule.counts_estimates();
        Abilities { heeds_passes: estimates, learns_from_others: !estimates }
    }

    /// Keeps what was seen (the bound holds for every range without being told it), or restarts as in
    /// the paper's theorem.
    fn obey(&mut self, order: Order) -> Result<(), BaseError> {
        if self.state.clock.obey(order, self.rule.range_change())? {
            self.state.seen = 0.0;
            self.state.tallies.fill(ArmStats::default());
        }
        self.refresh();
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        seal(R::ENTRY.name, &self.rule, &self.state)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        let state: State = reopen(R::ENTRY.name, &self.rule, state)?;
        state.clock.valid()?;
        if state.tallies.len() != self.indices.len() {
            let found = state.tallies.len();
            return Err(SnapshotError::state(format_args!("{found} arms, not {}", self.indices.len())).into());
        }
        let possible = |mean: f64| match self.rule.counts_estimates() {
            true => (0.0..=f64::MAX).contains(&mean),
            false => self.losses.contains(mean),
        };
        let sound = |t: &ArmStats| t.count >= 0.0 && possible(t.mean) && t.spread >= -1e-9;
        let seen: f64 = state.tallies.iter().map(|t| t.count).sum();
        if !(state.tallies.iter().all(sound) && seen == state.seen) {
            return Err(SnapshotError::state("tallies that no losses can give").into());
        }
        self.state = state;
        self.refresh();
        Ok(())
    }
}
