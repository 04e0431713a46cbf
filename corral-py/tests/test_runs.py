"""Specs: run, cell by cell, and as tables."""

import json
import os
import pickle

import numpy as np
import pytest

import corral

SPEC = {
    "name": "two bases",
    "rounds": 400,
    "seeds": 4,
    "environment": {"name": "bernoulli", "means": [0.8, 0.5, 0.2]},
    "learner": [
        {"label": "band", "master": {"name": "practical"}, "bases": [{"name": "ucb1"}, {"name": "exp3"}]},
        {"base": {"name": "ucb1"}},
        {"base": {"name": "random"}},
    ],
    "claim": [{"text": "better than chance", "learner": "band", "than": "random", "measure": "ratio", "at-most": 0.9}],
}


@pytest.fixture(scope="module")
def result():
    return corral.run(SPEC, jobs=2)


def test_tables_are_columns_of_numpy(result):
    table = result.table()
    assert table["learner"].tolist() == ["band", "ucb1", "random"] and table["alone"].tolist() == [False, True, True]
    assert table["seeds"].tolist() == [4] * 3 and table["regret"][0] < table["regret"][2]
    cells, curves, bases = result.cells(), result.curves(), result.bases()
    assert len(result) == 12 == len(cells["regret"]) and cells["seed"].dtype == np.int64
    assert {len(c) for c in curves.values()} == {len(curves["round"])} and curves["round"].max() == 400
    assert set(bases["name"]) == {"ucb1", "exp3"} and np.isnan(bases["benched_round"]).all()
    assert result.claims()["verdict"].tolist() == ["holds"]
    assert result.name == "two bases" and "12 cells" in repr(result) and "two bases" in str(result)


def test_columns_become_frames(result):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for columns in (result.table(), result.cells(), result.curves(), result.bases(), result.claims()):
        assert list(pandas.DataFrame(columns).columns) == list(columns) == polars.DataFrame(columns).columns


def test_a_notebook_shows_the_report(result, tmp_path):
    shown = result._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and "two bases" in shown and '<html' not in shown.split('"')[2]
    assert "<html" in result.html()
    result.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == result.html()


def test_cells_run_anywhere_give_the_same_result(result):
    cells = [pickle.loads(pickle.dumps(corral.run_cell(SPEC, i))) for i in reversed(range(corral.count_cells(SPEC)))]
    json.dumps(cells)
    again = corral.collect(SPEC, cells)
    for one, other in zip(result.cells().values(), again.cells().values()):
        assert (one == other).all()
    assert (again.table()["regret"] == result.table()["regret"]).all()
    with pytest.raises(ValueError, match="11 of 12"):
        corral.collect(SPEC, cells[1:])
    with pytest.raises(ValueError, match="there twice"):
        corral.collect(SPEC, cells + cells[:1])
    with pytest.raises(ValueError, match="cell 12 of 12"):
        corral.run_cell(SPEC, 12)


def test_seeds_may_be_a_range(result):
    last = corral.run({**SPEC, "seeds": "2..3"}).cells()
    whole = result.cells()
    assert last["seed"].tolist() == [2] * 3
    assert (last["regret"] == whole["regret"][whole["seed"] == 2]).all()
    with pytest.raises(ValueError, match="FIRST..END"):
        corral.run({**SPEC, "seeds": "3..3"})


def test_a_spec_is_a_file_a_text_or_a_name(result, tmp_path):
    text = """
        name = "two bases"
        rounds = 50
        seeds = 1
        environment = { name = "bernoulli", means = [0.8, 0.2] }
        [[learner]]
        base = { name = "ucb1" }
    """
    (tmp_path / "spec.toml").write_text(text)
    of_file, of_path = corral.run(str(tmp_path / "spec.toml")), corral.run(tmp_path / "spec.toml")
    assert (corral.run(text).cells()["regret"] == of_file.cells()["regret"]).all() and len(of_path) == 1
    assert corral.count_cells("quickstart") > corral.count_cells("quickstart", fast=True) > 0


def test_a_run_goes_on_from_its_folder(tmp_path):
    first = corral.run(SPEC, out=tmp_path / "kept")
    told = []
    again = corral.run(SPEC, out=tmp_path / "kept", progress=lambda done, total: told.append((done, total)))
    assert (first.cells()["regret"] == again.cells()["regret"]).all()
    assert told[-1] == (4800, 4800)


