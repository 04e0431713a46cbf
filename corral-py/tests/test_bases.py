"""Bases that are Python objects."""

import pickle
import subprocess
import sys
import threading
import traceback
import warnings

import numpy as np
import pytest
from bases import Exp3, Fails, Greedy, Says, Sees, Unpicklable

import corral
from corral.testing import check, laws

MEANS = [0.3, 0.5, 0.8]


def band(*bases, **keys):
    return corral.Band(list(bases), **{"actions": 3, "seed": 1, **keys})


def play(b, rounds):
    for _ in range(rounds):
        d = b.choose()
        b.learn(d, reward=MEANS[d.action])


@pytest.mark.parametrize("preset", ["practical", "paper"])
def test_a_python_base_learns_beside_the_others(preset):
    b = band(Greedy(3), Exp3(3), "ucb1", preset=preset)
    assert b.bases == ["Greedy", "Exp3", "ucb1"]
    play(b, 1500)
    assert not b.benched and b.table()["plays"].min() > 0
    assert [b.choose().action for _ in range(20)].count(2) >= 12


def test_its_state_is_pickled_with_the_band(tmp_path):
    b = band(Greedy(3), Exp3(3), "thompson")
    play(b, 200)
    b.save(tmp_path / "b")
    c = corral.load(tmp_path / "b")
    play(b, 200)
    play(c, 200)
    assert (b.probabilities == c.probabilities).all()
    assert pickle.loads(pickle.dumps(b)).choose().action == b.choose().action


def test_what_a_base_sees():
    b, sees = corral.Band([s := Sees()], actions=2, seed=1), s
    b.learn(b.choose(), loss=0.5)
    assert sees.contexts == [None, None]
    b = corral.Band([sees := Sees()], actions=2, features=3, seed=1)
    b.learn(b.choose([1, 2, 3]), loss=0.5)
    assert [x.tolist() for x in sees.contexts] == [[1, 2, 3]] * 2
    b = corral.Band([sees := Sees()], actions=2, features=1, row_features=2, seed=1)
    b.learn(b.choose([7], actions=[[1, 2], [3, 4]]), loss=0.5)
    assert [(x.tolist(), rows.tolist()) for x, rows in sees.contexts] == [([7], [[1, 2], [3, 4]])] * 2


class Told(Greedy):
    """Notes what it is told beside losses."""

    def __init__(self, actions):
        super().__init__(actions)
        self.skipped, self.ranges = 0, []

    def skip(self, x):
        self.skipped += 1

    def widen(self, range, remaining):
        self.ranges.append((range, remaining))


def test_a_base_may_heed_rounds_without_it_and_wider_ranges():
    told = Told(3)
    b = band(told, "ucb1", preset="paper", horizon=300)
    play(b, 300)
    assert 0 < told.skipped < 300 and told.ranges[0] == (4.0, 300)
    check(Told(3))


def test_a_base_starts_over_as_it_joined():
    told = Told(3)
    b = band(told, "ucb1", preset="paper")          # epochs that double: everybody starts over
    play(b, 300)
    assert sum(told.seen) < 300 and not b.benched   # the object that was given has been put aside


def test_a_base_may_name_actions():
    b = corral.Band([Says("mid")], actions=["small", "mid"], seed=1)
    assert b.choose().action == "mid"
    b = corral.Band([Says(np.int64(1))], actions=["small", "mid"], seed=1)
    assert b.choose().action == "mid"


@pytest.mark.parametrize("when", ["propose", "learn", "likelihood"])
def test_an_exception_benches_the_base_and_keeps_its_traceback(when):
    b = band(Fails(when), "ucb1", "exp3")
    with pytest.warns(corral.BenchedWarning, match="base Fails was benched in round") as told:
        play(b, 50)
    assert len(told) == 1
    cause = told[0].message.__cause__
    assert isinstance(cause, ValueError) and cause.args == ("no idea",)
    assert f"in {when}" in "".join(traceback.format_tb(cause.__traceback__))
    (benched,) = b.benched
    assert benched.name == "Fails" and benched.during == when and benched.exception is cause
    assert benched.reason.startswith("ValueError: no idea (bases.py, line ")
    assert b.probabilities[0] == 0 and "benched: Fails" in b.report() and "Fails" in repr(benched)
    play(b, 50)


@pytest.mark.parametrize("what, why", [
    (7, "action 7 of 3"), (-1, "action -1 of 3"), ("mid", "unknown action"), (1.5, "TypeError"), (None, "TypeError"),
    ((1, 0.0), "probability of a proposal"), ((1, float("nan")), "probability"), ((1, 2.0), "probability"),
    ((1, 0.5, 0.5), "tuple"), ((), "tuple")])
def test_a_proposal_that_is_none_benches(what, why):
    b = band(Says(what), "ucb1", preset="paper", horizon=100)
    with pytest.warns(corral.BenchedWarning, match=why):
        play(b, 50)
    assert b.benched[0].name == "Says"


def test_an_unknown_action_name_is_answered_with_the_nearest():
    b = corral.Band([Says("midd"), "ucb1"], actions=["small", "mid"], seed=2)
    with pytest.warns(corral.BenchedWarning, match="did you mean"):
        for _ in range(20):
            b.learn(b.choose(), loss=0.5)
    assert isinstance(b.benched[0].exception, ValueError)


