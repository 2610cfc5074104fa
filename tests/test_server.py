"""The scripted model server does on the wire what a script asks for; every assertion is made through a real socket."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.server import (
    Capabilities,
    ModelServer,
    Reply,
    Request,
    Support,
    Usage,
    error,
    hangs,
    letters,
    malformed,
    named_script,
    resets,
    says,
)

ROOT = Path(__file__).parent.parent
SCHEMA = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": {"type": "object"}}}
TOOLS = [{"type": "function", "function": {"name": "Verdict", "parameters": {"type": "object"}}}]
FORCED = {"type": "function", "function": {"name": "Verdict"}}
VERDICT = '{"rationale": "same disease", "verdict": "correct"}'


def question(text: str = "Which ones?", **fields: Any) -> dict[str, Any]:
    return {"model": "test-model", "messages": [{"role": "user", "content": text}], **fields}


def send(url: str, body: Any = None, key: str | None = None, timeout: float = 10) -> tuple[int, dict[str, str], bytes]:
    """POST the body (GET if there is none) and return status, headers with lower-case names, and bytes."""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=timeout) as answer:
            return answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read()
    except urllib.error.HTTPError as answer:
        with answer:
            return answer.code, {k.lower(): v for k, v in answer.headers.items()}, answer.read()


def chat(server: ModelServer, text: str = "Which ones?", key: str | None = None, **fields: Any) -> dict[str, Any]:
    """The decoded body of a chat call that must succeed."""
    status, _, body = send(f"{server.url}/chat/completions", question(text, **fields), key)
    assert status == 200, body
    answer: dict[str, Any] = json.loads(body)
    return answer


def refused(server: ModelServer, text: str = "Which ones?", **fields: Any) -> tuple[int, dict[str, Any]]:
    """Status and error object of a chat call that must fail."""
    status, _, body = send(f"{server.url}/chat/completions", question(text, **fields))
    assert status >= 400
    return status, json.loads(body)["error"]


def message(answer: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = answer["choices"][0]["message"]
    return found


# Scripts


def test_a_fixed_reply_is_an_openai_chat_completion() -> None:
    with ModelServer(says("Answer: A, C")) as server:
        answer = chat(server, "one two three")
    assert answer["object"] == "chat.completion"
    assert answer["model"] == "test-model"
    assert message(answer) == {"role": "assistant", "content": "Answer: A, C", "refusal": None}
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["usage"] == {
        "prompt_tokens": 3,
        "completion_tokens": 3,
        "total_tokens": 6,
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def test_a_list_of_replies_is_used_in_turn_and_the_last_one_repeats() -> None:
    with ModelServer([says("first"), says("last")]) as server:
        assert [message(chat(server))["content"] for _ in range(3)] == ["first", "last", "last"]
        server.reset()
        assert message(chat(server))["content"] == "first"


def test_a_script_sees_messages_headers_its_number_and_earlier_identical_calls() -> None:
    seen: list[Request] = []

    def script(request: Request) -> Reply:
        seen.append(request)
        return says(f"{request.text}/{request.n}/{request.seen}/{request.headers['authorization']}")

    with ModelServer(script) as server:
        contents = [message(chat(server, text, key="k"))["content"] for text in ("x", "y", "x")]
    assert contents == ["x/1/0/Bearer k", "y/2/0/Bearer k", "x/3/1/Bearer k"]
    assert seen[0].messages == [{"role": "user", "content": "x"}]


def test_the_last_user_message_is_found_behind_others_and_in_content_parts() -> None:
    messages = [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": [{"type": "text", "text": "ask"}, {"type": "text", "text": "ed"}]},
        {"role": "assistant", "content": None},
    ]
    with ModelServer(lambda request: says(f"{request.text}|{request.prompt}")) as server:
        assert message(chat(server, messages=messages))["content"] == "asked|rules\nasked\n"


def test_a_failing_script_answers_500_and_fails_the_test_when_the_server_closes() -> None:
    def script(request: Request) -> Reply:
        raise AssertionError("unexpected prompt")

    def run() -> None:
        with ModelServer(script) as server:
            assert refused(server)[0] == 500

    with pytest.raises(AssertionError, match="unexpected prompt"):
        run()


# Contents of a reply


@pytest.mark.parametrize("place", ["reasoning_content", "reasoning"])
def test_reasoning_goes_into_the_field_that_is_named(place: Any) -> None:
    with ModelServer(says("B", reasoning="let me see", reasoning_field=place)) as server:
        answer = chat(server)
    assert message(answer)[place] == "let me see"
    assert answer["usage"]["completion_tokens"] == 4
    assert answer["usage"]["completion_tokens_details"]["reasoning_tokens"] == 3


def test_reasoning_details_are_a_list_of_typed_parts() -> None:
    with ModelServer(says("B", reasoning="hm", reasoning_field="reasoning_details")) as server:
        assert message(chat(server))["reasoning_details"] == [{"type": "reasoning.text", "text": "hm", "index": 0}]


def test_null_content_refusal_finish_reason_logprobs_and_names_are_passed_through() -> None:
    logprobs = {"content": [{"token": "A", "logprob": -0.1, "bytes": None, "top_logprobs": []}]}
    reply = Reply(
        refusal="I cannot help.",
        finish_reason="content_filter",
        logprobs=logprobs,
        usage=Usage(11, 7, 5),
        model="served-name",
        system_fingerprint="fp_1",
    )
    with ModelServer(reply) as server:
        answer = chat(server)
    assert message(answer) == {"role": "assistant", "content": None, "refusal": "I cannot help."}
    assert answer["choices"][0]["finish_reason"] == "content_filter"
    assert answer["choices"][0]["logprobs"] == logprobs
    assert (answer["model"], answer["system_fingerprint"]) == ("served-name", "fp_1")
    assert (answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"]) == (11, 7)
    assert answer["usage"]["completion_tokens_details"]["reasoning_tokens"] == 5


def test_tool_calls_of_the_script_are_sent_as_they_are() -> None:
    with ModelServer(Reply(tool_calls=[("search", '{"q": 1}'), ("search", "{broken")])) as server:
        answer = chat(server)
    assert [call["function"] for call in message(answer)["tool_calls"]] == [
        {"name": "search", "arguments": '{"q": 1}'},
        {"name": "search", "arguments": "{broken"},
    ]
    assert len({call["id"] for call in message(answer)["tool_calls"]}) == 2
    assert answer["choices"][0]["finish_reason"] == "tool_calls"


def test_parts_of_the_body_can_be_missing() -> None:
    replies = [
        says("x", choices_empty=True),
        says("x", no_choices_key=True),
        says("x", message_null=True),
        says("x", drop_usage=True),
    ]
    with ModelServer(replies) as server:
        empty, no_key, null, no_usage = (chat(server) for _ in replies)
    assert empty["choices"] == []
    assert "choices" not in no_key
    assert null["choices"][0]["message"] is None
    assert "usage" not in no_usage


@pytest.mark.parametrize("body", [b'{"choices": [', b"<html>Bad gateway</html>", b""])
def test_a_malformed_body_is_sent_byte_for_byte(body: bytes) -> None:
    with ModelServer(malformed(body, status=502, content_type="text/html")) as server:
        status, headers, received = send(f"{server.url}/chat/completions", question())
    assert (status, headers["content-type"], received) == (502, "text/html", body)


# Errors


def test_an_error_has_its_status_openai_body_and_retry_after_header() -> None:
    with ModelServer(error(429, "Slow down", retry_after=2, code="rate_limit_exceeded")) as server:
        status, headers, body = send(f"{server.url}/chat/completions", question())
    assert (status, headers["retry-after"]) == (429, "2")
    assert json.loads(body)["error"] == {
        "message": "Slow down",
        "type": "invalid_request_error",
        "param": None,
        "code": "rate_limit_exceeded",
    }


def test_retry_after_may_be_a_date_or_absent() -> None:
    date = "Wed, 21 Oct 2099 07:28:00 GMT"
    with ModelServer([error(503, "later", retry_after=date), error(529, "overloaded")]) as server:
        first, second = (send(f"{server.url}/chat/completions", question()) for _ in range(2))
    assert (first[0], first[1]["retry-after"]) == (503, date)
    assert second[0] == 529
    assert "retry-after" not in second[1]


def test_a_wrong_key_is_refused_for_chat_and_models_separately() -> None:
    with ModelServer(says("ok"), chat_key="secret", models_key="other") as server:
        status, problem = refused(server)
        assert (status, problem["code"]) == (401, "invalid_api_key")
        assert message(chat(server, key="secret"))["content"] == "ok"
        assert send(f"{server.url}/models", key="secret")[0] == 401
        assert send(f"{server.url}/models", key="other")[0] == 200


def test_a_refused_call_does_not_use_up_a_reply() -> None:
    with ModelServer([says("first"), says("second")], rejects_parameters={"temperature"}) as server:
        assert refused(server, temperature=0)[0] == 400
        assert message(chat(server))["content"] == "first"
        assert server.chat_count == 2


def test_a_rejected_parameter_is_named_in_the_error() -> None:
    with ModelServer(says("ok"), rejects_parameters={"temperature"}) as server:
        status, problem = refused(server, temperature=0)
    assert status == 400
    assert problem["message"] == "Unsupported parameter: 'temperature' is not supported with this model."
    assert (problem["param"], problem["code"]) == ("temperature", "unsupported_parameter")


def test_a_prompt_beyond_the_context_window_gets_the_llama_cpp_error() -> None:
    with ModelServer(says("ok"), context_window=3) as server:
        assert message(chat(server, "one two three"))["content"] == "ok"
        status, problem = refused(server, "one two three four")
    assert status == 400
    assert problem["message"].startswith("the request exceeds the available context size")
    assert (problem["code"], problem["type"]) == (400, "exceed_context_size_error")
    assert (problem["n_prompt_tokens"], problem["n_ctx"]) == (4, 3)


@pytest.mark.parametrize("style", ["vllm", "openai"])
def test_the_context_error_can_be_worded_as_by_other_servers(style: Any) -> None:
    with ModelServer(says("ok"), context_window=3, context_style=style) as server:
        status, problem = refused(server, "one two three four")
    assert (status, problem["code"]) == (400, "context_length_exceeded")
    assert "maximum context length is 3 tokens" in problem["message"]


def test_a_silent_server_reports_the_length_of_the_cut_prompt() -> None:
    with ModelServer(says("ok"), context_window=3, context_style="silent") as server:
        assert chat(server, "one two three four")["usage"]["prompt_tokens"] == 3


def test_bodies_that_are_not_a_json_object_and_streaming_are_refused() -> None:
    with ModelServer(says("ok")) as server:
        assert send(f"{server.url}/chat/completions", ["not an object"])[0] == 400
        assert refused(server, stream=True)[1]["param"] == "stream"


# Structured output


def test_a_tools_request_is_answered_with_a_call_of_the_forced_function() -> None:
    with ModelServer(says(VERDICT)) as server:
        answer = chat(server, tools=TOOLS, tool_choice=FORCED)
    assert message(answer)["content"] is None
    assert message(answer)["tool_calls"][0]["function"] == {"name": "Verdict", "arguments": VERDICT}
    assert answer["choices"][0]["finish_reason"] == "stop"


def test_an_unforced_tools_request_calls_the_first_function() -> None:
    with ModelServer(says(VERDICT)) as server:
        answer = chat(server, tools=TOOLS)
        declined = chat(server, tools=TOOLS, tool_choice="none")
    assert message(answer)["tool_calls"][0]["function"]["name"] == "Verdict"
    assert answer["choices"][0]["finish_reason"] == "tool_calls"
    assert message(declined)["content"] == VERDICT


@pytest.mark.parametrize("form", [SCHEMA, {"type": "json_object"}])
def test_json_requests_are_answered_with_the_json_as_content(form: dict[str, Any]) -> None:
    with ModelServer(says(VERDICT)) as server:
        assert message(chat(server, response_format=form))["content"] == VERDICT


STRUCTURED: list[tuple[str, dict[str, Any]]] = [
    ("tools", {"tools": TOOLS, "tool_choice": FORCED}),
    ("json_schema", {"response_format": SCHEMA}),
    ("json_object", {"response_format": {"type": "json_object"}}),
]


def capable(name: str, support: Support) -> Capabilities:
    return replace(Capabilities(), **{name: support})


@pytest.mark.parametrize(("name", "asked"), STRUCTURED)
def test_a_refused_mode_is_a_400_and_leaves_the_others_alone(name: Any, asked: dict[str, Any]) -> None:
    with ModelServer(says(VERDICT), capabilities=capable(name, "refuse")) as server:
        status, problem = refused(server, **asked)
        assert (status, problem["param"]) == (400, next(iter(asked)))
        for other, fields in STRUCTURED:
            if other != name:
                chat(server, **fields)


@pytest.mark.parametrize(("name", "asked"), STRUCTURED)
def test_an_ignored_mode_is_answered_in_prose(name: Any, asked: dict[str, Any]) -> None:
    with ModelServer(says(VERDICT), capabilities=capable(name, "ignore")) as server:
        content = message(chat(server, **asked))["content"]
        assert content == "Let me put it in words. The rationale is same disease. The verdict is correct."
        assert message(chat(server))["content"] == VERDICT


def test_the_prose_of_an_ignored_mode_can_be_scripted() -> None:
    with ModelServer(says(VERDICT, prose="Correct."), capabilities=Capabilities(tools="ignore")) as server:
        assert message(chat(server, tools=TOOLS))["content"] == "Correct."


def test_content_that_is_not_json_is_never_reshaped() -> None:
    with ModelServer(says("I would say correct.")) as server:
        assert message(chat(server, tools=TOOLS))["content"] == "I would say correct."


# Broken connections


def test_a_reset_reaches_the_client_as_a_connection_reset() -> None:
    with ModelServer([resets(), says("back")]) as server:
        with pytest.raises(ConnectionResetError):
            send(f"{server.url}/chat/completions", question())
        assert message(chat(server))["content"] == "back"
        assert [call.answered is None for call in server.calls] == [True, False]


async def test_a_reset_midway_comes_after_the_headers_and_half_of_the_body() -> None:
    reply = says("a long text " * 100, reset_midway=True)
    with ModelServer(reply) as server:
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{server.url}/chat/completions", json=question()) as answer,
        ):
            assert answer.status == 200
            assert int(answer.headers["Content-Length"]) > 1200
            start = await answer.content.readany()
            assert start.startswith(b'{"id"')
            with pytest.raises(aiohttp.ClientError):
                await answer.content.read()
        assert server.calls[0].answered is None


def test_a_hanging_call_is_never_answered_and_counts_as_in_flight_until_the_client_gives_up() -> None:
    with ModelServer(hangs()) as server, ThreadPoolExecutor() as pool:
        call = pool.submit(send, f"{server.url}/chat/completions", question(), timeout=1.0)
        server.wait_for_calls(1)
        assert server.in_flight == 1
        assert isinstance(call.exception(timeout=10), TimeoutError)
        eventually(lambda: server.in_flight == 0)
        assert server.calls[0].answered is None


def test_closing_the_server_cuts_off_a_hanging_call() -> None:
    with ThreadPoolExecutor() as pool:
        with ModelServer(hangs()) as server:
            call = pool.submit(send, f"{server.url}/chat/completions", question(), timeout=30)
            server.wait_for_calls(1)
        assert isinstance(call.exception(timeout=25), (OSError, urllib.error.URLError))


def eventually(condition: Any, timeout: float = 5.0) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "still not true"
        time.sleep(0.01)


# The list of models


def test_the_models_are_listed_under_the_names_given() -> None:
    with ModelServer(says("ok"), models=("one", "two")) as server:
        status, _, body = send(f"{server.url}/models")
        assert server.models_count == 1
        assert server.spec == f"http://127.0.0.1:{server.port}/v1#one"
    assert status == 200
    assert [row["id"] for row in json.loads(body)["data"]] == ["one", "two"]


@pytest.mark.parametrize(("endpoint", "status"), [("missing", 404), ("unauthorised", 401)])
def test_the_list_of_models_can_be_unavailable(endpoint: Any, status: int) -> None:
    with ModelServer(says("ok"), models_endpoint=endpoint) as server:
        assert send(f"{server.url}/models")[0] == status
        assert message(chat(server))["content"] == "ok"


def test_the_list_of_models_can_hang() -> None:
    with ModelServer(says("ok"), models_endpoint="hangs") as server, pytest.raises(TimeoutError):
        send(f"{server.url}/models", timeout=0.3)


# Records


def test_calls_are_recorded_with_body_headers_and_times() -> None:
    before = time.time()
    with ModelServer(says("ok", latency=0.2)) as server:
        chat(server, "x", key="k", seed=7)
        (call,) = server.calls
    assert (call.body["seed"], call.headers["authorization"], call.request.text) == (7, "Bearer k", "x")
    assert call.answered is not None
    assert before <= call.received <= call.answered - 0.19


def test_reset_forgets_the_calls() -> None:
    with ModelServer(lambda request: says(f"{request.n}/{request.seen}")) as server:
        chat(server)
        server.reset()
        assert (server.calls, server.chat_count, server.max_in_flight) == ([], 0, 0)
        assert message(chat(server))["content"] == "1/0"


def test_waiting_for_calls_that_do_not_come_is_an_error() -> None:
    with ModelServer(says("ok")) as server, pytest.raises(TimeoutError, match="0 of 1 chat calls"):
        server.wait_for_calls(1, timeout=0.05)


async def test_256_connections_are_served_at_once() -> None:
    with ModelServer(says("ok", latency=2.0)) as server:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=256)) as session:
            statuses = await asyncio.gather(*(post(session, server, str(i)) for i in range(256)))
        assert statuses == [200] * 256
        assert server.max_in_flight > 128
        assert server.in_flight == 0
        assert server.chat_count == 256


async def test_kept_alive_connections_carry_a_thousand_calls() -> None:
    with ModelServer(letters) as server:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=64)) as session:
            await asyncio.gather(*(post(session, server, str(i)) for i in range(1000)))
        assert sorted(call.request.n for call in server.calls) == list(range(1, 1001))


async def post(session: aiohttp.ClientSession, server: ModelServer, text: str) -> int:
    async with session.post(f"{server.url}/chat/completions", json=question(text)) as answer:
        await answer.read()
        return answer.status


# Named scripts and the command line


def test_letters_depend_on_the_last_user_message_alone_and_stay_among_its_options() -> None:
    prompt = "Q?\nA. one\nB. two\nC. three\nD. four\n"
    with ModelServer(letters) as server:
        texts = [message(chat(server, f"{prompt}{i}"))["content"] for i in range(40)]
        again = [message(chat(server, f"{prompt}{i}"))["content"] for i in range(40)]
    assert texts == again
    assert len(set(texts)) > 5
    assert all(text.startswith("Réponse : ") and set(text[10:]) <= set("ABCD, ") for text in texts)


def test_gold_answers_questions_whose_text_occurs_in_the_prompt(tmp_path: Path) -> None:
    file = tmp_path / "gold.json"
    file.write_text(json.dumps({"Quel plan ?": "b", "Quel plan ? Et pourquoi ?": ["a", "c"]}), encoding="utf-8")
    with ModelServer(named_script(f"gold:{file}")) as server:
        assert message(chat(server, "Lisez. Quel plan ?\nA. x"))["content"] == "Réponse : B"
        assert message(chat(server, "Lisez. Quel plan ?\nEt pourquoi ?"))["content"] == "Réponse : A, C"
        assert "Réponse" not in message(chat(server, "Autre chose ?"))["content"]


def test_an_unknown_script_name_is_refused() -> None:
    with pytest.raises(ValueError, match="use letters or gold:FILE"):
        named_script("lettres")


@contextmanager
def served_alone(folder: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    port_file = folder / "port"
    command = [sys.executable, "-m", "tests.server", "--port-file", str(port_file), *options]
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        eventually(port_file.exists, timeout=30)
        yield f"http://127.0.0.1:{int(port_file.read_text())}/v1/chat/completions", process
    finally:
        process.kill()
        process.wait()


def test_the_command_serves_a_named_script_and_logs_each_call_at_once(tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"
    with served_alone(tmp_path, "--script", "letters", "--log", str(log), "--latency", "0.2") as (url, _):
        started = time.monotonic()
        assert send(url, question("é" * 100))[0] == 200
        assert time.monotonic() - started >= 0.2
        send(url, question("second"))
        first, second = (json.loads(line) for line in log.read_text(encoding="utf-8").splitlines())
    assert (first["n"], first["tail"], len(first["sha256"])) == (1, "é" * 80, 64)
    assert (second["n"], second["tail"]) == (2, "second")
    assert first["time"] <= second["time"]


def test_the_command_stops_by_itself(tmp_path: Path) -> None:
    with served_alone(tmp_path, "--script", "letters", "--max-seconds", "0.5") as (_, process):
        assert process.wait(timeout=20) == 0
