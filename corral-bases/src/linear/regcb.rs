//! RegCB, optimistic, with linear regression: the lowest lower bound over regressors that fit the past well.
//!
//! Foster, Agarwal, Dudik, Luo, Schapire 2018. For linear classes the regressors that fit well are an ellipsoid, and
//! the bound is m_a - sqrt(beta) ||z||_{V^-1}, clipped to [0, 1]. Lazy; weakly stable with alpha = 1/2 where squared
//! widths are summable, as for linear classes (docs/stability.md#lazy-bases). Classes other than linear are not
//! offered.

use super::prelude::*;

base! {
    /// The action with the lowest loss that a well-fitting linear regressor predicts.
    "regcb": pub type RegCb = Linear<RegCbParams>;
    sqrt_bound |world| world.d * world.t.ln();
    params {
        /// How well a regressor must fit: the width is sqrt(c ln(K n + 1)) ||z||_{V^-1} after n - 1 updates.
        c: f64 = 0.003, Bounds::NON_NEGATIVE;
    } with random_ties, lazy, ridge
}

impl ActionRule for RegCbParams {
    fn needs_widths(&self) -> bool {
        true
    }

    fn weigh(&self, view: &View<'_>, weights: &mut [f64]) {
        // argmin clip01(m_a - sqrt(c ln(K n + 1)) s_a), n = updates + 1   docs/data.md#regression-learners
        let radius = (self.c * (view.actions() * (view.seen + 1.0)).ln_1p()).sqrt();
        put_on_lowest(self.ties, weights, |a| {
            (view.predictions[a] - radius * view.widths[a]).clamp(0.0, 1.0)
        });
    }
}
