"""One turn of the doctor as read: its sections, its requests, and whether they repeat what was asked before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphs.medrbench.requests import is_repeat
from judge.replies.requests import asks_nothing, split_requests, writes_examiner
from judge.replies.sections import answer_text, read_sections


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
    return turn | {
        "reasoning": sections.reasoning,
        "field": field,
        "requests": requests,
        "answer": _answer(text, sections.conclusion, examines=examines),
        "repeats": repeats,
        "looping": bool(requests) and all(repeats),
        "flags": _flags(text, field, requests, examines=examines, answered=sections.conclusion is not None),
    }


def repeated(requests: Sequence[str], before: Sequence[str]) -> list[bool]:
    """Per request, whether it repeats one from an earlier turn."""
    return [is_repeat(request, before) for request in requests]


def _answer(text: str, conclusion: str | None, *, examines: bool) -> str | None:
    """The diagnosis or plan; in the exam settings only what stands under the conclusion's heading, or an answer's."""
    if examines and conclusion is None:
        return read_sections(text).answer
    return answer_text(text)


def _flags(text: str, field: str | None, requests: Sequence[str], *, examines: bool, answered: bool) -> list[str]:
    marks = {
        "wrote_examiner": examines and writes_examiner(text),
        "no_requests_field": examines and field is None and not answered,
        "unreadable_requests": bool(field) and not requests and not asks_nothing(field or ""),
    }
    return [flag for flag, holds in marks.items() if holds]
