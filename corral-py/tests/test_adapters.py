"""Each adapter against the real package."""

import pathlib
import pickle
import time
import warnings

import numpy as np
import pytest

import corral


def needs(package):
    return pytest.importorskip(package, reason=f"{package} is not installed: its adapter is NOT tested")


def test_coba_runs_a_band_as_a_learner():
    coba = needs("coba")
    from corral.adapters.coba import BandLearner

    worlds = coba.Environments.from_linear_synthetic(600, n_actions=3, n_context_features=4, n_action_features=0, seed=2)
    learners = [BandLearner(["linucb", "epsilon-greedy", "exp3"], reward_range=(-1, 2), seed=1), coba.RandomLearner()]
    result = coba.Experiment(worlds, learners).run(quiet=True)
    by_learner = {}
    for learner, reward in zip(result.interactions["learner_id"], result.interactions["reward"]):
        by_learner.setdefault(learner, []).append(reward)
    assert len(by_learner) == 2
    assert np.mean(by_learner[0][300:]) > np.mean(by_learner[1][300:]) + 0.03


def coba_rewards(worlds, learners):
    import coba

    result = coba.Experiment(worlds, learners).run(quiet=True)
    by_learner = {}
    for learner, reward in zip(result.interactions["learner_id"], result.interactions["reward"]):
        by_learner.setdefault(learner, []).append(reward)
    return [by_learner[i] for i in range(len(learners))]


@pytest.mark.parametrize("context", [0, 2])
def test_coba_actions_with_features_are_told_apart_by_them(context):
    coba = needs("coba")
    from corral.adapters.coba import BandLearner

    # The actions of a round are new ones: their places say nothing.
    worlds = coba.Environments.from_linear_synthetic(1_200, n_actions=4, n_context_features=context, n_action_features=3, seed=3)
    learners = [BandLearner(["linucb", "epsilon-greedy"], reward_range=(-1, 2), seed=1), coba.RandomLearner()]
    own, chance = coba_rewards(worlds, learners)
    assert len(own) == 1_200 and np.mean(own[600:]) > np.mean(chance[600:]) + 0.1


def test_coba_batches_are_played_round_by_round():
    coba = needs("coba")
    from corral.adapters.coba import BandLearner

    worlds = coba.Environments.from_linear_synthetic(1_200, n_actions=3, n_context_features=3, n_action_features=0, seed=2).batch(4)
    own, chance = coba_rewards(worlds, [BandLearner(["linucb", "epsilon-greedy"], reward_range=(-1, 2), seed=1), coba.RandomLearner()])
    assert len(own) == 1_200 and np.mean(own[600:]) > np.mean(chance[600:]) + 0.03


def test_coba_learners_say_what_they_are_and_where_rewards_lie():
    needs("coba")
    from corral.adapters.coba import BandLearner

    learner = BandLearner(["ucb1"], reward_range=(-1, 2), preset="paper", seed=3)
    assert learner.params == {"family": "corral", "bases": "ucb1", "seed": 3, "preset": "paper", "reward_range": "(-1, 2)"}
    band = {"master": "practical", "bases": ["exp3", {"name": "thompson"}]}
    nested = BandLearner(["ucb1", band, {**band, "label": "inner"}], seed=3)
    assert nested.params["bases"] == "ucb1,practical(exp3,thompson),inner"
    nested.predict(None, ["x", "y"])
    action, probability, kept = learner.predict(None, ["x", "y"])
    with pytest.raises(ValueError, match=r"3.0 is outside \[-1.0, 2.0\].*reward_range="):
        learner.learn(None, action, 3.0, probability, **kept)
    learner.learn(None, action, -1, probability, **kept)
    rows = BandLearner(["linucb"], most=3, seed=1)
    for actions in ([[1.0], [0.5]], [[1.0], [0.5], [0.25]]):
        action, _, _ = rows.predict(None, actions)
        assert action in actions
    for actions, why in [([[1.0]] * 4, "4 actions, where there were 3"), (["a", "b"], "had features at first"), ([[1.0], [0.5, 1]], "as many features each")]:
        with pytest.raises(ValueError, match=why):
            rows.predict(None, actions)
    with pytest.raises(TypeError, match="dense"):
        rows.predict(None, [{"a": 1}, {"b": 1}])


