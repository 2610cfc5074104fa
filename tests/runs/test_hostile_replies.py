"""Whatever a model or a server says: no run ends by it, and no terminal obeys it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.runs.synthetic import IDS, answering, run_arguments
from tests.server import ModelServer, Reply, error, malformed, says

LONE = "\ud83d"


def raw(message: dict[str, object]) -> Reply:
    """A completion that JSON can carry and UTF-8 cannot."""
    body = {"model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
    return malformed(json.dumps(body).encode("ascii"))


HOSTILE: dict[str, Reply] = {
    "markup": says("<script>alert(1)</script><b>Réponse</b> <article>\nRéponse : B"),
    "rich markup": says("[bold]fort[/bold] [/nonsense] [link=http://x]y\nRéponse : B"),
    "emoji code": says(":smile: :warning:\nRéponse : B"),
    "escapes": says("\x1b[2J\x1b]0;title\x07\x1b[31mrouge\x9b31m\rRéponse : A\x08\nRéponse : B"),
    "megabyte": says("mot " * 250_000 + "\nRéponse : B"),
    "long line": says("x" * 1_000_000 + "\nRéponse : B"),
    "white space": says(" \n\t\u00a0\u2003\u200b\n"),
    "nul": says("\x00\x00\nRéponse : B\x00"),
    "lone surrogate": raw({"role": "assistant", "content": f"{LONE}\nRéponse : B"}),
    "lone surrogate in thinking": raw({"role": "assistant", "content": "Réponse : B", "reasoning_content": LONE}),
    "lone surrogate in refusal": raw({"role": "assistant", "content": None, "refusal": f"non {LONE}"}),
    "braces": says("{question} {{options}} {0} %s ${HOME}\nRéponse : B"),
    "right to left": says("\u202eB : esnopéR\u202c\nRéponse : B"),
    "no string": raw({"role": "assistant", "content": {"a": 1}}),
    "number": raw({"role": "assistant", "content": 5}),
    "deep": malformed(b'{"choices": [{"message": {"content": ' + b"[" * 3000 + b"]" * 3000 + b"}}]}"),
    "error": error(400, f"\x1b[31mnon[/bold] {LONE}\nMais si"),
    "header": says("Réponse : B", system_fingerprint="\x1b[31m", model="[/bold]"),
}
READABLE = {"markup", "rich markup", "emoji code", "escapes", "megabyte", "long line", "nul", "lone surrogate",
            "lone surrogate in thinking", "braces", "right to left", "header"}  # fmt: skip

TERMINAL_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_reply_spoils_its_own_unit_at_most(cli: Command, tmp_path: Path, kind: str) -> None:
    recording = tmp_path / "recording.jsonl"
    with ModelServer(answering({3: HOSTILE[kind]})) as server:
        arguments = run_arguments(server.spec, tmp_path / "run", "--tries", 1, "--record", recording, "--limit", 4)
        ran = cli(*arguments, "--connections", 1)
    assert ran.code in (0, 1), ran.err
    assert "Traceback" not in ran.err
    report = cli("score", tmp_path / "run", "--json").json
    assert report["state"] == "complete"
    assert report["statuses"].get("internal_error") is None
    answered = 4 if kind in READABLE else 3
    assert report["statuses"]["answered"] == answered
    if kind in READABLE:
        assert report["settings"][0]["metrics"]["emr"]["mean"] == 1.0

    shown, document = cli("show", tmp_path / "run", IDS[3]), cli("show", tmp_path / "run", IDS[3], "--json")
    assert (shown.code, document.code) == (0, 0)
    assert len(document.json) == 1
    for text in (shown.out, ran.out, ran.err):
        assert not TERMINAL_CONTROL.search(text)

    replayed = cli("run", "caremedeval", "--replay", recording, *arguments[4:-6], "--limit", 4, "--out",
                   tmp_path / "replayed", "--json")  # fmt: skip
    assert replayed.json["statuses"] == report["statuses"]


def test_markup_is_shown_as_it_came(cli: Command, tmp_path: Path) -> None:
    with ModelServer(answering({3: HOSTILE["rich markup"], 4: HOSTILE["emoji code"]})) as server:
        cli(*run_arguments(server.spec, tmp_path / "run"))
    assert "[bold]fort[/bold] [/nonsense]" in cli("show", tmp_path / "run", IDS[3]).out
    assert ":smile: :warning:" in cli("show", tmp_path / "run", IDS[4]).out


def test_escapes_are_shown_as_text(cli: Command, tmp_path: Path) -> None:
    with ModelServer(answering({3: HOSTILE["escapes"]})) as server:
        cli(*run_arguments(server.spec, tmp_path / "run"))
    assert r"\x1b[2J\x1b]0;title\x07" in cli("show", tmp_path / "run", IDS[3]).out
    entry = cli("show", tmp_path / "run", IDS[3], "--json").json[0]
    assert "\x1b[2J" in entry["transcript"]["replies"][0]["text"]  # stored as it came
