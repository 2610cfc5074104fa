"""One turn of the doctor as read: its sections, its requests, and whether they repeat what was asked before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphs.medrbench.policy import NO_REQUESTS_FIELD, UNREADABLE_REQUESTS
from graphs.medrbench.requests import is_repeat
from judge.replies.requests import asks_nothing, split_requests, writes_examiner
from judge.replies.sections import Sections, answer_text, read_sections


def read_turn(turn: dict[str, Any], earlier: Sequence[dict[str, Any]], *, examines: bool) -> dict[str, Any]:
    """A turn with what was read from it.

    Args:
        turn: as the doctor gave it.
        earlier: the turns before it, as read.
        examines: whether it may ask for examinations; else only its answer is read.
    """
    text = turn["text"]
    sections = read_sections(text)
    field = sections.additional_information if examines else None
    requests = split_requests(field) if field and not asks_nothing(field) else []
    before = [request for asked in earlier for request in asked["requests"]]
    repeats = repeated(requests, before)
    read = turn | {
        "reasoning": sections.reasoning,
        "field": field,
        "requests": requests,
        "answer": _answer(text, sections, examines=examines),
        "flags": _flags(turn, field, requests, examines=examines),
    }
    return with_repeats(read, repeats)


def with_repeats(turn: dict[str, Any], repeats: list[bool]) -> dict[str, Any]:
    """A turn with the verdict on each of its requests; it loops if all of them repeat earlier ones."""
    return turn | {"repeats": repeats, "looping": bool(repeats) and all(repeats)}


def repeated(requests: Sequence[str], before: Sequence[str]) -> list[bool]:
    """Per request, whether it repeats one from an earlier turn."""
    return [is_repeat(request, before) for request in requests]


def _answer(text: str, sections: Sections, *, examines: bool) -> str | None:
    """The diagnosis or plan; in the exam settings what stands under the conclusion's heading, else an answer's.

    There a diagnosis that is named in the reasoning ("**Most likely diagnosis:** ...") is not what it concludes.
    """
    if not examines:
        return answer_text(text)
    if sections.conclusion is None:
        return sections.answer
    return answer_text(f"### Conclusion:\n{sections.conclusion}")


def _flags(turn: dict[str, Any], field: str | None, requests: Sequence[str], *, examines: bool) -> list[str]:
    asked_for_requests = examines and turn.get("kind") != "conclusion" and bool(turn["text"].strip())
    marks = {
        "wrote_examiner": examines and writes_examiner(turn["text"]),
        NO_REQUESTS_FIELD: asked_for_requests and field is None,
        UNREADABLE_REQUESTS: bool(field) and not requests and not asks_nothing(field or ""),
    }
    return [flag for flag, holds in marks.items() if holds]
