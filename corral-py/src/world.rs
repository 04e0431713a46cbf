//! Environments, as Python plays in them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use corral_core::{Context, Set, Setup, Space};
use corral_envs::{AnyEnvironment, EnvError, Environment};
use corral_lab::streams::stream;
use numpy::PyArray1;
use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use rand_pcg::Pcg64Dxsm;

use crate::args::{Rounds, Seed};
use crate::base::{Proposed, view};
use crate::convert;
use crate::errors::{Answer, Error};

/// The environment that Python names.
pub fn build(environment: &Bound<'_, PyAny>, rounds: u64, seed: u64) -> Answer<AnyEnvironment> {
    let (name, keys) = convert::named("environment", environment)?;
    Ok(corral_envs::build(&name, &keys, rounds, &mut stream(seed, "world"))?)
}

/// The randomness of the rounds of a world, as the runs of a spec have it.
pub fn streams(seed: u64) -> Pcg64Dxsm {
    stream(seed, "environment")
}

/// An environment: ask for the next round, play an action or a point, get its loss.
///
/// Parameters
/// ----------
/// environment : str or dict
///     A name, or a dictionary with a name and parameters (see `list_environments`).
/// rounds : int
///     How many rounds will be played: environments that change do so within them.
/// seed : int
///     The same seed gives the same environment.
///
/// Examples
/// --------
/// >>> import corral
/// >>> world = corral.World({"name": "bernoulli", "means": [0.9, 0.1]}, rounds=100, seed=1)
/// >>> world.next()                        # no features here
/// >>> world.play(1) in (0.0, 1.0)
/// True
/// >>> for x in world:                     # endless, but for worlds of data
/// ...     if world.play(1) == 1:
/// ...         break
#[pyclass(frozen, module = "corral")]
pub struct World {
    inner: Mutex<Inner>,
    setup: Setup,
}

struct Inner {
    world: AnyEnvironment,
    rng: Pcg64Dxsm,
    /// Whether a round has begun and nothing was played in it.
    open: bool,
}

macro_rules! worlds {
    ($worlds:expr, $own:ident => $answer:expr) => {
        match $worlds {
            AnyEnvironment::Arms($own) => $answer,
            AnyEnvironment::Points($own) => $answer,
        }
    };
}

type Of<D> = Box<dyn Environment<Context, D>>;

fn read<D: Proposed>(world: &Of<D>, given: &Bound<'_, PyAny>) -> Answer<D> {
    Ok(D::read(given, world.context(), &[])?)
}

impl World {
    fn enter(&self, py: Python<'_>) -> MutexGuard<'_, Inner> {
        self.inner.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self) -> Option<&Set> {
        if let Space::Points(set) = &self.setup.space { Some(set) } else { None }
    }
}

#[pymethods]
impl World {
    #[new]
    #[pyo3(signature = (environment, *, rounds = Rounds(10_000), seed = Seed(0)), text_signature = "(environment, *, rounds=10000, seed=0)")]
    fn new(environment: &Bound<'_, PyAny>, rounds: Rounds, seed: Seed) -> Answer<Self> {
        let (Rounds(rounds), Seed(seed)) = (rounds, seed);
        let world = build(environment, rounds, seed)?;
        let setup = world.setup();
        Ok(Self { inner: Mutex::new(Inner { world, rng: streams(seed), open: false }), setup })
    }

    /// Begins a round: None, its features, or its features and a row for each action. Raises StopIteration where data end.
    fn next<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyAny>> {
        let inner = &mut *self.enter(py);
        worlds!(&mut inner.world, own => own.next(&mut inner.rng)).map_err(|error| match error {
            EnvError::Ended(_) => Error::Python(PyStopIteration::new_err(error.to_string())),
            other => other.into(),
        })?;
        inner.open = true;
        Ok(view(py, worlds!(&inner.world, own => own.context()))?)
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyAny>> {
        self.next(py)
    }

    /// Plays an action, by its number, or a point, and returns its loss: NaN where it is not seen. Once a round.
    fn play(&self, action: &Bound<'_, PyAny>) -> Answer<f64> {
        let inner = &mut *self.enter(action.py());
        Error::unless(inner.open, "no round is open: call next first")?;
        let feedback = worlds!(&mut inner.world, own => own.play(&read(own, action)?))?;
        inner.open = false;
        Ok(feedback.observed().unwrap_or(f64::NAN))
    }

    /// The mean loss of an action or a point in this round.
    fn mean_loss(&self, action: &Bound<'_, PyAny>) -> Answer<f64> {
        worlds!(&self.enter(action.py()).world, own => Ok(own.mean_loss(&read(own, action)?)))
    }

    /// The mean loss, summed over the rounds so far, of the best fixed decision in hindsight.
    #[getter]
    fn best_so_far(&self, py: Python<'_>) -> f64 {
        worlds!(&self.enter(py).world, own => own.best_so_far())
    }

    /// How many actions there are (at most); 0 where points are played.
    #[getter]
    fn actions(&self) -> usize {
        self.setup.actions()
    }

    /// How many of them this round offers: the first ones.
    #[getter]
    fn offered(&self, py: Python<'_>) -> usize {
        worlds!(&self.enter(py).world, own => own.context().actions())
    }

    /// The set whose points are played, as a band takes it; None where there are actions.
    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyAny>> {
        convert::plain(py, &self.set())
    }

    /// How many coordinates its points have; 0 where there are actions.
    #[getter]
    fn dim(&self) -> usize {
        self.set().map_or(0, Set::dim)
    }

    /// A bound on the length of its points; 0 where there are actions.
    #[getter]
    fn radius(&self) -> f64 {
        self.set().map_or(0.0, Set::norm_bound)
    }

    /// The point of that set which is nearest to `point`.
    fn nearest<'py>(&self, point: &Bound<'py, PyAny>) -> Answer<Bound<'py, PyArray1<f64>>> {
        let Some(set) = self.set() else { return Err(Error::value("this world has actions, and no points")) };
        let mut nearest = Vec::new();
        convert::append(point, &mut nearest)?;
        set.project(&mut nearest).map_err(Error::value)?;
        Ok(PyArray1::from_vec(point.py(), nearest))
    }

    /// How many numbers describe a round.
    #[getter]
    fn features(&self) -> usize {
        self.setup.context.features
    }

    /// How many numbers describe each action of a round.
    #[getter]
    fn row_features(&self) -> usize {
        self.setup.context.row_features
    }
}
