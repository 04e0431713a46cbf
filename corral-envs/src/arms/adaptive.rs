//! Environments that answer what was played. Each sees past decisions only: `means` of a round is computed before its
//! decision exists, and `played` comes after.

use corral_core::ParamError;
use serde::Deserialize;

use super::stochastic::check_arms;
use super::{Moving, Noise, Path, check_means};
use crate::Draw;
use crate::registry::{Row, entry, field};

/// Parameters of [`AntiGreedy`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AntiGreedyParams {
    /// The number of arms.
    pub arms: usize,
    /// Over how many past rounds plays are counted.
    #[serde(default = "hundred")]
    pub window: usize,
}

fn hundred() -> usize {
    100
}

impl AntiGreedyParams {
    /// The path.
    ///
    /// # Errors
    /// There are fewer than two arms, or the window is empty or beyond 2^24.
    pub fn check(self) -> Result<AntiGreedy, ParamError> {
        check_arms(self.arms, 2)?;
        if !(1..=1 << 24).contains(&self.window) {
            return Err(ParamError::new("window", self.window, "in 1..=2^24"));
        }
        Ok(AntiGreedy {
            counts: vec![0; self.arms],
            recent: Vec::with_capacity(self.window),
            window: self.window,
            at: 0,
        })
    }
}

/// Loss 1 for the arm that was played most in the last `window` rounds (the lowest of equals; nobody before the first
/// play), 0 for the others.
#[derive(Debug, Clone)]
pub struct AntiGreedy {
    counts: Vec<u32>,
    // The last plays, as a ring once it is full.
    recent: Vec<u32>,
    window: usize,
    at: usize,
}

impl Path for AntiGreedy {
    fn arms(&self) -> usize {
        self.counts.len()
    }

    fn means(&mut self, _round: u64, _draw: Draw, means: &mut [f64]) {
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

    fn played(&mut self, arm: usize) {
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

/// Parameters of [`AntiCumulative`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AntiCumulativeParams {
    /// The number of arms.
    pub arms: usize,
    /// How many plays make a difference of e.
    #[serde(default = "ten")]
    pub temperature: f64,
    /// What is added to the means.
    #[serde(default)]
    pub noise: Noise,
}

fn ten() -> f64 {
    10.0
}

impl AntiCumulativeParams {
    /// The path.
    ///
    /// # Errors
    /// There are fewer than two arms, or the temperature is not positive and finite.
    pub fn check(self) -> Result<AntiCumulative, ParamError> {
        check_arms(self.arms, 2)?;
        let temperature = ParamError::positive("temperature", self.temperature)?;
        Ok(AntiCumulative { counts: vec![0; self.arms], temperature })
    }
}

/// mean_i = exp((n_i - max n)/temperature), n_i the plays of arm i so far: proportional to the softmax of the counts,
/// and 1 for the arm that was played most.
#[derive(Debug, Clone)]
pub struct AntiCumulative {
    counts: Vec<u64>,
    temperature: f64,
}

impl Path for AntiCumulative {
    fn arms(&self) -> usize {
        self.counts.len()
    }

    fn means(&mut self, _round: u64, _draw: Draw, means: &mut [f64]) {
        let most = self.counts.iter().copied().max().unwrap_or(0);
        for (mean, count) in means.iter_mut().zip(&self.counts) {
            *mean = libm::exp(-((most - count) as f64) / self.temperature);
        }
    }

    fn played(&mut self, arm: usize) {
        self.counts[arm] += 1;
    }
}

/// Parameters of [`SlowStarter`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowStarterParams {
    /// Mean loss per arm in its first plays.
    #[serde(default = "slow_before")]
    pub before: Vec<f64>,
    /// Mean loss per arm after them.
    #[serde(default = "slow_after")]
    pub after: Vec<f64>,
    /// How many plays of its own an arm needs.
    #[serde(default = "thousand")]
    pub plays: u64,
    /// What is added to the means.
    #[serde(default = "Noise::none")]
    pub noise: Noise,
}

fn slow_before() -> Vec<f64> {
    vec![0.5, 0.7]
}

fn slow_after() -> Vec<f64> {
    vec![0.5, 0.3]
}

fn thousand() -> u64 {
    1000
}

impl SlowStarterParams {
    /// The path.
    ///
    /// # Errors
    /// A mean is outside [0, 1], or the lists are empty or have different lengths.
    pub fn check(self) -> Result<SlowStarter, ParamError> {
        check_means("before", &self.before)?;
        check_means("after", &self.after)?;
        if self.before.len() != self.after.len() {
            let found = format!("{} means after {} before", self.after.len(), self.before.len());
            return Err(ParamError::new("after", found, "as many as before"));
        }
        let counts = vec![0; self.before.len()];
        Ok(SlowStarter { before: self.before, after: self.after, plays: self.plays, counts })
    }
}

/// Arms that learn: arm i has mean loss `before[i]` in its own first `plays` plays, and `after[i]` from then on. A
/// stand-in for a base that is bad until it has learned; with bases `fixed` on the arms, a master faces the slow
/// starter.
///
/// The best in hindsight is the arm that is best had it been played in every round: never having left A costs
/// 0.5 T, B alone costs 0.7 * 1000 + 0.3 (T - 1000).
#[derive(Debug, Clone)]
pub struct SlowStarter {
    before: Vec<f64>,
    after: Vec<f64>,
    plays: u64,
    counts: Vec<u64>,
}

impl Path for SlowStarter {
    fn arms(&self) -> usize {
        self.before.len()
    }

