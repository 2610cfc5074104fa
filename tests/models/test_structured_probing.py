"""How a judge is asked is found out once by asking, recorded, and never found out again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from langchain_openai import ChatOpenAI

from judge.errors import BodyMismatch, EndpointError, Refused, ReplayMiss, SpecError
from judge.models.door import Door
from judge.models.embedded import weights
from judge.models.recording import Header, Recorder, Recording, load_recording
from judge.models.structured import Colour, Probed, judge_generation, open_judge
from judge.models.verdict import JudgeFailed
from judge.settings import Generation, ModelSpec
from tests.models.helpers import FAST, NO_RETRY, MemoryStore, at, user
from tests.models.judges import BENCHMARK, BLUE, ROLE, Step, answer, opened_on, place
from tests.server import Capabilities, ModelServer, Reply, Request, error, hangs, malformed, resets, says

QUESTION = user("Is the step correct?")
COLD = Generation(temperature=0, max_tokens=500)


def script(request: Request) -> Reply:
    """A model that answers the probe and one question."""
    return says(BLUE if "cloudless" in request.prompt else answer("wrong"))


def structured_only(request: Request) -> Reply:
    """JSON where a structure is asked for in a way of the protocol, prose where only the prompt asks for it."""
    asked = request.body.get("tools") or request.body.get("response_format")
    return script(request) if asked else says("It is blue, of course.")


async def probed(server: ModelServer, generation: Generation | None = None, door: Door | None = None) -> Probed:
    async with opened_on(server, None, door, generation) as opened:
        return opened.probed


async def test_given_a_capable_server_when_a_judge_is_opened_then_one_probe_finds_the_mode_and_is_stored() -> None:
    store = MemoryStore()
    with ModelServer(script) as server:
        async with opened_on(server, door=Door(store=store, retry=FAST)) as opened:
            assert opened.probed == Probed("TOOLS", (), ("TOOLS: works, verdict blue",))
            assert (await opened.model.ask(QUESTION, Step, place())).verdict == "wrong"
        assert server.chat_count == 2
    assert list(store.kept) == ["bench/-/-/1/judge%3Aj/probe%2FTOOLS/1", str(place())]


SUPPORT: dict[str, tuple[Capabilities, list[str]]] = {
    "tool_choice refused": (Capabilities(tools="refuse"), ["TOOLS", "JSON_SCHEMA"]),
    "tools ignored": (Capabilities(tools="ignore"), ["TOOLS", "JSON_SCHEMA"]),
    "schema ignored": (Capabilities("refuse", "ignore"), ["TOOLS", "JSON_SCHEMA", "JSON"]),
    "only words": (Capabilities("refuse", "ignore", "refuse"), ["TOOLS", "JSON_SCHEMA", "JSON", "MD_JSON"]),
}


@pytest.mark.parametrize("kind", SUPPORT)
async def test_given_what_a_server_supports_when_a_judge_is_opened_then_modes_are_tried_in_order(kind: str) -> None:
    capabilities, tried = SUPPORT[kind]
    store = MemoryStore()
    with ModelServer(script, capabilities=capabilities) as server:
        found = await probed(server, COLD, Door(store=store, retry=FAST))

    assert (found.mode, found.dropped) == (tried[-1], ())
    assert [line.partition(":")[0] for line in found.details] == tried
    assert list(store.kept) == [str(at("-", setting="-", role=ROLE, step=f"probe/{mode}")) for mode in tried]


async def test_given_a_model_that_refuses_temperature_when_a_judge_is_opened_then_it_is_left_out_for_good() -> None:
    with ModelServer(script, rejects_parameters=("temperature",)) as server:
        async with opened_on(server, generation=COLD) as opened:
            assert (opened.probed.mode, opened.probed.dropped) == ("TOOLS", ("temperature",))
            assert opened.probed.details[1] == "TOOLS without temperature: works, verdict blue"
            for step in ("a", "b"):
                await opened.model.ask(QUESTION, Step, place(step))
        sent = ["temperature" in call.body for call in server.calls]
        assert sent == [True, False, False, False]
        assert {call.body["max_tokens"] for call in server.calls} == {500}


async def test_given_a_server_that_refuses_temperature_and_tools_when_it_is_opened_then_both_are_found() -> None:
    with ModelServer(script, rejects_parameters=("temperature",), capabilities=Capabilities("refuse")) as server:
        found = await probed(server, COLD)
        assert server.chat_count == 4
    assert (found.mode, found.dropped) == ("JSON_SCHEMA", ("temperature",))


async def test_given_refusals_that_do_not_say_why_when_it_is_opened_then_all_modes_are_tried_without_temperature() -> (
    None
):
    def silent(request: Request) -> Reply:
        return error(400, "Bad Request") if "temperature" in request.body else script(request)

    with ModelServer(silent) as server:
        found = await probed(server, COLD)
        assert server.chat_count == 5
    assert (found.mode, found.dropped) == ("TOOLS", ("temperature",))


async def test_given_a_refused_mode_whose_error_speaks_of_temperature_when_another_works_then_it_is_still_sent() -> (
    None
):
    def odd(request: Request) -> Reply:
        if request.body.get("tools"):
            return error(400, "tools need another sampler: temperature, top_p and tools exclude each other")
        return script(request)

    with ModelServer(odd) as server:
        found = await probed(server, COLD)
    assert (found.mode, found.dropped) == ("JSON_SCHEMA", ())


async def test_given_no_temperature_when_a_server_refuses_it_then_nothing_is_dropped() -> None:
    with ModelServer(script, rejects_parameters=("temperature",)) as server:
        assert (await probed(server)).dropped == ()
        assert server.chat_count == 1


async def test_given_a_server_that_knows_the_other_name_of_the_limit_when_it_is_opened_then_that_is_sent() -> None:
    with ModelServer(script, rejects_parameters=("max_tokens", "temperature")) as server:
        async with opened_on(server, generation=COLD) as opened:
            assert (opened.probed.tokens_key, opened.probed.dropped) == ("max_completion_tokens", ("temperature",))
            await opened.model.ask(QUESTION, Step, place())
        assert server.calls[-1].body["max_completion_tokens"] == 500
        assert "max_tokens" not in server.calls[-1].body


async def test_given_a_limit_that_is_too_high_when_it_is_opened_then_the_limit_is_neither_lost_nor_renamed() -> None:
    with ModelServer(error(400, "max_tokens must be at most 256")) as server:
        with pytest.raises(EndpointError, match="max_tokens must be at most 256"):
            await probed(server, Generation(max_tokens=500))
        assert all(call.body["max_tokens"] == 500 for call in server.calls)


@pytest.mark.parametrize("status", [403, 404, 422])
async def test_given_a_server_that_refuses_every_mode_when_it_is_opened_then_one_error_names_them_all(
    status: int,
) -> None:
    with ModelServer(error(status, "not like this")) as server, pytest.raises(EndpointError) as caught:
        await probed(server, door=Door(retry=NO_RETRY))
    assert str(caught.value).startswith(f"{server.spec} cannot judge, since no way of asking gets an object: TOOLS:")
    assert str(caught.value).count("not like this") == 4


async def test_given_a_model_that_only_writes_prose_when_it_is_opened_then_the_error_shows_it() -> None:
    with ModelServer(says("Blue, of course.")) as server, pytest.raises(EndpointError, match=r"Blue, of course\."):
        await probed(server)


async def test_given_a_budget_that_is_too_small_when_it_is_opened_then_the_error_says_so() -> None:
    cut = says('{"rationale": "It', finish_reason="length")
    with ModelServer(cut) as server, pytest.raises(EndpointError, match="token limit"):
        await probed(server, Generation(max_tokens=3))


async def test_given_a_wrong_key_when_it_is_opened_then_no_other_mode_is_tried() -> None:
    with ModelServer(script, chat_key="k") as server:
        with pytest.raises(Refused):
            await probed(server)
        assert server.chat_count == 1


#: Failures that may pass.
PASSING: dict[str, Reply] = {
    "server error": error(500, "boom"),
    "overloaded": error(529, "overloaded"),
    "error in a call": error(500, "unexpected end while parsing tool calls"),
    "rate limit": error(429, "slow down"),
    "time-out": hangs(),
    "reset": resets(),
    "no JSON": malformed(b"<html>busy</html>"),
    "no choices": Reply(no_choices_key=True),
}


@pytest.mark.parametrize("reply", PASSING.values(), ids=PASSING)
async def test_given_a_failure_that_may_pass_when_a_judge_is_opened_then_no_other_mode_is_taken_for_it(
    reply: Reply,
) -> None:
    def fails_once(request: Request) -> Reply:
        return reply if request.body.get("tools") else script(request)

    with ModelServer(fails_once) as server:
        with pytest.raises(EndpointError, match=r"cannot be probed as a judge: .* is not decided, so try again later"):
            await probed(server, COLD, Door(retry=NO_RETRY, timeout=0.3 if reply.hang else 60))
        assert server.chat_count == 1


async def test_given_a_failure_that_passes_within_the_tries_when_a_judge_is_opened_then_the_mode_is_the_same() -> None:
    with ModelServer([error(500, "boom"), says(BLUE)]) as server:
        assert (await probed(server)).mode == "TOOLS"


@pytest.mark.parametrize("words", ["Unsupported param: tools", "tools param requires --jinja flag"])
async def test_given_a_server_error_that_refuses_the_mode_by_name_when_a_judge_is_opened_then_the_next_is_tried(
    words: str,
) -> None:
    # llama.cpp answers so with status 500: https://github.com/ggml-org/llama.cpp/issues/10920
    with ModelServer(lambda request: error(500, words) if request.body.get("tools") else script(request)) as server:
        assert (await probed(server, door=Door(retry=NO_RETRY))).mode == "JSON_SCHEMA"


async def test_given_a_probed_judge_when_a_call_is_forbidden_later_then_only_that_call_fails() -> None:
    def moderated(request: Request) -> Reply:
        return error(403, "flagged by moderation") if "harm" in request.prompt else script(request)

    door = Door(retry=FAST)
    with ModelServer(moderated) as server:
        async with opened_on(server, door=door) as opened:
            with pytest.raises(JudgeFailed, match="flagged") as caught:
                await opened.model.ask(user("harm"), Step, place("a"))
            assert (await opened.model.ask(QUESTION, Step, place("b"))).verdict == "wrong"
    assert (caught.value.reason, door.stopping) == ("judge_bad_request", False)


# What is known is not asked


async def test_given_a_known_mode_when_a_judge_is_opened_then_nothing_is_probed() -> None:
    known = Probed("JSON", ("temperature",), ("told",))
    with ModelServer(script) as server:
        async with opened_on(server, known, generation=COLD) as opened:
            assert opened.probed is known
            assert server.chat_count == 0
            await opened.model.ask(QUESTION, Step, place())
        (call,) = server.calls
        assert call.body["response_format"] == {"type": "json_object"}
        assert "temperature" not in call.body


async def test_given_the_same_store_when_a_judge_is_opened_again_then_its_probes_and_answers_are_not_asked_twice() -> (
    None
):
    store = MemoryStore()
    with ModelServer(script, capabilities=Capabilities(tools="ignore")) as server:
        for _ in range(2):
            async with opened_on(server, door=Door(store=store, retry=FAST), generation=COLD) as opened:
                await opened.model.ask(QUESTION, Step, place())
        assert server.chat_count == 3


def test_given_what_was_found_when_it_is_kept_as_facts_then_it_is_the_same_again() -> None:
    found = Probed("JSON", ("temperature",), ("TOOLS: fails, x", "JSON: works"), "max_completion_tokens")
    assert Probed.from_facts(json.loads(json.dumps(found.to_facts()))) == found
    assert Probed.from_facts({"mode": "TOOLS"}) == Probed("TOOLS")
    with pytest.raises(SpecError, match="in which mode"):
        Probed.from_facts({})


async def record(path: Path) -> None:
    """Probe, then judge into a recording that says what was found."""
    with ModelServer([says(BLUE), says("hm"), says(answer("wrong"))]) as server:
        found = await probed(server)
        recorder = Recorder(path, Header("n", {"judge": server.spec}, {"judge": found.to_facts()}))
        async with opened_on(server, found, Door(retry=FAST, recorder=recorder)) as opened:
            await opened.model.ask(QUESTION, Step, place())
        recorder.close()


@pytest.mark.parametrize("spec", ["http://127.0.0.1:1/v1#test-model", "openai:test-model"])
async def test_given_a_recording_when_it_is_replayed_then_the_same_verdict_comes_without_server_or_key(
    tmp_path: Path, spec: str
) -> None:
    await record(tmp_path / "r.jsonl")
    recording = load_recording(tmp_path / "r.jsonl")
    door = Door(replay=recording)
    known = Probed.from_facts(recording.header.facts["judge"])
    async with opened_on(spec, known, door) as opened:
        assert (await opened.model.ask(QUESTION, Step, place())).verdict == "wrong"
        with pytest.raises(BodyMismatch, match="messages"):
            await opened.model.ask(user("Something else?"), Step, place())


async def test_given_a_recording_with_its_probes_when_it_is_replayed_then_they_find_the_same_mode(
    tmp_path: Path,
) -> None:
    file = tmp_path / "r.jsonl"
    with ModelServer(says(BLUE), capabilities=Capabilities(tools="refuse")) as server:
        spec, recorder = server.spec, Recorder(file, Header("n", {"judge": server.spec}, {}))
        async with opened_on(server, None, Door(retry=FAST, recorder=recorder)) as opened:
            live = opened.probed
        recorder.close()
    async with opened_on(spec, None, Door(replay=load_recording(file))) as opened:
        assert opened.probed.mode == live.mode == "JSON_SCHEMA"


async def test_given_a_recording_without_probes_when_it_is_replayed_then_the_error_names_the_address(
    tmp_path: Path,
) -> None:
    door = Door(replay=Recording(tmp_path, Header("n", {}, {}), {}))
    with pytest.raises(ReplayMiss, match="probe%2FTOOLS"):
        async with opened_on("http://127.0.0.1:1/v1#m", None, door):
            pass


async def test_given_the_embedded_model_when_its_recording_is_replayed_then_it_is_not_started(tmp_path: Path) -> None:
    door = Door(replay=Recording(tmp_path, Header("n", {}, {}), {}))
    async with opened_on("embedded", Probed("JSON_SCHEMA"), door) as opened:
        assert opened.probed.mode == "JSON_SCHEMA"


@pytest.mark.parametrize(
    ("spec", "generation", "known", "words"),
    [
        ("human", Generation(), None, "'human' cannot judge"),
        ("replay:file", Generation(), None, "'replay:file' cannot judge"),
        ("http://127.0.0.1:1/v1#m", Generation(), Probed("YAML"), "mode 'YAML', only in TOOLS, JSON_SCHEMA, JSON, MD"),
        ("http://127.0.0.1:1/v1#m", Generation(), Probed("TEXT"), "mode 'TEXT'"),
        ("hf:/nowhere", Generation(), Probed("TOOLS"), "mode 'TOOLS', only in TEXT"),
        ("http://127.0.0.1:1/v1#m", Generation(extra_body={"tools": []}), None, "extra body cannot set 'tools'"),
    ],
)
async def test_given_what_cannot_be_asked_as_a_judge_when_it_is_opened_then_one_sentence_says_why(
    spec: str, generation: Generation, known: Probed | None, words: str
) -> None:
    with pytest.raises(SpecError, match=words):
        async with opened_on(spec, known, generation=generation):
            pass


def test_given_a_judge_in_this_process_when_no_limit_is_set_then_it_may_write_a_list_of_steps() -> None:
    assert judge_generation(Generation(), "embedded").max_tokens == 1024
    assert judge_generation(Generation(max_tokens=9), "embedded").max_tokens == 9
    assert judge_generation(Generation(), "http") == Generation()
    assert judge_generation(Generation(), "hf").temperature == 0


# Models that are not behind an OpenAI-compatible server


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> ModelSpec:
    """A provider whose package, were it installed, would give LangChain's own client for the test server."""
    module = ModuleType("langchain.chat_models")

    def init_chat_model(name: str, **options: Any) -> ChatOpenAI:
        return ChatOpenAI(model="test-model", base_url=name.removeprefix("acme:"), api_key="none", **options)

    module.init_chat_model = init_chat_model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "langchain", ModuleType("langchain"))
    monkeypatch.setitem(sys.modules, "langchain.chat_models", module)
    return ModelSpec(text="acme:large", kind="provider", name="acme:")


