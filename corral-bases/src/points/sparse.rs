//! OFUL for sparse parameters, by turning online predictions into confidence sets.
//!
//! Abbasi-Yadkori, Pal, Szepesvari 2012. Any predictor of the loss with regret B_n against sparse parameters gives a
//! confidence set around the regression on its *predictions*; the predictor here is the exact mixture of ridge
//! forecasters over all supports of at most s coordinates. Regret O~(sqrt(s d T)). Lazy, alpha = 1/2.

use super::prelude::*;

/// The mixture is exact, and has no more supports than this.
const SUPPORTS: usize = 5000;

base! {
    /// Optimism with confidence sets from an exact mixture over sparse supports.
    "sparse-oful": pub type SparseOful = PointBase<SparseOfulParams>;
    sqrt_bound |world| (8.0 * world.d * (1.0 + world.t / world.d).ln() * world.t.ln()).sqrt();
    params {
        /// s: at most this many coordinates count; at most 5000 supports.
        sparsity: usize = 1, Bounds::at_least(1.0);
    } with optimist
}

/// All sets of 1 to `most` of `dim` coordinates, where there are at most 5000.
fn supports(dim: usize, most: usize) -> Option<Vec<Vec<usize>>> {
    let mut all: Vec<Vec<usize>> = Vec::new();
    let mut grow: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..most {
        let mut next = Vec::new();
        for support in &grow {
            for j in support.last().map_or(0, |l| l + 1)..dim {
                let mut wider = support.clone();
                wider.push(j);
                next.push(wider);
                if all.len() + next.len() > SUPPORTS {
                    return None;
                }
            }
        }
        all.extend(next.iter().cloned());
        grow = next;
    }
    Some(all)
}

/// What [`SparseOful`] mixes over, and plays.
#[derive(Debug, Clone)]
pub struct SparseWork {
    norm: f64,
    reach: f64,
    optimist: Optimist,
    supports: Vec<Vec<usize>>,
    decision: Vec<f64>,
}

/// What [`SparseOful`] has learned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SparseState {
    /// G = I + sum x x^T, and the regression on the predictions.
    ridge: Ridge,
    /// The sum of the squared predictions.
    squares: f64,
    /// Ridge forecasters (Vovk, Azoury, Warmuth), by the size of their support.
    experts: Vec<Ridge>,
    /// The logarithm of the weight of each, in the order of the supports.
    log_weights: Vec<f64>,
}

impl SparseOful {
    /// The square of the confidence radius.
    pub fn radius_squared(&self) -> f64 {
        let (rule, ridge, work) = (&self.rule, &self.state.ridge, &self.work);
        let (n, s, y) = (ridge.updates(0) as f64, rule.sparsity as f64, rule.clip());
        // B_n = S^2 + Y^2 s ln(1 + n N^2/s) + 8 Y^2 ln(#supports)   for points of norm up to N,
        // docs/bases.md#sparse-oful
        let regret = work.norm.powi(2)
            + y * y * s * (1.0 + n * work.reach * work.reach / s).ln()
            + 8.0 * y * y * (work.supports.len() as f64).ln();
        let sigma = rule.noise;
        let delta = confidence(rule.delta, &self.clock, ridge.updates(0));
        // beta_n = 1 + 2 B_n + 32 sigma^2 ln((sigma sqrt 8 + sqrt(1 + B_n))/delta)
        let beta = 1.0
            + 2.0 * regret
            + 32.0 * sigma * sigma * ((sigma * 8f64.sqrt() + (1.0 + regret).sqrt()) / delta).ln();
        // radius^2 = S^2 + beta_n - (sum yhat^2 - g^T G^{-1} g)
        let misfit = self.state.squares - dot(ridge.moment(0), ridge.theta(0));
        (work.norm.powi(2) + beta - misfit).max(0.0)
    }

    /// |theta - centre|_G^2, to be compared with the square of the radius.
    pub fn distance_squared(&self, theta: &[f64]) -> f64 {
        self.state.ridge.distance_squared(theta)
    }
}

