//! Corral in the registry.

use serde::{Deserialize, Serialize};

use super::clipped::{ClippedParams, ClippedRule};
use super::practical::{Fall, Practical, PracticalParams};
use super::{Listed, MasterSetup, Ruled};
use crate::params::Bounds;
use crate::{CorralParams, Horizon, Master, ParamError, Rate, Step};

crate::params! {
    /// What a spec says of Corral: everything but the number of bases, and the horizon where it is that of the run.
    pub struct CorralSpec {
        /// The learning rate: balanced 1/sqrt(T), fast 10/sqrt(T), eager 30/sqrt(T), master-optimal, `{ scaled = c }` for
        /// c/sqrt(T), `{ theory = { alpha, regret } }` or a number; unset: balanced, or the default of the rules.
        rate: Option<Rate> = None;
        /// The distribution p_1, a weight per base; unset: uniform.
        prior: Option<Vec<f64>> = None, Bounds::POSITIVE;
        /// Whether losses are estimated around their running mean.
        baseline: bool = false;
        /// A number of rounds, "restart" (epochs that double, everything starts over) or "unknown" (a rate that falls, no base
        /// is restarted); unset: the run's.
        horizon: Option<HorizonSpec> = None;
        /// Whether every round is checked against what the paper proves, for claims that measure it.
        audit: bool = false;
        /// Whether p stays at or above 1/(T M) by the step itself, instead of being mixed with the uniform distribution (Lee, Luo,
        /// Wei, Zhang 2020; experimental).
        clipped: bool = false;
        /// How a round is made: by a pass over all bases, by clusters of them (flat), or by whichever is faster (auto).
        step: Step = Step::Auto;
        #[cfg_attr(not(feature = "published"), doc = "Whose rules to follow.")]
        #[cfg_attr(feature = "published", doc = "Whose rules to follow: the paper's, or those of a public program, which are not.")]
        rules: CorralProgram = CorralProgram::Paper;
    }

    /// Whose rules to follow.
    pub enum CorralProgram {
        /// The paper's.
        #[default]
        Paper,
        #[cfg(feature = "published")]
        /// Those of pacchiano/modelselection.
        AsModelselection,
        #[cfg(feature = "published")]
        /// Those of VowpalWabbit/coba.
        AsCoba,
        #[cfg(feature = "published")]
        /// Those of SMPyBandits.
        AsSmpybandits,
        #[cfg(feature = "published")]
        /// Those of a C++ header for smoothed bases.
        AsAdversarialMasterH,
    }
}

/// How long the game is, as a spec says it: a number of rounds, `"restart"` or `"unknown"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(schemars::JsonSchema), schemars(rename = "Horizon"))]
#[serde(
    rename_all = "kebab-case",
    expecting = "a horizon must be a number of rounds, \"restart\" or \"unknown\""
)]
pub enum HorizonSpec {
    /// Epochs that double; everything starts over with each, the bases too ([`Horizon::Restart`]).
    Restart,
    /// Not known, and no base is restarted: not Algorithm 1 any more, but its step with a rate that falls ([`Practical`]).
    Unknown,
    /// T rounds ([`Horizon::Known`]).
    #[serde(untagged)]
    Known(u64),
}

impl Listed for CorralSpec {
    type Params = Self;

    const NAME: &'static str = "corral";

    fn build(spec: Self, setup: &MasterSetup) -> Result<Box<dyn Master>, ParamError> {
        setup.check()?;
        spec.master(setup)
    }
}

impl CorralSpec {
    /// The master of this spec over the bases of `setup`.
    ///
    /// # Errors
    /// A parameter that the rules are not defined for.
    pub fn master(&self, setup: &MasterSetup) -> Result<Box<dyn Master>, ParamError> {
        let horizon = match (self.horizon, setup.horizon) {
            (Some(horizon), _) => horizon,
            (None, Some(rounds)) => HorizonSpec::Known(rounds),
            (None, None) => HorizonSpec::Unknown,
        };
        if self.clipped {
            return self.clipped(horizon, setup);
        }
        #[cfg(feature = "published")]
        if self.rules != CorralProgram::Paper {
            return self.as_published(horizon, setup);
        }
        let horizon = match horizon {
            HorizonSpec::Known(rounds) => Horizon::Known(rounds),
            HorizonSpec::Restart => Horizon::Restart,
            HorizonSpec::Unknown => return self.without_horizon(setup),
        };
        let params = CorralParams {
            rate: self.rate.unwrap_or_default(),
            prior: self.prior.clone(),
            baseline: self.baseline,
            step: self.step,
            ..CorralParams::new(setup.bases, horizon)
        };
        let mut corral = setup.experienced_corral(params, setup.horizon)?;
        if self.audit && setup.bases > 0 {
            corral.start_audit(0).map_err(|_| ParamError::new("audit", true, "asked before a run"))?;
        }
        Ok(Box::new(corral))
    }

    /// Nothing is asked that the paper's program alone has.
    pub(super) fn is_plain(&self) -> bool {
        self.prior.is_none() && !self.baseline && !self.audit && self.step == Step::Auto
    }

    /// Over the clipped simplex.
    fn clipped(&self, horizon: HorizonSpec, setup: &MasterSetup) -> Result<Box<dyn Master>, ParamError> {
        let HorizonSpec::Known(rounds) = horizon else {
            return Err(ParamError::choice("clipped", "needs a number of rounds: the floor is 1/(T M)"));
        };
        if !self.is_plain() || self.rules != CorralProgram::Paper {
            let why = "goes with no prior, baseline, audit, step or rules of another program";
            return Err(ParamError::choice("clipped", why));
        }
        let params = ClippedParams { rate: self.rate.unwrap_or_default() };
        let setup = MasterSetup { horizon: Some(rounds), ..setup.clone() };
        Ok(Box::new(Ruled::<ClippedRule>::new(params, &setup)?))
    }

    /// The step of Algorithm 2 with the rate c/sqrt(t + 256), where the run's is c/sqrt(T): no base is restarted. With the floor of the
    /// practical preset in place of mixing, so that a base that was driven out while the rate was high comes back in time.
    fn without_horizon(&self, setup: &MasterSetup) -> Result<Box<dyn Master>, ParamError> {
        let scale = match self.rate.unwrap_or_default() {
            Rate::Balanced => 1.0,
            Rate::Fast => 10.0,
            Rate::Eager => 30.0,
            Rate::Scaled(scale) => scale,
            _ => {
                let why = "where the horizon is unknown give balanced, fast, eager or { scaled = number }";
                return Err(ParamError::choice("rate", why));
            }
        };
        if self.prior.is_some() || self.audit {
            let why = "prior and audit need a number of rounds, or horizon = \"restart\"";
            return Err(ParamError::choice("horizon", why));
        }
        let params = PracticalParams {
            rate: Fall::Falling,
            scale,
            baseline: self.baseline,
            memory: f64::MAX, // the mean of all losses, as with T known
            alarm: false,
            ..Default::default()
        };
        Ok(Box::new(Practical::new(params, setup)?))
    }
}
