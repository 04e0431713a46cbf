"""The decision log: what a band writes, and what is read and valued from it."""

import contextlib
import json
import os
import pathlib
import resource
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


def follows(path):
    """Whether every line of a log follows from the one before it."""
    run = [program(), "log", "evaluate", str(path), "--policy", "uniform", "--chain", "--strict"]
    checked = subprocess.run(run, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


@contextlib.contextmanager
def no_file_beyond(size):
    """A disk that is full at this size of a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_half_a_line_on_a_full_disk_is_taken_away_before_the_next(tmp_path):
    path = tmp_path / "decisions.jsonl"
    band = logged(path, rounds=2)
    before = path.stat().st_size
    band.learn(band.choose(), reward=1)
    decision = path.read_bytes()[before:].index(b"\n")
    rounds = 3
    # Wherever in the line the disk is full.
    for offset in [*range(0, decision, 13), decision - 1, decision]:
        with no_file_beyond(path.stat().st_size + offset):
            for _ in range(2):
                with pytest.raises(OSError, match="decisions.jsonl"):
                    band.choose()
        band.learn(band.choose(), reward=1)
        rounds += 1
        assert len(corral.log.read(path, strict=True)["id"]) == rounds, offset
    follows(path)


def test_a_band_that_cannot_be_saved_leaves_what_was_there(tmp_path):
    path = tmp_path / "band.corral"
    band = logged(None, rounds=40, log=None)
    band.save(path)
    before = path.read_bytes()
    band.learn(band.choose(), reward=1)
    for size in [*range(0, len(before) - 64, max(1, len(before) // 60)), len(before) - 64]:
        with no_file_beyond(size), pytest.raises(OSError, match="band.corral"):
            band.save(path)
        assert path.read_bytes() == before, size
        assert [p.name for p in tmp_path.iterdir()] == ["band.corral"], size
    band.save(path)
    assert (corral.load(path).probabilities == band.probabilities).all()


def test_bands_take_turns_with_a_log(tmp_path):
    path = tmp_path / "decisions.jsonl"
    bands = [logged(path, rounds=3) for _ in range(2)]
    for _ in range(3):
        for band in bands:
            band.learn(band.choose(), reward=1)
    assert len(corral.log.read(path, strict=True)["id"]) == 12
    follows(path)


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
    follows(path)
    (tmp_path / "other").write_text("action,propensity,reward\n")
    with pytest.raises(ValueError, match="other is there, and is not a decision log"):
        corral.Band(["ucb1"], actions=2, log=tmp_path / "other")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        corral.Band(["ucb1"], actions=2, log=tmp_path / "nowhere" / "log")
    assert (tmp_path / "other").read_text() == "action,propensity,reward\n"


def test_whole_distributions_make_differences_narrow(tmp_path):
    """Of bases that mostly agree: by the total-variation form, which needs every base's probability of every action."""
    widths = {}
    for level in (True, "full"):
        path = tmp_path / f"{level}.jsonl"
        logged(path, rounds=1_000, propensities=level, copy=1)
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        wholes = [np.reshape(line["full"], (3, 3)) for line in lines if "full" in line]
        assert len(wholes) == (1_000 if level == "full" else 0)
        for whole, line in zip(wholes, (line for line in lines if line["kind"] == "decision")):
            assert np.allclose(whole.sum(axis=1), 1) and np.array_equal(whole[:, line["action"]], line.get("q", whole[:, line["action"]]))
        found = corral.evaluate(path, ["base:ucb1", "base:epsilon-greedy"]).differences()
        widths[level] = found["high"][0] - found["low"][0]
    assert widths["full"] < 0.9 * widths[True]
    with pytest.raises(ValueError, match='propensities must be True, False or "full", but is "all"'):
        corral.Band(["ucb1"], actions=2, propensities="all")


def played(path, tmp_path, **keys):
    """A band whose log has every kind of line; the snapshots before and after."""
    band = corral.Band(["ucb1", "exp3"], **{"actions": list(MEANS), "seed": 3, "log": path, "pending": 20, "reward_range": (-1, 2), **keys})
    rng = np.random.default_rng(4)
    for t in range(60):
        if t == 20:
            band.save(tmp_path / "start")
        if t == 30:
            band.add({"name": "epsilon-greedy", "epsilon": 0.2}, share=0.3)
            band.retire("exp3")
        if t == 45:
            band.reinstate("exp3", share=0.2)
        d = band.choose()
        band.learn(d, **({"reward": rng.uniform(-1, 2)} if t % 3 else {"loss": rng.random()}))
    band.choose()
    band.expire(0)
    band.play(rewards=rng.uniform(-1, 2, size=(15, 3)))
    band.save(tmp_path / "end")
    return band


@pytest.mark.parametrize("keys", [{}, {"propensities": "full"}, {"preset": "paper"}, {"reward_range": (0, 1)}], ids=str)
def test_a_log_is_played_again_to_the_last_bit(tmp_path, keys):
    path = tmp_path / "decisions.jsonl"
    if keys.get("reward_range") == (0, 1):
        band = logged(path, rounds=40)
        band.save(tmp_path / "start")
        for loss in np.random.default_rng(1).random(200):
            band.learn(band.choose(), loss=loss)
        band.save(tmp_path / "end")
    else:
        played(path, tmp_path, **keys)
    found = corral.log.verify(path, tmp_path / "start", end=tmp_path / "end")
    assert found["same_state"] is True and found["before"] > 0
    assert found["decisions"] == (200 if keys.get("reward_range") == (0, 1) else 56) == found["learned"]
    assert corral.log.verify(path, tmp_path / "end", end=tmp_path / "start")["same_state"] is False
    told = verified(path, tmp_path / "start", "--end", tmp_path / "end")
    count = found["decisions"]
    assert told.returncode == 0 and f"{count} decisions and their probabilities come out again to the last bit" in told.stdout
    assert f"{found['lines']} lines" in told.stdout and f"the state is that of {tmp_path / 'end'} to the last bit" in told.stdout
    told = verified(path, tmp_path / "end", "--end", tmp_path / "start")
    assert told.returncode == 1 and "but the state is not that of" in told.stderr


def verified(path, start, *more):
    """What the program says of a log: it plays it again by the same code as `corral.log.verify`."""
    command = [program(), "log", "verify", path, "--from", start, *more]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def test_a_line_that_was_changed_is_named(tmp_path):
    path = tmp_path / "decisions.jsonl"
    played(path, tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if '"kind":"decision"' in line and i > 60)
    for changed in (
        [*lines[:at], lines[at].replace('"action":', '"action":1'), *lines[at + 1 :]],
        [*lines[:at], *lines[at + 1 :]],
        [*lines[:at], lines[at], *lines[at:]],
        [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]],
    ):
        path.write_text("".join(changed))
        with pytest.raises(ValueError, match=rf"line {at + 1}|line {at + 2}: it does not follow"):
            corral.log.verify(path, tmp_path / "start")
        told = verified(path, tmp_path / "start")
        assert told.returncode == 1 and f"{path}: line {at + 1}" in told.stderr or f"line {at + 2}" in told.stderr
    path.write_text("".join(lines))
    with pytest.raises(ValueError, match="another band"):
        corral.Band(["ucb1"], actions=3).save(tmp_path / "other")
        corral.log.verify(path, tmp_path / "other")
    (tmp_path / "torn").write_bytes((tmp_path / "start").read_bytes()[:-9])
    for start, why in (("other", "another band"), ("torn", "torn: a snapshot of"), ("none", "none: No such file")):
        told = verified(path, tmp_path / start)
        assert told.returncode in (1, 2) and why in told.stderr