@pytest.mark.parametrize("actions", [["a", "b", "c", "d"], [(1, 0, 0), (0, 1, 0), (0, 0, 1)], [3, 1, 2]], ids=str)
def test_coba_actions_without_features_are_known_by_their_values(actions):
    coba = needs("coba")
    import random

    from corral.adapters.coba import BandLearner

    class Shuffled:
        params = {}

        def read(self):
            rng = random.Random(1)
            for _ in range(1_000):
                offered = rng.sample(actions, len(actions))
                yield {"context": None, "actions": offered, "rewards": [float(a == actions[1]) for a in offered]}

    own, chance = coba_rewards(Shuffled(), [BandLearner(["ucb1", "exp3"], seed=1), coba.RandomLearner()])
    assert np.mean(own[500:]) > 0.9 > 0.5 > np.mean(chance[500:])
    learner = BandLearner(["ucb1"], seed=1)
    with pytest.raises(corral.CorralError, match="is there twice|had no features at first"):
        learner.predict(None, actions)
        learner.predict(None, [actions[0], *actions[:-1]])
    with pytest.raises(corral.CorralError, match="'new' was not there at first"):
        learner.predict(None, [*actions[1:], "new"])


def test_coba_ranges_of_rewards_may_be_learned():
    needs("coba")
    from corral.adapters.coba import BandLearner

    learner, worth = BandLearner(["ucb1", "exp3"], reward_range="learned", seed=1), {"x": 3.0, "y": -7.5}
    for _ in range(300):
        action, probability, kept = learner.predict(None, ["x", "y"])
        learner.learn(None, action, worth[action], probability, **kept)
    assert learner.band.reward_range == (-7.5, 3.0) and learner.band.distribution().argmax() == 0


def test_coba_contexts_become_features():
    coba = needs("coba")
    from corral.adapters.coba import BandLearner

    for context, count in [(None, 0), (0.5, 1), ((1, 2.5), 2), ((1, coba.primitives.Categorical("b", ["a", "b"])), 3)]:
        learner = BandLearner(["epsilon-greedy"], seed=1)
        action, probability, kept = learner.predict(context, ["x", "y"])
        assert action in ("x", "y") and 0 < probability <= 1 and learner.band.features == count
        learner = pickle.loads(pickle.dumps(learner))
        learner.learn(context, action, 1.0, probability, **kept)
        assert learner.band.table()["plays"].sum() == 1
        with pytest.raises(ValueError, match="3 actions, where there were 2"):
            learner.predict(context, ["x", "y", "z"])
    with pytest.raises(TypeError, match="numbers and categories"):
        BandLearner(["ucb1"]).predict({"a": 1}, ["x"])


def test_river_evaluates_a_band_as_a_policy():
    needs("river")
    from corral.adapters.river import BandContextualPolicy, BandPolicy

    policy = BandPolicy(["ucb1", "exp3", "thompson"], seed=1)
    rng = np.random.default_rng(1)
    for _ in range(1500):
        arm = policy.pull(["a", "b", "c"])
        policy.update(arm, float(rng.random() < {"a": 0.2, "b": 0.5, "c": 0.9}[arm]))
    assert policy.ranking[0] == "c" and policy._counts["c"] > 900 and policy.band.rounds == 1500
    with pytest.raises(ValueError, match="were"):
        policy.pull(["a", "b"])

    burning = BandPolicy(["ucb1"], seed=1, burn_in=2)
    for _ in range(6):
        burning.update(burning.pull([0, 1, 2]), 1.0)
    assert burning.band is None and list(burning._counts.values()) == [2, 2, 2]

    contextual = BandContextualPolicy(["linucb", "epsilon-greedy"], seed=1)
    right = 0
    for t in range(1200):
        x = {"left": rng.random(), "right": rng.random()}
        arm = contextual.pull(["left", "right"], context=x)
        contextual.update(arm, x, x[arm])
        right += t >= 600 and x[arm] == max(x.values())
    assert right > 450


