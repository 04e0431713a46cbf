"""Choose, learn, save and load."""

import copy
import json
import multiprocessing
import os
import pickle
import random
import signal
import threading
import time
import urllib.parse

import numpy as np
import pytest

import corral
from bands import MEANS, band, play, state


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_while_another_thread_plays_is_told_and_does_not_hang():
    b, table = band(), np.random.default_rng(1).random((3_000_000, 3))
    thread = threading.Thread(target=lambda: b.play(table))
    thread.start()
    time.sleep(0.05)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            b.choose()
        except corral.CorralError as error:
            os._exit(7 if "when the process was forked" in str(error) else 8)
        os._exit(9)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    thread.join()
    assert ended == 7 and b.rounds == 3_000_000
    # Where no thread is in the band, a child goes on as a copy.
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        b.choose()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


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
    d = b.choose(actions=[[1, 0, 0], [0.0, 0, 0]])
    assert d.action in (0, 1)
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


def test_names_that_a_numbered_band_cannot_know_are_refused():
    """By their places in the dictionary, an action would inherit what was learned of the one before it that retired."""
    numbered = corral.Band(["ucb1", "linucb"], actions=3, row_features=1, seed=1)
    before = state(numbered)
    for call in (numbered.choose, numbered.distribution):
        with pytest.raises(ValueError, match=r'"small" is a name.*actions=\["small", ...\].*max_actions='):
            call(actions={"small": [0.1], "mid": [0.2]})
    assert state(numbered) == before
    named = band(["ucb1", "linucb"], row_features=1)
    with pytest.raises(ValueError, match="at least one"):
        named.choose(actions={})


def test_an_array_has_a_row_for_every_action_of_a_named_band():
    named = corral.Band(["ucb1", "linucb"], actions=["a", "b", "c"], max_actions=4, row_features=1, seed=1)
    changes = {3: lambda: named.add_action("d"), 4: lambda: named.retire_action("b"), 2: lambda: None}
    for there, change in changes.items():
        for count in range(1, 6):
            rows = np.ones((count, 1))
            if count == there:
                assert named.choose(actions=rows).action in named.actions
            else:
                with pytest.raises(ValueError, match=f"{count} rows, but the band offers {there} actions"):
                    named.choose(actions=rows)
        change()
        if there == 4:
            named.retire_action("a")


def test_what_is_known_of_an_action_stays_with_its_name():
    """The best of three retires: the bases over arms do not take the worst for it."""
    for bases in (["ucb1"], ["exp3"], ["thompson", "linucb"]):
        b = corral.Band(bases, actions=["best", "good", "worst"], row_features=1, reward_range=(0, 1), seed=3)
        rewards, worst = {"best": 0.9, "good": 0.6, "worst": 0.1}, 0
        rng = random.Random(1)
        for t in range(900):
            names = [*rewards] if t < 800 else ["worst", "good"]
            d = b.choose(actions={name: [1.0] for name in names})
            worst += t >= 800 and d.action == "worst"
            b.learn(d, reward=float(rng.random() < rewards[d.action]))
        assert worst < 40, (bases, worst)


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
    assert abs(spent / 4000 / 0.002 - 1) < 0.01
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
    # What was not rated was paid for, and a decision without a cost is expected to cost what it did before.
    rounds = band.metrics()["spending"]["rounds"]
    band.learn(band.choose(), cost=0.002)
    band.learn_many([band.choose(), band.choose()], costs=[0.001, 0.002])
    now = band.metrics()["spending"]
    assert now["rounds"] == rounds + 3
    band.choose()
    later = band.metrics()["spending"]
    assert (later["rounds"], later["unknown"]) == (now["rounds"], now["unknown"] + 1)
    with pytest.raises(TypeError, match="costs= alone"):
        band.learn_many([band.choose()])
    with pytest.raises(TypeError, match="per_round"):
        corral.Band(["ucb1"], actions=2, budget="much")
    with pytest.raises(ValueError, match="positive and finite, but is -2"):
        corral.Band(["ucb1"], actions=2, budget=-2)


def test_a_doubt_has_the_experience_that_it_doubts():
    """One of its two bands begins with it: the better action has 3/4 of the first decisions, or a little more."""
    known = {"name": "exp3", "experience": [{"relative": 0.5, "plays": 50.0}, {"relative": -0.5, "plays": 50.0}], "doubt": True}
    bases = [{"name": "fixed", "arm": 0}, {"name": "fixed", "arm": 1}]
    first = [corral.Band(bases, actions=2, seed=seed, master=known).choose().action for seed in range(200)]
    assert 130 <= first.count(0) <= 175


def test_costs_without_a_budget_are_refused():
    band = corral.Band(["ucb1"], actions=2, seed=1)
    d = band.choose()
    for said in [{"reward": 1.0, "cost": 3.0}, {"cost": 3.0}]:
        with pytest.raises(ValueError, match="no budget to hold a cost of 3 against: .*budget="):
            band.learn(d, **said)
    with pytest.raises(ValueError, match="decision 0: the band has no budget"):
        band.learn_many([d], rewards=[1.0], costs=[3.0])
    band.learn(d, reward=1.0)


def test_decisions_that_expire_have_a_cost():
    band = corral.Band(["ucb1"], actions=2, seed=1, budget=0.002, pending=100)
    for said, rounds, unknown in [({"cost": 0.001}, 1, 0), ({"reward": 0.0, "cost": 0.001}, 2, 0), ({}, 2, 1)]:
        band.choose()
        assert band.expire(0, **said) == 1
        spending = band.metrics()["spending"]
        assert (spending["rounds"], spending["unknown"]) == (rounds, unknown)
    band.choose()
    with pytest.raises(ValueError, match="budget: say what the decision cost"):
        band.expire(0, reward=0.0)


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
    fresh = corral.Band(["ucb1"], actions=2, reward_range="learned").report()
    assert "rewards: their range is not known yet" in fresh and "was learned" not in fresh
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