def test_what_cannot_be_run_says_why(tmp_path):
    with pytest.raises(ValueError, match="unknown key"):
        corral.run({**SPEC, "roundss": 5})
    with pytest.raises(ValueError, match="thompson"):
        corral.run({**SPEC, "learner": [{"base": {"name": "tompson"}}], "claim": []})
    with pytest.raises(ValueError, match="quickstart"):
        corral.run("quickstrt")
    with pytest.raises(FileNotFoundError):
        corral.run(tmp_path / "none.toml")
    with pytest.raises(ValueError):
        corral.run("rounds = \n")

    def stop(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        corral.run({**SPEC, "rounds": 200_000}, progress=stop)


def test_a_bar_shows_how_far_a_run_is(capsys):
    corral.run({**SPEC, "rounds": 200_000, "claim": []}, progress=True)
    shown = capsys.readouterr().err
    assert "of 2400000 rounds" in shown and "█" in shown and shown.endswith("\r")
    corral.run(SPEC)
    assert capsys.readouterr().err == ""


def test_everything_is_listed():
    names = {b["name"] for b in corral.list_bases()}
    assert {"exp3", "linucb", "thompson"} <= names
    exp3 = next(b for b in corral.list_bases() if b["name"] == "exp3")
    assert exp3["parameters"] and {"name", "default", "doc", "bounds", "choices"} == set(exp3["parameters"][0])
    assert "corral" in {m["name"] for m in corral.list_masters()}
    assert "bernoulli" in {e["name"] for e in corral.list_environments()}
    assert {"name", "asks"} == set(corral.list_experiments()[0])


@pytest.mark.parametrize("master", ["practical", "paper", {"name": "corral", "rate": "fast"}, "tsallis-inf", "d3rb"])
def test_a_spec_and_a_band_are_the_same_run(master):
    # kl-ucb, moss and exp3 use a horizon where they are told one; the practical preset tells none.
    bases = ["kl-ucb", {"name": "exp3", "ix": True}, {"name": "moss"}, {"master": "corral", "bases": ["ucb1", "exp3"]}]
    world = {"name": "bernoulli", "means": [0.8, 0.5, 0.2]}
    learner = {"label": "band", "master": master, "bases": bases}
    ran = corral.run({"rounds": 700, "seeds": "3..4", "environment": world, "learner": [learner]}, jobs=1)
    how = {} if master in ("practical", "paper") else {"master": master}
    how |= {"preset": master} if master in ("practical", "paper") else {}
    band = corral.Band(bases, actions=3, horizon=700, seed=3, **how)
    played = band.simulate(world, 700, seed=3)
    assert played["curve"]["regret"].tolist() == ran.curves()["regret"].tolist()
    assert band.probabilities.sum() == pytest.approx(1)


def test_what_we_recommend_is_not_warned_of(recwarn):
    corral.run({**SPEC, "rounds": 20, "seeds": 1, "claim": []})
    assert not recwarn.list
    band = {"master": {"name": "corral", "feed": "everyone"}, "bases": ["ucb1", "exp3"]}
    with pytest.warns(UserWarning, match="feeds everyone"):
        corral.run({**SPEC, "rounds": 20, "seeds": 1, "claim": [], "learner": [band]})


def test_a_result_pickles(result):
    again = pickle.loads(pickle.dumps(result))
    assert again.name == result.name and len(again) == len(result) and again.claims()["verdict"].tolist() == ["holds"]
    for one, other in zip((result.cells(), result.curves(), result.bases()), (again.cells(), again.curves(), again.bases())):
        assert all((one[k] == other[k]).all() or np.isnan(one[k]).all() for k in one)
    fast = corral.run("quickstart", fast=True)
    assert len(pickle.loads(pickle.dumps(fast))) == len(fast)


def test_a_result_is_drawn(result):
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed: Result.plot is NOT tested")
    matplotlib.use("Agg")
    ax = result.plot()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["band", "ucb1", "random"] and result.plot(ax=ax) is ax
    with pytest.raises(ValueError, match="no environment 'nowhere'; it has bernoulli"):
        result.plot("nowhere")


def test_bases_in_python_run_in_specs():
    from bases import Exp3, Fails, Greedy, Unpicklable

    learner = {"label": "band", "master": "practical", "bases": ["ucb1", Greedy(3), Greedy(3), Exp3(3)]}
    alone = {"label": "own", "base": Greedy(3)}
    spec = {**SPEC, "learner": [learner, alone, {"base": {"name": "random"}}], "claim": []}
    ran = corral.run(spec, jobs=2)
    table = ran.table()
    assert table["learner"].tolist() == ["band", "own", "random"] and (table["regret"][:2] < 0.5 * table["regret"][2]).all()
    assert set(ran.bases()["name"]) == {"ucb1", "Greedy #1", "Greedy #2", "Exp3"} and not table["benched"].any()
    # A cell is the same in any process and as a band.
    cells = [pickle.loads(pickle.dumps(corral.run_cell(spec, i))) for i in range(corral.count_cells(spec))]
    assert corral.collect(spec, cells).cells()["regret"].tolist() == ran.cells()["regret"].tolist()
    band = corral.Band(learner["bases"], actions=3, horizon=400, seed=1)
    played = band.simulate(SPEC["environment"], 400, seed=1)
    cells = ran.cells()
    assert played["regret"] == pytest.approx(cells["regret"][(cells["learner"] == "band") & (cells["seed"] == 1)][0])
    with pytest.warns(UserWarning, match="learner .* in .*: bases failed and were benched .*Fails: .*no idea") as told:
        benched = corral.run({**spec, "learner": [{"master": "practical", "bases": ["ucb1", Fails("learn")]}]})
    assert benched.table()["benched"][0] > 0 and len(told) == 1
    with pytest.warns(UserWarning, match="learner .* in .*: . of . runs failed .*no idea") as told:
        corral.run({**spec, "learner": [{"label": "own", "base": Fails("propose")}]})
    assert len(told) == 1
    with pytest.raises(corral.CorralError, match=r"did you mean Greedy\(\)"):
        corral.run({**spec, "learner": [{"base": Greedy}]})
    with pytest.raises(ValueError, match="cannot be pickled"):
        corral.run({**spec, "learner": [{"base": Unpicklable(3)}]})


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_data_frame_is_data(package, tmp_path):
    frames = pytest.importorskip(package)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 2))
    frame = frames.DataFrame({"a": x[:, 0], "b": x[:, 1], "class": np.where(x[:, 0] > 0, "yes", "no")})
    spec = {"rounds": 400, "seeds": 2, "environment": {"name": "dataset", "file": frame},
            "learner": [{"base": {"name": "linucb"}}, {"base": {"name": "random"}}]}
    table = corral.run(spec).table()
    assert table["loss"][0] < 0.6 * table["loss"][1]
    first = corral.run(spec, out=tmp_path / "kept")
    told = []
    again = corral.run(spec, out=tmp_path / "kept", progress=lambda done, total: told.append((done, total)))
    assert (again.cells()["loss"] == first.cells()["loss"]).all()
    world = corral.World({"name": "dataset", "file": frame}, rounds=400)
    assert world.actions == 2 and world.features >= 2