def test_river_updates_may_come_late_and_in_any_order():
    needs("river")
    from corral.adapters.river import BandContextualPolicy, BandPolicy

    policy, learned = BandPolicy(["ucb1", "exp3"], seed=1), lambda policy: policy.band.metrics()["learned"]
    pulled = [policy.pull(["a", "b"]) for _ in range(20)]
    for arm in reversed(pulled):
        policy.update(arm, float(arm == "a"))
    assert set(pulled) == {"a", "b"} and learned(policy) == 20
    policy.update("a", 1.0)  # it was not pulled
    assert learned(policy) == 20
    with pytest.raises(corral.CorralError, match="0, 1"):
        policy.update(policy.pull(["a", "b"]), 3.0)

    contextual = BandContextualPolicy(["linucb"], seed=1)
    contexts = [{"u": t / 20, "v": 1.0} for t in range(20)]
    pulled = [contextual.pull(["a", "b"], context=x) for x in contexts]
    for arm, x in reversed(list(zip(pulled, contexts))):
        contextual.update(arm, x, 1.0)
    contextual.update(pulled[0], {"u": 7.0, "v": 1.0}, 1.0)  # it was not pulled with that context
    assert learned(contextual) == 20
    with pytest.raises(corral.CorralError, match="has no 'v'"):
        contextual.pull(["a", "b"], context={"u": 1.0})


def test_scikit_learn_fits_and_predicts():
    needs("sklearn")
    from sklearn.base import clone
    from sklearn.datasets import load_iris
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from corral.adapters.sklearn import BandClassifier

    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(X))
    X, y = np.tile(X[order], (5, 1)), np.array(["a", "b", "c"])[np.tile(y[order], 5)]
    model = make_pipeline(StandardScaler(), BandClassifier(bases=["linucb", "epsilon-greedy"]))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.6
    one = clone(model[-1]).fit(X, y)
    first = one.predict(X[:50])
    assert (first == one.predict(X[:50])).all() and one.band_.rounds == len(X)
    other = BandClassifier(bases=["linucb", "epsilon-greedy"])
    with pytest.raises(ValueError, match="must name all classes"):
        other.partial_fit(X, y)
    for part in range(3):
        other.partial_fit(X[part::3], y[part::3], classes=["a", "b", "c"])
    assert other.band_.rounds == len(X)
    with pytest.raises(ValueError, match="not named at first"):
        other.partial_fit(X[:1], ["d"])


def test_scikit_learn_holds_the_classifier_to_all_its_checks():
    needs("sklearn")
    from sklearn.utils.estimator_checks import check_estimator

    from corral.adapters.sklearn import BandClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(BandClassifier(), on_fail=None, on_skip=None)
    # What is skipped needs a switch of scipy's.
    assert {r["check_name"]: r["exception"] for r in found if r["status"] != "passed"}.keys() <= {"check_array_api_input"}
    assert len(found) > 50


def test_scikit_learn_predicts_without_exploring():
    needs("sklearn")
    from corral.adapters.sklearn import BandClassifier

    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 2))
    model = BandClassifier([{"name": "epsilon-greedy", "epsilon": 0.5}]).fit(X, X[:, 0] > 0)
    same = np.tile([[2.0, 0.0]], (200, 1))
    # A band that explores in half of its rounds would name both classes.
    assert set(model.predict(same)) == {True} and (model.predict(X) == (X[:, 0] > 0)).mean() > 0.9
    before = model.band_.rounds
    assert (model.predict(X) == model.predict(X)).all() and model.band_.rounds == before