impl SparseOfulParams {
    /// Y: losses less the offset lie in [-Y, Y].
    fn clip(&self) -> f64 {
        self.offset.abs().max((1.0 - self.offset).abs())
    }
}

impl PointRule for SparseOfulParams {
    type State = SparseState;
    type Work = SparseWork;

    fn work(&self, set: &Set) -> Result<SparseWork> {
        let wrong = |must| ParamError::new("sparsity", self.sparsity, must);
        if self.sparsity > set.dim() {
            return Err(wrong("at least 1 and at most the dimension").into());
        }
        let supports = supports(set.dim(), self.sparsity)
            .ok_or_else(|| wrong("such that there are at most 5000 supports"))?;
        Ok(SparseWork {
            norm: self.norm.or(|| parameter_norm(set)),
            reach: set.norm_bound(),
            optimist: Optimist::new(set, self.search)?,
            supports,
            decision: vec![0.0; set.dim()],
        })
    }

    fn fresh(&self, set: &Set, work: &SparseWork) -> SparseState {
        let count = |size: usize| work.supports.iter().filter(|s| s.len() == size).count();
        let experts = (1..=self.sparsity).map(|size| Ridge::new(1.0, 0.0, count(size), size)).collect();
        let (ridge, log_weights) = (Ridge::new(1.0, 0.0, 1, set.dim()), vec![0.0; work.supports.len()]);
        SparseState { ridge, squares: 0.0, experts, log_weights }
    }

    fn tune(base: &mut SparseOful) -> Result {
        let ellipsoid = Ellipsoid::around(&base.state.ridge, base.rule.scale * base.radius_squared().sqrt());
        base.work.optimist.choose(ellipsoid, &mut base.work.decision).map(drop)
    }

    fn sure(base: &SparseOful) -> Option<&[f64]> {
        Some(&base.work.decision)
    }

    fn learn(base: &mut SparseOful, x: &[f64], loss: f64) -> Result {
        let (clip, y, state) = (base.rule.clip(), loss - base.rule.offset, &mut base.state);
        // Exponential weights for the square loss, exp-concave at 1/(8 Y^2).
        let rate = 1.0 / (8.0 * clip * clip);
        let top = state.log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (mut sum, mut total) = (0.0, 0.0);
        let mut part = Vec::with_capacity(base.rule.sparsity);
        // Supports of one size follow each other.
        let mut first = (0, 0);
        for (at, (support, log_weight)) in base.work.supports.iter().zip(&mut state.log_weights).enumerate() {
            if support.len() != first.0 {
                first = (support.len(), at);
            }
            let (expert, model) = (&mut state.experts[support.len() - 1], at - first.1);
            part.clear();
            part.extend(support.iter().map(|j| x[*j]));
            // x^T (V + x x^T)^{-1} b = x^T V^{-1} b/(1 + x^T V^{-1} x), clipped
            let prediction = expert.predict(model, &part) / (1.0 + expert.variance(model, &part));
            let prediction = prediction.clamp(-clip, clip);
            let weight = (*log_weight - top).exp();
            sum += weight * prediction;
            total += weight;
            *log_weight += -top - rate * (prediction - y).powi(2);
            expert.update(model, &part, y, 1.0)?;
        }
        let mixed = sum / total;
        // Regress on the prediction, not on the loss.
        state.ridge.update(0, x, mixed, 1.0)?;
        state.squares += mixed * mixed;
        Ok(())
    }

    fn restore(base: &SparseOful, state: &mut SparseState, _: &Clock) -> Result {
        state.ridge.restore(&base.state.ridge)?;
        let sound =
            state.experts.len() == base.state.experts.len() && (0.0..f64::INFINITY).contains(&state.squares);
        ensure(sound, "its mixture is of another size")?;
        for (expert, fresh) in state.experts.iter_mut().zip(&base.state.experts) {
            expert.restore(fresh)?;
        }
        Ok(check_numbers("weights", &state.log_weights, base.state.log_weights.len())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn supports_are_counted() {
        assert_eq!(supports(4, 2).map(|s| s.len()), Some(4 + 6));
        assert_eq!(supports(3, 3).map(|s| s.len()), Some(7));
        assert!(supports(40, 4).is_none());
    }
}
