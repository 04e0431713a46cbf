//! UCB over bases (Auer, Cesa-Bianchi, Fischer 2002, "Finite-time analysis of the multiarmed bandit problem").
//!
//! ```text
//! play argmax_i u_i/n_i + c sqrt(ln((t+1)/delta)/n_i),  bases without a play first, the lowest index among equals
//! ```
//!
//! with n_i plays and u_i rewards (r = 1 - f) of base i. The width is that of the published experiments of Pacchiano,
//! Dann, Gentile 2024; c = 1/2 did best of these masters on stochastic problems held out from tuning.
//!
//! Feed: raw. Where each base's rewards are i.i.d. the regret is logarithmic in T (for c = 1: docs/master-bounds.md#ucb). Bases learn, so they are not: it
//! guarantees nothing for a base that starts slowly, and its regret is linear against losses that depend on its
//! choice (it is deterministic).

#[cfg(feature = "published")]
mod published;

use super::prelude::*;

crate::params! {
    /// Parameters of [`Ucb`].
    pub struct UcbParams {
        /// The factor c of the width.
        scale: f64 = 1.0, Bounds::NON_NEGATIVE;
        /// The confidence delta, in ln((t+1)/delta).
        delta: f64 = 0.1, Bounds::POSITIVE_UNIT;
        /// Whose rules to follow.
        #[cfg_attr(feature = "published", doc = "By the published code's, indices are cut at 1, equals are drawn at random, and two random plays come first.")]
        rules: Rulebook = Rulebook::Paper;
    }
}

/// UCB over bases.
pub type Ucb = Ruled<UcbRule>;

/// The rule of [`Ucb`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UcbRule {
    earned: Earned,
    scale: f64,
    delta: f64,
    rules: Rulebook,
    round: u64,
    /// u_i/n_i and 1/sqrt(n_i), of the earned.
    means: Vec<f64>,
    roots: Vec<f64>,
}

/// u_i/n_i and 1/sqrt(n_i)
fn see(earned: &Earned, i: usize, means: &mut [f64], roots: &mut [f64]) {
    means[i] = earned.mean(i);
    roots[i] = 1.0 / earned.plays[i].sqrt();
}

impl Rule for UcbRule {
    type Params = UcbParams;

    const NAME: &'static str = "ucb";

    fn new(params: &UcbParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        Ok(Self {
            earned: Earned::new(setup.bases),
            scale: params.scale,
            delta: params.delta,
            rules: params.rules,
            round: 0,
            means: vec![0.0; setup.bases],
            roots: vec![f64::INFINITY; setup.bases],
        })
    }

    fn begin(&mut self, experience: &[Experience]) -> Result<(), ParamError> {
        if self.rules != Rulebook::Paper {
            return Err(Experience::refuse(PAPER_ALONE));
        }
        let Self { earned, means, roots, .. } = self;
        earned.begin(experience, |earned, i| see(earned, i, means, roots));
        Ok(())
    }

    fn recall(&mut self, experience: &[Experience]) {
        self.earned.recall(experience);
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        self.round += 1;
        let (means, roots) = (&mut self.means, &mut self.roots);
        self.earned.count(round, |earned, i| see(earned, i, means, roots));
        Ok(())
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        #[cfg(feature = "published")]
        if self.rules == Rulebook::PublishedCode {
            return self.distribute_as_published(roster, out);
        }
        let width = self.scale * ((self.round + 1) as f64 / self.delta).ln().sqrt();
        // argmax_i u_i/n_i + c sqrt(ln((t+1)/delta)/n_i)
        let base = roster.least(|i| {
            if self.earned.plays[i] > 0.0 {
                -(self.means[i] + width * self.roots[i])
            } else {
                f64::NEG_INFINITY
            }
        });
        follow(base, out);
    }

    fn weight_range(&self) -> Option<f64> {
        #[cfg(feature = "published")]
        if self.rules == Rulebook::PublishedCode {
            // Among M equals each has probability 1/M.
            return Some(self.means.len() as f64);
        }
        Some(1.0)
    }

    fn constants(&self) -> impl Serialize {
        (self.scale, self.delta, self.rules)
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        let bases = self.means.len();
        counted(state.round)?;
        state.earned.validate(bases)?;
        all("means", &state.means, bases, f64::is_finite)?;
        all("roots", &state.roots, bases, |r| r > 0.0)
    }
}
