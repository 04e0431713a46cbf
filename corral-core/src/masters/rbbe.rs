//! Regret bound balancing and elimination (Pacchiano, Dann, Gentile, Bartlett 2020, "Regret bound balancing and
//! elimination for model selection in bandits and RL", arXiv 2012.13045).
//!
//! ```text
//! play argmin_{i in A} R_i(n_i);  then drop from A every i with
//! u_i/n_i + R_i(n_i)/n_i + b(n_i) < max_{j in A} u_j/n_j - b(n_j),   b(n) = c sqrt(ln(M ln n/delta)/n)
//! ```
//!
//! with n_i plays and u_i rewards of base i and A all bases at first; ln n is guarded by max(1, .), which is ours.
//!
//! Feed: raw. For stochastic losses and candidate bounds R_i = d_i sqrt(n), about M d sqrt(T) + d^2 sqrt(M T) for the
//! best base whose bound holds (docs/master-bounds.md#balancing-by-confidence). A base is dropped for good, so one that starts slowly beyond its
//! candidate bound is lost; deterministic, so its regret is linear against losses that depend on its choice.

#[cfg(feature = "published")]
mod published;

#[cfg(feature = "published")]
pub use published::copies_of_grid;

use super::prelude::*;

crate::params! {
    /// Parameters of [`Rbbe`].
    pub struct RbbeParams {
        /// A candidate bound `{ scale, exponent }` per base; unset: what is known of the bases.
        bounds: Option<Vec<RegretBound>> = None;
        /// The factor c of the width.
        scale: f64 = 2.0, Bounds::POSITIVE;
        /// The confidence delta.
        delta: f64 = 0.01, Bounds::INSIDE_UNIT;
        /// Whose rules to follow.
        #[cfg_attr(feature = "published", doc = "By the published code's there is a grid of bounds over copies, and the program's test.")]
        rules: Rulebook = Rulebook::Paper;
        #[cfg_attr(not(feature = "published"), doc = "Must be unset.")]
        #[cfg_attr(feature = "published", doc = "By the published code's rules: the number k of copies of each base; unset: ln T, rounded down.")]
        copies: Option<u32> = None, Bounds::between(1.0, 64.0);
    }
}

/// Regret bound balancing and elimination.
pub type Rbbe = Ruled<RbbeRule>;

/// The rule of [`Rbbe`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RbbeRule {
    earned: Earned,
    bounds: Vec<RegretBound>,
    scale: f64,
    delta: f64,
    rules: Rulebook,
    active: Vec<bool>,
    /// R_i(n_i), u_i/n_i + R_i(n_i)/n_i + b(n_i) and u_i/n_i - b(n_i), of the earned.
    potential: Vec<f64>,
    upper: Vec<f64>,
    lower: Vec<f64>,
}

impl RbbeRule {
    /// Whether `base` is still a candidate.
    pub fn active(&self, base: usize) -> bool {
        self.active.get(base).copied().unwrap_or(false)
    }

    /// Has `count` change what was earned, and follows it.
    fn counted(&mut self, count: impl FnOnce(&mut Earned, &mut dyn FnMut(&Earned, usize))) {
        let Self { earned, bounds, scale, delta, active, potential, upper, lower, .. } = self;
        let bases = active.len() as f64;
        count(earned, &mut |earned, i| {
            let plays = earned.plays[i];
            let (mean, width) = (earned.mean(i), iterated_width(*scale, bases, *delta, plays));
            potential[i] = bounds[i].at(plays);
            upper[i] = mean + potential[i] / plays + width;
            lower[i] = mean - width;
        });
    }
}

impl Rule for RbbeRule {
    type Params = RbbeParams;

    const NAME: &'static str = "rbbe";

    const CERTAIN: bool = true;

    fn new(params: &RbbeParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let bases = setup.bases;
        #[cfg(feature = "published")]
        if params.rules == Rulebook::PublishedCode {
            return Self::as_published(params, setup);
        }
        if params.copies.is_some() {
            let why = "belongs to the published code's rules, and the rules are the paper's";
            return Err(ParamError::choice("copies", why));
        }
        Ok(Self {
            earned: Earned::new(bases),
            bounds: setup.bounds_or(params.bounds.as_deref())?,
            scale: params.scale,
            delta: params.delta,
            rules: params.rules,
            active: vec![true; bases],
            potential: vec![0.0; bases],
            upper: vec![f64::INFINITY; bases],
            lower: vec![f64::NEG_INFINITY; bases],
        })
    }

    fn begin(&mut self, experience: &[Experience]) -> Result<(), ParamError> {
        if self.rules != Rulebook::Paper {
            return Err(Experience::refuse(PAPER_ALONE));
        }
        self.counted(|earned, see| earned.begin(experience, see));
        Ok(())
    }

    fn recall(&mut self, experience: &[Experience]) {
        self.earned.recall(experience);
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        #[cfg(feature = "published")]
        if self.rules == Rulebook::PublishedCode {
            self.learn_as_published(round);
            return Ok(());
        }
        let roster = round.roster;
        self.counted(|earned, see| earned.count(round, see));
        let Self { active, upper, lower, .. } = self;
        let candidates = || roster.iter().filter(|&j| active[j]);
        let best = candidates().map(|j| lower[j]).fold(f64::NEG_INFINITY, f64::max);
        // The base with the best lower bound keeps its place: its own upper bound is above.
        for i in 0..active.len() {
            active[i] &= !(upper[i] < best);
        }
        Ok(())
    }

    fn retired(&mut self, _: usize, roster: &Roster) {
        #[cfg(feature = "published")]
        if self.rules == Rulebook::PublishedCode {
            return;
        }
        if !roster.iter().any(|i| self.active[i]) {
            self.active.fill(true);
        }
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        // argmin_{i in A} R_i(n_i)
        let base = roster.least(|i| if self.active[i] { self.potential[i] } else { f64::INFINITY });
        follow(base, out);
    }

    fn constants(&self) -> impl Serialize {
        let someone = self.rules != Rulebook::Paper || self.active.contains(&true);
        (&self.bounds, self.scale, self.delta, self.rules, self.active.len(), someone)
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        let bases = self.active.len();
        state.earned.validate(bases)?;
        all("potentials", &state.potential, bases, |x| (0.0..f64::INFINITY).contains(&x))?;
        all("upper bounds", &state.upper, bases, |x| !x.is_nan())?;
        all("lower bounds", &state.lower, bases, |x| !x.is_nan())
    }
}
