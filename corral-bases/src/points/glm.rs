//! Optimism for generalised linear losses: the mean loss is sigma(<x, theta>) for a known link sigma.
//!
//! After Filippi, Cappe, Garivier, Szepesvari 2010 (GLM-UCB); the width is put on the linear predictor, as Li, Lu, Zhou
//! 2017 do, so that the optimum over a set is that of OFUL whatever the link. Regret O~(d sqrt(T) k/c). Lazy, alpha = 1/2.

use super::prelude::*;

/// So many examples are refitted at every update; later ones take one Newton step.
const REFIT: usize = 512;

words! {
    /// A link function sigma.
    pub enum PointLink {
        /// 1/(1 + e^-u).
        #[default]
        Logistic,
        /// e^(u - bound).
        Exponential,
    }
}

impl PointLink {
    /// sigma(u).
    fn mean(self, u: f64, bound: f64) -> f64 {
        match self {
            Self::Logistic => 1.0 / (1.0 + libm::exp(-u)),
            Self::Exponential => libm::exp(u - bound),
        }
    }

    /// sigma'(u).
    fn slope(self, u: f64, bound: f64) -> f64 {
        match self {
            Self::Logistic => {
                let m = self.mean(u, bound);
                m * (1.0 - m)
            }
            Self::Exponential => libm::exp(u - bound),
        }
    }

    /// The negative quasi-log-likelihood of loss `c` at u; convex in u, with derivative sigma(u) - c.
    fn cost(self, u: f64, c: f64, bound: f64) -> f64 {
        match self {
            // ln(1 + e^u) without overflow
            Self::Logistic => u.max(0.0) + libm::log1p(libm::exp(-u.abs())) - c * u,
            Self::Exponential => libm::exp(u - bound) - c * u,
        }
    }

    /// c_mu, the least slope over |u| <= bound.
    fn least_slope(self, bound: f64) -> f64 {
        self.slope(-bound, bound)
    }
}

base! {
    /// Optimism through a link, over a set of points.
    pub type GlmOful = PointBase<GlmOfulParams>;
    params {
        /// logistic, or exponential: e^(u - bound).
        link: PointLink = PointLink::Logistic;
        /// The largest |<x, theta>| over the set.
        bound: f64 = 2.0, Bounds::POSITIVE;
        /// Weight of the regularisation.
        lambda: f64 = 1.0, SIZE;
        /// Multiplies the width (1: theory).
        scale: f64 = 0.5, FACTOR;
        /// On polytopes and boxes: vertices (exact), relaxed (an l1 ball), or auto.
        search: Search = Search::Auto;
    }
    sqrt_bound |world| world.d * world.t.ln();
    name: "glm-oful",
    summary: "Optimism through a link function, fitted by maximum likelihood.",
    source: "Filippi, Cappe, Garivier, Szepesvari 2010, Parametric bandits: the generalized linear case",
    regret: "O~(d sqrt(T) k/c)",
    fits: "stochastic generalised linear losses on a set of points",
    cost: "O(n d^2) for the first 512 updates, then O(d^2), and the search of the set",
    ..super::POINTS
}

/// What [`GlmOful`] plays.
#[derive(Debug, Clone)]
pub struct GlmWork {
    /// A bound on |theta|.
    norm: f64,
    optimist: Optimist,
    decision: Vec<f64>,
}

/// What [`GlmOful`] has learned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GlmState {
    /// V = lambda I + sum x x^T.
    ridge: Ridge,
    /// V_w = lambda I + sum sigma'(u) x x^T.
    curvature: Vec<f64>,
    pub(super) theta: Vec<f64>,
    /// The first examples: d coordinates and the loss, one after the other.
    examples: Vec<f64>,
}

impl GlmOful {
    /// The penalised negative quasi-log-likelihood of the stored examples.
    fn cost(&self, theta: &[f64]) -> f64 {
        let (d, p) = (theta.len(), &self.rule);
        let data: f64 = self
            .state
            .examples
            .chunks_exact(d + 1)
            .map(|e| p.link.cost(dot(&e[..d], theta), e[d], p.bound))
            .sum();
        data + 0.5 * p.lambda * dot(theta, theta)
    }

    /// Newton on the stored examples (iteratively reweighted least squares), with halved steps while the cost rises.
    fn refit(&mut self) -> Result<(), BaseError> {
        let d = self.set.dim();
        let p = &self.rule;
        for _ in 0..20 {
            let mut slope: Vec<f64> = self.state.theta.iter().map(|t| p.lambda * t).collect();
            let mut curvature: Vec<f64> =
                (0..d * d).map(|k| if k / d == k % d { p.lambda } else { 0.0 }).collect();
            for e in self.state.examples.chunks_exact(d + 1) {
                let u = dot(&e[..d], &self.state.theta);
                add(
                    &mut slope,
                    &mut curvature,
                    &e[..d],
                    p.link.mean(u, p.bound) - e[d],
                    p.link.slope(u, p.bound),
                );
            }
            let mut factor = curvature.clone();
            cholesky::factor(&mut factor, d).ok_or_else(failed)?;
            let mut step = slope.clone();
            cholesky::solve(&factor, d, &mut step);
            self.state.curvature = curvature;
            let decrement = dot(&slope, &step);
            let before = self.cost(&self.state.theta);
            let mut share = 1.0;
            loop {
                let next: Vec<f64> = self.state.theta.iter().zip(&step).map(|(t, s)| t - share * s).collect();
                if self.cost(&next) <= before || share < 1e-6 {
                    self.state.theta = next;
                    break;
                }
                share *= 0.5;
            }
            if decrement < 1e-14 {
                break;
            }
        }
        Ok(())
    }

