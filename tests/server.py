"""An OpenAI-compatible chat server on a real loopback socket, scripted by the test that starts it.

It runs in a thread of its own with its own event loop, so that synchronous tests, asynchronous tests and subprocesses
all reach it the way they would reach a model server:

    with ModelServer(lambda request: says(f"you said {request.text}")) as server:
        client = OpenAI(base_url=server.url, api_key="unused")

A script is a function from `Request` to `Reply`, one `Reply`, or a list of replies used in turn (the last one repeats).
It also runs alone: `python -m tests.server --port-file PATH --script letters`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import re
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal

from aiohttp import web

JsonObject = dict[str, Any]
Support = Literal["yes", "refuse", "ignore"]
ReasoningField = Literal["reasoning_content", "reasoning", "reasoning_details"]
ModelsEndpoint = Literal["ok", "missing", "unauthorised", "hangs"]
ContextStyle = Literal["llama.cpp", "vllm", "openai", "silent"]

MAX_BODY = 64 * 1024 * 1024
HALF_BODY_PAUSE = 0.02  # lets the client read the first half before the connection is reset


@dataclass(frozen=True)
class Usage:
    """Token counts to report; `reasoning` is the part of `completion` spent on thinking."""

    prompt: int
    completion: int
    reasoning: int = 0


@dataclass(frozen=True)
class Reply:
    """What the server does with one chat call. The transport faults (`reset`, `hang`, ...) win over the content."""

    content: str | None = None
    reasoning: str | None = None
    reasoning_field: ReasoningField = "reasoning_content"
    finish_reason: str | None = "stop"
    refusal: str | None = None
    tool_calls: Sequence[tuple[str, str]] = ()  # (function name, arguments as JSON text)
    logprobs: JsonObject | None = None
    usage: Usage | None = None  # None: counted in words
    status: int = 200
    error: JsonObject | str | None = None  # the value of "error" in the body when status is not 200
    headers: Mapping[str, str] = field(default_factory=dict)
    latency: float = 0.0
    reset: bool = False
    reset_midway: bool = False
    hang: bool = False
    raw_body: bytes | None = None
    choices_empty: bool = False
    no_choices_key: bool = False
    message_null: bool = False
    drop_usage: bool = False
    model: str | None = None  # None: the name that was asked for
    system_fingerprint: str | None = None
    prose: str | None = None  # the text given when a structured request is ignored; None: made from the JSON


@dataclass(frozen=True)
class Request:
    """One chat call as a script sees it: `n` counts chat calls from 1, `seen` earlier calls with the same bytes."""

    body: JsonObject
    headers: Mapping[str, str]
    n: int
    seen: int

    @property
    def messages(self) -> list[JsonObject]:
        messages: list[JsonObject] = self.body.get("messages") or []
        return messages

    @property
    def text(self) -> str:
        """Text of the last user message, empty if there is none."""
        return next((message_text(m) for m in reversed(self.messages) if m.get("role") == "user"), "")

    @property
    def prompt(self) -> str:
        """Text of all messages."""
        return "\n".join(message_text(message) for message in self.messages)


@dataclass
class Call:
    """A recorded chat call. `answered` stays None when no complete reply was sent. Times are `time.time()`."""

    request: Request
    sha256: str
    received: float
    answered: float | None = None

    @property
    def body(self) -> JsonObject:
        return self.request.body

    @property
    def headers(self) -> Mapping[str, str]:
        return self.request.headers


@dataclass(frozen=True)
class Capabilities:
    """How the server treats each way of asking for JSON. `ignore` takes the parameter and answers in prose."""

    tools: Support = "yes"
    json_schema: Support = "yes"
    json_object: Support = "yes"


Script = Callable[[Request], Reply] | Reply | Sequence[Reply]


def says(text: str | None, **fields: Any) -> Reply:
    """An ordinary reply with this text; `fields` are any other fields of `Reply`."""
    return Reply(content=text, **fields)


def error(
    status: int,
    message: str,
    retry_after: float | str | None = None,
    code: str | int | None = None,
    **details: Any,
) -> Reply:
    """An OpenAI-style error; `details` are more keys of the error object (`type`, `param`, ...)."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    default_type = "invalid_request_error" if status < 500 else "server_error"
    body = {"message": message, "type": default_type, "param": None, "code": code, **details}
    return Reply(status=status, error=body, headers=headers)


