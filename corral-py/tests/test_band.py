"""Choose, learn, save and load; what the caller does wrong changes nothing."""

import copy
import json
import multiprocessing
import os
import pickle
import random
import threading
import urllib.parse

import numpy as np
import pytest

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


def test_a_band_finds_the_best_action():
    b = band()
    play(b, 2000)
    assert [b.choose().action for _ in range(20)].count("frontier") >= 15
    assert b.rounds == 2020 and len(b) == 3 and b.bases == ["ucb1", "exp3", "thompson"]
    assert b.probabilities.sum() == pytest.approx(1)


@pytest.mark.parametrize("keys", [{}, {"preset": "paper"}, {"preset": "paper", "horizon": 500},
                                  {"master": "exp3"}, {"master": {"name": "corral", "rate": "fast", "credit": "likelihood"},
                                                       "horizon": 500}])
def test_the_same_seed_gives_the_same_run_under_every_master(keys):
    runs = []
    for _ in range(2):
        b = band(**keys)
        actions = []
        for _ in range(200):
            d = b.choose()
            actions.append(d.action)
            b.learn(d, reward=MEANS[d.action])
        runs.append(actions)
    assert runs[0] == runs[1]


def test_without_a_seed_runs_differ():
    draws = [[d.action for d in [b.choose() for _ in range(64)]] for b in (band(seed=None), band(seed=None))]
    assert draws[0] != draws[1]


def test_actions_may_be_numbers():
    b = corral.Band(["ucb1"], actions=3, seed=1)
    assert b.actions == 3 and b.choose().action in (0, 1, 2)
    assert band().actions == list(MEANS)


def test_rewards_are_scaled():
    b = corral.Band(["ucb1", "exp3"], actions=2, reward_range=(-10, 30), seed=1)
    for _ in range(500):
        d = b.choose()
        b.learn(d, reward=[-10, 30][d.action])
    means = b.table()["mean_reward"]
    assert means.max() > 20 and means.min() >= -10 and b.reward_range == (-10, 30)
    one, other = band(["ucb1"]), band(["ucb1"])
    for _ in range(50):
        d, e = one.choose(), other.choose()
        one.learn(d, reward=MEANS[d.action])
        other.learn(e, loss=1 - MEANS[e.action])
    assert (one.probabilities == other.probabilities).all()


def test_a_decision_pickles_small_and_comes_home_late():
    b = band(features=4, bases=["linucb", "exp3"])
    decisions = [b.choose(np.ones(4)) for _ in range(50)]
    kept = [pickle.dumps(d) for d in decisions]
    assert max(map(len, kept)) < 600
    for text in reversed(kept):
        d = pickle.loads(text)
        b.learn(d, reward=MEANS[d.action])
        assert d.learned
    assert sum(b.table()["plays"]) == 50
    assert decisions[0].round == 0 and not decisions[0].learned and decisions[0].id != decisions[1].id
    assert 0 < decisions[0].propensity <= 1 and 0 < decisions[0].base_probability <= 1
    assert "Decision" in repr(decisions[0])


def test_saved_and_loaded_it_goes_on_bit_for_bit(tmp_path):
    b = band(features=2, bases=["linucb", "exp3", {"name": "epsilon-greedy", "label": "eps"}])
    rng = np.random.default_rng(1)
    for _ in range(100):
        d = b.choose(rng.normal(size=2))
        b.learn(d, reward=MEANS[d.action])
    out = b.choose([0.5, 0.5])
    b.save(tmp_path / "band.corral")
    c = corral.load(tmp_path / "band.corral")
    assert c.bases == ["linucb", "exp3", "eps"]
    c.learn(pickle.loads(pickle.dumps(out)), reward=0.25)
    b.learn(out, reward=0.25)
    for _ in range(100):
        x = rng.normal(size=2)
        d, e = b.choose(x), c.choose(x)
        assert (d.action, d.propensity, d.round) == (e.action, e.propensity, e.round)
        assert d.id != e.id  # what is loaded is a copy of its own
        b.learn(d, reward=MEANS[d.action])
        c.learn(e, reward=MEANS[e.action])
    assert (b.probabilities == c.probabilities).all()
    assert copy.deepcopy(b).choose([0, 1]).action == pickle.loads(pickle.dumps(b)).choose([0, 1]).action