    /// One Newton step on a new example, with all the curvature so far.
    fn online(&mut self, x: &[f64], loss: f64) -> Result<(), BaseError> {
        let (d, p) = (x.len(), &self.rule);
        let u = dot(x, &self.state.theta).clamp(-p.bound, p.bound);
        let mut step = vec![0.0; d];
        let (error, slope) = (p.link.mean(u, p.bound) - loss, p.link.slope(u, p.bound));
        add(&mut step, &mut self.state.curvature, x, error, slope);
        let mut factor = self.state.curvature.clone();
        cholesky::factor(&mut factor, d).ok_or_else(failed)?;
        cholesky::solve(&factor, d, &mut step);
        self.state.theta.iter_mut().zip(&step).for_each(|(t, s)| *t -= s);
        Ok(())
    }
}

/// Losses in [0, 1] are sub-Gaussian with constant 1/2.
const SUBGAUSSIAN: f64 = 0.5;

fn add(slope: &mut [f64], curvature: &mut [f64], x: &[f64], error: f64, weight: f64) {
    let d = x.len();
    for i in 0..d {
        slope[i] += error * x[i];
        for j in 0..d {
            curvature[i * d + j] += weight * x[i] * x[j];
        }
    }
}

fn failed() -> BaseError {
    BaseError::Failed(String::from("the likelihood has no curvature"))
}

impl PointRule for GlmOfulParams {
    type State = GlmState;
    type Work = GlmWork;

    fn work(&self, set: &Set) -> Result<GlmWork, BaseError> {
        let norm = self.bound / set.norm_bound().max(f64::MIN_POSITIVE);
        Ok(GlmWork { norm, optimist: Optimist::new(set, self.search)?, decision: vec![0.0; set.dim()] })
    }

    fn fresh(&self, set: &Set, _: &GlmWork) -> GlmState {
        let ridge = Ridge::new(set.dim(), self.lambda);
        GlmState {
            curvature: ridge.gram().to_vec(),
            ridge,
            theta: vec![0.0; set.dim()],
            examples: Vec::new(),
        }
    }

    fn tune(base: &mut GlmOful) -> Result<(), BaseError> {
        let (d, n) = (base.set.dim() as f64, base.state.ridge.updates() as f64);
        // The width (2 k/c) sqrt(d ln t) of GLM-UCB on the loss (docs/bases.md#linear-bases) is (2/c) sqrt(d ln t) on
        // the linear predictor.
        let least = base.rule.link.least_slope(base.rule.bound);
        let radius = base.rule.scale * 2.0 / least * (d * (n + 2.0).ln()).sqrt() * SUBGAUSSIAN;
        let ellipsoid = Ellipsoid { centre: &base.state.theta, ..base.state.ridge.ellipsoid(radius) };
        base.work.optimist.choose(ellipsoid, &mut base.work.decision).map(drop)
    }

    fn sure(base: &GlmOful) -> Option<&[f64]> {
        Some(&base.work.decision)
    }

    fn learn(base: &mut GlmOful, x: &[f64], loss: f64) -> Result<(), BaseError> {
        base.state.ridge.learn(x, loss);
        if base.state.ridge.updates() as usize <= REFIT {
            base.state.examples.extend_from_slice(x);
            base.state.examples.push(loss);
            base.refit()?;
        } else {
            base.online(x, loss)?;
        }
        // Projection onto |theta| <= bound/N.
        let (theta, norm) = (&mut base.state.theta, base.work.norm);
        let length = dot(theta, theta).sqrt();
        if length > norm {
            theta.iter_mut().for_each(|t| *t *= norm / length);
        }
        Ok(())
    }

    fn restore(base: &GlmOful, state: &GlmState, _: &Clock) -> Result<(), BaseError> {
        let d = base.set.dim();
        state.ridge.valid(d, base.rule.lambda)?;
        check_numbers("curvatures", &state.curvature, d * d)?;
        check_numbers("coordinates", &state.theta, d)?;
        let held = (state.ridge.updates() as usize).min(REFIT) * (d + 1);
        check_numbers("numbers of the examples", &state.examples, held)?;
        if cholesky::factor(&mut state.curvature.clone(), d).is_none() {
            return Err(SnapshotError::state("its curvature is not positive").into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_consistent() {
        for link in [PointLink::Logistic, PointLink::Exponential] {
            for u in [-2.0, -0.3, 0.0, 1.7] {
                let h = 1e-6;
                let slope = (link.mean(u + h, 2.0) - link.mean(u - h, 2.0)) / (2.0 * h);
                assert!((slope - link.slope(u, 2.0)).abs() < 1e-8);
                let residual = (link.cost(u + h, 0.3, 2.0) - link.cost(u - h, 0.3, 2.0)) / (2.0 * h);
                assert!((residual - (link.mean(u, 2.0) - 0.3)).abs() < 1e-8);
                assert!(link.slope(u, 2.0) >= link.least_slope(2.0) - 1e-12);
            }
        }
    }
}
