import os
from types import GenericAlias
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeAlias, TypeVar, final, overload

import numpy as np
import numpy.typing as npt

from ._bases import Base, BaseWithProbability

__all__ = [
    "Band",
    "Benched",
    "BenchedWarning",
    "Decision",
    "Evaluation",
    "Result",
    "World",
    "__version__",
    "collect",
    "count_cells",
    "evaluate",
    "laws",
    "list_bases",
    "list_environments",
    "list_experiments",
    "list_masters",
    "load",
    "read_log",
    "run",
    "run_cell",
    "verify_log",
]

_Path: TypeAlias = str | os.PathLike[str]
_Columns: TypeAlias = dict[str, npt.NDArray[Any]]
_Named: TypeAlias = str | dict[str, Any]
_Spec: TypeAlias = _Path | dict[str, Any]
_Base: TypeAlias = str | dict[str, Any] | Base | BaseWithProbability
_Pair: TypeAlias = tuple[float, float] | Sequence[float]
_Preset: TypeAlias = Literal["practical", "paper", "safe"]
_Point: TypeAlias = npt.NDArray[np.float64]

# What is played: a name, a number or a point.
_A = TypeVar("_A")
_A_co = TypeVar("_A_co", covariant=True)

__version__: str

class BenchedWarning(UserWarning):
    """A base failed and plays no more; the band goes on over the others. Its cause is the exception of the base."""

@final
class Benched:
    """A base that plays no more, and why."""
    @property
    def name(self) -> str:
        """What the band calls it."""
    @property
    def round(self) -> int:
        """The round in which it failed."""
    @property
    def during(self) -> str:
        """What it was asked to do: "propose", "learn", "likelihood", "apply_order"; "retired" where the caller took it out."""
    @property
    def reason(self) -> str:
        """What went wrong, in a line."""
    @property
    def exception(self) -> BaseException | None:
        """What a Python base raised, with its traceback."""

@final
class Decision(Generic[_A_co]):
    """What a band chose, and where its reward must go. `band.learn` takes it or its token, now or later, here or in another
    process that loaded the band; each is learned once.

    Examples
    --------
    >>> import corral
    >>> band = corral.Band(["ucb1", "exp3"], actions=["left", "right"], seed=1)
    >>> d = band.choose()
    >>> d.action in ("left", "right"), d.base in ("ucb1", "exp3"), 0 < d.propensity <= 1
    (True, True, True)
    >>> token = d.token                    # text, for a page, a queue or a database
    >>> band.learn(token, reward=1)
    """
    @property
    def action(self) -> _A_co:
        """The action to play: its name, or its number where the band was built with a number of actions; or the point."""
    @property
    def propensity(self) -> float | None:
        """The probability with which the action was chosen, over all bases; None where a base cannot say its own."""
    @property
    def base(self) -> str:
        """The name of the base that proposed it."""
    @property
    def base_probability(self) -> float:
        """The probability with which that base was followed."""
    @property
    def id(self) -> str:
        """What tells it from every other decision: band, copy and round."""
    @property
    def token(self) -> str:
        """The decision as one line of text that is safe in JSON and in a URL: `learn` of this band, or of one that was loaded
        from it, takes it. It is sealed: one that was changed or made up is refused.
        """
    @property
    def round(self) -> int:
        """The round of the band in which it was made, from 0."""
    @property
    def learned(self) -> bool:
        """Whether its reward was learned."""
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, tuple[bytes]]: ...
    @staticmethod
    def _from_bytes(bytes: bytes) -> Decision[Any]: ...