def test_copies_choose_side_by_side_and_one_of_them_learns(tmp_path):
    b = band()
    b.save(tmp_path / "b")
    copies = [corral.load(tmp_path / "b", copy=i) for i in (1, 2)]
    decisions = [c.choose() for c in copies for _ in range(10)]
    assert len({d.id for d in decisions}) == 20
    b.learn_many(decisions, rewards=[MEANS[d.action] for d in decisions])
    assert b.rounds == 20


def test_an_explicit_copy_goes_on_with_the_same_ids(tmp_path):
    b = band(copy=7)
    b.choose()
    b.save(tmp_path / "b")
    c = corral.load(tmp_path / "b", copy=7)
    assert [b.choose().id for _ in range(5)] == [c.choose().id for _ in range(5)]


def test_after_a_crash_no_id_is_handed_out_twice_and_every_reward_is_learned(tmp_path):
    b = band()
    play(b, 20)
    b.save(tmp_path / "b")
    lost = [b.choose() for _ in range(50)]  # and then the process is gone
    tokens = [d.token for d in lost]
    c = corral.load(tmp_path / "b")
    new = [c.choose() for _ in range(50)]
    assert not {d.id for d in lost} & {d.id for d in new}
    for d in new:
        c.learn(d, reward=MEANS[d.action])
    for token in tokens:
        c.learn(token, reward=0.5)
    assert c.metrics()["refused"] == 0 and c.metrics()["learned"] == 120


def worker(pickled):
    b = pickle.loads(pickled)
    return [b.choose().token for _ in range(20)]


def test_what_a_band_learned_of_its_bases_is_a_prior_of_another():
    bases = [{"name": "fixed", "arm": arm} for arm in range(3)]
    first = band(bases, master="uniform")
    play(first, 300)
    known = first.experience(plays=20)
    assert [k["plays"] for k in known] == [20.0] * 3
    assert [round(k["relative"], 6) for k in known] == [-0.233333, -0.033333, 0.266667]
    second = pickle.loads(pickle.dumps(band(bases, master={"name": "exp3", "experience": known})))
    probability = second.table()["probability"]
    assert probability[2] > probability[1] > probability[0]
    # It is part of what a band is: a copy goes on with it.
    play(second, 5)
    assert state(pickle.loads(pickle.dumps(second))) == state(second)
    with pytest.raises(ValueError, match="experience of 2 bases, but the band has 3"):
        band(bases, master={"name": "exp3", "experience": known[:2]})


def test_bands_pickled_to_workers_never_share_an_id():
    b = band()
    with multiprocessing.get_context("fork").Pool(3) as pool:
        tokens = sum(pool.map(worker, [pickle.dumps(b)] * 6, chunksize=1), [])
    assert len(set(tokens)) == 120
    b.learn_many(tokens, rewards=[0.5] * 120)
    assert b.metrics()["learned"] == 120
    with pytest.raises(ValueError, match="learned already"):
        b.learn(tokens[0], reward=0.5)


def test_a_forked_process_is_a_copy_of_its_own():
    b = band()
    b.choose()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, "\n".join(b.choose().token for _ in range(10)).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        theirs = pipe.read().split()
    os.waitpid(child, 0)
    own = [b.choose() for _ in range(10)]
    b.learn_many(own + theirs, rewards=[1] * 20)
    assert b.metrics()["learned"] == 20 and len(theirs) == 10


def test_a_token_is_text_that_belongs_to_its_band_and_its_round():
    b = band(features=2, bases=["linucb", "exp3"])
    other = band(features=2, bases=["linucb", "exp3"])
    d = b.choose([0.5, 1.0])
    token = d.token
    assert token.isascii() and urllib.parse.quote(token, safe="") == token and json.loads(json.dumps(token)) == token
    before = state(b)
    for bad, why in [(token[:-4], "damaged"), ("c9" + token[2:], "version 9"), ("", "not a token"), (d.id, "the id of a decision, and the band keeps none"),
                     (token[:40] + ("A" if token[40] != "A" else "B") + token[41:], "changed|damaged|belongs"),
                     (other.choose([0.5, 1.0]).token, "belongs to ensemble")]:
        with pytest.raises(ValueError, match=why):
            b.learn(bad, reward=1)
        with pytest.raises(ValueError, match=why):
            b.learn_many([d, bad], rewards=[1, 1])
    assert state(b) == before
    b.learn(token, reward=1)
    with pytest.raises(ValueError, match="learned already"):
        b.learn(d, reward=1)
    done = b.choose([0.5, 1.0])
    b.learn(done, reward=1)
    with pytest.raises(ValueError, match="learned already"):
        done.token


