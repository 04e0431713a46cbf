//! EXP3 by the rules of the program behind the published figures (`rules = "published-code"`), over *gains* r = 1 - f:
//!
//! ```text
//! S_i    += r w_i,  q_i ~ exp(min(eta S_i, 100)),  eta = sqrt(ln M/(T M)),  gamma = min(1, mixing/sqrt(T))
//! ```
//!
//! (mixing is .1 in its "EXP3" and 1 in its "high mix".) The cut at 100 ties all bases that reach it.

use super::*;

/// The largest exponent of the published code.
const LARGEST_EXPONENT: f64 = 100.0;

impl Exp3Rule {
    pub(super) fn as_published(params: &Exp3Params, setup: &MasterSetup) -> Result<Self, ParamError> {
        let bases = setup.bases as f64;
        let moment = bases * setup.range;
        let rate = params.rate.map(|rate| rate.given(setup.bases, setup.horizon)).transpose()?;
        let rounds = setup.known_horizon("known by the published code's rules")? as f64;
        let rate = rate.unwrap_or_else(|| (bases.ln() / (rounds * moment)).sqrt());
        Ok(Self {
            weights: ExponentialWeights::new(setup.bases, rate),
            mixing: (params.mixing / rounds.sqrt()).min(1.0),
            moment,
            anytime: false,
            rules: params.rules,
            round: 1,
        })
    }

    pub(super) fn learn_as_published(&mut self, round: Credited<'_>) {
        // S_{i_t} += r/pbar_{i_t}; the sums hold -S.
        round.each(|i, weight| self.weights.add_lazily(i, -(1.0 - round.loss) * weight));
    }

    pub(super) fn distribute_as_published(&mut self, roster: &Roster, out: &mut [f64]) {
        self.weights.distribute_capped(roster, LARGEST_EXPONENT, self.mixing, out);
    }
}
