"""The scores of a MedExQA answer.

Accuracy counts the published letters, also where the data audit finds them in the wrong rows. What a unit would score
by the letters that the audit takes to be right is an aside: it stands apart and enters no other number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from graphs.medexqa.cases import SPECIALTIES
from graphs.medexqa.choosing import by_scores
from graphs.medexqa.options import answer_by, parameters_of
from judge.benchmark import ANSWERED, Macro, Transcript
from judge.metrics.signature import Metric
from judge.outcome import Outcome, Scored, Unscored

_SOURCE = "arXiv 2406.06331"

ACCURACY = Metric("accuracy", "Accuracy", source=f"{_SOURCE}: share of questions whose answer is the published letter")
ACCURACY_SCORES = Metric(
    "accuracy_scores",
    "Accuracy (likeliest letter)",
    (("by", "scores"),),
    source=f"{_SOURCE}: the letter with the highest logit, or log-probability where a server returns them",
)
ACCURACY_TEXT = Metric(
    "accuracy_text", "Accuracy (text)", (("by", "text"),), source=f"{_SOURCE}: the letter or exact option named"
)

#: The first is by whatever ``--answer-by`` says.
METRICS: tuple[Metric, ...] = (ACCURACY, ACCURACY_SCORES, ACCURACY_TEXT)

BREAKDOWN = "specialty"

#: The published columns.
CODES = tuple(specialty.code for specialty in SPECIALTIES)

#: The published headline, and what it is without the specialty whose letters stand in the wrong rows.
MACROS = (Macro(BREAKDOWN), Macro(BREAKDOWN, without=("SLP",)))


def metrics_in(options: Mapping[str, Any]) -> tuple[Metric, ...]:
    """Where only the text counts, the three would be one number twice and one that is never there."""
    by = answer_by(options)
    accuracy = replace(ACCURACY, parameters=parameters_of(options, by))
    if by == "text":
        return (accuracy,)
    return (
        accuracy,
        replace(ACCURACY_SCORES, parameters=parameters_of(options, by if by != "auto" else "scores")),
        replace(ACCURACY_TEXT, parameters=parameters_of(options, "text")),
    )


def score(record: Mapping[str, Any], transcript: Transcript) -> dict[str, Outcome]:
    """Every metric of an answered transcript."""
    data = transcript.data
    scored, text = by_scores(data["scores"]), data["text_answer"]
    return {
        ACCURACY.name: _outcome(data["answer"], record["answer"], data["unanswered"]),
        ACCURACY_SCORES.name: _outcome(
            scored.letter, record["answer"], {"reason": scored.reason, "detail": scored.detail}
        ),
        ACCURACY_TEXT.name: _outcome(text["answer"], record["answer"], text),
    }


def _outcome(letter: str | None, right: str, why: Mapping[str, str]) -> Outcome:
    if letter is None:
        return Unscored(why["reason"], why["detail"])
    return Scored(float(letter == right))


def asides(record: Mapping[str, Any], transcript: Transcript, options: Mapping[str, Any]) -> dict[Metric, Outcome]:
    """The accuracy by the letters that the audit takes to be right; only of a specialty whose letters are shifted."""
    offset = record["label_offset"]
    if not offset:
        return {}
    code = record["code"]
    metric = replace(
        ACCURACY,
        name=f"accuracy_{code.casefold()}_audited",
        title=f"{code} by audit-corrected labels, NOT the published ones",
        parameters=(
            ("labels", f"audit:row{offset:+d}"),
            (BREAKDOWN, code),
            *parameters_of(options, answer_by(options)),
        ),
        source="labels corrected by the data audit",
    )
    return {metric: _aside(record, transcript)}


def _aside(record: Mapping[str, Any], transcript: Transcript) -> Outcome:
    if transcript.status != ANSWERED:
        return Unscored(transcript.status, transcript.detail)
    if record["audited_answer"] is None:
        return Unscored("no_audited_label", "the row that holds the label of this one would be outside of the file")
    return _outcome(transcript.data["answer"], record["audited_answer"], transcript.data["unanswered"])


def best() -> dict[str, float]:
    """Any question can be answered rightly, whichever label it has."""
    return {metric.name: 1.0 for metric in METRICS}
