"""Explanations of answers rated 0, 0.5 or 1, by a model or a person: the rubric, the metric, and what both are shown.

Rubric (MedExQA, arXiv 2406.06331, human evaluation): 0 if the answer is wrong; 0.5 if it is right and the explanation
is wrong or incomplete; 1 if both are right. Whether the answer is right is known without a judge, so a wrong answer is
0 by rule, and a judge is asked about right answers only. No explanation at all of a right answer, though it was asked
for, is an incomplete one: 0.5 by rule. What has no answer, e.g. a reply that was cut off, gets no label at all.

This module is imported by benchmarks for every listing and must stay light.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args, runtime_checkable

from judge.benchmark import Case, Transcript
from judge.judgements import CaseLabels, Judgement, Labels, UnitJudgements
from judge.metrics.reasoning import NOT_JUDGED
from judge.metrics.signature import Metric
from judge.outcome import Outcome, Scored, Unscored

if TYPE_CHECKING:
    from judge.chains.tools import JudgeTools, Judging
    from judge.references import References
    from judge.settings import JudgeSpec

Grade = Literal["0", "0.5", "1"]

GRADES: tuple[Grade, ...] = get_args(Grade)

#: Kind of the labels, and name of the one judging task.
KIND = "explanation"

#: The judge's prompt, one for each benchmark under this name.
PROMPT = "explanation.v1"

SCORE = "explanation_score"

#: In the path of a label that no reading decided: which rule did.
#: A person's label has `RUBRIC` instead: which rule decides there, whatever the person said.
RULE, RUBRIC, WRONG_ANSWER, NO_EXPLANATION = "rule", "rubric", "wrong_answer", "no_explanation"

#: What a rule gives. The metric counts this; a person's own label stays beside it, and agreement is of those.
RULED: Mapping[str, Grade] = {WRONG_ANSWER: "0", NO_EXPLANATION: "0.5"}

#: Why there is no label where a benchmark has nothing to measure an explanation against.
NO_REFERENCE = "no_reference"

#: Status of a unit of which only labels are there.
LABELS_ONLY = "labels_only"

_GRADE = re.compile(r"(?P<zero>0(?:[.,]0+)?)|(?P<half>0?[.,]50*)|(?P<one>1(?:[.,]0+)?)")


def read_grade(text: str) -> Grade | None:
    """The grade that a text is, e.g. ``.5``, ``0,5`` or ``1.0``; None if it is none."""
    found = _GRADE.fullmatch(text.strip())
    if found is None:
        return None
    return "0" if found["zero"] else "0.5" if found["half"] else "1"


@dataclass(frozen=True, slots=True)
class Exhibit:
    """Everything that whoever rates an explanation is shown, and nothing about whose it is.

    Attributes:
        options: as lines.
        right_answer: with its text.
        references: explanations by people.
        answer: the candidate's, with its text.
        explanation: the candidate's; empty if it gave none.
        right: whether the answer is the right one.
    """

    question: str
    options: str
    right_answer: str
    references: tuple[str, ...]
    answer: str
    explanation: str
    right: bool

    def by_rule(self) -> Judgement | None:
        """The label that follows without reading the explanation; None if it has to be read."""
        if not self.right:
            return self._ruled(WRONG_ANSWER, "The answer is not the right one.")
        if not self.explanation.strip():
            return self._ruled(NO_EXPLANATION, "The answer is right and nothing explains it.")
        return None

    def _ruled(self, rule: str, why: str) -> Judgement:
        return Judgement(KIND, 0, self.explanation, RULED[rule], why, ({RULE: rule},))

    def rubric(self) -> tuple[Mapping[str, Any], ...]:
        """The path of a label that somebody gave who was shown this."""
        ruled = self.by_rule()
        return tuple({RUBRIC: entry[RULE]} for entry in ruled.path) if ruled else ()


@runtime_checkable
class ExplainedAnswers(Protocol):
    """A benchmark whose explanations can be rated; looked up by these methods."""

    def has_reference(self, record: Mapping[str, Any]) -> bool:
        """Whether there is anything to measure an explanation of this case against; other cases are not rated."""

    def exhibit(self, record: Mapping[str, Any], transcript: Transcript) -> Exhibit | Unscored:
        """What is shown of a unit, or why it cannot be rated."""


def explanation_metric(*parameters: tuple[str, str], source: str) -> Metric:
    """The mean grade; as a person's it is what is published as human evaluation score.

    Args:
        parameters: what else decides it in a benchmark.
    """
    return Metric(SCORE, "Explanation score (judged)", (("gate", "wrong=0"), *parameters), source=source)


class JudgedExplanations(ABC):
    """Base of benchmarks whose only judged metric is the rating of explanations; they add `ExplainedAnswers`."""

    explanation_metric: Metric
    judging_tasks: Mapping[str, str] = {KIND: "is the explanation of a right answer right and complete? (0, 0.5, 1)"}

    @abstractmethod
    def has_reference(self, record: Mapping[str, Any]) -> bool:
        """See `ExplainedAnswers`."""

    @abstractmethod
    def exhibit(self, record: Mapping[str, Any], transcript: Transcript) -> Exhibit | Unscored:
        """See `ExplainedAnswers`."""

    def judged_metrics(self, setting: str, options: Mapping[str, Any]) -> tuple[Metric, ...]:
        return (self.explanation_metric,)

    def score_judged(
        self, record: Mapping[str, Any], setting: str, options: Mapping[str, Any], said: UnitJudgements
    ) -> Mapping[str, Outcome]:
        if not self.has_reference(record):
            return {}  # not unscored: nobody could rate it, and in bounds it would count as if somebody might
        return {self.explanation_metric.name: _score(said)}

    def read_labels(self, file: Path, judge: str | None) -> Labels:
        from judge.runs.explanation_labels import read_explanation_labels

        return read_explanation_labels(file, judge)

    def labelled_transcript(self, labels: CaseLabels, setting: str) -> Transcript:
        return Transcript(LABELS_ONLY, "made from labels: no transcript", (), {"answer": None})

    def judge_prompt_names(self, spec: JudgeSpec, settings: Sequence[str]) -> tuple[str, ...]:
        return (PROMPT,)

    def references(self, cases: Sequence[Case]) -> References | None:
        return None

    def judging(self, tools: JudgeTools) -> Judging:
        from judge.chains.explaining import ExplanationJudging

        return ExplanationJudging(tools, self.exhibit)

    def draw_judging(self) -> str:
        from judge.chains.explaining import build_graph

        drawn: str = build_graph().get_graph().draw_mermaid()
        return drawn

    def describe_judgements(self, said: UnitJudgements) -> list[tuple[str, str]]:
        return describe_grades(said)


NOTHING_TO_MEASURE_AGAINST = Unscored(NO_REFERENCE, "there is no explanation by a person for this case")


def _score(said: UnitJudgements) -> Outcome:
    if KIND in said.missing:
        return said.missing[KIND]
    given = said.view.of(KIND)
    if not given:
        return Unscored(NOT_JUDGED, "the explanation was not rated")
    return Scored(float(counted(given[0])))


def counted(given: Judgement) -> Grade:
    """The grade that counts: the rule's where a rule decides, so that every score has the definition it is signed with.

    Raises:
        ValueError: the label is no grade.
    """
    for entry in given.path:
        if rule := entry.get(RULE) or entry.get(RUBRIC):
            return RULED[rule]
    if given.label not in GRADES:
        raise ValueError(f"a label for {KIND} is one of {', '.join(GRADES)}, not {given.label!r}")
    return given.label


def overruled(judgements: Iterable[UnitJudgements]) -> int:
    """In how many units a label is not the grade that counts."""
    return sum(counted(one) != one.label for said in judgements for one in said.view.of(KIND))


def describe_grades(said: UnitJudgements) -> list[tuple[str, str]]:
    """(heading, text) pairs: the grade with its reason, or why there is none."""
    parts = []
    for one in said.view.of(KIND):
        by_rule = " (by rule, without reading the explanation)" if any(RULE in entry for entry in one.path) else ""
        rule = f" (counts as {counted(one)} by the rubric)" if counted(one) != one.label else by_rule
        parts.append(("explanation", "\n".join([f"{one.label}{rule}", *([one.rationale] if one.rationale else [])])))
    if why := said.missing.get(KIND):
        parts.append(("explanation, no grade", f"{why.reason}{f' ({why.detail})' if why.detail else ''}"))
    return parts