def test_bands_that_are_built_alike_have_secrets_of_their_own():
    files = [pickle.dumps(band()) for _ in range(2)]
    assert files[0] != files[1]


def test_bases_come_and_go(tmp_path):
    b = band(["ucb1", "exp3"])
    play(b, 100)
    d = b.choose()
    assert b.add("thompson", share=0.2) == "thompson"
    assert b.add({"name": "ucb1", "scale": 0.1}) == "ucb1 (2)"
    assert b.add("random", name="any") == "any" and len(b) == 5
    assert b.probabilities[4] == pytest.approx(0.1)
    b.retire("exp3")
    assert b.probabilities[1] == 0 and b.benched[0].name == "exp3" and b.benched[0].during == "retired"
    b.learn(d, reward=1)
    play(b, 100)
    b.save(tmp_path / "b")
    c = corral.load(tmp_path / "b")
    play(b, 100)
    play(c, 100)
    assert (b.probabilities == c.probabilities).all() and c.bases == b.bases
    c.reinstate("exp3", share=0.3)
    assert c.probabilities[1] == pytest.approx(0.3) and not c.benched


def test_learn_many_is_learn_in_order():
    one, many = band(), band()
    for _ in range(10):
        d, e = [one.choose() for _ in range(8)], [many.choose() for _ in range(8)]
        for each in d:
            one.learn(each, reward=MEANS[each.action])
        many.learn_many(e, losses=np.array([1 - MEANS[x.action] for x in e]))
    assert np.allclose(one.probabilities, many.probabilities, atol=1e-12)


def test_each_round_may_have_its_own_actions_with_a_row_each():
    b = corral.Band(["linucb", "epsilon-greedy"], actions=5, row_features=3, seed=1)
    rng = np.random.default_rng(2)
    hits = 0
    for t in range(600):
        rows = rng.uniform(size=(rng.integers(2, 6), 3))
        d = b.choose(actions=rows)
        assert 0 <= d.action < len(rows)
        b.learn(d, reward=rows[d.action, 0])
        hits += t >= 300 and d.action == rows[:, 0].argmax()
    assert hits > 150
    d = b.choose(actions={"a": [1, 0, 0], "b": [0.0, 0, 0]})
    assert d.action in ("a", "b")
    b.learn(pickle.loads(pickle.dumps(d)), reward=1.0)
    both = corral.Band(["linucb"], actions=["a", "b"], features=2, row_features=1, seed=1)
    assert both.choose([1, 2], actions=[[0.5], [0.25]]).action in ("a", "b")
    with pytest.raises(ValueError, match="row_features"):
        b.choose()
    with pytest.raises(TypeError, match="names .* need row_features"):
        band().choose(actions=[[1.0]])
    with pytest.raises(ValueError, match="two dimensions"):
        b.choose(actions=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="actions, but 5 were announced"):
        b.choose(actions=rng.uniform(size=(6, 3)))
    with pytest.raises(ValueError, match="features per action"):
        b.choose(actions=rng.uniform(size=(4, 2)))


def test_rows_of_named_actions_are_put_in_the_order_of_the_band():
    one, other = (band(["linucb", "exp3"], row_features=1) for _ in range(2))
    for _ in range(50):
        d = one.choose(actions={"small": [0.1], "mid": [0.2], "frontier": [0.3]})
        e = other.choose(actions={"frontier": [0.3], "small": [0.1], "mid": [0.2]})
        assert (d.action, d.propensity) == (e.action, e.propensity)
        one.learn(d, reward=MEANS[d.action])
        other.learn(e, reward=MEANS[e.action])
    assert one.choose(actions={"mid": [0.2]}).action == "mid"
    before = state(one)
    with pytest.raises(ValueError, match="did you mean .*mid"):
        one.choose(actions={"midd": [0.2]})
    with pytest.raises(TypeError, match="str"):
        one.choose(actions={7: [0.2]})
    assert state(one) == before


