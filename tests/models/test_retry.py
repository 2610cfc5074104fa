"""Failures over a real server: what is tried again, how long is waited, and what it ends as."""

from __future__ import annotations

import asyncio
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.errors import CallFailed, ContextExceeded, EndpointError, Refused, RetriesExhausted, Unreachable
from judge.models.door import DEAD_AFTER, Door
from judge.models.exchange import redact, redact_error
from judge.models.retry import Retryable, RetryPolicy, error_message, failure_of, retry_after
from tests.models.helpers import FAST, NO_RETRY, MemoryStore, at, chat_on, user
from tests.server import ModelServer, Reply, Request, error, hangs, malformed, resets, says


def http_date(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


async def ask_once(server: ModelServer | str, retry: RetryPolicy = FAST, **door: Any) -> Any:
    async with chat_on(server, Door(retry=retry, **door)) as chat:
        return await chat.ask(user(), at())


async def failed(server: ModelServer, retry: RetryPolicy = FAST, **door: Any) -> CallFailed:
    """The failure of one call; it is stored as it was raised."""
    store = MemoryStore()
    with pytest.raises(CallFailed) as caught:
        await ask_once(server, retry, store=store, **door)
    assert store.last.error == f"{caught.value.reason}: {caught.value}"
    return caught.value


@pytest.mark.parametrize(
    "failure",
    [
        error(429, "slow down"),
        error(429, "slow down", retry_after=0.02),
        error(500, "oops"),
        error(502, "bad gateway"),
        error(503, "loading", retry_after=0.02),
        error(529, "overloaded"),
        resets(),
        Reply(content="half of this", reset_midway=True),
        malformed(b"<html>busy</html>", content_type="text/html"),
        malformed(b""),
        malformed(b'{"choices": [{"message": {"content": "B'),
        malformed(b"[1]"),
        malformed(b'{"error": {"message": "upstream is down", "code": 502}}'),
        malformed(b'{"error": "overloaded"}'),
        malformed(b'{"error": {"message": "x", "code": "busy"}, "choices": []}'),
        malformed(b"not gzip", content_type="application/json; charset=utf-8"),
    ],
    ids=lambda reply: str(
        reply.raw_body or (reply.reset and "reset") or (reply.reset_midway and "midway") or reply.status
    ),
)
async def test_given_a_passing_failure_when_it_is_asked_then_the_next_try_answers(failure: Reply) -> None:
    with ModelServer([failure, says("B")]) as server:
        assert (await ask_once(server)).text == "B"
        assert len(server.calls) == 2


@pytest.mark.parametrize(
    ("headers", "least"),
    [
        ({"Retry-After": "0.3"}, 0.3),
        ({"Retry-After": "1"}, 1.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "Retry-After": "30"}, 0.25),
    ],
)
async def test_given_a_named_wait_when_it_is_asked_then_that_long_is_waited(headers: Any, least: float) -> None:
    with ModelServer([Reply(status=429, error="slow", headers=headers), says("B")]) as server:
        await ask_once(server)
        first, second = server.calls

    assert least <= second.received - first.received < least + 1


async def test_given_a_date_to_wait_for_when_it_is_asked_then_it_is_waited_for() -> None:
    def script(request: Request) -> Reply:
        return says("B") if request.seen else error(429, "slow", retry_after=http_date(1.9))

    with ModelServer(script) as server:
        await ask_once(server)
        first, second = server.calls

    assert 0.8 <= second.received - first.received < 2.5


async def test_given_a_server_that_never_answers_when_it_is_asked_then_it_ends_as_a_timeout() -> None:
    with ModelServer(hangs()) as server:
        failure = await failed(server, RetryPolicy(tries=2, first_wait=0.01), timeout=0.1)
        assert len(server.calls) == 2

    assert (failure.reason, failure.attempts) == ("timeout", 2)
    assert "no answer within 0.1 s (after 2 tries)" in str(failure)


