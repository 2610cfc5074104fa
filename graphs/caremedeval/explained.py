"""What is shown of a CareMedEval unit to whoever rates its explanation; only where a person has justified the answer.

Nobody asks the doctor of this benchmark to explain, it only may. So a reply that holds nothing but letters is unscored,
`no_explanation`, whether they are right or wrong; counting only the wrong ones, as 0, would lower the mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs.caremedeval.explanations import explanation_text
from graphs.caremedeval.reading import read_answer
from graphs.caremedeval.records import letters, option_lines
from judge.benchmark import ANSWERED, Transcript
from judge.explanations import NO_EXPLANATION, NOTHING_TO_MEASURE_AGAINST, Exhibit, explanation_metric
from judge.outcome import Unscored

#: An answer is right if it is exactly the set of right options: half a rubric for half an answer is nowhere defined.
METRIC = explanation_metric(
    ("right", "exact"),
    ("missing", "unscored"),
    ("reference", "justification"),
    source="rubric of MedExQA (arXiv 2406.06331), human evaluation score, on the questions with a justification",
)

#: A line that names options in at most so many words explains nothing.
_FEW_WORDS = 6


def has_justification(record: Mapping[str, Any]) -> bool:
    return bool(record["justification"].strip())


def exhibit(record: Mapping[str, Any], transcript: Transcript) -> Exhibit | Unscored:
    """Question, right options, justification, and what the doctor chose and wrote besides."""
    if not has_justification(record):
        return NOTHING_TO_MEASURE_AGAINST
    if transcript.status != ANSWERED:
        return Unscored(transcript.status, transcript.detail)
    options, chosen = record["options"], transcript.data["answer"]
    explanation = explanation_text(record, transcript)
    if not _explains(explanation, options):
        return Unscored(NO_EXPLANATION, "the reply names options and explains nothing")
    return Exhibit(
        question=record["question"],
        options=option_lines(options),
        right_answer=letters(record["correct"]),
        references=(record["justification"].strip(),),
        answer=letters(chosen),
        explanation=explanation,
        right=set(chosen) == set(record["correct"]),
    )


def _explains(text: str, options: Mapping[str, str]) -> bool:
    """Whether any line says more than which options are right."""
    return any(not _only_names(line, options) for line in text.splitlines() if line.strip())


def _only_names(line: str, options: Mapping[str, str]) -> bool:
    return len(line.split()) <= _FEW_WORDS and read_answer(line, options).chosen is not None
