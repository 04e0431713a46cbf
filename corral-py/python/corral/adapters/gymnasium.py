"""Our environments in Gymnasium."""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete

from .. import World

__all__ = ["CorralEnv"]


class CorralEnv(gymnasium.Env):
    """An environment of corral: an episode is a run of `rounds` rounds (of data at most as many as there are), the reward is 1 - loss.

    environment: a name, or a dictionary with parameters (see `corral.list_environments`).

    Observations are the features of the round; where actions have features of their own, a dictionary of "features" and "rows".
    Where a round offers fewer actions, `info["action_mask"]` says which, and another one plays the last of them. Where points
    are played, actions are arrays, and the nearest point of the world's set is played. A loss that a log does not show is
    a reward of 0, and `info["seen"]` is False.

    >>> env = CorralEnv({"name": "bernoulli", "means": [0.9, 0.1]}, rounds=3)
    >>> x, info = env.reset(seed=1)
    >>> [env.step(1)[3] for _ in range(3)]
    [False, False, True]
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, environment: str | dict[str, Any], rounds: int = 1_000) -> None:
        self.environment, self.rounds = environment, rounds
        world = World(environment, rounds=rounds)
        self.action_space = Discrete(world.actions) if world.actions else _box(world.radius, world.dim)
        self.observation_space = _box(np.inf, world.features)
        if world.row_features:
            rows = _box(np.inf, world.actions, world.row_features)
            self.observation_space = Dict(features=self.observation_space, rows=rows)
        self._world: World | None = None
        self._left = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins another run of the world."""
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(2**63)) if seed is None else seed
        self._world, self._left = World(self.environment, rounds=self.rounds, seed=drawn), self.rounds
        return self._observe(), self._mask()

    def _observe(self) -> Any:
        x = None
        if self._world is not None and self._left:
            try:
                x = self._world.next()
            except StopIteration:
                self._left = 0
        space = self.observation_space
        if isinstance(space, Dict):
            features, rows = x or (None, None)
            return {"features": _padded(features, space["features"]), "rows": _padded(rows, space["rows"])}
        return _padded(x, space)

    def _mask(self) -> dict[str, Any]:
        assert self._world is not None
        actions = self._world.actions
        return {"action_mask": (np.arange(actions) < self._world.offered).astype(np.int8)} if actions else {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Plays an action or the nearest point; the observation is the next round's context."""
        if self._world is None or not self._left:
            raise gymnasium.error.ResetNeeded("call reset first")
        world = self._world
        played = min(int(action), world.offered - 1) if world.actions else world.nearest(action)
        mean = world.mean_loss(played)
        loss = world.play(played)
        self._left -= 1
        seen = not math.isnan(loss)
        info = {"mean_loss": mean, "seen": seen}
        return self._observe(), 1.0 - loss if seen else 0.0, False, not self._left, {**info, **self._mask()}


def _box(bound: float, *shape: int) -> Any:
    return Box(-bound, bound, shape, np.float64)


def _padded(part: Any, space: Any) -> Any:
    """Zeros where there is nothing: after the last round, and where a round offers fewer actions."""
    whole = np.zeros(space.shape)
    if part is not None:
        whole[tuple(map(slice, part.shape))] = part
    return whole
