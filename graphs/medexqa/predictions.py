"""Predictions made elsewhere: the raw text of a reply, or an answer and its explanation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs.medexqa.explained import NOT_SUPPLIED
from graphs.medexqa.reading import explanation_of, read_answer
from graphs.medexqa.transcripts import transcript_of
from judge.benchmark import Transcript
from judge.errors import DataError
from judge.replies import separate_thinking

#: What may stand beside the answer of a prediction.
PARTS = ("explanation",)


def transcript_of_prediction(record: Mapping[str, Any], prediction: Any, thinking: str = "") -> Transcript:
    """A transcript from a text, or from an object with ``answer`` and ``explanation``; null is no answer.

    A text is read exactly like a reply in a run; of an object, only ``explanation`` is the explanation. Whether anybody
    asked for one is not known: where none was brought, be it that a text is an answer alone or that ``explanation`` is
    left out or null, it was not supplied. An explanation that is there and blank is one, an empty one.

    Raises:
        DataError: another type.
    """
    apart: str | None = None
    whole = not isinstance(prediction, Mapping)
    if isinstance(prediction, Mapping):
        apart = _text(record, "explanation", prediction.get("explanation"))
        prediction = prediction.get("answer")
    given = _text(record, "prediction", prediction)
    if given is None:
        return _transcript("", thinking, _unread("no_answer", "the file has no prediction here"))
    separated = separate_thinking(given)
    thinking = "\n\n".join(part for part in (thinking, separated.thinking) if part)
    if separated.unclosed:
        return _transcript(given, thinking, _unread("truncated_reasoning", "the thinking was never closed"))
    if whole:
        apart = explanation_of(separated.answer, record["options"]) or None
    elif apart is not None:
        apart = separate_thinking(apart).answer.strip()
    return _read(record, separated.answer, thinking, apart)


def _read(record: Mapping[str, Any], text: str, thinking: str, explanation: str | None) -> Transcript:
    found = read_answer(text, record["options"])
    if found.letter is None:
        return _transcript(text, thinking, _unread("no_answer", f"no option could be read ({found.how})"))
    answer = {"answer": found.letter, "reason": "", "detail": ""}
    reply = {"how": found.how, "well_formed": found.well_formed}
    return _transcript(text, thinking, answer, explanation, reply)


def _text(record: Mapping[str, Any], what: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise DataError(f"the {what} for {record['id']} is {type(value).__name__}; give a text or null")


def _unread(reason: str, detail: str) -> dict[str, Any]:
    return {"answer": None, "reason": reason, "detail": detail}


def _transcript(
    text: str,
    thinking: str,
    answer: Mapping[str, Any],
    explanation: str | None = None,
    reply: Mapping[str, Any] | None = None,
) -> Transcript:
    said = {"kind": "answer", "text": text, "thinking": thinking, "how": answer["reason"], "well_formed": False}
    without = NOT_SUPPLIED if explanation is None else "no_explanation"
    reason = answer["reason"] or ("" if explanation else without)
    end = {
        "messages": [],
        "replies": [said | dict(reply or {})],
        "scores": None,
        "text": dict(answer),
        "explanation": {"text": explanation or "" if not reason else "", "reason": reason},
        "status": "",
        "detail": "",
    }
    return transcript_of(end, "text")
