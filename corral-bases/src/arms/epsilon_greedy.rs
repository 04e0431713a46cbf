//! epsilon-greedy over arms, for worlds without features; see [`EpsilonGreedyParams`] for source and parameters.

use corral_core::params::Params;
use corral_core::snapshot::SnapshotError;
use corral_core::{Abilities, Arm, Base, BaseError, Feedback, Memo, Order, Proposal, Rng, Setup, uniform};
use serde::{Deserialize, Serialize};

use super::Ties;
use super::index::ArmStats;
use super::random::uniform_arm;
use crate::common::{Clock, RangeChange, Setting, arm_count, check_arm, reopen, seal};
use crate::linear::EpsilonGreedyParams;

const NAME: &str = "epsilon-greedy arms";

/// A random arm with probability epsilon, else the one with the lowest mean. Arms that were never seen come first.
#[derive(Debug, Clone)]
pub struct EpsilonGreedy {
    params: EpsilonGreedyParams,
    state: State,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct State {
    clock: Clock,
    tallies: Vec<ArmStats>,
}

impl EpsilonGreedy {
    /// The base for the world of `setup`; the regression of `params` is not used.
    ///
    /// # Errors
    /// Epsilon is not a probability, or there are no arms.
    pub fn new(params: EpsilonGreedyParams, setup: &Setup) -> Result<Self, BaseError> {
        params.check()?;
        let tallies = vec![ArmStats::default(); arm_count(setup)?];
        Ok(Self { params, state: State { clock: Clock::new(setup), tallies } })
    }

    fn epsilon(&self) -> f64 {
        let clock = &self.state.clock;
        let range = if self.params.range_change == RangeChange::Keep { 1.0 } else { clock.range };
        let horizon = clock.tuned().unwrap_or((clock.rounds as f64 + 1.0).max(2.0));
        self.params.probability(self.state.tallies.len() as f64, horizon, range)
    }

    /// Whether epsilon changes from round to round.
    fn is_anytime(&self) -> bool {
        self.params.epsilon == Setting::Auto && self.state.clock.horizon.is_none()
    }

    fn score(tally: &ArmStats) -> f64 {
        if tally.count > 0.0 { tally.mean } else { f64::NEG_INFINITY }
    }

    /// The lowest mean, the first arm that has it, and how many have it.
    fn lowest(&self) -> (f64, usize, usize) {
        let (mut low, mut first, mut count) = (f64::INFINITY, 0, 0);
        for (arm, tally) in self.state.tallies.iter().enumerate() {
            let mean = Self::score(tally);
            if mean < low {
                (low, first, count) = (mean, arm, 1);
            } else if mean == low {
                count += 1;
            }
        }
        (low, first, count)
    }
}

impl<X: ?Sized> Base<X, Arm> for EpsilonGreedy {
    fn propose(&mut self, _x: &X, rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        if uniform(rng) < self.epsilon() {
            return Ok(Proposal::new(Arm::from(uniform_arm(self.state.tallies.len(), rng))));
        }
        let (low, first, count) = self.lowest();
        if count <= 1 || self.params.ties == Ties::Lowest {
            return Ok(Proposal::new(Arm::from(first)));
        }
        let nth = uniform_arm(count, rng);
        let equal = self.state.tallies.iter().enumerate().filter(|(_, t)| Self::score(t) == low).nth(nth);
        Ok(Proposal::new(Arm::from(equal.map_or(first, |(arm, _)| arm))))
    }

    fn learn(&mut self, _x: &X, made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
        let feedback = feedback.check(self.state.clock.range)?;
        let arm = check_arm(made.decision, self.state.tallies.len())?;
        if let Some(loss) = feedback.observed() {
            self.state.tallies[arm].add(loss);
        }
        self.state.clock.tick();
        Ok(())
    }

    fn pass(&mut self, _x: &X) -> Result<(), BaseError> {
        if self.is_anytime() {
            self.state.clock.tick();
        }
        Ok(())
    }

    fn likelihood(&self, _x: &X, decision: &Arm) -> Option<(f64, Memo)> {
        let tally = self.state.tallies.get(decision.index())?;
        let (low, first, count) = self.lowest();
        let greedy = match self.params.ties {
            Ties::Lowest => f64::from(decision.index() == first),
            Ties::Random => f64::from(Self::score(tally) == low) / count.max(1) as f64,
        };
        let epsilon = self.epsilon();
        Some((epsilon / self.state.tallies.len() as f64 + (1.0 - epsilon) * greedy, Memo::empty()))
    }

    fn abilities(&self) -> Abilities {
        Abilities { heeds_passes: self.is_anytime(), learns_from_others: true }
    }

    /// Re-tunes epsilon and keeps the means; or keeps both; or restarts.
    fn obey(&mut self, order: Order) -> Result<(), BaseError> {
        if self.state.clock.obey(order, self.params.range_change)? {
            self.state.tallies.fill(ArmStats::default());
        }
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        seal(NAME, &self.params, &self.state)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        let state: State = reopen(NAME, &self.params, state)?;
        state.clock.valid()?;
        let sound = |t: &ArmStats| t.count >= 0.0 && t.count.is_finite() && (0.0..=1.0).contains(&t.mean);
        if state.tallies.len() != self.state.tallies.len() || !state.tallies.iter().all(sound) {
            return Err(SnapshotError::state("tallies that no losses can give").into());
        }
        self.state = state;
        Ok(())
    }
}
