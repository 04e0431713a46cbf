//! Group-sparse optimism: forced exploration and the group lasso find the groups, OFUL runs on them.
//!
//! After Johnson, Sivakumar, Banerjee 2016, the original from memory (docs/bases.md#group-sparse).
//! For the unit ball. Lazy; the exploration of sqrt(T) rounds is grown by sqrt(range) and started over when the range grows.

use super::prelude::*;
use crate::regression::packed;

base! {
    /// Group lasso on explored points finds the relevant groups; optimism on them.
    "group-sparse": pub type GroupSparse = PointBase<GroupSparseParams>;
    params {
        /// Size of a group of neighbouring coordinates.
        group: usize = 2, Bounds::at_least(1.0);
    } with restricted
}

/// What [`GroupSparse`] has learned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GroupState {
    ridge: Ridge,
    /// The group lasso's estimate: the next one starts from it.
    lasso: Vec<f64>,
    /// The coordinates of the relevant groups; empty while nothing was found.
    pub(super) support: Vec<usize>,
}

impl GroupSparse {
    /// Whether this round belongs to the forced exploration: sqrt(range T) rounds.
    fn exploring(&self) -> bool {
        (self.clock.rounds as f64) < (self.clock.range * horizon_or_doubling(&self.clock)).sqrt()
    }

    /// min (1/2n)|y - X th|^2 + lam_n sum_g sqrt|g| |th_g|   docs/bases.md#group-sparse
    fn refit(&mut self) -> Result {
        let (d, size) = (self.set.dim(), self.rule.group);
        let (n, groups) = (self.state.ridge.updates(0) as f64, (d / size) as f64);
        // X^T X/n and X^T y/n; the regression's V has 1 added on the diagonal.
        let of = |i, j| packed::entry(self.state.ridge.gram(0), i, j) / n;
        let mut gram: Vec<f64> = (0..d * d).map(|k| of(k / d, k % d)).collect();
        (0..d).for_each(|i| gram[i * d + i] -= 1.0 / n);
        let vector: Vec<f64> = self.state.ridge.moment(0).iter().map(|v| v / n).collect();
        let delta = confidence(self.rule.delta, &self.clock, self.state.ridge.updates(0));
        // lam_n = 2 sigma sqrt((max|g| + 2 ln(#groups/delta))/n) for columns of length sqrt n; ours are shorter.
        let column = (0..d).map(|i| gram[i * d + i]).fold(0.0, f64::max).sqrt();
        let spread = (size as f64 + 2.0 * (groups / delta).ln()) / n;
        let lambda = self.rule.scale * 2.0 * self.rule.noise * spread.sqrt() * column;
        self.state.support = support(&gram, &vector, size, lambda, PASSES, &mut self.state.lasso);
        Ok(())
    }
}

/// Passes after which the descent is given up.
const PASSES: u32 = 1000;

/// The coordinates of the groups that the group lasso keeps. Where the descent did not end, nothing is known of them, and no
/// coordinate is left out.
fn support(
    gram: &[f64],
    vector: &[f64],
    size: usize,
    lambda: f64,
    passes: u32,
    theta: &mut [f64],
) -> Vec<usize> {
    let ended = group_lasso(gram, vector, size, lambda, passes, theta);
    let counts = |i: &usize| theta[i / size * size..(i / size + 1) * size].iter().any(|v| *v != 0.0);
    (0..theta.len()).filter(|i| !ended || counts(i)).collect()
}

/// Block coordinate descent for 1/2 th^T G th - <v, th> + lambda sum_g sqrt(size) |th_g|, from `theta`: a proximal step per
/// group with the trace of its block as curvature. Whether it has ended after at most so many passes.
fn group_lasso(
    gram: &[f64],
    vector: &[f64],
    size: usize,
    lambda: f64,
    passes: u32,
    theta: &mut [f64],
) -> bool {
    let d = theta.len();
    let mut next = vec![0.0; size];
    for _ in 0..passes {
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
            return true;
        }
    }
    false
}

