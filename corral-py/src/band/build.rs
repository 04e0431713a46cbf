//! Bands that are built, saved and loaded.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use corral_bases::band::Spend;
use corral_core::memory::{self, Budget};
use corral_core::{Context, FeatureRange, Propensities, Quota, Scale, Space};
use corral_lab::saved::{Members, Plan, SavedBand};
use corral_lab::streams::stream;
use corral_log::{Start, Watch};
use pyo3::prelude::*;
use pyo3::types::PyString;
use rand::rngs::SysRng;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Dxsm;

use super::Band;
use crate::base::Raised;
use crate::convert;
use crate::errors::{Answer, Error};
use crate::history::History;
use crate::inner::Inner;
use crate::log::Log;
use crate::plan::{Pickled, Style, join, plan};
use crate::shelf::Shelf;
use crate::turn::Turn;
use crate::waiting::Waiting;

/// What a band is asked to be, beside its bases and its space.
pub struct Asked<'a, 'py> {
    /// Of a round, and of an action.
    pub features: (u64, u64),
    pub range: FeatureRange,
    pub rewards: Scale,
    pub budget: Option<Spend>,
    /// Preset, master, and what decisions know of probabilities.
    pub style: (&'a str, Option<&'a Bound<'py, PyAny>>, Propensities),
    pub horizon: Option<u64>,
    pub seed: Option<u64>,
    pub quota: Option<(f64, f64)>,
    pub copy: Option<u64>,
    pub plugins: Option<PathBuf>,
    pub log: Option<PathBuf>,
    pub pending: Option<u64>,
    pub watch: bool,
}

fn count(what: &str, number: u64) -> Answer<usize> {
    usize::try_from(number).map_err(|_| Error::value(format!("{what}: {number} are too many")))
}

/// What a band with a log knows of probabilities: whoever evaluates a base wants its own.
fn at_least_every_base(wanted: Propensities) -> Propensities {
    if wanted == Propensities::Full { wanted } else { Propensities::EveryBase }
}

/// Builds a band.
pub fn band(bases: &Bound<'_, PyAny>, space: (Space, Arc<[Arc<str>]>), asked: Asked<'_, '_>) -> Answer<Band> {
    let (preset, master, propensities) = asked.style;
    let style = Style { preset, master, horizon: asked.horizon, propensities, budget: asked.budget };
    let features = (count("features", asked.features.0)?, count("row_features", asked.features.1)?);
    let (mut plan, below) = plan(space, features, asked.range, asked.rewards, &style)?;
    plan.params.copy = asked.copy;
    if asked.log.is_some() {
        plan.params.propensities = at_least_every_base(propensities);
    }
    if asked.watch {
        let fixed = !plan.rewards.learned && matches!(plan.space, Space::Arms(_));
        let why = "watch: the values of bases are followed where there are actions and reward_range=(low, high) is known";
        Error::unless(fixed, why)?;
        plan.params.propensities = Propensities::Full;
    }
    let shared = Raised::default();
    let (mut built, mut raised) = (Vec::new(), Vec::new());
    if bases.is_instance_of::<PyString>() {
        return Err(Error::Type("bases: a list is needed, even of one".into()));
    }
    let shelf = Shelf::open(bases.py(), asked.plugins.as_deref())?;
    plan.budget = Budget::of(memory::DEFAULT);
    let bases: Vec<_> = match below {
        Some(masters) => convert::bands(bases, masters)?,
        None => bases.try_iter()?.collect::<Result<_, _>>()?,
    };
    for base in bases {
        raised.push(shared.sibling());
        built.push(join(&mut plan, &base, None, None, &raised[raised.len() - 1], &shelf)?);
    }
    plan.budget = Budget::default();
    // Bands that are built alike do not take each other's decisions.
    let mut system = Pcg64Dxsm::try_from_rng(&mut SysRng).map_err(Error::value)?;
    plan.params.id = Some(system.next_u64());
    let rng = asked.seed.map_or(system, |seed| stream(seed, "learner"));
    let members = plan.ensemble(built)?;
    // A base that does not pickle is told of when the band is saved.
    let _ = shared.callers();
    let whole = |number: f64| (number.fract() == 0.0 && number >= 0.0).then_some(number as usize);
    let quota = asked.quota.map(|(most, window)| {
        let pair = whole(most).zip(whole(window));
        let (most, window) = pair.ok_or_else(|| {
            Error::value(format!("quota: two whole numbers are needed, but these are {most} and {window}"))
        })?;
        Ok::<_, Error>(Quota::new(most, window)?)
    });
    let waiting = asked.pending.map(|most| Ok::<_, Error>(Waiting::new(count("pending", most)?)));
    let (quota, waiting) = (quota.transpose()?, waiting.transpose()?);
    let mut inner = inner(plan, members, rng, raised, shelf);
    (inner.quota, inner.waiting) = (quota, waiting);
    inner.watch = asked.watch.then(|| Watch::new(inner.names.len()));
    whole_band(inner, asked.log.as_deref())
}

fn inner(plan: Plan, members: Members, rng: Pcg64Dxsm, raised: Vec<Raised>, shelf: Shelf) -> Inner {
    Inner {
        members,
        process: std::process::id(),
        rng,
        names: plan.members.iter().map(|m| Arc::from(&*m.name)).collect(),
        plan,
        raised,
        shelf,
        quota: None,
        waiting: None,
        log: None,
        history: History::default(),
        watch: None,
    }
}

/// The band around what its lock guards; its log is opened last, when nothing else can be wrong.
fn whole_band(mut inner: Inner, log: Option<&Path>) -> Answer<Band> {
    let plan = &inner.plan;
    if let Some(path) = log {
        let known = !plan.rewards.learned;
        Error::unless(
            known,
            "log: whoever reads it must know where rewards lie: give reward_range=(low, high)",
        )?;
        let texts = |names: &[Arc<str>]| names.iter().map(|n| n.to_string()).collect();
        let (bases, actions, scale) = (texts(&inner.names), texts(&plan.names), Some(plan.rewards));
        let (model, band) = (Some(plan.digest()?), inner.members.id());
        inner.log = Some(Log::open(path, Start { model, bases, actions, scale, ..Start::new(band) })?);
    }
    let plan = &inner.plan;
    Ok(Band {
        turn: Turn::default(),
        offers: Mutex::new(plan.actions()),
        actions: plan.setup().actions(),
        features: plan.features,
        row_features: plan.row_features,
        rewards: plan.rewards,
        inner: Mutex::new(inner),
    })
}

/// Everything, as bytes.
pub fn bytes(band: &Band, py: Python<'_>) -> Answer<Vec<u8>> {
    let entered = band.enter(py)?;
    let members = entered.inner.members.save();
    entered.inner.callers()?;
    let Inner { plan, rng, quota, waiting, watch, .. } = &*entered.inner;
    let waiting = waiting.as_ref().map(Waiting::save);
    let (quota, watch) = (quota.clone(), watch.clone());
    Ok(SavedBand { plan: plan.clone(), members, rng: rng.clone(), quota, waiting, watch }.seal())
}

/// Reads it back, as a copy of its own.
pub fn read(
    py: Python<'_>,
    bytes: &[u8],
    copy: Option<u64>,
    shelf: Shelf,
    log: Option<&Path>,
) -> Answer<Band> {
    let SavedBand { mut plan, members: state, rng, quota, waiting, watch } = SavedBand::open(bytes)?;
    plan.params.copy = copy;
    if log.is_some() {
        plan.params.propensities = at_least_every_base(plan.params.propensities);
    }
    let quota = quota.map(Quota::check).transpose()?;
    let waiting = waiting.map(|saved| Waiting::load(py, saved)).transpose()?;
    let mut pickled = Pickled::new(py, &plan);
    let mut members = plan.rebuild(&shelf.plugins, &mut pickled).map_err(|e| pickled.error(e))?;
    let raised = pickled.raised;
    let loaded = members.load(&state);
    if let Some(error) = raised.iter().find_map(|r| r.last(py)).filter(|_| loaded.is_err()) {
        return Err(error.into());
    }
    loaded?;
    let mut inner = inner(plan, members, rng, raised, shelf);
    (inner.quota, inner.waiting, inner.watch) = (quota, waiting, watch);
    whole_band(inner, log)
}

impl Band {
    /// The contexts of a table of features.
    pub(super) fn contexts(&self, xs: &Bound<'_, PyAny>) -> Answer<Vec<Context>> {
        let (numbers, width) = convert::rows(xs).map_err(|e| e.of("xs"))?;
        let (features, actions) = (self.features, self.actions);
        Error::unless(
            width == features,
            format_args!("xs: rows of {width} features, but {features} were announced"),
        )?;
        if let Some(at) = numbers.iter().position(|v| !v.is_finite()) {
            let (row, feature, value) = (at / features, at % features, numbers[at]);
            return Err(Error::value(format!("xs: row {row}, feature {feature} is {value}")));
        }
        Ok(numbers.chunks_exact(features.max(1)).map(|x| Context::shared(x.to_vec(), actions)).collect())
    }
}
