"""Bases in Python for the tests: importable, so that they pickle."""

import math

import numpy as np


class Greedy:
    """The arm with the least mean loss; a random one in a tenth of the rounds."""

    learns_from_others = True

    def __init__(self, actions):
        self.seen = [0] * actions
        self.sums = [0.0] * actions

    def best(self):
        means = [s / n if n else 0.0 for s, n in zip(self.sums, self.seen)]
        return means.index(min(means))

    def likelihood(self, x, action):
        return 0.1 / len(self.seen) + (0.9 if action == self.best() else 0.0)

    def propose(self, x, u):
        if u < 0.1:
            action = min(int(u * 10 * len(self.seen)), len(self.seen) - 1)
        else:
            action = self.best()
        return action, self.likelihood(x, action)

    def learn(self, x, action, loss, weight):
        self.seen[action] += 1
        self.sums[action] += loss


class Exp3:
    """Exponential weights: it divides by the probability that it proposed with."""

    def __init__(self, actions, rate=0.05):
        self.rate = rate
        self.estimates = [0.0] * actions

    def distribution(self):
        least = min(self.estimates)
        weights = [math.exp(-self.rate * (e - least)) for e in self.estimates]
        return [w / sum(weights) for w in weights]

    def propose(self, x, u):
        p = self.distribution()
        for action, q in enumerate(p):
            u -= q
            if u < 0:
                break
        return action, p[action]

    def likelihood(self, x, action):
        return self.distribution()[action]

    def learn(self, x, action, loss, weight, probability):
        self.estimates[action] += loss * weight / probability


class Fails:
    """Raises when it is asked to do what `when` says."""

    def __init__(self, when, error=ValueError("no idea")):
        self.when = when
        self.error = error

    def propose(self, x, u):
        if self.when == "propose":
            raise self.error
        return 0

    def likelihood(self, x, action):
        if self.when == "likelihood":
            raise self.error
        return 1.0 if action == 0 else 0.0

    def learn(self, x, action, loss, weight):
        if self.when == "learn":
            raise self.error


class Says:
    """Proposes whatever it was given."""

    def __init__(self, what):
        self.what = what

    def propose(self, x, u):
        return self.what

    def learn(self, x, action, loss, weight):
        pass


class Unpicklable(Greedy):
    def __reduce__(self):
        raise TypeError("it holds a socket")


class Sees:
    """Notes the contexts that it sees."""

    def __init__(self):
        self.contexts = []

    def propose(self, x, u):
        self.contexts.append(x)
        return 0

    def learn(self, x, action, loss, weight):
        self.contexts.append(x)


class Corner:
    """Plays one point for ever. A tuple of numbers is a point, and no pair with a probability."""

    def __init__(self, point=(1.0, 0.0)):
        self.point = point

    def propose(self, x, u):
        return self.point

    def learn(self, x, action, loss, weight):
        assert isinstance(action, np.ndarray) and action.shape == (2,)
