//! How bases are built by name from their parameters.

use corral_core::masters::RegretBound;
use corral_core::params::Params;
use corral_core::registry::{BuildError, Kind, RegistryRow, read};
use corral_core::{Arm, Base, BaseError, Context, Learner, LossDomain, ParamError, Point, Setup, Space};

use crate::common::{RangeChange, Ties};
use crate::table;

/// A base that is made from the parameters `P`.
pub trait Make<P>: Sized {
    /// What it decides on.
    const KIND: Kind;

    /// The base for the world of `setup`, with range 1; the parameters are within their bounds.
    ///
    /// # Errors
    /// The base does not support the environment.
    fn make(params: P, setup: &Setup) -> Result<Self, BaseError>;
}

/// Parameters that a base is built from.
pub trait BaseParams: Params + PartialEq + Send + 'static {
    /// The base.
    type Base: Make<Self>;

    /// Its name in a spec, in the table of bases and in snapshots.
    const NAME: &'static str;

    /// One sentence of it.
    const SUMMARY: &'static str;

    /// Whether losses outside [0, 1] are taken too: by bases that only keep means, or regress.
    const REAL_LOSSES: bool = false;

    /// Whether its memory grows as the square of the dimension of points or features, and not as the dimension.
    const MATRICES: bool = true;

    /// What a larger range may do.
    const RANGE_CHANGES: &'static [RangeChange] = &[RangeChange::Keep];

    /// What a larger range does.
    fn range_change(&self) -> RangeChange {
        Self::RANGE_CHANGES[0]
    }

    /// Which of several best actions is played.
    fn ties(&self) -> Ties {
        Ties::Lowest
    }

    /// Whether there is no base of these parameters without a known horizon (docs/why.md#why-is-a-horizon-asked-for-before-there-is-a-base).
    fn needs_horizon(&self) -> bool {
        false
    }

    /// What the world of `setup` would have to have, and does not.
    fn needs(&self, _setup: &Setup) -> Option<&'static str> {
        None
    }

    /// The base for the world of `setup`, with range 1.
    ///
    /// # Errors
    /// A parameter is out of bounds, or the base does not support the environment.
    fn build(self, setup: &Setup) -> Result<Self::Base, BaseError> {
        self.build_as(setup)
    }

    /// As [`build`](BaseParams::build), for parameters that more than one base is made from.
    ///
    /// # Errors
    /// As [`build`](BaseParams::build).
    fn build_as<B: Make<Self>>(self, setup: &Setup) -> Result<B, BaseError> {
        self.check()?;
        self.range_change().check(Self::RANGE_CHANGES)?;
        if let Some(needs) = self.needs(setup) {
            return Err(BaseError::Failed(format!("{} needs {needs}", Self::NAME)));
        }
        B::make(self, setup)
    }

    /// Its regret bound at range 1 in the world of `setup`, where it has one: the order of the bound, without hidden
    /// constants, logarithms of n taken at the horizon (10,000 where it is not known).
    fn bound(&self, _setup: &Setup) -> Option<RegretBound> {
        None
    }
}

/// How the base of a row is built.
#[derive(Debug, Clone, Copy)]
pub struct Build {
    /// The base with the keys of a table, for the world of a setup, with range 1.
    pub learner: fn(&toml::Table, &Setup) -> Result<Learner, BuildError>,
    /// See [`BaseParams::bound`]. `None` also where the keys cannot be read.
    pub bound: fn(&toml::Table, &Setup) -> Option<RegretBound>,
    /// Whether it cannot be built without a known horizon. `false` also where the keys cannot be read.
    pub needs_horizon: fn(&toml::Table) -> bool,
}

const WHAT: &str = "base";

/// The row of a base over arms.
pub(crate) fn arms<P: BaseParams>() -> RegistryRow<Build>
where
    P::Base: Base<Context, Arm> + 'static,
{
    row::<P>(|table, setup| {
        let built = build(read_for::<P>(table, setup)?, setup)?;
        Ok(Learner::Arms(Box::new(built)))
    })
}

