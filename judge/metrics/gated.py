"""Scores of explanations beside the answers they explain: gated, ungated and over correct answers only.

The gate is MedExQA's (arXiv 2406.06331): an explanation of a wrong answer scores 0. What is unscored is never 0:
without an answer it is unknown whether the gate is open, so the gated score is unscored with the answer's reason; with
a wrong answer it is 0, whatever became of the explanation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
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
