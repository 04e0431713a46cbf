//! Dynamic balancing (Cutkosky, Dann, Das, Gentile, Pacchiano, Purohit 2021, "Dynamic balancing for model selection in
//! bandits and RL", ICML).
//!
//! ```text
//! A = { i : u_i/n_i + R_i(n_i)/n_i + w(n_i) >= max_j u_j/n_j - w(n_j) },   w(n) = c sqrt(ln(M ln n/delta)/n)
//! play argmin_{i in A} v_i R_i(n_i)
//! ```
//!
//! with n_i plays and u_i rewards of base i, candidate bounds R_i and weights v_i (1). As `rbbe`, but A is
//! computed anew in every round: a base that broke its bound comes back when it keeps it again. ln n is guarded by
//! max(1, .), which is ours; a base without a play is in A.
//!
//! Feed: raw. For stochastic losses; regret that depends on the gaps between bases where some do better than their bounds or
//! break them. Deterministic, so its regret is linear against losses that depend on its choice. With weights of 1 it has the
//! bound of `rbbe` (docs/master-bounds.md#balancing-by-confidence). Constants are from memory; the paper's biases b_i are left
//! out, because their sign could not be checked.

use super::prelude::*;

crate::params! {
    /// Parameters of [`DynamicBalancing`].
    pub struct DynamicBalancingParams {
        /// A candidate bound `{ scale, exponent }` per base; unset: what is known of the bases.
        bounds: Option<Vec<RegretBound>> = None;
        /// A weight v per base: a base with a large one is played less; unset: 1.
        weights: Option<Vec<f64>> = None, Bounds::POSITIVE;
        /// The factor c of the width.
        scale: f64 = 2.0, Bounds::POSITIVE;
        /// The confidence delta.
        delta: f64 = 0.01, Bounds::INSIDE_UNIT;
    }
}

/// Dynamic balancing.
pub type DynamicBalancing = Ruled<DynamicBalancingRule>;

/// The rule of [`DynamicBalancing`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DynamicBalancingRule {
    earned: Earned,
    bounds: Vec<RegretBound>,
    weights: Vec<f64>,
    scale: f64,
    delta: f64,
    /// v_i R_i(n_i), and both ends of the interval for the reward of base i, of the earned.
    potential: Vec<f64>,
    upper: Vec<f64>,
    lower: Vec<f64>,
}

impl DynamicBalancingRule {
    /// Has `count` change what was earned, and follows it.
    fn counted(&mut self, count: impl FnOnce(&mut Earned, &mut dyn FnMut(&Earned, usize))) {
        let Self { earned, bounds, weights, scale, delta, potential, upper, lower } = self;
        let bases = weights.len() as f64;
        count(earned, &mut |earned, i| {
            let plays = earned.plays[i];
            let regret = bounds[i].at(plays);
            let wide = iterated_width(*scale, bases, *delta, plays);
            potential[i] = weights[i] * regret;
            upper[i] = earned.mean(i) + regret / plays + wide;
            lower[i] = earned.mean(i) - wide;
        });
    }
}

/// A number per base: as given, or `default`.
fn each(
    what: &'static str,
    given: Option<&[f64]>,
    bases: usize,
    default: f64,
) -> Result<Vec<f64>, ParamError> {
    match given {
        None => Ok(vec![default; bases]),
        Some(given) if given.len() == bases => Ok(given.to_vec()),
        Some(given) => Err(ParamError::new(what, given.len(), "as many as there are bases")),
    }
}

impl Rule for DynamicBalancingRule {
    type Params = DynamicBalancingParams;

    const NAME: &'static str = "dynamic-balancing";

    const CERTAIN: bool = true;

    fn new(params: &DynamicBalancingParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let bases = setup.bases;
        Ok(Self {
            earned: Earned::new(bases),
            bounds: setup.bounds_or(params.bounds.as_deref())?,
            weights: each("weights", params.weights.as_deref(), bases, 1.0)?,
            scale: params.scale,
            delta: params.delta,
            potential: vec![0.0; bases],
            upper: vec![f64::INFINITY; bases],
            lower: vec![f64::NEG_INFINITY; bases],
        })
    }

    fn begin(&mut self, experience: &[Experience]) -> Result<(), ParamError> {
        self.counted(|earned, see| earned.begin(experience, see));
        Ok(())
    }

    fn recall(&mut self, experience: &[Experience]) {
        self.earned.recall(experience);
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        self.counted(|earned, see| earned.count(round, see));
        Ok(())
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        // The base with the best lower bound is active: its own upper bound is above.
        let best = roster.iter().map(|j| self.lower[j]).fold(f64::NEG_INFINITY, f64::max);
        let score = |i: usize| if self.upper[i] >= best { self.potential[i] } else { f64::INFINITY };
        follow(roster.least(score), out);
    }

    fn constants(&self) -> impl Serialize {
        (&self.bounds, &self.weights, self.scale, self.delta)
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        let bases = self.potential.len();
        state.earned.validate(bases)?;
        all("potentials", &state.potential, bases, |x| (0.0..f64::INFINITY).contains(&x))?;
        all("upper bounds", &state.upper, bases, |x| !x.is_nan())?;
        all("lower bounds", &state.lower, bases, |x| !x.is_nan())
    }
}