def test_when_no_base_is_left_the_last_exception_is_the_cause():
    b = band(Fails("propose"))
    with pytest.raises(RuntimeError, match="no base is left") as raised:
        b.choose()
    assert isinstance(raised.value.__cause__, ValueError)


def test_a_warning_that_is_an_error_is_raised_with_its_cause():
    b = band(Fails("propose"), "ucb1")
    with warnings.catch_warnings():
        warnings.simplefilter("error", corral.BenchedWarning)
        with pytest.raises(corral.BenchedWarning) as raised:
            play(b, 50)
    assert isinstance(raised.value.__cause__, ValueError)
    play(b, 20)


@pytest.mark.parametrize("when", ["propose", "learn"])
def test_an_interrupt_is_the_callers_and_benches_no_base(when):
    b = band(Fails(when, KeyboardInterrupt()), preset="paper", horizon=100)
    with pytest.raises(KeyboardInterrupt):
        play(b, 5)
    assert not b.benched


@pytest.mark.parametrize("base", [object(), 7, type("Half", (), {"propose": lambda self, x, u: 0})()])
def test_a_base_without_its_methods_is_refused(base):
    with pytest.raises(TypeError, match=r"(propose\(x, u\)|learn\(x, action, loss, weight\))"):
        band(base)


def test_a_class_is_no_base():
    with pytest.raises(corral.CorralError, match=r"Greedy is a class: did you mean Greedy\(\)\?"):
        band(Greedy)


def test_a_base_may_refuse_the_band_that_it_joins():
    class Picky(Greedy):
        def join(self, actions, features, row_features):
            if actions != len(self.seen):
                raise ValueError(f"{actions} actions, {features} features, {row_features} of a row")

    assert band(Picky(3), "ucb1").bases == ["Picky", "ucb1"]
    with pytest.raises(ValueError, match="3 actions, 0 features, 0 of a row"):
        band(Picky(2), "ucb1")
    b = band("ucb1")
    with pytest.raises(ValueError, match="3 actions"):
        b.add(Picky(4))
    assert b.bases == ["ucb1"]


def test_a_base_that_does_not_pickle_plays_but_is_not_saved(tmp_path):
    b = band(Unpicklable(3), "ucb1")
    play(b, 50)
    with pytest.raises(corral.CorralError, match="the base Unpicklable cannot be pickled: .*it holds a socket") as raised:
        b.save(tmp_path / "b")
    assert isinstance(raised.value.__cause__, TypeError)
    assert not (tmp_path / "b").exists() and not b.benched
    play(b, 50)


def test_a_base_must_not_call_its_band():
    class Calls(Greedy):
        def propose(self, x, u):
            return b.choose().action

    b = band(Calls(3), "ucb1")
    with pytest.warns(corral.BenchedWarning, match="called the band while it was asked"):
        play(b, 20)


def test_threads_wait_for_each_other_while_python_bases_run():
    b = band(Greedy(3), Exp3(3))
    threads = [threading.Thread(target=play, args=(b, 200)) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert b.rounds == 800 and b.table()["plays"].sum() == 800


@pytest.mark.parametrize("base", [Greedy(3), Exp3(3), Says(1), Fails("never")])
def test_the_laws_hold_for_honest_bases(base):
    check(base, actions=3)
    check(base, actions=3, features=2, rounds=300)


class Draws(Greedy):
    """Draws by itself: the same u gives other proposals."""

    def propose(self, x, u):
        action = int(np.random.default_rng().integers(3))
        return action, self.likelihood(x, action)


class Lies(Greedy):
    """Its likelihoods do not sum to one."""

    def likelihood(self, x, action):
        return 0.9


class Forgets(Greedy):
    """Does not pickle what it learned."""

    def __getstate__(self):
        return {"seen": [0] * 3, "sums": [0.0] * 3}


@pytest.mark.parametrize("base, law", [(Draws(3), "randomness"), (Lies(3), "likelihoods"), (Forgets(3), "continuation"),
                                       (Fails("learn"), "survival"), (Says(5), "proposals")])
def test_the_laws_are_broken_by_others(base, law):
    broken = {name for name, how in laws(base) if how is not None}
    assert law in broken
    with pytest.raises(AssertionError, match=law):
        check(base)


def test_a_base_that_does_not_pickle_cannot_be_checked():
    with pytest.raises(TypeError, match="pickled"):
        check(Unpicklable(3))


ENDS = """
import sys, threading, time
import numpy as np
import corral

class Sleepy:
    def propose(self, x, u):
        return 0

    def learn(self, x, action, loss, weight):
        time.sleep(0.001)

band = corral.Band(["ucb1"] + [Sleepy()] * (sys.argv[1] == "python"), actions=3, seed=1)
played = threading.Thread(target=lambda: band.play(np.full((2_000_000, 3), 0.5)), daemon=True)
played.start()
time.sleep(0.05)
for _ in range(3):
    threading.Thread(target=lambda: [band.choose() for _ in range(10 ** 9)], daemon=True).start()
time.sleep(0.05)
"""


@pytest.mark.parametrize("bases", ["compiled", "python"])
def test_an_interpreter_ends_whatever_daemon_threads_do_in_a_band(bases):
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", ENDS, bases], capture_output=True, text=True, timeout=60)
        assert (ended.returncode, ended.stderr) == (0, "")
