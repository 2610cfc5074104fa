"""Asking a chat model one thing: messages and an address in, a `Reply` out."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

import openai
from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages
from langchain_openai import ChatOpenAI

from judge.errors import MedjudgeError, SpecError
from judge.models.address import Address, Call, calling
from judge.models.choices import Choice, How, choice_from_logprobs
from judge.models.door import Door, Endpoint
from judge.models.exchange import JSON
from judge.models.logprobs import PROMPT, find_top_logprobs, logprobs_address, logprobs_fields
from judge.models.reply import REASONING_KEYS, Reply, read_completion
from judge.models.transport import http_client
from judge.settings import Generation, ModelSpec

Message = Mapping[str, JSON]
"""``{"role": "system" | "user" | "assistant", "content": text}``, perhaps with a reasoning field."""

# it warns that a client of one's own turns off proxy detection; ours reads the proxy variables itself
logging.getLogger("langchain_openai").setLevel(logging.ERROR)


class ChatModel(Protocol):
    """What a graph asks: any model behind the door."""

    async def ask(self, messages: Sequence[Message], address: Address) -> Reply:
        """One turn. Failures that make a case unscored raise `judge.errors.CallFailed`."""


class OpenAIChat:
    """A model behind an OpenAI-compatible endpoint, through langchain-openai.

    Args:
        probing: opens another client to the same endpoint, for finding out what the endpoint refuses.
    """

    chooses_by: How = "logprobs"

    def __init__(
        self, client: ExactChatOpenAI, probing: Callable[[], AbstractAsyncContextManager[ExactChatOpenAI]]
    ) -> None:
        self._client = client
        self._probing = probing
        self._logprobs: Mapping[str, JSON] | None = None
        self._finding = asyncio.Lock()

    async def ask(self, messages: Sequence[Message], address: Address) -> Reply:
        return await _ask(self._client, messages, address, {})

    async def choose(self, messages: Sequence[Message], letters: Sequence[str], address: Address) -> Choice:
        """The letter by the log-probabilities of an ordinary reply, which is in the choice and answers in words too.

        Raises:
            EndpointError: whether the endpoint gives log-probabilities cannot be found out now.
        """
        async with self._finding:
            if self._logprobs is None:
                self._logprobs = await self._find_logprobs(address)
        return choice_from_logprobs(await _ask(self._client, messages, address, self._logprobs), letters)

    async def _find_logprobs(self, address: Address) -> Mapping[str, JSON]:
        if {"logprobs", "top_logprobs"} & self._client.generation.extra_body.keys():
            return {}  # the user says what is sent
        async with self._probing() as client:

            async def ask(fields: Mapping[str, JSON], at: Address) -> Reply:
                return await _ask(client, [{"role": "user", "content": PROMPT}], at, fields)

            return logprobs_fields(await find_top_logprobs(ask, logprobs_address(address), client.model_name))


async def _ask(client: ChatOpenAI, messages: Sequence[Message], address: Address, fields: Mapping[str, JSON]) -> Reply:
    merged = merge_same_role(messages)
    with calling(address) as call:
        await _invoke(client, merged, call, fields)
    return read_completion(call.exchanges[-1].response, prompt=str(merged[-1]["content"]))


async def _invoke(client: ChatOpenAI, messages: Sequence[Message], call: Call, fields: Mapping[str, JSON]) -> None:
    """Send; what LangChain makes of the response is not used, since it drops reasoning and raises on odd shapes."""
    handled = sys.exception()
    try:
        await client.ainvoke(_to_langchain(messages), **fields)
    except Exception as error:
        if (cause := own_error(error, handled)) is not None:
            raise cause from None
        if not call.exchanges:
            raise


def own_error(error: BaseException | None, handled: BaseException | None = None) -> MedjudgeError | None:
    """Our own exception inside the layers that the SDK wraps around what its transport raises.

    Args:
        handled: what the caller was handling when it asked; it is in the context of `error` and no part of it.
    """
    while error is not None and error is not handled:
        if isinstance(error, MedjudgeError):
            return error
        error = error.__cause__ or error.__context__
    return None


def _to_langchain(messages: Sequence[Message]) -> list[BaseMessage]:
    converted = convert_to_messages([{"role": m["role"], "content": m["content"]} for m in messages])
    for source, message in zip(messages, converted, strict=True):
        if isinstance(message, AIMessage):
            message.additional_kwargs["sent_back"] = {key: source[key] for key in REASONING_KEYS if key in source}
    return converted


def merge_same_role(messages: Sequence[Message]) -> list[dict[str, JSON]]:
    """Join neighbours of one role, since some chat templates demand alternation; drop empty assistant turns."""
    merged: list[dict[str, JSON]] = []
    for message in messages:
        if message["role"] == "assistant" and not str(message["content"] or "").strip():
            continue
        if merged and merged[-1]["role"] == message["role"] != "system":
            merged[-1]["content"] = f"{merged[-1]['content']}\n\n{message['content']}"
        else:
            merged.append(dict(message))
    return merged


class ExactChatOpenAI(ChatOpenAI):
    """ChatOpenAI that sends what the settings say and nothing else.

    The base class sets a temperature for some model names, drops it for others, renames the role of system messages,
    and renames `max_tokens`, which older servers then ignore.
    """

    generation: Generation
    tokens_key: str

    def _get_request_payload(self, input_: Any, *, stop: list[str] | None = None, **kwargs: Any) -> dict[str, Any]:
        messages = self._convert_input(input_).to_messages()
        payload: dict[str, Any] = super()._get_request_payload(messages, stop=stop, **kwargs)
        for key in ("temperature", "max_tokens", "max_completion_tokens"):
            payload.pop(key, None)
        if self.generation.temperature is not None:
            payload["temperature"] = self.generation.temperature
        if self.generation.max_tokens is not None:
            payload[self.tokens_key] = self.generation.max_tokens
        for source, sent in zip(messages, payload["messages"], strict=True):
            sent.update(source.additional_kwargs.get("sent_back", {}))
            if source.type == "system":
                sent["role"] = "system"
        return payload


@asynccontextmanager
async def open_chat(
    spec: ModelSpec, generation: Generation, door: Door, *, connections: int
) -> AsyncIterator[ChatModel]:
    """A chat model for `spec`, closed on leaving the context.

    Raises:
        SpecError: the form is not one that answers on its own, or what it needs is not installed.
    """
    async with contextlib.AsyncExitStack() as stack:
        if spec.kind == "embedded":
            from judge.models.embedded import serving

            url = stack.enter_context(serving())
            yield await stack.enter_async_context(_open_openai(spec, url, generation, door, connections))
        elif spec.kind in ("openai", "http"):
            yield await stack.enter_async_context(_open_openai(spec, spec.base_url, generation, door, connections))
        elif spec.kind == "hf":
            from judge.models.local import LocalChat

            yield LocalChat(spec, generation, door)
        elif spec.kind == "provider":
            from judge.models.provider import ProviderChat

            yield ProviderChat(spec, generation, door, connections=connections)
        else:
            raise SpecError(f"{spec.text!r} cannot answer on its own here")


@asynccontextmanager
async def _open_openai(
    spec: ModelSpec, url: str, generation: Generation, door: Door, connections: int
) -> AsyncIterator[ChatModel]:
    endpoint = door.endpoint(spec.endpoint, connections)

    def probing() -> AbstractAsyncContextManager[ExactChatOpenAI]:
        # whatever is refused while probing is a way of asking, not every call: as if one had been answered before
        lenient = Endpoint(endpoint.name, endpoint.limit, successes=1)
        return _client(spec, url, generation, door, lenient)

    async with _client(spec, url, generation, door, endpoint) as client:
        yield OpenAIChat(client, probing)


@asynccontextmanager
async def _client(
    spec: ModelSpec, url: str, generation: Generation, door: Door, endpoint: Endpoint
) -> AsyncIterator[ExactChatOpenAI]:
    http = http_client(door, endpoint, openai_account=spec.kind == "openai")
    try:
        yield ExactChatOpenAI(
            model=spec.name,
            base_url=url,
            api_key=spec.key() or "none",  # type: ignore[arg-type]
            http_async_client=http,
            openai_proxy=None,
            max_retries=0,
            use_responses_api=False,
            extra_body=generation.extra_body or None,
            generation=generation,
            tokens_key=tokens_key(spec),
        )
    finally:
        await http.aclose()


def tokens_key(spec: ModelSpec) -> str:
    """The field that limits a reply: OpenAI renamed it, and most other servers know the old name or both."""
    return "max_completion_tokens" if spec.kind == "openai" else "max_tokens"


def openai_client(spec: ModelSpec, url: str, client: Any) -> openai.AsyncOpenAI:
    """An OpenAI client over our transport, for callers that need the raw API, e.g. instructor."""
    return openai.AsyncOpenAI(api_key=spec.key() or "none", base_url=url, http_client=client, max_retries=0)
