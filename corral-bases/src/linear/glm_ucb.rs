//! GLM-UCB: the lowest confidence bound of a generalised linear regression.
//!
//! Filippi, Cappe, Garivier, Szepesvari 2010. Regret O~(d sqrt T k/c) when E[loss] = sigma(theta z), k and c the largest
//! and smallest slopes of sigma that can occur. Lazy; weakly stable with alpha = 1/2 as LinUCB
//! (docs/stability.md#lazy-bases). Importance weights are not used: every loss that was seen counts once.

use super::prelude::*;
use crate::regression::{Glm, Link};

base! {
    /// The action with the lowest confidence bound of a generalised linear regression.
    "glm-ucb": pub type GlmUcb = Linear<GlmUcbParams>;
    sqrt_bound |world| world.d * world.t.ln();
    params {
        /// logistic, exponential, probit or identity.
        link: Link = Link::Logistic;
        /// Multiplies the width 2 (k/c) sqrt(d ln t) ||z||_{V^-1}.
        scale: f64 = 0.5, Bounds::NON_NEGATIVE;
        /// A bound on the norm of the true parameter, onto which fits are projected.
        bound: f64 = 1.0, Bounds::POSITIVE;
        /// A bound on the norm of features, for k and c.
        feature_bound: f64 = 1.0, Bounds::POSITIVE;
        /// The strength of the ridge.
        ridge: f64 = 1.0, SIZE;
        /// shared: one vector over the actions' features; disjoint: one per action; auto: shared where actions
        /// have features.
        parameters: Parameters = Parameters::Auto;
    } with random_ties, lazy, features
}

impl Regression for GlmUcbParams {
    type Model = Glm;

    fn model(&self, models: usize, dim: usize) -> Glm {
        Glm::new(self.link, self.ridge, self.bound, models, dim)
    }

    fn parameters(&self) -> Parameters {
        self.parameters
    }

    fn check_model(&self) -> Result<(), ParamError> {
        let (_, least) = self.link.slopes(self.bound * self.feature_bound);
        ParamError::positive("the smallest slope of the link at bound * feature_bound", least).map(drop)
    }
}

impl ActionRule for GlmUcbParams {
    fn needs_widths(&self) -> bool {
        true
    }

    fn weigh(&self, view: &View<'_>, weights: &mut [f64]) {
        // sigma(theta z) - (2 k/c) sqrt(d ln t) scale ||z||_{V^-1}   docs/bases.md#linear-bases
        let (most, least) = self.link.slopes(self.bound * self.feature_bound);
        let log = (view.seen + 1.0).max(2.0).ln();
        let radius = self.scale * 2.0 * (most / least) * (view.dim * log).sqrt();
        put_on_lowest(self.ties, weights, |a| view.predictions[a] - radius * view.widths[a]);
    }
}
