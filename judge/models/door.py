"""The one door: every exchange with a model passes here, whichever client makes the call.

In this order: a replay answers, or the run's own store, or a shared cache; else the request is sent, under the
endpoint's connection limit and with retries. What came back is stored and recorded before anyone uses it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from tenacity import AsyncRetrying, RetryCallState, RetryError, retry_if_exception_type

from judge.errors import (
    BodyMismatch,
    CallFailed,
    ContextExceeded,
    EndpointError,
    Interrupted,
    MedjudgeError,
    ReplayMiss,
    RetriesExhausted,
    Unreachable,
)
from judge.models.address import Call
from judge.models.exchange import JSON, Exchange, body_hash, clean, redact, redact_error, what_changed
from judge.models.recording import Recorder, Recording
from judge.models.retry import RETRIED, Retryable, RetryPolicy, failure_of

#: So many calls in a row lost to a dead connection mean that the server is gone, not that a case is unlucky.
DEAD_AFTER = 8


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server sent back, whatever its status."""

    status: int
    headers: Mapping[str, str]
    text: str


Send = Callable[[], Awaitable[Answer]]
"""Sends the request once; raises `Retryable` for what may pass."""


class ExchangeStore(Protocol):
    """Where exchanges are kept so that they are never paid for twice: a run's store."""

    async def find(self, address: str) -> Exchange | None:
        """The exchange that stands under `address` now, superseded ones left out."""

    async def keep(self, exchange: Exchange) -> Exchange:
        """Keep it for good, then return it with its attempt number."""

    async def superseded(self, address: str) -> bool:
        """Whether an answer under `address` was set aside so that it is asked again."""


class SharedCache(Protocol):
    """Answers shared between runs."""

    async def find(self, endpoint: str, body: Mapping[str, JSON], call: Call) -> Answer | None: ...

    async def keep(self, endpoint: str, body: Mapping[str, JSON], call: Call, answer: Answer) -> None: ...


@dataclass(slots=True)
class Endpoint:
    """One server (or local model) and the traffic it may get.

    Attributes:
        name: base URL or local model name, without secrets.
        limit: how many requests may be under way at once.
        not_before: event-loop time before which nothing is sent, set when the server asks for a pause.
    """

    name: str
    limit: asyncio.Semaphore
    not_before: float = 0.0
    successes: int = 0
    dead_in_a_row: int = 0


@dataclass(slots=True)
class Waiting:
    """A call on its way, for the progress display: requests sent for it, status of the last response, pauses."""

    address: str
    since: float
    state: str = "queued"
    tries: int = 0
    status: int = 0
    paused: float = 0.0


@dataclass(slots=True)
class Traffic:
    """Live counts of a door."""

    sent: int = 0
    retries: int = 0
    answered: int = 0
    stored: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    outstanding: dict[int, Waiting] = field(default_factory=dict)


