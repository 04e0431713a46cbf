"""A base of your own: three methods, checked against the laws that every base owes, then put into a band."""

import corral
from corral.testing import check


class Softmax:
    """Plays action a with a probability proportional to exp(-mean loss / temperature)."""

    learns_from_others = True  # it models the loss: decisions of other bases teach it too

    def __init__(self, actions, temperature=0.1):
        self.temperature = temperature
        self.plays, self.losses = [0] * actions, [0.0] * actions

    def distribution(self):
        import math

        weights = [math.exp(-s / max(n, 1) / self.temperature) for n, s in zip(self.plays, self.losses)]
        return [w / sum(weights) for w in weights]

    def propose(self, x, u):  # u is uniform in [0, 1): all the randomness there is
        p = self.distribution()
        action = 0
        while action < len(p) - 1 and u >= p[action]:
            u -= p[action]
            action += 1
        return action, p[action]

    def likelihood(self, x, action):  # optional: lets the band credit it for decisions of others
        return self.distribution()[action]

    def learn(self, x, action, loss, weight):
        self.plays[action] += 1
        self.losses[action] += loss


def main(rounds=3_000):
    check(Softmax(3))
    band = corral.Band([Softmax(3), {"name": "ucb1", "scale": 0.2}, "random"], actions=3, seed=1)
    run = band.simulate({"name": "bernoulli", "means": [0.7, 0.5, 0.3]}, rounds)
    print(band.report())
    print(f"regret after {run['rounds']} rounds: {run['regret']:.1f}")
    return run["regret"]


if __name__ == "__main__":
    main()