@final
class Band(Generic[_A]):
    """A band of bandit algorithms under a master: choose, and learn the reward when it is known.

    A band may be called from any thread: calls are taken one after the other, each whole.

    Parameters
    ----------
    bases : iterable
        Names (see `list_bases`), dictionaries with a name and parameters, dictionaries with a master and bases (a band inside
        the band), plugins by "file/base", Python objects with `propose(x, u)` and `learn(x, action, loss, weight)`.
    actions : iterable of str, or int
        Their names, or how many there are (with row_features: at most).
    max_actions : int, optional
        How many there may be with those that join later, by `add_action`; by default as many as have names.
    points : dict, optional
        Instead of actions, the set of R^d whose points are played: {"ball": {"dim": 3}}, {"box": {"dim": 2}},
        {"simplex": {"vertices": 4}}, {"sphere": {"dim": 5}}, {"hypercube": {"dim": 9}},
        {"polytope": {"rows": A, "bounds": b}}, {"finite": {"points": P}}.
    features : int
        How many numbers describe a round.
    row_features : int
        How many numbers describe each action of a round.
    feature_range : "learned", (low, high), a pair for each feature, or None
        "learned" clips features to ten times the median size of their first values (until these are known: to [-10, 10]);
        a pair is a range of your own; None takes every finite number.
    outside : "clip" or "refuse"
        What becomes of features outside a range of your own.
    reward_range : (float, float) or "learned", optional
        The smallest and the largest reward, (0, 1) where nothing is said; "learned": that of the rewards so far, which one outside
        widens, by at most the width that it has.
    preset : "practical", "paper" or "safe"
        Low loss; Algorithm 1 to the letter, with its guarantee; or both, under Corral, for rewards that may react to the choices
        (its bases are given by name or dictionary).
    master : str or dict, optional
        Another master instead of a preset, as in a spec (see `list_masters`).
    horizon : int, optional
        How many rounds there will be, where that is known.
    seed : int, optional
        The same seed and calls give the same choices; None takes one from the system.
    propensities : bool or "full"
        Whether decisions know the probability of their action. "full": with a log, every base's probability of every offered action
        too, from which differences of bases are known far more closely.
    quota : (int, int), optional
        (most, window): of any `window` rewards in a row at most `most` of one client are learned; `learn` wants client=.
    budget : float or dict, optional
        What a decision may cost on average; `learn` wants cost=. Prices are learned from the costs, and may change.
    copy : int, optional
        A number of this copy of the band, where the ids of decisions are to be the same in every run; None draws one. Every
        process that loads, unpickles or inherits a band is a copy of its own, and each learns the decisions of all.
    plugins : path, optional
        A folder of compiled plugins. Their bases run in this process, or with isolate=True in one of their own.
    log : path, optional
        A file to which every decision and every reward is appended, for `corral.evaluate` and `corral log`.
    pending : int, optional
        Keeps up to so many decisions that wait for their rewards: `learn` then takes their ids too, and `expire` ends the wait
        of those that wait too long.
    watch : bool
        Whether the values of the bases are followed, with bounds that hold at any time: see `report` and `metrics`.

    Examples
    --------
    >>> import corral
    >>> band = corral.Band(["ucb1", {"name": "exp3"}, "thompson"], actions=["small", "large"], seed=1)
    >>> for _ in range(500):
    ...     d = band.choose()
    ...     band.learn(d, reward={"small": 0.2, "large": 0.9}[d.action])
    >>> band.choose().action
    'large'
    """
    @overload
    def __new__(
        cls,
        bases: Iterable[_Base],
        *,
        actions: int,
        max_actions: int | None = None,
        points: None = None,
        features: int = 0,
        row_features: int = 0,
        feature_range: Literal["learned"] | _Pair | Sequence[_Pair] | None = "learned",
        outside: Literal["clip", "refuse"] = "clip",
        reward_range: _Pair | Literal["learned"] | None = None,
        preset: _Preset = "practical",
        master: _Named | None = None,
        horizon: int | None = None,
        seed: int | None = None,
        propensities: bool | Literal["full"] = True,
        quota: _Pair | None = None,
        budget: float | dict[str, float] | None = None,
        copy: int | None = None,
        plugins: _Path | None = None,
        log: _Path | None = None,
        pending: int | None = None,
        watch: bool = False,
    ) -> Band[int]: ...
    @overload
    def __new__(
        cls,
        bases: Iterable[_Base],
        *,
        actions: Iterable[str],
        max_actions: int | None = None,
        points: None = None,
        features: int = 0,
        row_features: int = 0,
        feature_range: Literal["learned"] | _Pair | Sequence[_Pair] | None = "learned",
        outside: Literal["clip", "refuse"] = "clip",
        reward_range: _Pair | Literal["learned"] | None = None,
        preset: _Preset = "practical",
        master: _Named | None = None,
        horizon: int | None = None,
        seed: int | None = None,
        propensities: bool | Literal["full"] = True,
        quota: _Pair | None = None,
        budget: float | dict[str, float] | None = None,
        copy: int | None = None,
        plugins: _Path | None = None,
        log: _Path | None = None,
        pending: int | None = None,
        watch: bool = False,
    ) -> Band[str]: ...
    @overload
    def __new__(
        cls,
        bases: Iterable[_Base],
        *,
        actions: None = None,
        max_actions: None = None,
        points: dict[str, Any],
        features: int = 0,
        row_features: int = 0,
        feature_range: Literal["learned"] | _Pair | Sequence[_Pair] | None = "learned",
        outside: Literal["clip", "refuse"] = "clip",
        reward_range: _Pair | Literal["learned"] | None = None,
        preset: _Preset = "practical",
        master: _Named | None = None,
        horizon: int | None = None,
        seed: int | None = None,
        propensities: bool | Literal["full"] = True,
        quota: _Pair | None = None,
        budget: float | dict[str, float] | None = None,
        copy: int | None = None,
        plugins: _Path | None = None,
        log: _Path | None = None,
        pending: int | None = None,
        watch: bool = False,
    ) -> Band[_Point]: ...
    def choose(
        self, x: npt.ArrayLike | None = None, *, actions: npt.ArrayLike | Mapping[str, npt.ArrayLike] | Iterable[str] | None = None
    ) -> Decision[_A]:
        """Chooses an action.

        Parameters
        ----------
        x : array_like, optional
            The features of the round.
        actions : list of str, dict or array_like, optional
            Those that are offered, where not all are: a list of names, or with row_features a dictionary of name and row. An array of
            rows has one for every action of the band, in their order; without names, those of the first actions.

        Returns
        -------
        Decision
        """
    def choose_many(self, xs: npt.ArrayLike | None = None, *, count: int | None = None) -> list[Decision[_A]]:
        """Chooses for many rounds, in order. All of them are looked at before the first is chosen for.

        Parameters
        ----------
        xs : array_like, optional
            A row of features for each round.
        count : int, optional
            How many rounds, where the band has no features.

        Returns
        -------
        list of Decision
        """
    def distribution(
        self, x: npt.ArrayLike | None = None, *, actions: npt.ArrayLike | Mapping[str, npt.ArrayLike] | Iterable[str] | None = None
    ) -> npt.NDArray[np.float64]:
        """The probability of each action, were it chosen now: of every base by how it is followed. Nothing changes. Rounds in which the
        practical preset looks at an action by itself are left out.

        Parameters
        ----------
        x : array_like, optional
            The features of a round, or a row of them for each of many.
        actions : array_like or dict, optional
            As for `choose`.

        Returns
        -------
        numpy.ndarray
            In the order of the actions; for many rounds a row each.

        Examples
        --------
        >>> import corral
        >>> band = corral.Band(["ucb1", "exp3"], actions=4, seed=1)
        >>> float(round(band.distribution().sum(), 9))
        1.0
        """
    def learn(
        self,
        decision: Decision[_A] | str,
        *,
        reward: float | None = None,
        loss: float | None = None,
        cost: float | None = None,
        client: str | None = None,
    ) -> None:
        """Learns the reward or the loss of a decision, once; or what it cost alone, where it has no reward.

        Parameters
        ----------
        decision : Decision or str
            What `choose` returned, its token, or where the band keeps decisions (pending=) its id.
        reward : float, optional
            In reward_range.
        loss : float, optional
            In [0, 1]; one of the two.
        cost : float, optional
            What it cost in money, where the band has a budget. Alone where the decision was not rated: it was paid for all the same.
        client : str, optional
            Whose it is, where the band has a quota; beyond that, the decision is settled and nothing is learned of it.
        """
    def learn_many(
        self,
        decisions: Sequence[Decision[_A] | str],
        *,
        rewards: npt.ArrayLike | None = None,
        losses: npt.ArrayLike | None = None,
        costs: npt.ArrayLike | None = None,
        clients: Sequence[str] | None = None,
    ) -> None:
        """Learns many decisions in order. All of them are looked at before the first is learned: one that cannot be leaves the band
        as it was.

        Parameters
        ----------
        decisions : sequence
            Decisions, tokens or ids, as `learn` takes them.
        rewards : array_like, optional
            A reward for each, in reward_range.
        losses : array_like, optional
            Or a loss for each, in [0, 1].
        costs : array_like, optional
            What each cost in money, where the band has a budget; alone where they were not rated.
        clients : list of str, optional
            Whose they are, where the band has a quota.
        """
    def expire(
        self, seconds: float, *, reward: float | None = None, loss: float | None = None, cost: float | None = None
    ) -> int:
        """Ends the wait of decisions that a band with pending= keeps. With a reward or a loss they are learned as that; without,
        nothing is learned of them. Either way no reward of theirs is taken any more.

        Parameters
        ----------
        seconds : float
            Those that have waited longer.
        reward : float, optional
            What no answer means, in reward_range.
        loss : float, optional
            The same in [0, 1].
        cost : float, optional
            What each cost in money, where the band has a budget. Without reward and cost they count as what their actions cost on average.

        Returns
        -------
        int
            How many.
        """
    def play(
        self,
        losses: npt.ArrayLike | None = None,
        contexts: npt.ArrayLike | None = None,
        *,
        rewards: npt.ArrayLike | None = None,
    ) -> _Columns:
        """Plays a whole table, a row for each round and a column for each action. The interpreter is not in the loop, and other
        threads run meanwhile.

        Parameters
        ----------
        losses : array_like, optional
            In [0, 1].
        contexts : array_like, optional
            A row of features for each round, where the band has some.
        rewards : array_like, optional
            Instead of losses, in reward_range.

        Returns
        -------
        dict
            Columns: action, loss, reward, base (actions and bases by number) and propensity (NaN where it is not known).
        """
    def simulate(self, environment: _Named, rounds: int, *, seed: int = 0) -> dict[str, Any]:
        """Plays in an environment. The interpreter is not in the loop, and other threads run meanwhile.

        Parameters
        ----------
        environment : str or dict
            A name, or a dictionary with parameters: see `list_environments`.
        rounds : int
            How many.
        seed : int
            Of the environment.

        Returns
        -------
        dict
            rounds, loss (the sum), regret (against the best fixed decision in hindsight), and curve: the columns round and regret.
        """
    def add_action(self, name: str) -> None:
        """Adds an action by its name, or puts one back that was retired: see max_actions."""
    def retire_action(self, name: str) -> None:
        """Takes an action out of what rounds offer. Its decisions that are out can still be learned."""
    def add(self, base: _Base, *, share: float = 0.1, name: str | None = None) -> str:
        """Adds a base that is followed with probability `share` at first; the others keep their ratios. Returns its name."""
    def retire(self, base: str | int) -> None:
        """Takes a base out, by name or number; the others keep their ratios. Its decisions that are out can still be learned."""
    def reinstate(self, base: str | int, *, share: float = 0.1) -> None:
        """Puts a base back that was benched or retired; it is followed with probability `share` at first."""
    def save(self, path: _Path) -> None:
        """Writes the band to a file, whole or not at all; `corral.load` goes on from it bit for bit. Python bases are pickled."""
    def table(self) -> _Columns:
        """What each base did, as columns: name, probability, plays, mean_reward, effective_samples, benched."""
    def report(self) -> str:
        """Probability, plays and mean reward of each base, which were benched and why, and remarks on the ranges of rewards and
        features, as text. With watch=True the value of each base, with bounds that hold at any time, and "best" only where it is so.
        """
    def metrics(self) -> dict[str, Any]:
        """Counts of rounds, decisions that are out, losses that were refused, features that were clipped and rewards over their
        client's quota, and what each base did: for a monitor. With watch=True "values" has a value, low and high for each base, and
        "best" the name of the one that is best at any time with its lead, or None.
        """
    def experience(self, plays: float = 10.0) -> list[dict[str, Any]]:
        """What this band says of its bases, as a prior for a band on another problem: `master={"name": ..., "experience": ...}` takes it.
        Each has the reward of its plays less that of all as "relative", and as "plays" how many it had, at most this many.
        """
    def prometheus(self, name: str) -> str:
        """The same as text for Prometheus, of a band with this name."""
    @property
    def bases(self) -> list[str]:
        """The names of the bases."""
    @property
    def actions(self) -> list[str] | int:
        """The names of the actions, or how many there are; 0 where points are played."""
    @property
    def features(self) -> int:
        """How many numbers describe a round."""
    @property
    def row_features(self) -> int:
        """How many numbers describe each action of a round."""
    @property
    def reward_range(self) -> tuple[float, float]:
        """The smallest and the largest reward; so far, where they are learned."""
    @property
    def probabilities(self) -> npt.NDArray[np.float64]:
        """The probability with which each base is followed now."""
    @property
    def rounds(self) -> int:
        """The rounds that were played."""
    @property
    def benched(self) -> list[Benched]:
        """The bases that play no more, and why."""
    def __len__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, tuple[bytes, Any]]: ...
    @staticmethod
    def _from_bytes(bytes: bytes, plugins: _Path | None = None) -> Band[Any]: ...
    def _repr_html_(self) -> str: ...
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...

