"""Recordings: written by one run, replayed without a server, readable after a crash, free of keys."""

from __future__ import annotations

import asyncio
import json
import resource
from pathlib import Path
from typing import Any

import pytest

from judge.errors import BodyMismatch, CallFailed, DataError, ReplayMiss, RunError, UserError
from judge.models.door import Door
from judge.models.exchange import Exchange
from judge.models.recording import Header, Recorder, load_recording, roles
from judge.models.retry import RetryPolicy
from judge.settings import Generation
from tests.models.helpers import NO_RETRY, MemoryStore, at, chat_on, completion, user
from tests.server import ModelServer, Reply, Request, error, malformed, says

HEADER = Header("nonce-1", {"doctor": "http://127.0.0.1:1/v1#m"}, {"mode": "TOOLS"})
NOWHERE = "http://127.0.0.1:1/v1#test-model"


def exchange(address: str = "a", response: str = "", **fields: Any) -> Exchange:
    return Exchange(address, fields.pop("attempt", 1), "doctor", "m", "", {"messages": []}, 200, response, **fields)


def written(path: Path, *exchanges: Exchange) -> None:
    recorder = Recorder(path, HEADER)
    for each in exchanges:
        recorder.add(each)
    recorder.close()


async def record(path: Path, script: Any, questions: list[str], **door: Any) -> list[Any]:
    """Ask every question under an address of its own; the replies or failures."""
    recorder = Recorder(path, HEADER)
    with ModelServer(script) as server:
        async with chat_on(server, Door(recorder=recorder, **door)) as chat:
            asked = [chat.ask(user(question), at(question)) for question in questions]
            replies = await asyncio.gather(*asked, return_exceptions=True)
    recorder.close()
    return replies


async def replay(path: Path, questions: list[str], **door: Any) -> list[Any]:
    async with chat_on(NOWHERE, Door(replay=load_recording(path), **door)) as chat:
        asked = [chat.ask(user(question), at(question)) for question in questions]
        return await asyncio.gather(*asked, return_exceptions=True)


ODD = {
    "plain": "Réponse : B",
    "separators": "one\u2028two\u0085three\x0bfour\x1cfive\r\nsix\n",
    "quotes": '{"a": "b"}\\n"',
    "emoji": "😀 e\u0301",
    "braces": "{{question}} {x}",
    "null": "\x00\x7f",
}


async def test_given_replies_with_odd_characters_when_they_are_replayed_then_the_answers_are_the_same(
    tmp_path: Path,
) -> None:
    path = tmp_path / "made" / "r.jsonl"
    questions = list(ODD)
    said = await record(path, lambda request: says(ODD[request.text], reasoning="why"), questions)
    again = await replay(path, questions)

    assert said == again
    assert [reply.text for reply in again] == [text.strip() for text in ODD.values()]
    assert path.read_bytes().count(b"\n") == len(ODD) + 1


async def test_given_a_lone_surrogate_when_it_is_recorded_and_replayed_then_it_is_the_same_and_can_be_stored(
    tmp_path: Path,
) -> None:
    path = tmp_path / "r.jsonl"
    body = completion("SPLIT \ud83d here").encode("ascii")
    store = MemoryStore()
    (said,) = await record(path, malformed(body), ["q"])
    (again,) = await replay(path, ["q"], store=store)

    assert said == again
    assert said.text == "SPLIT \ufffd here"
    store.last.response.encode("utf-8")