def resets() -> Reply:
    """The TCP connection is reset without a reply."""
    return Reply(reset=True)


def hangs() -> Reply:
    """The call is accepted and never answered."""
    return Reply(hang=True)


def malformed(body: bytes, status: int = 200, content_type: str = "application/json") -> Reply:
    """These bytes, as they are, in place of a chat completion."""
    return Reply(raw_body=body, status=status, headers={"Content-Type": content_type})


def message_text(message: JsonObject) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def words(*texts: str | None) -> int:
    """The server's token count: white-space separated words."""
    return sum(len(text.split()) for text in texts if text)


@dataclass
class ModelServer:
    """The server. Settings are constructor arguments; `url` is known once it has started."""

    script: Script
    models: Sequence[str] = ("test-model",)
    models_endpoint: ModelsEndpoint = "ok"
    models_key: str | None = None  # API key that GET /models demands
    chat_key: str | None = None  # API key that POST /chat/completions demands
    capabilities: Capabilities = Capabilities()
    rejects_parameters: Collection[str] = ()
    context_window: int | None = None  # in words
    context_style: ContextStyle = "llama.cpp"  # "silent": cuts the prompt and reports the cut length, like Ollama
    latency: float = 0.0  # seconds, added to the latency of each reply
    on_call: Callable[[Call], None] | None = None  # runs in the server thread when a chat call arrives
    port: int = field(default=0, init=False)
    models_count: int = field(default=0, init=False)
    script_errors: list[Exception] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._changed = threading.Condition()
        self._clear()
        self._in_flight = 0
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing: asyncio.Event | None = None

    # Life cycle

    def __enter__(self) -> ModelServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if problem is None and self.script_errors:
            raise self.script_errors[0]

    def start(self) -> None:
        """Bind a free port and serve from a background thread; returns when the port accepts connections."""
        ready: Future[int] = Future()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="model-server", daemon=True)
        self._thread.start()
        self.port = ready.result(timeout=30)

    def close(self) -> None:
        """Stop serving; hanging calls are cut off. Closing twice is harmless."""
        thread, self._thread = self._thread, None
        if thread is None or self._loop is None or self._closing is None:
            return
        self._loop.call_soon_threadsafe(self._closing.set)
        thread.join(timeout=30)
        if thread.is_alive():
            raise RuntimeError("the model server did not stop within 30 seconds")

    def _run(self, ready: Future[int]) -> None:
        try:
            asyncio.run(self._serve(ready))
        except Exception as problem:
            if ready.done():
                raise
            ready.set_exception(problem)

    async def _serve(self, ready: Future[int]) -> None:
        self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=MAX_BODY)
        app.router.add_get("/v1/models", self._answer_models)
        app.router.add_post("/v1/chat/completions", self._answer_chat)
        # handler_cancellation: a client that gives up no longer counts as in flight
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.2)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
            ready.set_result(runner.addresses[0][1])
            await self._closing.wait()
        finally:
            await runner.cleanup()

    # What a test reads

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def spec(self) -> str:
        """The medjudge model name of the first served model."""
        return f"{self.url}#{self.models[0]}"

    @property
    def calls(self) -> list[Call]:
        """Chat calls in order of arrival, refused ones included."""
        with self._changed:
            return list(self._calls)

    @property
    def chat_count(self) -> int:
        with self._changed:
            return len(self._calls)

    @property
    def in_flight(self) -> int:
        with self._changed:
            return self._in_flight

    @property
    def max_in_flight(self) -> int:
        with self._changed:
            return self._max_in_flight

    def reset(self) -> None:
        """Forget what was recorded and start the script's list again."""
        with self._changed:
            self._clear()
            self._max_in_flight = self._in_flight

    def wait_for_calls(self, count: int, timeout: float = 10.0) -> None:
        """Block until this many chat calls have arrived; TimeoutError otherwise."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._calls) >= count, timeout):
                raise TimeoutError(f"{len(self._calls)} of {count} chat calls arrived within {timeout} s")

    # Book-keeping

    def _clear(self) -> None:
        self._calls: list[Call] = []
        self._seen: Counter[str] = Counter()
        self._turn = 0
        self._max_in_flight = 0
        self.models_count = 0
        self.script_errors = []

    def _record(self, body: JsonObject, raw: bytes, headers: Mapping[str, str]) -> Call:
        digest = hashlib.sha256(raw).hexdigest()
        with self._changed:
            request = Request(body, headers, n=len(self._calls) + 1, seen=self._seen[digest])
            call = Call(request, digest, received=time.time())
            self._calls.append(call)
            self._seen[digest] += 1
            self._changed.notify_all()
        if self.on_call:
            self.on_call(call)
        return call

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        with self._changed:
            self._in_flight += 1
            self._max_in_flight = max(self._max_in_flight, self._in_flight)
        try:
            yield
        finally:
            with self._changed:
                self._in_flight -= 1

    # Endpoints

    async def _answer_models(self, http: web.Request) -> web.StreamResponse:
        with self._changed:
            self.models_count += 1
        if self.models_endpoint == "hangs":
            return await self._hang(http)
        if self.models_endpoint == "missing":
            return web.json_response(_error_body(error(404, "Not Found")), status=404)
        if self.models_endpoint == "unauthorised" or not _key_fits(http, self.models_key):
            return web.json_response(_error_body(_wrong_key()), status=401)
        rows = [{"id": name, "object": "model", "created": 0, "owned_by": "tests"} for name in self.models]
        return web.json_response({"object": "list", "data": rows})

    async def _answer_chat(self, http: web.Request) -> web.StreamResponse:
        with self._counted():
            raw = await http.read()
            body = _json_object(raw)
            call = self._record(body or {}, raw, {name.lower(): value for name, value in http.headers.items()})
            if body is None:
                reply = error(400, "The request body is not a JSON object.")
            else:
                reply = self._refusal(http, call.request) or self._shaped(call.request)
            return await self._send(http, call, reply)

    def _refusal(self, http: web.Request, request: Request) -> Reply | None:
        """The error with which a real server would turn this request away, if any."""
        if not _key_fits(http, self.chat_key):
            return _wrong_key()
        if rejected := sorted(set(self.rejects_parameters) & set(request.body)):
            return _unsupported_parameter(rejected[0])
        if request.body.get("stream"):
            return error(400, "This test server does not stream.", code="unsupported_value", param="stream")
        tokens = words(request.prompt)
        if self.context_window is not None and tokens > self.context_window and self.context_style != "silent":
            return _context_exceeded(self.context_style, tokens, self.context_window)
        asked = _asked_structure(request.body)
        if asked and getattr(self.capabilities, asked) == "refuse":
            param = "tools" if asked == "tools" else "response_format"
            return error(400, f"'{param}' of type '{asked}' is not supported with this model.", param=param)
        return None

    def _shaped(self, request: Request) -> Reply:
        """The script's reply, in the form that the request asked for."""
        reply = self._scripted(request)
        asked = _asked_structure(request.body)
        content = _json_object(reply.content.encode()) if asked and reply.content else None
        if content is None or reply.tool_calls:
            return reply
        if getattr(self.capabilities, str(asked)) == "ignore":
            return replace(reply, content=reply.prose or _as_prose(content))
        if asked == "tools":
            return replace(reply, content=None, tool_calls=[(_tool_name(request.body), reply.content or "")])
        return reply

    def _scripted(self, request: Request) -> Reply:
        if isinstance(self.script, Reply):
            return self.script
        if callable(self.script):
            try:
                return self.script(request)
            except Exception as problem:  # reported to the test when the server closes
                self.script_errors.append(problem)
                return error(500, f"the test's script failed: {problem!r}")
        with self._changed:
            turn, self._turn = self._turn, self._turn + 1
        return self.script[min(turn, len(self.script) - 1)]

    # Sending

    async def _send(self, http: web.Request, call: Call, reply: Reply) -> web.StreamResponse:
        if pause := self.latency + reply.latency:
            await asyncio.sleep(pause)
        if reply.hang:
            return await self._hang(http)
        if reply.reset:
            return _reset_connection(http)
        body = self._body(call.request, reply)
        headers = {"Content-Type": "application/json", **reply.headers}
        if reply.reset_midway:
            return await _send_half(http, body, reply.status, headers)
        call.answered = time.time()
        return web.Response(body=body, status=reply.status, headers=headers)

    async def _hang(self, http: web.Request) -> web.StreamResponse:
        assert self._closing is not None
        await self._closing.wait()
        return _reset_connection(http)

    def _body(self, request: Request, reply: Reply) -> bytes:
        if reply.raw_body is not None:
            return reply.raw_body
        if reply.status != 200:
            return json.dumps(_error_body(reply), ensure_ascii=False).encode()
        limit = self.context_window if self.context_style == "silent" else None
        return json.dumps(_completion(request, reply, limit), ensure_ascii=False).encode()


