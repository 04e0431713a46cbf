"""What a band keeps and shows beside its rounds: decisions that wait, their equality, distributions, a picture."""

import copy
import pickle

import numpy as np
import pytest
from bases import Greedy, Says

import corral

MEANS = [0.2, 0.5, 0.9]


def band(*bases, **keys):
    return corral.Band(list(bases) or ["ucb1", "exp3"], **{"actions": 3, "seed": 1, **keys})


def state(b):
    return b.__reduce__()[1][0]


def test_decisions_are_equal_after_a_round_trip():
    b = corral.Band(["linucb", "exp3"], actions=["a", "b"], features=2, seed=1)
    d, other = b.choose([1, 2]), b.choose([1, 2])
    again = pickle.loads(pickle.dumps(d))
    assert again == d and copy.deepcopy(d) == d and hash(again) == hash(d) and d != other and d != d.id
    assert {d, again, other} == {d, other}
    b.learn(d, reward=1)
    assert again == d


def test_choose_many_is_choose_in_order():
    xs = np.random.default_rng(1).normal(size=(40, 2))
    one, many = (corral.Band(["linucb", "epsilon-greedy"], actions=3, features=2, seed=1) for _ in range(2))
    singles = [one.choose(x) for x in xs]
    together = many.choose_many(xs)
    assert [d.action for d in singles] == [d.action for d in together] and [d.propensity for d in singles] == [d.propensity for d in together]
    many.learn_many(together, rewards=np.linspace(0, 1, 40))
    assert many.metrics()["learned"] == 40
    plain = band()
    assert len(plain.choose_many(count=7)) == 7 and plain.rounds == 7 and plain.choose_many(count=0) == []
    before = state(many)
    for given, error, why in [((np.full((3, 2), np.nan),), ValueError, "row 0, feature 0 is NaN"), ((np.zeros((3, 3)),), ValueError, "rows of 3 features, but 2"),
                              ((), TypeError, "count="), ((np.zeros(2),), ValueError, "two dimensions")]:
        with pytest.raises(error, match=why):
            many.choose_many(*given)
    with pytest.raises(TypeError, match="count="):
        many.choose_many(count=3)
    assert state(many) == before


def test_a_distribution_is_what_decisions_are_drawn_from():
    b = corral.Band(["epsilon-greedy", "squarecb"], actions=3, features=2, seed=1)
    rng = np.random.default_rng(2)
    for _ in range(200):
        d = b.choose([1.0, rng.normal()])
        b.learn(d, reward=MEANS[d.action])
    x, before = [1.0, -0.5], state(b)
    p = b.distribution(x)
    assert p.shape == (3,) and p.sum() == pytest.approx(1) and p.argmax() == 2
    assert state(b) == before
    d = b.choose(x)
    assert d.propensity == pytest.approx(p[d.action], abs=1e-12)
    # 4,000 draws, none learned: each frequency within 5 standard errors (a miss has probability below 1e-5).
    drawn = np.bincount([e.action for e in b.choose_many(np.tile(x, (4_000, 1)))], minlength=3) / 4_000
    now = b.distribution(x)
    assert (abs(drawn - now) <= 5 * np.sqrt(now * (1 - now) / 4_000) + 1e-9).all()
    table = b.distribution([x, [1.0, 1.0]])
    assert table.shape == (2, 3) and (table[0] == now).all()
    rows = corral.Band(["linucb"], actions=4, row_features=1, seed=1)
    assert rows.distribution(actions=[[1.0], [2.0]]).sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="base Says cannot say"):
        band(Says(1)).distribution()
    with pytest.raises(ValueError, match="features"):
        b.distribution([1.0])
    with pytest.raises(ValueError, match="points"):
        corral.Band(["bgd"], points={"ball": {"dim": 2}}, preset="paper", horizon=10).distribution()


