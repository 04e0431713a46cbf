//! D3RB and ED2RB: data-driven regret balancing (Pacchiano, Dann, Gentile 2024, "Data-driven online model selection
//! with regret guarantees", AISTATS, arXiv 2306.02869).
//!
//! ```text
//! play argmin_i phi_i (the lowest index among equals); at first d_i = phi_i = d_min
//! gap_i = max_j (u_j/n_j - b(n_j)) - u_i/n_i - b(n_i),     b(n) = c sqrt(ln(M ln n/delta)/n)
//! D3RB:   if gap_i > d_i/sqrt(n_i): d_i *= 2;                    phi_i = d_i sqrt(n_i)
//! ED2RB:  d_i = max(d_min, sqrt(n_i) gap_i);                     phi_i = clip(d_i sqrt(n_i), phi_i, 2 phi_i)
//! ```
//!
//! for the played base alone; ln n is guarded by max(1, .), which is ours. The formulas are from memory.
//!
//! With `rules = "published-code"` the rules are those of the authors' program, which differ from the formulas, so that
//! the published tables can be reproduced: with s_i = sqrt(n_i ln((n_i + 1)/delta)),
//!
//! ```text
//! gap_i = max_j (u_j - c s_j)/sqrt(max(n_j, 1)) - (u_i + c s_i)/sqrt(n_i)
//! D3RB:   if n_i gap_i > d_i sqrt(n_i): d_i = min(2 d_i, 10000);   phi_i = d_i sqrt(n_i)
//! ED2RB:  phi_i = max(min(n_i gap_i, 2 phi_i), phi_i, d_min sqrt(n_i))
//! ```
//!
//! With `draw = "stochastic"` ("Stoch" in the published tables) a base is drawn with probability ~ 1/d_i^2 instead, where ED2RB has
//! d_i = phi_i/sqrt(n_i), at least d_min, by the published code's rules.
//!
//! Feed: raw. For stochastic losses the regret is about d M sqrt(T) + d^2 sqrt(M T), with d the *realised* regret rate of
//! the best base: no candidate bound is needed. Nothing is guaranteed for other losses: it is deterministic, and its
//! regret is linear against losses that depend on its choice.

use super::prelude::*;

crate::params! {
    /// Parameters of [`D3rb`] and [`Ed2rb`].
    pub struct D3rbParams {
        /// The factor c of the width.
        scale: f64 = 1.0, Bounds::POSITIVE;
        /// The confidence delta.
        delta: f64 = 0.01, Bounds::INSIDE_UNIT;
        /// The smallest regret rate d_min.
        #[serde(alias = "least-rate")]
        least_rate: f64 = 1.0, Bounds::POSITIVE;
        /// Whose rules to follow.
        rules: Rulebook = Rulebook::Paper;
        /// How a base is chosen: least (the least potential), or stochastic (with probability ~ 1/d^2).
        draw: BalanceDraw = BalanceDraw::Least;
    }

    /// How [`D3rb`] and [`Ed2rb`] choose a base.
    pub enum BalanceDraw {
        /// The least potential phi_i.
        #[default]
        Least,
        /// With probability ~ 1/d_i^2.
        Stochastic,
    }
}

/// D3RB: regret rates are doubled when refuted.
pub type D3rb = Ruled<D3rbRule>;

/// ED2RB: regret rates are estimated.
pub type Ed2rb = Ruled<Ed2rbRule>;

/// The rule of [`D3rb`].
pub type D3rbRule = Balance<false>;

/// The rule of [`Ed2rb`].
pub type Ed2rbRule = Balance<true>;

/// Regret rates that are doubled when refuted, or `ESTIMATED`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Balance<const ESTIMATED: bool> {
    params: D3rbParams,
    earned: Earned,
    /// d_i
    rates: Vec<f64>,
    /// phi_i
    potential: Vec<f64>,
    /// The lower confidence bound of each base, of the earned; before a play none (in the published code 0).
    lower: Vec<f64>,
}

