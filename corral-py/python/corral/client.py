"""A client of `corral serve`, of the standard library alone.

>>> client = corral.Client("http://127.0.0.1:8080")               # doctest: +SKIP
>>> choice = client.choose("shop", features=[0.2, 0.7])            # doctest: +SKIP
>>> client.reward("shop", choice, 1.0)                             # doctest: +SKIP
"""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
import time
import urllib.parse
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Choice:
    """A decision of a service."""

    action: Any
    index: int
    propensity: float | None
    token: str
    id: str
    default: bool = False
    stale_ms: int = 0

    @classmethod
    def _of(cls, answer: dict[str, Any]) -> Choice:
        return cls(**{key: answer[key] for key in cls.__dataclass_fields__ if key in answer})


class ServiceError(Exception):
    """What a service refused: its status, and why."""

    def __init__(self, status: int, error: str) -> None:
        super().__init__(f"{status}: {error}")
        self.status = status
        self.error = error


class Client:
    """Asks a service for decisions and gives it rewards. Threads may share it: each has a connection of its own.

    What fails on its way, or is answered by 503, is tried again, `retries` times. That is safe: a decision is asked for with a key, under
    which the service gives the same answer again, and a reward is taken once.
    """

    def __init__(self, url: str, *, secret: str | None = None, timeout: float = 10.0, retries: int = 3) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"a url is as in http://127.0.0.1:8080, but is {url!r}")
        self._kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._host, self._port, self._timeout = parts.hostname, parts.port, timeout
        self._path = parts.path.rstrip("/")
        self._headers = {"Content-Type": "application/json"}
        if secret is not None:
            self._headers["Authorization"] = f"Bearer {secret}"
        self._retries = retries
        self._local = threading.local()

    def choose(
        self,
        band: str,
        features: Sequence[float] = (),
        *,
        actions: Sequence[Any] | None = None,
        unit: str | None = None,
        key: str | None = None,
        store: bool = False,
    ) -> Choice:
        """A decision. `store=True`: the service keeps the ticket, and the reward may be brought by `Choice.id`."""
        body = _question(features, actions, unit, key or uuid.uuid4().hex, store)
        return Choice._of(self._ask("POST", f"/v1/bands/{_quoted(band)}/choose", body)[1])

    def choose_batch(self, band: str, questions: Sequence[dict[str, Any]]) -> list[Choice | ServiceError]:
        """A decision for each question, a dict with the keyword arguments of `choose`."""
        asked = [
            _question(q.get("features", ()), q.get("actions"), q.get("unit"), q.get("key") or uuid.uuid4().hex, q.get("store", False))
            for q in questions
        ]
        answers = self._ask("POST", f"/v1/bands/{_quoted(band)}/choose/batch", asked)[1]
        return [ServiceError(a["status"], a["error"]) if "error" in a else Choice._of(a) for a in answers]

    def reward(self, band: str, choice: Choice | str | None = None, reward: float = 0.0, *, id: str | None = None) -> None:
        """Gives the reward of a decision: a `Choice` or its token, or `id=` of one that the service keeps. It is safe when this
        returns. A second reward of one decision is a `ServiceError` with status 409."""
        body: dict[str, Any] = {"reward": float(reward)}
        if id is not None:
            body["id"] = id
        elif choice is not None:
            body["token"] = choice.token if isinstance(choice, Choice) else choice
        else:
            raise ValueError("a reward needs a choice, its token, or id=")
        try:
            self._ask("POST", f"/v1/bands/{_quoted(band)}/reward", body)
        except _Again as again:
            # Tried before, and its answer lost: it was taken then.
            if again.status != 409:
                raise ServiceError(again.status, again.error) from None

    def reward_batch(self, band: str, rewards: Sequence[tuple[Choice | str, float]]) -> list[int]:
        """Gives many rewards; the status of each: 200, or 409 where it was given before."""
        body = [{"token": c.token if isinstance(c, Choice) else c, "reward": float(r)} for c, r in rewards]
        return [a["status"] for a in self._ask("POST", f"/v1/bands/{_quoted(band)}/reward/batch", body)[1]]

    def report(self, band: str) -> dict[str, Any]:
        """What the band plays and why."""
        answer: dict[str, Any] = self._ask("GET", f"/v1/bands/{_quoted(band)}/report", None)[1]
        return answer

    def band(self, name: str) -> ServedBand:
        """One band of the service, for code that is given a `Band`."""
        return ServedBand(self, name)

    def ready(self) -> bool:
        """Whether every band of the service is ready."""
        try:
            return bool(self._ask("GET", "/ready", None, retries=0)[1].get("ready"))
        except (ServiceError, OSError):
            return False

    def close(self) -> None:
        """Closes the connection of this thread."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, method: str, path: str, body: Any, retries: int | None = None) -> tuple[int, Any]:
        text = None if body is None else json.dumps(body)
        most = self._retries if retries is None else retries
        attempt = 0
        while True:
            try:
                status, answer = self._once(method, path, text)
            except (OSError, http.client.HTTPException) as failure:
                self.close()
                if attempt >= most:
                    raise ConnectionError(f"{method} {path}: {failure}") from failure
            else:
                if status == 200 or status == 202:
                    return status, answer
                error = answer.get("error", str(answer)) if isinstance(answer, dict) else str(answer)
                if status != 503 or attempt >= most:
                    raise (_Again if attempt else ServiceError)(status, error)
            time.sleep(min(0.05 * 2**attempt, 2.0))
            attempt += 1

    def _once(self, method: str, path: str, text: str | None) -> tuple[int, Any]:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._kind(self._host, self._port, timeout=self._timeout)
            self._local.connection = connection
        connection.request(method, self._path + path, text, self._headers)
        response = connection.getresponse()
        content = response.read()
        if response.headers.get("Connection", "").lower() == "close":
            self.close()
        try:
            return response.status, json.loads(content)
        except ValueError:
            return response.status, content.decode("utf-8", "replace")


class ServedBand:
    """A band of a service, with what `corral.adapters.litellm` asks of a `Band`. What it is asked goes over the network."""

    row_features = 0

    def __init__(self, client: Client, name: str) -> None:
        report = client.report(name)
        self._client, self.name = client, name
        self.actions: list[Any] | int = report["actions"]
        low, high = report["reward_range"]
        self.reward_range: tuple[float, float] = (low, high)

    def choose(self, x: Sequence[float] | None = None, *, actions: Sequence[Any] | None = None) -> Choice:
        """A decision among `actions`; unset: among all."""
        return self._client.choose(self.name, () if x is None else x, actions=actions)

    def learn(self, choice: Choice, *, reward: float) -> None:
        """Gives the reward of a decision. It is safe when this returns."""
        self._client.reward(self.name, choice, reward)


class _Again(ServiceError):
    """An error after another attempt, whose answer was lost."""


class AsyncClient:
    """The same for `async` programs: each call is made in a thread."""

    def __init__(self, url: str, *, secret: str | None = None, timeout: float = 10.0, retries: int = 3) -> None:
        self._client = Client(url, secret=secret, timeout=timeout, retries=retries)

    async def choose(self, band: str, features: Sequence[float] = (), **more: Any) -> Choice:
        """See `Client.choose`."""
        return await asyncio.to_thread(self._client.choose, band, features, **more)

    async def reward(self, band: str, choice: Choice | str | None = None, reward: float = 0.0, *, id: str | None = None) -> None:
        """See `Client.reward`."""
        await asyncio.to_thread(self._client.reward, band, choice, reward, id=id)

    async def report(self, band: str) -> dict[str, Any]:
        """See `Client.report`."""
        return await asyncio.to_thread(self._client.report, band)


def _quoted(band: str) -> str:
    return urllib.parse.quote(band, safe="")


def _question(
    features: Sequence[float], actions: Sequence[Any] | None, unit: str | None, key: str, store: bool
) -> dict[str, Any]:
    body: dict[str, Any] = {"features": [float(f) for f in features], "key": key}
    if actions is not None:
        body["actions"] = list(actions)
    if unit is not None:
        body["unit"] = unit
    if store:
        body["store"] = True
    return body
