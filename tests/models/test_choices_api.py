"""Letters chosen through a server: how log-probabilities are asked for, found out once, and kept."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from judge.errors import EndpointError, SpecError
from judge.models.chat import open_chat
from judge.models.choices import Choice, ChoosingModel, choice_from_logprobs
from judge.models.door import Door
from judge.models.embedded import weights
from judge.models.provider import ProviderChat
from judge.models.recording import Header, Recorder, load_recording
from judge.settings import Generation, parse_model
from tests.models.helpers import FAST, MemoryStore, at, chat_on, user
from tests.models.tokens import logprobs
from tests.server import ModelServer, Reply, Request, error, says

B = logprobs(("B", {"B": 0.6, "A": 0.3, "C": 0.05}), ".", " apple")


def answers(request: Request) -> Reply:
    """Log-probabilities for whoever asks."""
    return says("B. apple", logprobs=B if request.body.get("logprobs") else None)


def at_most(top: int) -> Any:
    def script(request: Request) -> Reply:
        if request.body.get("top_logprobs", 0) > top:
            return error(400, f"top_logprobs must be at most {top}", param="top_logprobs")
        return answers(request)

    return script


async def choose(server: ModelServer, store: MemoryStore | None = None, *cases: str, **generation: Any) -> list[Choice]:
    """The choices in these cases, asked for at once."""
    door = Door(store=store, retry=FAST)
    async with chat_on(server, door, Generation(**generation)) as chat:
        assert isinstance(chat, ChoosingModel)
        return await asyncio.gather(*(chat.choose(user(), "ABCD", at(case)) for case in cases or ("case",)))


def asked(server: ModelServer) -> list[tuple[Any, Any]]:
    return [(call.body.get("logprobs"), call.body.get("top_logprobs")) for call in server.calls]


async def test_given_a_server_with_logprobs_when_a_letter_is_chosen_then_reply_and_scores_are_of_one_call() -> None:
    with ModelServer(answers) as server:
        (choice,) = await choose(server, temperature=0, max_tokens=50)

    assert (choice.best, choice.scores["A"], choice.scores["D"]) == ("B", pytest.approx(math.log(0.3)), None)
    assert choice.reply is not None
    assert choice.reply.text == "B. apple"
    assert asked(server) == [(True, 20), (True, 20)]  # the probe and the question
    assert [call.body["max_tokens"] for call in server.calls] == [50, 50]


async def test_given_many_questions_at_once_when_they_are_asked_then_the_server_is_probed_once() -> None:
    with ModelServer(answers) as server:
        await choose(server, None, *map(str, range(12)))
    assert server.chat_count == 1 + 12


@pytest.mark.parametrize(("limit", "tried"), [(8, [20, 8]), (5, [20, 8, 5])])
async def test_given_a_server_that_lists_fewer_when_it_is_probed_then_it_is_asked_for_fewer(
    limit: int, tried: list[int]
) -> None:
    with ModelServer(at_most(limit)) as server:
        choices = await choose(server, None, "one", "two")
    assert [choice.best for choice in choices] == ["B", "B"]
    assert [top for _, top in asked(server)] == [*tried, limit, limit]


async def test_given_a_server_that_refuses_logprobs_when_it_is_asked_then_they_are_not_asked_for() -> None:
    with ModelServer(answers, rejects_parameters=["top_logprobs"]) as server:
        choices = await choose(server, None, "one", "two")

    assert [top for _, top in asked(server)] == [20, 8, 5, None, None, None]
    for choice in choices:
        assert choice.unscored is not None
        assert choice.unscored.reason == "no_logprobs"
        assert choice.reply is not None
        assert choice.reply.text == "B. apple"  # what the text says can still be read


@pytest.mark.parametrize("status", [403, 404, 422, 500])
async def test_given_another_way_of_refusing_logprobs_when_it_is_asked_then_the_run_goes_on_without(
    status: int,
) -> None:
    def script(request: Request) -> Reply:
        return error(status, "logprobs are not available") if "logprobs" in request.body else says("B")

    with ModelServer(script) as server:
        (choice,) = await choose(server)
    assert choice.reply is not None
    assert choice.reply.text == "B"


async def test_given_a_server_that_ignores_logprobs_when_it_is_asked_then_the_reason_says_so() -> None:
    with ModelServer(says("B")) as server:
        choices = await choose(server, None, "one", "two")
    assert [choice.unscored.reason if choice.unscored else "" for choice in choices] == ["no_logprobs"] * 2
    assert asked(server) == [(True, 20), (None, None), (None, None)]


async def test_given_a_server_that_refuses_every_call_when_it_is_probed_then_logprobs_are_not_blamed() -> None:
    server = ModelServer(answers, rejects_parameters=["temperature"])
    with server, pytest.raises(EndpointError, match="temperature"):
        await choose(server, temperature=0)


async def test_given_a_server_that_is_busy_when_it_is_probed_then_nothing_is_concluded() -> None:
    with ModelServer(error(429, "later")) as server, pytest.raises(EndpointError, match="log-probabilities"):
        await choose(server)


async def test_given_a_user_who_says_what_is_sent_when_it_is_asked_then_just_that_is_sent() -> None:
    with ModelServer(answers) as server:
        (choice,) = await choose(server, extra_body={"logprobs": True, "top_logprobs": 3})
    assert (asked(server), choice.best) == ([(True, 3)], "B")


async def test_given_a_model_that_can_choose_when_it_is_only_asked_then_no_logprobs_are_asked_for() -> None:
    with ModelServer(answers) as server:
        async with chat_on(server) as chat:
            await chat.ask(user(), at())
    assert asked(server) == [(None, None)]


async def test_given_a_run_that_goes_on_when_a_letter_is_chosen_then_the_stored_probe_and_reply_serve() -> None:
    store = MemoryStore()
    with ModelServer(at_most(20)) as server:
        first = await choose(server, store)
        again = await choose(server, store)
    assert (again, server.chat_count) == (first, 2)
    assert list(store.kept) == ["bench/-/-/1/doctor/probe%2Flogprobs/1", str(at())]


async def test_given_a_recording_with_refused_probes_when_it_is_replayed_then_the_choices_are_the_same(
    tmp_path: Path,
) -> None:
    file = tmp_path / "recording.jsonl"
    with ModelServer(at_most(5)) as server:
        recorder = Recorder(file, Header("nonce", {}, {}))
        async with chat_on(server, Door(recorder=recorder, retry=FAST)) as chat:
            assert isinstance(chat, ChoosingModel)
            recorded = await chat.choose(user(), "ABCD", at())
        recorder.close()
        spec = server.spec
    async with chat_on(spec, Door(replay=load_recording(file))) as chat:
        assert isinstance(chat, ChoosingModel)
        assert await chat.choose(user(), "ABCD", at()) == recorded


async def test_given_thinking_before_the_answer_when_a_letter_is_chosen_then_it_is_the_one_after_it() -> None:
    thought = logprobs("<think>", ("A", {"A": 0.9, "B": 0.1}), "</think>", ("B", {"B": 0.7, "A": 0.2}), "<|im_end|>")
    with ModelServer(says("B", reasoning="A", logprobs=thought)) as server:
        (choice,) = await choose(server)
    assert (choice.best, choice.scores["A"]) == ("B", pytest.approx(math.log(0.2)))


async def test_given_another_provider_that_gives_logprobs_when_it_is_asked_then_its_reply_holds_them() -> None:
    message = AIMessage(content="B. apple", response_metadata={"logprobs": B})
    client = GenericFakeChatModel(messages=iter([message]))
    chat = ProviderChat(parse_model("acme:large"), Generation(), Door(), connections=1, client=client)
    assert not isinstance(chat, ChoosingModel)
    assert choice_from_logprobs(await chat.ask(user(), at()), "ABCD").best == "B"


@pytest.mark.embedded
async def test_given_the_embedded_model_when_it_chooses_then_every_score_is_a_log_probability() -> None:
    try:
        weights()
    except SpecError as missing:
        pytest.skip(str(missing))
    question = "Which is a fruit?\nA. stone\nB. apple\nC. car\nD. house\nReply with one letter."
    store = MemoryStore()
    async with open_chat(
        parse_model("embedded"), Generation(temperature=0, max_tokens=8), Door(store=store), connections=1
    ) as chat:
        assert isinstance(chat, ChoosingModel)
        choice = await chat.choose(user(question), "ABCD", at())

    assert [kept[-1].body["top_logprobs"] for kept in store.kept.values()] == [20, 20]
    assert choice.best in (*"ABCD", None)
    assert (choice.best is None) == (choice.unscored is not None)
    assert set(choice.scores) == set("ABCD")
    assert all(score is None or score <= 0 for score in choice.scores.values())
