"""Scores of explanations beside the answers they explain: gated, ungated and over correct answers only.

The gate is MedExQA's (arXiv 2406.06331): an explanation of a wrong answer scores 0. What is unscored is never 0:
without an answer it is unknown whether the gate is open, so the gated score is unscored with the answer's reason; with
a wrong answer it is 0, whatever became of the explanation.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from judge.metrics.signature import Metric
from judge.outcome import Outcome, Scored, Unscored

GateRule = Literal["gated", "ungated", "conditional"]

_RULES: Mapping[GateRule, tuple[str, str]] = {
    "gated": ("gated", "wrong=0"),
    "ungated": ("ungated", "none"),
    "conditional": ("right answers", "correct-only"),
}

#: The three views in report order.
GATE_RULES: tuple[GateRule, ...] = tuple(_RULES)

_SOURCE = "MedExQA (arXiv 2406.06331)"


def with_gate(metric: Metric, rule: GateRule) -> Metric:
    """The metric of explanations under one of the views, e.g. ``bleu_gated|gate:wrong=0|…``."""
    title, parameter = _RULES[rule]
    return replace(
        metric,
        name=f"{metric.name}_{rule}",
        title=f"{metric.title}, {title}",
        parameters=(("gate", parameter), *metric.parameters),
        source=f"{metric.source}; {_SOURCE}",
    )


def gated(explanation: Outcome, correct: Outcome) -> Outcome:
    """The explanation's score if the answer is correct, 0 if it is wrong, unscored without an answer.

    Args:
        correct: 1 or 0.

    Raises:
        ValueError: `correct` is another number.
    """
    if isinstance(correct, Unscored):
        return correct
    return explanation if _is_correct(correct) else Scored(0.0)


def ungated(explanation: Outcome, correct: Outcome) -> Outcome:
    """The explanation's score, whatever the answer."""
    return explanation


def conditional(explanation: Outcome, correct: Outcome) -> Outcome | None:
    """The explanation's score if the answer is correct; None if it is wrong: then the item does not take part.

    Raises:
        ValueError: as `gated`.
    """
    if isinstance(correct, Unscored):
        return correct
    return explanation if _is_correct(correct) else None


_VIEWS = {"gated": gated, "ungated": ungated, "conditional": conditional}


def view(rule: GateRule, explanation: Outcome, correct: Outcome) -> Outcome | None:
    """One item under one of the views; None: it does not take part."""
    outcome: Outcome | None = _VIEWS[rule](explanation, correct)
    return outcome


def _is_correct(correct: Scored) -> bool:
    if correct.value not in (0.0, 1.0):
        raise ValueError(f"an answer is correct (1) or wrong (0), not {correct.value}")
    return correct.value == 1.0


@dataclass(frozen=True, slots=True)
class Average:
    """A mean and what it is over.

    Attributes:
        mean: None where nothing is scored, and for a macro mean where a group has none.
        n: items that are scored.
        empty: how many of them are 0 by convention, see `Scored.empty`.
        unscored: reason -> items.
        left_out: items that do not take part.
        groups: group -> its own average; empty for a micro mean.
    """

    mean: float | None
    n: int
    empty: int = 0
    unscored: Mapping[str, int] = field(default_factory=dict)
    left_out: int = 0
    groups: Mapping[str, Average] = field(default_factory=dict)

    @property
    def groups_without_mean(self) -> tuple[str, ...]:
        """Because of these a macro mean is None."""
        return tuple(name for name, average in self.groups.items() if average.mean is None)


def micro(outcomes: Sequence[Outcome | None]) -> Average:
    """The mean over all scored items, each counting the same."""
    scores = [outcome for outcome in outcomes if isinstance(outcome, Scored)]
    reasons = Counter(outcome.reason for outcome in outcomes if isinstance(outcome, Unscored))
    return Average(
        mean=math.fsum(score.value for score in scores) / len(scores) if scores else None,
        n=len(scores),
        empty=sum(score.empty for score in scores),
        unscored=dict(reasons),
        left_out=sum(outcome is None for outcome in outcomes),
    )


def macro(groups: Mapping[str, Sequence[Outcome | None]], *, without: Collection[str] = ()) -> Average:
    """The mean of the groups' means, each group counting the same.

    A group without any scored item has no mean, and then neither has the whole: over the other groups it would be
    another number under the same name.

    Args:
        without: groups to leave out.

    Raises:
        ValueError: one of `without` is no group.
    """
    if unknown := sorted(set(without) - groups.keys()):
        raise ValueError(f"there is no group {unknown[0]!r} to leave out; there are {', '.join(groups)}")
    averages = {name: micro(outcomes) for name, outcomes in groups.items() if name not in without}
    means = [average.mean for average in averages.values() if average.mean is not None]
    complete = bool(means) and len(means) == len(averages)
    unscored: Counter[str] = Counter()
    for average in averages.values():
        unscored.update(average.unscored)
    return Average(
        mean=math.fsum(means) / len(means) if complete else None,
        n=sum(average.n for average in averages.values()),
        empty=sum(average.empty for average in averages.values()),
        unscored=dict(unscored),
        left_out=sum(average.left_out for average in averages.values()),
        groups=averages,
    )


def averaged(metric: Metric, rule: Literal["micro", "macro"], *, by: str = "", without: Sequence[str] = ()) -> Metric:
    """The metric as a micro mean, or as a macro mean by some breakdown, named and signed as such.

    Args:
        by: the breakdown of a macro mean, e.g. ``specialty``.
        without: groups that a macro mean leaves out.

    Raises:
        ValueError: a macro mean without a breakdown, or a micro mean with one.
    """
    if (rule == "macro") != bool(by) or (without and rule == "micro"):
        raise ValueError("a macro mean is by some breakdown, a micro mean by none")
    left_out = (("without", ",".join(sorted(without))),) if without else ()
    shown = f"{rule} by {by}" if by else rule
    return replace(
        metric,
        name="_".join([metric.name, rule, *(["without", *sorted(without)] if without else [])]),
        title=f"{metric.title}, {shown}{' without ' + ', '.join(sorted(without)) if without else ''}",
        parameters=(("mean", f"{rule}:{by}" if by else rule), *left_out, *metric.parameters),
    )
