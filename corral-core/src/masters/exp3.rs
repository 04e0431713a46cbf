//! EXP3 over bases (Auer, Cesa-Bianchi, Freund, Schapire 2002, "The nonstochastic multiarmed bandit problem").
//!
//! ```text
//! S_i    += f w_i                                  w_i = 1{i = i_t}/pbar_i, or the weights of another credit rule
//! q_i     ~ exp(-eta (S_i - min S))
//! pbar_i  = (1 - gamma) q_i + gamma/M
//! eta     = sqrt(2 ln M/(T M)); T not known: eta_t = sqrt(ln M/(t M))
//! ```
//!
//! Feed: raw or weighted. Guarantees ln M/eta + eta M T/2 + gamma T against each base's *actual* run, for any losses.
//! It does not guarantee anything against the base run alone, which is why Corral exists: 1/pbar can grow
//! exponentially, so a base that learns from weighted losses can be starved or drowned ("EXP3 induces probabilities
//! that are exponentially small"). Constants from memory.

use serde::{Deserialize, Serialize};

use super::entropy::ExponentialWeights;
use super::rule::{Rule, Ruled};
use super::{MasterSetup, Roster};
use crate::catalog::{Entry, Field};
use crate::{Credit, MasterError, ParamError, SnapshotError};

/// Parameters of [`Exp3`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Exp3Params {
    /// The learning rate eta; `None`: the formula of the horizon.
    pub rate: Option<f64>,
    /// The uniform share gamma, in [0, 1].
    pub mixing: f64,
}

/// EXP3 over bases.
pub type Exp3 = Ruled<Exp3Rule>;

/// The rule of [`Exp3`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exp3Rule {
    weights: ExponentialWeights,
    mixing: f64,
    /// M times the outer range: the second moment of an estimate.
    moment: f64,
    anytime: bool,
    round: u64,
}

impl Exp3Rule {
    /// eta_t = sqrt(ln M/(t M)) of round t.
    fn anytime_rate(&self, bases: usize) -> f64 {
        ((bases as f64).ln() / (self.round.max(1) as f64 * self.moment)).sqrt()
    }
}

impl Rule for Exp3Rule {
    type Params = Exp3Params;

    const ENTRY: Entry = Entry {
        name: "exp3",
        summary: "exponential weights over the bases' estimated losses",
        source: "Auer, Cesa-Bianchi, Freund, Schapire 2002, The nonstochastic multiarmed bandit problem",
        regret: "sqrt(2 T M ln M) against each base's actual run; nothing against the base run alone",
        alpha: None,
        fits: "feed raw or weighted; any losses",
        cost: "O(M), one exponential (M when T is not known)",
        kind: "any",
        status: "standard",
        fields: &[
            Field { name: "rate", default: "sqrt(2 ln M/(T M))", doc: "the learning rate eta" },
            Field { name: "mixing", default: "0", doc: "the uniform share gamma" },
        ],
    };

    fn new(params: &Exp3Params, setup: &MasterSetup) -> Result<Self, ParamError> {
        let bases = setup.bases as f64;
        let moment = bases * setup.range;
        let rate = match (params.rate, setup.horizon) {
            (Some(rate), _) => ParamError::positive("rate", rate)?,
            (None, Some(horizon)) => (2.0 * bases.ln() / (horizon as f64 * moment)).sqrt(),
            (None, None) => (bases.ln() / moment).sqrt(),
        };
        Ok(Self {
            weights: ExponentialWeights::new(setup.bases, rate),
            mixing: ParamError::unit("mixing", params.mixing)?,
            moment,
            anytime: params.rate.is_none() && setup.horizon.is_none(),
            round: 1,
        })
    }

    fn takes_real_losses(_: &Exp3Params) -> bool {
        true
    }

    fn learn(
        &mut self,
        loss: f64,
        credit: Credit<'_>,
        roster: &Roster,
        _: &[f64],
    ) -> Result<(), MasterError> {
        // S_{i_t} += f/pbar_{i_t}
        roster.credited(credit, |i, weight| self.weights.add(i, loss * weight));
        self.round += 1;
        if self.anytime {
            let rate = self.anytime_rate(roster.bases());
            self.weights.refresh(roster, rate);
        }
        Ok(())
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        self.weights.distribute(roster, self.mixing, out);
    }

    fn weight_range(&self) -> f64 {
        // pbar >= gamma/M
        if self.mixing > 0.0 { self.weights.len() as f64 / self.mixing } else { f64::INFINITY }
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        state.weights.validate(self.weights.len())?;
        if (state.mixing, state.moment, state.anytime) != (self.mixing, self.moment, self.anytime)
            || state.round == 0
        {
            return Err(SnapshotError::state("its constants do not follow from its parameters"));
        }
        Ok(())
    }
}
