"""A band as a coba learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from coba.primitives import Categorical, Learner, is_batch

from .. import Band, Decision
from .._errors import InvalidType, InvalidValue

__all__ = ["BandLearner"]


class BandLearner(Learner):
    """A band as a coba learner. It is built at the first context.

    Contexts are None, numbers, categories or sequences of them. Actions that are sequences of numbers have features: the
    band is then built with a row for each action, of 1, the action's numbers, and their products with those of the context, as
    coba's own `LinUCBLearner` has them. One-hot actions, and all others, are names: those of the first round in any order.

    Parameters
    ----------
    bases
        As for `corral.Band`.
    reward_range : (float, float) or "learned"
        The smallest and the largest reward of the environment.
    most : int, optional
        The largest number of actions, where it changes; by default as many as at first. Only actions with features may be
        fewer.
    label : str
        What coba calls the learner.
    **keys
        Those of `corral.Band`, without its shape.

    Examples
    --------
    >>> learner = BandLearner(["ucb1", "exp3"], seed=1)
    >>> action, probability, kept = learner.predict(None, ["left", "right"])
    >>> learner.learn(None, action, 1.0, probability, **kept)
    """

    def __init__(
        self,
        bases: Sequence[Any],
        *,
        reward_range: tuple[float, float] | Literal["learned"] = (0.0, 1.0),
        most: int | None = None,
        label: str = "corral",
        **keys: Any,
    ) -> None:
        self._bases, self._label, self._most = list(bases), label, most
        self._keys = {**keys, "reward_range": reward_range}
        self._band: Band[int] | None = None
        self._first: tuple[int, bool] = (0, False)
        # The numbers that the band knows actions without features by.
        self._numbers: dict[Any, int] = {}

    @property
    def params(self) -> Mapping[str, Any]:
        """What coba calls it, with everything that tells it from other learners."""
        names = [_name(b) for b in self._bases]
        plain = {k: v if isinstance(v, (int, float, str)) or v is None else str(v) for k, v in self._keys.items()}
        return {"family": self._label, "bases": ",".join(names), "seed": None, **plain}

    @property
    def band(self) -> Band[int] | None:
        """The band, once it has seen a context."""
        return self._band

    def predict(self, context: Any, actions: Sequence[Any]) -> tuple[Any, float, dict[str, Decision[int]]]:
        """An action, its probability, and the decision, which coba hands back to `learn`."""
        _one(context, actions)
        x, rows = _features(context), _rows(actions)
        crossed = [[1.0, *row, *(a * b for a in x for b in row)] for row in rows or ()]
        if self._band is None:
            count = self._most or len(actions)
            numbers = {} if crossed else _numbered(actions)
            shape: dict[str, Any] = {"row_features": len(crossed[0])} if crossed else {"features": len(x)}
            self._band = Band(self._bases, actions=count, **shape, **self._keys)
            self._first, self._numbers = (count, bool(crossed)), numbers
        count, had_rows = self._first
        if had_rows != bool(crossed):
            raise InvalidValue(f"actions had {'' if had_rows else 'no '}features at first: {actions!r}")
        if len(actions) > count or (len(actions) < count and not crossed):
            raise InvalidValue(f"{len(actions)} actions, where there were {count} at first")
        places = None if crossed else self._places(actions)
        d = self._band.choose(actions=crossed) if crossed else self._band.choose(x or None)
        known = d.propensity if d.propensity is not None else d.base_probability
        return actions[d.action if places is None else places[d.action]], known, {"decision": d}

    def _places(self, actions: Sequence[Any]) -> dict[int, int]:
        """Where each action of the band stands among those of this round."""
        places = {}
        for key, place in _numbered(actions).items():
            if key not in self._numbers:
                raise InvalidValue(f"the action {actions[place]!r} was not there at first: actions without features are names")
            places[self._numbers[key]] = place
        return places

    def learn(self, context: Any, action: Any, reward: float, probability: float, decision: Decision[int]) -> None:
        """Learns the reward of the decision."""
        _one(context, reward)
        assert self._band is not None
        low, high = self._band.reward_range
        if self._keys["reward_range"] != "learned" and not low <= reward <= high:
            raise InvalidValue(f"the reward {reward} is outside [{low}, {high}]: say where rewards lie, BandLearner(..., reward_range=(low, high))")
        self._band.learn(decision, reward=float(reward))


def _name(base: Any) -> str:
    """What a base is called; a band inside the band by its master and its bases."""
    if not isinstance(base, Mapping):
        return base if isinstance(base, str) else type(base).__name__
    if label := base.get("label") or base.get("name"):
        return str(label)
    master = base.get("master") or base.get("preset") or "band"
    return f"{_name(master)}({','.join(map(_name, base.get('bases', ())))})"


def _one(*args: Any) -> None:
    """Refuses a batch: coba then asks for its rounds one by one."""
    if any(map(is_batch, args)):
        raise InvalidType("one round at a time")


def _numbered(actions: Sequence[Any]) -> dict[Any, int]:
    """The place of each action, by its value."""
    places: dict[Any, int] = {}
    for place, action in enumerate(actions):
        if places.setdefault(_value(action), place) != place:
            raise InvalidValue(f"the action {action!r} is there twice: {actions!r}")
    return places


def _value(action: Any) -> Any:
    return tuple(map(_value, action)) if isinstance(action, (list, tuple)) else action


def _features(context: Any) -> list[float]:
    if context is None:
        return []
    if isinstance(context, Categorical):
        return [float(v) for v in context.as_onehot]
    if isinstance(context, (int, float)):
        return [float(context)]
    if isinstance(context, (str, Mapping)):
        raise InvalidType(f"a context of numbers and categories is needed, but this is {context!r}")
    return [v for part in context for v in _features(part)]


def _rows(actions: Sequence[Any]) -> list[list[float]] | None:
    """The features of the actions; None where they have none. One-hot actions have none but their names."""
    if any(isinstance(a, Mapping) for a in actions):
        raise InvalidType(f"actions with dense features are needed, but these are {actions!r}")
    if not all(isinstance(a, (list, tuple)) for a in actions):
        return None
    rows = [_features(a) for a in actions]
    widths = {len(row) for row in rows}
    if len(widths) != 1:
        raise InvalidValue(f"actions with as many features each are needed, but these are {actions!r}")
    one_hot = widths == {len(rows)} and all(sorted(row) == [0.0] * (len(row) - 1) + [1.0] for row in rows)
    return None if one_hot and len({tuple(row) for row in rows}) == len(rows) else rows
