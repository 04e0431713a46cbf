//! Group-sparse optimism: forced exploration and the group lasso find the groups, OFUL runs on them.
//!
//! After Johnson, Sivakumar, Banerjee 2016, the original from memory (docs/bases.md#group-sparse).
//! For the unit ball. Lazy; the exploration of sqrt(T) rounds is grown by sqrt(range) and started over when the range grows.

use corral_core::set::SetError;

use super::lazy::{Lazy, Model};
use super::oful::confidence;
use super::restricted::{self, Width};
use super::ridge::Ridge;
use super::scrible::horizon_or_doubling;
use super::sl_ucb::check_support;
use super::{dot, fill_sphere, point_set};
use crate::prelude::*;

corral_core::params! {
    /// Parameters of [`GroupSparse`].
    pub struct GroupSparseParams {
        /// Size of a group of neighbouring coordinates.
        group: usize = 2, Bounds::at_least(1.0);
        /// S, a bound on the length of the parameter.
        norm: f64 = 0.5, SIZE;
        /// Sub-Gaussian constant of the noise.
        noise: f64 = 0.5, FACTOR;
        /// Probability of a wrong confidence set; auto: 1/T.
        delta: Setting = Setting::Auto, CONFIDENCE;
        /// Multiplies the confidence radius and the lasso's weight.
        scale: f64 = 1.0, FACTOR;
        /// What is subtracted from losses before the regression.
        offset: f64 = 0.5, OFFSET;
    }
}

impl BaseParams for GroupSparseParams {
    type Base = GroupSparse;

    const ENTRY: Entry = Entry {
        name: "group-sparse",
        summary: "Group lasso on explored points finds the relevant groups; optimism on them.",
        source: "Johnson, Sivakumar, Banerjee 2016, Structured stochastic linear bandits",
        regret: "O~(s sqrt T)",
        fits: "stochastic linear losses on the ball with few relevant groups of coordinates",
        cost: "O(d^2), O(s^3) on s coordinates, and a group lasso at every doubling",
        status: Status::FromMemory,
        ..super::POINTS
    };

    fn build(self, setup: &Setup) -> Result<GroupSparse, BaseError> {
        self.check()?;
        let set = point_set(setup)?.clone();
        let Set::Ball { dim } = set else {
            return Err(SetError::Unsupported { what: "group-sparse", kind: set.kind() }.into());
        };
        if self.group == 0 || !dim.is_multiple_of(self.group) {
            return Err(ParamError::new("group", self.group, "a divisor of the dimension").into());
        }
        let model =
            GroupModel { params: self.clone(), state: GroupState::new(dim), decision: vec![0.0; dim] };
        Ok(Lazy::new(self, set, Clock::new(setup), model))
    }
}

/// Group-sparse optimism over the unit ball.
pub type GroupSparse = Lazy<GroupModel>;

/// The model of [`GroupSparse`].
#[derive(Debug, Clone)]
pub struct GroupModel {
    params: GroupSparseParams,
    state: GroupState,
    decision: Vec<f64>,
}

/// What [`GroupSparse`] has learned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GroupState {
    ridge: Ridge,
    /// The group lasso's estimate: the next one starts from it.
    lasso: Vec<f64>,
    /// The coordinates of the relevant groups; empty while nothing was found.
    support: Vec<usize>,
}

impl GroupState {
    fn new(dim: usize) -> Self {
        Self { ridge: Ridge::new(dim, 1.0), lasso: vec![0.0; dim], support: Vec::new() }
    }
}

impl GroupModel {
    /// The coordinates of the relevant groups.
    pub fn support(&self) -> &[usize] {
        &self.state.support
    }

    /// Whether this round belongs to the forced exploration: sqrt(range T) rounds.
    fn exploring(&self, clock: &Clock) -> bool {
        (clock.rounds as f64) < (clock.range * horizon_or_doubling(clock)).sqrt()
    }

    /// min (1/2n)|y - X th|^2 + lam_n sum_g sqrt|g| |th_g|   docs/bases.md#group-sparse
    fn refit(&mut self, clock: &Clock) {
        let (d, size) = (self.decision.len(), self.params.group);
        let (n, groups) = (self.state.ridge.updates() as f64, (d / size) as f64);
        // X^T X/n and X^T y/n; the regression's V has 1 added on the diagonal.
        let mut gram: Vec<f64> = self.state.ridge.gram().iter().map(|v| v / n).collect();
        (0..d).for_each(|i| gram[i * d + i] -= 1.0 / n);
        let vector: Vec<f64> = self.state.ridge.vector().iter().map(|v| v / n).collect();
        let delta = confidence(self.params.delta, clock, self.state.ridge.updates());
        // lam_n = 2 sigma sqrt((max|g| + 2 ln(#groups/delta))/n) for columns of length sqrt n; ours are shorter.
        let column = (0..d).map(|i| gram[i * d + i]).fold(0.0, f64::max).sqrt();
        let spread = (size as f64 + 2.0 * (groups / delta).ln()) / n;
        let lambda = self.params.scale * 2.0 * self.params.noise * spread.sqrt() * column;
        group_lasso(&gram, &vector, size, lambda, &mut self.state.lasso);
        self.state.support = (0..d)
            .filter(|i| self.state.lasso[i / size * size..(i / size + 1) * size].iter().any(|v| *v != 0.0))
            .collect();
    }

