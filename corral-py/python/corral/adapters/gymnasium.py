"""Our environments in Gymnasium."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from .. import World

__all__ = ["CorralEnv"]


class CorralEnv(gymnasium.Env):  # type: ignore[type-arg]
    """An environment of corral: an episode is a run of `rounds` rounds, the reward is 1 - loss.

    environment: a name, or a dictionary with parameters (see `corral.list_environments`).
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, environment: str | dict[str, Any], rounds: int = 1_000) -> None:
        self.environment, self.rounds = environment, rounds
        world = World(environment, rounds=rounds)
        if world.row_features:
            raise ValueError("an environment whose actions have features of their own is played in by corral.World")
        self.action_space = gymnasium.spaces.Discrete(world.actions)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (world.features,), np.float64)
        self._world: World | None = None
        self._round = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins another run of the world."""
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(2**63)) if seed is None else seed
        self._world, self._round = World(self.environment, rounds=self.rounds, seed=drawn), 0
        return self._observe(), {}

    def _observe(self) -> Any:
        assert self._world is not None
        x = self._world.next()
        return np.zeros(0) if x is None else x

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Plays an action; the observation is the next round's context."""
        if self._world is None or self._round >= self.rounds:
            raise gymnasium.error.ResetNeeded("call reset first")
        mean = self._world.mean_loss(int(action))
        loss = self._world.play(int(action))
        self._round += 1
        over = self._round >= self.rounds
        observation = np.zeros(self.observation_space.shape) if over else self._observe()  # type: ignore[arg-type]
        return observation, 1.0 - loss, False, over, {"mean_loss": mean}