def retired(bases, seed, **keys):
    """How often the best and the worst of two actions are chosen in the last 200 of 400 rounds, after the first of three is gone."""
    band = corral.Band(bases, actions=["old", "worst", "best"], seed=seed, **keys)
    rewards = {"old": 0.5, "worst": 0.1, "best": 0.9}
    rng = random.Random(seed)
    counts = dict.fromkeys(rewards, 0)
    for t in range(1000):
        if t == 600:
            band.retire_action("old")
        rows = {name: [float(name == known) for known in rewards] for name in band.actions}
        d = band.choose(actions=rows) if keys else band.choose()
        band.learn(d, reward=float(rng.random() < rewards[d.action]))
        if t >= 800:
            counts[d.action] += 1
    return counts


@pytest.mark.parametrize("base", ["ucb1", "exp3", "thompson", "epsilon-greedy", "tsallis-inf"])
def test_a_retired_action_does_not_shift_the_others(base):
    for keys in ({}, {"row_features": 3}):
        counts = retired([base], 3, **keys)
        assert counts["old"] == 0 and counts["best"] > 150, (keys, counts)


def test_a_band_of_arms_and_contexts_learns_after_an_action_is_retired():
    counts = retired(["ucb1", "linucb", "thompson"], 4, row_features=3)
    assert counts["best"] > 180, counts


def test_actions_join_and_are_offered_by_name(tmp_path):
    band = corral.Band(["ucb1", "thompson"], actions=["a", "b"], max_actions=3, seed=1)
    rewards = {"a": 0.2, "b": 0.4, "c": 0.9}
    rng = random.Random(5)

    def play(band, rounds, **keys):
        counts = dict.fromkeys(rewards, 0)
        for _ in range(rounds):
            d = band.choose(**keys)
            band.learn(d, reward=float(rng.random() < rewards[d.action]))
            counts[d.action] += 1
        return counts

    assert play(band, 300)["c"] == 0
    band.add_action("c")
    band.save(tmp_path / "band")
    band = corral.load(tmp_path / "band")
    assert band.actions == ["a", "b", "c"]
    play(band, 500)
    assert play(band, 100)["c"] > 80
    among = play(band, 100, actions=["b", "a"])
    assert among["c"] == 0 and among["b"] > 60, among
    with pytest.raises(ValueError, match="all have names"):
        band.add_action("d")
    band.retire_action("c")
    with pytest.raises(ValueError, match="unknown action"):
        band.choose(actions=["c"])
    band.add_action("c")
    assert play(band, 100)["c"] > 80, "what was learned of it is not forgotten"
    with pytest.raises(ValueError, match="twice"):
        band.choose(actions=["a", "a"])


def test_a_budget_is_kept_and_costs_are_asked_for(tmp_path):
    """Three models that cost a tenth, half and five budgets: the cheap one alone earns 0.5, the best mixture 0.63."""
    band = corral.Band(["ucb1", "thompson"], actions=["cheap", "mid", "dear"], seed=1, budget={"per_round": 0.002})
    worth = {"cheap": (0.5, 0.0002), "mid": (0.6, 0.001), "dear": (0.9, 0.01)}
    rng = random.Random(1)
    total = spent = 0.0
    for t in range(4000):
        if t == 2000:
            band.save(tmp_path / "band")
            band = corral.load(tmp_path / "band")
        d = band.choose()
        quality, cost = worth[d.action]
        band.learn(d, reward=float(rng.random() < quality), cost=cost)
        total, spent = total + quality, spent + cost
    assert abs(spent / 4000 / 0.002 - 1) < 0.03
    assert total / 4000 > 0.57
    assert band.metrics()["spending"]["mean"] == pytest.approx(spent / 4000)
    with pytest.raises(ValueError, match="budget: say what the decision cost"):
        band.learn(band.choose(), reward=1.0)
    with pytest.raises(ValueError, match="at least 0, but is -1"):
        band.learn(band.choose(), reward=1.0, cost=-1.0)
    many = [band.choose() for _ in range(3)]
    for costs, why in [([1.0, 2.0], "3 decisions, but 2 costs"), ([1.0, -2.0, 0.0], "decision 1: a cost must be a number of at least 0, but is -2"),
                       (None, "budget: say what the decision cost")]:
        with pytest.raises(ValueError, match=why):
            band.learn_many(many, rewards=[1.0, 0.0, 1.0], costs=costs)
    assert not any(d.learned for d in many)
    before = band.metrics()["spending"]
    band.learn_many(many, rewards=[1.0, 0.0, 1.0], costs=[1.0, 2.0, 0.5])
    assert all(d.learned for d in many) and band.metrics()["spending"] != before
    with pytest.raises(TypeError, match="per_round"):
        corral.Band(["ucb1"], actions=2, budget="much")
    with pytest.raises(ValueError, match="positive and finite, but is -2"):
        corral.Band(["ucb1"], actions=2, budget=-2)


