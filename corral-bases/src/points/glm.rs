//! Optimism for generalised linear losses: the mean loss is sigma(<x, theta>) for a known link sigma.
//!
//! After Filippi, Cappe, Garivier, Szepesvari 2010 (GLM-UCB); the width is put on the linear predictor, as Li, Lu, Zhou
//! 2017 do, so that the optimum over a set is that of OFUL whatever the link. Regret O~(d sqrt(T) k/c). Lazy, alpha = 1/2.

use super::prelude::*;
use crate::regression::{Glm, Link};

base! {
    /// Optimism through a link function, fitted by maximum likelihood.
    "glm-oful": pub type GlmOful = PointBase<GlmOfulParams>;
    sqrt_bound |world| world.d * world.t.ln();
    params {
        /// logistic, exponential: e^(u - bound), probit or identity.
        link: Link = Link::Logistic;
        /// The largest |<x, theta>| over the set.
        bound: f64 = 2.0, Bounds::POSITIVE;
        /// Weight of the regularisation.
        lambda: f64 = 1.0, SIZE;
        /// Multiplies the width (1: theory).
        scale: f64 = 0.5, FACTOR;
        /// On polytopes and boxes: vertices (exact), relaxed (an l1 ball), or auto.
        search: Search = Search::Auto;
    }
}

/// What [`GlmOful`] plays.
#[derive(Debug, Clone)]
pub struct GlmWork {
    optimist: Optimist,
    decision: Vec<f64>,
}

/// Losses in [0, 1] are sub-Gaussian with constant 1/2.
const SUBGAUSSIAN: f64 = 0.5;

impl GlmOfulParams {
    /// Taken from u, so that the mean is at most 1.
    fn shift(&self) -> f64 {
        if self.link == Link::Exponential { self.bound } else { 0.0 }
    }
}

impl PointRule for GlmOfulParams {
    type State = Glm;
    type Work = GlmWork;

    fn work(&self, set: &Set) -> Result<GlmWork> {
        Ok(GlmWork { optimist: Optimist::new(set, self.search)?, decision: vec![0.0; set.dim()] })
    }

    fn fresh(&self, set: &Set, _: &GlmWork) -> Glm {
        let norm = self.bound / set.norm_bound().max(f64::MIN_POSITIVE);
        Glm::new(self.link, self.lambda, norm, 1, set.dim()).shifted(self.shift())
    }

    fn tune(base: &mut GlmOful) -> Result {
        let spread = base.state.spread();
        let (d, n) = (base.set.dim() as f64, spread.updates(0) as f64);
        // The width (2 k/c) sqrt(d ln t) of GLM-UCB on the loss (docs/bases.md#linear-bases) is (2/c) sqrt(d ln t) on
        // the linear predictor.
        let (_, least) = base.rule.link.slopes(base.rule.bound + base.rule.shift());
        let radius = base.rule.scale * 2.0 / least * (d * (n + 2.0).ln()).sqrt() * SUBGAUSSIAN;
        let ellipsoid = Ellipsoid { centre: base.state.theta(0), ..Ellipsoid::around(spread, radius) };
        base.work.optimist.choose(ellipsoid, &mut base.work.decision).map(drop)
    }

    fn sure(base: &GlmOful) -> Option<&[f64]> {
        Some(&base.work.decision)
    }

    fn learn(base: &mut GlmOful, x: &[f64], loss: f64) -> Result {
        base.state.update(0, x, loss, 1.0)
    }

    fn restore(base: &GlmOful, state: &mut Glm, _: &Clock) -> Result {
        Ok(state.restore(&base.state)?)
    }
}
