"""Decision logs: what was decided, with which probability, and what came of it.

`Band(..., log="decisions.jsonl")` writes one; `corral.evaluate` says from it what other policies would have earned.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from . import _corral, _frames

__all__ = ["Evaluation", "Policy", "evaluate", "read", "verify"]

Evaluation = _corral.Evaluation
Policy = str | Callable[[Any, list[Any]], Any]


def read(path: str | os.PathLike[str], *, strict: bool = False) -> dict[str, Any]:
    """Reads a log as columns, a row for each decision.

    Parameters
    ----------
    path : path
        Our lines of JSON, Vowpal Wabbit's dsjson, or CSV with the columns action, propensity and reward; plain or gzip.
    strict : bool
        Whether a line that cannot be read is an error; else it is left out, and a warning says so.

    Returns
    -------
    dict
        id, action, offered (how many actions there were), propensity, reward (NaN where it is not known; of a log of losses it is
        low + high - loss), forced, exact; pbar and q (of each base, in the order of bases) and features, where the log has them.
        pandas and polars take all but bases.
    """
    return _corral.read_log(os.fspath(path), strict=strict)


def verify(
    path: str | os.PathLike[str],
    start: str | os.PathLike[str],
    *,
    end: str | os.PathLike[str] | None = None,
    plugins: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Plays the log of a band again, from a file that `Band.save` wrote: every decision and every probability must come out to the
    same bits. Python bases are unpickled, which runs their code: verify files that you trust.

    Parameters
    ----------
    path : path
        The log, from before or after the band was saved.
    start : path
        What `Band.save` wrote, with no decision out.
    end : path, optional
        What it wrote after the last line: the state must be the same, to the last bit.
    plugins : path, optional
        The folder of its plugins, where it has some.

    Returns
    -------
    dict
        lines, before (lines that the band had seen when it was saved), decisions, learned; same_state, None without end.

    Raises
    ------
    ValueError
        A line was removed, changed, doubled or moved, or does not come out as it is written: the first is named.
    """
    return _corral.verify_log(
        os.fspath(path),
        os.fspath(start),
        end=None if end is None else os.fspath(end),
        plugins=None if plugins is None else os.fspath(plugins),
    )


def evaluate(
    log: str | os.PathLike[str] | Mapping[str, Any] | Any,
    policies: Iterable[Policy],
    *,
    estimators: Sequence[Literal["ips", "snips", "clipped", "cressie-read", "direct", "dr"]] | None = None,
    alpha: float = 0.05,
    clip: float = 10.0,
    reward_range: tuple[float, float] | None = None,
    unit: str | None = None,
    strict: bool = False,
    drift: bool = False,
) -> Evaluation:
    """What policies would have earned, from a log of another.

    Parameters
    ----------
    log : path, data frame or columns
        As for `read`; a data frame or dictionary has the columns action, propensity and reward.
    policies : iterable
        "uniform", "logger", "base:NAME" (of the band that wrote the log), "mix:NAME=SHARE,NAME=SHARE", "action:NAME",
        "column:NAME" (a column of probabilities), "learner:NAME" (a base of ours, replayed step by step); or a function of the
        context and the list of actions that were offered, which returns one of them or a probability for each.
    estimators : sequence of str, optional
        All, unless some are named.
    alpha : float
        The probability with which an interval may miss.
    clip : float
        Where the clipped estimator cuts weights.
    reward_range : (float, float), optional
        Where rewards lie, if the log does not say; else in [0, 1].
    unit : str, optional
        The field that decisions are grouped by: a user, a session.
    strict : bool
        Whether a line that cannot be read is an error.
    drift : bool
        Whether the environment may change: then no policy stands still.

    Returns
    -------
    Evaluation
        With table(), intervals(), differences(), alarms and verdict; a notebook shows it as a page.

    Examples
    --------
    >>> import corral
    >>> log = {"action": ["a", "b"] * 50, "propensity": [0.5] * 100, "reward": [1, 0] * 50}
    >>> found = corral.evaluate(log, ["uniform", "action:a", lambda x, actions: "b"], estimators=["ips"])
    >>> found.intervals("fixed-time")["value"].tolist()
    [0.5, 1.0, 0.0]
    """
    pair = None if reward_range is None else (float(reward_range[0]), float(reward_range[1]))
    path = os.fspath(log) if isinstance(log, (str, os.PathLike)) else _frames.kept(log)
    return _corral.evaluate(
        path,
        list(policies),
        estimators=None if estimators is None else list(estimators),
        alpha=alpha,
        clip=clip,
        range=pair,
        unit=unit,
        strict=strict,
        drift=drift,
    )
