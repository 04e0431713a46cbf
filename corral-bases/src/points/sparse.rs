//! OFUL for sparse parameters, by turning online predictions into confidence sets.
//!
//! Abbasi-Yadkori, Pal, Szepesvari 2012. Any predictor of the loss with regret B_n against sparse parameters gives a
//! confidence set around the regression on its *predictions*; the predictor here is the exact mixture of ridge
//! forecasters over all supports of at most s coordinates. Regret O~(sqrt(s d T)). Lazy, alpha = 1/2.

use super::lazy::{Lazy, Model};
use super::oful::{confidence, parameter_norm};
use super::optimism::{Ellipsoid, Optimist, Search};
use super::point_set;
use super::ridge::{Ridge, quadratic};
use crate::prelude::*;

/// The mixture is exact, and has no more supports than this.
const SUPPORTS: usize = 5000;

corral_core::params! {
    /// Parameters of [`SparseOful`].
    pub struct SparseOfulParams {
        /// s: at most this many coordinates count; at most 5000 supports.
        sparsity: usize = 1, Bounds::at_least(1.0);
        /// S, a bound on the length of the parameter; auto: what losses in [0, 1] allow.
        norm: Setting = Setting::Auto, SIZE;
        /// Sub-Gaussian constant of the noise.
        noise: f64 = 0.5, FACTOR;
        /// Probability of a wrong confidence set; auto: 1/T.
        delta: Setting = Setting::Auto, CONFIDENCE;
        /// Multiplies the confidence radius.
        scale: f64 = 1.0, FACTOR;
        /// What is subtracted from losses before the regression.
        offset: f64 = 0.5, OFFSET;
        /// On polytopes and boxes: vertices (exact), relaxed (an l1 ball), or auto.
        search: Search = Search::Auto;
    }
}

impl BaseParams for SparseOfulParams {
    type Base = SparseOful;

    const ENTRY: Entry = Entry {
        name: "sparse-oful",
        summary: "Optimism with confidence sets from an exact mixture over sparse supports.",
        source: "Abbasi-Yadkori, Pal, Szepesvari 2012, Online-to-confidence-set conversions and application to sparse stochastic bandits",
        regret: "O~(sqrt(s d T))",
        fits: "stochastic linear losses with few relevant coordinates",
        cost: "O(N s^2 + d^2) with N supports, and the search of the set",
        ..super::POINTS
    };

    fn build(self, setup: &Setup) -> Result<SparseOful, BaseError> {
        self.check()?;
        let set = point_set(setup)?.clone();
        let (dim, clock) = (set.dim(), Clock::new(setup));
        if self.sparsity == 0 || self.sparsity > dim {
            return Err(
                ParamError::new("sparsity", self.sparsity, "at least 1 and at most the dimension").into()
            );
        }
        let supports = supports(dim, self.sparsity).ok_or_else(|| {
            ParamError::new("sparsity", self.sparsity, "such that there are at most 5000 supports")
        })?;
        let experts: Vec<Expert> = supports.iter().map(|s| Expert::new(s.len())).collect();
        let mut model = SparseModel {
            norm: self.norm.or(|| parameter_norm(&set)),
            reach: set.norm_bound(),
            optimist: Optimist::new(&set, self.search)?,
            params: self.clone(),
            supports,
            state: SparseState { ridge: Ridge::new(dim, 1.0), squares: 0.0, experts },
            decision: vec![0.0; dim],
        };
        model.decide(&clock)?;
        Ok(Lazy::new(self, set, clock, model))
    }

    fn bound(&self, setup: &Setup) -> Option<RegretBound> {
        let d = point_set(setup).ok()?.dim() as f64;
        let t = bound_horizon(setup);
        Some(RegretBound::new((8.0 * d * (1.0 + t / d).ln() * t.ln()).sqrt(), 0.5))
    }
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

/// A ridge forecaster on one support (Vovk, Azoury, Warmuth), and the log of its weight.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Expert {
    inverse: Vec<f64>,
    vector: Vec<f64>,
    log_weight: f64,
}

impl Expert {
    fn new(size: usize) -> Self {
        Self {
            inverse: (0..size * size).map(|k| f64::from(k / size == k % size)).collect(),
            vector: vec![0.0; size],
            log_weight: 0.0,
        }
    }

    /// x^T (V + x x^T)^{-1} b = x^T V^{-1} b/(1 + x^T V^{-1} x), clipped.
    fn predict(&self, x: &[f64], moved: &mut [f64], clip: f64) -> f64 {
        let k = x.len();
        for (i, m) in moved.iter_mut().enumerate() {
            *m = super::dot(&self.inverse[i * k..(i + 1) * k], x);
        }
        (super::dot(moved, &self.vector) / (1.0 + super::dot(moved, x))).clamp(-clip, clip)
    }

    fn learn(&mut self, x: &[f64], moved: &[f64], y: f64) {
        let k = x.len();
        let growth = 1.0 + super::dot(moved, x);
        for i in 0..k {
            for j in 0..k {
                self.inverse[i * k + j] -= moved[i] * moved[j] / growth;
            }
            self.vector[i] += y * x[i];
        }
    }
}

/// Sparse OFUL over a set of points.
pub type SparseOful = Lazy<SparseModel>;

