"""The HTTP transport that leads every OpenAI-shaped request through the door.

Inside is openai's aiohttp-backed transport, several times faster than the default at hundreds of connections. Clients
(langchain-openai, instructor over openai) are given an `httpx2.AsyncClient` on this transport and know nothing of it.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping

import aiohttp
import httpx2
from openai._vendor.httpx_aiohttp import AiohttpTransport

from judge.models.address import current_call
from judge.models.door import Answer, Door, Endpoint
from judge.models.exchange import JSON, Exchange
from judge.models.retry import Retryable

#: What the SDK takes from the environment about an account at OpenAI; other servers must not see it.
ACCOUNT_HEADERS = ("openai-organization", "openai-project")


def http_client(door: Door, endpoint: Endpoint, *, openai_account: bool = False) -> httpx2.AsyncClient:
    """A client whose POST requests pass `door`; close it after use.

    Args:
        openai_account: whether the endpoint may be told the OpenAI organisation and project.
    """
    hidden = () if openai_account else ACCOUNT_HEADERS
    return httpx2.AsyncClient(transport=DoorTransport(door, endpoint, hidden), timeout=None)


class DoorTransport(httpx2.AsyncBaseTransport):
    """Answers requests from the door; sends them, where it must, over aiohttp."""

    def __init__(self, door: Door, endpoint: Endpoint, hidden_headers: tuple[str, ...] = ()) -> None:
        self._door = door
        self._endpoint = endpoint
        self._hidden_headers = hidden_headers
        self._inner = bare_transport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body: Mapping[str, JSON] = json.loads(await request.aread())
        for name in self._hidden_headers:
            request.headers.pop(name, None)

        async def send() -> Answer:
            return await send_once(self._inner, request)

        exchange = await self._door.exchange(current_call(), self._endpoint, str(body.get("model", "")), body, send)
        return _response(request, exchange)

    async def aclose(self) -> None:
        await self._inner.aclose()


def bare_transport() -> AiohttpTransport:
    """aiohttp without a limit of its own (the door has one) that honours the usual proxy variables."""
    transport = AiohttpTransport(limits=httpx2.Limits(max_connections=0, keepalive_expiry=30))
    transport.client = lambda: _session(transport.ssl_context)
    return transport


def _session(context: ssl.SSLContext) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(limit=0, ssl=context, keepalive_timeout=30)
    # no time limit here: the door times each request
    return aiohttp.ClientSession(connector=connector, trust_env=True, cookie_jar=aiohttp.DummyCookieJar())


async def send_once(transport: httpx2.AsyncBaseTransport, request: httpx2.Request) -> Answer:
    """One request, one whole response.

    Raises:
        Retryable: the connection failed, or the body is not the JSON that a success must be.
    """
    try:
        response = await transport.handle_async_request(request)
        try:
            content = await response.aread()
        finally:  # on a time-out in the middle of a body, too
            await response.aclose()
    except (httpx2.TransportError, aiohttp.ClientError, OSError) as error:
        # the SDK's transport gives many of aiohttp's errors another, misleading name
        name = type(error.__cause__ or error).__name__
        raise Retryable("connection_error", f"{name}: {error or 'the connection was lost'}") from error
    except httpx2.DecodingError as error:
        raise Retryable("malformed_response", f"the body cannot be decoded: {error}") from error
    text = content.decode("utf-8", errors="replace")
    answer = Answer(response.status_code, {key.lower(): value for key, value in response.headers.items()}, text)
    return _unmask(answer) if response.is_success else answer


def _unmask(answer: Answer) -> Answer:
    """A success must be a JSON object; some gateways hide an error and its code inside one, which is brought out."""
    try:
        parsed = json.loads(answer.text)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        shown = " ".join(answer.text.split())[:120] or "nothing"
        raise Retryable("malformed_response", f"HTTP {answer.status} with a body that is no JSON object: {shown}")
    error = parsed.get("error")
    if error and not parsed.get("choices"):
        code = error.get("code") if isinstance(error, dict) else None
        if isinstance(code, int) and 400 <= code < 600:
            return Answer(code, answer.headers, answer.text)
        raise Retryable("server_error", f"HTTP {answer.status} with an error in its body: {str(error)[:200]}")
    return answer


def _response(request: httpx2.Request, exchange: Exchange) -> httpx2.Response:
    return httpx2.Response(
        exchange.status,
        headers={"content-type": "application/json"},
        content=exchange.response.encode("utf-8", errors="replace"),
        request=request,
    )