@pytest.mark.parametrize("passes", [0, -1, 1.5, "2"])
def test_scikit_learn_plays_the_rows_at_least_once(passes):
    needs("sklearn")
    from corral.adapters.sklearn import BandClassifier

    with pytest.raises(corral.CorralError, match="passes: how often.*this is"):
        BandClassifier(passes=passes).fit([[0.0], [1.0]], ["no", "yes"])


def test_a_vw_workspace_sees_the_context():
    needs("vowpalwabbit")
    from corral.adapters.vw import VWBase

    def hits(args):
        band = corral.Band([VWBase(2, args)], actions=2, features=2, seed=1)
        rng, hits = np.random.default_rng(1), 0
        for t in range(800):
            x = np.eye(2)[rng.integers(2)]
            d = band.choose(x)
            band.learn(d, reward=float(x[d.action]))
            hits += t >= 400 and x[d.action] == 1
        return hits / 400

    assert hits("--epsilon 0.1") > 0.9
    assert hits("--epsilon 0.1 --interactions sa") > 0.9
    assert 0.35 < hits("--epsilon 0.1 -q ss") < 0.65  # one's own interactions are taken as they are


def test_a_vw_workspace_joins_bands_of_as_many_actions():
    needs("vowpalwabbit")
    from corral.adapters.vw import VWBase

    for bases in ([VWBase(2)], [VWBase(4), "linucb"]):
        with pytest.raises(corral.CorralError, match="in a band of 3 actions"):
            corral.Band(bases, actions=3, features=2)
    for wrong in (0, -3, True, "3", ["a", "b"]):
        with pytest.raises(corral.CorralError, match="actions: how many there are"):
            VWBase(wrong)


def test_a_vw_workspace_is_a_base():
    needs("vowpalwabbit")
    from corral.adapters.vw import VWBase

    band = corral.Band([VWBase(3, "--epsilon 0.2"), "epsilon-greedy"], actions=3, features=3, seed=1)
    rng = np.random.default_rng(1)
    hits = 0
    for t in range(500):
        x = np.eye(3)[rng.integers(3)]
        d = band.choose(x)
        band.learn(d, reward=float(x[d.action]))
        hits += t >= 250 and x[d.action] == 1
    assert hits > 160 and not band.benched
    again = pickle.loads(pickle.dumps(band))
    for x in np.eye(3):
        d, e = band.choose(x), again.choose(x)
        assert (d.action, d.propensity) == (e.action, e.propensity)
    rows = corral.Band([VWBase(4)], actions=4, row_features=2, seed=1)
    rows.learn(rows.choose(actions=rng.random((3, 2))), reward=1)


@pytest.mark.parametrize("row_features", [0, 2])
def test_a_vw_workspace_keeps_the_laws_of_a_base(row_features, tmp_path, monkeypatch):
    needs("vowpalwabbit")
    import tempfile

    from corral.adapters.vw import VWBase
    from corral.testing import check

    spaced = tmp_path / "with a space"
    spaced.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spaced))
    check(VWBase(3), actions=3, features=2, row_features=row_features, rounds=500)


def test_litellm_routes_by_a_band():
    litellm = needs("litellm")
    from corral.adapters.litellm import BandRouting

    def deployment(model, answer):
        return {"model_name": "any", "litellm_params": {"model": model, "api_key": "none", "mock_response": answer}}

    router = litellm.Router(model_list=[deployment("openai/small", "no"), deployment("openai/large", "yes")])
    band = corral.Band(["ucb1", "exp3"], actions=["openai/small", "openai/large"], seed=1)
    with pytest.raises(ValueError, match="deployments of the router"):
        BandRouting(router, corral.Band(["ucb1"], actions=["gpt"]), reward=lambda *_: 1)
    BandRouting(router, band, reward=lambda kwargs, answer, seconds: float(answer.choices[0].message.content == "yes"))
    for _ in range(60):
        router.completion(model="any", messages=[{"role": "user", "content": "Is it?"}])
        for _ in range(200):
            if band.table()["plays"].sum() == band.rounds:
                break
            time.sleep(0.01)
    assert band.rounds == 60 and band.table()["plays"].sum() == 60
    assert [band.choose().action for _ in range(20)].count("openai/large") > 12


