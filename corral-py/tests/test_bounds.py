"""Bounds on what a caller may say: the range of features, and a quota for each client."""

import numpy as np
import pytest

import corral


def attacked(rounds=4000, **keys):
    """The mean reward of honest requests after six that say the contrary with a feature of +-1000."""
    band = corral.Band(["linucb", "lints", "epsilon-greedy"], actions=2, features=2, seed=1, **keys)
    rng = np.random.default_rng(1)
    for n in range(6):
        x = [1000.0 * (-1) ** n, 0.0]
        d = band.choose(x)
        band.learn(d, reward=float(d.action != (x[0] > 0)))
    total = 0.0
    for _ in range(rounds):
        x = rng.uniform(-1, 1, 2)
        d = band.choose(x)
        reward = float(rng.random() < (0.9 if d.action == (x[0] > 0) else 0.2))
        band.learn(d, reward=reward)
        total += reward
    return total / rounds, band


def test_by_default_six_requests_with_huge_features_do_not_spoil_a_band():
    spoilt, _ = attacked(feature_range=None)
    learned, band = attacked()
    clipped, _ = attacked(feature_range=(-1, 1))
    assert spoilt < 0.65 and learned > 0.83 and clipped > 0.86
    assert band.metrics()["clipped_features"] == 6
    assert "feature ranges: learned" in band.report()
    assert "6 feature values were clipped" in band.report()
    assert "corral_clipped_features_total" in band.prometheus("b")


def test_a_learned_range_goes_on_from_a_file(tmp_path):
    _, one = attacked(rounds=20)
    one.save(tmp_path / "band")
    other = corral.load(tmp_path / "band")
    for x in ([500.0, 1.0], [0.5, -0.5], [3.0, -7.0]) * 30:
        for band in (one, other):
            d = band.choose(x)
            band.learn(d, reward=float(d.action))
    assert one.metrics() == other.metrics() and one.report() == other.report()


def test_features_outside_a_range_are_refused_where_asked():
    band = corral.Band(["linucb"], actions=2, features=2, feature_range=[(0, 1), (-5, 5)], outside="refuse")
    with pytest.raises(ValueError, match=r"feature 1 of the context must be in \[-5, 5\], but is 6"):
        band.choose([0.5, 6.0])
    assert band.rounds == 0
    band.learn(band.choose([0.5, 5.0]), reward=1)
    for bad in [{"feature_range": (1, 0)}, {"feature_range": [(0, 1)] * 3}]:
        with pytest.raises(ValueError, match="feature range"):
            corral.Band(["linucb"], actions=2, features=2, **bad)
    for bad in [{"feature_range": "lerned"}, {"outside": "cut"}]:
        with pytest.raises(ValueError):
            corral.Band(["linucb"], actions=2, features=2, **bad)


def test_a_report_says_that_rewards_use_a_small_part_of_their_range():
    band = corral.Band(["ucb1", "thompson"], actions=2, reward_range=(-100, 100), seed=1)
    rng = np.random.default_rng(2)
    for _ in range(200):
        d = band.choose()
        band.learn(d, reward=float(np.clip(rng.normal(d.action), -4, 4)))
    assert "% of their range [-100, 100]" in band.report()


def test_a_quota_bounds_what_one_client_teaches(tmp_path):
    def mean(quota):
        band = corral.Band(["ucb1", "exp3", "thompson"], actions=3, quota=quota, seed=1)
        rng, total = np.random.default_rng(3), []
        for n in range(4000):
            d, lies = band.choose(), rng.random() < 0.3
            reward = float(rng.random() < (0.9, 0.6, 0.3)[d.action])
            if not lies:
                total.append((0.9, 0.6, 0.3)[d.action])
            client = "liar" if lies else f"client {n % 500}"
            band.learn(d, reward=float(d.action == 1) if lies else reward, **({"client": client} if quota else {}))
        return np.mean(total), band

    (unbounded, _), (bounded, band) = mean(None), mean((5, 100))
    assert unbounded < 0.7 and bounded > 0.85
    assert band.metrics()["over_quota"] > 500
    band.save(tmp_path / "band")
    assert corral.load(tmp_path / "band").metrics() == band.metrics()


def test_a_quota_wants_to_know_the_client():
    band = corral.Band(["ucb1"], actions=2, quota=(1, 2), seed=1)
    d = band.choose()
    with pytest.raises(TypeError, match="client="):
        band.learn(d, reward=1)
    band.learn(d, reward=1, client="a")
    many = [band.choose() for _ in range(3)]
    with pytest.raises(ValueError, match="3 decisions, but 2 clients"):
        band.learn_many(many, rewards=[1, 1, 1], clients=["a", "b"])
    with pytest.raises(TypeError, match="client="):
        band.learn_many(many, rewards=[1, 1, 1])
    band.learn_many(many, rewards=[1, 1, 1], clients=["a", "b", "c"])
    assert band.metrics()["over_quota"] == 1 and band.metrics()["learned"] == 4
    plain = corral.Band(["ucb1"], actions=2)
    with pytest.raises(TypeError, match="no quota"):
        plain.learn(plain.choose(), reward=1, client="a")
    with pytest.raises(ValueError, match="quota"):
        corral.Band(["ucb1"], actions=2, quota=(3, 2))