impl PointRule for GroupSparseParams {
    type State = GroupState;
    /// The optimistic point.
    type Work = Vec<f64>;

    fn work(&self, set: &Set) -> Result<Vec<f64>> {
        let decision = restricted::unit_ball(set, Self::NAME)?;
        if decision.len().is_multiple_of(self.group) {
            return Ok(decision);
        }
        Err(ParamError::new("group", self.group, "a divisor of the dimension").into())
    }

    fn fresh(&self, set: &Set, _: &Vec<f64>) -> GroupState {
        let dim = set.dim();
        GroupState { ridge: Ridge::new(1.0, 0.0, 1, dim), lasso: vec![0.0; dim], support: Vec::new() }
    }

    fn tune(base: &mut GroupSparse) -> Result {
        let (updates, dim) = (base.state.ridge.updates(0), base.set.dim());
        if updates == 0 {
            return Ok(());
        }
        let GroupSparseParams { noise, norm, scale, .. } = base.rule;
        let delta = confidence(base.rule.delta, &base.clock, updates);
        let width = Width { noise, norm, delta, scale };
        let every: Vec<usize>;
        let support = if base.state.support.is_empty() {
            every = (0..dim).collect();
            &every
        } else {
            &base.state.support
        };
        restricted::choose(&base.state.ridge, support, width, &mut base.work)
    }

    fn propose(base: &mut GroupSparse, rng: &mut dyn Rng, out: &mut [f64], _: &mut Memo) -> Result {
        let n = base.state.ridge.updates(0);
        // Forced exploration, then with probability n^{-1/2}; one number is drawn either way.
        let draw = uniform(rng);
        if n == 0 || base.exploring() || draw < (n as f64).powf(-0.5) {
            fill_sphere(out, rng);
        } else {
            out.copy_from_slice(&base.work);
        }
        Ok(())
    }

    fn learn(base: &mut GroupSparse, x: &[f64], loss: f64) -> Result {
        base.state.ridge.update(0, x, loss - base.rule.offset, 1.0)?;
        // Every doubling of the updates.
        if base.state.ridge.updates(0).is_power_of_two() {
            base.refit()?;
        }
        Ok(())
    }

    fn restore(base: &GroupSparse, state: &mut GroupState, _: &Clock) -> Result {
        let dim = base.set.dim();
        state.ridge.restore(&base.state.ridge)?;
        check_numbers("estimates", &state.lasso, dim)?;
        Ok(restricted::check_support(&state.support, dim)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The optimality conditions of the group lasso: |slope_g| <= lambda sqrt(size) on groups at zero, and
    /// slope_g = -lambda sqrt(size) th_g/|th_g| on the others.
    #[test]
    fn the_group_lasso_is_optimal() {
        let (d, gram, vector) = problem();
        let (size, lambda) = (2, 0.2);
        let mut theta = vec![0.0; d];
        assert!(group_lasso(&gram, &vector, size, lambda, PASSES, &mut theta));
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

    fn problem() -> (usize, Vec<f64>, [f64; 6]) {
        let d = 6;
        let mut gram = vec![0.0; d * d];
        for i in 0..d {
            for j in 0..d {
                gram[i * d + j] = if i == j { 1.0 } else { 0.2 / (1.0 + i.abs_diff(j) as f64) };
            }
        }
        (d, gram, [1.0, -0.8, 0.05, 0.02, 0.3, 0.4])
    }

    #[test]
    fn a_descent_that_did_not_end_leaves_no_coordinate_out() {
        let (d, gram, vector) = problem();
        let found = |passes| support(&gram, &vector, 2, 0.2, passes, &mut vec![0.0; d]);
        assert_eq!(found(PASSES), [0, 1, 4, 5]);
        assert_eq!(found(1), [0, 1, 2, 3, 4, 5]);
    }
}
