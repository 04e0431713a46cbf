"""Bands over points, bands inside bands, and plugins."""

import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from bases import Corner

import corral
import corral.testing

ROOT = pathlib.Path(__file__).parent.parent.parent
BALL = {"ball": {"dim": 2}}
WORLD = {"name": "stochastic-linear", "set": "ball", "dim": 2}


def points(bases=("scrible", "bgd"), **keys):
    return corral.Band(list(bases), **{"points": BALL, "seed": 1, "horizon": 2_000, "preset": "paper", **keys})


def toward(d, goal=(0.0, 1.0)):
    return (1 + float(np.dot(d.action, goal))) / 2


def test_a_band_plays_points():
    b = points(["scrible", Corner((0.0, 1.0))])
    rewards = []
    for _ in range(2_000):
        d = b.choose()
        assert isinstance(d.action, np.ndarray) and np.linalg.norm(d.action) <= 1 + 1e-9
        rewards.append(toward(d))
        b.learn(pickle.loads(pickle.dumps(d)), reward=rewards[-1])
    assert np.mean(rewards[-500:]) > np.mean(rewards[:500]) and b.benched == []
    assert "points of R^2" in repr(b) and b.actions == 0 and b.table()["plays"].sum() == 2_000


def test_a_band_of_points_goes_on_from_a_file(tmp_path):
    b = points(["scrible", Corner()])
    for _ in range(50):
        d = b.choose()
        b.learn(d, reward=toward(d))
    b.save(tmp_path / "band")
    again = corral.load(tmp_path / "band")
    for _ in range(50):
        d, e = b.choose(), again.choose()
        assert d.action.tolist() == e.action.tolist() and d.base == e.base
        b.learn(d, reward=toward(d)), again.learn(e, reward=toward(e))


def test_a_point_outside_benches_its_base():
    b = points(["scrible", Corner((3.0, 0.0))])
    with pytest.warns(corral.BenchedWarning, match="Corner"):
        for _ in range(200):
            b.learn(b.choose(), loss=0.5)
    assert [x.name for x in b.benched] == ["Corner"]


def test_worlds_of_points_are_simulated():
    ran = points().simulate(WORLD, 500)
    assert ran["rounds"] == 500 and ran["curve"]["round"][-1] == 500
    with pytest.raises(ValueError, match="the environment has actions, but the band plays points"):
        points().simulate({"name": "bernoulli", "means": [0.1, 0.2]}, 10)
    with pytest.raises(ValueError, match="the environment has points"):
        corral.Band(["exp3"], actions=2).simulate(WORLD, 10)
    with pytest.raises(ValueError, match=r"not in \[0, 1\]"):
        points(points={"sphere": {"dim": 2}}, bases=[Corner()]).simulate({"name": "normal-linear", "dim": 2}, 10)


def test_the_laws_are_held_against_a_base_of_points():
    corral.testing.check(Corner(), points=BALL, rounds=200)
    with pytest.raises(AssertionError, match="Corner breaks"):
        corral.testing.check(Corner((3.0, 0.0)), points=BALL, rounds=200)


@pytest.mark.parametrize("keys, error, says", [
    ({"actions": 2}, TypeError, "one of them"),
    ({"points": None}, TypeError, "one of them"),
    ({"points": {"boll": {"dim": 2}}}, ValueError, "ball"),
    ({"points": {"ball": {"dim": 0}}}, ValueError, "points"),
    ({"row_features": 2}, ValueError, "row_features"),
    ({"bases": ["ucb1"]}, ValueError, "needs an environment with arms"),
    ({"bases": ["scribble"]}, ValueError, "scrible"),
])
def test_what_cannot_be_is_refused(keys, error, says):
    with pytest.raises(error, match=says):
        points(**{"bases": ["scrible"], **keys})


def test_points_and_actions_do_not_mix():
    arms = corral.Band(["exp3", "ucb1"], actions=2, seed=1)
    with pytest.raises(ValueError, match="belongs to ensemble"):
        arms.learn(points().choose(), loss=0.5)
    with pytest.raises(ValueError, match="plays points"):
        points().play(np.zeros((3, 2)))


