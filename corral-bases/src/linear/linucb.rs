//! LinUCB for losses: the lowest confidence bound of a ridge regression.
//!
//! Li, Chu, Langford, Schapire 2010; Abbasi-Yadkori, Pal, Szepesvari 2011 for the radius. Regret O~(d sqrt T) when the
//! loss is linear in the features, contexts chosen by an adversary. Lazy; weakly stable with alpha = 1/2
//! (docs/stability.md#lazy-bases, W = 8 beta^2 d ln(1 + T/(d lambda))).

use corral_core::catalog::{Entry, Field};
use corral_core::{BaseError, Setup};
use serde::{Deserialize, Serialize};

use super::features::{FEATURES_DEFAULT, FEATURES_DOC, Features};
use super::learner::{Choice, Linear, View, put_on_lowest};
use super::regressor::Layout;
use super::ridge::{RIDGE_DEFAULT, RIDGE_DOC, Ridge, RidgeParams};
use crate::arms::Ties;
use crate::common::{RangeChange, Setting, keep_or_restart, non_negative};
use crate::registry::{Row, bound_horizon, defaults};

pub(crate) const ROW: Row = Row {
    entry: Entry {
        name: "linucb",
        summary: "The action with the lowest confidence bound of a ridge regression.",
        source: "Li, Chu, Langford, Schapire 2010, A contextual-bandit approach to personalized news article recommendation",
        regret: "O~(d sqrt T)",
        alpha: Some(0.5),
        fits: "linear losses, any contexts",
        cost: "O(K d^2)",
        kind: "contextual",
        status: "standard",
        fields: &[
            Field {
                name: "alpha",
                default: "\"auto\"",
                doc: "The width is alpha ||z||_{V^-1}; auto: sqrt(2 ln(1/delta) + ln det(V/lambda))/2 + sqrt(lambda) bound, delta = 1/T.",
            },
            Field { name: "scale", default: "1.0", doc: "Multiplies the width." },
            Field {
                name: "bound",
                default: "1.0",
                doc: "A bound on the norm of the true parameter, for alpha = auto.",
            },
            Field {
                name: "ties",
                default: "\"random\"",
                doc: "Which of several best actions is played: random or lowest.",
            },
            Field {
                name: "range_change",
                default: "\"keep\"",
                doc: "What a larger range does: keep (sound, because it is lazy), or restart (as in the paper).",
            },
            Field { name: "features", default: FEATURES_DEFAULT, doc: FEATURES_DOC },
            Field { name: "model", default: RIDGE_DEFAULT, doc: RIDGE_DOC },
        ],
    },
    build: |table, setup| {
        super::build(&ROW.entry, table, setup, |p: &LinUcbParams| p.features.clone(), LinUcbParams::check)
    },
    bound: |setup| {
        // O~(d sqrt T): beta sqrt(d T ln T) with beta about sqrt(d ln T)
        let d = setup.context.features.max(setup.context.row_features).max(1) as f64;
        Some((d * bound_horizon(setup).ln(), 0.5, 0.5))
    },
    defaults: defaults::<LinUcbParams>,
};

/// Parameters of [`LinUcb`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinUcbParams {
    /// The width is alpha ||z||_{V^-1}; auto: the radius of the confidence ellipsoid.
    pub alpha: Setting,
    /// Multiplies the width.
    pub scale: f64,
    /// A bound S on the norm of the true parameter.
    pub bound: f64,
    /// Which of several best actions is played.
    pub ties: Ties,
    /// What a larger range does.
    pub range_change: RangeChange,
    /// The representation of the context.
    pub features: Features,
    /// The regression.
    pub model: RidgeParams,
}

impl Default for LinUcbParams {
    fn default() -> Self {
        Self {
            alpha: Setting::Auto,
            scale: 1.0,
            bound: 1.0,
            ties: Ties::Random,
            range_change: RangeChange::Keep,
            features: Features::Raw,
            model: RidgeParams::default(),
        }
    }
}

