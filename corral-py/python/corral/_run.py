"""Runs of specs, with a bar that shows how far they are."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from . import _corral


def run(
    spec: str | os.PathLike[str] | dict[str, Any],
    *,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    fast: bool = False,
    progress: bool | Callable[[int, int], object] | None = None,
    plugins: str | os.PathLike[str] | None = None,
) -> _corral.Result:
    """Runs a spec on all cores and returns its result.

    Parameters
    ----------
    spec : path, str or dict
        A file, a dictionary, TOML text, or the name of a built-in experiment (see `list_experiments`). In a dictionary a data
        frame may stand for a file, and bases of your own may be objects, as in a band; every cell plays with copies of them.
    out : path, optional
        A folder for what is finished; the same call goes on from it. None keeps nothing.
    jobs : int, optional
        Cells that run at once; by default as many as there are cores.
    fast : bool
        The spec's fast preset.
    progress : bool or callable, optional
        True or False for a bar on stderr (None: where it is a terminal), or a function of rounds done and in all.
    plugins : path, optional
        A folder of compiled plugins, where the spec names some.

    Returns
    -------
    Result

    Examples
    --------
    >>> import corral
    >>> result = corral.run({
    ...     "rounds": 300, "seeds": 4,
    ...     "environment": {"name": "bernoulli", "means": [0.8, 0.2]},
    ...     "learner": [{"label": "band", "master": "practical", "bases": [{"name": "ucb1"}, {"name": "exp3"}]},
    ...                 {"base": {"name": "random"}}]})
    >>> table = result.table()
    >>> table["learner"].tolist(), bool(table["regret"][0] < table["regret"][1])
    (['band', 'random'], True)
    """
    if progress is None:
        progress = sys.stderr.isatty()
    bar = _Bar() if progress is True else None
    tell = bar or (progress if callable(progress) else None)
    with tempfile.TemporaryDirectory() as folder:
        try:
            return _corral.run(spec, folder if out is None else out, jobs=jobs, fast=fast, tell=tell, plugins=plugins)
        finally:
            if bar:
                bar.clear()


class _Bar:
    """A bar of 32 characters, drawn at most ten times a second."""

    def __init__(self) -> None:
        self.started = self.last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self.last < 0.1:
            return
        self.last = now
        share = done / max(total, 1)
        left = f"{(now - self.started) * (1 - share) / share:.0f} s left" if share > 0 else ""
        sys.stderr.write(f"\r{'█' * round(32 * share):32} {share:4.0%}  {done} of {total} rounds  {left}  ")
        sys.stderr.flush()

    def clear(self) -> None:
        sys.stderr.write("\r" + " " * 80 + "\r")
        sys.stderr.flush()
