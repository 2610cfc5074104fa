"""What answers that never look at the question score: the floor a model has to beat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphs.medexqa.cases import Case
from graphs.medexqa.metrics import METRICS
from graphs.medexqa.table import LETTERS


def baselines(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """A letter at random (its exact expectation), and each letter always; over all questions, each counting the same.

    Raises:
        ValueError: there are no questions.
    """
    if not cases:
        raise ValueError("a mean needs at least one question")
    always = [
        _row(f"always_{letter.lower()}", f"always {letter}", sum(case.answer == letter for case in cases) / len(cases))
        for letter in LETTERS
    ]
    return [_row("random", "a letter at random (exact expectation)", 1 / len(LETTERS)), *always]


def _row(name: str, description: str, accuracy: float) -> dict[str, Any]:
    """However an answer is had, it is right or wrong: the metrics are one number here."""
    return {"name": name, "description": description, "metrics": {metric.name: accuracy for metric in METRICS}}