/// The action with the lowest confidence bound of a ridge regression.
pub type LinUcb = Linear<LinUcbParams>;

impl LinUcbParams {
    /// The base for the world of `setup`, whose contexts are already those of [`features`](LinUcbParams::features).
    ///
    /// # Errors
    /// A parameter is out of bounds, or the world has no features.
    pub fn check(self, setup: &Setup) -> Result<LinUcb, BaseError> {
        if let Setting::Given(alpha) = self.alpha {
            non_negative("alpha", alpha)?;
        }
        non_negative("scale", self.scale)?;
        non_negative("bound", self.bound)?;
        self.model.check()?;
        keep_or_restart(self.range_change)?;
        let layout = Layout::new(self.model.parameters, setup)?;
        Ok(Linear::new(self, layout, setup))
    }
}

impl Choice for LinUcbParams {
    const NAME: &'static str = "linucb";
    type Model = Ridge;

    fn model(&self, models: usize, dim: usize) -> Ridge {
        Ridge::new(&self.model, models, dim)
    }

    fn needs_widths(&self) -> bool {
        true
    }

    fn weigh(&self, view: &View<'_>, weights: &mut [f64]) {
        // beta = sigma sqrt(2 ln(1/delta) + ln det V - d ln lambda) + sqrt(lambda) S, sigma = 1/2
        // docs/bases.md#linear-bases
        let confidence = 2.0 * view.horizon_or_round().ln();
        let shift = self.model.ridge.sqrt() * self.bound;
        put_on_lowest(self.ties, weights, |a| {
            let beta = self.alpha.or(|| 0.5 * (confidence + view.log_dets[a]).sqrt() + shift);
            view.predictions[a] - self.scale * beta * view.widths[a]
        });
    }

    fn features(&self) -> &Features {
        &self.features
    }

    fn range_change(&self) -> RangeChange {
        self.range_change
    }

    fn weighted(&self) -> bool {
        self.model.weighted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view<'a>(predictions: &'a [f64], widths: &'a [f64], log_dets: &'a [f64]) -> View<'a> {
        View {
            predictions,
            widths,
            log_dets,
            seen: 9.0,
            rounds: 9.0,
            horizon: Some(100.0),
            range: 1.0,
            dim: 2.0,
        }
    }

    #[test]
    fn the_radius_is_that_of_the_ellipsoid() {
        // beta = sqrt(2 ln 100 + 3)/2 + 1 for the first action and sqrt(2 ln 100)/2 + 1 for the second.
        let betas = [0.5 * (2.0 * 100f64.ln() + 3.0).sqrt() + 1.0, 0.5 * (2.0 * 100f64.ln()).sqrt() + 1.0];
        let widths = [0.2, 0.3];
        let params = LinUcbParams::default();
        let mut weights = [0.0; 2];
        // Predictions that make the two bounds nearly equal, one way and the other.
        let even = 0.5 + betas[0] * widths[0] - betas[1] * widths[1];
        for (off, expected) in [(1e-9, [1.0, 0.0]), (-1e-9, [0.0, 1.0])] {
            let predictions = [0.5, 0.5 - (even - 0.5) + off];
            params.weigh(&view(&predictions, &widths, &[3.0, 0.0]), &mut weights);
            assert_eq!(weights, expected);
        }
    }

    #[test]
    fn ties_are_shared_or_go_to_the_first() {
        let mut weights = [0.0; 3];
        let (predictions, widths) = ([0.5, 0.2, 0.2], [0.0; 3]);
        let mut params = LinUcbParams { alpha: Setting::Given(0.1), ..LinUcbParams::default() };
        params.weigh(&view(&predictions, &widths, &[0.0; 3]), &mut weights);
        assert_eq!(weights, [0.0, 0.5, 0.5]);
        params.ties = Ties::Lowest;
        params.weigh(&view(&predictions, &widths, &[0.0; 3]), &mut weights);
        assert_eq!(weights, [0.0, 1.0, 0.0]);
    }
}
