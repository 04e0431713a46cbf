//! EXP4 with uniform exploration (Maillard, Munos 2011, "Adaptive bandits: towards the best history-dependent
//! strategy"; Bubeck, Cesa-Bianchi 2012, survey, chapter 4.2).
//!
//! ```text
//! P(a)    = sum_i pbar_i pi_i(a)                    action a of the round
//! S_i    += f pi_i(a_t)/P(a_t)                      the weights of credit "likelihood"
//! q_i     ~ exp(-eta (S_i - min S)),  pbar_i = (1 - gamma) q_i + gamma/M
//! eta     = sqrt(2 ln M/(T min(M, K)))
//! gamma   = min(1, (alpha M^alpha R/T)^(1/(1+alpha)))
//! ```
//!
//! Feed: weighted, with credit "likelihood" or "same-decision"; with credit "chosen" it is EXP3 with mixing, and K does
//! not help. For (alpha, R)-stable bases the regret is at most gamma T + sqrt(2 T min(M, K) ln M) + (M/gamma)^alpha R
//! against the best base run alone, for any losses: T^(2/3) for alpha = 1/2, R = sqrt(T), as the paper of Corral notes.
//! It is logarithmic in M where decisions are shared; it is not sqrt(T), and it needs T and the bases' bounds. The proof:
//! docs/master-bounds.md#exp4-with-uniform-exploration.

use super::prelude::*;

crate::params! {
    /// Parameters of [`Exp4Mix`].
    pub struct Exp4MixParams {
        /// The learning rate eta; unset: sqrt(2 ln M/(T min(M, K))).
        rate: Option<f64> = None, Bounds::POSITIVE;
        /// The uniform share gamma; unset: the largest (alpha M^alpha R/T)^(1/(1+alpha)) that a base's bound asks for, at
        /// most 1.
        mixing: Option<f64> = None, Bounds::UNIT;
        /// The number K of actions that the bases share; unset: they share none.
        actions: Option<usize> = None, Bounds::at_least(1.0);
        /// A regret bound `{ scale, exponent, alpha }` per base; unset: what is known of the bases.
        bounds: Option<Vec<RegretBound>> = None;
    }
}

/// EXP4 with uniform exploration.
pub type Exp4Mix = Ruled<Exp4MixRule>;

/// The rule of [`Exp4Mix`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exp4MixRule {
    weights: ExponentialWeights,
    mixing: f64,
}

impl Rule for Exp4MixRule {
    type Params = Exp4MixParams;

    const NAME: &'static str = "exp4-mix";

    fn new(params: &Exp4MixParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let bases = setup.bases as f64;
        let horizon = || setup.known_horizon("known, or rate and mixing given").map(|rounds| rounds as f64);
        let shared = match params.actions {
            Some(actions) => bases.min(actions as f64),
            None => bases,
        };
        let rate = match params.rate {
            Some(rate) => rate,
            None => (2.0 * bases.ln() / (horizon()? * shared * setup.range)).sqrt(),
        };
        let bounds = setup.bounds_or(params.bounds.as_deref())?;
        let mixing = match params.mixing {
            Some(mixing) => mixing,
            None => {
                let rounds = horizon()?;
                // gamma T + (M rho/gamma)^alpha R is least at gamma = (alpha (M rho)^alpha R/T)^(1/(1+alpha)).
                let best = |b: &RegretBound| {
                    let asked = b.alpha * (bases * setup.range).powf(b.alpha) * b.at(rounds) / rounds;
                    asked.powf(1.0 / (1.0 + b.alpha)).min(1.0)
                };
                bounds.iter().map(best).fold(0.0, f64::max)
            }
        };
        Ok(Self { weights: ExponentialWeights::new(setup.bases, rate), mixing })
    }

    fn begin(&mut self, experience: &[Experience]) -> Result<(), ParamError> {
        self.weights.begin(experience);
        Ok(())
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        let loss = round.loss;
        // S_i += f pi_i(a_t)/P(a_t)
        round.each(|i, weight| self.weights.add(i, loss * weight));
        Ok(())
    }

    fn admitted(&mut self, base: usize, share: f64, roster: &Roster, fresh: Self) -> bool {
        let joined = self.weights.joined(base, share, roster, fresh.weights.rate());
        joined.map(|weights| *self = Self { weights, ..fresh }).is_some()
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        self.weights.distribute(roster, self.mixing, out);
    }

    fn weight_range(&self) -> Option<f64> {
        (self.mixing > 0.0).then(|| self.weights.len() as f64 / self.mixing)
    }

    fn constants(&self) -> impl Serialize {
        self.mixing
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        state.weights.validate(self.weights.len())
    }
}