def test_a_range_of_rewards_can_be_learned(tmp_path):
    band = corral.Band(["ucb1", "thompson"], actions=["a", "b"], seed=1, reward_range="learned")
    rng = random.Random(3)
    chosen = []
    for _ in range(1500):
        d = band.choose()
        chosen.append(d.action)
        band.learn(d, reward=1000 + (3 if d.action == "b" else 0) + rng.gauss(0, 1))
    assert chosen[-300:].count("b") > 280
    low, high = band.reward_range
    assert 990 < low < 1000 < 1003 < high < 1013
    band.save(tmp_path / "band")
    assert corral.load(tmp_path / "band").reward_range == (low, high)
    assert "was learned" in band.report()
    with pytest.raises(ValueError, match="give reward="):
        band.learn(band.choose(), loss=0.5)
    with pytest.raises(ValueError, match="a number .*, but is NaN"):
        band.learn(band.choose(), reward=float("nan"))
    with pytest.raises(ValueError, match="learns the range"):
        band.play(np.zeros((3, 2)))
    with pytest.raises(TypeError, match="learned"):
        corral.Band(["ucb1"], actions=2, reward_range="wide")


def test_shared_features_and_rows_are_learned_together():
    """The better of two models depends on the request and the model together: chance is 0.5, the best 0.9."""
    band = corral.Band(["linucb", "squarecb"], actions=["x", "y"], features=2, row_features=2, seed=2)
    rng = random.Random(1)
    total = 0.0
    for t in range(1500):
        kind = rng.randrange(2)
        request = [float(kind == 0), float(kind == 1)]
        d = band.choose(request, actions={"x": [1.0, 0.0], "y": [0.0, 1.0]})
        good = (d.action == "x") == (kind == 0)
        reward = float(rng.random() < (0.9 if good else 0.1))
        band.learn(d, reward=reward)
        total += reward if t >= 500 else 0.0
    assert total / 1000 > 0.8


def test_features_may_be_any_array_of_numbers():
    b = band(["linucb"], features=3)
    for x in ([1, 2, 3], (1.0, 2, 3), np.arange(3), np.arange(3, dtype=np.float32), np.arange(6.0)[::2]):
        b.learn(b.choose(x), reward=0.5)


BAD_CONTEXTS = [([1.0, float("nan")], "feature 1 of the context is NaN"), ([1.0, float("inf")], "feature 1"),
                ([1.0], "1 features, but 2 were announced"), ([1.0, 2.0, 3.0], "3 features"), (None, "0 features"),
                ([[1.0, 2.0]], r"one dimension is needed, but the shape is \(1, 2\)"), (["a", "b"], "these are texts")]


@pytest.mark.parametrize("x, why", BAD_CONTEXTS)
def test_a_bad_context_is_refused_and_changes_nothing(x, why):
    b = band(["linucb", "exp3"], features=2)
    play(b, 20, x=[0.5, 1.0])
    before = state(b)
    with pytest.raises(ValueError, match=why):
        b.choose(x)
    assert state(b) == before and not b.benched