@pytest.mark.parametrize("body", [b"<html>Bad gateway</html>", b"", b'{"choices": [', b"null", b"[" * 100_000])
async def test_given_bodies_that_are_no_json_object_when_tries_end_then_the_response_is_malformed(body: bytes) -> None:
    with ModelServer(malformed(body)) as server:
        failure = await failed(server)
        assert len(server.calls) == FAST.tries

    assert failure.reason == "malformed_response"


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (error(429, "slow"), "rate_limited"),
        (error(500, "oops"), "server_error"),
        (error(529, "overloaded"), "server_error"),
        (resets(), "connection_error"),
        (Reply(content="half of this", reset_midway=True), "connection_error"),
        (malformed(b'{"error": "overloaded"}'), "server_error"),
        (malformed(b'{"error": {"message": "slow", "code": 429}}'), "rate_limited"),
    ],
    ids=["429", "500", "529", "reset", "midway", "error in a 200", "429 in a 200"],
)
async def test_given_a_lasting_failure_when_the_tries_are_used_up_then_the_reason_says_which(
    failure: Reply, reason: str
) -> None:
    with ModelServer(failure) as server:
        ended = await failed(server)
        assert len(server.calls) == FAST.tries

    assert (ended.reason, ended.attempts) == (reason, FAST.tries)


async def test_given_an_error_hidden_in_a_200_when_its_code_is_no_retry_then_it_is_not_tried_again() -> None:
    with ModelServer(malformed(b'{"error": {"message": "unknown field", "code": 400}}')) as server:
        failure = await failed(server)
        assert len(server.calls) == 1

    assert failure.reason == "bad_request"


async def test_given_a_cap_on_waiting_when_it_is_reached_then_the_call_gives_up_in_time() -> None:
    policy = RetryPolicy(tries=100, first_wait=0.1, longest_wait=0.1, total_wait=0.4)
    with ModelServer(error(500, "oops")) as server:
        await failed(server, policy)
        assert 4 <= len(server.calls) <= 9


async def test_given_a_named_wait_beyond_the_cap_when_it_is_asked_then_it_gives_up_at_once() -> None:
    with ModelServer(error(429, "come back tomorrow", retry_after=86400)) as server:
        failure = await failed(server, RetryPolicy(total_wait=60))  # a day, if it did not
        assert len(server.calls) == 1

    assert failure.reason == "rate_limited"


async def test_given_a_wait_longer_than_the_time_limit_when_it_is_asked_then_only_the_request_is_timed() -> None:
    with ModelServer([error(429, "slow", retry_after=0.6), says("B", latency=0.1)]) as server:
        assert (await ask_once(server, timeout=0.4)).text == "B"


async def test_given_a_named_wait_when_others_are_asked_then_they_wait_too() -> None:
    with ModelServer([error(429, "slow", retry_after=0.5), says("B")]) as server:
        async with chat_on(server, Door(retry=FAST), connections=4) as chat:
            first = asyncio.create_task(chat.ask(user("first"), at("first")))
            await asyncio.to_thread(server.wait_for_calls, 1)
            await asyncio.sleep(0.1)
            others = [chat.ask(user(f"other {n}"), at(str(n))) for n in range(3)]
            await asyncio.gather(first, *others)
        limited, *later = server.calls

    assert len(later) == 4
    assert min(call.received for call in later) - limited.received >= 0.5


async def test_given_others_told_to_wait_when_a_call_waits_with_them_then_that_counts_towards_its_cap() -> None:
    waits = {"first": 0.2, "second": 0.6}

    def script(request: Request) -> Reply:
        return error(429, "slow", retry_after=waits[request.text])

    door = Door(retry=RetryPolicy(tries=100, total_wait=0.75))
    with ModelServer(script) as server:
        async with chat_on(server, door) as chat:
            asked = [chat.ask(user(text), at(text)) for text in waits]
            await asyncio.gather(*asked, return_exceptions=True)
        sent = [call.request.text for call in server.calls]

    # the first waited 0.2 s for itself and 0.4 s more with the second; another 0.2 s are too many
    assert sorted(sent) == ["first", "first", "second", "second"]


@pytest.mark.parametrize(
    ("refusal", "sentence"),
    [
        (error(401, "Incorrect API key provided"), "refuses the key"),
        (error(429, "You exceeded your current quota", code="insufficient_quota"), "no credit left"),
        (error(402, "Insufficient credits"), "no credit left"),
        (error(403, "not in your country"), "refuses the call"),
        (error(404, "The model `x` does not exist."), "refuses the call"),
        (error(405, "Method Not Allowed"), "refuses the call"),
        (Reply(status=308, error="moved", headers={"Location": "https://127.0.0.1/"}), "refuses the call"),
        (error(400, "The model `x` does not exist."), "does not know the model"),
    ],
    ids=lambda value: str(value.status) if isinstance(value, Reply) else "",
)
async def test_given_a_refusal_of_every_call_when_it_is_asked_then_the_endpoint_is_refused(
    refusal: Reply, sentence: str
) -> None:
    with ModelServer(refusal) as server:
        with pytest.raises(Refused, match=sentence):
            await ask_once(server)
        assert len(server.calls) == 1