/// The row of a base over points.
pub(crate) fn points<P: BaseParams>() -> RegistryRow<Build>
where
    P::Base: Base<Context, Point> + 'static,
{
    row::<P>(|table, setup| {
        let params = read_for::<P>(table, setup)?;
        if let Space::Points(set) = &setup.space {
            let dim = set.dim() as u128;
            setup
                .budget
                .claim("the dimension", dim, if P::MATRICES { dim * dim } else { dim })
                .map_err(|e| BuildError::param(WHAT, P::NAME, &e))?;
        }
        Ok(Learner::Points(Box::new(build(params, setup)?)))
    })
}

/// The row of a base that `learner` builds.
pub(crate) fn row<P: BaseParams>(
    learner: fn(&toml::Table, &Setup) -> Result<Learner, BuildError>,
) -> RegistryRow<Build> {
    RegistryRow::of::<P>(
        table::entry(P::NAME, P::SUMMARY, P::Base::KIND),
        Build { learner, bound: bound::<P>, needs_horizon: needs_horizon::<P> },
    )
}

fn bound<P: BaseParams>(table: &toml::Table, setup: &Setup) -> Option<RegretBound> {
    read::<P, _>(WHAT, P::NAME, table.clone()).ok()?.bound(setup)
}

fn needs_horizon<P: BaseParams>(table: &toml::Table) -> bool {
    read::<P, _>(WHAT, P::NAME, table.clone()).is_ok_and(|params| params.needs_horizon())
}

/// Reads the parameters of a base that fits the world of `setup`.
pub(crate) fn read_for<P: BaseParams>(table: &toml::Table, setup: &Setup) -> Result<P, BuildError> {
    let name = P::NAME;
    let params: P = read(WHAT, name, table.clone())?;
    let needs = match (P::Base::KIND, &setup.space) {
        _ if setup.losses == LossDomain::Real && !P::REAL_LOSSES => {
            Some("losses in [0, 1]: it is not defined for losses outside")
        }
        (Kind::Points, Space::Arms(_)) => Some("an environment with points"),
        (Kind::Arms | Kind::Contextual, Space::Points(_)) => Some("an environment with arms"),
        _ => params.needs(setup),
    };
    match needs {
        Some(needs) => Err(BuildError::unfit(WHAT, name, needs)),
        None => Ok(params),
    }
}

/// The base of `params`, or why not, in the words of the registry.
pub(crate) fn build<P: BaseParams>(params: P, setup: &Setup) -> Result<P::Base, BuildError> {
    params.build(setup).map_err(refused::<P>)
}

/// What a base said when it could not be built.
pub(crate) fn refused<P: BaseParams>(why: BaseError) -> BuildError {
    BuildError::refused(WHAT, P::NAME, &why).about(why.key())
}

/// The size of a world, as the formulas of regret bounds use it.
pub(crate) struct Size {
    /// K, the number of actions.
    pub k: f64,
    /// d, the features of an example or the dimension of points.
    pub d: f64,
    /// T.
    pub t: f64,
}

impl Size {
    pub(crate) fn new(setup: &Setup) -> Self {
        let d = match &setup.space {
            Space::Points(set) => set.dim(),
            Space::Arms(_) => setup.context.features.max(setup.context.row_features).max(1),
        };
        Self { k: setup.actions() as f64, d: d as f64, t: bound_horizon(setup) }
    }
}

/// The horizon of `setup` as formulas use it: at least 2, and 10,000 where it is not known.
pub(crate) fn bound_horizon(setup: &Setup) -> f64 {
    setup.horizon.unwrap_or(10_000).max(2) as f64
}

/// `checked` parameters that are the value of the key `outer`: an error names both.
pub(crate) fn inside(outer: &str, checked: Result<(), ParamError>) -> Result<(), ParamError> {
    checked.map_err(|error| match error {
        ParamError::Value { name, value, must } => {
            ParamError::Value { name: format!("{outer}.{name}").into(), value, must }
        }
        other => other,
    })
}
