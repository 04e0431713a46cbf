//! Corral in the registry: the paper's algorithm, and its presets after public programs.

use serde::{Deserialize, Deserializer, Serialize};

use super::as_published::{AsPublishedParams, AsPublishedRule, CorralProgram};
use super::{BuildError, MasterSetup, Ruled, read};
use crate::catalog::{Entry, Field};
use crate::{Corral, CorralParams, Horizon, Master, ParamError, Rate};

/// What a spec says of Corral: everything but the number of bases, and the horizon where it is that of the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CorralSpec {
    /// The learning rate; `None`: the default of the rules.
    pub rate: Option<Rate>,
    /// The distribution p_1; uniform when absent.
    pub prior: Option<Vec<f64>>,
    /// Whether losses are estimated around their running mean.
    pub baseline: bool,
    /// The horizon, where it is not that of the run.
    pub horizon: Option<Horizon>,
    /// Whether every round is checked against what the paper proves.
    pub audit: bool,
    /// Whose rules to follow.
    pub rules: CorralProgram,
}

pub(super) const ENTRY: Entry = Entry {
    name: "corral",
    summary: "mirror descent with the log barrier, and rates that grow where probabilities fall",
    source: "Agarwal, Luo, Neyshabur, Schapire 2017, Corralling a Band of Bandit Algorithms",
    regret: "M ln T/eta + T eta - E[rho]/(40 eta ln T): the best base run alone, if bases are stable",
    alpha: None,
    fits: "feed weighted (the theorem) or raw (stochastic bases); any losses",
    cost: "O(M) per Newton step, two or three steps",
    kind: "any",
    status: "paper",
    fields: &[
        Field {
            name: "rate",
            default: "\"balanced\"",
            doc: "balanced 1/sqrt(T), fast 10/sqrt(T), eager 30/sqrt(T), master-optimal, \
                  { scaled = c } for c/sqrt(T), { theory = { alpha, regret } } or a number",
        },
        Field { name: "prior", default: "uniform", doc: "the distribution p_1, a weight per base" },
        Field { name: "baseline", default: "false", doc: "estimate losses around their running mean" },
        Field {
            name: "horizon",
            default: "the run's",
            doc: "a number of rounds, or \"unknown\": doubling epochs",
        },
        Field {
            name: "audit",
            default: "false",
            doc: "check every round against what the paper proves, for claims that measure it",
        },
        Field {
            name: "rules",
            default: "\"paper\"",
            doc: "\"paper\", or a public program's, which are not: as-modelselection, as-coba, as-smpybandits, \
                  as-adversarial-master-h",
        },
    ],
};

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
        if self.rules == CorralProgram::Paper {
            let mut corral = Corral::new(CorralParams {
                rate: self.rate.unwrap_or_default(),
                prior: self.prior.clone(),
                baseline: self.baseline,
                losses: setup.losses,
                ..CorralParams::new(setup.bases, horizon)
            })?;
            if setup.range > 1.0 {
                corral
                    .rerange(setup.range, setup.horizon)
                    .map_err(|_| ParamError::new("range", setup.range, "finite and at least 1"))?;
            }
            if self.audit && setup.bases > 0 {
                corral.start_audit(0).map_err(|_| ParamError::new("audit", true, "asked before a run"))?;
            }
            return Ok(Box::new(corral));
        }
        if self.prior.is_some() || self.baseline || self.audit {
            return Err(ParamError::new(
                "rules",
                "a public program's",
                "the paper's where prior, baseline or audit is set",
            ));
        }
        let rounds = match horizon {
            Horizon::Known(rounds) => Some(rounds),
            Horizon::Unknown => None,
        };
        let rate = match (self.rate, rounds) {
            (None, _) => None,
            (Some(Rate::Fixed(rate)), _) => Some(rate),
            (Some(rate), Some(rounds)) => Some(rate.value(setup.bases, rounds)),
            (Some(_), None) => {
                return Err(ParamError::new("rate", "a formula of T", "a number where T is not known"));
            }
        };
        let params = AsPublishedParams { rules: self.rules, rate };
        let setup = MasterSetup { horizon: rounds, ..setup.clone() };
        Ok(Box::new(Ruled::<AsPublishedRule>::new(params, &setup)?))
    }
}

pub(super) fn build<'de, D: Deserializer<'de>>(
    params: D,
    setup: &MasterSetup,
) -> Result<Box<dyn Master>, BuildError> {
    let spec: CorralSpec = read(ENTRY.name, params)?;
    setup
        .check()
        .and_then(|()| spec.master(setup))
        .map_err(|source| BuildError::Param { name: ENTRY.name.into(), source })
}
