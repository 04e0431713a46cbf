//! Many rounds at once, without the interpreter in the loop.

use corral_bench::run::checkpoints;
use corral_core::{Arm, Context, Feedback};
use corral_envs::{EnvError, World as Worlds};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::band::Band;
use crate::convert;
use crate::errors::{Answer, Error};
use crate::inner::{Inner, warn};
use crate::world::{build, streams};

/// How often Ctrl-C is looked for.
const LOOK_UP: u64 = 4096;

/// What was done in a round.
struct Made {
    arm: Arm,
    base: usize,
    propensity: f64,
}

/// A round: what `play` says of the decision is learned at once.
fn round(inner: &mut Inner, x: &Context, play: impl FnOnce(Arm) -> Answer<Feedback>) -> Answer<Made> {
    let made = inner.members.choose(x, &mut inner.rng);
    inner.callers()?;
    let ticket = made?;
    let (arm, base) = (ticket.decision, ticket.base());
    let propensity = ticket.propensity().unwrap_or(f64::NAN);
    let feedback = play(arm)?;
    inner.members.learn(x, ticket, feedback).map_err(|refused| refused.error)?;
    inner.callers()?;
    Ok(Made { arm, base, propensity })
}

/// Lets other threads have the interpreter while `work` is done, and tells of bases that were benched meanwhile.
fn detached<T: Send>(
    band: &Band,
    py: Python<'_>,
    work: impl Send + FnOnce(&mut Inner) -> Answer<T>,
) -> Answer<T> {
    let mut entered = band.enter(py)?;
    let inner = &mut *entered.inner;
    let before = inner.members.benched().len();
    let done = py.detach(|| work(inner));
    let benched = inner.benched(py, before);
    drop(entered);
    warn(py, benched)?;
    done
}

/// Whether to go on.
fn look_up(round: u64) -> Answer<()> {
    if round % LOOK_UP == LOOK_UP - 1 {
        Python::attach(|py| py.check_signals())?;
    }
    Ok(())
}

/// See `Band.play`.
pub fn play<'py>(
    band: &Band,
    py: Python<'py>,
    losses: &Bound<'py, PyAny>,
    contexts: Option<&Bound<'py, PyAny>>,
) -> Answer<Bound<'py, PyDict>> {
    let (actions, features, row_features) = band.shape();
    if row_features > 0 {
        return Err(Error::value("play: actions with a feature row each are chosen one by one, by choose"));
    }
    let (losses, columns) = convert::rows(losses).map_err(|e| e.of("losses"))?;
    if columns != actions {
        return Err(Error::value(format!("losses: {columns} columns, but {actions} actions")));
    }
    let rounds = losses.len() / actions;
    if let Some(at) = losses.iter().position(|loss| !(0.0..=1.0).contains(loss)) {
        let (row, action, loss) = (at / actions, at % actions, losses[at]);
        return Err(Error::value(format!("losses: row {row}, action {action}: {loss} is not in [0, 1]")));
    }
    let contexts = match contexts {
        Some(contexts) => convert::rows(contexts).map_err(|e| e.of("contexts"))?,
        None => (Vec::new(), 0),
    };
    if contexts.1 != features || contexts.0.len() != rounds * features {
        let (found, expected) = (contexts.0.len().checked_div(contexts.1).unwrap_or(0), rounds);
        return Err(Error::value(format!(
            "contexts: {found} rows of {} features, but {expected} rows of {features} are needed",
            contexts.1
        )));
    }
    if let Some(at) = contexts.0.iter().position(|v| !v.is_finite()) {
        let (row, feature, value) = (at / features, at % features, contexts.0[at]);
        return Err(Error::value(format!("contexts: row {row}, feature {feature} is {value}")));
    }
    let played = detached(band, py, |inner| {
        let mut x = Context::plain(actions);
        let mut made = Vec::with_capacity(rounds);
        for (t, losses) in losses.chunks_exact(actions).enumerate() {
            x.features_mut().clear();
            x.features_mut().extend_from_slice(&contexts.0[t * features..(t + 1) * features]);
            made.push(round(inner, &x, |arm| Ok(Feedback::plain(losses[arm.index()])))?);
            look_up(t as u64)?;
        }
        Ok(made)
    })?;
    let columns = PyDict::new(py);
    let paid = played.iter().zip(losses.chunks_exact(actions)).map(|(made, losses)| losses[made.arm.index()]);
    columns.set_item("action", PyArray1::from_iter(py, played.iter().map(|made| made.arm.index() as i64)))?;
    columns.set_item("loss", PyArray1::from_iter(py, paid))?;
    columns.set_item("base", PyArray1::from_iter(py, played.iter().map(|made| made.base as i64)))?;
    columns.set_item("propensity", PyArray1::from_iter(py, played.iter().map(|made| made.propensity)))?;
    Ok(columns)
}

/// See `Band.simulate`.
pub fn simulate<'py>(
    band: &Band,
    py: Python<'py>,
    environment: &Bound<'py, PyAny>,
    rounds: u64,
    seed: u64,
) -> Answer<Bound<'py, PyDict>> {
    let Worlds::Arms(mut world) = build(environment, rounds, seed)? else {
        return Err(Error::value("a band decides on actions, and this environment is one of points"));
    };
    let setup = world.setup();
    let (own, its) = (band.shape(), (setup.actions(), setup.context.features, setup.context.row_features));
    if own != its {
        let say = |(a, f, r)| format!("actions={a}, features={f}, row_features={r}");
        return Err(Error::value(format!("the environment has {}, but the band {}", say(its), say(own))));
    }
    let mut rng = streams(seed);
    let (mut curve, mut paid, mut loss, mut played) = (Vec::new(), 0.0, 0.0, 0);
    let best = detached(band, py, |inner| {
        let points = checkpoints(rounds.max(1));
        for t in 1..=rounds {
            match world.next(&mut rng) {
                // Data may end before the rounds do.
                Err(EnvError::Ended(_)) if t > 1 => break,
                other => other?,
            }
            let x = world.context().clone();
            round(inner, &x, |arm| {
                paid += world.mean_loss(&arm);
                let feedback = world.play(&arm)?;
                loss += feedback.observed().unwrap_or(0.0);
                Ok(feedback)
            })?;
            played = t;
            if points.get(curve.len()) == Some(&t) {
                curve.push((t, paid - world.best_so_far()));
            }
            look_up(t)?;
        }
        Ok(world.best_so_far())
    })?;
    let answer = PyDict::new(py);
    answer.set_item("rounds", played)?;
    answer.set_item("loss", loss)?;
    answer.set_item("regret", paid - best)?;
    let columns = PyDict::new(py);
    columns.set_item("round", PyArray1::from_iter(py, curve.iter().map(|(t, _)| *t)))?;
    columns.set_item("regret", PyArray1::from_iter(py, curve.iter().map(|(_, regret)| *regret)))?;
    answer.set_item("curve", columns)?;
    Ok(answer)
}
