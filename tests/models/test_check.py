"""What an endpoint can do is found out by asking it, whatever it claims."""

from __future__ import annotations

import asyncio
import json
from itertools import product
from typing import Any

import pytest

from judge.errors import EndpointError, Refused, SpecError, Unreachable
from judge.models.chat import openai_client
from judge.models.check import check_endpoint
from judge.models.door import Door, Endpoint
from judge.models.structured import ModeProbe, find_mode
from judge.models.transport import http_client
from judge.settings import parse_model
from tests.models.helpers import FAST
from tests.server import Capabilities, ModelServer, Reply, Request, error, says

VERDICT = json.dumps({"rationale": "It scatters blue light.", "verdict": "blue"})
PROSE = "It is blue, of course."


async def probe(server: ModelServer, successes: int = 1) -> list[ModeProbe]:
    endpoint = Endpoint(server.url, asyncio.Semaphore(1), successes=successes)
    client = http_client(Door(retry=FAST), endpoint)
    async with openai_client(parse_model(server.spec), server.url, client) as api:
        return await find_mode(api, "test-model", "max_tokens")


def structured_only(request: Request) -> Reply:
    """JSON where a structure is asked for in a way of the protocol, prose where only the prompt asks for it."""
    asked = request.body.get("tools") or request.body.get("response_format")
    return says(VERDICT if asked else PROSE, prose=PROSE)


SUPPORT = ("yes", "refuse", "ignore")


@pytest.mark.parametrize(("tools", "schema", "plain"), list(product(SUPPORT, repeat=3)))
async def test_given_what_a_server_supports_when_modes_are_probed_then_the_first_that_works_is_found(
    tools: Any, schema: Any, plain: Any
) -> None:
    with ModelServer(structured_only, capabilities=Capabilities(tools, schema, plain)) as server:
        probes = await probe(server)

    modes = dict(zip(("TOOLS", "JSON_SCHEMA", "JSON"), (tools, schema, plain), strict=True))
    expected = next((mode for mode, support in modes.items() if support == "yes"), None)
    assert next((found.mode for found in probes if found.works), None) == expected
    assert len(server.calls) == len(probes) == (4 if expected is None else list(modes).index(expected) + 1)
    for found in probes[:3]:
        says_why = {"yes": "verdict blue", "refuse": "refused: HTTP 400", "ignore": "does not validate"}
        assert says_why[modes[found.mode]] in found.detail


async def test_given_a_server_that_knows_no_mode_when_the_model_writes_json_then_the_last_mode_works() -> None:
    capabilities = Capabilities("refuse", "refuse", "refuse")
    with ModelServer(says(f"Here it is:\n```json\n{VERDICT}\n```"), capabilities=capabilities) as server:
        assert [(found.mode, found.works) for found in await probe(server)][-1] == ("MD_JSON", True)


@pytest.mark.parametrize(
    "reply",
    [
        says("no"),
        says(None),
        says('{"rationale": "x", "verdict": "red"}'),
        says('{"verdict": "blue"}'),
        says(VERDICT[:20], finish_reason="length"),
        Reply(choices_empty=True),
        Reply(message_null=True),
        error(404, "No endpoints found that support tool use"),
    ],
    ids=range(8),
)
async def test_given_no_usable_reply_in_any_mode_when_modes_are_probed_then_none_works(reply: Reply) -> None:
    with ModelServer(reply) as server:
        probes = await probe(server)

    assert [found.works for found in probes] == [False] * 4
    assert all(found.detail for found in probes)


async def test_given_a_failure_that_may_pass_when_modes_are_probed_then_no_later_mode_is_said_to_be_the_one() -> None:
    def fails(request: Request) -> Reply:
        return error(500, "boom") if request.body.get("tools") else says(VERDICT)

    with ModelServer(fails) as server:
        (found,) = await probe(server)
    assert (found.mode, found.works) == ("TOOLS", False)
    assert "HTTP 500: boom" in found.detail


async def test_given_a_wrong_key_when_modes_are_probed_then_it_is_an_endpoint_error() -> None:
    with ModelServer(says(VERDICT), chat_key="k") as server:
        with pytest.raises(EndpointError):
            await probe(server)
        assert len(server.calls) == 1


def script(request: Request) -> Reply:
    logprobs = {"content": [{"token": "ready", "logprob": -0.1}]} if request.body.get("logprobs") else None
    structured = request.body.get("tools") or request.body.get("response_format")
    return says(VERDICT if structured else "ready", logprobs=logprobs)


async def test_given_a_capable_server_when_it_is_checked_then_everything_is_found() -> None:
    with ModelServer(script) as server:
        found = await check_endpoint(parse_model(server.spec))

    assert found.reply is not None
    assert (found.reply.text, found.failure, found.temperature, found.logprobs) == ("ready", "", True, True)
    assert found.listing is not None
    assert (found.structured_mode, found.listing.models) == ("TOOLS", ("test-model",))


async def test_given_a_server_that_rejects_parameters_when_it_is_checked_then_that_is_found_and_the_rest_too() -> None:
    capabilities = Capabilities("ignore", "yes", "yes")
    rejected = ("temperature", "logprobs")
    with ModelServer(script, rejects_parameters=rejected, capabilities=capabilities) as server:
        found = await check_endpoint(parse_model(server.spec))

    assert (found.temperature, found.logprobs, found.structured_mode) == (False, False, "JSON_SCHEMA")


async def test_given_a_server_that_forbids_a_parameter_when_it_is_checked_then_only_that_is_missing() -> None:
    def forbids(request: Request) -> Reply:
        if request.body.get("logprobs"):
            return error(403, "You are not allowed to request logprobs from this model")
        return script(request)

    with ModelServer(forbids) as server:
        found = await check_endpoint(parse_model(server.spec))

    assert (found.temperature, found.logprobs, found.structured_mode) == (True, False, "TOOLS")


async def test_given_a_server_that_fails_when_it_is_checked_then_the_failure_is_told() -> None:
    with ModelServer(error(422, "not today")) as server:
        found = await check_endpoint(parse_model(server.spec))

    assert (found.reply, found.failure, found.structured_mode) == (None, "HTTP 422: not today", None)


async def test_given_an_endpoint_that_serves_nothing_when_it_is_checked_then_the_error_says_so() -> None:
    with ModelServer(script, chat_key="k") as server, pytest.raises(Refused):
        await check_endpoint(parse_model(server.spec))
    with ModelServer(script, models_endpoint="hangs") as server, pytest.raises(Unreachable):
        await check_endpoint(parse_model(server.spec), patience=0.2)
    with pytest.raises(Unreachable):
        await check_endpoint(parse_model(server.spec))


@pytest.mark.parametrize("spec", ["human", "replay:file"])
async def test_given_what_does_not_answer_by_itself_when_it_is_checked_then_it_is_refused(spec: str) -> None:
    with pytest.raises(SpecError, match="not something that can be checked"):
        await check_endpoint(parse_model(spec))