def llm_deployment(group, model, answer, **keys):
    return {"model_name": group, "litellm_params": {"model": model, "api_key": "none", "mock_response": answer, **keys}}


def answers(router, group, count):
    ask = {"model": group, "messages": [{"role": "user", "content": "?"}]}
    return [router.completion(**ask).choices[0].message.content for _ in range(count)]


def settled(band, plays):
    for _ in range(300):
        if band.table()["plays"].sum() >= plays:
            break
        time.sleep(0.01)
    assert band.table()["plays"].sum() == plays


def test_litellm_keeps_to_model_groups_and_to_what_is_healthy():
    litellm = needs("litellm")
    from corral.adapters.litellm import BandRouting

    models = [llm_deployment("any", "openai/a", "A1"), llm_deployment("any", "openai/a", "A2"), llm_deployment("any", "openai/b", "B"),
              llm_deployment("other", "openai/a", "A3"), llm_deployment("other", "openai/c", "C")]
    router = litellm.Router(model_list=models)
    band = corral.Band(["ucb1", "exp3"], actions=["openai/a", "openai/b"], seed=1)
    BandRouting(router, band, reward=lambda kwargs, answer, seconds: float(answer.choices[0].message.content != "B"))
    assert set(answers(router, "other", 30)) == {"A3", "C"} and band.rounds == 0
    # Every deployment of an action is used.
    assert set(answers(router, "any", 60)) == {"A1", "A2", "B"}
    settled(band, 60)
    ids = [d["model_info"]["id"] for d in router.model_list]
    cool = {"original_exception": Exception("busy"), "exception_status": 429, "cooldown_time": 600}
    router.cooldown_cache.add_deployment_to_cooldown(model_id=ids[0], **cool)
    # The band has learned to leave B alone, so that it may or may not be asked.
    assert {"A2"} <= set(answers(router, "any", 40)) <= {"A2", "B"}
    router.cooldown_cache.add_deployment_to_cooldown(model_id=ids[1], **cool)
    assert set(answers(router, "any", 20)) == {"B"}


def test_litellm_offers_what_is_healthy_to_a_band_with_rows():
    litellm = needs("litellm")
    from corral.adapters.litellm import BandRouting

    prices = {"openai/a": [1.0], "openai/b": [0.2], "openai/c": [0.1]}
    router = litellm.Router(model_list=[llm_deployment("any", model, model) for model in prices])
    band = corral.Band(["linucb"], actions=list(prices), row_features=1, seed=1)
    with pytest.raises(ValueError, match="rows"):
        BandRouting(router, band, reward=lambda *_: 1)
    BandRouting(router, band, reward=lambda *_: 0.5, rows=prices.__getitem__)
    router.cooldown_cache.add_deployment_to_cooldown(
        model_id=router.model_list[0]["model_info"]["id"], original_exception=Exception("busy"), exception_status=429, cooldown_time=600)
    assert set(answers(router, "any", 20)) <= {"openai/b", "openai/c"}
    settled(band, 20)


def cooling(router, *places):
    for place in places:
        router.cooldown_cache.add_deployment_to_cooldown(
            model_id=router.model_list[place]["model_info"]["id"], original_exception=Exception("busy"), exception_status=429, cooldown_time=600)


