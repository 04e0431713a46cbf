"""The decision log: what a band writes, and what is read and valued from it."""

import json
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

import corral

MEANS = {"a": 0.2, "b": 0.5, "c": 0.9}
ROOT = pathlib.Path(__file__).parent.parent.parent


def logged(path, rounds=600, **keys):
    band = corral.Band(["ucb1", "exp3", "epsilon-greedy"], **{"actions": list(MEANS), "seed": 1, "log": path, **keys})
    rng = np.random.default_rng(1)
    for _ in range(rounds):
        d = band.choose()
        band.learn(d, reward=float(rng.random() < MEANS[d.action]))
    return band


def test_a_band_writes_what_it_decides_and_learns(tmp_path):
    path = tmp_path / "decisions.jsonl"
    band, plain = logged(path, copy=1), logged(None, log=None, copy=1)
    assert (band.probabilities == plain.probabilities).all()  # a log changes nothing
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["kind"] for line in lines[:3]] == ["start", "decision", "outcome"] and len(lines) == 1201
    assert lines[0]["bases"] == ["ucb1", "exp3", "epsilon-greedy"] and lines[0]["actions"] == ["a", "b", "c"]
    columns = corral.log.read(path)
    assert len(columns["id"]) == 600 and set(columns["action"]) == set(MEANS) and columns["q"].shape == columns["pbar"].shape == (600, 3)
    mixed = (columns["q"] * columns["pbar"]).sum(axis=1)
    assert np.allclose(mixed[~columns["forced"]], columns["propensity"][~columns["forced"]], atol=1e-12)
    assert columns["bases"] == band.bases and set(columns["reward"]) == {0.0, 1.0}


def program():
    """The program, where it was built: it reads the log with other eyes than this package."""
    for folder in ("debug", "release"):
        found = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / folder / "corral"
        if found.exists():
            return str(found)
    return shutil.which("corral") or pytest.skip("the program corral is not built: that it reads our logs is NOT tested")


