"""Metrics that rest on a judge: accuracy of the answer, quality of the reasoning by its steps, and which tests were
asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from graphs.medrbench.metrics import STEPS_ONLY, recall_by_turn
from graphs.medrbench.options import EXAMINING
from judge.benchmark import Transcript
from judge.judgements import CaseLabels, Judgement, Judgements, StepCounts
from judge.metrics.reasoning import COMPLETENESS, EFFICIENCY, FACTUALITY, MISSING_LABEL, NOT_JUDGED, score_reasoning
from judge.metrics.signature import Metric
from judge.outcome import Outcome, Scored, Unscored

#: Kinds of judgement about examinations: of each distinct request, whether it asks for a test that was done; of each
#: test that was done, whether it was asked for.
EXAM_PRECISION, EXAM_RECALL = EXAM_KINDS = ("exam_precision", "exam_recall")

#: In the path of an ``exam_recall`` label: there was no request at all.
ASKED_NOTHING = "asked_nothing"

#: Why there is no recall: the record has no test that was done.
NO_TESTS = "no_tests"

_EXAMS = (("match", "judge"), ("denominator", "groups"), ("list", "any"), ("asked-nothing", "0"))
_RECIPE = "MedR-Bench (arXiv 2503.04691), exam recommendation"

ACCURACY = Metric("accuracy", "Accuracy (judged)", source="MedR-Bench (arXiv 2503.04691), outcome accuracy")
PRECISION = Metric("exam_precision_judged", "Exam precision (judged)", _EXAMS, source=_RECIPE)
RECALL = Metric("exam_recall_judged", "Exam recall (judged)", _EXAMS, source=_RECIPE)
F1 = Metric("exam_f1_judged", "Exam F1 (judged)", _EXAMS, source=_RECIPE)

#: Metric -> the kinds of judgement that it needs: if labels of one are missing, the judge's reason is the metric's.
NEEDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        ACCURACY.name: ("accuracy",),
        EFFICIENCY.name: ("effectiveness",),
        FACTUALITY.name: ("effectiveness", "factuality"),
        COMPLETENESS.name: ("match",),
        PRECISION.name: (EXAM_PRECISION,),
        RECALL.name: (EXAM_RECALL,),
        F1.name: EXAM_KINDS,
    }
)


def judged_metrics(setting: str, rounds: int) -> tuple[Metric, ...]:
    """Those that mean something in a setting; completeness is not defined for exam recommendation.

    Args:
        rounds: in how many turns of the setting examinations can be asked for.
    """
    if setting in EXAMINING:
        return (ACCURACY, EFFICIENCY, FACTUALITY, PRECISION, RECALL, F1, *_by_turn(rounds))
    return (ACCURACY, EFFICIENCY, FACTUALITY, COMPLETENESS)


def _by_turn(rounds: int) -> tuple[Metric, ...]:
    return recall_by_turn(RECALL, rounds, by="judged", suffix="_judged")


def score_judged(
    judgements: Judgements,
    counts: StepCounts | None,
    missing: Mapping[str, Unscored],
    setting: str,
    rounds: int,
) -> dict[str, Outcome]:
    """The judged metrics of one unit; what the judge was not asked is ``not_judged``, never a default.

    Args:
        missing: kind -> why the judge gave no label, or not all; the metrics that need the kind have this reason.
        setting, rounds: see `judged_metrics`.
    """
    outcomes = {ACCURACY.name: _accuracy(judgements), **_reasoning(judgements, counts)}
    if setting in EXAMINING:
        outcomes |= _exams(judgements, rounds)
    names = (metric.name for metric in judged_metrics(setting, rounds))
    return {name: _failed(name, missing) or outcomes[name] for name in names}


def _failed(metric: str, missing: Mapping[str, Unscored]) -> Unscored | None:
    """The judge's own reason why a metric has no value."""
    kinds = NEEDS.get(metric, (EXAM_RECALL,))  # those by turn are recalls
    return next((missing[kind] for kind in kinds if kind in missing), None)


def _accuracy(judgements: Judgements) -> Outcome:
    given = judgements.of("accuracy")
    if not given:
        return Unscored(NOT_JUDGED, "the judge did not judge the answer")
    return Scored(float(bool(given[0].label)))


def _reasoning(judgements: Judgements, counts: StepCounts | None) -> Mapping[str, Outcome]:
    steps, reference_steps = counts or (None, None)
    return score_reasoning(judgements, steps=steps, reference_steps=reference_steps)


def _exams(judgements: Judgements, rounds: int) -> dict[str, Outcome]:
    """Judged precision, recall and F1, and recall by turn; definitions as in `graphs.medrbench.examiner.ExamScores`."""
    requests, tests = judgements.of(EXAM_PRECISION), judgements.of(EXAM_RECALL)
    precision = _precision(requests, tests)
    recall = _share(tests, "the judge did not judge which tests were asked for")
    by_turn = {metric.name: _reached(tests, recall, turn) for turn, metric in enumerate(_by_turn(rounds), start=1)}
    return {PRECISION.name: precision, RECALL.name: recall, F1.name: _f1(precision, recall), **by_turn}


def _precision(requests: Sequence[Judgement], tests: Sequence[Judgement]) -> Outcome:
    """Nothing requested is 0, and counted; only the judge's word that nothing was makes it so."""
    if not requests and any(entry.get(ASKED_NOTHING) for test in tests for entry in test.path):
        return Scored(0.0, empty=True)
    return _share(requests, "the judge did not judge which requests meet a test")


def _share(given: Sequence[Judgement], not_judged: str) -> Outcome:
    if not given:
        return Unscored(NOT_JUDGED, not_judged)
    if len(given) <= given[-1].item:
        return Unscored(MISSING_LABEL, f"{given[-1].item + 1 - len(given)} of {given[-1].item + 1} labels are missing")
    return Scored(sum(map(_truth, given)) / len(given))


def _truth(judgement: Judgement) -> bool:
    if not isinstance(judgement.label, bool):
        raise ValueError(f"a label for {judgement.kind} must be true or false, not {judgement.label!r}")
    return judgement.label


def _f1(precision: Outcome, recall: Outcome) -> Outcome:
    if isinstance(precision, Unscored):
        return precision
    if isinstance(recall, Unscored):
        return recall
    together = precision.value + recall.value
    return Scored(2 * precision.value * recall.value / together if together else 0.0)


def _reached(tests: Sequence[Judgement], recall: Outcome, turn: int) -> Outcome:
    if isinstance(recall, Unscored):
        return recall
    turns = [_first_turn(test) for test in tests if test.label]
    if unknown := turns.count(None):
        reason = NOT_JUDGED if unknown == len(turns) else MISSING_LABEL
        return Unscored(reason, "the labels do not say in which turn a test was asked for")
    return Scored(sum(first is not None and first <= turn for first in turns) / len(tests))


def _first_turn(test: Judgement) -> int | None:
    return next((int(entry["turn"]) for entry in test.path if "turn" in entry), None)


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
