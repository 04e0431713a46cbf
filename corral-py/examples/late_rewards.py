"""Rewards that come late, out of order, and in another process: decisions and bands are values that travel."""

import pickle
import random
import tempfile
from pathlib import Path

import corral


def main(rounds=3_000, delay=50, seed=1):
    world = random.Random(seed)
    band = corral.Band(["linucb", "epsilon-greedy", "exp3"], actions=["news", "sport"], features=2, seed=seed)
    waiting, rewards = [], []
    for t in range(rounds):
        x = [world.random(), world.random()]  # interest in news, interest in sport
        d = band.choose(x)
        reward = x[0] if d.action == "news" else x[1]
        rewards.append(reward)
        waiting.append((t + world.randrange(delay), pickle.dumps(d), reward))  # what a queue would hold
        for due in [w for w in waiting if w[0] <= t]:
            waiting.remove(due)
            band.learn(pickle.loads(due[1]), reward=due[2])
    # The service stops here; another one goes on, with the rewards that are still to come.
    with tempfile.TemporaryDirectory() as folder:
        band.save(Path(folder) / "band.corral")
        band = corral.load(Path(folder) / "band.corral")
    band.learn_many([pickle.loads(d) for _, d, _ in waiting], rewards=[r for _, _, r in waiting])
    print(band.report())
    mean = sum(rewards[rounds // 2 :]) / (rounds - rounds // 2)
    print(f"mean reward of the second half {mean:.3f}; at random 0.500, at best 0.667")
    return mean


if __name__ == "__main__":
    main()