def test_a_band_inside_a_band():
    inner = {"label": "inner", "master": {"name": "corral", "rate": "fast"}, "bases": ["ucb1", {"name": "exp3", "rate": 0.1}]}
    b = corral.Band(["thompson", inner], actions=3, seed=1, horizon=400, preset="paper")
    assert b.bases == ["thompson", "inner"]
    for _ in range(400):
        d = b.choose()
        b.learn(d, loss=[0.9, 0.5, 0.1][d.action])
    again = pickle.loads(pickle.dumps(b))
    assert [again.choose().action for _ in range(9)] == [b.choose().action for _ in range(9)]
    b = corral.Band(["ucb1"], actions=3, seed=1)
    b.add(inner, share=0.3)
    assert b.bases == ["ucb1", "inner"]


@pytest.mark.parametrize("inner, error, says", [
    ({"master": "corall", "bases": ["ucb1"]}, ValueError, "corral"),
    ({"master": "corral", "bases": ["ucb2"]}, ValueError, "ucb1"),
    ({"master": "corral", "bases": []}, ValueError, "at least one"),
    ({"master": "corral", "bases": [Corner()]}, TypeError, "bases: a Corner: Python objects are bases of a band, and not of"),
    ({"master": {"name": "corral", 7: 1}, "bases": ["ucb1"]}, TypeError, "master: the keys of a table are texts, but one is 7"),
    ({"bases": ["ucb1"]}, ValueError, "no name"),
    ({"name": "exp3", "grid": {"rate": [0.1, 0.2]}}, ValueError, "grid"),
])
def test_a_band_inside_that_cannot_be(inner, error, says):
    with pytest.raises(error, match=says):
        corral.Band([inner], actions=2, horizon=100)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The example in C, and a file that is no library."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler: plugins are NOT tested")
    folder = tmp_path_factory.mktemp("plugins")
    source = ROOT / "examples/plugins/c-epsilon-greedy/epsilon_greedy.c"
    include = ROOT / "corral-plugin-abi/include"
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{include}", f"-I{include.parent}", source, "-o", folder / "greedy.so"], check=True)
    (folder / "text.so").write_text("hello")
    return folder


refused = pytest.mark.filterwarnings("ignore:plugin refused")


@refused
@pytest.mark.parametrize("isolate", [False, True])
def test_plugins_play_in_a_band(folder, isolate, tmp_path):
    bases = ["ucb1", {"name": "greedy/epsilon-greedy", "isolate": isolate}]
    b = corral.Band(bases, actions=3, seed=1, plugins=folder)
    assert b.bases[1] == "greedy/epsilon-greedy"
    for _ in range(300):
        d = b.choose()
        b.learn(d, loss=[0.9, 0.5, 0.1][d.action])
    assert b.benched == [] and b.table()["plays"][1] > 0
    b.save(tmp_path / "band")
    with pytest.raises(ValueError, match="plugins="):
        corral.load(tmp_path / "band")
    again = corral.load(tmp_path / "band", plugins=folder)
    pickled = pickle.loads(pickle.dumps(b))
    ahead = [b.choose().action for _ in range(20)]
    assert ahead == [again.choose().action for _ in range(20)] == [pickled.choose().action for _ in range(20)]


@refused
def test_isolated_or_not_the_run_is_the_same(folder):
    def actions(isolate):
        b = corral.Band([{"name": "greedy/epsilon-greedy", "isolate": isolate}, "exp3"], actions=3, seed=7, plugins=folder)
        made = []
        for _ in range(200):
            d = b.choose()
            made.append(d.action)
            b.learn(d, loss=[0.9, 0.5, 0.1][d.action])
        return made

    assert actions(False) == actions(True)


@refused
def test_a_plugin_that_changed_is_not_loaded(folder, tmp_path):
    mine = tmp_path / "plugins"
    shutil.copytree(folder, mine)
    corral.Band(["ucb1", "greedy/epsilon-greedy"], actions=3, plugins=mine).save(tmp_path / "band")
    with open(mine / "greedy.so", "ab") as file:
        file.write(b"\0")
    with pytest.raises(ValueError, match="another file"):
        corral.load(tmp_path / "band", plugins=mine)


