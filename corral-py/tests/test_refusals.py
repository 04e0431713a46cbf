"""What the caller does wrong is named, and changes nothing."""

import pickle

import numpy as np
import pytest

import corral
from bands import band, play, state


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


HUGE = 10**400


@pytest.mark.parametrize("call, why", [
    (lambda b: b.choose([HUGE, 1]), "x: the number at place 0: a whole number of more than 308 digits"),
    (lambda b: b.choose_many([[1, 2], [HUGE, 1]]), r"xs: the number at place \(1, 0\)"),
    (lambda b: b.choose_many([[1, 2], [1]]), "xs: numbers in rows of one length are needed"),
    (lambda b: b.learn(b.choose([0, 1]), reward=HUGE), "reward: a whole number of more than 308"),
    (lambda b: b.learn(b.choose([0, 1]), loss=HUGE), "loss: a whole number"),
    (lambda b: b.add("exp3", share=HUGE), "share: a whole number"),
    (lambda b: b.retire(-1), "a base, by name or number, must be a whole number from 0 to .*, but is -1"),
    (lambda b: b.reinstate(HUGE), "a base, by name or number"),
    (lambda b: corral.run("quickstart", jobs=-1), "jobs must be a whole number from 0 to .*, but is -1"),
    (lambda b: corral.run_cell("quickstart", -1), "cell must be a whole number from 0 to .*, but is -1"),
    (lambda b: corral.Band(["ucb1"], actions=["a"], max_actions=-1), "max_actions must be a whole number"),
    (lambda b: corral.World({"name": "bernoulli", "means": [0.1, 0.9]}).mean_loss(HUGE), "by a number of more than 64 bits"),
])
def test_numbers_of_any_size_are_refused_by_their_names(call, why):
    b = band(["linucb", "exp3"], features=2)
    with pytest.raises(corral.CorralError, match=why) as raised:
        call(b)
    assert isinstance(raised.value, ValueError)


def test_true_is_no_number_of_actions():
    with pytest.raises(corral.CorralError, match="a list of names, or how many there are"):
        corral.Band(["ucb1"], actions=True)


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


def test_the_rows_of_a_frame_are_those_of_the_actions_in_its_index():
    pandas = pytest.importorskip("pandas")
    rows = {"c": [1.0, 0.0], "a": [0.0, 1.0]}
    new = lambda: corral.Band(["linucb", "epsilon-greedy"], actions=["a", "b", "c"], row_features=2, seed=1)
    one, other = new(), new()
    for _ in range(50):
        d, e = one.choose(actions=pandas.DataFrame(rows.values(), index=list(rows))), other.choose(actions=rows)
        assert (d.action, d.propensity) == (e.action, e.propensity) and d.action in rows
        one.learn(d, reward=float(d.action == "c")), other.learn(e, reward=float(e.action == "c"))
    for index, why in [(["c", "c"], "'c' is there twice"), (["c", "z"], 'unknown action "z"')]:
        with pytest.raises(corral.CorralError, match=why):
            one.choose(actions=pandas.DataFrame(rows.values(), index=index))
    # Where nothing has names, places are all there is.
    whole = np.random.default_rng(1).random((3, 2))
    assert one.distribution(actions=pandas.DataFrame(whole)).tolist() == one.distribution(actions=whole).tolist()
    with pytest.raises(corral.CorralError, match="without row_features: give a list of names"):
        corral.Band(["ucb1"], actions=["a", "b"]).choose(actions={"a": [1], "b": [2]})


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_the_columns_of_a_frame_are_those_of_the_actions(package):
    frames = pytest.importorskip(package)
    table = np.random.default_rng(1).random((200, 3))
    named = frames.DataFrame({name: table[:, i] for i, name in enumerate("abc")})
    new = lambda: corral.Band(["ucb1", "exp3"], actions=["a", "b", "c"], seed=1)
    for how in ("losses", "rewards"):
        plain = new().play(**{how: table})
        for columns in (["a", "b", "c"], ["c", "a", "b"]):
            found = new().play(**{how: named[columns]})
            assert all(np.array_equal(found[name], plain[name]) for name in plain), (how, columns)
        for other in (named[["a", "b"]], named.rename(columns={"c": "d"}) if package == "pandas" else named.rename({"c": "d"})):
            b = new()
            with pytest.raises(corral.CorralError, match=how + r": the columns are .*, but the actions are \["):
                b.play(**{how: other})
            assert b.rounds == 0
    # Where actions have no names, places are all there is.
    numbered = corral.Band(["ucb1", "exp3"], actions=3, seed=1)
    assert np.array_equal(numbered.play(rewards=named[["c", "a", "b"]])["action"], corral.Band(["ucb1", "exp3"], actions=3, seed=1).play(rewards=table[:, [2, 0, 1]])["action"])