@pytest.mark.parametrize("status", [403, 404])
async def test_given_an_endpoint_that_has_answered_when_it_refuses_one_call_then_only_that_call_fails(
    status: int,
) -> None:
    with ModelServer([says("B"), error(status, "no"), says("C")]) as server:
        async with chat_on(server) as chat:
            await chat.ask(user(), at("1"))
            with pytest.raises(CallFailed) as caught:
                await chat.ask(user(), at("2"))
            assert (await chat.ask(user(), at("3"))).text == "C"

    assert caught.value.reason == "bad_request"


async def test_given_a_400_when_it_is_asked_then_the_call_fails_without_another_try() -> None:
    with ModelServer(error(400, "temperature must be below 2")) as server:
        failure = await failed(server)
        assert len(server.calls) == 1

    assert (failure.reason, str(failure)) == ("bad_request", "HTTP 400: temperature must be below 2")


@pytest.mark.parametrize("style", ["llama.cpp", "vllm", "openai"])
async def test_given_a_prompt_beyond_the_window_when_it_is_asked_then_the_reason_is_the_context(style: Any) -> None:
    with ModelServer(says("B"), context_window=3, context_style=style) as server:
        failure = await failed(server)
        assert len(server.calls) == 1

    assert isinstance(failure, ContextExceeded)
    assert failure.reason == "context_exceeded"


async def test_given_a_server_that_is_gone_when_enough_calls_are_lost_then_it_is_unreachable() -> None:
    door = Door(retry=NO_RETRY)
    async with chat_on(f"http://127.0.0.1:{closed_port()}/v1#m", door) as chat:
        for n in range(DEAD_AFTER - 1):
            with pytest.raises(RetriesExhausted) as caught:
                await chat.ask(user(), at(str(n)))
            assert caught.value.reason == "connection_error"
        with pytest.raises(Unreachable, match="cannot be reached any more"):
            await chat.ask(user(), at("last"))


async def test_given_lost_connections_when_the_server_answers_in_between_even_an_error_then_it_is_not_gone() -> None:
    script = [resets()] * (DEAD_AFTER - 1) + [error(500, "alive")] + [resets()] * (DEAD_AFTER - 1)
    with ModelServer(script) as server:
        async with chat_on(server, Door(retry=NO_RETRY)) as chat:
            for n in range(len(script)):
                with pytest.raises(CallFailed):
                    await chat.ask(user(), at(str(n)))


async def test_given_a_server_that_quotes_the_key_when_it_refuses_then_the_key_is_not_repeated() -> None:
    key = "abcdef0123456789xyz"
    quoted = error(401, f"Incorrect API key provided: {key}; also sk-proj-0123456789abcdef")
    with ModelServer(quoted) as server, pytest.raises(Refused) as caught:
        await ask_once(server, secrets=(key,))

    assert key not in str(caught.value)
    assert "sk-proj" not in str(caught.value)


NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "20"}, 20.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "x", "retry-after": "2"}, 2.0),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sunday, 01-Mar-26 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sun, 01 Mar 2026 13:00:30 +0100"}, 30.0),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:30"}, 30.0),
        ({"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0.0),
    ],
)
def test_given_headers_when_the_wait_is_read_then_it_is(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@given(st.text(), st.text())
def test_given_any_headers_when_the_wait_is_read_then_nothing_raises(value: str, milliseconds: str) -> None:
    wait = retry_after({"retry-after": value, "retry-after-ms": milliseconds}, NOW)
    assert wait is None or wait >= 0


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("Please retry in 7.5s.", 7.5),
        ("Rate limit reached. Please try again in 250ms.", 0.25),
        ("Please try again in 6m0s.", None),
        ("Please try again later.", None),
    ],
)
def test_given_a_wait_in_the_message_alone_then_it_is_kept_to(text: str, wait: float | None) -> None:
    failure = failure_of(429, {}, text, any_success=True)
    assert isinstance(failure, Retryable)
    assert failure.wait == wait
    headed = failure_of(429, {"retry-after": "3"}, text, any_success=True)
    assert isinstance(headed, Retryable)
    assert headed.wait == 3


RETRY, CALL, CONTEXT, REFUSED = Retryable, CallFailed, ContextExceeded, Refused


