//! Regret balancing (Abbasi-Yadkori, Pacchiano, Phan 2020, "Regret balancing for bandit and RL model selection",
//! arXiv 2006.05491).
//!
//! ```text
//! opt = max_i (u_i + U(n_i))/n_i;   play argmin_i n_i opt - u_i
//! ```
//!
//! with n_i plays and u_i rewards of base i; bases without a play first. It keeps the estimated regrets of all bases
//! equal.
//!
//! Feed: raw. For stochastic losses the regret is about M times the best base's, if U is an upper bound on the best
//! base's regret; the authors' abstract says that this knowledge is necessary. It is deterministic: its regret is linear
//! against losses that depend on its choice. The rule was read in a third party's program, the paper's text was not
//! seen; for this rule M (U(T) + 1) is proved in docs/master-bounds.md#regret-balancing.

use super::prelude::*;

crate::params! {
    /// Parameters of [`RegretBalancing`].
    pub struct RegretBalancingParams {
        /// A bound `{ scale, exponent }` on the best base's regret; unset: the largest of the bases' own at the horizon.
        target: Option<RegretBound> = None;
    }
}

/// Regret balancing.
pub type RegretBalancing = Ruled<RegretBalancingRule>;

/// The rule of [`RegretBalancing`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegretBalancingRule {
    earned: Earned,
    target: RegretBound,
    /// (u_i + U(n_i))/n_i, of the earned; infinite before the first play.
    upper: Vec<f64>,
}

/// (u_i + U(n_i))/n_i
fn optimistic(target: RegretBound, earned: &Earned, i: usize) -> f64 {
    (earned.rewards[i] + target.at(earned.plays[i])) / earned.plays[i]
}

/// Where the horizon is not known, bounds are compared after this many plays.
const FAR: f64 = 1e6;

impl Rule for RegretBalancingRule {
    type Params = RegretBalancingParams;

    const NAME: &'static str = "regret-balancing";

    const CERTAIN: bool = true;

    fn new(params: &RegretBalancingParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let target = match params.target {
            Some(target) => target.check()?,
            None => {
                let far = setup.horizon.map_or(FAR, |t| t as f64);
                let larger = |a: RegretBound, b: RegretBound| if b.at(far) > a.at(far) { b } else { a };
                setup.bounds_or(None)?.into_iter().reduce(larger).unwrap_or_default()
            }
        };
        Ok(Self { earned: Earned::new(setup.bases), target, upper: vec![f64::INFINITY; setup.bases] })
    }

    fn begin(&mut self, experience: &[Experience]) -> Result<(), ParamError> {
        let (upper, target) = (&mut self.upper, self.target);
        self.earned.begin(experience, |earned, i| upper[i] = optimistic(target, earned, i));
        Ok(())
    }

    fn recall(&mut self, experience: &[Experience]) {
        self.earned.recall(experience);
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        let (upper, target) = (&mut self.upper, self.target);
        self.earned.count(round, |earned, i| upper[i] = optimistic(target, earned, i));
        Ok(())
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        // opt = max_i (u_i + U(n_i))/n_i
        let best =
            roster.iter().map(|i| self.upper[i]).filter(|u| u.is_finite()).fold(f64::NEG_INFINITY, f64::max);
        // argmin_i n_i opt - u_i
        let base = roster.least(|i| {
            let plays = self.earned.plays[i];
            if plays > 0.0 { plays * best - self.earned.rewards[i] } else { f64::NEG_INFINITY }
        });
        follow(base, out);
    }

    fn constants(&self) -> impl Serialize {
        self.target
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        state.earned.validate(self.upper.len())?;
        all("bounds", &state.upper, self.upper.len(), |u| u > f64::NEG_INFINITY)
    }
}
