"""What can be scored without a judge: exact diagnosis, exams against the record, and how the examination went.

Judged accuracy, reasoning quality and exam matching come with judge chains.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from graphs.medrbench.examiner import exam_scores
from graphs.medrbench.options import EXAMINING, OPTIONS
from graphs.medrbench.policy import CONCLUDED, LOOP_STOPPED, MAX_TURNS
from graphs.medrbench.records import entries_of
from graphs.medrbench.requests import vocabulary_version
from judge.benchmark import Transcript
from judge.metrics.signature import Metric
from judge.outcome import Outcome, Scored, Unscored

#: Status of a unit of which only steps and labels are there.
STEPS_ONLY = "steps_only"

SCORED_STATUSES = frozenset({CONCLUDED, MAX_TURNS, LOOP_STOPPED, STEPS_ONLY})

_NAMES = (("match", "names"), ("vocabulary", "1"), ("denominator", "groups"))
_RECIPE = "MedR-Bench (arXiv 2503.04691), exam recommendation, on normalised names instead of a judge"
_OURS = "medjudge"

EXACT = Metric("exact", "Exact answer", (("text", "words"),), source="exact accuracy, literal form of the recipe")
PRECISION = Metric("exam_precision", "Exam precision (names)", (*_NAMES, ("asked-nothing", "0")), source=_RECIPE)
RECALL = Metric("exam_recall", "Exam recall (names)", _NAMES, source=_RECIPE)
F1 = Metric("exam_f1", "Exam F1 (names)", _NAMES, source=_RECIPE)
TURNS = Metric("turns", "Turns", source=_OURS, range=None, least=0.0)
REQUESTS = Metric("requests", "Requests", source=_OURS, range=None, least=0.0)
DISTINCT = Metric("distinct_requests", "Distinct requests", (("vocabulary", "1"),), source=_OURS, range=None, least=0.0)
REPEATS = Metric("repeat_rate", "Repeat rate", (("vocabulary", "1"), ("asked-nothing", "0")), source=_OURS)
LOOPED = Metric("looped", "Looped", (("vocabulary", "1"),), source=_OURS)
UNAVAILABLE = Metric("unavailable", "Requests not available", source=_OURS, range=None, least=0.0)

ALWAYS = (EXACT,)
EXAMINATION = (PRECISION, RECALL, F1, TURNS, REQUESTS, DISTINCT, REPEATS, LOOPED, UNAVAILABLE)

#: Rounds of ``free_turn`` where the run's options do not say.
DEFAULT_ROUNDS: int = next(option.default for option in OPTIONS if option.name == "max-turns")

assert dict(_NAMES)["vocabulary"] == vocabulary_version(), "a new vocabulary is a new signature"


def recall_by_turn(recall: Metric, rounds: int, *, by: str = "names", suffix: str = "") -> tuple[Metric, ...]:
    """A recall as it was after turn 1, 2, …; a unit that ended earlier keeps its last value."""
    parameters = (*recall.parameters, ("ended", "carried"))
    return tuple(
        replace(
            recall,
            name=f"exam_recall_turn_{turn}{suffix}",
            title=f"Exam recall after turn {turn} ({by})",
            parameters=parameters,
        )
        for turn in range(1, rounds + 1)
    )


METRICS = (*ALWAYS, *EXAMINATION, *recall_by_turn(RECALL, DEFAULT_ROUNDS))


def metrics_in(setting: str, rounds: int) -> tuple[Metric, ...]:
    """Nothing is asked for where everything is shown.

    Args:
        rounds: in how many turns of the setting examinations can be asked for.
    """
    return (*ALWAYS, *EXAMINATION, *recall_by_turn(RECALL, rounds)) if setting in EXAMINING else ALWAYS


def rounds_in(setting: str, options: Mapping[str, Any]) -> int:
    """In how many turns of a setting examinations can be asked for, under a run's options."""
    return 1 if setting == "one_turn" else int(options.get("max-turns", DEFAULT_ROUNDS))


def rounds_of(data: Mapping[str, Any]) -> int:
    """The same from a transcript; one made from labels does not say and has what `rounds_in` takes without options."""
    return int(data.get("rounds") or rounds_in(data["setting"], {}))


def turns_that_ask(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The turns whose requests could be answered, in order.

    A conclusion's could not. An empty reply is a turn of its own, but does not use up the only round of ``one_turn``.
    """
    once = data["setting"] == "one_turn"
    return [turn for turn in data["turns"] if turn["kind"] != "conclusion" and not (once and turn.get("unscored"))]


def score(record: Mapping[str, Any], transcript: Transcript) -> dict[str, Outcome]:
    """All metrics of the transcript's setting."""
    data = transcript.data
    outcomes: dict[str, Outcome] = {EXACT.name: _exact(record, transcript)}
    if data["setting"] not in EXAMINING:
        return outcomes
    if transcript.status == STEPS_ONLY:
        asked = metrics_in(data["setting"], rounds_of(data))[len(ALWAYS) :]
        return outcomes | {m.name: Unscored(STEPS_ONLY, "there is no dialogue, only labels") for m in asked}
    return outcomes | {name: Scored(value) for name, value in _examination(record, data).items()}


def _exact(record: Mapping[str, Any], transcript: Transcript) -> Outcome:
    """1 if the answer equals the reference after normalisation; a doctor that never answered is unscored."""
    answer = transcript.data["answer"]
    if not answer:
        return Unscored(transcript.status, "it gave no diagnosis")
    return Scored(float(normalised(answer) == normalised(reference(record))))


def reference(record: Mapping[str, Any]) -> str:
    """What a correct answer says."""
    return str(record["diagnosis_results"] if record["kind"] == "diagnosis" else record["treatment_plan"])


def normalised(text: str) -> str:
    """The words and numbers in lower case: marks, punctuation, brackets and spaces never tell two answers apart."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.findall(r"[^\W_]+", folded))


def _examination(record: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, float]:
    """What it asks for in a conclusion, after its last round, is counted as a request but meets no test."""
    entries, turns = entries_of(record), data["turns"]
    said = exam_scores([turn["requests"] for turn in turns], entries)
    found = exam_scores([turn["requests"] for turn in turns_that_ask(data)], entries)
    by_turn = recall_by_turn(RECALL, rounds_of(data))
    repeats = sum(sum(turn["repeats"]) for turn in turns)
    return {
        PRECISION.name: found.precision,
        RECALL.name: found.recall,
        F1.name: found.f1,
        TURNS.name: float(len(turns)),
        REQUESTS.name: float(said.requests),
        DISTINCT.name: float(said.distinct),
        REPEATS.name: repeats / said.requests if said.requests else 0.0,
        LOOPED.name: float(any(turn["looping"] for turn in turns)),
        UNAVAILABLE.name: float(sum(len(turn.get("unavailable", ())) for turn in turns)),
        **{metric.name: reached(found.recall_by_turn, n) for n, metric in enumerate(by_turn, start=1)},
    }


def reached(recalls: Sequence[float], turn: int) -> float:
    """The recall after a turn, counted from 1; after the last one it stays what it is."""
    return recalls[min(turn, len(recalls)) - 1] if recalls else 0.0


def best(record: Mapping[str, Any]) -> dict[str, float]:
    """The best a doctor could get, for the metrics that have a best."""
    has_tests = any(entry["performed"] for entry in record["ancillary"])
    exams = {metric.name: 1.0 if has_tests else 0.0 for metric in (PRECISION, RECALL, F1)}
    return {EXACT.name: 1.0, **exams}
