"""How good a chain of reasoning is, from labels of its steps: efficiency, factuality, completeness.

The definitions are those of MedR-Bench (arXiv 2503.04691, Methods, reasoning evaluation). A label that is missing
makes a metric unscored, ``missing_label``; nothing is put in its place. Where a denominator is empty the recipe and the
published code give 0, ``empty:0``; the other convention, ``empty:unscored``, has its own signature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

from judge.judgements import Judgements, Label
from judge.metrics.signature import Metric
from judge.outcome import Outcome, Scored, Unscored

Effectiveness = Literal["citation", "repetition", "reasoning", "redundancy"]
"""What a step does: restate the record, repeat an earlier step, add something useful, add something useless."""

EFFECTIVENESS: tuple[Effectiveness, ...] = get_args(Effectiveness)
EFFECTIVE: Effectiveness = "reasoning"

EmptyRule = Literal["0", "unscored"]
"""What a metric with an empty denominator is."""

EMPTY_RULES: tuple[EmptyRule, ...] = get_args(EmptyRule)

EMPTY_DENOMINATOR = "empty_denominator"
MISSING_LABEL = "missing_label"
NOT_JUDGED = "not_judged"

_SOURCE = "MedR-Bench (arXiv 2503.04691), reasoning evaluation"
_EFFECTIVE = ("effective", EFFECTIVE)
_EMPTY = ("empty", "0")

EFFICIENCY = Metric("efficiency", "Efficiency", (_EFFECTIVE, _EMPTY), source=_SOURCE)
FACTUALITY = Metric("factuality", "Factuality", (_EFFECTIVE, _EMPTY), source=_SOURCE)
COMPLETENESS = Metric("completeness", "Completeness", (_EMPTY,), source=_SOURCE)

#: In the order in which reports show them; under ``empty:0``.
REASONING = (EFFICIENCY, FACTUALITY, COMPLETENESS)


def reasoning_metrics(empty: EmptyRule = "0") -> tuple[Metric, ...]:
    """The metrics of this family under one of the conventions for empty denominators."""
    _check_rule(empty)
    return tuple(replace(metric, parameters=(*metric.parameters[:-1], ("empty", empty))) for metric in REASONING)


def read_effectiveness(text: str) -> Effectiveness:
    """The label that a text is, in any case and with spaces around or a full stop behind.

    Raises:
        ValueError: it is none of the four.
    """
    folded = text.strip().removesuffix(".").rstrip().casefold()
    for label in EFFECTIVENESS:
        if folded == label:
            return label
    raise ValueError(f"{text!r} is none of {', '.join(EFFECTIVENESS)}")


def efficiency(labels: Sequence[Effectiveness | None], *, empty: EmptyRule = "0") -> Outcome:
    """Effective steps / all steps.

    Args:
        labels: one for each step, None where there is none.
        empty: what a text without steps gets.

    Raises:
        ValueError: a label is none of the four.
    """
    _check_effectiveness(labels)
    return _share([None if label is None else label == EFFECTIVE for label in labels], empty, "no steps")


def factuality(effective_correct: Sequence[bool | None], *, empty: EmptyRule = "0") -> Outcome:
    """Factually correct effective steps / effective steps.

    Args:
        effective_correct: whether it is correct, for each effective step and no other; see `effective_correct`.
        empty: what a text without effective steps gets.
    """
    return _share(effective_correct, empty, "no effective steps")


def completeness(matched: Sequence[bool | None], *, empty: EmptyRule = "0") -> Outcome:
    """Reference steps found in the text / reference steps.

    Args:
        matched: whether it was found, for each reference step; None where there is no label.
        empty: what a case without reference steps gets.
    """
    return _share(matched, empty, "no reference steps")


def effective_correct(labels: Sequence[Effectiveness | None], correct: Mapping[int, bool]) -> list[bool | None]:
    """The factuality labels that count: those of effective steps, None where one is missing.

    A step without a label of effectiveness may be effective, so it is None as well.

    Args:
        labels: effectiveness of each step.
        correct: factuality by the step's index; of other than effective steps it is ignored.
    """
    _check_effectiveness(labels)
    found: list[bool | None] = []
    for index, label in enumerate(labels):
        if label is None:
            found.append(None)
        elif label == EFFECTIVE:
            found.append(correct.get(index))
    return found


def score_reasoning(
    judgements: Judgements, *, steps: int | None, reference_steps: int | None, empty: EmptyRule = "0"
) -> dict[str, Outcome]:
    """All metrics of this family from one judge's labels of kinds effectiveness, factuality and match.

    Args:
        steps: how many the text has; one that was not judged is a missing label. None: they were not to be judged.
        reference_steps: how many the case has, likewise.

    Raises:
        ValueError: a label is of the wrong kind, or of a step that there is not.
    """
    return _score_steps(judgements, steps, empty) | _score_reference(judgements, reference_steps, empty)


def _score_steps(judgements: Judgements, steps: int | None, empty: EmptyRule) -> dict[str, Outcome]:
    if steps is None:
        missing = Unscored(NOT_JUDGED, "the judge did not judge which steps are effective")
        return {EFFICIENCY.name: missing, FACTUALITY.name: missing}
    labels = [
        None if given is None else read_effectiveness(_text(given))
        for given in _by_index(judgements, "effectiveness", steps)
    ]
    facts = _by_index(judgements, "factuality", steps)
    correct = {index: _truth(given) for index, given in enumerate(facts) if given is not None}
    return {
        EFFICIENCY.name: efficiency(labels, empty=empty),
        FACTUALITY.name: factuality(effective_correct(labels, correct), empty=empty),
    }


def _score_reference(judgements: Judgements, reference_steps: int | None, empty: EmptyRule) -> dict[str, Outcome]:
    if reference_steps is None:
        return {COMPLETENESS.name: Unscored(NOT_JUDGED, "the judge did not judge the reference steps")}
    matched = [None if given is None else _truth(given) for given in _by_index(judgements, "match", reference_steps)]
    return {COMPLETENESS.name: completeness(matched, empty=empty)}


def empty_denominators(labels: Sequence[Effectiveness | None], matched: Sequence[bool | None]) -> tuple[str, ...]:
    """Names of the metrics whose denominator is empty: reports count them whatever the convention."""
    denominators = (
        (EFFICIENCY, len(labels)),
        (FACTUALITY, len(effective_correct(labels, {}))),
        (COMPLETENESS, len(matched)),
    )
    return tuple(metric.name for metric, size in denominators if not size)


def _share(hits: Sequence[bool | None], empty: EmptyRule, nothing: str) -> Outcome:
    _check_rule(empty)
    known = [_truth(hit) for hit in hits if hit is not None]
    if len(known) < len(hits):
        return Unscored(MISSING_LABEL, f"{len(hits) - len(known)} of {len(hits)} labels are missing")
    if known:
        return Scored(sum(known) / len(known))
    return Scored(0.0, empty=True) if empty == "0" else Unscored(EMPTY_DENOMINATOR, f"there are {nothing}")


def _by_index(judgements: Judgements, kind: str, count: int) -> list[Label | None]:
    labels = judgements.labels(kind)
    if beyond := [item for item in labels if item >= count]:
        raise ValueError(f"there is a label for {kind} of item {beyond[0]}, counted from 0, but only {count} items")
    return [labels.get(index) for index in range(count)]


def _check_rule(empty: str) -> None:
    if empty not in EMPTY_RULES:
        raise ValueError(f"empty denominators are {' or '.join(EMPTY_RULES)}, not {empty!r}")


def _check_effectiveness(labels: Sequence[str | None]) -> None:
    for label in labels:
        if label is not None and label not in EFFECTIVENESS:
            raise ValueError(f"{label!r} is none of {', '.join(EFFECTIVENESS)}")


def _text(label: Label) -> str:
    if not isinstance(label, str):
        raise ValueError(f"a label of effectiveness is a text, not {label!r}")
    return label


def _truth(label: Label) -> bool:
    """A text such as ``"false"`` would count as true."""
    if not isinstance(label, bool):
        raise ValueError(f"the label must be true or false, not {label!r}")
    return label
