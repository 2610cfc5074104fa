"""One case and what came of it, for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs.caremedeval.records import letters, option_lines
from judge.benchmark import Transcript


def describe_case(record: Mapping[str, Any], transcript: Transcript) -> list[tuple[str, str]]:
    """(heading, text) pairs: question, gold, each message and reply, the answer as read."""
    parts = [
        ("question", f"{record['question']}\n\n{option_lines(record['options'])}"),
        ("correct", _gold(record)),
    ]
    parts += _conversation(transcript.data)
    if transcript.data.get("answer") is not None:
        parts.append(("answer read", letters(transcript.data["answer"])))
    if record["justification"].strip():
        parts.append(("human justification", record["justification"].strip()))
    return parts


def _gold(record: Mapping[str, Any]) -> str:
    extras = [f"{name}: {letters(record[name])}" for name in ("essential", "unacceptable") if record[name]]
    return "; ".join([letters(record["correct"]), *extras])


def _conversation(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Prompts and replies in turn; thinking stands apart from the answer."""
    prompts = [message["content"] for message in data.get("messages", ()) if message["role"] == "user"]
    replies = data.get("replies", [])
    parts: list[tuple[str, str]] = []
    for turn in range(max(len(prompts), len(replies))):
        number = f" {turn + 1}"
        if turn < len(prompts):
            parts.append((f"prompt{number}", prompts[turn]))
        if turn < len(replies):
            reply = replies[turn]
            if reply.get("thinking"):
                parts.append((f"thinking{number}", reply["thinking"]))
            parts.append((f"reply{number} (read as: {reply.get('how', 'not read')})", reply["text"]))
    return parts
