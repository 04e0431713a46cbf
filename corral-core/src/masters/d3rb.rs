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
//! for the played base alone; ln n is guarded by max(1, .), which is ours. For both as they stand here the bound below is
//! proved in docs/master-bounds.md#balancing-by-confidence, where the base with the least potential is played.
//!
//! With `draw = "stochastic"` a base is drawn with probability ~ 1/d_i^2 instead.
//!
//! Feed: raw. For stochastic losses the regret is about d M sqrt(T) + d^2 sqrt(M T), with d the *realised* regret rate of
//! the best base: no candidate bound is needed. Nothing is guaranteed for other losses: it is deterministic, and its
//! regret is linear against losses that depend on its choice.

#[cfg(feature = "published")]
mod published;

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
    /// The lower confidence bound of each base, of the earned; before a play none.
    lower: Vec<f64>,
}

/// d_i and phi_i of a base with n_i plays and the gap gap_i: D3RB.
fn double(plays: f64, gap: f64, rate: &mut f64, potential: &mut f64) {
    let root = plays.sqrt();
    if gap > *rate / root {
        *rate *= 2.0;
    }
    *potential = *rate * root;
}

/// The same of ED2RB.
fn estimate(least_rate: f64, plays: f64, gap: f64, rate: &mut f64, potential: &mut f64) {
    let (root, before) = (plays.sqrt(), *potential);
    *rate = (root * gap).max(least_rate);
    *potential = (*rate * root).clamp(before, 2.0 * before);
}

/// b(n_i)
fn width(params: &D3rbParams, earned: &Earned, i: usize) -> f64 {
    iterated_width(params.scale, earned.plays.len() as f64, params.delta, earned.plays[i])
}

/// The highest lower bound of those that are left.
fn best(lower: &[f64], roster: &Roster) -> f64 {
    if roster.left() == roster.bases() {
        lower.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    } else {
        roster.iter().map(|j| lower[j]).fold(f64::NEG_INFINITY, f64::max)
    }
}

impl<const ESTIMATED: bool> Rule for Balance<ESTIMATED> {
    type Params = D3rbParams;

    const NAME: &'static str = if ESTIMATED { "ed2rb" } else { "d3rb" };

    fn new(params: &D3rbParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let rate = params.least_rate;
        let bases = setup.bases;
        #[cfg_attr(not(feature = "published"), expect(unused_mut))]
        let mut rule = Self {
            params: params.clone(),
            earned: Earned::new(bases),
            rates: vec![rate; bases],
            potential: vec![rate; bases],
            lower: vec![f64::NEG_INFINITY; bases],
        };
        #[cfg(feature = "published")]
        if params.rules == Rulebook::PublishedCode {
            rule.lower.fill(0.0);
        }
        Ok(rule)
    }

    /// d_i as the gaps have it: doubled until they do not refute it, or estimated.
    fn begin(&mut self, experience: &[Experience]) -> Result<(), ParamError> {
        if self.params.rules != Rulebook::Paper {
            return Err(Experience::refuse(PAPER_ALONE));
        }
        let Self { params, earned, rates, potential, lower } = self;
        earned.begin(experience, |earned, i| lower[i] = earned.mean(i) - width(params, earned, i));
        let best = best(lower, &Roster::new(rates.len()));
        for i in (0..rates.len()).filter(|&i| earned.plays[i] > 0.0) {
            let root = earned.plays[i].sqrt();
            let refuted = root * (best - (earned.mean(i) + width(params, earned, i)));
            while !ESTIMATED && refuted > rates[i] {
                rates[i] *= 2.0;
            }
            rates[i] = if ESTIMATED { refuted.max(rates[i]) } else { rates[i] };
            potential[i] = rates[i] * root;
        }
        Ok(())
    }

    fn recall(&mut self, experience: &[Experience]) {
        self.earned.recall(experience);
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        #[cfg(feature = "published")]
        if self.params.rules == Rulebook::PublishedCode {
            self.learn_as_published(round);
            return Ok(());
        }
        let Self { params, earned, rates, potential, lower } = self;
        let roster = round.roster;
        let mut judge = |earned: &Earned, lower: &[f64], i: usize| {
            let plays = earned.plays[i];
            let gap = best(lower, roster) - (earned.mean(i) + width(params, earned, i));
            let (rate, potential) = (&mut rates[i], &mut potential[i]);
            if ESTIMATED {
                estimate(params.least_rate, plays, gap, rate, potential);
            } else {
                double(plays, gap, rate, potential);
            }
        };
        let all = earned.experienced();
        earned.count(round, |earned, i| {
            lower[i] = earned.mean(i) - width(params, earned, i);
            if !all {
                judge(earned, lower, i);
            }
        });
        if all {
            round.each(|i, _| judge(earned, lower, i));
        }
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
