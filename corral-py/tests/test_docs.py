"""What the documentation shows runs, and the stubs say what is there."""

import doctest
import importlib
import importlib.util
import inspect
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
from bases import Corner, Greedy

import corral
import corral._run
import corral.testing

SPEC = """
rounds = 200
seeds = 3
environment = { name = "bernoulli", means = [0.8, 0.2] }
[[learner]]
master = "practical"
bases = ["ucb1", "exp3"]
"""
ROOT = pathlib.Path(corral.__file__).parent
EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"


def docstrings():
    yield "corral", corral.__doc__
    yield "corral.testing", corral.testing.__doc__
    for name in corral.__all__:
        thing = getattr(corral, name)
        if isinstance(thing, str):
            continue
        yield name, inspect.getdoc(thing)
        if inspect.isclass(thing):
            for own, method in vars(thing).items():
                if not own.startswith("_"):
                    yield f"{name}.{own}", inspect.getdoc(method)


@pytest.mark.parametrize("name, text", [pytest.param(n, t, id=n) for n, t in docstrings()])
def test_every_docstring_is_there_and_its_example_runs(name, text):
    assert text, name
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, name, None, 0)
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed == 0


ADAPTERS = {"coba": "coba", "gymnasium": "gymnasium", "litellm": "litellm", "river": "river", "sklearn": "sklearn", "vw": "vowpalwabbit"}


@pytest.mark.parametrize("name", ADAPTERS)
def test_the_docstrings_of_adapters_are_there_and_their_examples_run(name):
    pytest.importorskip(ADAPTERS[name], reason=f"{ADAPTERS[name]} is not installed: the docstrings of its adapter are NOT run")
    module = importlib.import_module(f"corral.adapters.{name}")
    assert doctest.testmod(module).failed == 0
    for public in module.__all__:
        assert getattr(module, public).__doc__


DOCS = [EXAMPLES.parent / "README.md", EXAMPLES.parent.parent / "README.md", EXAMPLES.parent.parent / "docs" / "python.md"]
BLOCKS = [
    pytest.param(block, id=f"{path.parent.name}/{path.stem}-{i}")
    for path in DOCS
    for i, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.S))
    if ": ..." not in block  # a list of methods, and no program
]


@pytest.mark.parametrize("block", BLOCKS)
def test_every_block_of_the_documents_runs(block, tmp_path, monkeypatch):
    """With what a reader would put in: a base, a context, a service, a spec."""
    given = {"__name__": "__main__", "corral": corral, "spec": SPEC, "x": np.ones(16), "serve": lambda action: 0.5,
             "MyBandit": lambda: Greedy(3), "MyPoints": lambda: Corner((0.0, 1.0)), "cost": lambda point: 0.5}
    for package in ("pandas", "ray", "dask"):
        if f"{package}." in block:
            given[package] = pytest.importorskip(package, reason=f"{package} is not installed: its example in the documents is NOT run")
    monkeypatch.chdir(tmp_path)
    pathlib.Path("spec.toml").write_text(SPEC)
    if "ray" in given:
        given["ray"].init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    exec(block, given)
    if "ray" in given:
        given["ray"].shutdown()
    if "result" in given:
        assert (given["result"].cells()["regret"] == corral.run(SPEC).cells()["regret"]).all()
    if "band" in given:
        assert given["band"].rounds == 1 and not given["band"].benched


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_first_band():
    assert example("first_band").main() > 0.7


def test_own_base():
    assert example("own_base").main() < 250


def test_late_rewards():
    assert example("late_rewards").main() > 0.6


def test_compare_on_your_data():
    means = example("compare_on_your_data").main(rounds=1_500, seeds=2)
    assert max(means, key=means.get) != "exp3" and means["band"] > means["exp3"]


def test_the_stubs_say_what_is_there():
    pytest.importorskip("mypy", reason="mypy is not installed: the stubs are NOT checked")
    checked = subprocess.run([sys.executable, "-m", "mypy.stubtest", "corral._corral"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_docstrings_of_the_stubs_are_those_of_the_module():
    checked = subprocess.run([sys.executable, str(EXAMPLES.parent / "stubs.py"), "--check"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


TYPED = """
import numpy as np
import corral
from typing import assert_type

class MyBandit:
    def propose(self, x: object, u: float) -> int:
        return 0

    def learn(self, x: object, action: int, loss: float, weight: float) -> None: ...

class Weighted:
    def propose(self, x: object, u: float) -> tuple[int, float]:
        return 0, 1.0

    def learn(self, x: object, action: int, loss: float, weight: float, probability: float) -> None: ...

def serve(action: str) -> float:
    return 0.5

x = np.ones(16)
{block}
assert_type(band, corral.Band[str])
assert_type(d, corral.Decision[str])
assert_type(d.action, str)
numbered = corral.Band(["ucb1", Weighted()], actions=3, reward_range=[0, 1])
assert_type(numbered.choose().action, int)
assert_type([d.action for d in numbered.choose_many(count=3)], list[int])
own: corral.Base = MyBandit()
weighted: corral.BaseWithProbability = Weighted()
"""


@pytest.mark.parametrize("checker", [["mypy", "--strict"], ["pyright", "--pythonpath", sys.executable]], ids=lambda checker: checker[0])
def test_the_code_of_the_readme_is_typed(checker, tmp_path):
    pytest.importorskip(checker[0], reason=f"{checker[0]} is not installed: the types of the README are NOT checked by it")
    (block,) = re.findall(r"```python\n(.*?)```", DOCS[0].read_text(), re.S)
    run = [sys.executable, "-m", *checker]

    def check(name, text):
        (tmp_path / name).write_text("from __future__ import annotations\n" + text.replace("from typing import assert_type", "from typing_extensions import assert_type"))
        return subprocess.run([*run, str(tmp_path / name)], capture_output=True, text=True, cwd=tmp_path)

    good = check("good.py", TYPED.format(block=block))
    if "node" in good.stderr and "error:" not in good.stdout:
        pytest.skip(f"{checker[0]} cannot run here: the types of the README are NOT checked by it")
    assert good.returncode == 0, good.stdout + good.stderr
    for wrong in ('corral.Band(["ucb1"], actions=2, preset="papper")', 'corral.Band([object()], actions=2)', 'corral.Band(["ucb1"], actions=["a"]).choose().action + 1'):
        assert check("bad.py", f"import corral\n{wrong}\n").returncode == 1, wrong


def test_the_package_is_typed():
    pytest.importorskip("mypy", reason="mypy is not installed: the package is NOT checked")
    assert (ROOT / "py.typed").exists()
    mypy = [sys.executable, "-m", "mypy", "--config-file", "../pyproject.toml", "--package", "corral"]
    checked = subprocess.run(mypy, cwd=EXAMPLES.parent / "python", capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_importing_needs_numpy_alone():
    code = "import sys, corral; sys.exit(bool({'pandas', 'polars', 'sklearn', 'coba', 'river', 'litellm', 'gymnasium'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_llm_routing():
    for package in ("pareto_bandit", "sklearn"):
        pytest.importorskip(package, reason=f"{package} is not installed: the example of LLM routing is NOT run")
    means = example("llm_routing").main(seeds=1)
    assert means["band, practical"] > means["band, paper"] and means["band, practical"] > 0.82
