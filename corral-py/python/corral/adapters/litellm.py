"""A band as the routing strategy of a LiteLLM router."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import litellm
from litellm.integrations.custom_logger import CustomLogger
from litellm.types.router import CustomRoutingStrategyBase

from .. import Band, Decision

__all__ = ["BandRouting"]

KEY = "corral_decision"


class BandRouting(CustomRoutingStrategyBase):
    """Routes each request to the deployment that the band chooses, and learns the reward of the answer.

    router: a `litellm.Router`; the actions of the band are the deployments' `litellm_params["model"]`.
    reward(kwargs, response, seconds): in the band's reward_range; kwargs are those of LiteLLM's callbacks.
    features(messages): the numbers of a request, where the band has features.
    A request that fails is learned as the smallest reward. At most `pending` answers are waited for.
    """

    def __init__(
        self,
        router: litellm.Router,
        band: Band,
        *,
        reward: Callable[[dict[str, Any], Any, float], float],
        features: Callable[[Any], Any] | None = None,
        pending: int = 10_000,
    ) -> None:
        self.router, self.band = router, band
        self._reward, self._features, self._most = reward, features, pending
        known = {d["litellm_params"]["model"] for d in router.model_list}
        actions = band.actions
        if not isinstance(actions, list) or not set(actions) <= known:
            raise KeyError(f"the actions of the band must be deployments of the router: {sorted(known)}")
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
        d = self.band.choose(self._features(messages or input) if self._features else None)
        if request_kwargs is not None:
            request_kwargs.setdefault("metadata", {})[KEY] = d.id
            _LISTENER.wait(d, self, self._most)
        return next(m for m in self.router.model_list if m["litellm_params"]["model"] == d.action)

    async def async_get_available_deployment(self, *args: Any, **keys: Any) -> Any:
        """The same, for requests that are awaited."""
        return self.get_available_deployment(*args, **keys)


class _Listener(CustomLogger):
    """Hears of every answer: one for all routers, because LiteLLM calls one logger of a kind."""

    def __init__(self) -> None:
        super().__init__()
        self._open: OrderedDict[str, tuple[Decision, BandRouting]] = OrderedDict()

    def wait(self, decision: Decision, routing: BandRouting, most: int) -> None:
        self._open[decision.id] = decision, routing
        while len(self._open) > most:
            self._open.popitem(last=False)

    def _take(self, kwargs: dict[str, Any]) -> tuple[Decision, BandRouting] | None:
        metadata = (kwargs.get("litellm_params") or {}).get("metadata") or {}
        return self._open.pop(metadata.get(KEY, ""), None)

    def log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        if found := self._take(kwargs):
            d, routing = found
            reward = routing._reward(kwargs, response_obj, (end_time - start_time).total_seconds())
            routing.band.learn(d, reward=reward)

    def log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        if found := self._take(kwargs):
            d, routing = found
            routing.band.learn(d, reward=routing.band.reward_range[0])

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        self.log_success_event(kwargs, response_obj, start_time, end_time)

    async def async_log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        self.log_failure_event(kwargs, response_obj, start_time, end_time)


_LISTENER = _Listener()
