"""A first band: three algorithms, three actions, and it is not known which algorithm fits."""

import random

import corral

MEANS = {"small": 0.3, "mid": 0.5, "frontier": 0.8}  # of the reward; the band does not know them


def main(rounds=2_000, seed=1):
    band = corral.Band(["ucb1", "exp3", "thompson"], actions=list(MEANS), seed=seed)
    world = random.Random(seed)
    total = 0
    for _ in range(rounds):
        d = band.choose()
        reward = float(world.random() < MEANS[d.action])
        band.learn(d, reward=reward)
        total += reward
    print(band.report())
    print(f"mean reward {total / rounds:.3f}; always the best action gives {max(MEANS.values()):.3f}")
    return total / rounds


if __name__ == "__main__":
    main()