def test_another_reward_makes_the_next_decisions_differ(tmp_path):
    """The chain fits: the log was written by a band that learned something else after the same snapshot."""
    band = corral.Band(["ucb1", "exp3"], actions=3, seed=1)
    band.save(tmp_path / "start")
    for name, reward in (("one", 0.2), ("other", 0.9)):
        again = corral.load(tmp_path / "start", copy=1, log=tmp_path / name)
        for t in range(30):
            again.learn(again.choose(), reward=reward if t == 10 else 0.5)
    one, other = ((tmp_path / name).read_text().splitlines() for name in ("one", "other"))
    differs = next(i for i, (a, b) in enumerate(zip(one, other)) if json.loads(a).get("pbar") != json.loads(b).get("pbar"))
    assert corral.log.verify(tmp_path / "one", tmp_path / "start")["decisions"] == 30 and differs > 20

    class Coin:
        def propose(self, x, u):
            return int(u < 0.5)

        def learn(self, x, action, loss, weight):
            pass

    late = corral.load(tmp_path / "start", copy=1, log=tmp_path / "late")
    late.add(Coin())
    with pytest.raises(ValueError, match="line 2: Coin is a Python object, which a log does not hold"):
        corral.log.verify(tmp_path / "late", tmp_path / "start")


class Always:
    """A base of Python's own, which can be pickled."""

    def __init__(self):
        self.rounds = 0

    def propose(self, x, u):
        self.rounds += 1
        return 2 if self.rounds < 30 else 1 / 0

    def learn(self, x, action, loss, weight):
        pass


