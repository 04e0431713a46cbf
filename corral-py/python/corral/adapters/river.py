"""A band as a river bandit policy: pull an arm, then update it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from river.bandit.base import ArmID, ContextualPolicy, Policy

from .. import Band, Decision

__all__ = ["BandContextualPolicy", "BandPolicy"]


class _Follows:
    """What both policies share: the band is built at the first pull, and an update belongs to the last pull."""

    def _begin(self, bases: Sequence[Any], keys: dict[str, Any]) -> None:
        self.bases, self.keys = list(bases), keys
        self._band: Band[int] | None = None
        self._arms: list[ArmID] = []
        self._names: list[str] = []
        self._last: Decision[int] | None = None

    @property
    def band(self) -> Band[int] | None:
        """The band, once an arm was pulled."""
        return self._band

    def _choose(self, arm_ids: Sequence[ArmID], context: Mapping[str, float] | None) -> ArmID:
        if self._band is None:
            self._arms, self._names = list(arm_ids), sorted(context or ())
            self._band = Band(self.bases, actions=len(self._arms), features=len(self._names), **self.keys)
        if list(arm_ids) != self._arms:
            raise ValueError(f"the arms are {list(arm_ids)}, and were {self._arms} at first")
        x = [float((context or {})[name]) for name in self._names]
        self._last = self._band.choose(x or None)
        return self._arms[self._last.action]

    def _settle(self, arm_id: ArmID, reward: float) -> None:
        d, self._last = self._last, None
        # An arm that somebody else pulled (a burn-in, a log) is not the band's to learn.
        if self._band is not None and d is not None and self._arms[d.action] == arm_id:
            self._band.learn(d, reward=float(reward))


class BandPolicy(_Follows, Policy):
    """A band as a policy without contexts. `keys` are those of `corral.Band` without its shape.

    >>> policy = BandPolicy(["ucb1", "exp3"], seed=1)
    >>> policy.update(policy.pull(["left", "right"]), 1.0)
    """

    def __init__(self, bases: Sequence[Any], reward_obj: Any = None, burn_in: int = 0, **keys: Any) -> None:
        Policy.__init__(self, reward_obj=reward_obj, burn_in=burn_in)
        self._begin(bases, keys)

    def _pull(self, arm_ids: list[ArmID]) -> ArmID:
        return self._choose(arm_ids, None)

    def update(self, arm_id: ArmID, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Learns the reward of the arm that was pulled last."""
        super().update(arm_id, *reward_args, **reward_kwargs)
        self._settle(arm_id, reward_args[0])


class BandContextualPolicy(_Follows, ContextualPolicy):
    """A band as a policy over contexts: dictionaries with the same keys every time.

    >>> policy, x = BandContextualPolicy(["linucb", "exp3"], seed=1), {"age": 0.3}
    >>> policy.update(policy.pull(["left", "right"], context=x), x, 1.0)
    """

    def __init__(self, bases: Sequence[Any], reward_obj: Any = None, burn_in: int = 0, **keys: Any) -> None:
        ContextualPolicy.__init__(self, reward_obj=reward_obj, burn_in=burn_in)
        self._begin(bases, keys)

    def _pull(self, arm_ids: list[ArmID], context: Mapping[str, float]) -> ArmID:
        return self._choose(arm_ids, context)

    def update(self, arm_id: ArmID, context: Any, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Learns the reward of the arm that was pulled last."""
        super().update(arm_id, context, *reward_args, **reward_kwargs)
        self._settle(arm_id, reward_args[0])
