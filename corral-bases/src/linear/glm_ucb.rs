//! GLM-UCB: the lowest confidence bound of a generalised linear regression.
//!
//! Filippi, Cappe, Garivier, Szepesvari 2010. Regret O~(d sqrt T k/c) when E[loss] = sigma(theta z), k and c the largest
//! and smallest slopes of sigma that can occur. Lazy; weakly stable with alpha = 1/2 as LinUCB
//! (docs/stability.md#lazy-bases). Importance weights are not used: every loss that was seen counts once.

use corral_core::masters::RegretBound;
use corral_core::params::{Bounds, Params};
use corral_core::registry::{Entry, Kind, Status};
use corral_core::{BaseError, ParamError, Setup};

use super::features::{Features, Represented};
use super::glm::{Glm, Link};
use super::learner::{Choice, Linear, View, put_on_lowest};
use super::regressor::Layout;
use super::ridge::Parameters;
use crate::arms::Ties;
use crate::built::{BaseParams, bound_horizon};
use crate::common::{RIDGE, RangeChange, keep_or_restart};

corral_core::params! {
    /// Parameters of [`GlmUcb`].
    pub struct GlmUcbParams {
        /// logistic, exponential, probit or identity.
        link: Link = Link::Logistic;
        /// Multiplies the width 2 (k/c) sqrt(d ln t) ||z||_{V^-1}.
        scale: f64 = 0.5, Bounds::NON_NEGATIVE;
        /// A bound on the norm of the true parameter, onto which fits are projected.
        bound: f64 = 1.0, Bounds::POSITIVE;
        /// A bound on the norm of features, for k and c.
        feature_bound: f64 = 1.0, Bounds::POSITIVE;
        /// The strength of the ridge.
        ridge: f64 = 1.0, RIDGE;
        /// shared: one vector over the actions' features; disjoint: one per action; auto: shared where actions
        /// have features.
        parameters: Parameters = Parameters::Auto;
        /// Which of several best actions is played: random or lowest.
        ties: Ties = Ties::Random;
        /// What a larger range does: keep (sound, for it is lazy), or restart (the paper's letter).
        range_change: RangeChange = RangeChange::Keep;
        /// How the context is seen: raw, bias, one-hot, polynomial, { block = { from, to } }, { hashed = {
        /// dims, seed } }, { hashed-pairs = { dims, seed } } or { fourier = { dims, bandwidth, seed } }.
        features: Features = Features::Raw;
    }
}

/// GLM-UCB.
pub type GlmUcb = Linear<GlmUcbParams>;

impl BaseParams for GlmUcbParams {
    type Base = GlmUcb;

    const ENTRY: Entry = Entry {
        name: "glm-ucb",
        summary: "The action with the lowest confidence bound of a generalised linear regression.",
        source: "Filippi, Cappe, Garivier, Szepesvari 2010, Parametric bandits: the generalized linear case",
        regret: "O~(d sqrt T k/c)",
        alpha: Some(0.5),
        fits: "generalised linear losses, any contexts",
        cost: "O(K d^2) + a fit of at most 512 examples, then O(d^3) per loss",
        kind: Kind::Contextual,
        status: Status::FromMemory,
    };

    fn build(self, setup: &Setup) -> Result<GlmUcb, BaseError> {
        self.check()?;
        let (_, least) = self.link.slopes(self.bound * self.feature_bound);
        ParamError::positive("the smallest slope of the link at bound * feature_bound", least)?;
        keep_or_restart(self.range_change)?;
        let layout = Layout::new(self.parameters, setup)?;
        Ok(Linear::new(self, layout, setup))
    }

    fn bound(&self, setup: &Setup) -> Option<RegretBound> {
        let d = setup.context.features.max(setup.context.row_features).max(1) as f64;
        Some(RegretBound::new(d * bound_horizon(setup).ln(), 0.5))
    }
}

impl Represented for GlmUcbParams {
    fn features(&self) -> &Features {
        &self.features
    }
}

impl Choice for GlmUcbParams {
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

    fn range_change(&self) -> RangeChange {
        self.range_change
    }

    fn weighted(&self) -> bool {
        false
    }
}
