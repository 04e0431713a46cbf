//! Adversaries that fixed their losses before the first round.

use super::adaptive::same_arms;
use super::{ARMS, Moving, Noise, Past, SEVERAL_ARMS, given};
use crate::prelude::*;

params! {
    /// Parameters of arms that change all at once.
    pub struct SwitchingParams {
        /// Mean LOSS per arm, one list per phase.
        means: Vec<Vec<f64>>, Bounds::UNIT;
        /// The rounds (counted from 0) in which the phases after the first begin; empty: phases of equal length.
        at: Vec<u64> = Vec::new();
        /// Means that losses are drawn from in place of `means`, phase by phase, where ratings do not tell the truth: regret
        /// is counted with `means`. Empty: they do.
        rated: Vec<Vec<f64>> = Vec::new(), Bounds::UNIT;
        /// How losses follow their means.
        noise: Noise = Noise::Bernoulli;
    }
}

impl Builds for SwitchingParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        let Some(first) = self.means.first() else {
            return Err(ParamError::choice("means", "give at least one phase").into());
        };
        given("means", first)?;
        let arms = first.len();
        for (key, lists) in [("means", &self.means), ("rated", &self.rated)] {
            if let Some(phase) = lists.iter().position(|means| means.len() != arms) {
                let found = format!("{} means in phase {phase} with {arms} arms", lists[phase].len());
                return Err(ParamError::new(key, found, "as many in every phase").into());
            }
        }
        let found = format_args!("{} phases beside {} of means", self.rated.len(), self.means.len());
        require(
            self.rated.is_empty() || self.rated.len() == self.means.len(),
            "rated",
            found,
            "one for each phase",
        )?;
        let phases = self.means.len() as u64;
        let part = |i: u64| (u128::from(ask.rounds) * u128::from(i) / u128::from(phases)) as u64;
        let at = if self.at.is_empty() { (1..phases).map(part).collect() } else { self.at };
        let found = format_args!("{} switches for {phases} phases", at.len());
        require(at.len() as u64 + 1 == phases, "at", found, "one fewer than the phases")?;
        if let Some(i) = at.windows(2).position(|w| w[0] > w[1]) {
            return Err(ParamError::new("at", format!("{} after {}", at[i + 1], at[i]), "in order").into());
        }
        let rated = (!self.rated.is_empty()).then(|| switching(self.rated, at.clone()));
        let game = Moving::new(arms, self.noise, switching(self.means, at));
        ask.game(match rated {
            Some(rated) => game.rated(rated),
            None => game,
        })
    }
}

/// Mean losses that are constant but for given rounds, in which all of them change.
fn switching(phases: Vec<Vec<f64>>, at: Vec<u64>) -> impl FnMut(&Past<'_>, &mut [f64]) + Send {
    let mut phase = 0;
    move |past: &Past<'_>, means: &mut [f64]| {
        while at.get(phase).is_some_and(|at| *at <= past.rounds) {
            phase += 1;
        }
        means.copy_from_slice(&phases[phase]);
    }
}

params! {
    /// Parameters of the change scenario.
    pub struct ChangeParams {
        /// Mean LOSS per arm before.
        before: Vec<f64> = vec![0.3, 0.5], Bounds::UNIT;
        /// Mean LOSS per arm after.
        after: Vec<f64> = vec![0.9, 0.5], Bounds::UNIT;
        /// The part of the run after which they change.
        at: f64 = 0.5, Bounds::UNIT;
        /// How losses follow their means.
        noise: Noise = Noise::None;
    }
}

impl Builds for ChangeParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        given("before", &self.before)?;
        same_arms(&self.before, &self.after)?;
        let at = vec![(self.at * ask.rounds as f64) as u64];
        let arms = self.before.len();
        ask.game(Moving::new(arms, self.noise, switching(vec![self.before, self.after], at)))
    }
}

params! {
    /// Parameters of drifting arms: mean_i(t) = 1/2 + A sin(2 pi (t/P + i/K)).
    pub struct DriftParams {
        /// The number of arms.
        arms: usize, ARMS;
        /// A.
        amplitude: f64 = 0.25, Bounds::between(0.0, 0.5);
        /// P in rounds; the run's length where it is not given.
        period: Option<f64> = None, Bounds::at_least(1.0);
        /// How losses follow their means.
        noise: Noise = Noise::Bernoulli;
    }
}

impl Builds for DriftParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        let period = self.period.unwrap_or(ask.rounds.max(1) as f64);
        let Self { arms, amplitude, noise, .. } = self;
        ask.game(Moving::new(arms, noise, move |past, means| {
            let time = past.rounds as f64 / period;
            for (i, mean) in means.iter_mut().enumerate() {
                let phase = time + i as f64 / arms as f64;
                let swing = amplitude * libm::sin(std::f64::consts::TAU * (phase - libm::floor(phase)));
                *mean = (0.5 + swing).clamp(0.0, 1.0);
            }
        }))
    }
}

params! {
    /// Parameters of the two sequences that punish followers.
    pub struct AlternatingParams {
        /// The number of arms.
        arms: usize = 2, SEVERAL_ARMS;
    }
}

impl Builds for AlternatingParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        match ask.name {
            "ftl-killer" => ask.game(Moving::new(self.arms, Noise::None, ftl_killer)),
            _ => ask.game(Moving::new(self.arms, Noise::None, alternating)),
        }
    }
}

/// Arm i costs (t + i) mod 2 in round t: it punishes whoever follows the last loss.
fn alternating(past: &Past<'_>, means: &mut [f64]) {
    for (i, mean) in means.iter_mut().enumerate() {
        *mean = ((past.rounds + i as u64) % 2) as f64;
    }
}

/// The sequence that makes the follower of the leader lose every round: (1/2, 0), then (0, 1) and (1, 0) in turn; arms
/// beyond the second always cost 1.
fn ftl_killer(past: &Past<'_>, means: &mut [f64]) {
    means.fill(1.0);
    (means[0], means[1]) = match past.rounds {
        0 => (0.5, 0.0),
        t if t % 2 == 1 => (0.0, 1.0),
        _ => (1.0, 0.0),
    };
}

params! {
    /// Parameters of a stochastic world with adversarial swings: the gap between the best arm and the others never changes,
    /// but all means swing between (0, gap) and (1 - gap, 1) in phases that grow by a factor of 1.6.
    pub struct ConstrainedParams {
        /// The number of arms.
        arms: usize, ARMS;
        /// The gap between the best arm and the others.
        gap: f64 = 0.125, Bounds::UNIT;
        /// How much longer each phase is than the one before.
        growth: f64 = 1.6, Bounds::at_least(1.0);
        /// The best arm; the last one where it is not given.
        best: Option<usize> = None;
        /// How losses follow their means.
        noise: Noise = Noise::Bernoulli;
    }
}

impl Builds for ConstrainedParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        let Self { arms, gap, growth, best, noise } = self;
        let best = best.unwrap_or(arms - 1);
        require(best < arms, "best", best, "an arm")?;
        // Length and end of the present phase, and whether its means are the high ones.
        let (mut length, mut end, mut high) = (1.0, 1.0, false);
        ask.game(Moving::new(arms, noise, move |past, means| {
            while past.rounds as f64 >= end {
                length *= growth;
                end += length;
                high = !high;
            }
            let least = if high { 1.0 - gap } else { 0.0 };
            means.fill(least + gap);
            means[best] = least;
        }))
    }
}
