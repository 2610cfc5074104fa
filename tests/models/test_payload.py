"""The request bodies that reach the server, byte for byte what the settings say."""

from __future__ import annotations

from typing import Any

import pytest

from judge.models.chat import merge_same_role
from judge.settings import Generation
from tests.models.helpers import at, chat_on, user
from tests.server import ModelServer, ReasoningField, Reply, says

NAMES = ("test-model", "o1", "o1-mini", "o3", "o4-mini", "gpt-5", "gpt-5.2-pro", "gpt-6", "gpt-4o", "Qwen/Qwen3-8B")


async def sent(messages: list[dict[str, Any]], generation: Generation | None = None, **spec: Any) -> dict[str, Any]:
    """The body of the one request that asking these messages makes."""
    with ModelServer(says("B")) as server:
        async with chat_on(server, None, generation, **spec) as chat:
            await chat.ask(messages, at())
        (call,) = server.calls
    return dict(call.body)


SYSTEM = [{"role": "system", "content": "Be short."}, *user("Why?")]


@pytest.mark.parametrize("name", NAMES)
async def test_given_no_settings_when_any_model_is_asked_then_nothing_but_the_messages_is_sent(name: str) -> None:
    assert await sent(SYSTEM, name=name) == {"model": name, "messages": SYSTEM, "stream": False}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
async def test_given_a_temperature_when_any_model_is_asked_then_it_is_sent(name: str, temperature: float) -> None:
    body = await sent(SYSTEM, Generation(temperature=temperature), name=name)
    assert body == {"model": name, "messages": SYSTEM, "stream": False, "temperature": temperature}


@pytest.mark.parametrize(("kind", "key"), [("http", "max_tokens"), ("openai", "max_completion_tokens")])
async def test_given_a_limit_when_it_is_sent_then_its_name_is_the_one_that_kind_of_server_knows(
    kind: str, key: str
) -> None:
    body = await sent(SYSTEM, Generation(max_tokens=7), kind=kind)
    assert body == {"model": "test-model", "messages": SYSTEM, "stream": False, key: 7}


async def test_given_further_fields_when_it_is_asked_then_they_stand_in_the_body() -> None:
    extra = {
        "chat_template_kwargs": {"enable_thinking": False},
        "top_p": 0.9,
        "seed": 3,
        "reasoning": {"effort": "low"},
    }
    body = await sent(SYSTEM, Generation(extra_body=extra))
    assert body == {"model": "test-model", "messages": SYSTEM, "stream": False, **extra}


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "reasoning_details"])
async def test_given_reasoning_when_the_next_turn_is_asked_then_it_goes_back_under_the_servers_own_key(
    key: ReasoningField,
) -> None:
    with ModelServer(Reply(content="A", reasoning="hm", reasoning_field=key)) as server:
        async with chat_on(server) as chat:
            first = await chat.ask(user("one"), at())
            for send_reasoning in (True, False):
                turn = [*user("one"), first.message(send_reasoning=send_reasoning), *user("two")]
                await chat.ask(turn, at(step=f"turn2 {send_reasoning}"))
        _, given_back, left_out = (call.body["messages"] for call in server.calls)

    value: Any = [{"type": "reasoning.text", "text": "hm", "index": 0}] if key == "reasoning_details" else "hm"
    assert given_back == [*user("one"), {"role": "assistant", "content": "A", key: value}, *user("two")]
    assert left_out == [*user("one"), {"role": "assistant", "content": "A"}, *user("two")]


async def test_given_neighbours_of_one_role_when_they_are_sent_then_they_are_one_message() -> None:
    empty = {"role": "assistant", "content": " "}
    body = await sent([*SYSTEM, *user("And?"), empty, *user("Well?")])
    assert body["messages"] == [SYSTEM[0], {"role": "user", "content": "Why?\n\nAnd?\n\nWell?"}]


def test_given_messages_when_they_are_merged_then_the_given_ones_are_unchanged_and_empty_answers_dropped() -> None:
    system = {"role": "system", "content": "s"}
    given = [
        system,
        system,
        *user("a"),
        {"role": "assistant", "content": None},
        *user("b"),
        {"role": "assistant", "content": "c"},
    ]
    before = [dict(message) for message in given]
    merged = merge_same_role(given)

    assert merged == [system, system, *user("a\n\nb"), {"role": "assistant", "content": "c"}]
    assert given == before


async def test_given_odd_characters_when_they_are_asked_then_the_server_gets_them_as_they_are() -> None:
    text = "{x} {{y}} </answer> \u2028 \u0085 é 😀 \\n \x00"
    assert (await sent(user(text)))["messages"] == user(text)