def test_python_bases_are_played_again_in_python_alone(tmp_path):
    path = tmp_path / "log"
    band = corral.Band(["ucb1", Always()], actions=3, seed=1, log=path)
    band.save(tmp_path / "start")
    with pytest.warns(corral.BenchedWarning):
        for _ in range(200):
            band.learn(band.choose(), reward=0.5)
    band.save(tmp_path / "end")
    found = corral.log.verify(path, tmp_path / "start", end=tmp_path / "end")
    assert found["decisions"] == found["learned"] == 200 and found["same_state"] is True
    told = verified(path, tmp_path / "start")
    assert told.returncode == 1 and 'the base "Always" is an object of Python' in told.stderr and "corral.log.verify" in told.stderr


def test_the_log_says_what_its_band_was_built_from(tmp_path):
    """Bands that are built alike have one digest, whatever their seeds, ids and logs; others have others."""
    def model(name, bases=("ucb1", "exp3"), **keys):
        corral.Band(list(bases), **{"actions": 3, "seed": 1, **keys}, log=tmp_path / name)
        return json.loads((tmp_path / name).read_text().splitlines()[0])["model"]

    first = model("a")
    assert len(first) == 32 and first == model("b", seed=2) == model("c", propensities="full") == model("d", copy=4)
    others = [model("e", ["ucb1"]), model("f", actions=4), model("g", preset="paper"), model("h", reward_range=(0, 2)),
              model("i", [{"name": "ucb1", "scale": 0.7}, "exp3"]), model("j", features=1)]
    assert len({first, *others}) == 7
    again = corral.Band(["ucb1", "exp3"], actions=3, seed=5)
    again.save(tmp_path / "saved")
    corral.load(tmp_path / "saved", log=tmp_path / "k")
    assert json.loads((tmp_path / "k").read_text().splitlines()[0])["model"] == first


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
    (["uniformly"], {}, ValueError, "a policy is uniform"), (["base:nope"], {}, ValueError, 'no base "nope"; it has: ucb1, exp3, epsilon-greedy'),
    ([7], {}, TypeError, "a name or a function"), (["uniform"], {"estimators": ["isp"]}, ValueError, 'did you mean "ips"'),
    (["uniform"], {"alpha": 2}, ValueError, "alpha"), ([lambda x, actions: 1 / 0], {}, ZeroDivisionError, "division"),
    ([lambda x, actions: "z"], {}, ValueError, "an action that was offered"), ([lambda x, actions: [0.5, 0.2, 0.1]], {}, ValueError, "a probability for each of 3"),
])
def test_what_cannot_be_valued_says_why(policies, keys, error, why, tmp_path):
    logged(tmp_path / "log", rounds=20)
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


