"""What is shown of a MedExQA unit to whoever rates its explanation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.benchmark import ANSWERED, Transcript
from judge.explanations import Exhibit, explanation_metric
from judge.outcome import Unscored

#: The doctor was asked for an explanation, twice if need be; none of a right answer is 0.5.
METRIC = explanation_metric(("missing", ".5"), source="MedExQA (arXiv 2406.06331), human evaluation score")

#: Why a unit has no explanation, where the doctor answered without giving one; with any other reason it is not known
#: what the doctor would have given.
GAVE_NONE = frozenset({"not_asked", "no_explanation"})

#: A prediction made elsewhere brings no explanation, and nobody knows whether one was asked for.
NOT_SUPPLIED = "not_supplied"


def exhibit(record: Mapping[str, Any], transcript: Transcript) -> Exhibit | Unscored:
    """Question, published answer, both references, and the doctor's answer with its explanation.

    Whether an answer is right is decided by the published letter, as in the published accuracy. Of a wrong answer it
    does not matter whether there is an explanation; of a right one, an explanation that was cut off, refused, lost or
    never supplied is unscored with that reason.
    """
    if transcript.status != ANSWERED:
        return Unscored(transcript.status, transcript.detail)
    data = transcript.data
    if data["answer"] is None:
        return Unscored(data["unanswered"]["reason"], data["unanswered"]["detail"])
    right, explanation = data["answer"] == record["answer"], data["explanation"]
    if right and not explanation["text"] and explanation["reason"] not in GAVE_NONE:
        return lacking(explanation["reason"], "the answer is right, and its explanation was not received")
    options: Mapping[str, str] = record["options"]
    return Exhibit(
        question=record["question"],
        options="\n".join(_option(options, letter) for letter in options),
        right_answer=_option(options, record["answer"]),
        references=tuple(text for text in record["explanations"] if text.strip()),
        answer=_option(options, data["answer"]),
        explanation=explanation["text"],
        right=right,
    )


def lacking(reason: str, received_none: str) -> Unscored:
    """Why there is no explanation to measure, other than that the doctor gave none."""
    return Unscored(reason, "the predictions bring no explanation here" if reason == NOT_SUPPLIED else received_none)


def _option(options: Mapping[str, str], letter: str) -> str:
    return f"{letter}. {options[letter]}"
