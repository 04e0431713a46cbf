//! What a linear base needs of its model of the loss, and how contexts become examples.

use std::fmt;

use corral_core::memory;
use serde::de::DeserializeOwned;

use super::ridge::Parameters;
use crate::prelude::*;

/// A model of the loss that learns one example at a time. `model` counts parameter vectors.
pub trait Regressor: fmt::Debug + Serialize + DeserializeOwned + PartialEq + Clone + Send + 'static {
    /// The predicted loss.
    fn predict(&self, model: usize, z: &[f64]) -> f64;

    /// z^T V^-1 z, how little is known at z; 0 for models without widths.
    fn variance(&self, model: usize, z: &[f64]) -> f64;

    /// ln det(V/lambda); 0 for models without widths.
    fn log_det(&self, model: usize) -> f64;

    /// Learns that z cost `loss`.
    ///
    /// # Errors
    /// A feature is not finite, or so large that the model would not be. Nothing changed then.
    fn update(&mut self, model: usize, z: &[f64], loss: f64, weight: f64) -> Result<(), BaseError>;

    /// Forgets everything.
    fn reset(&mut self);

    /// Checks a model that was read back against a new one, and fills what was not written.
    ///
    /// # Errors
    /// It is not a state that updates can lead to.
    fn restore(&mut self, fresh: &Self) -> Result<(), SnapshotError>;
}

/// The first feature of `z` that cannot be computed with: not finite, or the largest.
pub(crate) fn unusable(z: &[f64]) -> BaseError {
    let largest = |at: usize, i: usize| if z[i].abs() > z[at].abs() { i } else { at };
    let bad = z.iter().position(|v| !v.is_finite()).unwrap_or_else(|| (0..z.len()).fold(0, largest));
    BaseError::Feature { index: bad, value: z.get(bad).copied().unwrap_or(f64::NAN) }
}

/// How contexts become examples: which features, which parameter vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Layout {
    /// Whether there is one parameter vector for all actions.
    pub shared: bool,
    /// Whether the features are those of the action.
    pub rows: bool,
    /// The largest number of actions.
    pub actions: usize,
    /// Features of an example.
    pub dim: usize,
}

impl Layout {
    /// The layout for the world of `setup`; `matrices`: models have a matrix per parameter vector.
    pub(crate) fn new(parameters: Parameters, setup: &Setup, matrices: bool) -> Result<Self, BaseError> {
        let actions = arm_count(setup)?;
        let (features, row_features) = (setup.context.features, setup.context.row_features);
        let shared = match parameters {
            Parameters::Auto => row_features > 0,
            Parameters::Disjoint => false,
            Parameters::Shared if row_features > 0 => true,
            Parameters::Shared => {
                let must = "disjoint where actions have no features";
                return Err(ParamError::new("model.parameters", "shared", must).into());
            }
        };
        let rows = shared || features == 0;
        let dim = if rows { row_features } else { features };
        if dim == 0 {
            return Err(ParamError::new("the number of features", 0, "at least 1").into());
        }
        memory::claim("the number of features", dim, (actions as u128) * (dim as u128))?;
        let layout = Self { shared, rows, actions, dim };
        if matrices {
            let (models, dim) = (layout.models() as u128, dim as u128);
            // The packed Gram matrix and its inverse.
            memory::claim("the number of features", layout.dim, models * dim * (dim + 1))?;
        }
        Ok(layout)
    }

    /// How many parameter vectors there are.
    pub(crate) fn models(&self) -> usize {
        if self.shared { 1 } else { self.actions }
    }

    /// The parameter vector of an action.
    #[inline]
    pub(crate) fn model(&self, action: usize) -> usize {
        if self.shared { 0 } else { action }
    }

    /// How many actions this round has, when the context is of the shape that was announced: the first ones, where it
    /// offers fewer than were announced.
    #[inline]
    pub(crate) fn check(&self, x: &Context) -> Result<usize, BaseError> {
        let found = if self.rows { x.row_dim() } else { x.features().len() };
        if found != self.dim {
            return Err(BaseError::Context { what: "features", found, expected: self.dim });
        }
        let actions = x.actions();
        if (1..=self.actions).contains(&actions) {
            Ok(actions)
        } else {
            Err(BaseError::Context { what: "actions", found: actions, expected: self.actions })
        }
    }

    /// z(x, a). Owes [`check`](Layout::check) first.
    #[inline]
    pub(crate) fn features<'a>(&self, x: &'a Context, action: usize) -> &'a [f64] {
        if self.rows { &x.rows()[action * self.dim..(action + 1) * self.dim] } else { x.features() }
    }

    /// The features that [`features`](Layout::features) looks at, over all actions.
    #[inline]
    pub(crate) fn all_features<'a>(&self, x: &'a Context) -> &'a [f64] {
        if self.rows { x.rows() } else { x.features() }
    }
}