@pytest.mark.parametrize("rows, scale", [(500, 1), (500, 0.3), (500, 1.4), (120, 1)])
def test_the_interval_of_cressie_read_is_that_of_vw_estimators(rows, scale):
    """Where weights are too small in the mean, too large, and right; with rows that stand for several."""
    pytest.importorskip("estimators", reason="vw-estimators is not installed: equality with it is NOT tested")
    pytest.importorskip("scipy", reason="scipy is not installed: the interval of vw-estimators is NOT tested")
    from estimators.bandits import cressieread

    rng = np.random.default_rng(rows)
    p_log, keep = rng.uniform(0.05, 1, size=rows), rng.choice([0.5, 1.0], size=rows)
    reward, p_new = rng.uniform(size=rows), np.minimum(scale * p_log * rng.exponential(size=rows), 1)
    columns = {"action": rng.integers(3, size=rows).tolist(), "propensity": p_log.tolist(), "reward": reward.tolist(), "pi": p_new.tolist()}
    for kept in (np.ones(rows), keep):
        for alpha in (0.05, 0.2):
            own = corral.evaluate({**columns, "keep": kept.tolist()}, ["column:pi"], alpha=alpha).table()
            theirs = cressieread.Interval()
            for p, r, q, k in zip(p_log, reward, p_new, kept):
                theirs.add_example(p, r, q, p_drop=1 - k)
            at = list(zip(own["estimator"], own["kind"])).index(("cressie-read", "fixed-time"))
            assert [own["low"][at], own["high"][at]] == pytest.approx(theirs.get(alpha), abs=1e-9)


def vw_reads(lines):
    """What Vowpal Wabbit sees in dsjson: action (from 0), cost and probability of each line; its weight and loss; its complaints."""
    pyvw = pytest.importorskip("vowpalwabbit", reason="vowpalwabbit is not installed: dsjson with it is NOT tested")
    vw = pyvw.Workspace("--dsjson --cb_explore_adf --quiet", enable_logging=True)
    seen = []
    for line in lines:
        examples = vw.parse(line)
        # The first example has what all actions share.
        costs = [example.get_label(pyvw.LabelType.CONTEXTUAL_BANDIT).costs for example in examples[1:]]
        seen += [(at, cost.cost, cost.probability) for at, own in enumerate(costs) for cost in own]
        vw.learn(examples)
        vw.finish_example(examples)
    told = vw.get_weighted_examples(), vw.get_sum_loss()
    vw.finish()
    return seen, told, "".join(vw.get_log())


def test_dsjson_is_read_by_vowpal_wabbit_and_comes_back(tmp_path):
    """Costs and probabilities are those of the log; what VW writes itself comes back through our lines."""
    logged(tmp_path / "log", rounds=300, propensities="full", preset="paper")

    def convert(name, form, into):
        run = [program(), "log", "convert", str(tmp_path / name), "--to", form, "--strict", "--out", str(tmp_path / into)]
        subprocess.run(run, check=True, capture_output=True)
        return (tmp_path / into).read_text().splitlines()

    lines = convert("log", "dsjson", "dsjson")
    columns = corral.log.read(tmp_path / "log")
    seen, (weight, loss), complaints = vw_reads(lines)
    assert not complaints and weight == 300 and np.isfinite(loss) and loss < 0
    actions = [list(MEANS).index(action) for action in columns["action"]]
    wanted = zip(actions, -columns["reward"], columns["propensity"])
    for (action, cost, p), (own, theirs, propensity) in zip(seen, wanted, strict=True):
        assert (action, cost) == (own, theirs) and p == pytest.approx(propensity, rel=1e-6)
    assert convert("dsjson", "corral", "again")

    def without_features(lines):
        return [{key: value for key, value in json.loads(line).items() if key != "c"} for line in lines]

    assert without_features(convert("again", "dsjson", "twice")) == without_features(lines)