RESUMED = """
import sys, pathlib, corral, numpy as np
rng = np.random.default_rng(1)
columns = {"a": rng.normal(size=200).round(3), "b": rng.normal(size=200).round(3), "class": rng.choice(["yes", "no"], 200)}
import pandas
spec = {"rounds": 200, "seeds": 2, "environment": {"name": "dataset", "file": pandas.DataFrame(columns)}, "learner": [{"base": {"name": "linucb"}}]}
print(corral.run(spec, out=sys.argv[1]).cells()["loss"].tolist())
from corral import _frames
print(*_frames._READ)
"""


def test_a_run_on_a_data_frame_goes_on_in_another_process(tmp_path):
    pytest.importorskip("pandas")
    import subprocess
    import sys

    (tmp_path / "tmp").mkdir()
    run = lambda: subprocess.run([sys.executable, "-W", "error", "-c", RESUMED, str(tmp_path / "out")], capture_output=True, text=True,
                                 env={**os.environ, "TMPDIR": str(tmp_path / "tmp")})
    first, again = run(), run()
    assert first.returncode == 0 and again.stdout == first.stdout and not first.stderr + again.stderr, first.stderr + again.stderr
    # The files of frames go when their readers do.
    assert not list((tmp_path / "tmp").rglob("*.csv")) and "frame-" in first.stdout