    fn decide(&mut self, clock: &Clock) -> Result<(), BaseError> {
        let delta = confidence(self.params.delta, clock, self.state.ridge.updates());
        let width =
            Width { noise: self.params.noise, norm: self.params.norm, delta, scale: self.params.scale };
        let every: Vec<usize>;
        let support = if self.state.support.is_empty() {
            every = (0..self.decision.len()).collect();
            &every
        } else {
            &self.state.support
        };
        restricted::choose(&self.state.ridge, support, width, &mut self.decision)
    }
}

/// Block coordinate descent for 1/2 th^T G th - <v, th> + lambda sum_g sqrt(size) |th_g|, from `theta`: a proximal step per
/// group with the trace of its block as curvature.
fn group_lasso(gram: &[f64], vector: &[f64], size: usize, lambda: f64, theta: &mut [f64]) {
    let d = theta.len();
    let mut next = vec![0.0; size];
    for _ in 0..1000 {
        let mut moved = 0.0f64;
        for start in (0..d).step_by(size) {
            let curvature: f64 = (start..start + size).map(|i| gram[i * d + i]).sum();
            if curvature <= 0.0 {
                continue;
            }
            for (k, v) in next.iter_mut().enumerate() {
                let i = start + k;
                let slope = dot(&gram[i * d..(i + 1) * d], theta) - vector[i];
                *v = theta[i] - slope / curvature;
            }
            let norm = dot(&next, &next).sqrt();
            let shrink = (1.0 - lambda * (size as f64).sqrt() / (curvature * norm)).max(0.0);
            for (k, v) in next.iter().enumerate() {
                let value = if norm > 0.0 { shrink * v } else { 0.0 };
                moved = moved.max((value - theta[start + k]).abs());
                theta[start + k] = value;
            }
        }
        if moved < 1e-10 {
            return;
        }
    }
}

impl Model for GroupModel {
    type Params = GroupSparseParams;
    type State = GroupState;

    fn state(&self) -> &GroupState {
        &self.state
    }

    fn resume(&mut self, state: GroupState, clock: &Clock) -> Result<(), BaseError> {
        let dim = self.decision.len();
        state.ridge.valid(dim, 1.0)?;
        crate::common::check_numbers("estimates", &state.lasso, dim)?;
        check_support(&state.support, dim)?;
        let mut next = Self { state, ..self.clone() };
        if next.state.ridge.updates() > 0 {
            next.decide(clock).map_err(SnapshotError::state)?;
        }
        *self = next;
        Ok(())
    }

    fn propose(&mut self, clock: &Clock, rng: &mut dyn Rng, out: &mut [f64]) -> Result<(), BaseError> {
        let n = self.state.ridge.updates();
        // Forced exploration, then with probability n^{-1/2}; one number is drawn either way.
        let draw = uniform(rng);
        if n == 0 || self.exploring(clock) || draw < (n as f64).powf(-0.5) {
            fill_sphere(out, rng);
        } else {
            out.copy_from_slice(&self.decision);
        }
        Ok(())
    }

    fn sure(&self, _clock: &Clock) -> Option<&[f64]> {
        None
    }

    fn learn(&mut self, clock: &Clock, x: &[f64], loss: f64) -> Result<(), BaseError> {
        self.state.ridge.learn(x, loss - self.params.offset);
        // Every doubling of the updates.
        if self.state.ridge.updates().is_power_of_two() {
            self.refit(clock);
        }
        self.decide(clock)
    }

    const RANGE_CHANGE: RangeChange = RangeChange::Restart;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The optimality conditions of the group lasso: |slope_g| <= lambda sqrt(size) on groups at zero, and
    /// slope_g = -lambda sqrt(size) th_g/|th_g| on the others.
    #[test]
    fn the_group_lasso_is_optimal() {
        let d = 6;
        let mut gram = vec![0.0; d * d];
        for i in 0..d {
            for j in 0..d {
                gram[i * d + j] = if i == j { 1.0 } else { 0.2 / (1.0 + i.abs_diff(j) as f64) };
            }
        }
        let vector = [1.0, -0.8, 0.05, 0.02, 0.3, 0.4];
        let (size, lambda) = (2, 0.2);
        let mut theta = vec![0.0; d];
        group_lasso(&gram, &vector, size, lambda, &mut theta);
        let weight = lambda * 2f64.sqrt();
        let mut zero = 0;
        for g in 0..3 {
            let part = &theta[g * 2..g * 2 + 2];
            let slope: Vec<f64> =
                (g * 2..g * 2 + 2).map(|i| dot(&gram[i * d..(i + 1) * d], &theta) - vector[i]).collect();
            let norm = dot(part, part).sqrt();
            if norm == 0.0 {
                zero += 1;
                assert!(dot(&slope, &slope).sqrt() <= weight + 1e-9);
            } else {
                for (s, v) in slope.iter().zip(part) {
                    assert!((s + weight * v / norm).abs() < 1e-7, "{slope:?} {part:?}");
                }
            }
        }
        assert_eq!(zero, 1, "{theta:?}");
    }
}
