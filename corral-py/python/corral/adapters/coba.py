"""A band as a coba learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from coba.primitives import Categorical, Learner

from .. import Band, Decision

__all__ = ["BandLearner"]


class BandLearner(Learner):
    """A band as a coba learner. It is built at the first context: `keys` are those of `corral.Band` without its shape.

    Contexts are None, numbers, categories or sequences of them. The number of actions must stay what it was at first.

    >>> learner = BandLearner(["ucb1", "exp3"], seed=1)
    >>> action, probability, kept = learner.predict(None, ["left", "right"])
    >>> learner.learn(None, action, 1.0, probability, **kept)
    """

    def __init__(self, bases: Sequence[Any], *, label: str = "corral", **keys: Any) -> None:
        self._bases, self._label, self._keys = list(bases), label, keys
        self._band: Band | None = None
        self._actions = 0

    @property
    def params(self) -> Mapping[str, Any]:
        """What coba calls it."""
        names = [b if isinstance(b, str) else b["name"] if isinstance(b, dict) else type(b).__name__ for b in self._bases]
        return {"family": self._label, "bases": ",".join(names), "seed": self._keys.get("seed")}

    @property
    def band(self) -> Band | None:
        """The band, once it has seen a context."""
        return self._band

    def predict(self, context: Any, actions: Sequence[Any]) -> tuple[Any, float, dict[str, Decision]]:
        """An action, its probability, and the decision, which coba hands back to `learn`."""
        x = _features(context)
        if self._band is None:
            self._actions = len(actions)
            self._band = Band(self._bases, actions=len(actions), features=len(x), **self._keys)
        elif len(actions) != self._actions:
            raise ValueError(f"{len(actions)} actions, where there were {self._actions} at first")
        d = self._band.choose(x or None)
        number = d.action
        assert isinstance(number, int)
        known = d.propensity if d.propensity is not None else d.base_probability
        return actions[number], known, {"decision": d}

    def learn(self, context: Any, action: Any, reward: float, probability: float, decision: Decision) -> None:
        """Learns the reward of the decision."""
        assert self._band is not None
        self._band.learn(decision, reward=float(reward))


def _features(context: Any) -> list[float]:
    if context is None:
        return []
    if isinstance(context, Categorical):
        return [float(v) for v in context.as_onehot]
    if isinstance(context, (int, float)):
        return [float(context)]
    if isinstance(context, (str, Mapping)):
        raise TypeError(f"a context of numbers and categories is needed, but this is {context!r}")
    return [v for part in context for v in _features(part)]
