"""Many rounds without the interpreter in the loop."""

import threading
import time

import numpy as np
import pytest
from bases import Greedy

import corral

RNG = np.random.default_rng(7)


def test_play_is_choose_and_learn_row_by_row():
    losses = RNG.uniform(size=(400, 3))
    xs = RNG.normal(size=(400, 2))
    one = corral.Band(["linucb", "exp3"], actions=3, features=2, seed=1)
    all_at_once = corral.Band(["linucb", "exp3"], actions=3, features=2, seed=1)
    decisions = []
    for x, row in zip(xs, losses):
        d = one.choose(x)
        one.learn(d, loss=row[d.action])
        decisions.append(d)
    played = all_at_once.play(losses, xs)
    assert played["action"].tolist() == [d.action for d in decisions]
    assert played["propensity"].tolist() == [d.propensity for d in decisions]
    assert (played["loss"] == losses[np.arange(400), played["action"]]).all()
    assert [all_at_once.bases[i] for i in played["base"]] == [d.base for d in decisions]
    assert (one.probabilities == all_at_once.probabilities).all()


@pytest.mark.parametrize("losses, contexts, why", [
    (np.full((5, 2), 0.5), np.zeros((5, 2)), "2 columns, but 3 actions"),
    (np.full((5, 3), 1.5), np.zeros((5, 2)), r"row 0, action 0: 1.5 is not in \[0, 1\]"),
    (np.full((5, 3), np.nan), np.zeros((5, 2)), "NaN"),
    (np.full((5, 3), 0.5), np.zeros((4, 2)), "4 rows of 2 features, but 5 rows"),
    (np.full((5, 3), 0.5), np.full((5, 2), np.inf), "row 0, feature 0 is inf"),
    (np.full((5, 3), 0.5), None, "contexts"), (np.full(5, 0.5), np.zeros((5, 2)), "two dimensions")])
def test_what_cannot_be_played_changes_nothing(losses, contexts, why):
    b = corral.Band(["linucb", "exp3"], actions=3, features=2, seed=1)
    before = b.__reduce__()[1][0]
    with pytest.raises(ValueError, match=why):
        b.play(losses, contexts)
    assert b.__reduce__()[1][0] == before


def test_play_with_a_python_base():
    b = corral.Band([Greedy(3), "ucb1"], actions=3, seed=1)
    b.play(np.tile([0.9, 0.5, 0.1], (500, 1)))
    assert b.rounds == 500 and b.play(np.tile([0.9, 0.5, 0.1], (100, 1)))["loss"].mean() < 0.3


def test_a_world_is_simulated():
    b = corral.Band(["ucb1", "exp3", "thompson"], actions=3, seed=1)
    run = b.simulate({"name": "bernoulli", "means": [0.9, 0.5, 0.1]}, 3000, seed=3)
    assert run["rounds"] == 3000 and 0 < run["regret"] < 400 and run["loss"] < 900
    assert run["curve"]["round"][-1] == 3000 and run["curve"]["regret"][-1] == pytest.approx(run["regret"])
    again = corral.Band(["ucb1", "exp3", "thompson"], actions=3, seed=1)
    assert again.simulate({"name": "bernoulli", "means": [0.9, 0.5, 0.1]}, 3000, seed=3)["loss"] == run["loss"]
    with pytest.raises(ValueError, match="the environment has actions=2, features=0"):
        b.simulate({"name": "bernoulli", "means": [0.9, 0.5]}, 10)
    with pytest.raises(ValueError, match="bernoulli"):
        b.simulate("bernouli", 10)
    with pytest.raises(ValueError, match="means"):
        b.simulate({"name": "bernoulli", "mean": [0.9]}, 10)


def test_other_threads_run_while_rounds_are_played():
    b = corral.Band(["ucb1", "exp3", "thompson"], actions=3, seed=1)
    done = threading.Event()
    thread = threading.Thread(target=lambda: (b.simulate({"name": "bernoulli", "means": [0.5, 0.6, 0.7]}, 400_000), done.set()))
    thread.start()
    turns = 0
    while not done.is_set():
        turns += 1
        time.sleep(0)
    thread.join()
    assert turns > 100 and b.rounds == 400_000


def test_a_world_is_played_in():
    world = corral.World({"name": "bernoulli", "means": [0.9, 0.1]}, rounds=50, seed=1)
    assert (world.actions, world.features, world.row_features) == (2, 0, 0)
    with pytest.raises(ValueError, match="call next first"):
        world.play(0)
    paid = 0
    for _ in range(50):
        assert world.next() is None
        paid += world.mean_loss(1)
        assert world.play(1) in (0, 1)
    assert paid == pytest.approx(world.best_so_far) == pytest.approx(5)
    world.next()
    with pytest.raises(ValueError, match="action 2 of 2"):
        world.play(2)


def named(name):
    found = next(e for e in corral.list_environments() if e["name"] == name)
    return {"name": name, **found["example"]}


def test_a_world_of_rows_or_points_is_played_in():
    world = corral.World("linear", rounds=5)
    features, rows = world.next()
    assert rows.shape == (world.actions, world.row_features) and len(features) == world.features and world.points is None
    assert 0 <= world.play(1) <= 1 and world.offered == world.actions
    with pytest.raises(ValueError, match="actions, and no points"):
        world.nearest([1.0])
    world = corral.World(named("stochastic-linear"), rounds=5)
    assert world.actions == 0 and world.points and world.next() is None
    point = world.nearest([9.0] * world.dim)
    assert np.linalg.norm(point) <= world.radius * (1 + 1e-9)
    assert 0 <= world.play(point) <= 1 and corral.Band(["random"] if world.actions else ["bgd"], points=world.points, seed=1)
    world.next()
    with pytest.raises(ValueError, match="outside the space"):
        world.play([9.0] * world.dim)


def test_a_world_of_data_ends(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b,class\n0,1,x\n1,0,y\n1,1,x\n")
    world = corral.World({"name": "dataset", "file": str(tmp_path / "rows.csv")}, rounds=10)
    assert sorted(world.play(0) for _ in world) == [0, 0, 1]
    with pytest.raises(StopIteration, match="ended after 3 rounds"):
        world.next()
