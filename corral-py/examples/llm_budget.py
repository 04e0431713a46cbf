"""Which language model answers which prompt, within a budget? A band routes 3,609 real prompts to three models.

Data: the package `paretobandit` 0.1.1 (Apache-2.0), with the graded quality and the cost in dollars of every model on every
prompt. A prompt is known by 16 numbers, as in llm_routing.py. The band is told what a request may cost on average, and learns
quality and cost of what it chose. Four scenarios, in thirds of the run:

- steady: nothing changes;
- price: the dearest model costs a fiftieth in the second third;
- quality: the answers of the middling model are worth a quarter less in the second third;
- newcomer: the dearest model arrives after the first third.

The best mixture is the best of all that choose a model at random with fixed probabilities in each third, within the budget there.
Needs: pip install corral paretobandit scikit-learn. Run: python llm_budget.py [seeds [first seed]].
"""

import sys

import numpy as np

import corral
from llm_routing import MODELS, prompts

BUDGETS = {"tight": 3.0e-4, "moderate": 6.62e-4, "loose": 1.87e-3}
SCENARIOS = ["steady", "price", "quality", "newcomer"]
MIDDLING, DEAREST, CHEAPER_BY, LOST = 1, 2, 50.0, 0.25
BASES = [
    {"name": "linucb", "alpha": 0.1},
    {"name": "squarecb"},
    {"name": "epsilon-greedy", "label": "epsilon-greedy"},
    {"name": "greedy"},
    "ucb1",
]


def world(scenario, quality, cost):
    """Quality and cost in the order of requests, and the models that can be chosen."""
    quality, cost, there = quality.copy(), cost.copy(), np.full(quality.shape, True)
    third = len(quality) // 3
    if scenario == "price":
        cost[third : 2 * third, DEAREST] /= CHEAPER_BY
    elif scenario == "quality":
        quality[third : 2 * third, MIDDLING] -= LOST
    elif scenario == "newcomer":
        there[:third, DEAREST] = False
    return np.clip(quality, 0, 1), cost, there


def best_mixture(quality, cost, budget, count):
    """The largest mean quality of a mixture of the first `count` models within the budget: at most two of them."""
    best = -np.inf
    for i in range(count):
        for j in range(count):
            (a, b), (x, y) = (cost[i], cost[j]), (quality[i], quality[j])
            if a <= budget:
                share = 1.0 if b <= budget else (budget - a) / (b - a)
                best = max(best, x + share * (y - x))
    return best


def route(x, quality, cost, there, budget, seed):
    """Routes every request; the quality and cost of what was chosen."""
    names = [model.split("/")[1] for model in MODELS]
    first = [name for name, at in zip(names, there[0], strict=True) if at]
    band = corral.Band(
        BASES, actions=first, max_actions=len(names), features=x.shape[1], seed=seed, budget={"per_round": budget}
    )
    played = np.empty((len(x), 2))
    for t in range(len(x)):
        for name in np.array(names)[there[t] & ~there[max(t - 1, 0)]]:
            band.add_action(str(name))
        d = band.choose(x[t])
        arm = names.index(d.action)
        played[t] = quality[t, arm], cost[t, arm]
        band.learn(d, reward=quality[t, arm], cost=cost[t, arm])
    return played


def main(seeds=5, first=0):
    x, quality, cost = prompts()
    print(f"{len(x)} prompts, {seeds} orders from {first} on; ± one standard error over the orders")
    print(f"{'scenario':10} {'budget':10} {'mean quality':>18} {'best mixture':>13} {'cost / budget':>20}")
    found = {}
    for scenario in SCENARIOS:
        for label, budget in BUDGETS.items():
            rows = []
            for seed in range(first, first + seeds):
                order = np.random.default_rng(seed).permutation(len(x))
                q, c, there = world(scenario, quality[order], cost[order])
                thirds = np.array_split(np.arange(len(x)), 3)
                best = [
                    best_mixture(q[of].mean(axis=0), c[of].mean(axis=0), budget, int(there[of[0]].sum())) for of in thirds
                ]
                played = route(x[order], q, c, there, budget, seed)
                rows.append([played[:, 0].mean(), np.mean(best), played[:, 1].mean() / budget])
            mean, error = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / np.sqrt(seeds) if seeds > 1 else np.zeros(3)
            found[scenario, label] = mean
            print(
                f"{scenario:10} {label:10} {mean[0]:9.4f} ± {error[0]:.4f} {mean[1]:13.4f} {mean[2]:11.4f} ± {error[2]:.4f}"
            )
    return found


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
