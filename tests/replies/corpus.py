"""Replies with the answer a careful human reader would take from them.

``replies.jsonl`` has one reply a line: ``id`` (its kind and a number), ``options`` (a set of ``option_sets.json``),
``reply`` and ``expected`` (option keys; empty for "none of them", null for no answer).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Labelled:
    """One reply and its right reading."""

    id: str
    reply: str
    options: dict[str, str]
    multiple: bool
    expected: frozenset[str] | None


def _labelled() -> list[Labelled]:
    sets = json.loads((_HERE / "option_sets.json").read_text(encoding="utf-8"))
    lines = (_HERE / "replies.jsonl").read_text(encoding="utf-8").split("\n")
    return [
        Labelled(
            id=line["id"],
            reply=line["reply"],
            options=sets[line["options"]]["options"],
            multiple=sets[line["options"]]["multiple"],
            expected=None if line["expected"] is None else frozenset(line["expected"]),
        )
        for line in map(json.loads, filter(None, lines))
    ]


REPLIES = _labelled()
