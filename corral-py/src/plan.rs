//! What a band is built from, where Python says it.

use std::sync::Arc;

use corral_bases::band::{MasterRecipe, Spend};
use corral_core::registry::Unknown;
use corral_core::{FeatureRange, Learner, Propensities, Scale, Space};
use corral_lab::saved::{self, Objects, Plan, Recipe, SavedError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::base::{BandInfo, PyBase, Raised, loads};
use crate::convert;
use crate::errors::{Answer, Error};
use crate::shelf::Shelf;

/// What says how a band is mastered.
pub struct Style<'a, 'py> {
    pub preset: &'a str,
    pub master: Option<&'a Bound<'py, PyAny>>,
    pub horizon: Option<u64>,
    pub propensities: Propensities,
    pub budget: Option<Spend>,
}

/// A plan without members, and the masters of the bands that stand in the place of its bases, where it is of bands.
pub fn plan(
    space: (Space, Arc<[Arc<str>]>),
    features: (usize, usize),
    range: FeatureRange,
    rewards: Scale,
    style: &Style<'_, '_>,
) -> Answer<(Plan, Option<Vec<MasterRecipe>>)> {
    let (master, keys) = match (style.master, style.preset) {
        (Some(given), "practical") => convert::named("master", given)?,
        (Some(_), _) => return Err(Error::value("give preset or master, not both")),
        (None, "practical") => (MasterRecipe::default().name, toml::Table::new()),
        (None, "paper") => {
            // Epochs that double, where the horizon is not known: the theorem's way.
            let restart = ("horizon".to_owned(), toml::Value::from("restart"));
            ("corral".to_owned(), style.horizon.is_none().then_some(restart).into_iter().collect())
        }
        (None, "safe") => ("safe".to_owned(), toml::Table::new()),
        (None, other) => return Err(Unknown::new("preset", other, ["practical", "paper", "safe"]).into()),
    };
    let mut given = keys;
    given.insert("name".to_owned(), master.into());
    let mastering = MasterRecipe::try_from(toml::Value::Table(given))?;
    let mastering = MasterRecipe { budget: style.budget.or(mastering.budget), ..mastering };
    let (mastering, below) = mastering.bands()?.map_or((mastering, None), |(outer, all)| (outer, Some(all)));
    let asked = (style.horizon, style.propensities);
    Ok((Plan::new(space, features, range, rewards, mastering, asked)?, below))
}

/// Builds a base that joins with `share` (none: from the start), and puts it into the plan.
pub fn join(
    plan: &mut Plan,
    given: &Bound<'_, PyAny>,
    name: Option<String>,
    share: Option<f64>,
    raised: &Raised,
    shelf: &Shelf,
) -> Answer<Learner> {
    if given.is_instance_of::<PyString>() || given.is_instance_of::<PyDict>() {
        return Ok(plan.join(convert::base_table(given)?, name, share, &shelf.plugins)?);
    }
    let setup = plan.setup();
    let base = PyBase::new(given, place(plan, raised))?.join(&setup.space, &setup.context)?;
    let own = given.get_type().name()?.to_string();
    plan.enter(name.unwrap_or(own), Recipe::Python(base.first()), share);
    Ok(learner(plan, base))
}

fn place(plan: &Plan, raised: &Raised) -> BandInfo {
    BandInfo { names: Arc::clone(&plan.names), rows: plan.row_features > 0, raised: raised.clone() }
}

fn learner(plan: &Plan, base: PyBase) -> Learner {
    match plan.space {
        Space::Arms(_) => Learner::Arms(Box::new(base)),
        Space::Points(_) => Learner::Points(Box::new(base)),
    }
}

/// Unpickles the bases of a plan.
pub struct Pickled<'py> {
    py: Python<'py>,
    /// The exceptions of each base of the plan.
    pub raised: Vec<Raised>,
    /// What came up while one was built.
    failed: Option<PyErr>,
}

impl<'py> Pickled<'py> {
    pub fn new(py: Python<'py>, plan: &Plan) -> Self {
        let shared = Raised::default();
        Self { py, raised: plan.members.iter().map(|_| shared.sibling()).collect(), failed: None }
    }

    /// What went wrong: what came up in Python, if that is why.
    pub fn error(&mut self, error: SavedError) -> Error {
        self.failed.take().map_or_else(|| error.into(), Error::Python)
    }
}

impl Objects for Pickled<'_> {
    fn build(&mut self, plan: &Plan, at: usize, pickled: &[u8]) -> saved::Answer<Learner> {
        let built = loads(self.py, pickled).map_err(Error::Python);
        let built = built.and_then(|object| PyBase::new(&object, place(plan, &self.raised[at])));
        built.map(|base| learner(plan, base)).map_err(|error| {
            let error = PyErr::from(error);
            let said = SavedError::value(&error);
            self.failed = Some(error);
            said
        })
    }

    fn check(&mut self) -> saved::Answer<()> {
        let Some(first) = self.raised.first() else { return Ok(()) };
        first.callers().map_err(|error| {
            self.failed = Some(error.into());
            SavedError::Failed("it was interrupted".into())
        })
    }
}
