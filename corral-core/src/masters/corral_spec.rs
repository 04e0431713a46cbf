//! Corral in the registry: the paper's algorithm, and its presets after public programs.

use super::as_published::{AsPublishedParams, AsPublishedRule, CorralProgram};
use super::clipped::{ClippedParams, ClippedRule};
use super::practical::{Fall, Practical, PracticalParams};
use super::{Listed, MasterSetup, Ruled};
use crate::params::Bounds;
use crate::{CorralParams, Horizon, Master, ParamError, Rate, Step, require};

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
        /// A number of rounds, "restart" (epochs that double, everything starts over) or "unknown" (a rate that falls, nobody
        /// is restarted); unset: the run's.
        horizon: Option<Horizon> = None;
        /// Whether every round is checked against what the paper proves, for claims that measure it.
        audit: bool = false;
        /// Whether p stays at or above 1/(T M) by the step itself, instead of being mixed with the uniform distribution (Lee, Luo,
        /// Wei, Zhang 2020; experimental).
        clipped: bool = false;
        /// How a round is made: by a pass over all bases, by clusters of them (flat), or by whichever is faster (auto).
        step: Step = Step::Auto;
        /// Whose rules to follow: the paper's, or those of a public program, which are not.
        rules: CorralProgram = CorralProgram::Paper;
    }
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
            (None, Some(rounds)) => Horizon::Known(rounds),
            (None, None) => Horizon::Unknown,
        };
        if self.clipped {
            return self.clipped(horizon, setup);
        }
        if self.rules == CorralProgram::Paper && horizon == Horizon::Unknown {
            return self.without_horizon(setup);
        }
        if self.rules == CorralProgram::Paper {
            let params = CorralParams {
                rate: self.rate.unwrap_or_default(),
                prior: self.prior.clone(),
                baseline: self.baseline,
                step: self.step,
                ..CorralParams::new(setup.bases, horizon)
            };
            let mut corral = setup.corral(params, setup.horizon)?;
            if self.audit && setup.bases > 0 {
                corral.start_audit(0).map_err(|_| ParamError::new("audit", true, "asked before a run"))?;
            }
            return Ok(Box::new(corral));
        }
        let must = "the paper's where prior, baseline, audit or step is set";
        require(self.is_plain(), "rules", "a public program's", must)?;
        let rounds = match horizon {
            Horizon::Known(rounds) => Some(rounds),
            Horizon::Restart | Horizon::Unknown => None,
        };
        let rate = self.rate.map(|rate| rate.given(setup.bases, rounds)).transpose()?;
        let params = AsPublishedParams { rules: self.rules, rate };
        let setup = MasterSetup { horizon: rounds, ..setup.clone() };
        Ok(Box::new(Ruled::<AsPublishedRule>::new(params, &setup)?))
    }

    /// Nothing is asked that the paper's program alone has.
    fn is_plain(&self) -> bool {
        self.prior.is_none() && !self.baseline && !self.audit && self.step == Step::Auto
    }

    /// Over the clipped simplex.
    fn clipped(&self, horizon: Horizon, setup: &MasterSetup) -> Result<Box<dyn Master>, ParamError> {
        let Horizon::Known(rounds) = horizon else {
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

    /// The step of Algorithm 2 with the rate c/sqrt(t + 256), where the run's is c/sqrt(T): nobody is restarted. With the floor of the
    /// preset for practice in place of mixing, so that who was driven out while the rate was high comes back in time.
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
            ..Default::default()
        };
        Ok(Box::new(Practical::new(params, setup)?))
    }
}
