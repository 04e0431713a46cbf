//! GLM-UCB: the lowest confidence bound of a generalised linear regression.
//!
//! Filippi, Cappe, Garivier, Szepesvari 2010. Regret O~(d sqrt T k/c) when E[loss] = sigma(theta z), k and c the largest
//! and smallest slopes of sigma that can occur. Lazy; weakly stable with alpha = 1/2 as LinUCB
//! (docs/stability.md#lazy-bases). Importance weights are not used: every loss that was seen counts once.

use corral_core::catalog::{Entry, Field};
use corral_core::{BaseError, ParamError, Setup};
use serde::{Deserialize, Serialize};

use super::features::{FEATURES_DEFAULT, FEATURES_DOC, Features};
use super::glm::{Glm, Link};
use super::learner::{Choice, Linear, View, put_on_lowest};
use super::regressor::Layout;
use super::ridge::Parameters;
use crate::arms::Ties;
use crate::common::{RangeChange, keep_or_restart, non_negative};
use crate::registry::{Row, bound_horizon, defaults};

pub(crate) const ROW: Row = Row {
    entry: Entry {
        name: "glm-ucb",
        summary: "The action with the lowest confidence bound of a generalised linear regression.",
        source: "Filippi, Cappe, Garivier, Szepesvari 2010, Parametric bandits: the generalized linear case",
        regret: "O~(d sqrt T k/c)",
        alpha: Some(0.5),
        fits: "generalised linear losses, any contexts",
        cost: "O(K d^2) + a fit of at most 512 examples, then O(d^3) per loss",
        kind: "contextual",
        status: "from memory",
        fields: &[
            Field {
                name: "link",
                default: "\"logistic\"",
                doc: "logistic, exponential, probit or identity.",
            },
            Field {
                name: "scale",
                default: "0.5",
                doc: "Multiplies the width 2 (k/c) sqrt(d ln t) ||z||_{V^-1}.",
            },
            Field {
                name: "bound",
                default: "1.0",
                doc: "A bound on the norm of the true parameter, onto which fits are projected.",
            },
            Field {
                name: "feature_bound",
                default: "1.0",
                doc: "A bound on the norm of features, for k and c.",
            },
            Field { name: "ridge", default: "1.0", doc: "The strength of the ridge." },
            Field {
                name: "parameters",
                default: "\"auto\"",
                doc: "shared: one vector over the actions' features; disjoint: one per action; auto: shared where actions have features.",
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
        ],
    },
    build: |table, setup| {
        super::build(&ROW.entry, table, setup, |p: &GlmUcbParams| p.features.clone(), GlmUcbParams::check)
    },
    bound: |setup| {
        let d = setup.context.features.max(setup.context.row_features).max(1) as f64;
        Some((d * bound_horizon(setup).ln(), 0.5, 0.5))
    },
    defaults: defaults::<GlmUcbParams>,
};

/// Parameters of [`GlmUcb`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GlmUcbParams {
    /// The link.
    pub link: Link,
    /// Multiplies the width; 1/2 is practical.
    pub scale: f64,
    /// A bound S on the norm of the true parameter.
    pub bound: f64,
    /// A bound on the norm of features.
    pub feature_bound: f64,
    /// The strength lambda of the ridge.
    pub ridge: f64,
    /// One parameter vector for all actions, or one for each.
    pub parameters: Parameters,
    /// Which of several best actions is played.
    pub ties: Ties,
    /// What a larger range does: `Keep` or `Restart`.
    pub range_change: RangeChange,
    /// The representation of the context.
    pub features: Features,
}

impl Default for GlmUcbParams {
    fn default() -> Self {
        Self {
            link: Link::Logistic,
            scale: 0.5,
            bound: 1.0,
            feature_bound: 1.0,
            ridge: 1.0,
            parameters: Parameters::Auto,
            ties: Ties::Random,
            range_change: RangeChange::Keep,
            features: Features::Raw,
        }
    }
}

/// GLM-UCB.
pub type GlmUcb = Linear<GlmUcbParams>;

impl GlmUcbParams {
    /// The base for the world of `setup`, whose contexts are already those of [`features`](GlmUcbParams::features).
    ///
    /// # Errors
    /// A parameter is out of bounds, or the world has no features.
    pub fn check(self, setup: &Setup) -> Result<GlmUcb, BaseError> {
        non_negative("scale", self.scale)?;
        ParamError::positive("bound", self.bound)?;
        ParamError::positive("feature_bound", self.feature_bound)?;
        ParamError::positive("ridge", self.ridge)?;
        ParamError::positive("1/ridge", 1.0 / self.ridge)?;
        let (_, least) = self.link.slopes(self.bound * self.feature_bound);
        ParamError::positive("the smallest slope of the link at bound * feature_bound", least)?;
        keep_or_restart(self.range_change)?;
        let layout = Layout::new(self.parameters, setup)?;
        Ok(Linear::new(self, layout, setup))
    }
}

impl Choice for GlmUcbParams {
    const NAME: &'static str = "glm-ucb";
    type Model = Glm;

    fn model(&self, models: usize, dim: usize) -> Glm {
        Glm::new(self.link, self.ridge, self.bound, models, dim)
    }

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

    fn features(&self) -> &Features {
        &self.features
    }

    fn range_change(&self) -> RangeChange {
        self.range_change
    }

    fn weighted(&self) -> bool {
        false
    }
}
