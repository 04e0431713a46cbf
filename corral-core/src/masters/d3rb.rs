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

use serde::{Deserialize, Serialize};

use super::rule::{Rule, Ruled, all};
use super::tally::{Tally, follow, iterated_width};
use super::{MasterSetup, Roster, Rulebook};
use crate::params::Bounds;
use crate::registry::{Entry, Kind, Status};
use crate::{Credit, MasterError, ParamError, SnapshotError};

/// How [`D3rb`] and [`Ed2rb`] choose a base.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BalanceDraw {
    /// The least potential phi_i.
    #[default]
    Least,
    /// With probability ~ 1/d_i^2.
    Stochastic,
}

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
}

impl D3rbParams {
    /// The rules and constants of the authors' program.
    pub fn as_published_code() -> Self {
        Self { rules: Rulebook::PublishedCode, ..Self::default() }
    }
}

/// D3RB: regret rates are doubled when refuted.
pub type D3rb = Ruled<D3rbRule>;

/// ED2RB: regret rates are estimated.
pub type Ed2rb = Ruled<Ed2rbRule>;

/// The rule of [`D3rb`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct D3rbRule(Balance);

/// The rule of [`Ed2rb`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ed2rbRule(Balance);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Balance {
    params: D3rbParams,
    tally: Tally,
    /// d_i
    rates: Vec<f64>,
    /// phi_i
    potential: Vec<f64>,
    /// The lower confidence bound of each base, of the tally; before a play none (in the published code 0).
    lower: Vec<f64>,
}

/// The published code's largest rate.
const LARGEST_RATE: f64 = 1e4;

impl Balance {
    fn new(params: &D3rbParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let rate = params.least_rate;
        let published = params.rules == Rulebook::PublishedCode;
        let bases = setup.bases;
        Ok(Self {
            params: params.clone(),
            tally: Tally::new(bases),
            rates: vec![rate; bases],
            potential: vec![rate; bases],
            lower: vec![if published { 0.0 } else { f64::NEG_INFINITY }; bases],
        })
    }

    /// Counts the loss; then calls `revise(balance's parts, plays, gap)` for each credited base.
    fn learn(
        &mut self,
        loss: f64,
        credit: Credit<'_>,
        roster: &Roster,
        revise: impl Fn(&D3rbParams, Played<'_>),
    ) {
        let Self { params, tally, rates, potential, lower } = self;
        let published = params.rules == Rulebook::PublishedCode;
        let bases = roster.bases() as f64;
        tally.count(loss, credit, roster, |tally, i| {
            let (plays, reward) = (tally.plays[i], tally.rewards[i]);
            let upper = if published {
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
            revise(
                params,
                Played { plays, gap: best - upper, rate: &mut rates[i], potential: &mut potential[i] },
            );
        });
    }

    fn distribute(&self, roster: &Roster, out: &mut [f64]) {
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

    /// Whether a weight of a base is bounded: it is 1 where the choice is certain.
    fn weight_range(&self) -> Option<f64> {
        (self.params.draw == BalanceDraw::Least).then_some(1.0)
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        let bases = self.rates.len();
        state.tally.validate(bases)?;
        all("rates", &state.rates, bases, |x| x >= self.params.least_rate && x.is_finite())?;
        all("potentials", &state.potential, bases, |x| x > 0.0 && x.is_finite())?;
        all("lower bounds", &state.lower, bases, |x| x < f64::INFINITY)?;
        if state.params != self.params {
            return Err(SnapshotError::state("its constants do not follow from its parameters"));
        }
        Ok(())
    }
}

/// What a round revises of the played base.
struct Played<'a> {
    plays: f64,
    gap: f64,
    rate: &'a mut f64,
    potential: &'a mut f64,
}

impl Rule for D3rbRule {
    type Params = D3rbParams;

    const ENTRY: Entry = Entry {
        name: "d3rb",
        summary: "balances regret rates that are doubled when the data refute them",
        source: "Pacchiano, Dann, Gentile 2024, Data-driven online model selection with regret guarantees",
        regret: "about d M sqrt(T) + d^2 sqrt(M T), d the best base's realised rate; stochastic losses only",
        alpha: None,
        fits: "feed raw; stochastic losses",
        cost: "O(M)",
        kind: Kind::Any,
        status: Status::FromMemory,
    };

    fn new(params: &D3rbParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        Balance::new(params, setup).map(Self)
    }

    fn takes_real_losses(_: &D3rbParams) -> bool {
        true
    }

    fn learn(
        &mut self,
        loss: f64,
        credit: Credit<'_>,
        roster: &Roster,
        _: &[f64],
    ) -> Result<(), MasterError> {
        self.0.learn(loss, credit, roster, |params, base| {
            let root = base.plays.sqrt();
            match params.rules {
                Rulebook::Paper if base.gap > *base.rate / root => *base.rate *= 2.0,
                Rulebook::PublishedCode if base.plays * base.gap > *base.rate * root => {
                    *base.rate = (2.0 * *base.rate).min(LARGEST_RATE);
                }
                _ => {}
            }
            *base.potential = *base.rate * root;
        });
        Ok(())
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        self.0.distribute(roster, out);
    }

    fn weight_range(&self) -> Option<f64> {
        self.0.weight_range()
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        self.0.admits(&state.0)
    }
}

impl Rule for Ed2rbRule {
    type Params = D3rbParams;

    const ENTRY: Entry = Entry {
        name: "ed2rb",
        summary: "balances regret rates that are estimated from the data",
        ..D3rbRule::ENTRY
    };

    fn new(params: &D3rbParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        Balance::new(params, setup).map(Self)
    }

    fn takes_real_losses(_: &D3rbParams) -> bool {
        true
    }

    fn learn(
        &mut self,
        loss: f64,
        credit: Credit<'_>,
        roster: &Roster,
        _: &[f64],
    ) -> Result<(), MasterError> {
        self.0.learn(loss, credit, roster, |params, base| {
            let (root, before) = (base.plays.sqrt(), *base.potential);
            match params.rules {
                Rulebook::Paper => {
                    *base.rate = (root * base.gap).max(params.least_rate);
                    *base.potential = (*base.rate * root).clamp(before, 2.0 * before);
                }
                Rulebook::PublishedCode => {
                    let estimate = (base.plays * base.gap).min(2.0 * before);
                    *base.potential = estimate.max(before).max(params.least_rate * root);
                    *base.rate = (*base.potential / root).max(params.least_rate);
                }
            }
        });
        Ok(())
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        self.0.distribute(roster, out);
    }

    fn weight_range(&self) -> Option<f64> {
        self.0.weight_range()
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        self.0.admits(&state.0)
    }
}
