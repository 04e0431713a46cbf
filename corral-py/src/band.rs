//! A band: a master over bases, as Python calls it.

mod play;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use corral_core::memory::{self, Budget};
use corral_core::{Quota, Scale, Space, snapshot};
use corral_lab::store::write_whole;
use corral_lab::streams::stream;
use corral_lab::table::aligned;
use numpy::{PyArray1, ToPyArray};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use rand::rngs::SysRng;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Dxsm;
use serde::{Deserialize, Serialize};

use crate::actions::Actions;
use crate::base::Raised;
use crate::convert::{self, Ranged};
use crate::decision::Decision;
use crate::errors::{Answer, Error};
use crate::exit;
use crate::inner::{Benched, Entered, Inner, warn};
use crate::label::Label;
use crate::members::Members;
use crate::plan::{Plan, Style};

use crate::shelf::Shelf;
use crate::thread::here;

const NAME: &str = "corral band";
const VERSION: u16 = 4;

/// A band of bandit algorithms under a master: choose, and learn the reward when it is known.
///
/// bases: names (see `list_bases`), dictionaries with a name and parameters, dictionaries with a master and bases (a band
/// inside the band), plugins by "file/base", Python objects with `propose(x, u)` and `learn(x, action, loss, weight)`.
/// actions: their names, or how many there are (with row_features: at most).
/// max_actions: how many there may be with those that join later, by `add_action`; None: as many as have names.
/// points: instead of actions, the set of R^d whose points are played: {"ball": {"dim": 3}}, {"box": {"dim": 2}},
/// {"simplex": {"vertices": 4}}, {"sphere": {"dim": 5}}, {"hypercube": {"dim": 9}}, {"polytope": {"rows": A, "bounds": b}},
/// {"finite": {"points": P}}.
/// features: how many numbers describe a round. row_features: how many describe each action of a round.
/// feature_range: "learned" clips features to ten times the median size of their first values (until these are known: to
/// [-10, 10]); (low, high), or a pair for each feature, is a range of your own; None takes every finite number.
/// outside: "clip" or "refuse" features outside a range of your own.
/// reward_range: the smallest and the largest reward, (0, 1) where nothing is said; "learned": that of the rewards so far, which one
/// outside widens, by at most the width that it has.
/// preset: "practical" (low loss), "paper" (Algorithm 1 to the letter, with its guarantee) or "safe" (both, under Corral: for
/// rewards that may react to the choices; its bases are given by name or dictionary).
/// master: another master instead of a preset, a name or a dictionary as in a spec (see `list_masters`).
/// horizon: how many rounds there will be, where that is known.
/// seed: the same seed and calls give the same choices; None takes one from the system.
/// propensities: whether decisions know the probability of their action.
/// quota: (most, window): of any `window` rewards in a row at most `most` of one client are learned; `learn` wants client=.
/// budget: what a decision may cost on average; `learn` wants cost=. Prices are learned from the costs, and may change.
/// copy: a number of this copy of the band, where the ids of decisions are to be the same in every run; None draws one. Every
/// process that loads, unpickles or inherits a band is a copy of its own, and each learns the decisions of all.
/// plugins: a folder of compiled plugins. Their bases run in this process, or with isolate=True in one of their own.
///
/// A band may be called from any thread: calls are taken one after the other, each whole.
///
/// >>> import corral
/// >>> band = corral.Band(["ucb1", {"name": "exp3"}, "thompson"], actions=["small", "large"], seed=1)
/// >>> for _ in range(500):
/// ...     d = band.choose()
/// ...     band.learn(d, reward={"small": 0.2, "large": 0.9}[d.action])
/// >>> band.choose().action
/// 'large'
#[pyclass(frozen, module = "corral")]
pub struct Band {
    inner: Mutex<Inner>,
    /// The thread that is inside, by the address of something of its own; 0: none.
    inside: AtomicUsize,
    offers: Mutex<Actions>,
    /// 0 where points are played.
    actions: usize,
    /// How many numbers describe a round.
    #[pyo3(get)]
    features: usize,
    /// How many numbers describe each action of a round.
    #[pyo3(get)]
    row_features: usize,
    rewards: Scale,
}

