//! Many rounds at once, without the interpreter in the loop.

use corral_bases::band::Band as Ensemble;
use corral_core::{Arm, Context, ContextShape, Decision, Feedback, LossDomain, Scale, Setup, Space};
use corral_envs::{AnyEnvironment, EnvError, Environment};
use corral_lab::run::checkpoints;
use corral_lab::saved::Members;
use corral_log::{Decided, Played};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use rand_pcg::Pcg64Dxsm;

use crate::band::Band;
use crate::base::Raised;
use crate::convert;
use crate::errors::{Answer, Error};
use crate::exit;
use crate::history::History;
use crate::inner::{Inner, callers};
use crate::log::Log;
use crate::world::{build, streams};

/// How often Ctrl-C is looked for.
const LOOK_UP: u64 = 4096;

/// A band that plays, with what its rounds need.
struct Playing<'a, D> {
    band: &'a mut Ensemble<D>,
    rng: &'a mut Pcg64Dxsm,
    raised: &'a [Raised],
    history: &'a mut History,
    log: Option<(&'a mut Log, Scale)>,
}

impl<D: Decision> Playing<'_, D>
where
    for<'a> Played: From<&'a D>,
{
    /// A round: what `play` says of the decision is learned at once. Says who was followed, and the propensity.
    fn round(&mut self, x: &Context, play: impl FnOnce(&D) -> Answer<Feedback>) -> Answer<(usize, f64)> {
        let pbar = self.log.is_some().then(|| self.band.probabilities().to_vec());
        let made = self.band.choose(x, self.rng);
        callers(self.raised)?;
        let ticket = made?;
        let made = (ticket.base(), ticket.propensity().unwrap_or(f64::NAN));
        let feedback = play(&ticket.decision)?;
        let record = pbar.map(|pbar| Decided::of(&ticket, &pbar, x));
        self.band.learn(x, ticket, feedback).map_err(|refused| refused.error)?;
        self.history.note(self.band.rounds(), self.band.probabilities());
        if let (Some((log, scale)), Some(record)) = (&mut self.log, record) {
            log.both(record, feedback.observed(), *scale)?;
        }
        callers(self.raised)?;
        Ok(made)
    }
}

/// Lets other threads have the interpreter while `work` is done, and tells of bases that were benched meanwhile.
fn detached<T: Send>(
    band: &Band,
    py: Python<'_>,
    work: impl Send + FnOnce(&mut Inner) -> Answer<T>,
) -> Answer<T> {
    band.watched(py, |inner| exit::detach(py, || work(inner)))
}

/// Whether to go on.
fn look_up(round: u64) -> Answer<()> {
    if round % LOOK_UP == LOOK_UP - 1 {
        exit::attach(|py| py.check_signals())?;
    }
    Ok(())
}

/// What a band is told that learns its range of rewards.
const KNOWN: &str = "this band learns the range of rewards, and losses are in [0, 1]: build it without reward_range=\"learned\"";

/// The losses of a table of losses or rewards.
fn losses_of(
    band: &Band,
    losses: Option<&Bound<'_, PyAny>>,
    rewards: Option<&Bound<'_, PyAny>>,
) -> Answer<Vec<f64>> {
    let actions = band.actions;
    let (what, given) = match (losses, rewards) {
        (Some(losses), None) => ("losses", losses),
        (None, Some(rewards)) => ("rewards", rewards),
        _ => return Err(Error::Type("give losses or rewards=, one of them".into())),
    };
    let ordered = convert::by_name(given, &band.offers().names).map_err(|e| e.of(what))?;
    let (mut table, columns) = convert::rows(ordered.as_ref().unwrap_or(given)).map_err(|e| e.of(what))?;
    Error::unless(columns == actions, format_args!("{what}: {columns} columns, but {actions} actions"))?;
    let (low, high) = if losses.is_some() { (0.0, 1.0) } else { (band.rewards.low, band.rewards.high) };
    for (at, value) in table.iter_mut().enumerate() {
        let (row, action) = (at / actions, at % actions);
        let why = format_args!("{what}: row {row}, action {action}: {value} is not in [{low}, {high}]");
        Error::unless((low..=high).contains(value), why)?;
        if rewards.is_some() {
            *value = band.rewards.loss(*value).map_err(Error::value)?.0;
        }
    }
    Ok(table)
}

