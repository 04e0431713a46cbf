//! What earlier runs say of the bases: a prior for the masters that take one (docs/experience.md).

use serde::{Deserialize, Serialize};

use super::MasterSetup;
use crate::omd::{OmdParams, settle};
use crate::{LossDomain, ParamError, require};

/// Published programs know none.
pub(super) const PAPER_ALONE: &str = "goes with the rules of the paper alone";

/// What is known of a base before the first round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Experience {
    /// Its mean reward less that of all bases, in [-1, 1].
    pub relative: f64,
    /// How many plays of the base this is worth; 0: nothing is known of it.
    pub plays: f64,
}

impl Experience {
    /// Checks what is given: one for each base; nothing is known of bases that joined later.
    pub(super) fn check(given: &[Self], setup: &MasterSetup) -> Result<(), ParamError> {
        let length = format_args!("of length {}", given.len());
        require(given.len() <= setup.bases, "experience", length, "one entry per base")?;
        let unit = given.is_empty() || setup.losses == LossDomain::Unit;
        require(unit, "losses", "unbounded", "in [0, 1] where there is experience")?;
        for Self { relative, plays } in given {
            require((-1.0..=1.0).contains(relative), "experience.relative", relative, "in [-1, 1]")?;
            require((0.0..=1e9).contains(plays), "experience.plays", plays, "in [0, 10^9]")?;
        }
        Ok(())
    }

    /// Refuses it, because of `why`.
    pub(super) fn refuse(why: &'static str) -> ParamError {
        ParamError::choice("experience", why)
    }

    /// Of base `i`, where `given` is what was given.
    #[inline]
    pub(super) fn of(given: &[Self], i: usize) -> Self {
        given.get(i).copied().unwrap_or(Self { relative: 0.0, plays: 0.0 })
    }

    /// S_i = -M n0_i rel_i: what the estimated losses of n0_i plays with the weight M, which one of M bases has, add up to beside
    /// those of all bases. 0 where nothing is known.
    pub(super) fn estimates(given: &[Self], bases: usize) -> impl Iterator<Item = f64> {
        (0..bases).map(move |i| {
            let Self { relative, plays } = Self::of(given, i);
            -(bases as f64) * plays * relative
        })
    }

    /// 1/p_i = M + eta S_i - lambda: where mirror descent with the log barrier and the rate eta is after these losses.
    pub(super) fn inverse(given: &[Self], bases: usize, rate: f64) -> Result<Vec<f64>, ParamError> {
        let mut places: Vec<f64> = Self::estimates(given, bases).map(|s| bases as f64 + rate * s).collect();
        settle(&mut places, &OmdParams::default())
            .map_err(|_| Self::refuse("gives numbers that no step can be made with"))?;
        Ok(places)
    }
}

#[cfg(test)]
#[path = "experience_tests.rs"]
mod tests;
