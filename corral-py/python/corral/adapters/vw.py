"""A Vowpal Wabbit workspace as a base of a band."""

from __future__ import annotations

import numbers
import os
import tempfile
from typing import Any

from vowpalwabbit import Workspace

from .._errors import InvalidValue

__all__ = ["VWBase"]

INTERACTIONS = {"-q", "--quadratic", "--cubic", "--interactions"}
LEAST = 0.01  # no round counts more than a hundredfold


class VWBase:
    """A Vowpal Wabbit workspace with contextual exploration (`--cb_explore_adf ...`) as a base.

    Parameters
    ----------
    actions : int
        How many there are, as in the band; with feature rows, at most.
    args : str
        Options of the workspace. The features of a round are in the namespace `s`, those of an action in `a`. Without
        interactions between them every action looks the same whatever the round is, so `-q sa` is added unless the options
        name interactions of their own (`-q`, `--quadratic`, `--cubic`, `--interactions`).

    >>> from corral import Band
    >>> from corral.adapters.vw import VWBase
    >>> band = Band([VWBase(actions=2, args="--epsilon 0.1"), "linucb"], actions=2, features=3, seed=1)
    >>> band.learn(band.choose([1, 0, 1]), reward=1)
    """

    learns_from_others = True

    def __init__(self, actions: int, args: str = "--epsilon 0.1 --cb_type mtr") -> None:
        given: Any = actions
        if isinstance(given, bool) or not isinstance(given, numbers.Integral) or given < 1:
            raise InvalidValue(f"actions: how many there are, a whole number from 1, but this is {given!r}")
        self.actions, self.args = actions, args
        self._workspace = self._open()

    def join(self, actions: int, features: int, row_features: int) -> None:
        """Refuses a band with another number of actions."""
        if not row_features and actions != self.actions:
            raise InvalidValue(f"VWBase(actions={self.actions}) in a band of {actions} actions: it must be as many")

    def _open(self, model: str | None = None) -> Workspace:
        # A model brings the options with it that it was made with.
        crossed = INTERACTIONS.isdisjoint(word.split("=")[0] for word in self.args.split())
        options = "" if model else f"--cb_explore_adf {self.args}{' -q sa' if crossed else ''}"
        # The counters of its losses are part of its state: what is loaded saves the same. A path may have spaces in it.
        kept = ["--quiet", "--preserve_performance_counters", *(["-i", model] if model else ())]
        return Workspace(options, arg_list=kept)

    def _lines(self, x: Any, label: tuple[int, float, float] | None = None) -> list[str]:
        features, rows = x if isinstance(x, tuple) else (x, None)
        lines = [f"shared |s {_numbers(features if features is not None else ())}"]
        for action in range(self.actions if rows is None else len(rows)):
            own = f"|a id{action}" if rows is None else f"|a {_numbers(rows[action])}"
            lines.append(f"0:{label[1]!r}:{label[2]!r} {own}" if label and label[0] == action else own)
        return lines

    def _pmf(self, x: Any) -> list[float]:
        pmf = [max(float(p), 0.0) for p in self._workspace.predict(self._lines(x))]
        return [p / sum(pmf) for p in pmf]

    def propose(self, x: Any, u: float) -> tuple[int, float]:
        """Draws from the distribution of the workspace."""
        pmf = self._pmf(x)
        chosen = max(range(len(pmf)), key=pmf.__getitem__)
        for action, p in enumerate(pmf):
            u -= p
            if u < 0:
                chosen = action
                break
        return chosen, pmf[chosen]

    def likelihood(self, x: Any, action: int) -> float:
        """The probability of an action in that distribution."""
        return self._pmf(x)[action]

    def learn(self, x: Any, action: int, loss: float, weight: float, probability: float) -> None:
        """Learns a loss; with its weight the action was played with probability `probability / weight`."""
        if weight == 0:
            return
        played = min(max(probability / weight, LEAST), 1.0)
        self._workspace.learn(self._lines(x, (action, loss, played)))

    def __getstate__(self) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model")
            self._workspace.save(path)
            with open(path, "rb") as file:
                return {"actions": self.actions, "args": self.args, "model": file.read()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.actions, self.args = state["actions"], state["args"]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model")
            with open(path, "wb") as file:
                file.write(state["model"])
            self._workspace = self._open(path)


def _numbers(values: Any) -> str:
    return " ".join(f"{i}:{v!r}" for i, v in enumerate(map(float, values)))
