"""One question and what came of it, for a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from judge.benchmark import Transcript


def describe_case(record: Mapping[str, Any], transcript: Transcript) -> list[tuple[str, str]]:
    """(heading, text) pairs: question, published answer, each message and reply, the answer, both explanations."""
    data = transcript.data
    lines = "\n".join(f"{letter}. {text}" for letter, text in record["options"].items())
    parts = [(f"question ({record['specialty']})", f"{record['question']}\n\n{lines}"), ("correct", _correct(record))]
    parts += _conversation(data.get("messages", ()), data.get("replies", ()))
    if data.get("scores"):
        parts.append((f"scores of the letters ({data['scores']['how']})", _scores(data["scores"])))
    if data.get("answer"):
        parts.append((f"answer (by {data['how']})", data["answer"]))
    if data.get("explanation", {}).get("text"):
        parts.append(("explanation as read", data["explanation"]["text"]))
    parts += [
        (f"reference explanation {number}", text) for number, text in enumerate(record["explanations"], start=1) if text
    ]
    return parts


def _correct(record: Mapping[str, Any]) -> str:
    offset = record["label_offset"]
    if not offset:
        return str(record["answer"])
    audited = record["audited_answer"] or "not known"
    return f"{record['answer']} (as published; by the data audit {audited}, the letter of row {offset:+d})"


def _scores(scores: Mapping[str, Any]) -> str:
    shown = (f"{letter} {'-' if score is None else f'{score:.3f}'}" for letter, score in scores["scores"].items())
    why = f"\n{scores['unscored']['detail']}" if scores["unscored"] else ""
    return ", ".join(shown) + why


def _conversation(messages: Sequence[Mapping[str, Any]], replies: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Examples as they were shown, then prompts and replies in turn; thinking stands apart from the answer."""
    parts: list[tuple[str, str]] = []
    said = [message for message in messages if message["role"] == "assistant"]
    shown = max(0, len(said) - len(replies))
    for number, message in enumerate(messages[: 2 * shown]):
        what = "question" if message["role"] == "user" else "reply"
        parts.append((f"example {number // 2 + 1}, {what}", message["content"]))
    prompts = [message["content"] for message in messages[2 * shown :] if message["role"] == "user"]
    for turn in range(max(len(prompts), len(replies))):
        if turn < len(prompts):
            parts.append((f"prompt {turn + 1}", prompts[turn]))
        if turn < len(replies):
            parts += _reply(turn + 1, replies[turn])
    return parts


def _reply(number: int, reply: Mapping[str, Any]) -> list[tuple[str, str]]:
    thinking = [(f"thinking {number}", reply["thinking"])] if reply.get("thinking") else []
    how = f"read as: {reply.get('how', 'not read')}" if reply["kind"] == "answer" else "explanation"
    return [*thinking, (f"reply {number} ({how})", reply["text"])]
