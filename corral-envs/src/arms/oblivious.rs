//! Adversaries that fixed their losses before the first round.

use corral_core::ParamError;
use corral_core::catalog::{Entry, Field};
use serde::Deserialize;

use super::{Moving, Noise, Path, check_means};
use crate::Draw;
use crate::registry::Row;

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
            return Err(ParamError::new("means", "an empty list", "at least one phase"));
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

pub(super) const SWITCHING: Row = Row {
    entry: Entry {
        name: "switching",
        summary: "mean losses that change all at once in given rounds",
        source: "the paper's multi-armed example, adversarial environment",
        regret: "",
        alpha: None,
        fits: "oblivious adversary",
        cost: "O(K)",
        kind: "arms",
        status: "standard",
        fields: &[
            Field { name: "means", default: "", doc: "mean LOSS per arm, one list per phase" },
            Field {
                name: "at",
                default: "[]",
                doc: "first rounds of the later phases, from 0; empty: equal phases",
            },
            Field {
                name: "noise",
                default: "\"bernoulli\"",
                doc: "bernoulli, or none: the loss is the mean",
            },
        ],
    },
    example: "means = [[0.2, 0.5, 0.5], [0.5, 0.5, 0.2]]",
    build: |request, _| {
        let params: SwitchingParams = request.read()?;
        let (noise, rounds) = (params.noise, request.rounds);
        request.arms(params.check(rounds).map(|path| Moving::new(path, noise, rounds)))
    },
};
