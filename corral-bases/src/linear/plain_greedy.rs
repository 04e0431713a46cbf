//! epsilon-greedy where there are no features: over the means of the arms.

use super::EpsilonGreedyParams;
use crate::arms::index::{ArmStats, chance_of_lowest, draw_lowest};
use crate::arms::{ArmBase, ArmRule, Now, Round};
use crate::prelude::*;

/// A random arm with probability epsilon, else the one with the lowest mean. Arms that were never seen come first.
pub type PlainEpsilonGreedy = ArmBase<EpsilonGreedyParams>;

impl EpsilonGreedyParams {
    fn epsilon(&self, now: &Now) -> f64 {
        let range = if self.range_change == RangeChange::Keep { 1.0 } else { now.clock.range };
        let horizon = now.clock.tuned().unwrap_or((now.clock.rounds as f64 + 1.0).max(2.0));
        self.probability(now.met as f64, horizon, range)
    }
}

fn means<'a>(tallies: &'a [ArmStats], now: &Now) -> impl Iterator<Item = f64> + Clone + use<'a> {
    tallies[..now.offered].iter().map(|t| if t.count > 0.0 { t.mean } else { f64::NEG_INFINITY })
}

impl ArmRule for EpsilonGreedyParams {
    type State = Vec<ArmStats>;
    const SAVED_AS: &'static str = "epsilon-greedy arms";

    fn fresh(&self, now: &Now) -> Result<Vec<ArmStats>> {
        Ok(vec![ArmStats::default(); now.actions])
    }

    fn takes_offers(&self) -> bool {
        true
    }

    fn part(&self, tallies: &Vec<ArmStats>, _: &Now, numbers: &[u32]) -> Option<Vec<ArmStats>> {
        Some(select(tallies, numbers))
    }

    fn propose(&self, tallies: &mut Vec<ArmStats>, now: &Now, rng: &mut dyn Rng) -> Result<Proposal<Arm>> {
        if uniform(rng) < self.epsilon(now) {
            return Ok(Proposal::new(Arm::at(uniform_arm(now.offered, rng))));
        }
        Ok(draw_lowest(self.ties, means(tallies, now), rng))
    }

    fn likelihood(&self, tallies: &Vec<ArmStats>, now: &Now, arm: usize) -> Option<(f64, Memo)> {
        let (epsilon, greedy) = (self.epsilon(now), chance_of_lowest(self.ties, means(tallies, now), arm)?);
        Some((epsilon / now.offered as f64 + (1.0 - epsilon) * greedy, Memo::empty()))
    }

    fn learn(&self, tallies: &mut Vec<ArmStats>, _: &Now, Round { played, .. }: Round<'_>) -> Result {
        if let Some(loss) = played.feedback.observed() {
            tallies[played.arm].add(loss);
        }
        Ok(())
    }

    /// Only an epsilon that changes from round to round needs to know of rounds that were not seen.
    fn abilities(&self, clock: &Clock) -> Abilities {
        let wants_passes = self.epsilon == Setting::Auto && clock.horizon.is_none();
        Abilities { wants_passes, ..Abilities::MODEL }
    }

    fn restore(&self, tallies: &mut Vec<ArmStats>, now: &Now) -> Result<(), SnapshotError> {
        let sound = |t: &ArmStats| t.is_sound(|mean| (0.0..=1.0).contains(&mean));
        ensure(tallies.len() == now.actions && tallies.iter().all(sound), "tallies that no losses can give")
    }
}
