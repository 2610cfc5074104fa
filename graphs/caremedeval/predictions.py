"""Predictions made elsewhere, as letters or as the raw text of a reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs.caremedeval.reading import Answer, read_answer, take_letters
from judge.benchmark import ANSWERED, Transcript
from judge.errors import DataError
from judge.replies import separate_thinking


def transcript_of_prediction(record: Mapping[str, Any], prediction: Any, thinking: str = "") -> Transcript:
    """A transcript from a text (letters or a whole reply), a list of letters, or null.

    A text is read exactly like a reply in a run. An empty list is an explicit "none of them"; null, or an empty text,
    is no answer.

    Raises:
        DataError: another type.
    """
    if prediction is None:
        return _unread("no_answer", "the file has no prediction here", "")
    if isinstance(prediction, list) and all(isinstance(letter, str) for letter in prediction):
        return _transcript(take_letters(prediction, record["options"]), ", ".join(prediction), "")
    if not isinstance(prediction, str):
        kind = "a list that holds more than texts" if isinstance(prediction, list) else type(prediction).__name__
        raise DataError(f"the prediction for {record['id']} is {kind}; give a text, a list of letters or null")
    separated = separate_thinking(prediction)
    if separated.unclosed:
        return _unread("truncated_reasoning", "the thinking was never closed", prediction)
    thinking = "\n\n".join(part for part in (thinking, separated.thinking) if part)
    return _transcript(read_answer(separated.answer, record["options"]), separated.answer, thinking)


def _transcript(answer: Answer, text: str, thinking: str) -> Transcript:
    if answer.chosen is None:
        return _unread("no_answer", f"no options could be read ({answer.how})", text)
    marks = {
        "malformed": not answer.well_formed,
        "extracted_from_malformed": not answer.well_formed,
        "explicit_none": answer.chosen == [],
        "letters_dropped": bool(answer.dropped),
    }
    reply = {"text": text, "thinking": thinking, "how": answer.how, "well_formed": answer.well_formed}
    data = {"messages": [], "replies": [reply | {"dropped": answer.dropped}], "answer": answer.chosen}
    return Transcript(ANSWERED, "", tuple(flag for flag, holds in marks.items() if holds), data)


def _unread(reason: str, detail: str, text: str) -> Transcript:
    data = {"messages": [], "replies": [{"text": text, "thinking": "", "how": reason}], "answer": None}
    return Transcript(reason, detail, ("malformed",) if text else (), data)
