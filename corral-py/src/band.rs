//! A band: a master over bases, as Python calls it.

mod bases;
mod build;
mod file;
mod learning;
mod page;
mod play;
mod round;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use corral_core::Scale;
use corral_lab::saved::{Actions, Plan};
use corral_lab::store::write_whole;
use numpy::{PyArray1, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::args;
use crate::args::{
    CopyNumber, Cost, Count, Features, Horizon, Limits, Loss, MaxActions, Ranged, Reward, Rounds, RowFeatures,
};
use crate::args::{Seconds, Seed, Share, Wanted};
use crate::convert;
use crate::decision::Decision;
use crate::errors::{Answer, Error};
use crate::inner::{Benched, Entered, Inner, warn};
use crate::label::Label;
use crate::shelf::Shelf;
use crate::turn::{Denied, Turn};

pub use self::file::load;
pub use self::learning::Given;
use self::learning::Heard;

#[doc = include_str!("band/band.md")]
#[allow(clippy::doc_lazy_continuation, reason = "the prompt of Python is not a quote of Markdown")]
#[pyclass(frozen, generic, module = "corral")]
pub struct Band {
    turn: Turn,
    inner: Mutex<Inner>,
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

impl Band {
    /// Waits for other threads to leave, without keeping the interpreter from them.
    pub fn enter(&self, py: Python<'_>) -> Answer<Entered<'_>> {
        let turn = self.turn.take(py).map_err(|denied| {
            Error::Failed(match denied {
                Denied::Again => "a base of this band called the band while it was asked by it".into(),
                Denied::Ended => "another thread was in this band when the interpreter ended".into(),
                Denied::Forked => "another thread was in this band when the process was forked: fork while none is, or load \
                                   the band in the new process"
                    .into(),
            })
        })?;
        // No other thread has it.
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.part_from_parent()?;
        Ok(Entered { inner, turn })
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
}

#[pymethods]
impl Band {
    #[new]
    #[pyo3(signature = (bases, *, actions = None, max_actions = None, points = None, features = Features(0), row_features = RowFeatures(0),
        feature_range = Some(Ranged::default()), outside = "clip", reward_range = None, preset = "practical", master = None,
        horizon = None, seed = None, propensities = Wanted::default(), quota = None, budget = None, copy = None, plugins = None, log = None, pending = None, watch = false),
        text_signature = "(bases, *, actions=None, max_actions=None, points=None, features=0, row_features=0, feature_range=\"learned\", outside=\"clip\", \
        reward_range=None, preset=\"practical\", master=None, horizon=None, seed=None, propensities=True, quota=None, budget=None, copy=None, \
        plugins=None, log=None, pending=None, watch=False)")]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a constructor in Python")]
    fn new(
        bases: &Bound<'_, PyAny>,
        actions: Option<&Bound<'_, PyAny>>,
        max_actions: Option<MaxActions>,
        points: Option<&Bound<'_, PyDict>>,
        features: Features,
        row_features: RowFeatures,
        feature_range: Option<Ranged>,
        outside: &str,
        reward_range: Option<&Bound<'_, PyAny>>,
        preset: &str,
        master: Option<&Bound<'_, PyAny>>,
        horizon: Option<Horizon>,
        seed: Option<Seed>,
        propensities: Wanted,
        quota: Option<Limits>,
        budget: Option<&Bound<'_, PyAny>>,
        copy: Option<CopyNumber>,
        plugins: Option<PathBuf>,
        log: Option<PathBuf>,
        pending: Option<args::Waiting>,
        watch: bool,
    ) -> Answer<Self> {
        let space = convert::space(actions, max_actions.map(|most| most.0), points)?;
        let asked = build::Asked {
            features: (features.0, row_features.0),
            range: convert::feature_range(feature_range, outside)?,
            rewards: convert::reward_range(reward_range)?,
            style: (preset, master, propensities.0),
            budget: budget.map(convert::spend).transpose()?,
            horizon: horizon.map(|h| h.0),
            seed: seed.map(|s| s.0),
            quota: quota.map(|q| (q.0, q.1)),
            copy: copy.map(|c| c.0),
            plugins,
            log,
            pending: pending.map(|p| p.0),
            watch,
        };
        build::band(bases, space, asked)
    }

    /// Chooses an action.
    ///
    /// Parameters
    /// ----------
    /// x : array_like, optional
    ///     The features of the round.
    /// actions : list of str, dict or array_like, optional
    ///     Those that are offered, where not all are: a list of names, or with row_features a dictionary of name and row. An array of
    ///     rows has one for every action of the band, in their order; without names, those of the first actions.
    ///
    /// Returns
    /// -------
    /// Decision
    #[pyo3(signature = (x = None, *, actions = None))]
    fn choose<'py>(
        &self,
        py: Python<'py>,
        x: Option<&Bound<'py, PyAny>>,
        actions: Option<&Bound<'py, PyAny>>,
    ) -> Answer<Bound<'py, Decision>> {
        round::choose(self, py, x, actions)
    }

    /// Chooses for many rounds, in order. All of them are looked at before the first is chosen for.
    ///
    /// Parameters
    /// ----------
    /// xs : array_like, optional
    ///     A row of features for each round.
    /// count : int, optional
    ///     How many rounds, where the band has no features.
    ///
    /// Returns
    /// -------
    /// list of Decision
    #[pyo3(signature = (xs = None, *, count = None))]
    fn choose_many<'py>(
        &self,
        py: Python<'py>,
        xs: Option<&Bound<'py, PyAny>>,
        count: Option<Count>,
    ) -> Answer<Vec<Bound<'py, Decision>>> {
        round::choose_many(self, py, xs, count)
    }

    /// The probability of each action, were it chosen now: of every base by how it is followed. Nothing changes. Rounds in which the
    /// practical preset looks at an action by itself are left out.
    ///
    /// Parameters
    /// ----------
    /// x : array_like, optional
    ///     The features of a round, or a row of them for each of many.
    /// actions : array_like or dict, optional
    ///     As for `choose`.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     In the order of the actions; for many rounds a row each.
    ///
    /// Examples
    /// --------
    /// >>> import corral
    /// >>> band = corral.Band(["ucb1", "exp3"], actions=4, seed=1)
    /// >>> float(round(band.distribution().sum(), 9))
    /// 1.0
    #[pyo3(signature = (x = None, *, actions = None))]
    fn distribution<'py>(
        &self,
        py: Python<'py>,
        x: Option<&Bound<'py, PyAny>>,
        actions: Option<&Bound<'py, PyAny>>,
    ) -> Answer<Bound<'py, PyAny>> {
        round::distribution(self, py, x, actions)
    }

    /// Learns the reward or the loss of a decision, once; or what it cost alone, where it has no reward.
    ///
    /// Parameters
    /// ----------
    /// decision : Decision or str
    ///     What `choose` returned, its token, or where the band keeps decisions (pending=) its id.
    /// reward : float, optional
    ///     In reward_range.
    /// loss : float, optional
    ///     In [0, 1]; one of the two.
    /// cost : float, optional
    ///     What it cost in money, where the band has a budget. Alone where the decision was not rated: it was paid for all the same.
    /// client : str, optional
    ///     Whose it is, where the band has a quota; beyond that, the decision is settled and nothing is learned of it.
    #[pyo3(signature = (decision, *, reward = None, loss = None, cost = None, client = None))]
    fn learn(
        &self,
        py: Python<'_>,
        decision: &Bound<'_, PyAny>,
        reward: Option<Reward>,
        loss: Option<Loss>,
        cost: Option<Cost>,
        client: Option<&str>,
    ) -> Answer<()> {
        let (reward, loss, cost) = (reward.map(|r| r.0), loss.map(|l| l.0), cost.map(|c| c.0));
        learning::learn(self, py, decision, Heard { reward, loss, cost, client })
    }

    /// Ends the wait of decisions that a band with pending= keeps. With a reward or a loss they are learned as that; without,
    /// nothing is learned of them. Either way no reward of theirs is taken any more.
    ///
    /// Parameters
    /// ----------
    /// seconds : float
    ///     Those that have waited longer.
    /// reward : float, optional
    ///     What no answer means, in reward_range.
    /// loss : float, optional
    ///     The same in [0, 1].
    /// cost : float, optional
    ///     What each cost in money, where the band has a budget. Without reward and cost they count as what their actions cost on average.
    ///
    /// Returns
    /// -------
    /// int
    ///     How many.
    #[pyo3(signature = (seconds, *, reward = None, loss = None, cost = None))]
    fn expire(
        &self,
        py: Python<'_>,
        seconds: Seconds,
        reward: Option<Reward>,
        loss: Option<Loss>,
        cost: Option<Cost>,
    ) -> Answer<usize> {
        let (reward, loss, cost) = (reward.map(|r| r.0), loss.map(|l| l.0), cost.map(|c| c.0));
        learning::expire(self, py, seconds.0, Heard { reward, loss, cost, client: None })
    }

    /// Learns many decisions in order. All of them are looked at before the first is learned: one that cannot be leaves the band
    /// as it was.
    ///
    /// Parameters
    /// ----------
    /// decisions : sequence
    ///     Decisions, tokens or ids, as `learn` takes them.
    /// rewards : array_like, optional
    ///     A reward for each, in reward_range.
    /// losses : array_like, optional
    ///     Or a loss for each, in [0, 1].
    /// costs : array_like, optional
    ///     What each cost in money, where the band has a budget; alone where they were not rated.
    /// clients : list of str, optional
    ///     Whose they are, where the band has a quota.
    #[pyo3(signature = (decisions, *, rewards = None, losses = None, costs = None, clients = None))]
    fn learn_many(
        &self,
        py: Python<'_>,
        decisions: Vec<Bound<'_, PyAny>>,
        rewards: Option<&Bound<'_, PyAny>>,
        losses: Option<&Bound<'_, PyAny>>,
        costs: Option<&Bound<'_, PyAny>>,
        clients: Option<Vec<String>>,
    ) -> Answer<()> {
        let given = Given { rewards, losses, costs, clients };
        learning::learn_many(self, py, &decisions, given)
    }

    /// Plays a whole table, a row for each round and a column for each action. The interpreter is not in the loop, and other
    /// threads run meanwhile.
    ///
    /// Parameters
    /// ----------
    /// losses : array_like, optional
    ///     In [0, 1].
    /// contexts : array_like, optional
    ///     A row of features for each round, where the band has some.
    /// rewards : array_like, optional
    ///     Instead of losses, in reward_range.
    ///
    /// Returns
    /// -------
    /// dict
    ///     Columns: action, loss, reward, base (actions and bases by number) and propensity (NaN where it is not known).
    #[pyo3(signature = (losses = None, contexts = None, *, rewards = None))]
    fn play<'py>(
        &self,
        py: Python<'py>,
        losses: Option<&Bound<'py, PyAny>>,
        contexts: Option<&Bound<'py, PyAny>>,
        rewards: Option<&Bound<'py, PyAny>>,
    ) -> Answer<Bound<'py, PyDict>> {
        play::play(self, py, losses, contexts, rewards)
    }

    /// Plays in an environment. The interpreter is not in the loop, and other threads run meanwhile.
    ///
    /// Parameters
    /// ----------
    /// environment : str or dict
    ///     A name, or a dictionary with parameters: see `list_environments`.
    /// rounds : int
    ///     How many.
    /// seed : int
    ///     Of the environment.
    ///
    /// Returns
    /// -------
    /// dict
    ///     rounds, loss (the sum), regret (against the best fixed decision in hindsight), and curve: the columns round and regret.
    #[pyo3(signature = (environment, rounds, *, seed = Seed(0)), text_signature = "($self, environment, rounds, *, seed=0)")]
    fn simulate<'py>(
        &self,
        py: Python<'py>,
        environment: &Bound<'py, PyAny>,
        rounds: Rounds,
        seed: Seed,
    ) -> Answer<Bound<'py, PyDict>> {
        play::simulate(self, py, environment, rounds.0, seed.0)
    }

    /// Adds an action by its name, or puts one back that was retired: see max_actions.
    fn add_action(&self, py: Python<'_>, name: &str) -> Answer<()> {
        self.change_actions(py, |plan| Ok(plan.add_action(name)?))
    }

    /// Takes an action out of what rounds offer. Its decisions that are out can still be learned.
    fn retire_action(&self, py: Python<'_>, name: &str) -> Answer<()> {
        self.change_actions(py, |plan| Ok(plan.retire_action(name)?))
    }

    /// Adds a base that is followed with probability `share` at first; the others keep their ratios. Returns its name.
    #[pyo3(signature = (base, *, share = Share(0.1), name = None), text_signature = "($self, base, *, share=0.1, name=None)")]
    fn add(
        &self,
        py: Python<'_>,
        base: &Bound<'_, PyAny>,
        share: Share,
        name: Option<String>,
    ) -> Answer<String> {
        bases::join(self, py, base, share.0, name)
    }

    /// Takes a base out, by name or number; the others keep their ratios. Its decisions that are out can still be learned.
    fn retire(&self, py: Python<'_>, base: &Bound<'_, PyAny>) -> Answer<()> {
        bases::retire(self, py, base)
    }

    /// Puts a base back that was benched or retired; it is followed with probability `share` at first.
    #[pyo3(signature = (base, *, share = Share(0.1)), text_signature = "($self, base, *, share=0.1)")]
    fn reinstate(&self, py: Python<'_>, base: &Bound<'_, PyAny>, share: Share) -> Answer<()> {
        bases::reinstate(self, py, base, share.0)
    }

    /// Writes the band to a file, whole or not at all; `corral.load` goes on from it bit for bit. Python bases are pickled.
    fn save(&self, py: Python<'_>, path: PathBuf) -> Answer<()> {
        Ok(write_whole(&path, &build::bytes(self, py)?)?)
    }

    /// What each base did, as columns: name, probability, plays, mean_reward, effective_samples, benched.
    fn table<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyDict>> {
        page::table(self, py)
    }

    /// Probability, plays and mean reward of each base, which were benched and why, and remarks on the ranges of rewards and
    /// features, as text. With watch=True the value of each base, with bounds that hold at any time, and "best" only where it is so.
    fn report(&self, py: Python<'_>) -> Answer<String> {
        page::report(self, py)
    }

    /// Counts of rounds, decisions that are out, losses that were refused, features that were clipped and rewards over their
    /// client's quota, and what each base did: for a monitor. With watch=True "values" has a value, low and high for each base, and
    /// "best" the name of the one that is best at any time with its lead, or None.
    fn metrics<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyAny>> {
        page::metrics(self, py)
    }

    /// What this band says of its bases, as a prior for a band on another problem: `master={"name": ..., "experience": ...}` takes it.
    /// Each has the reward of its plays less that of all as "relative", and as "plays" how many it had, at most this many.
    #[pyo3(signature = (plays = 10.0))]
    fn experience<'py>(&self, py: Python<'py>, plays: f64) -> Answer<Vec<Bound<'py, PyDict>>> {
        page::experience(self, py, plays)
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

    /// The names of the actions, or how many there are; 0 where points are played.
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

    /// The bases, and a picture of how their probabilities went since the band was built or loaded.
    fn _repr_html_(&self, py: Python<'_>) -> Answer<String> {
        let entered = self.enter(py)?;
        let inner = &*entered.inner;
        Ok(page::html(inner, |loss| self.reward(inner, loss)))
    }

    fn __len__(&self, py: Python<'_>) -> Answer<usize> {
        Ok(self.enter(py)?.inner.members.len())
    }

    fn __repr__(&self, py: Python<'_>) -> Answer<String> {
        page::line(self, py)
    }

    #[expect(clippy::type_complexity, reason = "what pickle wants: a function and what it is called with")]
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> Answer<(Bound<'py, PyAny>, (Bound<'py, PyBytes>, Option<PathBuf>))> {
        let bytes = PyBytes::new(slf.py(), &build::bytes(slf.get(), slf.py())?);
        let folder = slf.get().enter(slf.py())?.inner.shelf.folder.clone();
        Ok((slf.get_type().getattr("_from_bytes")?, (bytes, folder)))
    }

    #[staticmethod]
    #[pyo3(signature = (bytes, plugins = None))]
    fn _from_bytes(py: Python<'_>, bytes: &[u8], plugins: Option<PathBuf>) -> Answer<Self> {
        build::read(py, bytes, None, Shelf::open(py, plugins.as_deref())?, None)
    }
}