def _json_object(raw: bytes) -> JsonObject | None:
    try:
        value = json.loads(raw)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


# What is asked for


def _asked_structure(body: JsonObject) -> Literal["tools", "json_schema", "json_object"] | None:
    if (body.get("tools") or body.get("tool_choice")) and body.get("tool_choice") != "none":
        return "tools"
    kind = (body.get("response_format") or {}).get("type")
    return kind if kind in ("json_schema", "json_object") else None


def _forced_tool(body: JsonObject) -> str | None:
    choice = body.get("tool_choice")
    return choice.get("function", {}).get("name") if isinstance(choice, dict) else None


def _tool_name(body: JsonObject) -> str:
    tools = body.get("tools") or [{}]
    return str(_forced_tool(body) or tools[0].get("function", {}).get("name", "answer"))


def _as_prose(content: JsonObject) -> str:
    return "Let me put it in words. " + " ".join(f"The {name} is {value}." for name, value in content.items())


# Chat completion bodies


def _completion(request: Request, reply: Reply, prompt_limit: int | None) -> JsonObject:
    body: JsonObject = {
        "id": f"chatcmpl-test-{request.n}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": reply.model or request.body.get("model", ""),
    }
    if reply.system_fingerprint is not None:
        body["system_fingerprint"] = reply.system_fingerprint
    if not reply.no_choices_key:
        body["choices"] = [] if reply.choices_empty else [_choice(request, reply)]
    if not reply.drop_usage:
        body["usage"] = _usage_body(reply.usage or _word_usage(request, reply, prompt_limit))
    return body


