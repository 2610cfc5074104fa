"""Other LangChain providers through the same door: a client that answers, or raises as providers' SDKs do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from judge.errors import CallFailed, ContextExceeded, Refused, SpecError
from judge.models.chat import open_chat
from judge.models.door import Door
from judge.models.provider import ProviderChat, as_completion
from judge.models.reply import read_completion
from judge.settings import Generation, parse_model
from tests.models.helpers import FAST, MemoryStore, at, user

SPEC = parse_model("acme:large")


class ProviderError(Exception):
    """An SDK's exception with an HTTP status, under whichever name."""

    def __init__(self, message: str, **attributes: Any) -> None:
        super().__init__(message)
        self.__dict__.update(attributes)


class APIConnectionError(Exception):
    """As several SDKs name it; no relative of Python's own."""


def chat_that(*answers: Any, store: MemoryStore | None = None, generation: Generation | None = None) -> ProviderChat:
    """A provider's chat model that gives these in turn: messages, or exceptions to raise."""

    def turns() -> Iterator[AIMessage]:
        yield from answers

    class Client(GenericFakeChatModel):
        def _generate(self, *arguments: Any, **options: Any) -> Any:
            answer = next(self.messages)
            if isinstance(answer, Exception):
                raise answer
            return GenericFakeChatModel(messages=iter([answer]))._generate(*arguments, **options)

    door = Door(store=store, retry=FAST)
    client = Client(messages=turns())
    return ProviderChat(SPEC, generation or Generation(), door, connections=2, client=client)


async def test_given_a_provider_when_it_is_asked_then_its_reply_is_stored_like_a_completion() -> None:
    store = MemoryStore()
    message = AIMessage(
        content="B",
        usage_metadata={
            "input_tokens": 11, "output_tokens": 5, "total_tokens": 16,
            "input_token_details": {"cache_read": 2}, "output_token_details": {"reasoning": 3},
        },
        response_metadata={"stop_reason": "end_turn", "model_name": "large-2026"},
    )  # fmt: skip
    chat = chat_that(
        message, store=store, generation=Generation(temperature=0.5, max_tokens=9, extra_body={"top_k": 3})
    )
    reply = await chat.ask(user(), at())
    again = await chat.ask(user(), at())

    assert reply == again
    assert (reply.text, reply.finish_reason, reply.served_model, reply.unscored) == ("B", "stop", "large-2026", None)
    usage = reply.usage
    assert (usage.prompt, usage.completion, usage.reasoning, usage.cached) == (11, 5, 3, 2)
    expected = {"model": "acme:large", "messages": user(), "temperature": 0.5, "max_tokens": 9, "top_k": 3}
    assert (store.last.body, store.last.endpoint, store.last.role) == (expected, "provider", "doctor")


@pytest.mark.parametrize(
    ("metadata", "finish", "why"),
    [
        ({}, "", None),
        ({"finish_reason": "stop"}, "stop", None),
        ({"finish_reason": "STOP"}, "stop", None),
        ({"stop_reason": "end_turn"}, "stop", None),
        ({"stopReason": "end_turn"}, "stop", None),
        ({"stop_reason": "max_tokens"}, "length", "truncated"),
        ({"finish_reason": "MAX_TOKENS"}, "length", "truncated"),
        ({"done_reason": "length"}, "length", "truncated"),
        ({"finish_reason": "model_length"}, "length", "truncated"),
        ({"finish_reason": "SAFETY"}, "content_filter", "content_filter"),
        ({"stop_reason": "refusal"}, "content_filter", "content_filter"),
        ({"finish_reason": "odd"}, "odd", None),
        ({"finish_reason": ["odd"]}, "['odd']", None),
    ],
)
def test_given_a_providers_word_for_the_end_when_it_is_mapped_then_the_reply_is_read_right(
    metadata: dict[str, Any], finish: str, why: str | None
) -> None:
    completion = as_completion(AIMessage(content="B", response_metadata=metadata), "m")
    reply = read_completion(json.dumps(completion))
    assert (reply.finish_reason, reply.unscored and reply.unscored.reason) == (finish, why)