def test_a_bad_reward_is_refused_and_the_decision_stays_good():
    b = band(reward_range=(0, 2))
    d = b.choose()
    before = state(b)
    for bad in (2.5, -0.1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="a reward must be in"):
            b.learn(d, reward=bad)
    for bad in (1.5, -0.1, float("nan")):
        with pytest.raises(ValueError, match="a loss must be in"):
            b.learn(d, loss=bad)
    with pytest.raises(TypeError, match="one of them"):
        b.learn(d)
    with pytest.raises(TypeError, match="one of them"):
        b.learn(d, reward=1, loss=0.5)
    with pytest.raises(TypeError):
        b.learn(d, 1.0)
    with pytest.raises(ValueError, match="not a token"):
        b.learn("small", reward=1.0)
    with pytest.raises(TypeError):
        b.learn(7, reward=1.0)
    assert state(b) == before and not d.learned
    b.learn(d, reward=2)


def test_a_decision_is_learned_once_and_by_its_own_band():
    b, other = band(), band()
    d = b.choose()
    text = pickle.dumps(d)
    b.learn(d, reward=1)
    before = state(b)
    for again in (d, pickle.loads(text), pickle.loads(pickle.dumps(d))):
        with pytest.raises(ValueError, match="learned already"):
            b.learn(again, reward=1)
    with pytest.raises(ValueError, match="belongs to ensemble"):
        b.learn(other.choose(), reward=1)
    assert state(b) == before


def test_learn_many_looks_at_all_before_it_learns_any():
    b, other = band(), band()
    old = b.choose()
    text = pickle.dumps(old)
    b.learn(old, reward=1)
    good = [b.choose() for _ in range(3)]
    before = state(b)
    cases = [(good + [old], [1] * 4, "decision 3: .*learned already"), (good + [pickle.loads(text)], [1] * 4, "already"),
             (good + [good[0]], [1] * 4, "learned already"), (good + [other.choose()], [1] * 4, "belongs to ensemble"),
             (good, [1, 1, 7], "decision 2: a reward must be in"), (good, [1, 1], "3 decisions, but 2")]
    for decisions, rewards, why in cases:
        with pytest.raises(ValueError, match=why):
            b.learn_many(decisions, rewards=rewards)
        assert state(b) == before and not any(d.learned for d in good)
    b.learn_many(good, rewards=[1, 1, 1])


def sealed(data):
    """A frame with a right checksum: FNV-1a over everything before it."""
    h = 0xCBF29CE484222325
    for byte in data[:-8]:
        h = ((h ^ byte) * 0x100000001B3) % 2**64
    return bytes(data[:-8]) + h.to_bytes(8, "little")


def test_a_pickle_of_another_version_or_a_damaged_one_is_refused():
    d = band().choose()
    make, (data,) = d.__reduce__()
    assert sealed(data) == data
    newer = bytearray(data)
    newer[data.index(b"decision") + len(b"decision")] += 1
    for bad, why in [(sealed(newer), "version 4 .* reads version 3"), (bytes(newer), "checksum"), (data[:-3], "bytes where"),
                     (b"", "not a snapshot"), (state(band()), "corral band")]:
        with pytest.raises(ValueError, match=why):
            make(bad)
    assert not make(data).learned
    make, (data, _) = band().__reduce__()
    newer = bytearray(data)
    newer[data.index(b"band") + len(b"band")] += 1
    with pytest.raises(ValueError, match="version 7 .* reads version 6"):
        make(sealed(newer))


def test_a_snapshot_that_is_cut_short_or_changed_is_refused(tmp_path):
    b = band()
    play(b, 30)
    path = tmp_path / "b"
    b.save(path)
    data = path.read_bytes()
    for cut in (0, 3, 10, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:cut])
        with pytest.raises(ValueError, match="b: "):
            corral.load(path)
    for at in range(0, len(data), 97):
        changed = bytearray(data)
        changed[at] ^= 0x40
        path.write_bytes(changed)
        with pytest.raises(ValueError):
            corral.load(path)
    with pytest.raises(FileNotFoundError, match="No such file or directory: '.*nowhere'") as raised:
        corral.load(tmp_path / "nowhere")
    assert isinstance(raised.value, corral.CorralError) and raised.value.errno == 2
    with pytest.raises(OSError, match="folder") as raised:
        b.save(tmp_path / "no" / "folder")
    assert isinstance(raised.value, corral.CorralError)


RECURSIVE = {"name": "ucb1"}
RECURSIVE["scale"] = RECURSIVE