def _choice(request: Request, reply: Reply) -> JsonObject:
    finish = reply.finish_reason
    # as OpenAI does: "stop" when the function was named in the request, "tool_calls" when the model chose to call it
    if reply.tool_calls and finish == "stop" and not _forced_tool(request.body):
        finish = "tool_calls"
    message = None if reply.message_null else _message(request, reply)
    return {"index": 0, "message": message, "finish_reason": finish, "logprobs": reply.logprobs}


def _message(request: Request, reply: Reply) -> JsonObject:
    message: JsonObject = {"role": "assistant", "content": reply.content, "refusal": reply.refusal}
    if reply.reasoning is not None:
        details = [{"type": "reasoning.text", "text": reply.reasoning, "index": 0}]
        message[reply.reasoning_field] = details if reply.reasoning_field == "reasoning_details" else reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = [
            {"id": f"call_{request.n}_{i}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for i, (name, arguments) in enumerate(reply.tool_calls)
        ]
    return message


def _word_usage(request: Request, reply: Reply, prompt_limit: int | None) -> Usage:
    prompt, reasoning = words(request.prompt), words(reply.reasoning)
    completion = words(reply.content, reply.refusal, *(arguments for _, arguments in reply.tool_calls)) + reasoning
    return Usage(prompt if prompt_limit is None else min(prompt, prompt_limit), completion, reasoning)


def _usage_body(usage: Usage) -> JsonObject:
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


# Errors


def _error_body(reply: Reply) -> JsonObject:
    return {"error": reply.error if reply.error is not None else {"message": f"HTTP {reply.status}", "code": None}}


def _key_fits(http: web.Request, key: str | None) -> bool:
    return key is None or http.headers.get("Authorization") == f"Bearer {key}"


def _wrong_key() -> Reply:
    return error(401, "Incorrect API key provided.", code="invalid_api_key")


def _unsupported_parameter(name: str) -> Reply:
    message = f"Unsupported parameter: '{name}' is not supported with this model."
    return error(400, message, code="unsupported_parameter", param=name)


def _context_exceeded(style: ContextStyle, tokens: int, window: int) -> Reply:
    if style == "llama.cpp":
        message = "the request exceeds the available context size, try increasing it"
        body = {"code": 400, "message": message, "type": "exceed_context_size_error"}
        return Reply(status=400, error={**body, "n_prompt_tokens": tokens, "n_ctx": window})
    message = f"This model's maximum context length is {window} tokens. However, "
    if style == "vllm":
        message += f"you requested {tokens} tokens in the messages. Please reduce the length of the messages."
        return error(400, message, code="context_length_exceeded", type="BadRequestError")
    message += f"your messages resulted in {tokens} tokens. Please reduce the length of the messages."
    return error(400, message, code="context_length_exceeded", param="messages")


# Broken connections


def _reset_connection(http: web.Request) -> web.StreamResponse:
    transport = http.transport
    if transport is not None:
        sock = transport.get_extra_info("socket")
        # a zero linger time makes the kernel send RST, not an orderly FIN
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    return web.Response()  # goes nowhere: the connection is gone


async def _send_half(http: web.Request, body: bytes, status: int, headers: Mapping[str, str]) -> web.StreamResponse:
    response = web.StreamResponse(status=status, headers=headers)
    response.content_length = len(body)
    await response.prepare(http)
    await response.write(body[: len(body) // 2])
    await asyncio.sleep(HALF_BODY_PAUSE)
    _reset_connection(http)
    return response


# Named scripts and the command line


def letters(request: Request) -> Reply:
    """One to three of the option letters in the last user message (A-E if it lists none), fixed by a hash of it."""
    options = sorted(set(re.findall(r"^\W*([A-H])[.)]\s", request.text, re.MULTILINE))) or list("ABCDE")
    digest = hashlib.sha256(request.text.encode()).digest()
    ranked = sorted(options, key=lambda option: hashlib.sha256(digest + option.encode()).digest())
    return says("Réponse : " + ", ".join(sorted(ranked[: 1 + digest[0] % 3])))


def gold(path: Path) -> Callable[[Request], Reply]:
    """Answer from a JSON file {question text: letters}; letters are "A, C", "ac" or ["a", "c"]."""
    table = {" ".join(text.split()): value for text, value in json.loads(path.read_text(encoding="utf-8")).items()}
    longest_first = sorted(table, key=len, reverse=True)

    def script(request: Request) -> Reply:
        prompt = " ".join(request.prompt.split())
        found = next((text for text in longest_first if text in prompt), None)
        if found is None:
            return says("Cette question m'est inconnue.")
        return says("Réponse : " + ", ".join(re.findall(r"[A-Z]", "".join(table[found]).upper())))

    return script


def named_script(name: str) -> Script:
    kind, _, argument = name.partition(":")
    if kind == "letters":
        return letters
    if kind == "gold" and argument:
        return gold(Path(argument))
    raise ValueError(f"unknown script {name!r}: use letters or gold:FILE")


def _log_to(stream: IO[str]) -> Callable[[Call], None]:
    def write(call: Call) -> None:
        row = {"sha256": call.sha256, "n": call.request.n, "tail": call.request.text[-80:], "time": call.received}
        stream.write(json.dumps(row, ensure_ascii=False) + "\n")
        stream.flush()

    return write


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.server", description="Serve a scripted chat model.")
    parser.add_argument("--port-file", type=Path, required=True, help="where to write the port once it accepts calls")
    parser.add_argument("--script", required=True, help="letters, or gold:FILE")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each reply")
    parser.add_argument("--log", type=Path, help="append one JSON line for each chat call, when it arrives")
    parser.add_argument("--max-seconds", type=float, default=600.0, help="stop after this long")
    options = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        server = ModelServer(named_script(options.script), latency=options.latency)
        if options.log:
            server.on_call = _log_to(stack.enter_context(options.log.open("a", encoding="utf-8", newline="\n")))
        stack.enter_context(server)
        # renamed into place, so that whoever waits for the file never reads half of it
        partial = options.port_file.with_suffix(".partial")
        partial.write_text(f"{server.port}\n", encoding="utf-8")
        partial.replace(options.port_file)
        with contextlib.suppress(KeyboardInterrupt):
            time.sleep(options.max_seconds)


if __name__ == "__main__":
    main()
