"""What an endpoint can do, found out by asking it: the work behind `medjudge check`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from judge.errors import CallFailed, Refused, SpecError
from judge.models.address import Address
from judge.models.chat import open_chat, openai_client, tokens_key
from judge.models.door import Door, Endpoint
from judge.models.embedded import serving
from judge.models.preflight import PATIENCE, Preflight, preflight
from judge.models.reply import Reply
from judge.models.retry import RetryPolicy
from judge.models.structured import ModeProbe, find_mode
from judge.models.transport import http_client
from judge.settings import Generation, ModelSpec

PROMPT = "Reply with the single word: ready"
PROBE_TOKENS = 1024


@dataclass(frozen=True, slots=True)
class EndpointCheck:
    """What was found.

    Attributes:
        listing: what the server lists; None for models that are not behind HTTP.
        reply: to a plain chat message; None when that call failed.
        failure: why it failed.
        temperature, logprobs: whether requests with them are accepted, and logprobs really returned; None: not tried.
        modes: structured-output modes in the order tried; the last one works, if any does.
    """

    model: str
    listing: Preflight | None
    reply: Reply | None
    failure: str
    temperature: bool | None = None
    logprobs: bool | None = None
    modes: list[ModeProbe] = field(default_factory=list)

    @property
    def structured_mode(self) -> str | None:
        """The mode a judge would use here."""
        return next((probe.mode for probe in self.modes if probe.works), None)


async def check_endpoint(spec: ModelSpec, *, patience: float = 120.0) -> EndpointCheck:
    """Ask an endpoint a handful of short questions, each within `patience` seconds.

    Raises:
        EndpointError: it cannot be reached, or refuses the key or the model.
        SpecError: the form is not one that answers by itself.
    """
    if spec.kind not in ("openai", "http", "embedded"):
        return await _check_chat_only(spec, patience)
    async with _serving(spec) as url:
        listing = await preflight(url, spec.name, spec.key(), patience=min(patience, PATIENCE))
        door = Door(
            retry=RetryPolicy(tries=2, total_wait=30), timeout=patience, secrets=tuple(filter(None, [spec.key()]))
        )
        reply, failure = await _plain(spec, door, url)
        if reply is None:
            return EndpointCheck(spec.text, listing, None, failure)
        # it has answered, so whatever it refuses from here on is a way of asking, not every call
        endpoint = Endpoint(spec.endpoint, asyncio.Semaphore(1), successes=1)
        client = http_client(door, endpoint, openai_account=spec.kind == "openai")
        async with openai_client(spec, url, client) as api:
            return EndpointCheck(
                spec.text,
                listing,
                reply,
                "",
                temperature=(await _asked_with(spec, door, url, Generation(temperature=0, max_tokens=PROBE_TOKENS)))
                is not None,
                logprobs=await _gives_logprobs(spec, door, url),
                modes=await find_mode(api, spec.name, tokens_key(spec)),
            )


async def _check_chat_only(spec: ModelSpec, patience: float) -> EndpointCheck:
    if spec.kind not in ("hf", "provider"):
        raise SpecError(f"{spec.text!r} is not something that can be checked")
    door = Door(retry=RetryPolicy(tries=2, total_wait=30), timeout=patience)
    reply, failure = await _plain(spec, door, "")
    return EndpointCheck(spec.text, None, reply, failure)


@asynccontextmanager
async def _serving(spec: ModelSpec) -> AsyncIterator[str]:
    with serving() if spec.kind == "embedded" else contextlib.nullcontext(spec.base_url) as url:
        yield url


async def _plain(spec: ModelSpec, door: Door, url: str) -> tuple[Reply | None, str]:
    try:
        return await _ask(spec, door, url, Generation(max_tokens=PROBE_TOKENS), "chat"), ""
    except CallFailed as failure:
        return None, str(failure)


async def _asked_with(spec: ModelSpec, door: Door, url: str, generation: Generation) -> Reply | None:
    try:
        return await _ask(spec, door, url, generation, repr(generation))
    except (CallFailed, Refused):  # refused: some servers answer 403 to a parameter
        return None


async def _gives_logprobs(spec: ModelSpec, door: Door, url: str) -> bool:
    wanted = Generation(max_tokens=PROBE_TOKENS, extra_body={"logprobs": True, "top_logprobs": 2})
    reply = await _asked_with(spec, door, url, wanted)
    return bool(reply and isinstance(reply.logprobs, dict) and reply.logprobs.get("content"))


async def _ask(spec: ModelSpec, door: Door, url: str, generation: Generation, step: str) -> Reply:
    # a server in this process must not be started again for every question
    target = spec.model_copy(update={"kind": "http", "base_url": url}) if spec.kind == "embedded" else spec
    async with open_chat(target, generation, door, connections=1) as chat:
        return await chat.ask(
            [{"role": "user", "content": PROMPT}], Address("check", "none", "plain", 1, "doctor", step)
        )