@pytest.mark.parametrize("keys, error, why", [
    ({"bases": ["tompson"]}, ValueError, 'did you mean \\\\?"thompson'),
    ({"bases": [{"name": "ucb1", "scal": 1}]}, ValueError, "scale"),
    ({"bases": [{"name": "ucb1", "scale": -1.0}]}, ValueError, "scale must be non-negative"),
    ({"bases": [{"name": "ucb1", "scale": "wide"}]}, ValueError, "ucb1"),
    ({"bases": [{"scale": 1}]}, ValueError, "the base has no name"),
    ({"bases": [{"name": "ucb1", "scale": object()}]}, TypeError, "not a object"),
    ({"bases": [{"name": "ucb1", "scale": 2**70}]}, ValueError, "scale: 1180591620717411303424 takes more than 64 bits"),
    ({"bases": [RECURSIVE]}, ValueError, "nested more than 64 deep"),
    ({"bases": []}, ValueError, "bases must be at least 1"),
    ({"bases": "ucb1"}, TypeError, "a list is needed"),
    ({"bases": ["linucb"]}, ValueError, "features"),
    ({"actions": 0}, ValueError, "at least one"), ({"actions": []}, ValueError, "at least one"),
    ({"actions": ["a", "a"]}, ValueError, "twice"), ({"actions": "abc"}, TypeError, "a list of names"),
    ({"actions": [1, 2]}, TypeError, "a list of names"), ({"actions": -1}, ValueError, "at least one is needed, but this is -1"),
    ({"actions": 2**31}, ValueError, "the number of actions must be smaller"), ({"actions": 2**40}, ValueError, "more than 2"),
    ({"bases": ["linucb"], "features": 2**50}, ValueError, "the number of features must be smaller"),
    ({"reward_range": (1, 1)}, ValueError, "reward_range"), ({"reward_range": (0, float("nan"))}, ValueError, "reward_range"),
    ({"preset": "papper"}, ValueError, "paper"), ({"preset": "paper", "master": "exp3"}, ValueError, "not both"),
    ({"master": "corall"}, ValueError, "corral"), ({"master": {"name": "corral", "credit": "all"}}, ValueError, "credit"),
    ({"horizon": 0}, ValueError, "horizon"), ({"features": -1}, ValueError, "features must be a whole number from 0 .* but is -1"),
    ({"features": 1.5}, TypeError, "features must be a whole number, but is float"), ({"seed": -3}, ValueError, "seed must be .* but is -3"),
    ({"seed": 2**64}, ValueError, "seed must be"), ({"horizon": -1}, ValueError, "horizon must be"), ({"pending": -1}, ValueError, "pending must be"),
    ({"reward_range": 1}, TypeError, 'reward_range: .low, high., or "learned"'), ({"quota": [1, 2, 3]}, TypeError, "quota: two numbers"),
    ({"quota": (1.5, 3)}, ValueError, "quota: two whole numbers"), ({"feature_range": [1, 2, 3]}, TypeError, "feature_range: "),
    ({"bases": ["LinUCB"]}, ValueError, 'did you mean "linucb"'), ({"bases": ["ucb"]}, ValueError, "nearest are ucb1"),
    ({"outside": "cut"}, ValueError, "outside"),
])
def test_what_cannot_be_built_says_why(keys, error, why):
    keys = {"bases": ["ucb1"], **keys}
    bases = keys.pop("bases")
    with pytest.raises(error, match=why) as raised:
        corral.Band(bases, **{"actions": 2, **keys})
    assert isinstance(raised.value, corral.CorralError)


def test_members_that_cannot_come_or_go_change_nothing():
    b = band(["ucb1", "exp3"])
    before = state(b)
    for share in (0, 1, -1, float("nan")):
        with pytest.raises(ValueError):
            b.add("thompson", share=share)
    with pytest.raises(ValueError, match="thompson"):
        b.add("tompson")
    with pytest.raises(ValueError, match="ucb1"):
        b.retire("ucb")
    with pytest.raises(ValueError):
        b.retire(7)
    with pytest.raises(ValueError):
        b.reinstate("ucb1")
    assert state(b) == before
    b.retire("ucb1")
    with pytest.raises(ValueError):
        b.retire("exp3")


