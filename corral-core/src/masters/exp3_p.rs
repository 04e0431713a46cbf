//! EXP3.P over bases (Auer, Cesa-Bianchi, Freund, Schapire 2002; constants of Bubeck, Cesa-Bianchi 2012, section 3.3).
//!
//! ```text
//! G_i    += ((1 - f) 1{i = i_t} + b)/pbar_i
//! w_i     ~ exp(eta (G_i - max G)),  pbar_i = (1 - gamma) w_i + gamma/M
//! b       = sqrt(ln(M/delta)/(T M)),  eta = 0.95 sqrt(ln M/(T M)),  gamma = min(1/2, 1.05 sqrt(M ln M/T))
//! ```
//!
//! Feed: raw or weighted. With probability 1 - delta the regret against each base's *actual* run is O(sqrt(T M ln(M/delta))),
//! for any losses. As a master of bases that must be kept alive set `exponent = a` for bases with regret n^a: then
//! gamma = T^(-(1-a)/(2-a)), the forced exploration under which smoothed bases reach T^(1/(2-a)) (Pacchiano et al. 2020).
//! It needs T, or all three constants. Under delay the bonus b/pbar_i uses the distribution in force when the loss arrives,
//! which the theorem does not cover. The proof, with 5.15 sqrt(T M ln(M/delta)): docs/master-bounds.md#exp3p.

use super::prelude::*;

crate::params! {
    /// Parameters of [`Exp3P`].
    pub struct Exp3PParams {
        /// The learning rate eta; unset: 0.95 sqrt(ln M/(T M)).
        rate: Option<f64> = None, Bounds::POSITIVE;
        /// The bonus b; unset: sqrt(ln(M/delta)/(T M)).
        bonus: Option<f64> = None, Bounds::POSITIVE;
        /// The uniform share gamma; unset: min(1/2, 1.05 sqrt(M ln M/T)).
        mixing: Option<f64> = None, Bounds::UNIT;
        /// The probability with which the bound may fail.
        delta: f64 = 0.05, Bounds::INSIDE_UNIT;
        /// The exponent a of bases whose regret is n^a: gamma = T^(-(1-a)/(2-a)).
        exponent: Option<f64> = None, Bounds::UNIT;
    }
}

/// EXP3.P over bases.
pub type Exp3P = Ruled<Exp3PRule>;

/// The rule of [`Exp3P`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exp3PRule {
    /// Weights of the sums -G.
    weights: ExponentialWeights,
    rate: f64,
    bonus: f64,
    mixing: f64,
}

impl Rule for Exp3PRule {
    type Params = Exp3PParams;

    const NAME: &'static str = "exp3-p";

    fn new(params: &Exp3PParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let bases = setup.bases as f64;
        let horizon =
            || setup.known_horizon("known, or rate, bonus and mixing given").map(|rounds| rounds as f64);
        // Gains whose own weights reach rho have second moments up to rho: T M becomes T M rho.
        let rate = match params.rate {
            Some(rate) => rate,
            None => 0.95 * (bases.ln() / (horizon()? * bases * setup.range)).sqrt(),
        };
        let bonus = match params.bonus {
            Some(bonus) => bonus,
            None => ((bases / params.delta).ln() / (horizon()? * bases)).sqrt(),
        };
        let mixing = match (params.mixing, params.exponent) {
            (Some(mixing), _) => mixing,
            (None, Some(a)) => horizon()?.powf(-(1.0 - a) / (2.0 - a)),
            (None, None) => (1.05 * (bases * bases.ln() / horizon()?).sqrt()).min(0.5),
        };
        Ok(Self { weights: ExponentialWeights::new(setup.bases, rate), rate, bonus, mixing })
    }

    fn begin(&mut self, experience: &[Experience]) -> Result<(), ParamError> {
        self.weights.begin(experience);
        Ok(())
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        let Credited { loss, roster, current, .. } = round;
        let mut seen = false;
        round.each(|_, _| seen = true);
        if seen {
            // G_i += b/pbar_i; the sums hold -G.
            self.weights.favour(roster, self.bonus, current);
            // G_i += (1 - f) w_i
            round.each(|i, weight| self.weights.add(i, -(1.0 - loss) * weight));
        }
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
        (self.rate, self.bonus, self.mixing)
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        state.weights.validate(self.weights.len())
    }
}
