"""A band as the routing strategy of a LiteLLM router."""

from __future__ import annotations

import asyncio
import logging
import random
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import litellm
from litellm.integrations.custom_logger import CustomLogger
from litellm.types.router import CustomRoutingStrategyBase

from .. import Band, Choice, Decision
from .._errors import ActionsLeftOut, InvalidValue
from ..client import ServedBand

__all__ = ["BandRouting"]

KEY = "corral_decision"
UNKNOWN = 1e99  # a range as wide is that of a band that learns it and has not seen two rewards
_LOG = logging.getLogger(__name__)


class BandRouting(CustomRoutingStrategyBase):
    """Routes each request to the deployment that the band chooses, and learns the reward of the answer.

    What the router does before it picks a deployment is done as ever: model groups, aliases, cooldowns, checks before calls,
    orders. Among what is left the band chooses. Where an action has several deployments that are left, one of them is drawn by
    their weights (`weight`, `rpm` or `tpm`). A request for which fewer than two of the band's actions are left is routed as it
    was before: there is nothing to choose.

    Parameters
    ----------
    router : litellm.Router
    band : Band, or Client.band("name") of a service
        Its actions are the deployments' `litellm_params["model"]`, or their ids (`model_info["id"]`). It is offered the actions that
        are available, and chooses among them; actions may join it and retire meanwhile. A band with a base that must see all
        actions, such as one written in Python without `row_features`, has no say where some are not available: such requests are
        routed as before, and a warning says so once.
    reward : callable
        `reward(kwargs, response, seconds)`, in the band's reward_range; kwargs are those of LiteLLM's callbacks. What it raises, and a
        reward that the band refuses, is logged as an error of `corral.adapters.litellm`; nothing is learned of that request.
    failure_reward : float, optional
        What a request that fails is learned as; by default the smallest reward of reward_range. A band that learns its range needs
        it, because a failure may come first.
    features : callable, optional
        `features(messages)`: the numbers of a request, where the band has features.
    rows : callable, optional
        `rows(action)`: the numbers of an action, where the band has row_features.
    pending : int
        The most answers that are waited for.
    """

    def __init__(
        self,
        router: litellm.Router,
        band: Band[str] | ServedBand,
        *,
        reward: Callable[[dict[str, Any], Any, float], float],
        features: Callable[[Any], Any] | None = None,
        rows: Callable[[str], Any] | None = None,
        failure_reward: float | None = None,
        pending: int = 10_000,
    ) -> None:
        self.router, self.band = router, band
        self._reward, self._features, self._rows, self._most = reward, features, rows, pending
        self._failure_reward = failure_reward
        self._open: OrderedDict[str, Decision[str] | Choice] = OrderedDict()
        self._warned = self._told = False
        known = {name for d in router.model_list for name in (d["litellm_params"]["model"], _id(d))}
        if not self._actions or not self._actions <= known:
            raise InvalidValue(f"the actions of the band must be deployments of the router: {sorted(known)}")
        if bool(band.row_features) != (rows is not None):
            raise InvalidValue("rows: give it where the band has row_features, and not elsewhere")
        low, high = band.reward_range
        if failure_reward is None and high - low > UNKNOWN:
            raise InvalidValue("the band learns its range of rewards: say what a failed request is worth, failure_reward=")
        self._before, self._before_async = router.get_available_deployment, router.async_get_available_deployment
        router.set_custom_routing_strategy(self)
        if _LISTENER not in litellm.callbacks:
            litellm.callbacks.append(_LISTENER)

    def get_available_deployment(
        self,
        model: str,
        messages: Any = None,
        input: Any = None,
        specific_deployment: bool | None = False,
        request_kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """The deployment that the band chooses for this request."""
        asked = {"messages": messages, "input": input, "specific_deployment": specific_deployment, "request_kwargs": request_kwargs}
        found = self._pick(self._healthy(model, asked), messages or input, request_kwargs)
        return found or self._before(model=model, **asked)

    async def async_get_available_deployment(
        self,
        model: str,
        request_kwargs: dict[str, Any],
        messages: Any = None,
        input: Any = None,
        specific_deployment: bool | None = False,
        **others: Any,
    ) -> Any:
        """The same, for requests that are awaited."""
        asked = {"messages": messages, "input": input, "specific_deployment": specific_deployment, "request_kwargs": request_kwargs}
        healthy = await self.router.async_get_healthy_deployments(model=model, parent_otel_span=None, **asked)
        # A service is asked over the network.
        found = await asyncio.to_thread(self._pick, healthy, messages or input, request_kwargs) if self._is_served else self._pick(
            healthy, messages or input, request_kwargs
        )
        return found or await self._before_async(model=model, **asked, **others)

    def _healthy(self, model: str, asked: dict[str, Any]) -> Any:
        """The deployments that the router would pick from: what its own method does before it picks."""
        router = self.router
        model, found = router._common_checks_available_deployment(model=model, **asked)
        if isinstance(found, dict):
            return found
        cooling = router.cooldown_cache.get_active_cooldowns(model_ids=[_id(d) for d in found], parent_otel_span=None)
        found = [d for d in found if _id(d) not in {id for id, _ in cooling}]
        if router.enable_pre_call_checks and asked["messages"] is not None:
            checked = {"messages": asked["messages"], "request_kwargs": asked["request_kwargs"]}
            found = router._pre_call_checks(model=model, healthy_deployments=found, **checked)
        orders = [order for d in found if (order := d["litellm_params"].get("order")) is not None]
        return [d for d in found if not orders or d["litellm_params"].get("order") == min(orders)]

    def _pick(self, healthy: Any, text: Any, request: dict[str, Any] | None) -> Any:
        """A deployment among those that the band knows; None where the band has no say."""
        live = self._actions
        offered: dict[str, list[Any]] = {}
        for d in healthy if isinstance(healthy, list) else ():
            name = next((n for n in (_id(d), d["litellm_params"]["model"]) if n in live), None)
            if name is not None:
                offered.setdefault(name, []).append(d)
        decision = self._choose(offered, self._features(text) if self._features else None) if len(offered) > 1 else None
        if decision is None:
            return None
        if request is not None:
            # A retry is a request of its own: what is written down of the first one stays as it is.
            request["metadata"] = {**(request.get("metadata") or {}), KEY: decision.id}
            self._wait(decision)
        deployments = offered[decision.action]
        return random.choices(deployments, [_weight(d["litellm_params"]) for d in deployments])[0]

    @property
    def _actions(self) -> frozenset[str]:
        """The actions of the band as they are now."""
        actions = self.band.actions
        return frozenset(actions if isinstance(actions, list) else ())

    def _learn(self, decision: Decision[str] | Choice, reward: Callable[[], float]) -> None:
        """Learns a reward. LiteLLM hides what a callback raises, so it is logged here: the first one with its traceback."""
        try:
            self.band.learn(decision, reward=reward())  # type: ignore[arg-type]
        except Exception as error:
            why, first, self._told = f"{type(error).__name__}: {error}", not self._told, True
            _LOG.error("the reward of a request to %s was not learned: %s", decision.action, why, exc_info=first)

    def _failed(self) -> float:
        return self.band.reward_range[0] if self._failure_reward is None else self._failure_reward

    @property
    def _is_served(self) -> bool:
        return isinstance(self.band, ServedBand)

    def _choose(self, offered: Mapping[str, Any], x: Any) -> Decision[str] | Choice | None:
        if isinstance(self.band, ServedBand):
            return self.band.choose(x, actions=list(offered))
        if self._rows is not None:
            return self.band.choose(x, actions={name: self._rows(name) for name in offered})
        if len(offered) == len(self._actions):
            return self.band.choose(x)
        try:
            return self.band.choose(x, actions=list(offered))
        except ActionsLeftOut as error:
            if not self._warned:
                warnings.warn(f"requests for which some actions are not available are routed without the band: {error}", stacklevel=2)
                self._warned = True
            return None

    def _wait(self, decision: Decision[str] | Choice) -> None:
        self._open[decision.id] = decision
        _LISTENER.routings[decision.id] = self
        while len(self._open) > self._most:
            oldest, _ = self._open.popitem(last=False)
            _LISTENER.routings.pop(oldest, None)


def _id(deployment: Mapping[str, Any]) -> str:
    return str((deployment.get("model_info") or {}).get("id"))


def _weight(params: Mapping[str, Any]) -> float:
    return next((float(params[key]) for key in ("weight", "rpm", "tpm") if params.get(key)), 1.0)


def _noted(kwargs: Mapping[str, Any]) -> str:
    """The id of the decision that a request was routed by."""
    return str(((kwargs.get("litellm_params") or {}).get("metadata") or {}).get(KEY, ""))


class _Listener(CustomLogger):
    """Hears of every answer: one for all routers, because LiteLLM calls one logger of a kind."""

    def __init__(self) -> None:
        super().__init__()
        self.routings: dict[str, BandRouting] = {}

    def _take(self, kwargs: dict[str, Any]) -> tuple[Any, BandRouting] | None:
        id = _noted(kwargs)
        routing = self.routings.pop(id, None)
        decision = routing._open.pop(id, None) if routing else None
        return (decision, routing) if decision is not None and routing is not None else None

    def log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        if found := self._take(kwargs):
            d, routing = found
            routing._learn(d, lambda: routing._reward(kwargs, response_obj, (end_time - start_time).total_seconds()))

    def log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        if found := self._take(kwargs):
            d, routing = found
            routing._learn(d, routing._failed)

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        await self._aside(kwargs, self.log_success_event, response_obj, start_time, end_time)

    async def async_log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        await self._aside(kwargs, self.log_failure_event, response_obj, start_time, end_time)

    async def _aside(self, kwargs: Any, log: Callable[..., None], *others: Any) -> None:
        routing = self.routings.get(_noted(kwargs))
        if routing is not None and routing._is_served:
            await asyncio.to_thread(log, kwargs, *others)
        else:
            log(kwargs, *others)


_LISTENER = _Listener()
