"""Bands that tests play with."""

import corral

MEANS = {"small": 0.3, "mid": 0.5, "frontier": 0.8}


def band(bases=("ucb1", "exp3", "thompson"), **keys):
    return corral.Band(list(bases), **{"actions": list(MEANS), "seed": 1, **keys})


def play(b, rounds, x=None):
    for _ in range(rounds):
        d = b.choose(x)
        b.learn(d, reward=MEANS[d.action])


def state(b):
    return b.__reduce__()[1][0]
