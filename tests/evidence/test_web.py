"""A search on the web: stored once like any paid call, replayable, and never silent when it fails."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.tools import ToolException

from judge.errors import BodyMismatch, CallFailed, MedjudgeError, Refused, ReplayMiss, RetriesExhausted, SpecError
from judge.evidence import Evidence, Passage, open_evidence
from judge.models.door import Door
from judge.models.recording import Header, Recorder, load_recording
from tests.evidence.fake_tool import FakeSearch, slow
from tests.models.helpers import FAST, NO_RETRY, MemoryStore, at

FAKE = "web:tests.evidence.fake_tool:FakeSearch"
HITS = [{"content": "Fever is a sign.", "url": "https://a.example"}]
PASSAGES = [Passage("Fever is a sign.", "https://a.example")]


@pytest.fixture(autouse=True)
def fresh_tool() -> Iterator[None]:
    FakeSearch.answers.clear()
    FakeSearch.asked.clear()
    yield
    FakeSearch.answers.clear()


def search_that(*answers: Any, door: Door | None = None, name: str = FAKE) -> Evidence:
    FakeSearch.answers += answers
    evidence = open_evidence(name, door or Door(retry=FAST), connections=2)
    assert evidence is not None
    return evidence


async def test_given_a_tool_when_it_is_searched_then_what_it_found_is_stored_and_read() -> None:
    store = MemoryStore()
    evidence = search_that({"results": HITS, "usage": {"prompt_tokens": 5}}, door=Door(store=store, retry=FAST))
    assert await evidence.search("fever", at(role="judge:m", step="search/1")) == PASSAGES
    kept = store.last
    assert kept.body == {"tool": FAKE, "query": "fever"}
    assert (kept.role, kept.model, kept.endpoint, kept.completed) == ("judge:m", FAKE, FAKE, True)
    assert kept.usage.prompt is None  # credits of a search are no tokens of a model
    assert (evidence.name, FakeSearch.asked) == (FAKE, ["fever"])
    assert evidence.version == "tests.evidence.fake_tool.FakeSearch|reading:1|cutting:1|k:3|chars:1000"


@pytest.mark.parametrize("name", ["ForgivingSearch", "OtherArgument"])
async def test_given_a_tool_of_another_kind_when_it_is_searched_then_it_is_asked_in_its_way(name: str) -> None:
    evidence = search_that("Fever", name=FAKE.replace("FakeSearch", name))
    assert [passage.text for passage in await evidence.search("fever", at())] == ["Fever"]


async def test_given_a_stored_search_when_the_run_is_resumed_then_nothing_is_asked_twice() -> None:
    store = MemoryStore()
    await search_that(HITS, door=Door(store=store)).search("fever", at())
    resumed = search_that(door=Door(store=store))
    assert await resumed.search("fever", at()) == PASSAGES
    assert FakeSearch.asked == ["fever"]
    with pytest.raises(BodyMismatch, match="query"):
        await resumed.search("cough", at())


async def test_given_a_recording_when_it_is_replayed_then_no_tool_is_needed(tmp_path: Path) -> None:
    file = tmp_path / "recording.jsonl"
    recorder = Recorder(file, Header("nonce", {}, {}))
    door = Door(recorder=recorder, retry=NO_RETRY)
    name = "web:not.installed:Search"
    original = search_that(HITS, "No results found.", ValueError("broken"), door=door)
    answers = [await original.search("fever", at()), await original.search("cough", at(case="b"))]
    with pytest.raises(CallFailed):
        await original.search("pain", at(case="c"))
    recorder.close()
    file.write_text(file.read_text("utf-8").replace(FAKE, name), "utf-8")

    replay = Door(replay=load_recording(file))
    evidence = search_that(door=replay, name=name)
    assert [await evidence.search("fever", at()), await evidence.search("cough", at(case="b"))] == answers
    assert answers == [PASSAGES, []]
    with pytest.raises(CallFailed, match="broken"):
        await evidence.search("pain", at(case="c"))
    with pytest.raises(ReplayMiss):
        await evidence.search("fever", at(case="d"))
    assert evidence.version.startswith("replayed|")


class HttpError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(f"{status} Client Error for url: https://api.example/search?api_key=hidden&q=fever")
        self.response = httpx.Response(status)


@pytest.mark.parametrize(
    "failure",
    [
        HttpError(429),
        HttpError(503),
        ConnectionResetError("reset"),
        TimeoutError(),
        {"error": ValueError("Error 429: slow down")},
        "HTTPError('500 Server Error')",
        RuntimeError("202 Ratelimit"),
        RuntimeError("the request timed out"),
    ],
    ids=range(8),
)
async def test_given_a_passing_failure_when_it_is_searched_then_the_next_try_answers(failure: Any) -> None:
    store = MemoryStore()
    assert await search_that(failure, HITS, door=Door(store=store, retry=FAST)).search("fever", at()) == PASSAGES
    assert store.last.tries == 2


@pytest.mark.parametrize(
    ("failure", "kind", "reason"),
    [
        (HttpError(429), RetriesExhausted, "rate_limited"),
        (HttpError(400), CallFailed, "bad_request"),
        (TimeoutError(), RetriesExhausted, "timeout"),
        (ConnectionError("lost"), RetriesExhausted, "connection_error"),
        (KeyError("results"), CallFailed, "call_failed"),
        (ToolException("the page has changed"), CallFailed, "call_failed"),
        (RuntimeError("No results found."), CallFailed, "call_failed"),
        ({"error": "a fault"}, CallFailed, "call_failed"),
        ({"error": ValueError("Error 401: wrong key")}, Refused, ""),
        (HttpError(401), Refused, ""),
    ],
    ids=range(10),
)
async def test_given_a_lasting_failure_when_it_is_searched_then_it_is_never_nothing_found(
    failure: Any, kind: type[Exception], reason: str
) -> None:
    store = MemoryStore()
    name = FAKE.replace("FakeSearch", "ForgivingSearch")
    evidence = search_that(*[failure] * FAST.tries, door=Door(store=store, retry=FAST), name=name)
    with pytest.raises(kind, match="ForgivingSearch") as caught:
        await evidence.search("fever", at())
    assert getattr(caught.value, "reason", "") == reason
    assert "hidden" not in str(caught.value)
    assert not any(kept.completed for attempts in store.kept.values() for kept in attempts)


async def test_given_a_tool_that_does_not_answer_in_time_when_it_is_searched_then_the_call_times_out() -> None:
    with pytest.raises(RetriesExhausted) as caught:
        await search_that(slow, door=Door(retry=NO_RETRY, timeout=0.05)).search("fever", at())
    assert caught.value.reason == "timeout"


async def test_given_a_tool_that_raises_to_say_there_is_nothing_when_it_is_searched_then_it_is_nothing() -> None:
    words = ToolException("No search results found for 'fever'. Suggestions: none. Try again.")
    assert await search_that(words).search("fever", at()) == []


async def test_given_results_that_are_not_understood_when_it_is_searched_then_it_failed_but_is_kept() -> None:
    store = MemoryStore()
    for _ in range(2):
        with pytest.raises(CallFailed, match="not understood"):
            await search_that({"status": "ok"}, door=Door(store=store)).search("fever", at())
    assert FakeSearch.asked == ["fever"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("web:acme_search.tools:Search", "not installed .* pip install acme-search"),
        ("web:AcmeSearch", "no class AcmeSearch in langchain_community.tools.*pip install"),
        ("web:tests.evidence.fake_tool:Missing", "the module tests.evidence.fake_tool has no class Missing"),
        ("web:tests.evidence.fake_tool:WithoutKey", "cannot be set up: ValueError: set the environment variable FAKE"),
        ("web:tests.evidence.fake_tool:NoTool", "no method 'ainvoke'"),
        ("web:https://a.example", "names no tool"),
        ("web:a/b", "names no tool"),
    ],
    ids=range(7),
)
def test_given_a_tool_that_cannot_be_used_when_it_is_opened_then_one_sentence_says_why(name: str, message: str) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        open_evidence(name, Door(), connections=1)
    assert "\n" not in str(caught.value)


@pytest.fixture
def known_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' own tools stand where a class that comes without a module is looked for."""
    monkeypatch.setattr("judge.evidence.web.MODULES", ("not.installed", "tests.evidence.fake_tool"))


@pytest.mark.usefixtures("known_module")
async def test_given_a_class_without_a_module_when_it_is_opened_then_it_is_looked_for() -> None:
    evidence = search_that(HITS, name="web:FakeSearch")
    assert await evidence.search("fever", at()) == PASSAGES
    assert (evidence.name, evidence.version.partition("|")[0]) == (
        "web:FakeSearch",
        "tests.evidence.fake_tool.FakeSearch",
    )
    with pytest.raises(SpecError, match="cannot be imported: ImportError: pip install fake-engine"):
        search_that(name="web:NeedsMore")


async def test_given_no_door_when_it_is_opened_then_it_has_a_version_but_cannot_be_searched() -> None:
    evidence = open_evidence(FAKE, None, connections=1)
    assert evidence is not None
    assert evidence.version
    with pytest.raises(MedjudgeError, match="without a door"):
        await evidence.search("fever", at())
    assert FakeSearch.asked == []


def test_given_the_package_when_it_is_imported_then_nothing_heavy_is() -> None:
    heavy = "{'numpy', 'bm25s', 'langchain_core', 'tenacity', 'pydantic'}"
    code = f"import sys, judge.evidence; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
