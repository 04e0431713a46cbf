"""Microseconds of a choice and its learning, beside other packages, in one run: python benches/speed.py"""

import contextlib
import io
import itertools
import time
from importlib.util import find_spec

import numpy as np

import corral

ROUNDS = 20_000
MEANS = [0.3, 0.5, 0.8]


class Fixed:
    """A base in Python that does as little as a base can."""

    learns_from_others = True

    def propose(self, x, u):
        return 2

    def likelihood(self, x, action):
        return 1.0 if action == 2 else 0.0

    def learn(self, x, action, loss, weight):
        pass


def timed(label, round_, rounds=ROUNDS, times=1):
    """The best hundredth of a run, after a tenth of it: what the machine does beside is not ours."""
    for _ in range(rounds // 10):
        round_()
    best, part = float("inf"), rounds // 100
    for _ in range(100):
        started = time.perf_counter()
        for _ in range(part):
            round_()
        best = min(best, (time.perf_counter() - started) / part / times)
    print(f"{label:58} {1e6 * best:8.2f} µs")
    return 1e6 * best


def of_band(band, xs=None, actions=3):
    """Losses are 0 or 1, drawn before; the first actions are the worst."""
    means = 1 - np.resize(MEANS, actions)
    losses = (np.random.default_rng(1).random((4096, actions)) < means).astype(float).tolist()
    rounds = itertools.cycle(range(4096))

    def round_():
        t = next(rounds)
        d = band.choose(xs[t]) if xs is not None else band.choose()
        band.learn(d, loss=losses[t][d.action])

    return round_


def main():
    arms = ["ucb1", "exp3", "epsilon-greedy"]
    figures = {}
    for preset in ("practical", "paper"):
        band = corral.Band(arms, actions=3, preset=preset, horizon=10**6 if preset == "paper" else None, seed=1)
        figures[preset] = timed(f"corral, {preset}, three bases over three arms", of_band(band))
    thompson = corral.Band(["ucb1", "exp3", "thompson"], actions=3, seed=1)
    timed("corral, practical, one of them Thompson sampling", of_band(thompson))
    quickstart = corral.Band(["thompson", "ucb1", "tsallis-inf"], actions=5, seed=1)
    timed("corral, practical, the quickstart's three over five arms", of_band(quickstart, actions=5))
    band = corral.Band(arms, actions=3, preset="paper", horizon=10**6, seed=1, propensities=False)
    timed("corral, paper, without propensities", of_band(band))
    band = corral.Band([Fixed()], actions=3, preset="paper", horizon=10**6, seed=1, propensities=False)
    figures["python base"] = timed("corral, one base in Python", of_band(band))
    timed("corral, practical, two bases and one in Python", of_band(corral.Band(["ucb1", Fixed(), "exp3"], actions=3, seed=1)))
    band = corral.Band(["linucb", "exp3", "epsilon-greedy"], actions=3, features=16, seed=1)
    xs = np.random.default_rng(2).normal(size=(4096, 20)) / 20**0.5
    timed("corral, practical, three bases over 16 features", of_band(band, xs[:, :16].copy()))
    band = corral.Band(["linucb", "lints", "squarecb"], actions=10, features=20, seed=1)
    timed("corral, practical, linucb, lints, squarecb: 20 features, ten arms", of_band(band, xs, 10))
    band = corral.Band(arms, actions=3, seed=1)
    losses = np.tile([1 - m for m in MEANS], (200, 1))
    timed("corral, practical, play (no interpreter in the loop)", lambda: band.play(losses), 100, len(losses))
    if find_spec("coba"):
        import coba

        learner = coba.CorralLearner(
            [coba.BanditUCBLearner(), coba.BanditEpsilonLearner(0.1, 1), coba.RandomLearner()], eta=0.075, T=ROUNDS, mode="importance", seed=1
        )
        actions = [0, 1, 2]

        def round_():
            action, probability, kept = learner.predict(None, actions)
            learner.learn(None, action, MEANS[action], probability, **kept)

        figures["coba"] = timed("coba, CorralLearner over three bandit learners", round_, 2_000)
    else:
        print("coba is not installed: NOT measured")
    if find_spec("SMPyBandits"):  # it imports with scipy < 1.12
        with contextlib.redirect_stdout(io.StringIO()):
            from SMPyBandits.Policies import UCB, Aggregator, Exp3, Thompson

            policy = Aggregator(3, children=[{"archtype": c, "params": {}} for c in (UCB, Exp3, Thompson)])
            policy.startGame()

        def round_():
            arm = policy.choice()
            policy.getReward(arm, MEANS[arm])

        figures["SMPyBandits"] = timed("SMPyBandits, Aggregator over three policies", round_, 2_000)
    else:
        print("SMPyBandits is not installed: NOT measured")
    return figures


if __name__ == "__main__":
    main()