@refused
def test_plugins_are_refused_as_by_the_program(folder, tmp_path):
    with pytest.raises(ValueError, match="plugins="):
        corral.Band(["greedy/epsilon-greedy"], actions=2)
    with pytest.raises(ValueError, match="greedy/epsilon-greedy"):
        corral.Band(["greedy/epsilon-gredy"], actions=2, plugins=folder)
    with pytest.raises(ValueError, match="not a folder"):
        corral.Band(["ucb1"], actions=2, plugins=tmp_path / "nowhere")
    mine = tmp_path / "plugins"
    shutil.copytree(folder, mine)
    mine.chmod(0o777)
    # A flag is the program's, and is said to be.
    with pytest.raises(ValueError, match=r"forbid that \(chmod o-w\); the program allows it with --allow-world-writable"):
        corral.Band(["greedy/epsilon-greedy"], actions=2, plugins=mine)
    with pytest.raises(ValueError, match="built in"):
        corral.Band([{"name": "ucb1", "isolate": True}], actions=2, plugins=folder)
    with pytest.raises(ValueError, match="not a library"):
        corral.Band(["text/base"], actions=2, plugins=folder)
    mine = tmp_path / "mine"
    shutil.copytree(folder, mine)
    (mine / "greedy.so").chmod(0o777)
    with pytest.raises(ValueError, match="writ"):
        corral.Band(["greedy/epsilon-greedy"], actions=2, plugins=mine)


def test_a_file_that_is_refused_is_warned_of(folder):
    with pytest.warns(UserWarning, match="plugin refused: .*text.so: not a library"):
        corral.Band(["ucb1"], actions=2, plugins=folder)


@refused
@pytest.mark.parametrize("isolate", [False, True])
def test_specs_may_name_plugins(folder, isolate):
    spec = {"rounds": 100, "seeds": 2, "environment": {"name": "bernoulli", "means": [0.9, 0.5, 0.2]},
            "learner": [{"label": "band", "master": "corral",
                         "bases": ["ucb1", {"name": "greedy/epsilon-greedy", "isolate": isolate}]}]}
    with pytest.raises(ValueError, match="no folder of plugins was named"):
        corral.run(spec)
    whole = corral.run(spec, plugins=folder)
    cells = [corral.run_cell(spec, i, plugins=folder) for i in range(corral.count_cells(spec))]
    assert corral.collect(spec, cells).table()["regret"].tolist() == whole.table()["regret"].tolist()


LOOPS = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void loops(void) {
    FILE *out = fopen(getenv("CORRAL_TEST_MARK"), "w");
    fprintf(out, "%d\\n", (int)getpid());
    fclose(out);
    for (;;) __asm__ volatile("");
}
const void *corral_plugin_v1(unsigned index) { return index ? NULL : NULL; }
"""


def test_a_child_ends_with_its_host_while_a_library_is_opened(tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler: plugins are NOT tested")
    source, library = tmp_path / "loops.c", tmp_path / "plugins" / "loops.so"
    library.parent.mkdir()
    source.write_text(LOOPS)
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library], check=True)
    code = f"import corral; corral.Band(['loops/x'], actions=2, plugins={str(library.parent)!r})"
    # Whether the thread that watches the host was there in time was a matter of luck.
    for turn in range(12):
        mark = tmp_path / f"mark-{turn}"
        host = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "CORRAL_TEST_MARK": str(mark)}, stderr=subprocess.PIPE)
        while not (mark.exists() and mark.read_text().endswith("\n")):
            assert host.poll() is None, host.stderr.read()
            time.sleep(0.005)
        child = int(mark.read_text())
        host.send_signal(signal.SIGKILL)
        host.communicate()
        start = time.monotonic()
        try:
            while time.monotonic() - start < 2:
                os.kill(child, 0)
                time.sleep(0.005)
            os.kill(child, signal.SIGKILL)
            pytest.fail(f"turn {turn}: the child is there two seconds after its host")
        except ProcessLookupError:
            pass