/// What a file holds.
#[derive(Serialize, Deserialize)]
struct State {
    plan: Plan,
    members: Vec<u8>,
    rng: Pcg64Dxsm,
    quota: Option<Quota>,
}

impl Band {
    fn with(
        plan: Plan,
        members: Members,
        rng: Pcg64Dxsm,
        raised: Vec<Raised>,
        shelf: Shelf,
        quota: Option<Quota>,
    ) -> Self {
        let called = plan.members.iter().map(|m| Arc::from(&*m.name)).collect();
        Self {
            inside: AtomicUsize::new(0),
            offers: Mutex::new(plan.actions()),
            actions: plan.setup().actions(),
            features: plan.features,
            row_features: plan.row_features,
            rewards: plan.rewards,
            inner: Mutex::new(Inner {
                members,
                process: std::process::id(),
                rng,
                plan,
                names: called,
                raised,
                shelf,
                quota,
            }),
        }
    }

    /// Waits for other threads to leave, without keeping the interpreter from them.
    pub fn enter(&self, py: Python<'_>) -> Answer<Entered<'_>> {
        let me = here();
        if self.inside.load(Ordering::Relaxed) == me {
            return Err(Error::Failed("a base of this band called the band while it was asked by it".into()));
        }
        let mut inner = self.lock(py)?;
        inner.part_from_parent()?;
        self.inside.store(me, Ordering::Relaxed);
        Ok(Entered { inner, inside: &self.inside })
    }

    fn lock(&self, py: Python<'_>) -> Answer<MutexGuard<'_, Inner>> {
        // What holds the lock at exit may be a thread that stays where it is (see `exit`): it is not waited for in vain.
        if exit::has_ended() {
            for _ in 0..1_000 {
                match self.inner.try_lock() {
                    Ok(inner) => return Ok(inner),
                    Err(TryLockError::Poisoned(inner)) => return Ok(inner.into_inner()),
                    Err(TryLockError::WouldBlock) => {
                        py.detach(|| std::thread::sleep(Duration::from_millis(1)))
                    }
                }
            }
            return Err(Error::Failed("another thread was in this band when the interpreter ended".into()));
        }
        Ok(self.inner.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner))
    }

    /// Does `work` inside the band, and warns of the bases that were benched meanwhile.
    pub fn watched<T>(&self, py: Python<'_>, work: impl FnOnce(&mut Inner) -> Answer<T>) -> Answer<T> {
        let mut entered = self.enter(py)?;
        let before = entered.inner.members.benched().len();
        let done = work(&mut entered.inner)?;
        let benched = entered.inner.benched(py, before);
        drop(entered);
        warn(py, benched)?;
        Ok(done)
    }

    /// The actions as they are now.
    fn offers(&self) -> Actions {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the actions of the plan; on error nothing changed.
    fn change_actions(&self, py: Python<'_>, change: impl FnOnce(&mut Plan) -> Answer<()>) -> Answer<()> {
        let mut entered = self.enter(py)?;
        let mut plan = entered.inner.plan.clone();
        change(&mut plan)?;
        *self.offers.lock().unwrap_or_else(PoisonError::into_inner) = plan.actions();
        entered.inner.plan = plan;
        Ok(())
    }

    /// The reward of a loss; in the range that was learned so far, where one is.
    fn reward(&self, inner: &Inner, loss: f64) -> f64 {
        let Scale { low, high, .. } = inner.members.scale().unwrap_or(self.rewards);
        high - loss * (high - low)
    }

    /// How many actions, features and features of each action there are.
    pub fn shape(&self) -> (usize, usize, usize) {
        (self.actions, self.features, self.row_features)
    }

    /// The loss of a round, from what the caller says of it.
    fn loss(&self, reward: Option<f64>, loss: Option<f64>) -> Answer<f64> {
        match (reward, loss) {
            // The band itself knows the range so far.
            (Some(reward), None) if self.rewards.learned => Ok(reward),
            (Some(reward), None) => Ok(self.rewards.loss(reward).map_err(Error::value)?.0),
            (None, Some(_)) if self.rewards.learned => {
                Err(Error::value("this band learns the range of rewards: give reward="))
            }
            (None, Some(loss)) if (0.0..=1.0).contains(&loss) => Ok(loss),
            (None, Some(loss)) => Err(Error::value(format!("a loss must be in [0, 1], but is {loss}"))),
            _ => Err(Error::Type("give reward= or loss=, one of them".into())),
        }
    }

    fn bytes(&self, py: Python<'_>) -> Answer<Vec<u8>> {
        let entered = self.enter(py)?;
        let members = entered.inner.members.save();
        entered.inner.callers()?;
        let Inner { plan, rng, quota, .. } = &*entered.inner;
        let state = State { plan: plan.clone(), members, rng: rng.clone(), quota: quota.clone() };
        Ok(snapshot::seal(NAME, VERSION, &state))
    }

    pub fn read(py: Python<'_>, bytes: &[u8], copy: Option<u64>, shelf: Shelf) -> Answer<Self> {
        let State { mut plan, members: state, rng, quota } = snapshot::open(NAME, VERSION, bytes)?;
        plan.params.copy = copy;
        let quota = quota.map(Quota::check).transpose()?;
        let (mut members, raised) = plan.rebuild(py, &shelf)?;
        let loaded = members.load(&state);
        if let Some(error) = raised.iter().find_map(|r| r.last(py)).filter(|_| loaded.is_err()) {
            return Err(error.into());
        }
        loaded?;
        Ok(Self::with(plan, members, rng, raised, shelf, quota))
    }
}

#[pymethods]
impl Band {
    #[new]
    #[pyo3(signature = (bases, *, actions = None, max_actions = None, points = None, features = 0, row_features = 0, feature_range = Some(Ranged::default()),
        outside = "clip", reward_range = None, preset = "practical", master = None, horizon = None, seed = None, propensities = true,
        quota = None, budget = None, copy = None, plugins = None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a constructor in Python")]
    fn new(
        bases: &Bound<'_, PyAny>,
        actions: Option<&Bound<'_, PyAny>>,
        max_actions: Option<usize>,
        points: Option<&Bound<'_, PyDict>>,
        features: usize,
        row_features: usize,
        feature_range: Option<Ranged>,
        outside: &str,
        reward_range: Option<&Bound<'_, PyAny>>,
        preset: &str,
        master: Option<&Bound<'_, PyAny>>,
        horizon: Option<u64>,
        seed: Option<u64>,
        propensities: bool,
        quota: Option<(usize, usize)>,
        budget: Option<&Bound<'_, PyAny>>,
        copy: Option<u64>,
        plugins: Option<PathBuf>,
    ) -> Answer<Self> {
        let style =
            Style { preset, master, horizon, propensities, budget: budget.map(convert::spend).transpose()? };
        let space = convert::space(actions, max_actions, points)?;
        let range = convert::feature_range(feature_range, outside)?;
        let reward_range = convert::reward_range(reward_range)?;
        let (mut plan, below) = Plan::new(space, (features, row_features), range, reward_range, &style)?;
        plan.params.copy = copy;
        let shared = Raised::default();
        let (mut built, mut raised) = (Vec::new(), Vec::new());
        if bases.is_instance_of::<PyString>() {
            return Err(Error::Type("bases: a list is needed, even of one".into()));
        }
        let shelf = Shelf::open(bases.py(), plugins.as_deref())?;
        plan.budget = Budget::of(memory::DEFAULT);
        let bases: Vec<_> = match below {
            Some(masters) => convert::bands(bases, masters)?,
            None => bases.try_iter()?.collect::<Result<_, _>>()?,
        };
        for base in bases {
            raised.push(shared.sibling());
            built.push(plan.join(&base, None, None, &raised[raised.len() - 1], &shelf)?);
        }
        plan.budget = Budget::default();
        // Bands that are built alike do not take each other's decisions.
        let mut system = Pcg64Dxsm::try_from_rng(&mut SysRng).map_err(Error::value)?;
        plan.params.id = Some(system.next_u64());
        let rng = seed.map_or(system, |seed| stream(seed, "learner"));
        let members = plan.ensemble(built)?;
        // A base that does not pickle is told of when the band is saved.
        let _ = shared.callers();
        let quota = quota.map(|(most, window)| Quota::new(most, window)).transpose()?;
        Ok(Self::with(plan, members, rng, raised, shelf, quota))
    }

    /// Chooses an action. x: the features of the round. actions: those that are offered, where not all are: a list of names, or
    /// with row_features a dictionary of name and row. An array of rows is in the order of the band's actions.
    #[pyo3(signature = (x = None, *, actions = None))]
    fn choose(
        &self,
        py: Python<'_>,
        x: Option<&Bound<'_, PyAny>>,
        actions: Option<&Bound<'_, PyAny>>,
    ) -> Answer<Decision> {
        let offers = self.offers();
        let (context, own) = convert::context(self.shape(), &offers, x, actions)?;
        let (ticket, base) = self.watched(py, |inner| {
            let made = inner.members.choose(&context, &mut inner.rng);
            inner.callers()?;
            let ticket = made.map_err(|error| {
                let cause = inner.benched(py, 0).pop().and_then(|b| b.exception);
                let error = PyErr::from(Error::from(error));
                error.set_cause(py, cause.map(|c| PyErr::from_value(c.into_bound(py))));
                Error::from(error)
            })?;
            let base = Arc::clone(&inner.names[ticket.base()]);
            Ok((ticket, base))
        })?;
        let names = own.as_deref().unwrap_or(&offers.names);
        let label = match ticket.played() {
            Label::Number(number) if number < names.len() => Label::Name(Arc::clone(&names[number])),
            played => played,
        };
        Ok(Decision::new(ticket, context, label, base))
    }

    /// Learns the reward (in reward_range) or the loss (in [0, 1]) of a decision, once. decision: what `choose` returned, or its
    /// token. client: whose it is, where the band has a quota; beyond that, the decision is settled and nothing is learned of it.
    /// cost: what it cost in money, where the band has a budget.
    #[pyo3(signature = (decision, *, reward = None, loss = None, cost = None, client = None))]
    fn learn(
        &self,
        py: Python<'_>,
        decision: &Bound<'_, PyAny>,
        reward: Option<f64>,
        loss: Option<f64>,
        cost: Option<f64>,
        client: Option<&str>,
    ) -> Answer<()> {
        let loss = self.loss(reward, loss)?;
        self.watched(py, |inner| {
            let decision = inner.given(decision)?;
            let heard = inner.heard(client, loss)?;
            let heard = cost.map_or(heard, |cost| heard.with_cost(cost));
            decision.get().settle(py, |x, ticket| inner.members.learn(x, ticket, heard))?;
            inner.count(client);
            inner.callers()
        })
    }

    /// Learns many decisions (or tokens) in order, with their rewards or losses. All of them are looked at before the first is
    /// learned: one that cannot be leaves the band as it was.
    #[pyo3(signature = (decisions, *, rewards = None, losses = None, clients = None))]
    fn learn_many(
        &self,
        py: Python<'_>,
        decisions: Vec<Bound<'_, PyAny>>,
        rewards: Option<&Bound<'_, PyAny>>,
        losses: Option<&Bound<'_, PyAny>>,
        clients: Option<Vec<String>>,
    ) -> Answer<()> {
        let mut numbers = Vec::new();
        for given in [rewards, losses].into_iter().flatten() {
            convert::append(given, &mut numbers)?;
        }
        if rewards.is_some() == losses.is_some() {
            return Err(Error::Type("give rewards= or losses=, one of them".into()));
        }
        let (count, given) = (decisions.len(), numbers.len());
        Error::unless(count == given, format_args!("{count} decisions, but {given} rewards or losses"))?;
        let named = clients.as_ref().map_or(count, Vec::len);
        Error::unless(count == named, format_args!("{count} decisions, but {named} clients"))?;
        let client = |i: usize| clients.as_ref().map(|clients| &*clients[i]);
        self.watched(py, |inner| {
            let given = |(i, d)| inner.given(d).map_err(|e| e.of(format!("decision {i}")));
            let decisions = decisions.iter().enumerate().map(given).collect::<Answer<Vec<_>>>()?;
            let mut seen = std::collections::HashSet::new();
            if count > 0 {
                inner.heard(client(0), 0.0)?;
            }
            for (i, (decision, number)) in decisions.iter().zip(&mut numbers).enumerate() {
                let decision = decision.get();
                let (reward, loss) =
                    if losses.is_some() { (None, Some(*number)) } else { (Some(*number), None) };
                *number = self.loss(reward, loss).map_err(|e| e.of(format!("decision {i}")))?;
                let fresh = if seen.insert(decision.id) { Ok(()) } else { Err(decision.learned()) };
                let looked =
                    fresh.and_then(|()| decision.look(py, |x, t| inner.members.check(x, t, *number)));
                looked.map_err(|e| e.of(format!("decision {i}")))?;
            }
            for (i, (decision, loss)) in decisions.iter().zip(numbers).enumerate() {
                let heard = inner.heard(client(i), loss)?;
                let learned = decision.get().settle(py, |x, ticket| inner.members.learn(x, ticket, heard));
                learned.map_err(|e| e.of(format!("decision {i} (those before it were learned)")))?;
                inner.count(client(i));
                inner.callers()?;
            }
            Ok(())
        })
    }

    /// Plays a whole table of losses in [0, 1], a row for each round and a column for each action, with a row of features
    /// each where the band has some. The interpreter is not in the loop, and other threads run meanwhile.
    ///
    /// Returns columns: action, loss, base (their numbers) and propensity (NaN where it is not known).
    #[pyo3(signature = (losses, contexts = None))]
    fn play<'py>(
        &self,
        py: Python<'py>,
        losses: &Bound<'py, PyAny>,
        contexts: Option<&Bound<'py, PyAny>>,
    ) -> Answer<Bound<'py, PyDict>> {
        play::play(self, py, losses, contexts)
    }

