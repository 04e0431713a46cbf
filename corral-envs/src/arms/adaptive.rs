//! Environments that answer what was played. Each sees past decisions only: the means of a round are computed before its
//! decision exists.

use super::{Moving, Noise, Past, SEVERAL_ARMS, given};
use crate::prelude::*;

params! {
    /// Parameters of [`AntiGreedy`].
    pub struct AntiGreedyParams {
        /// The number of arms.
        arms: usize, SEVERAL_ARMS;
        /// Over how many past rounds plays are counted.
        window: usize = 100, WINDOW;
    }
}

/// How many past rounds may be counted.
pub(crate) const WINDOW: Bounds = Bounds::between(1.0, 16_777_216.0);

impl Builds for AntiGreedyParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        let mut answer = AntiGreedy::new(self.arms, self.window);
        ask.game(Moving::new(self.arms, Noise::None, move |past, means| {
            past.last.into_iter().for_each(|arm| answer.played(arm));
            answer.means(means);
        }))
    }
}

/// Loss 1 for the arm that was played most in the last `window` rounds (the lowest of equals; no arm before the first
/// play), 0 for the others.
#[derive(Debug, Clone)]
pub struct AntiGreedy {
    counts: Vec<u32>,
    // The last plays, as a ring once it is full.
    recent: Vec<u32>,
    window: usize,
    at: usize,
}

impl AntiGreedy {
    /// No play so far.
    pub(crate) fn new(arms: usize, window: usize) -> Self {
        Self { counts: vec![0; arms], recent: Vec::with_capacity(window), window, at: 0 }
    }

    /// Writes the mean losses.
    pub(crate) fn means(&self, means: &mut [f64]) {
        means.fill(0.0);
        let mut most = (0, 0);
        for (i, count) in self.counts.iter().enumerate() {
            if *count > most.1 {
                most = (i, *count);
            }
        }
        if most.1 > 0 {
            means[most.0] = 1.0;
        }
    }

    /// Counts a play.
    pub(crate) fn played(&mut self, arm: usize) {
        self.counts[arm] += 1;
        if self.recent.len() < self.window {
            self.recent.push(arm as u32);
        } else {
            self.counts[self.recent[self.at] as usize] -= 1;
            self.recent[self.at] = arm as u32;
            self.at = (self.at + 1) % self.window;
        }
    }
}

params! {
    /// Parameters of arms that cost what they were played: mean_i = exp((n_i - max n)/temperature), n_i the plays of arm i so
    /// far, which is proportional to the softmax of the counts, and 1 for the arm that was played most.
    pub struct AntiCumulativeParams {
        /// The number of arms.
        arms: usize, SEVERAL_ARMS;
        /// How many plays make a factor of e.
        temperature: f64 = 10.0, Bounds::POSITIVE;
        /// How losses follow their means.
        noise: Noise = Noise::Bernoulli;
    }
}

impl Builds for AntiCumulativeParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        ask.game(Moving::new(self.arms, self.noise, move |past, means| {
            let most = past.plays.iter().copied().max().unwrap_or(0);
            for (mean, count) in means.iter_mut().zip(past.plays) {
                *mean = libm::exp(-((most - count) as f64) / self.temperature);
            }
        }))
    }
}

params! {
    /// Parameters of arms that learn: arm i has mean loss `before[i]` in its own first `plays` plays, and `after[i]` from then
    /// on. A stand-in for a base that is bad until it has learned; with bases `fixed` on the arms, a master faces the slow
    /// starter.
    ///
    /// The best in hindsight is the arm that is best had it been played in every round: never having left A costs
    /// 0.5 T, B alone costs 0.7 * 1000 + 0.3 (T - 1000).
    pub struct SlowStarterParams {
        /// Mean LOSS per arm in its first plays.
        before: Vec<f64> = vec![0.5, 0.7], Bounds::UNIT;
        /// Mean LOSS per arm after them.
        after: Vec<f64> = vec![0.5, 0.3], Bounds::UNIT;
        /// How many plays of its own an arm needs.
        plays: u64 = 1000;
        /// How losses follow their means.
        noise: Noise = Noise::None;
    }
}

impl Builds for SlowStarterParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        given("before", &self.before)?;
        same_arms(&self.before, &self.after)?;
        let Self { before, after, plays, noise } = self;
        let (arms, first, then) = (before.len(), before.clone(), after.clone());
        let path = move |past: &Past<'_>, means: &mut [f64]| {
            for (i, mean) in means.iter_mut().enumerate() {
                *mean = if past.plays[i] < plays { first[i] } else { then[i] };
            }
        };
        let alone = move |rounds: u64| {
            let slow = rounds.min(plays);
            let alone = |i: usize| before[i] * slow as f64 + after[i] * (rounds - slow) as f64;
            (0..before.len()).map(alone).reduce(f64::min)
        };
        ask.game(Moving::new(arms, noise, path).alone(alone))
    }
}

/// Refuses lists of different lengths.
pub(super) fn same_arms(before: &[f64], after: &[f64]) -> Result<(), corral_core::ParamError> {
    if before.len() == after.len() {
        return Ok(());
    }
    let found = format!("{} means after {} before", after.len(), before.len());
    Err(corral_core::ParamError::new("after", found, "as many as before"))
}