def test_litellm_propensities_are_those_of_what_was_offered(tmp_path):
    litellm = needs("litellm")
    from corral.adapters.litellm import BandRouting

    models = ["openai/a", "openai/b", "openai/c", "openai/d"]
    router = litellm.Router(model_list=[llm_deployment("any", model, model) for model in models])
    path = tmp_path / "log.jsonl"
    band = corral.Band(["random"], actions=models, log=path, pending=10_000, seed=1)
    BandRouting(router, band, reward=lambda *_: 0.5)
    settle = {"all": 20, "three": 60, "two": 60}
    answers(router, "any", settle["all"])
    cooling(router, 0)
    assert "openai/a" not in answers(router, "any", settle["three"])
    cooling(router, 1)
    assert set(answers(router, "any", settle["two"])) == {"openai/c", "openai/d"}
    requests = sum(settle.values())
    settled(band, requests)
    # One decision for each request, none of them waits, and its probability is that among what was offered.
    assert band.rounds == requests
    found = corral.log.read(path)["propensity"]
    assert found.tolist() == pytest.approx([1 / 4] * 20 + [1 / 3] * 60 + [1 / 2] * 60)
    # A band that must see all actions has no say where some are missing, and that is said once.
    class Whole:
        def propose(self, x, u):
            return int(3 * u)

        def learn(self, x, action, loss, weight):
            pass

    whole = corral.Band(["ucb1", Whole()], actions=models[1:], seed=1)
    router = litellm.Router(model_list=[llm_deployment("any", model, model) for model in models[1:]])
    BandRouting(router, whole, reward=lambda *_: 0.5)
    answers(router, "any", 10)
    assert whole.rounds == 10
    cooling(router, 0)
    with pytest.warns(UserWarning, match="are routed without the band: .* offers only some"):
        assert set(answers(router, "any", 30)) == {"openai/c", "openai/d"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answers(router, "any", 10)
    assert whole.rounds == 10


def test_litellm_learns_every_attempt_of_a_request():
    litellm = needs("litellm")
    from corral.adapters.litellm import BandRouting

    models = [llm_deployment("any", "openai/a", Exception("down")), llm_deployment("any", "openai/b", "B")]
    router = litellm.Router(model_list=models, num_retries=3, retry_after=0, allowed_fails=1_000)
    band = corral.Band(["ucb1", "exp3"], actions=["openai/a", "openai/b"], seed=1)
    BandRouting(router, band, reward=lambda *_: 1)
    assert set(answers(router, "any", 20)) == {"B"}
    settled(band, band.rounds)
    assert band.rounds > 20 and 0.5 < np.average(band.table()["mean_reward"], weights=band.table()["plays"]) < 1


def test_litellm_failures_are_worth_what_is_said():
    litellm = needs("litellm")
    from corral.adapters.litellm import BandRouting

    models = [llm_deployment("any", "openai/down", "litellm.RateLimitError"), llm_deployment("any", "openai/a", "A"), llm_deployment("any", "openai/b", "B")]
    names = [d["litellm_params"]["model"] for d in models]
    router = litellm.Router(model_list=models, num_retries=3, retry_after=0, disable_cooldowns=True)
    with pytest.raises(corral.CorralError, match="failure_reward="):
        BandRouting(router, corral.Band(["ucb1"], actions=names, reward_range="learned"), reward=lambda *_: 1)
    band = corral.Band(["ucb1", "exp3"], actions=names, reward_range="learned", seed=1)
    BandRouting(router, band, reward=lambda kwargs, answer, seconds: {"A": 0.5, "B": 2.0}[answer.choices[0].message.content], failure_reward=0.0)
    given = answers(router, "any", 150)
    settled(band, band.rounds)
    # The range is that of the rewards and of the failure, and what was learned is used.
    assert band.reward_range == (0.0, 2.0) and given[75:].count("B") > 60 and band.rounds > 150


@pytest.mark.parametrize("reward", [lambda *_: 3.0, lambda *_: 1 / 0], ids=["out of range", "raises"])
def test_litellm_says_which_rewards_were_not_learned(reward, caplog):
    litellm = needs("litellm")
    from corral.adapters.litellm import BandRouting

    models = ["openai/a", "openai/b"]
    router = litellm.Router(model_list=[llm_deployment("any", model, model) for model in models])
    band = corral.Band(["ucb1"], actions=models, seed=1)
    BandRouting(router, band, reward=reward)
    answers(router, "any", 5)
    for _ in range(300):
        if len(said := [r for r in caplog.records if "was not learned" in r.message]) == 5:
            break
        time.sleep(0.01)
    assert len(said) == 5 and band.metrics()["open"] == 5
    assert all("openai/" in r.message and ("but is 3" in r.message or "ZeroDivisionError" in r.message) for r in said)
    # The first one has its traceback.
    assert any(r.exc_info for r in said) and not all(r.exc_info for r in said)


def test_litellm_takes_actions_that_join_and_retire():
    litellm = needs("litellm")
    from corral.adapters.litellm import BandRouting

    models = ["openai/a", "openai/b", "openai/c"]
    router = litellm.Router(model_list=[llm_deployment("any", model, model) for model in models])
    band = corral.Band(["ucb1", "exp3"], actions=models[:2], max_actions=4, seed=1)
    BandRouting(router, band, reward=lambda kwargs, answer, seconds: float(answer.choices[0].message.content == "openai/c"))
    assert set(answers(router, "any", 10)) == set(models[:2])
    band.add_action("openai/c")
    assert "openai/c" in answers(router, "any", 60)
    band.retire_action("openai/a")
    assert "openai/a" not in answers(router, "any", 40)
    band.add_action("elsewhere")  # not one of this router
    assert set(answers(router, "any", 20)) <= {"openai/b", "openai/c"}
    settled(band, 130)


def test_litellm_awaits_by_a_band():
    litellm = needs("litellm")
    import asyncio

    from corral.adapters.litellm import BandRouting

    deployments = [{"model_name": "any", "litellm_params": {"model": m, "api_key": "none", "mock_response": m}} for m in ("openai/a", "openai/b")]
    router = litellm.Router(model_list=deployments)
    band = corral.Band(["linucb"], actions=["openai/a", "openai/b"], features=1, seed=1)
    BandRouting(router, band, reward=lambda *_: 0.5, features=lambda messages: [len(messages)])

    async def ask():
        await asyncio.gather(*[router.acompletion(model="any", messages=[{"role": "user", "content": "?"}]) for _ in range(5)])
        for _ in range(300):
            if band.table()["plays"].sum() == 5:
                return
            await asyncio.sleep(0.01)

    asyncio.run(ask())
    assert band.rounds == 5 and band.table()["plays"].sum() == 5


ROOT = pathlib.Path(__file__).parent.parent.parent


@pytest.mark.parametrize("world", corral.list_environments(), ids=lambda world: world["name"])
def test_gymnasium_plays_our_environments(world, monkeypatch):
    needs("gymnasium")
    from gymnasium.utils.env_checker import check_env

    from corral.adapters.gymnasium import CorralEnv

    monkeypatch.chdir(ROOT / "corral-envs")  # where the files are that examples name
    env = CorralEnv({"name": world["name"], **world["example"]}, rounds=20)
    with warnings.catch_warnings():
        # Features have no bounds, and points those of their set.
        warnings.filterwarnings("ignore", message=".*(infinity. This is probably too|symmetric and normalized space)")
        check_env(env, skip_render_check=True)


def test_gymnasium_ends_episodes_and_repeats_them(tmp_path):
    gymnasium = needs("gymnasium")
    from corral.adapters.gymnasium import CorralEnv

    env = CorralEnv("linear", rounds=30)
    seen = []
    for _ in range(2):
        env.reset(seed=5)
        total = 0
        for t in range(30):
            x, reward, terminated, truncated, info = env.step(t % env.action_space.n)
            total += reward
            assert not terminated and truncated == (t == 29) and 0 <= info["mean_loss"] <= 1 and env.observation_space.contains(x)
        seen.append(total)
    assert seen[0] == seen[1]
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    (tmp_path / "rows.csv").write_text("a,b,class\n0,1,x\n1,0,y\n")
    env = CorralEnv({"name": "dataset", "file": str(tmp_path / "rows.csv")}, rounds=30)
    env.reset(seed=1)
    assert [env.step(0)[3] for _ in range(2)] == [False, True]