def test_rewards_are_played_as_losses_are():
    rewards = np.random.default_rng(3).uniform(-1, 3, size=(300, 3))
    one, other = (band(reward_range=[-1, 3]) for _ in range(2))
    by_rewards, by_losses = one.play(rewards=rewards), other.play((3 - rewards) / 4)
    assert (by_rewards["action"] == by_losses["action"]).all() and np.allclose(by_rewards["loss"], by_losses["loss"], atol=1e-15)
    assert np.allclose(by_rewards["reward"], rewards[np.arange(300), by_rewards["action"]], atol=1e-12)
    with pytest.raises(ValueError, match=r"rewards: row 0, action 0: 4 is not in \[-1, 3\]"):
        one.play(rewards=np.full((2, 3), 4.0))
    for given in [(), (np.zeros((2, 3)), None, np.zeros((2, 3)))]:
        with pytest.raises(TypeError, match="one of them"):
            one.play(*given[:1], rewards=given[2] if given else None)


def test_a_band_keeps_decisions_and_learns_them_by_id(tmp_path):
    kept, plain = band(pending=100, copy=1), band(copy=1)
    for _ in range(300):
        d, e = kept.choose(), plain.choose()
        assert d.action == e.action
        kept.learn(d.id, reward=MEANS[d.action])
        plain.learn(e, reward=MEANS[e.action])
    assert (kept.probabilities == plain.probabilities).all() and kept.metrics()["waiting"] == 0
    d, e, f = kept.choose_many(count=3)
    assert kept.metrics()["waiting"] == 3
    kept.learn(d, reward=1)
    kept.learn(e.token, reward=1)
    assert kept.metrics()["waiting"] == 1
    for done in (d.id, e.id, "0" * 16 + "-0-0"):
        with pytest.raises(ValueError, match="no decision waits under the id"):
            kept.learn(done, reward=1)
    kept.save(tmp_path / "b")
    again = corral.load(tmp_path / "b")
    again.learn(f.id, reward=0.5)
    assert again.metrics()["waiting"] == 0 and kept.metrics()["waiting"] == 1
    with pytest.raises(ValueError, match="keeps none"):
        plain.learn(plain.choose().id, reward=1)
    with pytest.raises(ValueError, match="pending="):
        plain.expire(1)


def test_decisions_that_wait_too_long_expire():
    b = band(pending=4)
    late = b.choose_many(count=4)
    with pytest.raises(RuntimeError, match="4 decisions wait, and at most 4 may"):
        b.choose()
    assert b.rounds == 4 and b.expire(3600) == 0
    with pytest.raises(ValueError, match="seconds"):
        b.expire(-1)
    assert b.expire(0, reward=0.25) == 4 and b.metrics()["expired"] == 4 and b.metrics()["learned"] == 4
    assert np.average(b.table()["mean_reward"], weights=b.table()["plays"]) == pytest.approx(0.25)
    for given in (late[0], late[0].id):
        with pytest.raises(ValueError, match="has expired"):
            b.learn(given, reward=1)
    dropped = b.choose()
    assert b.expire(0) == 1
    with pytest.raises(ValueError, match="has expired"):
        b.learn(dropped.id, reward=1)
    with pytest.raises(ValueError, match="has expired"):
        pickle.loads(pickle.dumps(b)).learn(dropped.id, reward=1)


def test_a_notebook_shows_a_band_with_its_history():
    b = band("ucb1", {"name": "exp3", "label": "<b>"}, Greedy(3))
    assert "<svg" not in b._repr_html_()
    b.simulate({"name": "bernoulli", "means": [0.9, 0.5, 0.2]}, 5_000)
    page = b._repr_html_()
    assert "5000 rounds" in page and page.count("<polygon") == 3 and "&lt;b>" in page and "<b></td>" not in page
    assert len(page) < 20_000


def test_lists_do_where_pairs_do():
    one = band(reward_range=(0, 2), feature_range=(-1, 1), features=0)
    assert band(reward_range=[0, 2], feature_range=[-1, 1]).reward_range == one.reward_range == (0, 2)
    corral.Band(["linucb"], actions=2, features=2, feature_range=[[0, 1], [0, 2]], quota=[2, 3], seed=1)