@final
class World:
    """An environment: ask for the next round, play an action or a point, get its loss.

    Parameters
    ----------
    environment : str or dict
        A name, or a dictionary with a name and parameters (see `list_environments`).
    rounds : int
        How many rounds will be played: environments that change do so within them.
    seed : int
        The same seed gives the same environment.

    Examples
    --------
    >>> import corral
    >>> world = corral.World({"name": "bernoulli", "means": [0.9, 0.1]}, rounds=100, seed=1)
    >>> world.next()                        # no features here
    >>> world.play(1) in (0.0, 1.0)
    True
    >>> for x in world:                     # endless, but for worlds of data
    ...     if world.play(1) == 1:
    ...         break
    """
    def __new__(cls, environment: _Named, *, rounds: int = 10_000, seed: int = 0) -> World: ...
    @property
    def actions(self) -> int:
        """How many actions there are (at most); 0 where points are played."""
    @property
    def features(self) -> int:
        """How many numbers describe a round."""
    @property
    def row_features(self) -> int:
        """How many numbers describe each action of a round."""
    @property
    def best_so_far(self) -> float:
        """The mean loss, summed over the rounds so far, of the best fixed decision in hindsight."""
    @property
    def offered(self) -> int:
        """How many of them this round offers: the first ones."""
    @property
    def points(self) -> dict[str, Any] | None:
        """The set whose points are played, as a band takes it; None where there are actions."""
    @property
    def dim(self) -> int:
        """How many coordinates its points have; 0 where there are actions."""
    @property
    def radius(self) -> float:
        """A bound on the length of its points; 0 where there are actions."""
    def next(self) -> Any:
        """Begins a round: None, its features, or its features and a row for each action. Raises StopIteration where data end."""
    def __iter__(self) -> World: ...
    def __next__(self) -> Any: ...
    def play(self, action: int | npt.ArrayLike) -> float:
        """Plays an action, by its number, or a point, and returns its loss: NaN where it is not seen. Once a round."""
    def mean_loss(self, action: int | npt.ArrayLike) -> float:
        """The mean loss of an action or a point in this round."""
    def nearest(self, point: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The point of that set which is nearest to `point`."""

@final
class Result:
    """What came of a run. It pickles, but for how fast it ran."""
    @property
    def name(self) -> str:
        """The name of the run."""
    def table(self) -> _Columns:
        """One row for each learner in each environment, as columns: regret and loss with their standard errors over seeds, and
        how the regret compares with that of the best base alone.
        """
    def cells(self) -> _Columns:
        """One row for each cell, as columns."""
    def curves(self) -> _Columns:
        """One row for each cell and checkpoint, as columns: the regret up to that round."""
    def bases(self) -> _Columns:
        """One row for each cell and base of a band, as columns."""
    def claims(self) -> _Columns:
        """One row for each claim and learner, as columns: what was measured, and the verdict."""
    def html(self) -> str:
        """The report as one HTML page."""
    def save(self, path: _Path) -> None:
        """Writes the report to a file."""
    def plot(self, environment: str | None = None, *, ax: Any = None) -> Any:
        """Draws the regret of every learner over the rounds with matplotlib: the mean over seeds, and one standard error around it.

        Parameters
        ----------
        environment : str, optional
            Which one, where there are several; by default the first.
        ax : matplotlib axes, optional
            Where; by default new ones.

        Returns
        -------
        matplotlib axes
        """
    def __len__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, tuple[str, bool, str]]: ...
    @staticmethod
    def _from_parts(text: str, fast: bool, cells: str) -> Result: ...
    def _repr_html_(self) -> str: ...

@final
class Evaluation:
    """What policies would have earned: see `corral.evaluate`."""
    def table(self) -> _Columns:
        """One row for each policy and estimator, as columns: value, the interval from low to high, when it holds ("fixed-time":
        one look that was planned in advance, "any-time": however often one looks), and what it assumes.
        """
    def intervals(self, kind: Literal["any-time", "fixed-time"] = "any-time") -> _Columns:
        """The intervals that hold however often one looks (kind="any-time"), or at one look (kind="fixed-time"), as columns."""
    def differences(self) -> _Columns:
        """One row for each pair of policies, as columns: the value of a less that of b, with an interval that holds at any time; with
        units at one look.
        """
    @property
    def rows(self) -> int:
        """Decisions that were read."""
    @property
    def used(self) -> int:
        """Decisions that were used."""
    @property
    def alarms(self) -> list[str]:
        """What makes the figures doubtful."""
    @property
    def verdict(self) -> str:
        """Which policy is best, if that is decided."""
    def html(self) -> str:
        """The report as one HTML page."""
    def _repr_html_(self) -> str: ...

def load(
    path: _Path, *, copy: int | None = None, plugins: _Path | None = None, log: _Path | None = None
) -> Band[Any]:
    """Reads a band that `Band.save` wrote. It goes on bit for bit, as a copy of its own: it learns the decisions of the band that
    was saved, and hands out none of its ids.

    Python bases are unpickled, which runs their code: load files that you trust.

    Parameters
    ----------
    path : path
    copy : int, optional
        The number of the copy, where ids are to be the same in every run.
    plugins : path, optional
        The folder of its plugins, where it has some; they must be the very files that it was saved with.
    log : path, optional
        Where it writes its decisions and rewards, as for `Band`.

    Returns
    -------
    Band
    """
def run(
    spec: _Spec,
    out: _Path,
    *,
    jobs: int | None = None,
    fast: bool = False,
    tell: Callable[[int, int], object] | None = None,
    plugins: _Path | None = None,
) -> Result:
    """Runs a spec into the folder `out`; `tell(done, total)` hears of the rounds played.

    `corral.run` is what to call.
    """
def run_cell(spec: _Spec, cell: int, *, fast: bool = False, plugins: _Path | None = None) -> dict[str, Any]:
    """Runs one cell of a spec: a pure function, so that any engine may run the cells of a spec in any order and anywhere.
    `collect` makes a result of them.

    Parameters
    ----------
    spec : path, str or dict
        As for `run`.
    cell : int
        Which one: from 0 to `count_cells(spec) - 1`.
    fast : bool
        The spec's fast preset.
    plugins : path, optional
        A folder of compiled plugins, where the spec names some.

    Returns
    -------
    dict
    """
def count_cells(spec: _Spec, *, fast: bool = False) -> int:
    """How many cells a spec has: one learner in one environment with one seed each.

    Parameters
    ----------
    spec : path, str or dict
        As for `run`.
    fast : bool
        The spec's fast preset.

    Returns
    -------
    int
    """
def collect(spec: _Spec, cells: Iterable[dict[str, Any]], *, fast: bool = False) -> Result:
    """The result of a spec whose cells were run one by one.

    Parameters
    ----------
    spec : path, str or dict
        As for `run`.
    cells : iterable of dict
        What `run_cell` returned, each cell once, in any order.
    fast : bool
        The spec's fast preset.

    Returns
    -------
    Result
    """
def read_log(path: _Path, *, strict: bool = False) -> dict[str, Any]:
    """See `corral.log.read`."""
def verify_log(
    path: _Path, start: _Path, *, end: _Path | None = None, plugins: _Path | None = None
) -> dict[str, Any]:
    """See `corral.log.verify`."""
def evaluate(
    path: _Path,
    policies: list[Any],
    *,
    estimators: list[str] | None = None,
    alpha: float = 0.05,
    clip: float = 10.0,
    range: tuple[float, float] | None = None,
    unit: str | None = None,
    strict: bool = False,
    drift: bool = False,
) -> Evaluation:
    """See `corral.evaluate`."""
def laws(
    base: Base | BaseWithProbability,
    *,
    actions: int = 3,
    points: dict[str, Any] | None = None,
    features: int = 0,
    row_features: int = 0,
    rounds: int = 2_000,
    seed: int = 1,
) -> list[tuple[str, str | None]]:
    """Runs every law of the contract kit on a base: each law, and how the base breaks it (None: it holds). The base itself is
    not touched: copies are made by pickle. points: the set that it plays in, as for a band, instead of actions.
    """
def list_bases() -> list[dict[str, Any]]:
    """What is said of every base, with its parameters.

    >>> import corral
    >>> [b["name"] for b in corral.list_bases()][:3]
    ['exp3', 'tsallis-inf', 'ucb1']
    """
def list_masters() -> list[dict[str, Any]]:
    """What is said of every master, with its parameters."""
def list_environments() -> list[dict[str, Any]]:
    """What is said of every environment, with its parameters and keys that build it.

    >>> import corral
    >>> one = corral.list_environments()[0]
    >>> world = corral.World({"name": one["name"], **one["example"]})
    """
def list_experiments() -> list[dict[str, Any]]:
    """The built-in experiments, and what each asks."""
