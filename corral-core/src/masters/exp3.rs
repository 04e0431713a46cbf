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
//! that are exponentially small"). The bound is one line: exponential weights lose at most
//! ln M/eta + (eta/2) sum_t sum_i pbar_i l_i^2, and the expectation of sum_i pbar_i l_i^2 is at most M.

#[cfg(feature = "published")]
mod published;

use super::prelude::*;

crate::params! {
    /// Parameters of [`Exp3`].
    pub struct Exp3Params {
        /// The learning rate eta: a number, or `{ scaled = c }` for c/sqrt(T); unset: sqrt(2 ln M/(T M)).
        rate: Option<Rate> = None;
        #[cfg_attr(not(feature = "published"), doc = "The uniform share gamma, in [0, 1].")]
        #[cfg_attr(feature = "published", doc = "The uniform share gamma, in [0, 1]; by the published code's rules in units of 1/sqrt(T).")]
        mixing: f64 = 0.0, Bounds::NON_NEGATIVE;
        /// Whose rules to follow.
        #[cfg_attr(feature = "published", doc = "By the published code's: gains, eta = sqrt(ln M/(T M)), exponents cut at 100.")]
        rules: Rulebook = Rulebook::Paper;
    }
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
    rules: Rulebook,
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

    const NAME: &'static str = "exp3";

    fn new(params: &Exp3Params, setup: &MasterSetup) -> Result<Self, ParamError> {
        #[cfg(feature = "published")]
        if params.rules == Rulebook::PublishedCode {
            return Self::as_published(params, setup);
        }
        let bases = setup.bases as f64;
        let moment = bases * setup.range;
        let rate = match (params.rate, setup.horizon) {
            (Some(rate), horizon) => rate.given(setup.bases, horizon)?,
            (None, Some(horizon)) => (2.0 * bases.ln() / (horizon as f64 * moment)).sqrt(),
            (None, None) => (bases.ln() / moment).sqrt(),
        };
        Ok(Self {
            weights: ExponentialWeights::new(setup.bases, rate),
            mixing: ParamError::unit("mixing", params.mixing)?,
            moment,
            anytime: params.rate.is_none() && setup.horizon.is_none(),
            rules: params.rules,
            round: 1,
        })
    }

    fn begin(&mut self, experience: &[Experience]) -> Result<(), ParamError> {
        if self.rules != Rulebook::Paper {
            return Err(Experience::refuse(PAPER_ALONE));
        }
        self.weights.begin(experience);
        Ok(())
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        let Credited { loss, roster, .. } = round;
        self.round += 1;
        #[cfg(feature = "published")]
        if self.rules == Rulebook::PublishedCode {
            self.learn_as_published(round);
            return Ok(());
        }
        // S_{i_t} += f/pbar_{i_t}
        round.each(|i, weight| self.weights.add(i, loss * weight));
        if self.anytime {
            let rate = self.anytime_rate(roster.bases());
            self.weights.refresh(roster, rate);
        }
        Ok(())
    }

    fn admitted(&mut self, base: usize, share: f64, roster: &Roster, fresh: Self) -> bool {
        let fresh = Self { round: self.round, ..fresh };
        let bases = fresh.weights.len();
        let rate = if fresh.anytime { fresh.anytime_rate(bases) } else { fresh.weights.rate() };
        // Capped exponents do not tell probabilities apart.
        #[cfg(feature = "published")]
        if self.rules == Rulebook::PublishedCode {
            return false;
        }
        let joined = self.weights.joined(base, share, roster, rate);
        joined.map(|weights| *self = Self { weights, ..fresh }).is_some()
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        #[cfg(feature = "published")]
        if self.rules == Rulebook::PublishedCode {
            return self.distribute_as_published(roster, out);
        }
        self.weights.distribute(roster, self.mixing, out);
    }

    fn weight_range(&self) -> Option<f64> {
        // pbar >= gamma/M
        (self.mixing > 0.0).then(|| self.weights.len() as f64 / self.mixing)
    }

    fn constants(&self) -> impl Serialize {
        (self.mixing, self.moment, self.anytime, self.rules, self.round > 0)
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        counted(state.round)?;
        state.weights.validate(self.weights.len())
    }
}
