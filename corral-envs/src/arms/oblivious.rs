//! Adversaries that fixed their losses before the first round.

use corral_core::{ParamError, Rng};
use serde::Deserialize;

use super::stochastic::check_arms;
use super::{GapParams, Moving, Noise, Path, Stationary, check_means};
use crate::Draw;
use crate::registry::{Row, entry, field};

/// Parameters of [`Switching`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchingParams {
    /// Mean losses, one list per phase.
    pub means: Vec<Vec<f64>>,
    /// The rounds (counted from 0) in which the phases after the first begin; empty: phases of equal length.
    #[serde(default)]
    pub at: Vec<u64>,
    /// What is added to the means.
    #[serde(default)]
    pub noise: Noise,
}

impl SwitchingParams {
    /// The path, for a run of `rounds` rounds.
    ///
    /// # Errors
    /// No phase is given, phases have different numbers of arms, a mean is outside [0, 1], or the switches are not
    /// increasing or not one fewer than the phases.
    pub fn check(self, rounds: u64) -> Result<Switching, ParamError> {
        let Some(first) = self.means.first() else {
            return Err(ParamError::choice("means", "give at least one phase"));
        };
        let arms = first.len();
        for (phase, means) in self.means.iter().enumerate() {
            check_means("means", means)?;
            if means.len() != arms {
                let found = format!("{} means in phase {phase} after {arms} in phase 0", means.len());
                return Err(ParamError::new("means", found, "as many in every phase"));
            }
        }
        let phases = self.means.len() as u64;
        let at = if self.at.is_empty() {
            (1..phases).map(|i| (u128::from(rounds) * u128::from(i) / u128::from(phases)) as u64).collect()
        } else {
            self.at
        };
        if at.len() as u64 + 1 != phases {
            let found = format!("{} switches for {phases} phases", at.len());
            return Err(ParamError::new("at", found, "one fewer than the phases"));
        }
        if let Some(i) = at.windows(2).position(|w| w[0] > w[1]) {
            return Err(ParamError::new("at", format!("{} after {}", at[i + 1], at[i]), "in order"));
        }
        Ok(Switching { means: self.means, at, phase: 0 })
    }
}

/// Mean losses that are constant but for given rounds, in which all of them change.
#[derive(Debug, Clone)]
pub struct Switching {
    means: Vec<Vec<f64>>,
    at: Vec<u64>,
    phase: usize,
}

impl Path for Switching {
    fn arms(&self) -> usize {
        self.means[0].len()
    }

    fn means(&mut self, round: u64, _draw: Draw, means: &mut [f64]) {
        while self.at.get(self.phase).is_some_and(|at| *at <= round) {
            self.phase += 1;
        }
        means.copy_from_slice(&self.means[self.phase]);
    }
}

/// Parameters of [`Drift`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriftParams {
    /// The number of arms.
    pub arms: usize,
    /// A, at most 1/2.
    #[serde(default = "quarter")]
    pub amplitude: f64,
    /// P in rounds; the run's length where it is not given.
    pub period: Option<f64>,
    /// What is added to the means.
    #[serde(default)]
    pub noise: Noise,
}

fn quarter() -> f64 {
    0.25
}

impl DriftParams {
    /// The path, for a run of `rounds` rounds.
    ///
    /// # Errors
    /// There are no arms, the amplitude is outside [0, 1/2], or the period is not positive.
    pub fn check(self, rounds: u64) -> Result<Drift, ParamError> {
        check_arms(self.arms, 1)?;
        if !(0.0..=0.5).contains(&self.amplitude) {
            return Err(ParamError::new("amplitude", self.amplitude, "in [0, 1/2]"));
        }
        let period = ParamError::positive("period", self.period.unwrap_or(rounds.max(1) as f64))?;
        Ok(Drift { arms: self.arms, amplitude: self.amplitude, period })
    }
}

/// mean_i(t) = 1/2 + A sin(2 pi (t/P + i/K)).
#[derive(Debug, Clone)]
pub struct Drift {
    arms: usize,
    amplitude: f64,
    period: f64,
}

impl Path for Drift {
    fn arms(&self) -> usize {
        self.arms
    }

    fn means(&mut self, round: u64, _draw: Draw, means: &mut [f64]) {
        let time = round as f64 / self.period;
        for (i, mean) in means.iter_mut().enumerate() {
            let phase = time + i as f64 / self.arms as f64;
            let swing = self.amplitude * libm::sin(std::f64::consts::TAU * (phase - libm::floor(phase)));
            *mean = (0.5 + swing).clamp(0.0, 1.0);
        }
    }
}

/// Parameters of [`Alternating`] and [`FtlKiller`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlternatingParams {
    /// The number of arms.
    #[serde(default = "two")]
    pub arms: usize,
}

fn two() -> usize {
    2
}

/// Arm i costs (t + i) mod 2 in round t: it punishes whoever follows the last loss.
#[derive(Debug, Clone)]
pub struct Alternating(usize);

impl Path for Alternating {
    fn arms(&self) -> usize {
        self.0
    }