    /// Plays `rounds` rounds in an environment (a name, or a dictionary with parameters: see `list_environments`). The
    /// interpreter is not in the loop, and other threads run meanwhile.
    ///
    /// Returns rounds, loss (the sum), regret (against the best fixed decision in hindsight) and the columns round and
    /// regret of its curve.
    #[pyo3(signature = (environment, rounds, *, seed = 0))]
    fn simulate<'py>(
        &self,
        py: Python<'py>,
        environment: &Bound<'py, PyAny>,
        rounds: u64,
        seed: u64,
    ) -> Answer<Bound<'py, PyDict>> {
        play::simulate(self, py, environment, rounds, seed)
    }

    /// Adds a base that is followed with probability `share` at first; the others keep their ratios. Returns its name.
    #[pyo3(signature = (base, *, share = 0.1, name = None))]
    fn add(
        &self,
        py: Python<'_>,
        base: &Bound<'_, PyAny>,
        share: f64,
        name: Option<String>,
    ) -> Answer<String> {
        let mut entered = self.enter(py)?;
        let inner = &mut *entered.inner;
        let raised = inner.raised.first().map(Raised::sibling).unwrap_or_default();
        let mut plan = inner.plan.clone();
        let built = plan.join(base, name, Some(share), &raised, &inner.shelf)?;
        let name = plan.members.last().map(|m| m.name.clone()).unwrap_or_default();
        inner.members.add(&name, built, share)?;
        inner.plan = plan;
        inner.names.push(Arc::from(&*name));
        inner.raised.push(raised);
        Ok(name)
    }

    /// Gives an action a name and the next of the numbers up to `max_actions`, or puts a retired one back with what is known of it.
    fn add_action(&self, py: Python<'_>, name: &str) -> Answer<()> {
        self.change_actions(py, |plan| plan.add_action(name))
    }

    /// Takes an action out of what rounds offer. Its decisions that are out can still be learned.
    fn retire_action(&self, py: Python<'_>, name: &str) -> Answer<()> {
        self.change_actions(py, |plan| plan.retire_action(name))
    }

    /// Takes a base out, by name or number; the others keep their ratios. Its decisions that are out can still be learned.
    fn retire(&self, py: Python<'_>, base: &Bound<'_, PyAny>) -> Answer<()> {
        let mut entered = self.enter(py)?;
        let base = entered.inner.find(base)?;
        Ok(entered.inner.members.retire(base)?)
    }

    /// Puts a base back that was benched or retired; it is followed with probability `share` at first.
    #[pyo3(signature = (base, *, share = 0.1))]
    fn reinstate(&self, py: Python<'_>, base: &Bound<'_, PyAny>, share: f64) -> Answer<()> {
        let mut entered = self.enter(py)?;
        let base = entered.inner.find(base)?;
        Ok(entered.inner.members.reinstate(base, share)?)
    }

    /// Writes the band to a file, whole or not at all; `corral.load` goes on from it bit for bit. Python bases are pickled.
    fn save(&self, py: Python<'_>, path: PathBuf) -> Answer<()> {
        Ok(write_whole(&path, &self.bytes(py)?)?)
    }

    /// What each base did, as columns: name, probability, plays, mean_reward, effective_samples, benched.
    fn table<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyDict>> {
        let entered = self.enter(py)?;
        let inner = &*entered.inner;
        let benched = |base: usize| inner.members.benched().iter().any(|b| b.base == base);
        let reward = |loss: Option<f64>| loss.map_or(f64::NAN, |loss| self.reward(inner, loss));
        let tallies = inner.members.tallies();
        let columns = PyDict::new(py);
        let texts = PyList::new(py, inner.names.iter().map(|n| &**n))?;
        columns.set_item("name", py.import("numpy")?.call_method1("array", (texts,))?)?;
        columns.set_item("probability", inner.members.probabilities().to_pyarray(py))?;
        let column = |of: &dyn Fn(usize) -> f64| PyArray1::from_iter(py, (0..tallies.len()).map(of));
        columns.set_item("plays", PyArray1::from_iter(py, tallies.iter().map(|t| t.plays)))?;
        columns.set_item("mean_reward", column(&|i| reward(tallies[i].mean_loss())))?;
        columns.set_item("effective_samples", column(&|i| tallies[i].effective_samples()))?;
        columns.set_item("benched", PyArray1::from_iter(py, (0..tallies.len()).map(benched)))?;
        Ok(columns)
    }

    /// Probability, plays and mean reward of each base, which were benched and why, and remarks on the ranges of rewards and
    /// features, as text.
    fn report(&self, py: Python<'_>) -> Answer<String> {
        let entered = self.enter(py)?;
        let inner = &*entered.inner;
        let rows = inner.members.tallies().into_iter().enumerate().map(|(i, tally)| {
            let mean =
                tally.mean_loss().map_or("-".to_owned(), |loss| format!("{:.4}", self.reward(inner, loss)));
            let probability = format!("{:.4}", inner.members.probabilities()[i]);
            vec![inner.names[i].to_string(), probability, tally.plays.to_string(), mean]
        });
        let table = aligned(&["base", "probability", "plays", "mean reward"], "lrrr", rows);
        let mut text = format!("{} rounds\n{table}", inner.members.rounds());
        for b in inner.members.benched() {
            text.push_str(&format!("benched: {} in round {}, {}: {}\n", b.name, b.round, b.during, b.reason));
        }
        for remark in inner.members.remarks(Some(self.rewards)) {
            text.push_str(&remark);
            text.push('\n');
        }
        Ok(text)
    }

    /// Counts of rounds, decisions that are out, losses that were refused, features that were clipped and rewards over their
    /// client's quota, and what each base did: for a monitor.
    fn metrics<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyAny>> {
        let entered = self.enter(py)?;
        let metrics = convert::plain(py, &entered.inner.members.metrics())?;
        metrics.set_item("over_quota", entered.inner.quota.as_ref().map_or(0, Quota::refused))?;
        Ok(metrics)
    }

    /// The same as text for Prometheus, of a band with this name.
    fn prometheus(&self, py: Python<'_>, name: &str) -> Answer<String> {
        Ok(self.enter(py)?.inner.members.metrics().prometheus(name))
    }

    /// The names of the bases.
    #[getter]
    fn bases(&self, py: Python<'_>) -> Answer<Vec<String>> {
        Ok(self.enter(py)?.inner.names.iter().map(|n| n.to_string()).collect())
    }

    /// The names of the actions that are not retired, or how many there are; 0 where points are played.
    #[getter]
    fn actions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let offers = self.offers();
        if offers.names.is_empty() {
            return Label::Number(self.actions).to_python(py);
        }
        Ok(PyList::new(py, offers.live().iter().map(|number| &*offers.names[*number as usize]))?.into_any())
    }

    /// The smallest and the largest reward; so far, where they are learned.
    #[getter]
    fn reward_range(&self, py: Python<'_>) -> Answer<(f64, f64)> {
        let Scale { low, high, .. } = self.enter(py)?.inner.members.scale().unwrap_or(self.rewards);
        Ok((low, high))
    }

    /// The probability with which each base is followed now.
    #[getter]
    fn probabilities<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyArray1<f64>>> {
        Ok(self.enter(py)?.inner.members.probabilities().to_pyarray(py))
    }

    /// The rounds that were played.
    #[getter]
    fn rounds(&self, py: Python<'_>) -> Answer<u64> {
        Ok(self.enter(py)?.inner.members.rounds())
    }

    /// The bases that play no more, and why.
    #[getter]
    fn benched(&self, py: Python<'_>) -> Answer<Vec<Benched>> {
        Ok(self.enter(py)?.inner.benched(py, 0))
    }

    fn __len__(&self, py: Python<'_>) -> Answer<usize> {
        Ok(self.enter(py)?.inner.members.len())
    }

    fn __repr__(&self, py: Python<'_>) -> Answer<String> {
        let entered = self.enter(py)?;
        let (members, names) = (&entered.inner.members, entered.inner.names.join(", "));
        let over = match &entered.inner.plan.space {
            Space::Arms(actions) => format!("{actions} actions"),
            Space::Points(set) => format!("points of R^{}", set.dim()),
        };
        Ok(format!("<Band of {names} over {over}, {} rounds>", members.rounds()))
    }

    #[expect(clippy::type_complexity, reason = "what pickle wants: a function and what it is called with")]
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> Answer<(Bound<'py, PyAny>, (Bound<'py, PyBytes>, Option<PathBuf>))> {
        let bytes = PyBytes::new(slf.py(), &slf.get().bytes(slf.py())?);
        let folder = slf.get().enter(slf.py())?.inner.shelf.folder.clone();
        Ok((slf.get_type().getattr("_from_bytes")?, (bytes, folder)))
    }

    #[staticmethod]
    #[pyo3(signature = (bytes, plugins = None))]
    fn _from_bytes(py: Python<'_>, bytes: &[u8], plugins: Option<PathBuf>) -> Answer<Self> {
        Self::read(py, bytes, None, Shelf::open(py, plugins.as_deref())?)
    }
}

/// Reads a band that `Band.save` wrote. It goes on bit for bit, as a copy of its own: it learns the decisions of the band that
/// was saved, and hands out none of its ids. copy: the number of the copy, where ids are to be the same in every run.
/// plugins: the folder of its plugins, where it has some; they must be the very files that it was saved with.
///
/// Python bases are unpickled, which runs their code: load files that you trust.
#[pyfunction]
#[pyo3(signature = (path, *, copy = None, plugins = None))]
pub fn load(py: Python<'_>, path: PathBuf, copy: Option<u64>, plugins: Option<PathBuf>) -> Answer<Band> {
    let named = path.display().to_string();
    let shelf = Shelf::open(py, plugins.as_deref())?;
    Band::read(py, &std::fs::read(path)?, copy, shelf).map_err(|e| e.of(named))
}