/// The model of [`SparseOful`].
#[derive(Debug, Clone)]
pub struct SparseModel {
    params: SparseOfulParams,
    norm: f64,
    reach: f64,
    optimist: Optimist,
    supports: Vec<Vec<usize>>,
    state: SparseState,
    decision: Vec<f64>,
}

/// What [`SparseOful`] has learned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SparseState {
    /// G = I + sum x x^T, and the regression on the predictions.
    ridge: Ridge,
    /// The sum of the squared predictions.
    squares: f64,
    experts: Vec<Expert>,
}

impl SparseModel {
    /// Y: losses less the offset lie in [-Y, Y].
    fn clip(&self) -> f64 {
        self.params.offset.abs().max((1.0 - self.params.offset).abs())
    }

    /// The square of the confidence radius.
    pub fn radius_squared(&self, clock: &Clock) -> f64 {
        let (n, s, y) = (self.state.ridge.updates() as f64, self.params.sparsity as f64, self.clip());
        // B_n = S^2 + Y^2 s ln(1 + n N^2/s) + 8 Y^2 ln(#supports)   for points of norm up to N,
        // docs/bases.md#sparse-oful
        let regret = self.norm.powi(2)
            + y * y * s * (1.0 + n * self.reach * self.reach / s).ln()
            + 8.0 * y * y * (self.supports.len() as f64).ln();
        let sigma = self.params.noise;
        let delta = confidence(self.params.delta, clock, self.state.ridge.updates());
        // beta_n = 1 + 2 B_n + 32 sigma^2 ln((sigma sqrt 8 + sqrt(1 + B_n))/delta)
        let beta = 1.0
            + 2.0 * regret
            + 32.0 * sigma * sigma * ((sigma * 8f64.sqrt() + (1.0 + regret).sqrt()) / delta).ln();
        let ridge = &self.state.ridge;
        // radius^2 = S^2 + beta_n - (sum yhat^2 - g^T G^{-1} g)
        let misfit = self.state.squares - super::dot(ridge.vector(), ridge.estimate());
        (self.norm.powi(2) + beta - misfit).max(0.0)
    }

    /// |theta - centre|_G^2, to be compared with the square of the radius.
    pub fn distance_squared(&self, theta: &[f64]) -> f64 {
        let off: Vec<f64> = theta.iter().zip(self.state.ridge.estimate()).map(|(a, b)| a - b).collect();
        quadratic(self.state.ridge.gram(), &off)
    }

    fn decide(&mut self, clock: &Clock) -> Result<(), BaseError> {
        let ridge = &self.state.ridge;
        let ellipsoid = Ellipsoid {
            centre: ridge.estimate(),
            gram: ridge.gram(),
            inverse: ridge.inverse(),
            radius: self.params.scale * self.radius_squared(clock).sqrt(),
        };
        self.optimist.choose(ellipsoid, &mut self.decision)?;
        Ok(())
    }
}

impl Model for SparseModel {
    type Params = SparseOfulParams;
    type State = SparseState;

    fn state(&self) -> &SparseState {
        &self.state
    }

    fn resume(&mut self, state: SparseState, clock: &Clock) -> Result<(), BaseError> {
        state.ridge.valid(self.decision.len(), 1.0)?;
        if state.experts.len() != self.supports.len() || !(0.0..f64::INFINITY).contains(&state.squares) {
            return Err(SnapshotError::state("its mixture is of another size").into());
        }
        for (expert, support) in state.experts.iter().zip(&self.supports) {
            check_numbers("entries of a forecaster", &expert.inverse, support.len().pow(2))?;
            check_numbers("sums of a forecaster", &expert.vector, support.len())?;
            check_numbers("weights", &[expert.log_weight], 1)?;
        }
        let mut next = Self { state, ..self.clone() };
        next.decide(clock).map_err(SnapshotError::state)?;
        *self = next;
        Ok(())
    }

    fn sure(&self, _clock: &Clock) -> Option<&[f64]> {
        Some(&self.decision)
    }

    fn learn(&mut self, clock: &Clock, x: &[f64], loss: f64) -> Result<(), BaseError> {
        let (clip, y) = (self.clip(), loss - self.params.offset);
        // Exponential weights for the square loss, exp-concave at 1/(8 Y^2).
        let rate = 1.0 / (8.0 * clip * clip);
        let top = self.state.experts.iter().map(|e| e.log_weight).fold(f64::NEG_INFINITY, f64::max);
        let (mut sum, mut total) = (0.0, 0.0);
        let (mut part, mut moved) =
            (Vec::with_capacity(self.params.sparsity), vec![0.0; self.params.sparsity]);
        for (expert, support) in self.state.experts.iter_mut().zip(&self.supports) {
            part.clear();
            part.extend(support.iter().map(|j| x[*j]));
            let moved = &mut moved[..part.len()];
            let prediction = expert.predict(&part, moved, clip);
            let weight = (expert.log_weight - top).exp();
            sum += weight * prediction;
            total += weight;
            expert.log_weight += -top - rate * (prediction - y).powi(2);
            expert.learn(&part, moved, y);
        }
        let mixed = sum / total;
        // Regress on the prediction, not on the loss.
        self.state.ridge.learn(x, mixed);
        self.state.squares += mixed * mixed;
        self.decide(clock)
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