def test_the_report_says_who_does_what():
    b = band()
    play(b, 50)
    text = b.report()
    assert text.startswith("50 rounds\n") and "ucb1" in text and "mean reward" in text
    b.retire("exp3")
    assert "benched: exp3 in round 50, retired: the caller retired it" in b.report()
    metrics = b.metrics()
    assert metrics["rounds"] == 50 and metrics["bases"][1]["benched"]["reason"] == "the caller retired it"
    assert 'corral_rounds_total{band="routing"} 50' in b.prometheus("routing")
    table = b.table()
    assert list(table) == ["name", "probability", "plays", "mean_reward", "effective_samples", "benched"]
    assert table["benched"].tolist() == [False, True, False] and table["plays"].sum() == 50
    assert repr(b) == "<Band of ucb1, exp3, thompson over 3 actions, 50 rounds>"


def test_threads_share_a_band_call_by_call():
    b = band()
    errors = []

    def work():
        try:
            play(b, 500)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors and b.rounds == 2000 and b.table()["plays"].sum() == 2000


NO_NUMBERS = [
    (np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False]), "x: the number at place 1 is masked"),
    (np.ma.masked_array([1, 2, 3], [True, False, False]), "x: the number at place 0 is masked"),
    ([1.0, 2.0, np.ma.masked], "x: the number at place 2 is masked"),
    (np.array([1, 2, 3j]), r"x: numbers are needed, but these are complex \(complex128\)"),
    ([1.0, 2.0, 1j], "these are complex"),
    (np.array(["2026-01-01"] * 3, dtype="datetime64[D]"), r"these are dates \(datetime64\[D\]\)"),
    (np.array([1, 2, 3], dtype="timedelta64[s]"), r"these are times \(timedelta64\[s\]\)"),
    ([1.0, None, 2.0], r"at place 1 is an object \(NoneType\)"),
    (np.array([1.0, 2.0, "x"], dtype=object), r"at place 2 is an object \(str\)"),
    (["1", "2", "3"], "these are texts"),
    ([1.0, float("nan"), 2.0], "(?i)nan"),
]


@pytest.mark.parametrize("x, why", NO_NUMBERS)
def test_features_that_are_no_numbers_are_refused_by_name(x, why):
    b = corral.Band(["linucb", "ucb1"], actions=2, features=3, seed=1)
    with pytest.raises(ValueError, match=why):
        b.choose(x)
    assert b.rounds == 0


def test_features_of_actions_are_refused_by_name_and_place():
    b = corral.Band(["linucb", "ucb1"], actions=["a", "b"], row_features=2, seed=1)
    rows = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], [[False, False], [True, False]])
    for given in (rows, {"a": rows[0], "b": rows[1]}):
        with pytest.raises(ValueError, match=r"actions: the number at place \(1, 0\) is masked"):
            b.choose(actions=given)
    with pytest.raises(ValueError, match="actions: numbers are needed, but these are complex"):
        b.choose(actions=np.zeros((2, 2), dtype=complex))


@pytest.mark.parametrize("x", [
    [1, 0, 1], (True, False, True), np.array([1, 0, 1]), np.array([1, 0, 1], dtype=np.uint8), np.array([True, False, True]),
    np.array([1, 0, 1], dtype=np.float32), np.array([1, 0, 1], dtype=object), np.ma.masked_array([1.0, 0.0, 1.0]),
])
def test_features_of_every_kind_of_number_are_the_same(x):
    def chosen(x):
        b = corral.Band(["linucb", "ucb1"], actions=2, features=3, seed=1)
        actions = []
        for _ in range(20):
            d = b.choose(x)
            b.learn(d, reward=0.5 + 0.2 * d.action)
            actions.append(d.action)
        return actions, b.probabilities.tolist()

    assert chosen(x) == chosen(np.array([1.0, 0.0, 1.0]))


def test_the_safe_preset_is_two_bands_of_the_same_bases():
    b = corral.Band(["ucb1", {"name": "exp3"}], actions=["a", "b"], preset="safe", seed=1)
    played = []
    for _ in range(600):
        d = b.choose()
        b.learn(d, reward={"a": 0.2, "b": 0.9}[d.action])
        played.append(d.action)
    assert played[300:].count("b") > 250
    with pytest.raises(TypeError):
        corral.Band([object()], actions=2, preset="safe")
