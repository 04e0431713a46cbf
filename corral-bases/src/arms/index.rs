//! Index bases: every arm has a number that depends on what was seen of it, and the arm with the lowest is played.
//!
//! They are lazy: they learn from the observed loss in rounds that they saw, never from loss * weight, and need no
//! change of widths (docs/stability.md#lazy-bases). Weakly stable with alpha = 1/2, in the strong
//! form without restarts.

use super::frame::{ArmBase, ArmRule, Now, Round};
use crate::prelude::*;

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
    /// Whether losses can have led to it, of which `possible` says whether they can have a mean.
    pub(crate) fn is_sound(&self, possible: impl Fn(f64) -> bool) -> bool {
        self.count >= 0.0 && self.count.is_finite() && possible(self.mean) && self.spread >= -1e-9
    }

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
    /// K, the number of arms that rounds have offered.
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

    /// Whether loss * weight of every round is counted, 0 where it was not seen, in place of the observed loss of
    /// rounds that were seen.
    fn counts_estimates(&self) -> bool {
        false
    }
}

/// A base that plays the arm with the lowest index.
pub type IndexBase<R> = ArmBase<R>;

/// What an index base has learned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IndexState {
    seen: f64,
    tallies: Vec<ArmStats>,
    /// The index of every arm, kept up to date.
    #[serde(skip)]
    indices: Vec<f64>,
}

/// The lowest number of a list, the first place that has it, and how many have it.
#[inline]
pub(crate) fn all_lowest(numbers: impl Iterator<Item = f64>) -> (f64, usize, usize) {
    let (mut low, mut first, mut count) = (f64::INFINITY, 0, 0);
    for (at, number) in numbers.enumerate() {
        if number < low {
            (low, first, count) = (number, at, 1);
        } else if number == low {
            count += 1;
        }
    }
    (low, first, count)
}

/// Draws one of the lowest numbers, as `ties` says.
#[inline]
pub(crate) fn draw_lowest(
    ties: Ties,
    numbers: impl Iterator<Item = f64> + Clone,
    rng: &mut dyn Rng,
) -> Proposal<Arm> {
    let (low, first, count) = all_lowest(numbers.clone());
    if count <= 1 || ties == Ties::Lowest {
        return Proposal::new(Arm::at(first));
    }
    let nth = uniform_arm(count, rng);
    let arm = numbers.enumerate().filter(|(_, number)| *number == low).nth(nth);
    Proposal::new(Arm::at(arm.map_or(first, |(arm, _)| arm)))
}

/// The probability with which [`draw_lowest`] draws `arm`.
pub(crate) fn chance_of_lowest(
    ties: Ties,
    numbers: impl Iterator<Item = f64> + Clone,
    arm: usize,
) -> Option<f64> {
    let (low, first, count) = all_lowest(numbers.clone());
    let number = numbers.into_iter().nth(arm)?;
    Some(match ties {
        Ties::Lowest => f64::from(arm == first),
        Ties::Random => f64::from(number == low) / count.max(1) as f64,
    })
}

/// The index of every arm at this moment.
fn refresh(rule: &impl Index, state: &mut IndexState, now: &Now) {
    let moment = moment(state, now);
    state.indices.resize(now.actions, 0.0);
    for (index, tally) in state.indices.iter_mut().zip(&state.tallies) {
        *index = rule.index(tally, &moment);
    }
}

fn moment(state: &IndexState, now: &Now) -> Moment {
    let (horizon, range) = (now.clock.tuned(), now.clock.range);
    Moment { horizon, seen: state.seen, actions: now.met as f64, range }
}

#[inline]
fn add(rule: &impl Index, state: &mut IndexState, now: &Now, arm: usize, loss: f64) {
    state.seen += 1.0;
    state.tallies[arm].add(loss);
    if now.clock.horizon.is_some() && rule.is_local() {
        state.indices[arm] = rule.index(&state.tallies[arm], &moment(state, now));
    } else {
        refresh(rule, state, now);
    }
}

impl<R: Index> ArmRule for R {
    type State = IndexState;

    fn fresh(&self, now: &Now) -> Result<IndexState> {
        let tallies = vec![ArmStats::default(); now.actions];
        Ok(IndexState { seen: 0.0, tallies, indices: Vec::new() })
    }

    fn tune(&self, state: &mut IndexState, now: &Now) {
        refresh(self, state, now);
    }

    /// A pass counts an estimate of 0 for the lowest arm of all.
    fn takes_offers(&self) -> bool {
        !self.counts_estimates()
    }

    fn part(&self, state: &IndexState, _: &Now, numbers: &[u32]) -> Option<IndexState> {
        let (tallies, indices) = (select(&state.tallies, numbers), select(&state.indices, numbers));
        self.takes_offers().then_some(IndexState { seen: state.seen, tallies, indices })
    }

    fn propose(&self, state: &mut IndexState, now: &Now, rng: &mut dyn Rng) -> Result<Proposal<Arm>> {
        if state.seen < self.random_start() as f64 {
            return Ok(Proposal::new(Arm::at(uniform_arm(now.offered, rng))));
        }
        Ok(draw_lowest(self.ties(), state.indices[..now.offered].iter().copied(), rng))
    }

    fn likelihood(&self, state: &IndexState, now: &Now, arm: usize) -> Option<(f64, Memo)> {
        let probability = if state.seen < self.random_start() as f64 {
            1.0 / now.offered as f64
        } else {
            chance_of_lowest(self.ties(), state.indices[..now.offered].iter().copied(), arm)?
        };
        Some((probability, Memo::empty()))
    }

    fn learn(&self, state: &mut IndexState, now: &Now, Round { played, .. }: Round<'_>) -> Result {
        if self.counts_estimates() {
            add(self, state, now, played.arm, played.feedback.estimate());
        } else if let Some(loss) = played.feedback.observed() {
            add(self, state, now, played.arm, loss);
        }
        Ok(())
    }

    /// The proposal would have been the lowest arm, and its estimate 0.
    fn pass(&self, state: &mut IndexState, now: &Now) {
        let (arm, _) = lowest(state.indices[..now.offered].iter().copied());
        add(self, state, now, arm, 0.0);
    }

    fn abilities(&self, _: &Clock) -> Abilities {
        let estimates = self.counts_estimates();
        Abilities {
            wants_passes: estimates,
            learns_from_others: !estimates,
            wants_memo: estimates,
            ..Abilities::MODEL
        }
    }

    fn restore(&self, state: &mut IndexState, now: &Now) -> Result<(), SnapshotError> {
        let found = state.tallies.len();
        ensure(found == now.actions, format_args!("{found} arms, not {}", now.actions))?;
        let possible = |mean: f64| match self.counts_estimates() {
            true => (0.0..=f64::MAX).contains(&mean),
            false => now.losses.contains(mean),
        };
        let seen: f64 = state.tallies.iter().map(|t| t.count).sum();
        ensure(
            state.tallies.iter().all(|t| t.is_sound(possible)) && seen == state.seen,
            "tallies that no losses can give",
        )
    }
}