def test_the_program_reads_the_log_of_a_band(tmp_path):
    path = tmp_path / "decisions.jsonl"
    logged(path)
    run = [program(), "log", "evaluate", str(path), "--policy", "base:exp3", "--policy", "action:c", "--chain", "--strict", "--format", "json"]
    told = json.loads(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
    own = corral.evaluate(path, ["base:exp3", "action:c"], strict=True).table()
    assert told["rows"] == 600 and [v["value"] for v in told["values"] if v["value"] is not None] == [v for v in own["value"].tolist() if v == v]


def test_a_log_goes_on_and_notices_members_and_expiry(tmp_path):
    path = tmp_path / "decisions.jsonl"
    band = logged(path, rounds=50, pending=10)
    band.add("thompson", share=0.3)
    band.retire("exp3")
    band.choose()
    late = band.choose()
    band.learn(late.id, loss=0.25)
    assert band.expire(0, reward=0.5) == 1
    band.play(rewards=np.tile([0.2, 0.5, 0.9], (20, 1)))
    band.simulate({"name": "bernoulli", "means": [0.5, 0.5, 0.5]}, 10)
    band.save(tmp_path / "band")
    columns = corral.log.read(path, strict=True)
    assert len(columns["id"]) == 82 and columns["bases"] == band.bases and np.isfinite(columns["reward"]).all()
    assert columns["reward"][columns["id"].tolist().index(late.id)] == 0.75
    with path.open("a") as file:
        file.write('{"kind":"decision","id":"torn')
    again = corral.load(tmp_path / "band", log=path)
    again.learn(again.choose(), reward=1)
    assert len(corral.log.read(path, strict=True)["id"]) == 83
    checked = subprocess.run([program(), "log", "evaluate", str(path), "--policy", "uniform", "--chain", "--strict"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    (tmp_path / "other").write_text("action,propensity,reward\n")
    with pytest.raises(ValueError, match="other is there, and is not a decision log"):
        corral.Band(["ucb1"], actions=2, log=tmp_path / "other")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        corral.Band(["ucb1"], actions=2, log=tmp_path / "nowhere" / "log")
    assert (tmp_path / "other").read_text() == "action,propensity,reward\n"


def test_policies_are_valued_and_functions_are_policies(tmp_path):
    path = tmp_path / "decisions.jsonl"
    logged(path, rounds=4_000, preset="paper", reward_range=(0, 1))

    def always_c(x, actions):
        assert x is None and actions == ["a", "b", "c"]
        return "c"

    def even(x, actions):
        return [1 / 3] * 3

    found = corral.evaluate(path, ["uniform", "action:c", "base:ucb1", always_c, even])
    by = {(p, e, k): v for p, e, k, v in zip(*(found.table()[c] for c in ("policy", "estimator", "kind", "value")))}
    # 4,000 rounds, weights of at most a few hundred: within 0.15 of the truth.
    assert by["uniform", "ips", "any-time"] == pytest.approx(np.mean(list(MEANS.values())), abs=0.15)
    assert by["action:c", "snips", "fixed-time"] == pytest.approx(0.9, abs=0.05)
    assert by["always_c", "ips", "fixed-time"] == by["action:c", "ips", "fixed-time"]
    assert by["even", "ips", "fixed-time"] == pytest.approx(by["uniform", "ips", "fixed-time"], abs=1e-12)
    intervals = found.intervals()
    assert set(intervals["kind"]) == {"any-time"} and (intervals["low"] <= intervals["high"]).all()
    assert found.rows == 4_000 and 0 < found.used <= found.rows and isinstance(found.alarms, list) and found.verdict
    assert len(found.differences()["value"]) == 10
    assert found._repr_html_().startswith("<iframe srcdoc=") and "always_c" in found.html() and "policy" in str(found)
    contextual = corral.Band(["linucb"], actions=2, features=2, log=tmp_path / "contexts.jsonl", seed=1)
    for _ in range(5):
        contextual.learn(contextual.choose([1.0, 2.0]), reward=1)
    seen = []
    corral.evaluate(tmp_path / "contexts.jsonl", [lambda x, actions: seen.append((x.tolist(), actions)) or 0])
    assert seen == [([1.0, 2.0], [0, 1])] * 5


@pytest.mark.parametrize("policies, keys, error, why", [
    (["uniformly"], {}, ValueError, "a policy is uniform"), (["base:nope"], {}, ValueError, "alarm|nope|no row|used"),
    ([7], {}, TypeError, "a name or a function"), (["uniform"], {"estimators": ["isp"]}, ValueError, 'did you mean "ips"'),
    (["uniform"], {"alpha": 2}, ValueError, "alpha"), ([lambda x, actions: 1 / 0], {}, ZeroDivisionError, "division"),
    ([lambda x, actions: "z"], {}, ValueError, "an action that was offered"), ([lambda x, actions: [0.5, 0.2, 0.1]], {}, ValueError, "a probability for each of 3"),
])
def test_what_cannot_be_valued_says_why(policies, keys, error, why, tmp_path):
    logged(tmp_path / "log", rounds=20)
    if policies == ["base:nope"]:
        assert np.isnan(corral.evaluate(tmp_path / "log", policies).table()["value"]).all()
        return
    with pytest.raises(error, match=why):
        corral.evaluate(tmp_path / "log", policies, **keys)


def test_a_log_that_is_not_there_is_said_to_be(tmp_path):
    for call in (lambda: corral.log.read(tmp_path / "no"), lambda: corral.evaluate(tmp_path / "no", ["uniform"])):
        with pytest.raises(FileNotFoundError, match="no'"):
            call()


def test_estimates_are_those_of_vw_estimators(tmp_path):
    pytest.importorskip("estimators", reason="vw-estimators is not installed: equality with it is NOT tested")
    from estimators.bandits import cressieread, ips, snips

    rng = np.random.default_rng(5)
    p_log = rng.uniform(0.05, 1, size=500)
    reward, p_new = rng.uniform(size=500), rng.uniform(size=500) * (rng.random(500) < 0.8)
    columns = {"action": rng.integers(3, size=500).tolist(), "propensity": p_log.tolist(), "reward": reward.tolist(), "pi": p_new.tolist()}
    own = corral.evaluate(columns, ["column:pi"]).table()
    for name, module in [("ips", ips), ("snips", snips), ("cressie-read", cressieread)]:
        theirs = module.Estimator()
        for p, r, q in zip(p_log, reward, p_new):
            theirs.add_example(p, r, q)
        ours = own["value"][(own["estimator"] == name) & (own["kind"] == "fixed-time")][0]
        assert ours == pytest.approx(theirs.get(), abs=1e-9), name