    fn means(&mut self, round: u64, _draw: Draw, means: &mut [f64]) {
        for (i, mean) in means.iter_mut().enumerate() {
            *mean = ((round + i as u64) % 2) as f64;
        }
    }
}

/// The sequence that makes the follower of the leader lose every round: (1/2, 0), then (0, 1) and (1, 0) in turn; arms
/// beyond the second always cost 1.
#[derive(Debug, Clone)]
pub struct FtlKiller(usize);

impl Path for FtlKiller {
    fn arms(&self) -> usize {
        self.0
    }

    fn means(&mut self, round: u64, _draw: Draw, means: &mut [f64]) {
        means.fill(1.0);
        (means[0], means[1]) = match round {
            0 => (0.5, 0.0),
            t if t % 2 == 1 => (0.0, 1.0),
            _ => (1.0, 0.0),
        };
    }
}

/// Parameters of the minimax lower bound's instance.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exp3HardParams {
    /// The number of arms.
    pub arms: usize,
    /// Of the gap scale * sqrt(K/T); 1/4 in the lower bound.
    #[serde(default = "quarter")]
    pub scale: f64,
}

/// Parameters of [`Constrained`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConstrainedParams {
    /// The number of arms.
    pub arms: usize,
    /// The gap between the best arm and the others.
    #[serde(default = "eighth")]
    pub gap: f64,
    /// How much longer each phase is than the one before.
    #[serde(default = "growth")]
    pub growth: f64,
    /// The best arm; the last one where it is not given.
    pub best: Option<usize>,
    /// What is added to the means.
    #[serde(default)]
    pub noise: Noise,
}

fn eighth() -> f64 {
    0.125
}

fn growth() -> f64 {
    1.6
}

impl ConstrainedParams {
    /// The path.
    ///
    /// # Errors
    /// There are no arms, the gap is outside [0, 1], the growth is below 1 or not finite, or the best arm does not
    /// exist.
    pub fn check(self) -> Result<Constrained, ParamError> {
        check_arms(self.arms, 1)?;
        let gap = ParamError::unit("gap", self.gap)?;
        if !(1.0..f64::INFINITY).contains(&self.growth) {
            return Err(ParamError::new("growth", self.growth, "finite and at least 1"));
        }
        let best = self.best.unwrap_or(self.arms - 1);
        if best >= self.arms {
            return Err(ParamError::new("best", best, "an arm"));
        }
        Ok(Constrained {
            arms: self.arms,
            gap,
            growth: self.growth,
            best,
            length: 1.0,
            end: 1.0,
            high: false,
        })
    }
}

/// Stochastic with adversarial swings: the gap between the best arm and the others never changes, but all means swing
/// between (0, gap) and (1 - gap, 1) in phases that grow by a factor of 1.6.
#[derive(Debug, Clone)]
pub struct Constrained {
    arms: usize,
    gap: f64,
    growth: f64,
    best: usize,
    // Length and end of the present phase, and whether its means are the high ones.
    length: f64,
    end: f64,
    high: bool,
}

impl Path for Constrained {
    fn arms(&self) -> usize {
        self.arms
    }

    fn means(&mut self, round: u64, _draw: Draw, means: &mut [f64]) {
        while round as f64 >= self.end {
            self.length *= self.growth;
            self.end += self.length;
            self.high = !self.high;
        }
        let best = if self.high { 1.0 - self.gap } else { 0.0 };
        means.fill(best + self.gap);
        means[self.best] = best;
    }
}

/// Parameters of the change scenario.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeParams {
    /// Mean losses before.
    #[serde(default = "change_before")]
    pub before: Vec<f64>,
    /// Mean losses after.
    #[serde(default = "change_after")]
    pub after: Vec<f64>,
    /// The part of the run, in [0, 1], after which they change.
    #[serde(default = "half")]
    pub at: f64,
    /// What is added to the means.
    #[serde(default = "Noise::none")]
    pub noise: Noise,
}

fn change_before() -> Vec<f64> {
    vec![0.3, 0.5]
}

fn change_after() -> Vec<f64> {
    vec![0.9, 0.5]
}

fn half() -> f64 {
    0.5
}

impl ChangeParams {
    /// The path, for a run of `rounds` rounds.
    ///
    /// # Errors
    /// As [`SwitchingParams::check`], or `at` is outside [0, 1].
    pub fn check(self, rounds: u64) -> Result<Switching, ParamError> {
        let at = vec![(ParamError::unit("at", self.at)? * rounds as f64) as u64];
        check_means("before", &self.before)?;
        check_means("after", &self.after)?;
        SwitchingParams { means: vec![self.before, self.after], at, noise: self.noise }.check(rounds)
    }
}

const NOISE: corral_core::catalog::Field =
    field("noise", "\"bernoulli\"", "bernoulli, or none: the loss is the mean");

pub(super) const SWITCHING: Row = Row {
    entry: entry(
        "switching",
        "arms",
        "mean losses that change all at once in given rounds",
        "the paper's multi-armed example, adversarial environment",
        "oblivious adversary",
        "O(K)",
        &[
            field("means", "", "mean LOSS per arm, one list per phase"),
            field("at", "[]", "first rounds of the later phases, from 0; empty: phases of equal length"),
            NOISE,
        ],
    ),
    example: "means = [[0.2, 0.5, 0.5], [0.5, 0.5, 0.2]]",
    build: |request, _| {
        let params: SwitchingParams = request.read()?;
        let (noise, rounds) = (params.noise, request.rounds);
        request.game(params.check(rounds).map(|path| Moving::new(path, noise)))
    },
};