/// See `Band.play`.
pub fn play<'py>(
    band: &Band,
    py: Python<'py>,
    losses: Option<&Bound<'py, PyAny>>,
    contexts: Option<&Bound<'py, PyAny>>,
    rewards: Option<&Bound<'py, PyAny>>,
) -> Answer<Bound<'py, PyDict>> {
    let (actions, features, row_features) = band.shape();
    Error::unless(actions > 0, "play: a table is one of actions, and this band plays points")?;
    let rowless = row_features == 0;
    Error::unless(!band.rewards.learned, KNOWN)?;
    let whole = band.offers().offer.is_empty();
    Error::unless(
        whole,
        "play: a table has all actions, and some were retired or are to join: choose them one by one",
    )?;
    Error::unless(rowless, "play: actions with a feature row each are chosen one by one, by choose")?;
    let losses = losses_of(band, losses, rewards)?;
    let rounds = losses.len() / actions;
    let contexts = match contexts {
        Some(contexts) => convert::rows(contexts).map_err(|e| e.of("contexts"))?,
        None => (Vec::new(), 0),
    };
    let (numbers, width) = (contexts.0.len(), contexts.1);
    let found = numbers.checked_div(width).unwrap_or(0);
    let needed = format_args!("{rounds} rows of {features} are needed");
    let why = format_args!("contexts: {found} rows of {width} features, but {needed}");
    Error::unless(width == features && numbers == rounds * features, why)?;
    if let Some(at) = contexts.0.iter().position(|v| !v.is_finite()) {
        let (row, feature, value) = (at / features, at % features, contexts.0[at]);
        return Err(Error::value(format!("contexts: row {row}, feature {feature} is {value}")));
    }
    let played = detached(band, py, |inner| {
        let Inner { members: Members::Arms(band), rng, raised, history, log, plan, .. } = inner else {
            return Ok(Vec::new());
        };
        let log = log.as_mut().map(|log| (log, plan.rewards));
        let mut playing = Playing { band, rng, raised, history, log };
        let mut x = Context::plain(actions);
        let mut made = Vec::with_capacity(rounds);
        for (t, losses) in losses.chunks_exact(actions).enumerate() {
            x.features_mut().clear();
            x.features_mut().extend_from_slice(&contexts.0[t * features..(t + 1) * features]);
            let mut played = Arm::default();
            let (base, propensity) = playing.round(&x, |arm| {
                played = *arm;
                Ok(Feedback::plain(losses[arm.index()]))
            })?;
            made.push((played.index(), base, propensity));
            look_up(t as u64)?;
        }
        Ok(made)
    })?;
    let paid = || played.iter().zip(losses.chunks_exact(actions)).map(|((arm, ..), losses)| losses[*arm]);
    let columns = [
        ("action", PyArray1::from_iter(py, played.iter().map(|(arm, ..)| *arm as i64)).into_any()),
        ("loss", PyArray1::from_iter(py, paid()).into_any()),
        ("reward", PyArray1::from_iter(py, paid().map(|loss| band.rewards.value(loss))).into_any()),
        ("base", PyArray1::from_iter(py, played.iter().map(|(_, base, _)| *base as i64)).into_any()),
        ("propensity", PyArray1::from_iter(py, played.iter().map(|(.., propensity)| *propensity)).into_any()),
    ];
    Ok(columns.into_py_dict(py)?)
}

/// See `Band.simulate`.
pub fn simulate<'py>(
    band: &Band,
    py: Python<'py>,
    environment: &Bound<'py, PyAny>,
    rounds: u64,
    seed: u64,
) -> Answer<Bound<'py, PyDict>> {
    Error::unless(!band.rewards.learned, KNOWN)?;
    let world = build(environment, rounds, seed)?;
    let walked = detached(band, py, |inner| {
        let Inner { members, rng, raised, plan, history, log, .. } = inner;
        let own = plan.setup();
        let log = log.as_mut().map(|log| (log, plan.rewards));
        match (world, members) {
            (AnyEnvironment::Arms(world), Members::Arms(band)) => {
                walk(world, Playing { band, rng, raised, history, log }, &own, rounds, seed)
            }
            (AnyEnvironment::Points(world), Members::Points(band)) => {
                walk(world, Playing { band, rng, raised, history, log }, &own, rounds, seed)
            }
            (AnyEnvironment::Arms(_), _) => {
                Err(Error::value("the environment has actions, but the band plays points"))
            }
            (AnyEnvironment::Points(_), _) => {
                Err(Error::value("the environment has points, but the band plays actions"))
            }
        }
    })?;
    let answer = PyDict::new(py);
    answer.set_item("rounds", walked.rounds)?;
    answer.set_item("loss", walked.loss)?;
    answer.set_item("regret", walked.regret)?;
    let columns = PyDict::new(py);
    columns.set_item("round", PyArray1::from_iter(py, walked.curve.iter().map(|(t, _)| *t)))?;
    columns.set_item("regret", PyArray1::from_iter(py, walked.curve.iter().map(|(_, regret)| *regret)))?;
    answer.set_item("curve", columns)?;
    Ok(answer)
}

/// What came of a simulation.
struct Walked {
    rounds: u64,
    loss: f64,
    regret: f64,
    curve: Vec<(u64, f64)>,
}

fn walk<D: Decision>(
    mut world: Box<dyn Environment<Context, D>>,
    mut playing: Playing<'_, D>,
    own: &Setup,
    rounds: u64,
    seed: u64,
) -> Answer<Walked>
where
    for<'a> Played: From<&'a D>,
{
    let its = world.setup();
    let why = "the losses of the environment are not in [0, 1]: give it rescale = [low, high]";
    Error::unless(its.losses == LossDomain::Unit, why)?;
    if (&own.space, &own.context) != (&its.space, &its.context) {
        let say = |s: &Setup| match &s.space {
            Space::Arms(actions) => {
                let ContextShape { features, row_features, .. } = s.context;
                format!("actions={actions}, features={features}, row_features={row_features}")
            }
            Space::Points(set) => format!("points={set:?}, features={}", s.context.features),
        };
        return Err(Error::value(format!("the environment has {}, but the band {}", say(&its), say(own))));
    }
    let mut rng = streams(seed);
    let (mut paid, mut done) = (0.0, Walked { rounds: 0, loss: 0.0, regret: 0.0, curve: Vec::new() });
    let points = checkpoints(rounds.max(1));
    for t in 1..=rounds {
        match world.next(&mut rng) {
            // Data may end before the rounds do.
            Err(EnvError::Ended(_)) if t > 1 => break,
            other => other?,
        }
        let x = world.context().clone();
        playing.round(&x, |decision| {
            paid += world.mean_loss(decision);
            let feedback = world.play(decision)?;
            done.loss += feedback.observed().unwrap_or(0.0);
            Ok(feedback)
        })?;
        done.rounds = t;
        if points.get(done.curve.len()) == Some(&t) {
            done.curve.push((t, paid - world.best_so_far()));
        }
        look_up(t)?;
    }
    done.regret = paid - world.best_so_far();
    Ok(done)
}
