"""Asking a server what it is before a run; costs no tokens."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from judge.errors import Refused, Unreachable
from judge.models.preflight import Preflight, preflight
from tests.server import ModelServer, says

Listing = Callable[[], web.Response]


@asynccontextmanager
async def listing(body: Any, status: int = 200) -> AsyncIterator[str]:
    """A server whose list of models is this; the scripted server knows only the usual form."""

    async def answer(request: web.Request) -> web.Response:
        text = body if isinstance(body, str) else json.dumps(body)
        return web.Response(text=text, status=status, content_type="application/json")

    app = web.Application()
    app.router.add_get("/v1/models", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


async def test_given_a_server_when_it_lists_the_model_then_there_is_nothing_to_note() -> None:
    with ModelServer(says("B"), models=("a", "b")) as server:
        assert await preflight(server.url, "b", "") == Preflight(("a", "b"), None, ())
        assert not server.calls


async def test_given_a_server_when_it_does_not_list_the_model_then_the_note_says_what_it_lists() -> None:
    with ModelServer(says("B"), models=tuple("abcdefg")) as server:
        found = await preflight(server.url, "x", "")

    assert found.notes == (f"{server.url} does not list a model named 'x'; it lists a, b, c, d, e, …",)


async def test_given_a_default_tag_when_the_name_is_given_without_it_then_it_counts_as_listed() -> None:
    with ModelServer(says("B"), models=("llama3:latest",)) as server:
        assert not (await preflight(server.url, "llama3", "")).notes


async def test_given_a_closed_port_when_it_is_asked_then_it_is_unreachable() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(Unreachable, match="cannot be reached"):
        await preflight(url, "m", "")


async def test_given_a_server_that_wants_a_key_when_it_gets_the_right_or_a_wrong_one_then_it_is_taken_or_refused() -> (
    None
):
    with ModelServer(says("B"), models_key="right-1") as server:
        assert (await preflight(server.url, "test-model", "right-1")).models == ("test-model",)
        for key in ("wrong-1", ""):
            with pytest.raises(Refused, match="refuses the key \\(HTTP 401: Incorrect API key"):
                await preflight(server.url, "test-model", key)


async def test_given_a_server_that_quotes_the_key_when_it_refuses_then_the_key_is_not_repeated() -> None:
    async with listing({"error": {"message": "wrong key secret-0123456789"}}, status=401) as url:
        with pytest.raises(Refused, match=r"wrong key \[redacted\]"):
            await preflight(url, "m", "secret-0123456789")


async def test_given_a_server_that_hangs_when_it_is_asked_then_patience_ends() -> None:
    hanging = ModelServer(says("B"), models_endpoint="hangs")
    with hanging as server, pytest.raises(Unreachable, match=r"did not answer within 0\.2 s"):
        await preflight(server.url, "m", "", patience=0.2)


async def test_given_a_server_without_a_list_when_it_is_asked_then_nothing_is_known_and_nothing_wrong() -> None:
    with ModelServer(says("B"), models_endpoint="missing") as server:
        assert await preflight(server.url, "m", "") == Preflight((), None, ())


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("<html>hello</html>", 200),
        ("", 200),
        ([{"id": "m"}], 200),
        ({"data": None}, 200),
        ({"data": ["m", 3, None]}, 200),
        ("null", 200),
        ({"error": "loading"}, 503),
        ({"error": "slow"}, 429),
        ({"error": "oops"}, 500),
        ({"error": "this key may chat but not list"}, 403),
    ],
    ids=str,
)
async def test_given_an_odd_list_when_it_is_read_then_the_run_may_still_be_tried(body: Any, status: int) -> None:
    async with listing(body, status) as url:
        assert await preflight(url, "m", "") == Preflight((), None, ())


@pytest.mark.parametrize(
    ("entries", "window"),
    [
        ([{"id": "m", "max_model_len": 4096}], 4096),
        ([{"id": "m", "meta": {"n_ctx": 2048, "n_ctx_train": 8192}}], 2048),
        ([{"id": "m", "context_length": 1024}], 1024),
        ([{"id": "m", "max_model_len": None, "meta": {"n_ctx": 512}}], 512),
        ([{"id": "other", "max_model_len": 100}, {"id": "m", "max_model_len": 200}], 200),
        ([{"id": "file.gguf", "meta": {"n_ctx": 512}}], 512),
        ([{"id": "a", "max_model_len": 1}, {"id": "b", "max_model_len": 2}], None),
        ([{"id": "m", "max_model_len": "4096"}], None),
        ([{"id": "m", "max_model_len": True, "meta": []}], None),
        ([{"id": "m", "max_model_len": 0}], None),
    ],
    ids=range(10),
)
async def test_given_a_list_when_it_tells_the_window_then_it_is_read(entries: Any, window: int | None) -> None:
    async with listing({"object": "list", "data": entries}) as url:
        assert (await preflight(url, "m", "")).window == window
