"""A band as a river bandit policy: pull an arm, then update it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from river.bandit.base import ArmID, ContextualPolicy, Policy

from .. import Band, Decision
from .._errors import InvalidValue

__all__ = ["BandContextualPolicy", "BandPolicy"]

PENDING = 10_000  # pulls of an arm that wait for their updates; the oldest beyond that are forgotten


class _Follows:
    """What both policies share: the band is built at the first pull, and an update of an arm belongs to the oldest of its pulls
    (with a context, of those with that context) that has none."""

    def _begin(self, bases: Sequence[Any], keys: dict[str, Any]) -> None:
        self.bases, self.keys = list(bases), keys
        self._band: Band[int] | None = None
        self._arms: list[ArmID] = []
        self._names: list[str] = []
        # The pulls of each arm that wait, with the numbers of their contexts.
        self._waiting: list[deque[tuple[list[float], Decision[int]]]] = []

    @property
    def band(self) -> Band[int] | None:
        """The band, once an arm was pulled."""
        return self._band

    def _choose(self, arm_ids: Sequence[ArmID], context: Mapping[str, float] | None) -> ArmID:
        if self._band is None:
            self._arms, self._names = list(arm_ids), sorted(context or ())
            self._waiting = [deque(maxlen=PENDING) for _ in self._arms]
            self._band = Band(self.bases, actions=len(self._arms), features=len(self._names), **self.keys)
        if list(arm_ids) != self._arms:
            raise InvalidValue(f"the arms are {list(arm_ids)}, and were {self._arms} at first")
        x = self._numbers(context)
        d = self._band.choose(x or None)
        self._waiting[d.action].append((x, d))
        return self._arms[d.action]

    def _numbers(self, context: Mapping[str, float] | None) -> list[float]:
        given = context or {}
        if missing := [name for name in self._names if name not in given]:
            raise InvalidValue(f"the context has no {missing[0]!r}, and had {self._names} at first")
        return [float(given[name]) for name in self._names]

    def _settle(self, arm_id: ArmID, context: Mapping[str, float] | None, reward: float) -> None:
        # An arm that somebody else pulled (a burn-in, a log) is not the band's to learn.
        if self._band is None or arm_id not in self._arms:
            return
        waiting, x = self._waiting[self._arms.index(arm_id)], self._numbers(context)
        found = next((place for place, (own, _) in enumerate(waiting) if own == x), None)
        if found is not None:
            # It waits on where the reward is refused.
            self._band.learn(waiting[found][1], reward=float(reward))
            del waiting[found]


class BandPolicy(_Follows, Policy):
    """A band as a policy without contexts. `keys` are those of `corral.Band` without its shape.

    Updates may come late and in any order: one is of the oldest pull of its arm that has none.

    >>> policy = BandPolicy(["ucb1", "exp3"], seed=1)
    >>> policy.update(policy.pull(["left", "right"]), 1.0)
    """

    def __init__(self, bases: Sequence[Any], reward_obj: Any = None, burn_in: int = 0, **keys: Any) -> None:
        Policy.__init__(self, reward_obj=reward_obj, burn_in=burn_in)
        self._begin(bases, keys)

    def _pull(self, arm_ids: list[ArmID]) -> ArmID:
        return self._choose(arm_ids, None)

    def update(self, arm_id: ArmID, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Learns the reward of an arm that was pulled."""
        super().update(arm_id, *reward_args, **reward_kwargs)
        self._settle(arm_id, None, reward_args[0])


class BandContextualPolicy(_Follows, ContextualPolicy):
    """A band as a policy over contexts: dictionaries with the same keys every time.

    Updates may come late and in any order: one is of the oldest pull of its arm, with its context, that has none.

    >>> policy, x = BandContextualPolicy(["linucb", "exp3"], seed=1), {"age": 0.3}
    >>> policy.update(policy.pull(["left", "right"], context=x), x, 1.0)
    """

    def __init__(self, bases: Sequence[Any], reward_obj: Any = None, burn_in: int = 0, **keys: Any) -> None:
        ContextualPolicy.__init__(self, reward_obj=reward_obj, burn_in=burn_in)
        self._begin(bases, keys)

    def _pull(self, arm_ids: list[ArmID], context: Mapping[str, float]) -> ArmID:
        return self._choose(arm_ids, context)

    def update(self, arm_id: ArmID, context: Any, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Learns the reward of an arm that was pulled with this context."""
        super().update(arm_id, context, *reward_args, **reward_kwargs)
        self._settle(arm_id, context, reward_args[0])
