//! Environments, as Python plays in them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use corral_bench::streams::stream;
use corral_core::{Arm, Context};
use corral_envs::{Environment, World as Worlds};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use rand_pcg::Pcg64Dxsm;

use crate::base::view;
use crate::convert;
use crate::errors::{Answer, Error};

/// The environment that Python names.
pub fn build(environment: &Bound<'_, PyAny>, rounds: u64, seed: u64) -> Answer<Worlds> {
    let (name, keys) = convert::named("environment", environment)?;
    Ok(corral_envs::build(&name, &keys, rounds, &mut stream(seed, "world"))?)
}

/// The randomness of the rounds of a world, as the runs of a spec have it.
pub fn streams(seed: u64) -> Pcg64Dxsm {
    stream(seed, "environment")
}

/// An environment with actions: ask for the next round, play an action, get its loss.
///
/// environment: a name, or a dictionary with a name and parameters (see `list_environments`).
///
/// >>> import corral
/// >>> world = corral.World({"name": "bernoulli", "means": [0.9, 0.1]}, rounds=100, seed=1)
/// >>> world.next()                        # no features here
/// >>> world.play(1) in (0.0, 1.0), world.mean_loss(1)
/// (True, 0.1)
#[pyclass(frozen, module = "corral")]
pub struct World {
    inner: Mutex<Inner>,
    /// How many actions there are (at most).
    #[pyo3(get)]
    actions: usize,
    /// How many numbers describe a round.
    #[pyo3(get)]
    features: usize,
    /// How many numbers describe each action of a round.
    #[pyo3(get)]
    row_features: usize,
}

struct Inner {
    world: Box<dyn Environment<Context, Arm>>,
    rng: Pcg64Dxsm,
    /// Whether a round has begun and nothing was played in it.
    open: bool,
}

impl World {
    fn enter(&self, py: Python<'_>) -> MutexGuard<'_, Inner> {
        self.inner.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl World {
    #[new]
    #[pyo3(signature = (environment, *, rounds = 10_000, seed = 0))]
    fn new(environment: &Bound<'_, PyAny>, rounds: u64, seed: u64) -> Answer<Self> {
        let Worlds::Arms(world) = build(environment, rounds, seed)? else {
            return Err(Error::value("an environment of points is run by corral.run, and has no actions"));
        };
        let setup = world.setup();
        let (actions, shape) = (setup.actions(), setup.context);
        let inner = Mutex::new(Inner { world, rng: streams(seed), open: false });
        Ok(Self { inner, actions, features: shape.features, row_features: shape.row_features })
    }

    /// Begins a round: None, its features, or its features and a row for each action.
    fn next<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyAny>> {
        let inner = &mut *self.enter(py);
        inner.world.next(&mut inner.rng)?;
        inner.open = true;
        Ok(view(py, inner.world.context())?)
    }

    /// Plays an action, by its number, and returns its loss. Once a round.
    fn play(&self, py: Python<'_>, action: usize) -> Answer<f64> {
        let inner = &mut *self.enter(py);
        if !inner.open {
            return Err(Error::value("no round is open: call next first"));
        }
        if action >= self.actions {
            return Err(Error::value(format!("action {action} of {}", self.actions)));
        }
        let feedback = inner.world.play(&Arm::from(action))?;
        inner.open = false;
        Ok(feedback.observed().unwrap_or(f64::NAN))
    }

    /// The mean loss of an action in this round; NaN where there is no such action.
    fn mean_loss(&self, py: Python<'_>, action: usize) -> f64 {
        self.enter(py).world.mean_loss(&Arm::from(action))
    }

    /// The mean loss, summed over the rounds so far, of the best fixed decision in hindsight.
    #[getter]
    fn best_so_far(&self, py: Python<'_>) -> f64 {
        self.enter(py).world.best_so_far()
    }
}