def test_vw_estimators_value_our_dsjson_as_we_do(tmp_path):
    """Read by the parser of their own, line by line, with rows that stand for several: the same values to 1e-9."""
    pytest.importorskip("estimators", reason="vw-estimators is not installed: our dsjson with it is NOT tested")
    from estimators.bandits import cressieread, ips, snips
    from estimators.utils import ds_parse

    logged(tmp_path / "log", rounds=400, propensities="full", preset="paper")
    rng = np.random.default_rng(2)
    kept = []
    for line in (tmp_path / "log").read_text().splitlines():
        record = json.loads(line)
        del record["chain"]
        if record["kind"] == "decision":
            record["keep"] = rng.choice([1.0, 0.5, 0.25])
        kept.append(json.dumps(record, separators=(",", ":")))
    (tmp_path / "kept").write_text("\n".join(kept) + "\n")
    for name in ("log", "kept"):
        run = [program(), "log", "convert", str(tmp_path / name), "--to", "dsjson", "--strict", "--out", str(tmp_path / "dsjson")]
        subprocess.run(run, check=True, capture_output=True)
        rows = (tmp_path / "dsjson").read_bytes().splitlines()
        assert len(rows) == 400
        for policy, own in (("uniform", lambda row: 1 / row["num_a"]), ("action:a", lambda row: float(row["a"] == 1))):
            ours = corral.evaluate(tmp_path / name, [policy]).table()
            # What only counts rows has no drop rate.
            estimators = {"cressie-read": cressieread} if name == "kept" else {"ips": ips, "snips": snips, "cressie-read": cressieread}
            for estimator, module in estimators.items():
                theirs = (module.Interval if name == "kept" else module.Estimator)()
                for line in rows:
                    row, drop = ds_parse.json_cooked(line), json.loads(line).get("pdrop", 0)
                    assert not row["skipLearn"] and row["a"] == json.loads(line)["_label_Action"]
                    theirs.add_example(row["p"], -float(row["cost"]), own(row), **({"p_drop": drop} if name == "kept" else {}))
                at = list(zip(ours["estimator"], ours["kind"])).index((estimator, "fixed-time"))
                said = [ours["low"][at], ours["high"][at]] if name == "kept" else ours["value"][at]
                assert said == pytest.approx(theirs.get(), abs=1e-9), (policy, estimator)


VW_LINES = [
    {
        "_label_cost": cost, "_label_probability": p, "_label_Action": action, "_labelIndex": action - 1,
        "o": [{"v": -cost, "EventId": event, "ActionTaken": False}], "Timestamp": f"2026-11-18T16:0{t}:07.1230000Z", "Version": "1",
        "EventId": event, "a": ranked, "c": {"_multi": [{"a": {"id": "0"}}, {"a": {"id": "1"}}, {"a": {"id": "2"}}]}, "p": probabilities, "VWState": {"m": "corral"}, **more,
    }
    for t, (cost, p, action, event, ranked, probabilities, more) in enumerate([
        (-1.0, 0.8, 2, "e73a4d6b", [2, 1, 3], [0.8, 0.1, 0.1], {}),
        (0.0, 0.1, 1, "b1c2", [1, 2, 3], [0.1, 0.8, 0.1], {"pdrop": 0.5}),
        (-0.25, 0.2, 3, "0000000000000007-0-1", [3, 1, 2], [0.2, 0.5, 0.3], {}),
    ])
]


def test_vowpal_wabbits_own_lines_come_back(tmp_path):
    """Everything but features: cost, probability, action, ranking, the whole distribution, drop rate, event and time."""
    own = [json.dumps(line, separators=(",", ":")) for line in VW_LINES]
    (tmp_path / "vw").write_text("\n".join(own) + "\n")
    for name, form, into in (("vw", "corral", "ours"), ("ours", "dsjson", "back")):
        run = [program(), "log", "convert", str(tmp_path / name), "--to", form, "--strict", "--out", str(tmp_path / into)]
        subprocess.run(run, check=True, capture_output=True)
    back = [json.loads(line) for line in (tmp_path / "back").read_text().splitlines()]
    assert back == VW_LINES and [list(line) for line in back] == [list(line) for line in VW_LINES]
    seen, (weight, _), complaints = vw_reads((tmp_path / "back").read_text().splitlines())
    # A row that was kept with probability 1/2 stands for two.
    assert not complaints and weight == 4
    assert [(action, cost, round(p, 6)) for action, cost, p in seen] == [(1, -1.0, 0.8), (0, 0.0, 0.1), (2, -0.25, 0.2)]
