"""The laws that a base owes, held against a base of yours.

>>> from corral.testing import check
>>> class Always:
...     "Plays one action."
...     def __init__(self, action):
...         self.action = action
...     def propose(self, x, u):
...         return self.action
...     def likelihood(self, x, action):
...         return float(action == self.action)
...     def learn(self, x, action, loss, weight):
...         pass
>>> import __main__; __main__.Always = Always      # only so that this example pickles
>>> check(Always(1), actions=3)
"""

from __future__ import annotations

from typing import Any

from ._corral import laws

__all__ = ["check", "laws"]


def check(
    base: Any,
    *,
    actions: int = 3,
    points: dict[str, Any] | None = None,
    features: int = 0,
    row_features: int = 0,
    rounds: int = 2_000,
    seed: int = 1,
) -> None:
    """Runs every law of the contract kit on copies of `base`; raises AssertionError with those that it breaks.

    The laws: proposals are actions; the same randomness gives the same proposals; a round without the base and a loss that
    was not seen change nothing; feedback may come late and out of order; likelihoods are probabilities, sum to one and
    agree with what is proposed; starting over is being new; saving and loading goes on as before; damaged snapshots and
    invalid losses are refused; extreme weights are survived. points: the set of a base that plays points, as for a band.
    """
    found = laws(
        base, actions=actions, points=points, features=features, row_features=row_features, rounds=rounds, seed=seed
    )
    broken = [f"{law}: {how}" for law, how in found if how is not None]
    if broken:
        raise AssertionError(f"{type(base).__name__} breaks " + "; ".join(broken))