@pytest.mark.parametrize(
    ("message", "text", "thinking"),
    [
        (AIMessage(content=[{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "B"}]), "B", "hm"),
        (AIMessage(content="B", additional_kwargs={"reasoning_content": "hm"}), "B", "hm"),
        (AIMessage(content="<think>hm</think>B"), "B", "hm"),
        (AIMessage(content="B \ud83d"), "B \ufffd", ""),
        (AIMessage(content=[{"type": "text", "text": "B"}, {"type": "blob", "data": b"\x00"}]), "B", ""),
        ("B", "B", ""),
    ],
    ids=range(6),
)  # fmt: skip
async def test_given_a_message_of_any_form_when_it_is_read_then_answer_and_thinking_are_apart(
    message: Any, text: str, thinking: str
) -> None:
    store = MemoryStore()
    reply = await chat_that(message, store=store).ask(user(), at())
    store.last.response.encode("utf-8")
    assert (reply.text, reply.thinking) == (text, thinking)


GOOD = AIMessage(content="B")


@pytest.mark.parametrize(
    "failure",
    [
        ProviderError("slow", status_code=429),
        ProviderError("slow", code=429),
        ProviderError("oops", http_status=503),
        ProviderError("oops", response=httpx.Response(529)),
        ConnectionResetError("reset"),
        TimeoutError(),
        APIConnectionError("lost"),
        httpx.ConnectError("lost"),
        httpx.ReadTimeout("slow"),
    ],
    ids=lambda failure: type(failure).__name__,
)
async def test_given_a_passing_failure_of_a_provider_when_it_is_asked_then_the_next_try_answers(
    failure: Exception,
) -> None:
    store = MemoryStore()
    assert (await chat_that(failure, GOOD, store=store).ask(user(), at())).text == "B"
    assert store.last.tries == 2


@pytest.mark.parametrize(
    ("failure", "kind", "reason"),
    [
        (ProviderError("slow", status_code=429), CallFailed, "rate_limited"),
        (ProviderError("bad", status_code=400), CallFailed, "bad_request"),
        (ProviderError("prompt is too long: 3 > 2", status_code=400), ContextExceeded, "context_exceeded"),
        (TimeoutError(), CallFailed, "timeout"),
        (APIConnectionError("lost"), CallFailed, "connection_error"),
        (ProviderError("wrong key", status_code=401), Refused, ""),
        (ProviderError("no credit", status_code=402), Refused, ""),
        (ProviderError("a fault of its own"), ProviderError, ""),
        (ProviderError("a word", code="x", status_code=None), ProviderError, ""),
    ],
    ids=range(9),
)
async def test_given_a_lasting_failure_of_a_provider_when_it_is_asked_then_it_means(
    failure: Exception, kind: type[Exception], reason: str
) -> None:
    with pytest.raises(kind) as caught:
        await chat_that(*[failure] * FAST.tries).ask(user(), at())
    assert getattr(caught.value, "reason", "") == reason


async def test_given_a_provider_that_names_a_wait_when_it_is_asked_then_that_long_is_waited() -> None:
    response = httpx.Response(429, headers={"Retry-After": "0.3"})
    chat = chat_that(ProviderError("slow", status_code=429, response=response), GOOD)
    began = asyncio.get_running_loop().time()
    await chat.ask(user(), at())
    assert asyncio.get_running_loop().time() - began >= 0.3


async def test_given_a_provider_that_is_not_installed_when_it_is_opened_then_the_error_says_what_to_install() -> None:
    with pytest.raises(SpecError, match=r"acme:large"):
        async with open_chat(SPEC, Generation(), Door(), connections=1):
            pass


@pytest.mark.parametrize("spec", ["human", "replay:file"])
async def test_given_what_does_not_answer_by_itself_when_it_is_opened_then_it_is_refused(spec: str) -> None:
    with pytest.raises(SpecError, match="cannot answer on its own"):
        async with open_chat(parse_model(spec), Generation(), Door(), connections=1):
            pass
