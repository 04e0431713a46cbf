"""What a base of your own looks like."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Base(Protocol):
    """A base that is written in Python: an object with these two methods.

    `x` is None where the band has no features, the array of features, or with feature rows the pair (features, rows). Actions
    are numbers. All randomness comes from `u`, uniform in [0, 1), so that the same seed gives the same run. State is what
    pickle keeps. `docs/python.md` has what a base may have beside: likelihood, skip, widen, learns_from_others.
    """

    def propose(self, x: Any, u: float, /) -> Any:
        """An action, by number or name, or the pair of an action and its probability; where points are played, a point."""

    def learn(self, x: Any, action: Any, loss: float, weight: float, /) -> object:
        """Learns the loss in [0, 1] of an action, with its importance weight."""


@runtime_checkable
class BaseWithProbability(Protocol):
    """The same for a base whose `learn` takes the probability that it proposed the action with."""

    def propose(self, x: Any, u: float, /) -> Any:
        """The pair of an action and its probability."""

    def learn(self, x: Any, action: Any, loss: float, weight: float, probability: float, /) -> object:
        """Learns the loss in [0, 1] of an action."""