async def test_given_a_provider_when_it_is_opened_as_a_judge_then_the_schema_is_part_of_the_prompt(
    provider: ModelSpec,
) -> None:
    store = MemoryStore()
    with ModelServer(script, rejects_parameters=("temperature",)) as server:
        spec = provider.model_copy(update={"name": f"acme:{server.url}"})
        door = Door(store=store, retry=FAST)
        async with open_judge(spec, COLD, door, connections=2, role=ROLE, benchmark=BENCHMARK, known=None) as opened:
            assert (opened.probed.mode, opened.probed.dropped) == ("TEXT", ("temperature",))
            assert (await opened.model.ask(QUESTION, Step, place())).verdict == "wrong"
        last = server.calls[-1]

    assert not {"tools", "response_format", "temperature"} & last.body.keys()
    assert '"title": "Step"' in last.request.text
    probes = [str(at("-", setting="-", role=ROLE, step="probe/TEXT", ask=ask)) for ask in (1, 2)]
    assert list(store.kept) == [*probes, str(place())]


async def test_given_a_provider_whose_server_fails_when_it_is_opened_then_nothing_is_said_of_the_model(
    provider: ModelSpec,
) -> None:
    with ModelServer(error(500, "boom")) as server:
        spec = provider.model_copy(update={"name": f"acme:{server.url}"})
        with pytest.raises(EndpointError, match=r"acme:large cannot be probed as a judge: .*boom"):
            async with open_judge(spec, COLD, Door(retry=NO_RETRY), connections=2, role=ROLE, benchmark=BENCHMARK):
                pass


async def test_given_a_provider_that_gives_no_object_when_it_is_opened_then_the_error_shows_what_it_said(
    provider: ModelSpec,
) -> None:
    with ModelServer(says("Blue.")) as server:
        spec = provider.model_copy(update={"name": f"acme:{server.url}"})
        with pytest.raises(EndpointError, match=r"acme:large cannot judge.*'Blue\.'"):
            async with open_judge(spec, COLD, Door(), connections=2, role=ROLE, benchmark=BENCHMARK):
                pass


@pytest.mark.embedded
async def test_given_the_embedded_model_when_it_judges_then_a_validated_object_comes_back() -> None:
    try:
        weights()
    except SpecError as missing:
        pytest.skip(str(missing))
    async with opened_on("embedded", door=Door(), generation=Generation(temperature=0)) as opened:
        assert opened.probed.mode
        said = await opened.model.ask(user("Is a cloudless sky blue or green? Be brief."), Colour, place())
    assert isinstance(said, Colour)