class Door:
    """See the module's docstring. One door a run.

    Args:
        store: keeps exchanges; None keeps nothing (probing a server).
        replay: answer from this recording only; a miss is an error.
        recorder: writes every new exchange to a file.
        cache: shared answers; asked only for requests at temperature 0.
        secrets: texts that must not be written anywhere.
    """

    def __init__(
        self,
        *,
        store: ExchangeStore | None = None,
        replay: Recording | None = None,
        recorder: Recorder | None = None,
        cache: SharedCache | None = None,
        retry: RetryPolicy | None = None,
        timeout: float = 600.0,
        secrets: tuple[str, ...] = (),
    ) -> None:
        self.traffic = Traffic()
        self._store = store
        self._replay = replay
        self._recorder = recorder
        self._cache = cache
        self._retry = retry or RetryPolicy()
        self._timeout = timeout
        self._secrets = secrets
        self._stopping = asyncio.Event()
        self._endpoints: dict[str, Endpoint] = {}

    def endpoint(self, name: str, connections: int) -> Endpoint:
        """The endpoint of this name: one, with one limit, however many roles are asked there."""
        return self._endpoints.setdefault(name, Endpoint(name, asyncio.Semaphore(connections)))

    def stop(self) -> None:
        """Send nothing more; what is under way is waited for and kept."""
        self._stopping.set()

    @property
    def replaying(self) -> bool:
        """Whether a recording answers everything, so that no model is needed."""
        return self._replay is not None

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    async def exchange(
        self, call: Call, endpoint: Endpoint, model: str, body: Mapping[str, JSON], send: Send
    ) -> Exchange:
        """Get the answer to `body` at the call's next address.

        Raises:
            CallFailed: no usable answer; the case becomes unscored with the error's reason.
            EndpointError: no call to this endpoint can work.
            ReplayError: replaying, and the recording has nothing, or something else, under this address.
            Interrupted: the run is stopping and the answer is not stored yet.
        """
        address = str(call.next_address())
        blank = Exchange(address, 1, call.address.role, model, endpoint.name, body, 0, "")
        exchange = await self._stored(blank) or await self._cached(call, blank)
        if exchange is None:
            exchange = await self._ask(call, endpoint, blank, send)
        call.exchanges.append(exchange)
        _raise_if_failed(exchange)
        return exchange

    async def _stored(self, blank: Exchange) -> Exchange | None:
        found = await self._store.find(blank.address) if self._store else None
        if found is not None and found.completed:
            _check_body(found, blank, "stored in this run")
            self.traffic.stored += 1
            if self._recorder is not None:  # the process may have ended between storing and recording it
                self._recorder.add(found)
            return found
        return await self._replayed(blank) if self._replay else None

    async def _replayed(self, blank: Exchange) -> Exchange:
        assert self._replay is not None
        found = self._replay.exchanges.get(blank.address)
        if found is None:
            raise ReplayMiss(f"{self._replay.path} holds no exchange for {blank.address}")
        _check_body(found, blank, f"recorded in {self._replay.path}")
        self.traffic.stored += 1
        return await self._keep(replace(found, endpoint=blank.endpoint))

    async def _cached(self, call: Call, blank: Exchange) -> Exchange | None:
        if self._cache is None or not _deterministic(blank.body) or await self._asked_again(blank):
            return None
        answer = await self._cache.find(blank.endpoint, blank.body, call)
        if answer is None:
            return None
        return await self._keep(replace(blank, status=answer.status, response=answer.text, source="cache"))

    async def _asked_again(self, blank: Exchange) -> bool:
        """Whether the user wants another answer than the one there was; a cache would give the same one back."""
        return self._store is not None and await self._store.superseded(blank.address)

    async def _ask(self, call: Call, endpoint: Endpoint, blank: Exchange, send: Send) -> Exchange:
        with self._shown(blank.address) as waiting:
            try:
                answer, seconds = await self._send_with_retries(endpoint, send, waiting)
            except CallFailed as failure:
                self.traffic.failed += 1
                message = clean(redact_error(str(failure), self._secrets))
                error = f"{failure.reason}: {message}"
                return await self._keep(replace(blank, status=waiting.status, error=error, tries=waiting.tries))
            except EndpointError:
                self.stop()  # no other call can work either, so none may be sent
                raise
        text = redact(answer.text, self._secrets)
        done = await self._keep(
            replace(blank, status=answer.status, response=text, tries=waiting.tries, seconds=round(seconds, 3))
        )
        self.traffic.answered += 1
        usage = done.usage
        self.traffic.prompt_tokens += usage.prompt or 0
        self.traffic.completion_tokens += usage.completion or 0
        if self._cache is not None and _deterministic(blank.body):
            await self._cache.keep(endpoint.name, blank.body, call, replace(answer, text=text))
        return done

    async def _keep(self, exchange: Exchange) -> Exchange:
        try:
            kept = await self._store.keep(exchange) if self._store else exchange
            if self._recorder is not None:
                self._recorder.add(kept)
        except Exception:
            self.stop()  # what cannot be kept must not be paid for
            raise
        return kept

    async def _send_with_retries(self, endpoint: Endpoint, send: Send, waiting: Waiting) -> tuple[Answer, float]:
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(Retryable),
            wait=self._retry.wait,
            stop=lambda state: self._retry.exhausted(state, waiting.paused),
            sleep=self._pause,
            before_sleep=lambda state: self._before_retry(endpoint, waiting, state),
        )
        try:
            async for attempt in retrying:
                with attempt:
                    answer, seconds = await self._send_once(endpoint, send, waiting)
                    endpoint.successes += 1
                    return answer, seconds
        except RetryError as error:
            raise self._give_up(endpoint, error) from None
        raise AssertionError("tenacity ends with a result or an error")

    def _before_retry(self, endpoint: Endpoint, waiting: Waiting, state: RetryCallState) -> None:
        failure = state.outcome.exception() if state.outcome else None
        assert isinstance(failure, Retryable)
        self.traffic.retries += 1
        waiting.state = f"waiting to retry ({failure.reason})"
        if failure.wait is not None and failure.status in (429, 503):
            # the server asked everyone to wait, not only this call
            endpoint.not_before = max(endpoint.not_before, asyncio.get_running_loop().time() + failure.wait)

    def _give_up(self, endpoint: Endpoint, error: RetryError) -> MedjudgeError:
        failure = error.last_attempt.exception()
        assert isinstance(failure, Retryable)
        tries = error.last_attempt.attempt_number
        message = redact_error(f"{failure} (after {tries} tries)", self._secrets)
        if failure.reason == "connection_error":
            endpoint.dead_in_a_row += 1
            if endpoint.dead_in_a_row >= DEAD_AFTER:
                return Unreachable(f"{endpoint.name} cannot be reached any more: {message}")
        return RetriesExhausted(message, reason=failure.reason, attempts=tries)

    async def _send_once(self, endpoint: Endpoint, send: Send, waiting: Waiting) -> tuple[Answer, float]:
        async with endpoint.limit:
            while (pause := endpoint.not_before - asyncio.get_running_loop().time()) > 0:
                await self._pause(pause)
                waiting.paused += pause if waiting.tries else 0.0  # the first try only comes later
            if self.stopping:
                raise Interrupted("the run is stopping")
            waiting.state, waiting.since, waiting.status = "sent", time.monotonic(), 0
            waiting.tries += 1
            self.traffic.sent += 1
            try:
                async with asyncio.timeout(self._timeout):
                    answer = await send()
            except TimeoutError:
                raise Retryable("timeout", f"no answer within {self._timeout:g} s") from None
            seconds = time.monotonic() - waiting.since
        waiting.status = answer.status
        endpoint.dead_in_a_row = 0
        if 200 <= answer.status < 300:
            return answer, seconds
        shown = redact_error(answer.text, self._secrets)
        raise failure_of(answer.status, answer.headers, shown, any_success=endpoint.successes > 0)

    async def _pause(self, seconds: float) -> None:
        """Sleep, but wake and give up when the run is to stop."""
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return
        raise Interrupted("the run is stopping")

    @contextmanager
    def _shown(self, address: str) -> Iterator[Waiting]:
        waiting = Waiting(address, time.monotonic())
        self.traffic.outstanding[id(waiting)] = waiting
        try:
            yield waiting
        finally:
            del self.traffic.outstanding[id(waiting)]


def _deterministic(body: Mapping[str, JSON]) -> bool:
    """Only an explicit temperature of 0 may be answered from a shared cache; a server's default may be anything."""
    return body.get("temperature") == 0


def _check_body(found: Exchange, blank: Exchange, where: str) -> None:
    if found.body != blank.body and body_hash(found.body) != body_hash(blank.body):
        raise BodyMismatch(
            f"another request is {where} under {blank.address}; what changed: {what_changed(found.body, blank.body)}"
        )


def _raise_if_failed(exchange: Exchange) -> None:
    """A failed call fails again the same way when it is replayed."""
    if exchange.completed:
        return
    reason, _, message = exchange.error.partition(": ")
    if reason == ContextExceeded.reason:
        raise ContextExceeded(message, attempts=exchange.tries)
    if reason in RETRIED:
        raise RetriesExhausted(message, reason=reason, attempts=exchange.tries)
    raise CallFailed(message, reason=reason, attempts=exchange.tries)
