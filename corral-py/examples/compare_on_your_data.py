"""Which algorithm suits your data? A table of features and rewards of every action, played by a band and by its members."""

import numpy as np

import corral

BASES = [{"name": "linucb", "alpha": 0.2}, {"name": "squarecb"}, {"name": "epsilon-greedy"}, {"name": "exp3"}]


def your_data(rounds, seed):
    """Stands for yours: features of each round, and what each action would have earned, in [0, 1]."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rounds, 5)) / np.sqrt(5)
    theta = rng.normal(size=(4, 5)) / 2
    return x, np.clip(0.5 + x @ theta.T + 0.1 * rng.normal(size=(rounds, 4)), 0, 1)


def main(rounds=4_000, seeds=3):
    rows = {}
    for seed in range(seeds):
        x, rewards = your_data(rounds, seed)
        order = np.random.default_rng(seed).permutation(rounds)
        for label, bases in [("band", BASES)] + [(b["name"], [b]) for b in BASES]:
            band = corral.Band(bases, actions=rewards.shape[1], features=x.shape[1], seed=seed)
            played = band.play(1 - rewards[order], x[order])  # without Python in the loop
            rows.setdefault(label, []).append(1 - played["loss"].mean())
    for label, means in sorted(rows.items(), key=lambda row: -np.mean(row[1])):
        print(f"{label:16} mean reward {np.mean(means):.4f} ± {np.std(means) / np.sqrt(seeds):.4f}")
    return {label: float(np.mean(means)) for label, means in rows.items()}


if __name__ == "__main__":
    main()
