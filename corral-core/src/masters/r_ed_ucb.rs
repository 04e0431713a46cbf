//! R-ed-UCB (Metelli, Trovo, Pirola, Restelli 2022, "Stochastic rising bandits", ICML) and R-UCBE (Mussi, Montenegro, Trovo, Restelli,
//! Metelli 2024, "Best arm identification for stochastic rising bandits", ICML, arXiv 2302.07510): optimism for bases whose rewards
//! rise with their own plays, by less and less.
//!
//! ```text
//! play argmax_i mu_i(s) + beta_i(s);  bases with an empty window first, the lowest index among equals
//! mu_i(s)   = 1/h_i sum_{l = n_i-h_i+1..n_i} (X_l + (s - l) (X_l - X_{l-h_i})/h_i),   h_i = floor(epsilon n_i)
//! beta_i(s) = sigma (s - n_i + h_i - 1) sqrt(w/h_i^3)
//! R-ed-UCB:  s = t,  w = 10 ln(1/delta_t),  delta_t = t^-alpha                        R-UCBE:  s = T,  w = a
//! ```
//!
//! Feed: raw. For stochastic losses whose means fall and are convex in the base's own plays. R-ed-UCB: T^(2/3) where rewards stop
//! rising fast enough and `longest` is no less than epsilon T (docs/master-bounds.md#r-ed-ucb). R-UCBE recommends the best base of T
//! plays, wrong with probability 2 T M e^(-a/10) where a is not too large (its theorem); as a master it is only played, and nothing is
//! said of its regret. Deterministic, so that regret is linear against losses that depend on the choice.
//!
//! R-UCBE was read in the paper's preprint of 2023, where T - l is written with rounds l in place of plays (a slip: its bonus has plays).
//! R-ed-UCB's window, bonus and alpha = 4 were read in its authors' program (github.com/albertometelli/stochastic-rising-bandits), whose
//! weights of single plays are others than the formula's, which is the later paper's with t for T.
//! `longest` is ours (`rising.rs`), and sigma = 1/2, which holds for any losses in [0, 1]; the program has 0.1 for its noise of that size.

use super::prelude::*;
use super::rising::Rising;

crate::params! {
    /// Parameters of [`REdUcb`].
    pub struct REdUcbParams {
        /// The window epsilon, a part of a base's plays.
        window: f64 = 0.25, WINDOW;
        /// sigma: losses are subgaussian with it.
        noise: f64 = 0.5, Bounds::NON_NEGATIVE;
        /// alpha, of the confidence delta_t = t^-alpha.
        confidence: f64 = 4.0, Bounds::POSITIVE;
        /// The longest window, in plays.
        longest: u32 = 1_024, Bounds::at_least(1.0);
    }
}

crate::params! {
    /// Parameters of [`RUcbe`].
    pub struct RUcbeParams {
        /// The window epsilon, a part of a base's plays.
        window: f64 = 0.25, WINDOW;
        /// sigma: losses are subgaussian with it.
        noise: f64 = 0.5, Bounds::NON_NEGATIVE;
        /// The exploration a; unset: 10 ln(2 T M), below which its theorem says nothing.
        exploration: Option<f64> = None, Bounds::NON_NEGATIVE;
        /// The longest window, in plays.
        longest: u32 = 1_024, Bounds::at_least(1.0);
    }
}

/// epsilon, in (0, 1/2].
pub(super) const WINDOW: Bounds = Bounds { low: 0.0, high: 0.5, above: true, below: false };

/// Optimism about where rewards rise to by now.
pub type REdUcb = Ruled<REdUcbRule>;

/// Optimism about where rewards rise to by the end.
pub type RUcbe = Ruled<RUcbeRule>;

/// The rule of [`REdUcb`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct REdUcbRule {
    rising: Rising,
    noise: f64,
    confidence: f64,
    round: u64,
}

/// The rule of [`RUcbe`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RUcbeRule {
    rising: Rising,
    noise: f64,
    exploration: f64,
    horizon: u64,
}

/// A mean is no curve.
pub(super) const NO_CURVE: &str = "means nothing to this master: it follows slopes over the last plays, and a mean of earlier runs has none";

/// argmax_i mu_i(s) + beta_i(s)
fn most(rising: &Rising, roster: &Roster, noise: f64, at: f64, w: f64) -> usize {
    roster.least(|i| {
        let h = rising.width(i);
        // sigma (s - n_i + h_i - 1) sqrt(w/h_i^3); beyond the end there is nothing to carry on.
        let ahead = (at - rising.plays(i) as f64 + h - 1.0).max(0.0);
        let index = rising.carried_on(i, at) + noise * ahead * (w / (h * h * h)).sqrt();
        if index.is_nan() { f64::NEG_INFINITY } else { -index }
    })
}

impl Rule for REdUcbRule {
    type Params = REdUcbParams;

