"""Which language model answers which prompt? A band routes 3,609 real prompts to three models.

Data: the package `paretobandit` 0.1.1 (Apache-2.0), with the graded quality and the cost in dollars of every model on every
prompt. What makes it hard is what makes it real:

- a prompt is known by 16 numbers (TF-IDF and SVD, fitted on 500 of the prompts, without their grades);
- the reward is the quality less 0.1 for every factor of ten in the cost, and arrives 30 to 90 requests late;
- the dearest model arrives after 900 requests, and costs a fiftieth of its price after 1,800.

Needs: pip install corral paretobandit scikit-learn. Run: python llm_routing.py [seeds [dollars]]; with
`dollars` the reward is the quality less 5 times the cost in dollars, and one model is nearly always the best.
"""

import json
import pathlib
import sys
from importlib.util import find_spec

import numpy as np

import corral

MODELS = ["meta-llama/llama-3.1-8b-instruct", "mistralai/mistral-large-2512", "google/gemini-2.5-pro"]
LATE, ARRIVES = "google/gemini-2.5-pro", 900
DEAREST, CHEAPER_FROM, CHEAPER_BY = "google/gemini-2.5-pro", 1_800, 50.0
TENFOLD, CHEAP, REWARDS, FEATURES = 0.1, 4e-5, (-1.0, 1.0), 16
BASES = [
    {"name": "linucb", "alpha": 0.1},
    {"name": "lints"},
    {"name": "squarecb"},
    {"name": "epsilon-greedy", "label": "epsilon-greedy"},
    {"name": "greedy"},
]


def prompts():
    """Features of every prompt, quality and cost of every model on it."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    folder = pathlib.Path(find_spec("pareto_bandit").origin).parent / "data" / "examples"
    rows = [json.loads(line) for name in ("val", "test_holdout") for line in (folder / f"{name}.jsonl").open()]
    texts = [row["prompt"] for row in rows]
    some = np.random.default_rng(0).permutation(len(texts))[:500]
    words = TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english").fit([texts[i] for i in some])
    svd = TruncatedSVD(FEATURES - 1, random_state=0).fit(words.transform([texts[i] for i in some]))
    x = svd.transform(words.transform(texts))
    x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-9)
    x = np.hstack([np.ones((len(x), 1)), x]) / np.sqrt(2)
    figures = np.array([[[row["arms"][m][k] for m in MODELS] for k in ("reward", "cost")] for row in rows])
    return x, figures[:, 0], figures[:, 1]


def rewards_of(quality, cost, dollars):
    """The quality less what the cost is worth, in the order of requests, with the fall of the price."""
    cost = cost.copy()
    cost[CHEAPER_FROM:, MODELS.index(DEAREST)] /= CHEAPER_BY
    worth = 5 * cost if dollars else TENFOLD * np.log10(cost / CHEAP)
    return np.clip(quality - worth, *REWARDS)


def route(bases, x, rewards, seed, **keys):
    """Routes every request and returns the mean reward."""
    rows = np.einsum("td,kl->tkdl", x, np.eye(len(MODELS)))  # a row for each model: the prompt's features in its own block
    rows = rows.transpose(0, 1, 3, 2).reshape(len(x), len(MODELS), -1)
    band = corral.Band(bases, actions=len(MODELS), row_features=rows.shape[2], reward_range=REWARDS, seed=seed, **keys)
    world = np.random.default_rng(seed)
    waiting, total = {}, 0.0
    for t in range(len(x)):
        there = len(MODELS) if t >= ARRIVES else len(MODELS) - 1  # the late model is the last one
        d = band.choose(actions=rows[t, :there])
        reward = rewards[t, d.action]
        total += reward
        waiting.setdefault(t + int(world.integers(30, 91)), []).append((d, reward))
        for late, its in waiting.pop(t, []):
            band.learn(late, reward=its)
    return total / len(x), band


def fixed(model, rewards):
    """Always one model; the second one until it is there."""
    choice = np.full(len(rewards), MODELS.index(model))
    if model == LATE:
        choice[:ARRIVES] = 1
    return rewards[np.arange(len(rewards)), choice].mean()


def main(seeds=5, dollars=False):
    assert MODELS[-1] == LATE
    x, quality, cost = prompts()
    means = {}
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(x))
        rewards = rewards_of(quality[order], cost[order], dollars)
        note = lambda label, mean: means.setdefault(label, []).append(mean)  # noqa: E731
        for model in MODELS:
            note(f"always {model}", fixed(model, rewards))
        for base in BASES:
            note(f"{base['name']} alone", route([base], x[order], rewards, seed, propensities=False)[0])
        mean, band = route(BASES, x[order], rewards, seed)
        note("band, practical", mean)
        note("band, paper", route(BASES, x[order], rewards, seed, preset="paper", horizon=len(x))[0])
        there = np.where(np.arange(len(x))[:, None] < ARRIVES, [[0, 0, -9]], 0)
        note("the best model of every prompt", (rewards + there).max(axis=1).mean())
    print(band.report())
    print(f"{len(x)} prompts, {seeds} orders; mean reward, ± one standard error over the orders")
    for label, found in sorted(means.items(), key=lambda row: -np.mean(row[1])):
        error = np.std(found, ddof=1) / np.sqrt(seeds) if seeds > 1 else 0.0
        print(f"{label:42} {np.mean(found):.4f} ± {error:.4f}")
    return {label: float(np.mean(found)) for label, found in means.items()}


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), dollars="dollars" in sys.argv)
