"""One case and its examination, for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs.medrbench.metrics import reference
from graphs.medrbench.options import EXAMINING
from judge.benchmark import Transcript


def describe_case(record: Mapping[str, Any], transcript: Transcript) -> list[tuple[str, str]]:
    """(heading, text) pairs: what the doctor saw, each turn with its results, and the reference."""
    data = transcript.data
    parts = [_case(record, data.get("setting"))]
    for number, turn in enumerate(data.get("turns", ()), start=1):
        parts += _turn(number, turn)
    if data.get("answer"):
        parts.append(("answer read", data["answer"]))
    parts.append(("reference", reference(record)))
    return parts


def _case(record: Mapping[str, Any], setting: str | None) -> tuple[str, str]:
    """What the doctor saw; where none was asked, the whole case."""
    if setting is None:
        return "case", record["summary"]
    return "case as the doctor saw it", record["history"] if setting in EXAMINING else record["summary"]


def _turn(number: int, turn: Mapping[str, Any]) -> list[tuple[str, str]]:
    parts = []
    if turn.get("thinking"):
        parts.append((f"turn {number}, thinking", turn["thinking"]))
    if turn.get("unread"):
        parts.append((f"turn {number}, doctor, not readable", turn["unread"]))
    parts.append((f"turn {number}, doctor", turn["text"] or "(empty)"))
    if turn.get("requests"):
        parts.append((f"turn {number}, requests as read", _requests(turn)))
    if turn.get("results") is not None:
        learned = f"{len(turn['learned'])} entries of the record learned"
        details = "".join(f"\n[{detail}]" for detail in turn.get("flag_details", ()))
        parts.append((f"turn {number}, examiner ({learned})", turn["results"] + details))
    return parts


def _requests(turn: Mapping[str, Any]) -> str:
    pairs = zip(turn["requests"], turn["repeats"], strict=True)
    lines = [f"- {request}{'   (repeats an earlier one)' if repeats else ''}" for request, repeats in pairs]
    return "\n".join([*lines, *(["all of them repeat earlier ones: a loop"] if turn["looping"] else [])])