pub(super) const DRIFT: Row = Row {
    entry: entry(
        "drift",
        "arms",
        "mean losses 1/2 + A sin(2 pi (t/P + i/K))",
        "the paper's multi-armed example, adversarial environment",
        "oblivious adversary",
        "O(K)",
        &[
            field("arms", "", "number of arms"),
            field("amplitude", "0.25", "A, at most 1/2"),
            field("period", "unset", "P in rounds; the whole run where it is not given"),
            NOISE,
        ],
    ),
    example: "arms = 3\nperiod = 200",
    build: |request, _| {
        let params: DriftParams = request.read()?;
        let (noise, rounds) = (params.noise, request.rounds);
        request.game(params.check(rounds).map(|path| Moving::new(path, noise)))
    },
};

pub(super) const ALTERNATING: Row = Row {
    entry: entry(
        "alternating",
        "arms",
        "arm i costs (t + i) mod 2 in round t",
        "the paper's multi-armed example, adversarial environment",
        "oblivious adversary",
        "O(K)",
        &[field("arms", "2", "number of arms, at least 2")],
    ),
    example: "",
    build: |request, _| {
        let params: AlternatingParams = request.read()?;
        let built = check_arms(params.arms, 2);
        request.game(built.map(|()| Moving::new(Alternating(params.arms), Noise::None)))
    },
};

pub(super) const FTL_KILLER: Row = Row {
    entry: entry(
        "ftl-killer",
        "arms",
        "losses (1/2, 0), then (0, 1) and (1, 0) in turn: the follower of the leader loses every round",
        "Cesa-Bianchi, Lugosi 2006, Prediction, Learning, and Games",
        "oblivious adversary",
        "O(K)",
        &[field("arms", "2", "number of arms, at least 2; those beyond the second always cost 1")],
    ),
    example: "",
    build: |request, _| {
        let params: AlternatingParams = request.read()?;
        let built = check_arms(params.arms, 2);
        request.game(built.map(|()| Moving::new(FtlKiller(params.arms), Noise::None)))
    },
};

pub(super) const EXP3_HARD: Row = Row {
    entry: entry(
        "exp3-hard",
        "arms",
        "fair coins, but for one arm, drawn at random, that is better by sqrt(K/T)/4",
        "Auer, Cesa-Bianchi, Freund, Schapire 2002, lower bound",
        "stochastic",
        "O(1)",
        &[field("arms", "", "number of arms"), field("scale", "0.25", "the gap is scale * sqrt(K/T)")],
    ),
    example: "arms = 4",
    build: |request, rng| {
        let params: Exp3HardParams = request.read()?;
        let best = best_at_random(params.arms, rng);
        let gap = GapParams { arms: params.arms, gap: None, scale: Some(params.scale), range: 1.0, best };
        let built = gap.check(request.rounds);
        request.game(built.map(|(law, gap)| Stationary::new(law).with_facts(vec![("gap", gap)])))
    },
};

fn best_at_random(arms: usize, rng: &mut dyn Rng) -> Option<usize> {
    Some(Draw::new(rng).stream(0).index(arms))
}

pub(super) const CONSTRAINED: Row = Row {
    entry: entry(
        "stochastically-constrained",
        "arms",
        "a fixed gap, while all means swing between low and high in phases that grow by 1.6",
        "Zimmert, Seldin 2021, Tsallis-INF",
        "stochastically constrained adversary",
        "O(K)",
        &[
            field("arms", "", "number of arms"),
            field("gap", "0.125", "gap between the best arm and the others"),
            field("growth", "1.6", "how much longer each phase is than the one before"),
            field("best", "unset", "the best arm; the last one where it is not given"),
            NOISE,
        ],
    ),
    example: "arms = 4",
    build: |request, _| {
        let params: ConstrainedParams = request.read()?;
        let noise = params.noise;
        request.game(params.check().map(|path| Moving::new(path, noise)))
    },
};

pub(super) const CHANGE: Row = Row {
    entry: entry(
        "change",
        "arms",
        "one change of the mean losses: a good arm becomes bad; for masters over fixed bases",
        "stress scenario: A costs 0.3 for the first half, then 0.9; B costs 0.5",
        "oblivious adversary",
        "O(K)",
        &[
            field("before", "[0.3, 0.5]", "mean LOSS per arm before"),
            field("after", "[0.9, 0.5]", "mean LOSS per arm after"),
            field("at", "0.5", "part of the run, in [0, 1], after which they change"),
            field("noise", "\"none\"", "none: the loss is the mean, or bernoulli"),
        ],
    ),
    example: "",
    build: |request, _| {
        let params: ChangeParams = request.read()?;
        let noise = params.noise;
        let built = params.check(request.rounds);
        request.game(built.map(|path| Moving::new(path, noise)))
    },
};
