//! How contexts become examples: which features, which parameter vector.

use crate::prelude::*;

corral_core::params! {
    /// Parameters of the regression that linear bases share.
    pub struct RidgeParams {
        /// The strength lambda of the ridge.
        ridge: f64 = 1.0, SIZE;
        /// What is predicted before anything was learned: m(x) = centre + theta x.
        centre: f64 = 0.5, Bounds::FINITE;
        /// One parameter vector for all actions, or one for each.
        parameters: Parameters = Parameters::Auto;
        /// Whether examples count by their importance weight; else each counts once.
        weighted: bool = false;
    }
}

corral_core::params! {
    /// Which parameter vectors a linear model has.
    pub enum Parameters {
        /// Shared where actions have features, else disjoint. A base that is built by name crosses the features of the actions with
        /// the shared ones, where there are both.
        #[default]
        Auto,
        /// One vector, over the features of the actions alone.
        Shared,
        /// One vector per action, over the shared features (over the action's own where there are none).
        Disjoint,
    }
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
    pub(crate) fn new(parameters: Parameters, setup: &Setup, matrices: bool) -> Result<Self> {
        let actions = arm_count(setup)?;
        let (features, row_features) = (setup.context.features, setup.context.row_features);
        let shared = match parameters {
            Parameters::Auto if features > 0 && row_features > 0 => {
                let why = "with shared features and rows, say shared or disjoint, or build the base by name, which crosses them";
                return Err(ParamError::choice("model.parameters", why).into());
            }
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
        require(dim != 0, "the number of features", 0, "at least 1")?;
        setup.budget.claim("the number of features", dim, (actions as u128) * (dim as u128))?;
        let layout = Self { shared, rows, actions, dim };
        if matrices {
            let (models, dim) = (layout.models() as u128, dim as u128);
            // The packed Gram matrix and its inverse.
            setup.budget.claim("the number of features", layout.dim, models * dim * (dim + 1))?;
        }
        Ok(layout)
    }

    /// How many parameter vectors there are.
    pub(crate) fn models(&self) -> usize {
        if self.shared { 1 } else { self.actions }
    }

    /// The parameter vector of the action that `x` offers at `place`.
    #[inline]
    pub(crate) fn model(&self, x: &Context, place: usize) -> usize {
        if self.shared { 0 } else { x.number(place) }
    }

    /// How many actions this round has, when the context is of the shape that was announced: the first ones, or those with
    /// its numbers, where it offers fewer than were announced.
    #[inline]
    pub(crate) fn check(&self, x: &Context) -> Result<usize> {
        let found = if self.rows { x.row_dim() } else { x.features().len() };
        BaseError::check_count("features", found, self.dim)?;
        if let Some(numbers) = x.offer() {
            BaseError::check_count("numbers of actions", numbers.len(), x.actions())?;
            if numbers.iter().any(|number| *number as usize >= self.actions) {
                return Err(BaseError::Numbers { numbers: numbers.to_vec(), actions: self.actions });
            }
        }
        check_offered(Some(x.actions()), self.actions)
    }

    /// The actions whose parameter vectors are looked at, where they are not the first ones.
    #[inline]
    pub(crate) fn numbers<'a>(&self, x: &'a Context) -> &'a [u32] {
        if self.shared { &[] } else { x.offer().unwrap_or_default() }
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
