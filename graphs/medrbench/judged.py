"""Metrics that rest on a judge: accuracy of the answer, and quality of the reasoning by its steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs.medrbench.metrics import STEPS_ONLY
from judge.benchmark import Transcript
from judge.judgements import CaseLabels, Judgements, StepCounts
from judge.metrics.reasoning import REASONING, score_reasoning
from judge.metrics.signature import Metric
from judge.outcome import Outcome, Scored, Unscored

ACCURACY = Metric("accuracy", "Accuracy (judged)", source="MedR-Bench (arXiv 2503.04691), outcome accuracy")

METRICS = (ACCURACY, *REASONING)


def score_judged(judgements: Judgements, counts: StepCounts | None) -> dict[str, Outcome]:
    """All judged metrics of one unit; what the judge was not asked is unscored, never a default."""
    return {ACCURACY.name: _accuracy(judgements), **_reasoning(judgements, counts)}


def _accuracy(judgements: Judgements) -> Outcome:
    given = judgements.of("accuracy")
    if not given:
        return Unscored("not_judged", "the judge did not judge the answer")
    return Scored(float(bool(given[0].label)))


def _reasoning(judgements: Judgements, counts: StepCounts | None) -> Mapping[str, Outcome]:
    if counts is None:
        return {metric.name: Unscored("not_judged", "the judge did not judge steps") for metric in REASONING}
    return score_reasoning(judgements, steps=counts.steps, reference_steps=counts.reference_steps)


def labelled_transcript(labels: CaseLabels, setting: str) -> Transcript:
    """What is known of an output whose text is not there: its steps as they were judged."""
    data: dict[str, Any] = {
        "setting": setting,
        "messages": [],
        "turns": [],
        "answer": None,
        "first_looping_turn": None,
        "steps": list(labels.steps),
    }
    return Transcript(STEPS_ONLY, "made from labels: steps, but no transcript", (), data)