@pytest.mark.parametrize(
    ("status", "text", "before", "after"),
    [
        (400, "bad field", CALL, CALL),
        (400, '{"error": {"code": "context_length_exceeded", "message": "too long"}}', CONTEXT, CONTEXT),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", CONTEXT, CONTEXT),
        (413, "Payload Too Large", CONTEXT, CONTEXT),
        (500, "the request exceeds the available context size", CONTEXT, CONTEXT),
        (429, "limit of your context window rate", RETRY, RETRY),
        (429, "insufficient_quota", REFUSED, REFUSED),
        (429, "You exceeded your current quota, check your plan.", REFUSED, REFUSED),
        (429, "You exceeded your current quota (10 a minute). Please retry in 7.5s.", RETRY, RETRY),
        (429, "insufficient_quota. Please retry in 7s.", REFUSED, REFUSED),
        (402, "pay", REFUSED, REFUSED),
        (401, "who", REFUSED, REFUSED),
        (403, "no", REFUSED, CALL),
        (404, "no", REFUSED, CALL),
        (405, "no", REFUSED, CALL),
        (301, "", REFUSED, CALL),
        (400, '{"error": {"message": "Model Not Exist"}}', REFUSED, CALL),
        (400, '{"error": {"message": "model \\"x\\" not found, try pulling it first"}}', REFUSED, CALL),
        (400, '{"error": {"message": "the field `foo` does not exist"}}', CALL, CALL),
        (422, '{"detail": [{"input": "The model of care is good. It does not exist."}]}', CALL, CALL),
        (408, "", RETRY, RETRY),
        (409, "", RETRY, RETRY),
        (500, "", RETRY, RETRY),
        (501, "", RETRY, RETRY),
        (599, "", RETRY, RETRY),
    ],
)
def test_given_a_status_when_it_is_judged_before_and_after_a_first_answer_then_it_means(
    status: int, text: str, before: type, after: type
) -> None:
    assert type(failure_of(status, {}, text, any_success=False)) is before
    assert type(failure_of(status, {}, text, any_success=True)) is after


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", "(empty body)"),
        ("  \n ", "(empty body)"),
        ("plain\n  text", "plain text"),
        ('{"error": {"message": "m"}}', "m"),
        ('{"error": "m"}', "m"),
        ('{"message": "m"}', "m"),
        ('{"detail": "m"}', '{"detail": "m"}'),
        ('{"error": {"message": {"a": 1}}}', '{"a": 1}'),
        ('{"error": null}', "null"),
        ('["a"]', '["a"]'),
        ("<html>\n<h1>502</h1>", "<html> <h1>502</h1>"),
        ('{"error": {"message": "' + "x" * 400 + '"}}', "x" * 300),
        ('{"error": {"message": "a\\ud800b"}}', "a\ufffdb"),
        ("[" * 100_000, "[" * 300),
    ],
    ids=range(14),
)
def test_given_an_error_body_when_it_is_shown_then_it_is_one_short_line(text: str, shown: str) -> None:
    assert error_message(text) == shown


@given(st.text())
def test_given_any_error_body_when_it_is_judged_then_nothing_raises_and_it_can_be_stored(text: str) -> None:
    failure = failure_of(400, {}, text, any_success=True)
    str(failure).encode("utf-8")


@pytest.mark.parametrize(
    ("secret", "hidden"),
    [("abcd1234efgh", True), ("sk-1234", True), ("x" * 32, True), ("none", False), ("EMPTY", False), ("test", False),
     ("not-needed", False), ("1234", False), ("", False)],
)  # fmt: skip
def test_given_a_key_when_a_reply_is_kept_then_only_what_can_be_a_secret_is_taken_out(
    secret: str, hidden: bool
) -> None:
    text = f"The test shows none of them: {secret}, EMPTY not-needed 1234."
    assert (redact(text, [secret]) != text) is hidden


@pytest.mark.parametrize("shape", ["Bearer abcdefgh12345", "sk-proj-abc12345", "hf_abcdefghij", "gsk_abcdefgh1"])
def test_given_an_error_that_quotes_a_key_when_it_is_kept_then_anything_shaped_like_one_goes(shape: str) -> None:
    assert redact_error(f"wrong key {shape}!", []) == "wrong key [redacted]!"


def test_given_thousands_of_tries_when_the_wait_is_computed_then_it_stays_at_the_longest() -> None:
    class State:
        attempt_number = 5000

        class outcome:
            @staticmethod
            def exception() -> Retryable:
                return Retryable("server_error", "x")

    assert 30 <= RetryPolicy().wait(State()) <= 60  # type: ignore[arg-type]


def test_given_the_reasons_of_failures_when_they_end_a_run_then_they_are_endpoint_errors() -> None:
    assert issubclass(Refused, EndpointError)
    assert issubclass(Unreachable, EndpointError)
