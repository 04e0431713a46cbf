"""A band that follows the values of its bases."""

import json
import pickle

import numpy as np
import pytest

import corral

MEANS = [0.95, 0.1, 0.1]
BASES = [{"name": "fixed", "arm": 0}, {"name": "fixed", "arm": 1}, {"name": "random"}]


def watched(rounds, **keys):
    band = corral.Band(BASES, **{"actions": 3, "seed": 4, "watch": True, **keys})
    rng = np.random.default_rng(7)
    for _ in range(rounds):
        d = band.choose()
        band.learn(d, reward=float(rng.random() < MEANS[d.action]))
    return band


def test_a_watched_band_says_what_its_bases_are_worth():
    band = watched(10_000)
    metrics = band.metrics()
    for found, truth in zip(metrics["values"], [0.95, 0.1, np.mean(MEANS)]):
        assert found["low"] <= truth <= found["high"]
    assert metrics["values"][0]["high"] - metrics["values"][0]["low"] < 0.5
    name, lead = metrics["best"]
    assert name == band.bases[0] and 0 < lead["low"] <= 0.95 - np.mean(MEANS)
    assert "best" in band.report() and name in band._repr_html_()
    early = watched(20)
    assert early.metrics()["best"] is None
    json.dumps(metrics)  # for a monitor


def test_watching_changes_nothing_and_is_saved():
    plain = watched(300, watch=False)
    band = watched(300)
    assert (band.probabilities == plain.probabilities).all()
    assert "values" not in plain.metrics()
    again = pickle.loads(pickle.dumps(band))
    assert again.metrics()["values"] == band.metrics()["values"] and again.report() == band.report()


def test_values_are_in_the_units_of_rewards():
    band = corral.Band(BASES, actions=3, seed=4, watch=True, reward_range=(-10, 10))
    for _ in range(300):
        d = band.choose()
        band.learn(d, reward=[8, -5, 0][d.action])
    value = band.metrics()["values"][0]
    assert value["low"] <= 8 <= value["high"] <= 10 and value["low"] > -10


def test_what_cannot_be_watched_is_refused():
    with pytest.raises(ValueError, match="watch: .*reward_range"):
        corral.Band(["ucb1"], actions=2, watch=True, reward_range="learned")
    with pytest.raises(ValueError, match="watch: .*actions"):
        corral.Band(["scrible"], points={"ball": {"dim": 2}}, watch=True)


def test_a_log_names_the_actions_of_rounds_that_offer_some(tmp_path):
    path = tmp_path / "log.jsonl"
    worth = {"a": 0.1, "b": 0.9, "c": 0.4}
    band = corral.Band(["ucb1", "random"], actions=list(worth), seed=1, log=path)
    rng = np.random.default_rng(2)
    for _ in range(400):
        offered = sorted(rng.choice(list(worth), size=2, replace=False))
        d = band.choose(actions=offered)
        assert d.action in offered
        band.learn(d, reward=worth[d.action])
    values = corral.evaluate(path, [f"action:{name}" for name in worth], estimators=["snips"], strict=True).table()
    found = dict(zip(values["policy"], values["value"]))
    assert all(abs(found[f"action:{name}"] - reward) < 1e-9 for name, reward in worth.items()), found