    fn means(&mut self, _round: u64, _draw: Draw, means: &mut [f64]) {
        for (i, mean) in means.iter_mut().enumerate() {
            *mean = if self.counts[i] < self.plays { self.before[i] } else { self.after[i] };
        }
    }

    fn played(&mut self, arm: usize) {
        self.counts[arm] += 1;
    }

    fn best_alone(&self, rounds: u64) -> Option<f64> {
        let slow = rounds.min(self.plays);
        let alone = |i: usize| self.before[i] * slow as f64 + self.after[i] * (rounds - slow) as f64;
        (0..self.before.len()).map(alone).reduce(f64::min)
    }
}

pub(super) const ANTI_GREEDY: Row = Row {
    entry: entry(
        "anti-greedy",
        "arms",
        "loss 1 for the arm that was played most in the last rounds, 0 for the others",
        "the paper's multi-armed example, adaptive adversary",
        "adaptive adversary; regret against the losses that were realised",
        "O(K)",
        &[
            field("arms", "", "number of arms, at least 2"),
            field("window", "100", "over how many past rounds plays are counted"),
        ],
    ),
    example: "arms = 3\nwindow = 5",
    build: |request, _| {
        let params: AntiGreedyParams = request.read()?;
        request.game(params.check().map(|path| Moving::new(path, Noise::None)))
    },
};

pub(super) const ANTI_CUMULATIVE: Row = Row {
    entry: entry(
        "anti-cumulative",
        "arms",
        "mean losses proportional to the softmax of how often the arms were played",
        "the paper's multi-armed example, adaptive adversary",
        "adaptive adversary; regret against the losses that were realised",
        "O(K)",
        &[
            field("arms", "", "number of arms, at least 2"),
            field("temperature", "10.0", "how many plays make a factor of e"),
            field("noise", "\"bernoulli\"", "bernoulli, or none: the loss is the mean"),
        ],
    ),
    example: "arms = 3",
    build: |request, _| {
        let params: AntiCumulativeParams = request.read()?;
        let noise = params.noise;
        request.game(params.check().map(|path| Moving::new(path, noise)))
    },
};

pub(super) const SLOW_STARTER: Row = Row {
    entry: entry(
        "slow-starter",
        "arms",
        "an arm that becomes the best after 1000 plays of its own; for masters over fixed bases",
        "stress scenario: A costs 0.5; B costs 0.7 until 1000 own plays, then 0.3",
        "reacts to an arm's own plays; regret against the best arm played in every round",
        "O(K)",
        &[
            field("before", "[0.5, 0.7]", "mean LOSS per arm in its first plays"),
            field("after", "[0.5, 0.3]", "mean LOSS per arm after them"),
            field("plays", "1000", "how many plays of its own an arm needs"),
            field("noise", "\"none\"", "none: the loss is the mean, or bernoulli"),
        ],
    ),
    example: "plays = 100",
    build: |request, _| {
        let params: SlowStarterParams = request.read()?;
        let noise = params.noise;
        request.game(params.check().map(|path| Moving::new(path, noise)))
    },
};
