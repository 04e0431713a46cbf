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
//! With `rules = "published-code"` they are those of the grid in the program behind the published figures (scale 1), where
//! every base stands k times in the band (`copies` of a spec) and its copies are given the bounds d = 1, 2, 4, ..., 2^(k-1):
//!
//! ```text
//! play argmin_i phi_i, at first d_i;  then for the played base, with s_i = c sqrt(n_i ln((n_i + 1)/delta)),
//! phi_i = d_i sqrt(n_i ln(n_i/delta)), but for ever infinite once
//! (u_i + s_i)/sqrt(n_i) + d_i sqrt(n_i ln(n_i/delta)) < max_j (u_j - s_j)/sqrt(max(n_j, 1))
//! ```
//!
//! Feed: raw. For stochastic losses and candidate bounds R_i = d_i sqrt(n), about M d sqrt(T) + d^2 sqrt(M T) for the
//! best base whose bound holds (from memory). A base is dropped for good, so one that starts slowly beyond its
//! candidate bound is lost; deterministic, so its regret is linear against losses that depend on its choice.

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
        /// Whose rules to follow. By the published code's there is a grid of bounds over copies, and the program's test.
        rules: Rulebook = Rulebook::Paper;
        /// By the published code's rules: the number k of copies of each base; unset: ln T, rounded down.
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
    published: bool,
    active: Vec<bool>,
    /// R_i(n_i), u_i/n_i + R_i(n_i)/n_i + b(n_i) and u_i/n_i - b(n_i), of the earned.
    potential: Vec<f64>,
    upper: Vec<f64>,
    lower: Vec<f64>,
}

/// d = 2^0, ..., 2^(k-1) for the k copies of each base, which stand side by side.
fn grid(params: &RbbeParams, setup: &MasterSetup) -> Result<Vec<RegretBound>, ParamError> {
    let copies = match (params.copies, setup.horizon) {
        (Some(copies), _) => copies,
        (None, Some(rounds)) => copies_of_grid(rounds),
        (None, None) => return Err(ParamError::new("horizon", "not known", "known, or copies given")),
    };
    let bound = |i: usize| RegretBound::new(f64::from(i as u32 % copies).exp2(), 0.5);
    Ok((0..setup.bases).map(bound).collect())
}

/// The number of copies of each base in the published grid: ln T, rounded down, and at least 1.
pub fn copies_of_grid(rounds: u64) -> u32 {
    ((rounds.max(1) as f64).ln() as u32).max(1)
}

impl RbbeRule {
    fn learn_as_published(&mut self, round: Credited<'_>) {
        let Self { earned, bounds, scale, delta, active, potential, upper, lower, .. } = self;
        earned.count(round, |earned, i| {
            let (plays, reward) = (earned.plays[i], earned.rewards[i]);
            let width = *scale * (plays * ((plays + 1.0) / *delta).ln()).sqrt();
            lower[i] = (reward - width) / plays.max(1.0).sqrt();
            // A fraction of a play, which other credit rules count, may be below delta.
            potential[i] = bounds[i].scale * (plays * (plays / *delta).ln().max(0.0)).sqrt();
            upper[i] = (reward + width) / plays.sqrt() + potential[i];
            let best = lower.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            active[i] = !(upper[i] < best);
        });
    }

    /// Whether `base` is still a candidate.
    pub fn active(&self, base: usize) -> bool {
        self.active.get(base).copied().unwrap_or(false)
    }
}

impl Rule for RbbeRule {
    type Params = RbbeParams;

    const NAME: &'static str = "rbbe";

    const CERTAIN: bool = true;

    fn new(params: &RbbeParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let bases = setup.bases;
        let published = params.rules == Rulebook::PublishedCode;
        if params.copies.is_some() && !published {
            return Err(ParamError::choice(
                "copies",
                "belongs to the published code's rules, and the rules are the paper's",
            ));
        }
        let bounds = if published && params.bounds.is_none() {
            grid(params, setup)?
        } else {
            setup.bounds_or(params.bounds.as_deref())?
        };
        let potential = if published { bounds.iter().map(|b| b.scale).collect() } else { vec![0.0; bases] };
        Ok(Self {
            earned: Earned::new(bases),
            bounds,
            scale: params.scale,
            delta: params.delta,
            published,
            active: vec![true; bases],
            potential,
            upper: vec![f64::INFINITY; bases],
            lower: vec![if published { 0.0 } else { f64::NEG_INFINITY }; bases],
        })
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        if self.published {
            self.learn_as_published(round);
            return Ok(());
        }
        let roster = round.roster;
        let Self { earned, bounds, scale, delta, active, potential, upper, lower, .. } = self;
        let bases = roster.bases() as f64;
        earned.count(round, |earned, i| {
            let plays = earned.plays[i];
            let (mean, width) = (earned.mean(i), iterated_width(*scale, bases, *delta, plays));
            potential[i] = bounds[i].at(plays);
            upper[i] = mean + potential[i] / plays + width;
            lower[i] = mean - width;
        });
        let candidates = || roster.iter().filter(|&j| active[j]);
        let best = candidates().map(|j| lower[j]).fold(f64::NEG_INFINITY, f64::max);
        // The base with the best lower bound keeps its place: its own upper bound is above.
        for i in 0..active.len() {
            active[i] &= !(upper[i] < best);
        }
        Ok(())
    }

    fn retired(&mut self, _: usize, roster: &Roster) {
        if !self.published && !roster.iter().any(|i| self.active[i]) {
            self.active.fill(true);
        }
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        // argmin_{i in A} R_i(n_i)
        let base = roster.least(|i| if self.active[i] { self.potential[i] } else { f64::INFINITY });
        follow(base, out);
    }

    fn constants(&self) -> impl Serialize {
        let someone = self.published || self.active.contains(&true);
        (&self.bounds, self.scale, self.delta, self.published, self.active.len(), someone)
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        let bases = self.active.len();
        state.earned.validate(bases)?;
        all("potentials", &state.potential, bases, |x| (0.0..f64::INFINITY).contains(&x))?;
        all("upper bounds", &state.upper, bases, |x| !x.is_nan())?;
        all("lower bounds", &state.lower, bases, |x| !x.is_nan())
    }
}