    const NAME: &'static str = "r-ed-ucb";

    const CERTAIN: bool = true;

    fn new(params: &REdUcbParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let rising = Rising::new(params.window, params.longest, setup)?;
        Ok(Self { rising, noise: params.noise, confidence: params.confidence, round: 0 })
    }

    fn begin(&mut self, _: &[Experience]) -> Result<(), ParamError> {
        Err(Experience::refuse(NO_CURVE))
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        self.rising.count(round);
        self.round += 1;
        Ok(())
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        let t = (self.round + 1) as f64;
        follow(most(&self.rising, roster, self.noise, t, 10.0 * self.confidence * t.ln()), out);
    }

    fn constants(&self) -> impl Serialize {
        (self.rising.constants(), self.noise, self.confidence)
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        counted(state.round)?;
        self.rising.validate(&state.rising)
    }
}

impl Rule for RUcbeRule {
    type Params = RUcbeParams;

    const NAME: &'static str = "r-ucbe";

    const CERTAIN: bool = true;

    fn new(params: &RUcbeParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let horizon = setup.known_horizon("known")?;
        let least = 10.0 * (2.0 * horizon as f64 * setup.bases as f64).ln();
        let rising = Rising::new(params.window, params.longest, setup)?;
        Ok(Self { rising, noise: params.noise, exploration: params.exploration.unwrap_or(least), horizon })
    }

    fn begin(&mut self, _: &[Experience]) -> Result<(), ParamError> {
        Err(Experience::refuse(NO_CURVE))
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        self.rising.count(round);
        Ok(())
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        follow(most(&self.rising, roster, self.noise, self.horizon as f64, self.exploration), out);
    }

    fn constants(&self) -> impl Serialize {
        (self.rising.constants(), self.noise, self.exploration, self.horizon)
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        self.rising.validate(&state.rising)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Credit, Master};

    /// Two bases, rewards 0.5 + 0.01 n and 0.6, epsilon = 1/4: every base has four plays before its window holds one.
    /// After six plays of each, h = 1: in round 13 base 0 has 0.56 + (13 - 6) 0.01 = 0.63 and base 1 0.6, both with the bonus
    /// sigma (13 - 6) sqrt(40 ln 13) = sigma 7 sqrt(102.5979) = sigma 70.9034; by hand.
    #[test]
    fn the_index_is_the_slope_carried_on_and_a_bonus() {
        let build = |noise| {
            let params = REdUcbParams { noise, ..REdUcbParams::default() };
            let mut master = REdUcb::new(params, &MasterSetup::new(2, None)).unwrap();
            for n in 1..=6 {
                for (base, reward) in [(0, 0.5 + 0.01 * f64::from(n)), (1, 0.6)] {
                    master.update(1.0 - reward, Credit::Chosen { base, weight: 1.0 }).unwrap();
                }
            }
            master
        };
        let mut master = build(0.0);
        assert_eq!(master.probabilities(), [1.0, 0.0]);
        // Six plays more, by less: X_7 = ... = X_12 = 0.56, h = 3 and all six of both windows alike, so that 0.56 is carried on.
        for _ in 0..6 {
            master.update(0.44, Credit::Chosen { base: 0, weight: 1.0 }).unwrap();
        }
        assert_eq!(master.probabilities(), [0.0, 1.0]);
        // With a bonus the base with fewer plays is ahead: 12 plays, h = 3, 0.5 (19 - 12 + 2) sqrt(40 ln 19/27) = 9.398 and
        // 6 plays, h = 1, 0.5 (19 - 6) sqrt(40 ln 19) = 70.54.
        let mut master = build(0.5);
        for _ in 0..6 {
            master.update(0.0, Credit::Chosen { base: 0, weight: 1.0 }).unwrap();
        }
        assert_eq!(master.probabilities(), [0.0, 1.0]);
    }

    /// R-UCBE looks at the end: at T = 100 the slope of base 0 is worth 0.56 + 94 0.01 = 1.5.
    #[test]
    fn the_end_is_what_counts_for_r_ucbe() {
        let build = |horizon| {
            let params = RUcbeParams { noise: 0.0, ..RUcbeParams::default() };
            let mut master = RUcbe::new(params, &MasterSetup::new(2, Some(horizon))).unwrap();
            for n in 1..=6 {
                for (base, reward) in [(0, 0.5 + 0.01 * f64::from(n)), (1, 0.65)] {
                    master.update(1.0 - reward, Credit::Chosen { base, weight: 1.0 }).unwrap();
                }
            }
            master.probabilities().to_vec()
        };
        assert_eq!((build(12), build(100)), (vec![0.0, 1.0], vec![1.0, 0.0]));
        assert!(RUcbe::new(RUcbeParams::default(), &MasterSetup::new(2, None)).is_err());
    }
}