/// The published code's largest rate.
const LARGEST_RATE: f64 = 1e4;

/// d_i and phi_i of a base with n_i plays and the gap gap_i: D3RB.
fn double(params: &D3rbParams, plays: f64, gap: f64, rate: &mut f64, potential: &mut f64) {
    let root = plays.sqrt();
    match params.rules {
        Rulebook::Paper if gap > *rate / root => *rate *= 2.0,
        Rulebook::PublishedCode if plays * gap > *rate * root => *rate = (2.0 * *rate).min(LARGEST_RATE),
        _ => {}
    }
    *potential = *rate * root;
}

/// The same of ED2RB.
fn estimate(params: &D3rbParams, plays: f64, gap: f64, rate: &mut f64, potential: &mut f64) {
    let (root, before) = (plays.sqrt(), *potential);
    match params.rules {
        Rulebook::Paper => {
            *rate = (root * gap).max(params.least_rate);
            *potential = (*rate * root).clamp(before, 2.0 * before);
        }
        Rulebook::PublishedCode => {
            let estimate = (plays * gap).min(2.0 * before);
            *potential = estimate.max(before).max(params.least_rate * root);
            *rate = (*potential / root).max(params.least_rate);
        }
    }
}

impl<const ESTIMATED: bool> Rule for Balance<ESTIMATED> {
    type Params = D3rbParams;

    const NAME: &'static str = if ESTIMATED { "ed2rb" } else { "d3rb" };

    fn new(params: &D3rbParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let rate = params.least_rate;
        let published = params.rules == Rulebook::PublishedCode;
        let bases = setup.bases;
        Ok(Self {
            params: params.clone(),
            earned: Earned::new(bases),
            rates: vec![rate; bases],
            potential: vec![rate; bases],
            lower: vec![if published { 0.0 } else { f64::NEG_INFINITY }; bases],
        })
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        let Self { params, earned, rates, potential, lower } = self;
        let roster = round.roster;
        let bases = roster.bases() as f64;
        earned.count(round, |earned, i| {
            let (plays, reward) = (earned.plays[i], earned.rewards[i]);
            let upper = if params.rules == Rulebook::PublishedCode {
                let width = params.scale * (plays * ((plays + 1.0) / params.delta).ln()).sqrt();
                lower[i] = (reward - width) / plays.max(1.0).sqrt();
                (reward + width) / plays.sqrt()
            } else {
                let width = iterated_width(params.scale, bases, params.delta, plays);
                lower[i] = reward / plays - width;
                reward / plays + width
            };
            let best = if roster.left() == roster.bases() {
                lower.iter().copied().fold(f64::NEG_INFINITY, f64::max)
            } else {
                roster.iter().map(|j| lower[j]).fold(f64::NEG_INFINITY, f64::max)
            };
            let revise = if ESTIMATED { estimate } else { double };
            revise(params, plays, best - upper, &mut rates[i], &mut potential[i]);
        });
        Ok(())
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        if self.params.draw == BalanceDraw::Least {
            // argmin phi
            return follow(roster.least(|i| self.potential[i]), out);
        }
        // ~ 1/d^2
        out.fill(0.0);
        roster.iter().for_each(|i| out[i] = self.rates[i].powi(-2));
        let total: f64 = out.iter().sum();
        out.iter_mut().for_each(|p| *p /= total);
    }

    fn weight_range(&self) -> Option<f64> {
        // Where the choice is certain.
        (self.params.draw == BalanceDraw::Least).then_some(1.0)
    }

    fn constants(&self) -> impl Serialize {
        &self.params
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        let bases = self.rates.len();
        state.earned.validate(bases)?;
        all("rates", &state.rates, bases, |x| x >= self.params.least_rate && x.is_finite())?;
        all("potentials", &state.potential, bases, |x| x > 0.0 && x.is_finite())?;
        all("lower bounds", &state.lower, bases, |x| x < f64::INFINITY)
    }
}
