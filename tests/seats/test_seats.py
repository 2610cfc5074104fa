"""The generic part of a seat: what is typed, what is kept, what is shown."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from judge.errors import RunError
from judge.models.exchange import Exchange
from judge.seats import simulator_of
from judge.seats.entry import LONGEST, Command, Entry
from judge.seats.saved import FILE, Exchanges, locked, new_session, open_session
from judge.seats.terminal import EndOfInput, Terminal

Typing = Callable[[str], Terminal]


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch) -> Typing:
    """Puts text on standard input and gives a terminal that reads it."""

    def type_(text: str) -> Terminal:
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        return Terminal()

    return type_


def entry(terminal: Terminal) -> Entry:
    return Entry(terminal, lambda lines: not lines[-1])


# -- entries -----------------------------------------------------------------------------------------------------------


def test_an_entry_ends_where_it_is_complete_and_outlasts_commands(typing: Typing) -> None:
    found = entry(typing("one\n /Undo \ntwo\n\nthree"))
    assert found.read() == Command("undo")
    assert found.lines == ["one"]
    assert found.read() == ["one", "two", ""]
    with pytest.raises(EndOfInput):
        found.read()
    assert found.lines == ["three"]


@pytest.mark.parametrize("line", ["/undo it", "a /undo", "//", "/", "1/2"])
def test_what_only_looks_like_a_command_is_text(typing: Typing, line: str) -> None:
    assert entry(typing(f"{line}\n\n")).read() == [line, ""]


def test_an_entry_has_an_end(typing: Typing) -> None:
    taken = entry(typing(f"{'x' * LONGEST}\nmore\n\n")).read()
    assert isinstance(taken, list)
    assert sum(map(len, taken)) == LONGEST


# -- terminal ----------------------------------------------------------------------------------------------------------


def test_over_a_pipe_nothing_but_plain_text_is_written(typing: Typing, capsys: pytest.CaptureFixture[str]) -> None:
    terminal = typing("\x1b[2Jline\n")
    terminal.rule("[bold]\nTitle")
    terminal.block("\x1b]0;x\x07", "a\x1b[31m [red]b[/red]", "cyan")
    terminal.say("said\u202e", "yellow")
    terminal.table("T", ("name", "n"), [("[a]\x1b", "1")])
    terminal.ask()
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out
    for words in ("[bold] Title", "a\\x1b[31m [red]b[/red]", "[a]\\x1b", "> \\x1b[2Jline"):
        assert words in out


# -- sessions ----------------------------------------------------------------------------------------------------------


def exchange(text: str, address: str = "b/s/c/1/doctor/turn1/1") -> Exchange:
    return Exchange(address, 1, "doctor", "m", "here", {"q": text}, 200, text)


async def test_an_exchange_is_found_by_address_and_question(tmp_path: Path) -> None:
    saved = new_session(tmp_path, "case", {})
    exchanges = Exchanges(saved)
    for text in ("first", "second"):
        exchanges.asking([{"role": "user", "content": text}])
        assert await exchanges.find(exchange(text).address) is None
        await exchanges.keep(exchange(text))
    again = open_session(tmp_path, saved.id)
    assert [kept.attempt for _, kept in again.exchanges] == [1, 2]
    exchanges = Exchanges(again)
    exchanges.asking([{"role": "user", "content": "first"}])
    found = await exchanges.find(exchange("first").address)
    assert found is not None
    assert found.response == "first"
    assert [kept.response for kept in exchanges.in_order()] == ["second", "first"]


def test_a_session_is_read_as_it_was_written(tmp_path: Path) -> None:
    saved = new_session(tmp_path, "PMC 1/../x", {"case": "PMC 1"})
    saved.inputs.append({"kind": "turn", "text": "é \u2028"})
    saved.draft, saved.undone, saved.status = ["half"], 2, "concluded"
    saved.write()
    assert saved.folder.parent == tmp_path / "sessions"
    for wanted in (saved.id, str(saved.folder)):
        assert open_session(tmp_path, wanted) == saved
    assert [path.name for path in saved.folder.iterdir()] == [FILE]


def test_sessions_of_one_moment_have_folders_of_their_own(tmp_path: Path) -> None:
    assert len({new_session(tmp_path, "a", {}).id for _ in range(3)}) == 3


def test_a_write_that_fails_leaves_the_last_one(tmp_path: Path) -> None:
    saved = new_session(tmp_path, "a", {"n": 1})
    (saved.folder / f"{FILE}.new").mkdir()
    saved.head["n"] = 2
    with pytest.raises(RunError, match="cannot be written"):
        saved.write()
    assert json.loads((saved.folder / FILE).read_text(encoding="utf-8"))["head"] == {"n": 1}


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "sessions").write_text("", encoding="utf-8")
    with pytest.raises(RunError, match="sessions"):
        new_session(tmp_path, "a", {})


def test_two_cannot_continue_one_session(tmp_path: Path) -> None:
    saved = new_session(tmp_path, "a", {})
    with locked(saved), pytest.raises(RunError, match="in use by another process"), locked(saved):
        pass


def test_a_benchmark_without_a_chair_has_no_simulator() -> None:
    assert simulator_of(object()) is None  # type: ignore[arg-type]