async def test_given_a_failed_call_when_it_is_replayed_then_it_fails_the_same_way(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    script = {"a": error(500, "oops"), "b": error(400, "too long", code="context_length_exceeded"), "c": says("B")}
    said = await record(path, lambda request: script[request.text], list(script), retry=NO_RETRY)
    again = await replay(path, list(script))

    for before, after in zip(said[:2], again[:2], strict=True):
        assert (type(before), str(before), before.reason) == (type(after), str(after), after.reason)
    assert again[2].text == "B"


async def test_given_a_key_when_it_is_recorded_then_neither_it_nor_the_header_is_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "k3y-0123456789-abcdef"
    monkeypatch.setenv("MEDJUDGE_API_KEY", key)
    path = tmp_path / "r.jsonl"

    def script(request: Request) -> Reply:
        assert request.headers["authorization"] == f"Bearer {key}"
        return error(422, f"bad call with {key}") if request.text == "fail" else says(f"you sent {key}")

    await record(path, script, ["fail", "echo"], secrets=(key,))
    text = path.read_text(encoding="utf-8")
    assert key not in text
    assert "uthorization" not in text
    assert text.count("[redacted]") == 2


async def test_given_a_recording_when_an_address_is_missing_then_the_miss_names_it(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    await record(path, says("B"), ["q"])
    (missed,) = await replay(path, ["other"])

    assert isinstance(missed, ReplayMiss)
    assert str(missed) == f"{path} holds no exchange for {at('other')}"


async def test_given_a_recording_when_another_request_is_sent_then_the_mismatch_names_what_changed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "r.jsonl"
    await record(path, says("B"), ["q"])
    async with chat_on(NOWHERE, Door(replay=load_recording(path)), Generation(max_tokens=9)) as chat:
        with pytest.raises(BodyMismatch, match=r"recorded in .*r\.jsonl under .*max_tokens: not sent -> 9"):
            await chat.ask(user("q"), at("q"))


async def test_given_a_recording_written_by_hand_when_its_numbers_are_equal_then_it_is_no_mismatch(
    tmp_path: Path,
) -> None:
    path = tmp_path / "r.jsonl"
    body = {"model": "test-model", "messages": user("q"), "temperature": 0, "stream": False}
    written(path, Exchange(str(at("q")), 1, "doctor", "m", "", body, 200, completion("B")))
    async with chat_on(NOWHERE, Door(replay=load_recording(path)), Generation(temperature=0.0)) as chat:
        assert (await chat.ask(user("q"), at("q"))).text == "B"


async def test_given_a_replay_into_a_store_when_it_is_kept_then_its_source_says_so(tmp_path: Path) -> None:
    path, store = tmp_path / "r.jsonl", MemoryStore()
    await record(path, says("B"), ["q"])
    await replay(path, ["q"], store=store)

    assert store.last.source == "replay"


def test_given_several_attempts_when_a_recording_is_loaded_then_the_last_one_counts(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    written(path, exchange(response='"1"'), exchange(response='"2"', attempt=2), exchange("b"))
    recording = load_recording(path)

    assert recording.exchanges["a"].response == '"2"'
    assert (recording.header, roles(recording.exchanges.values())) == (HEADER, {"doctor"})


@pytest.mark.parametrize("cut", [1, 3, 20, 200])
def test_given_a_torn_last_line_when_it_is_read_then_it_is_passed_over_and_when_appended_to_then_cut(
    tmp_path: Path, cut: int
) -> None:
    path = tmp_path / "r.jsonl"
    written(path, exchange("whole"), exchange("torn", response=json.dumps("é" * 200)))
    path.write_bytes(path.read_bytes()[: -cut - 1])

    assert set(load_recording(path).exchanges) == {"whole"}
    written(path, exchange("next"))
    assert set(load_recording(path).exchanges) == {"whole", "next"}
    assert all(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())


def test_given_a_line_torn_within_a_character_when_it_is_read_then_it_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    written(path, exchange("whole"))
    path.write_bytes(path.read_bytes() + '{"address": "é'.encode()[:-1])

    assert set(load_recording(path).exchanges) == {"whole"}


def test_given_a_whole_last_line_without_its_end_when_it_is_appended_to_then_it_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    written(path, exchange("a"))
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    written(path, exchange("b"))

    assert set(load_recording(path).exchanges) == {"a", "b"}


def test_given_a_header_torn_by_a_crash_when_it_is_recorded_again_then_the_file_starts_anew(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"medjudge_recor')
    written(path, exchange("a"))

    assert load_recording(path).header == HEADER


def test_given_an_exchange_that_is_recorded_already_when_it_is_added_then_it_stands_once(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    written(path, exchange("a"), exchange("a"))
    written(path, exchange("a"), exchange("a", attempt=2))

    assert len(path.read_bytes().splitlines()) == 3


async def test_given_an_answer_stored_but_not_recorded_when_the_run_goes_on_then_it_is_recorded(tmp_path: Path) -> None:
    path, store = tmp_path / "r.jsonl", MemoryStore()
    with ModelServer(says("B")) as server:
        async with chat_on(server, Door(store=store)) as chat:
            await chat.ask(user("q"), at("q"))
    recorder = Recorder(path, HEADER)
    async with chat_on(NOWHERE, Door(store=store, recorder=recorder)) as chat:
        await chat.ask(user("q"), at("q"))
    recorder.close()

    assert set(load_recording(path).exchanges) == {str(at("q"))}


@pytest.mark.parametrize(
    "line", ["{not json", "[1]", "3", "null", '{"address": "x"}', '{"address": "x", "response": ""}']
)
def test_given_a_broken_line_in_the_middle_when_it_is_loaded_then_the_error_names_it(tmp_path: Path, line: str) -> None:
    path = tmp_path / "r.jsonl"
    written(path, exchange("a"), exchange("b"))
    lines = path.read_text(encoding="utf-8").split("\n")
    path.write_text("\n".join([*lines[:2], line, *lines[2:]]), encoding="utf-8")

    with pytest.raises(DataError, match="line 3 is not an exchange"):
        load_recording(path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "its first line is not the header"),
        (b"hello\n", "its first line is not the header"),
        (b"\xff\xfe\n", "its first line is not the header"),
        (b"{}\n", "its first line is not the header"),
        (b'{"medjudge_recording": 99, "nonce": "n", "models": {}}\n', "recording format 99"),
        (b'{"medjudge_recording": 1, "nonce": "n", "models": []}\n', None),
        (b'\xef\xbb\xbf{"medjudge_recording": 1, "nonce": "n", "models": {}}\r\n', None),
    ],
)
def test_given_a_first_line_when_it_is_loaded_then_it_must_be_a_header(
    tmp_path: Path, content: bytes, sentence: str | None
) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(content)
    if sentence is None:
        assert load_recording(path).header.nonce == "n"
    else:
        with pytest.raises(DataError, match=sentence):
            load_recording(path)


def test_given_no_file_or_a_folder_when_it_is_loaded_then_the_error_says_so(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(DataError, match="no such recording"):
            load_recording(path)


def test_given_the_recording_of_another_run_when_it_is_appended_to_then_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    written(path)
    with pytest.raises(UserError, match="another run; name a new file"):
        Recorder(path, Header("nonce-2", {}, {}))


def test_given_places_that_cannot_be_written_when_a_recording_starts_then_the_error_is_one_sentence(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for path in (tmp_path, tmp_path / "file" / "r.jsonl"):
        with pytest.raises(UserError, match="cannot be written"):
            Recorder(path, HEADER)


def test_given_a_disk_that_fills_up_when_it_is_recorded_then_the_file_still_ends_with_a_whole_line(
    tmp_path: Path,
) -> None:
    path = tmp_path / "r.jsonl"
    recorder = Recorder(path, HEADER)
    recorder.add(exchange("a"))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 50, limits[1]))
    try:
        with pytest.raises(RunError, match=r"r\.jsonl cannot be written"):
            recorder.add(exchange("b"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    recorder.add(exchange("c"))
    recorder.close()

    assert set(load_recording(path).exchanges) == {"a", "c"}


@pytest.mark.parametrize(
    "response", ["", "null", "3", '"text"', "not json", '{"a": 1}', "[1, 2]", "\ud800", "[" * 5000]
)
def test_given_any_response_text_when_it_is_written_and_read_then_it_means_the_same(
    tmp_path: Path, response: str
) -> None:
    path = tmp_path / "r.jsonl"
    written(path, exchange(response=response))

    assert load_recording(path).exchanges["a"].response == response


async def test_given_a_retried_call_when_it_is_recorded_then_one_line_holds_its_end(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    (said,) = await record(path, [error(500, "x"), says("B")], ["q"], retry=RetryPolicy(first_wait=0.01))

    assert not isinstance(said, CallFailed)
    assert len(path.read_bytes().splitlines()) == 2
