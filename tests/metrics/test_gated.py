"""Gated, ungated and conditional means against arithmetic done by hand."""

from __future__ import annotations

from collections import Counter
from statistics import fmean

import pytest

from judge.metrics.gated import GATE_RULES, GateRule, averaged, view, with_gate
from judge.metrics.signature import Metric
from judge.outcome import Outcome, Scored, Unscored

RIGHT, WRONG = Scored(1.0), Scored(0.0)
NO_ANSWER = Unscored("no_answer")
NO_TEXT = Unscored("no_text")

#: Explanation and answer: two right, one wrong, one unanswered, one right but without explanation, one wrong without.
ITEMS: list[tuple[Outcome, Outcome]] = [
    (Scored(0.8), RIGHT),
    (Scored(0.4), RIGHT),
    (Scored(0.6), WRONG),
    (Scored(0.9), NO_ANSWER),
    (NO_TEXT, RIGHT),
    (NO_TEXT, WRONG),
]

BLEU = Metric("bleu", "BLEU (sentence)", (("tok", "13a"),), source="sacrebleu")


def mean(rule: GateRule, items: list[tuple[Outcome, Outcome]] = ITEMS) -> tuple[float, int, int, dict[str, int]]:
    """Mean, items scored, items left out, and unscored ones by reason."""
    found = [view(rule, explanation, correct) for explanation, correct in items]
    scores = [outcome.value for outcome in found if isinstance(outcome, Scored)]
    reasons = Counter(outcome.reason for outcome in found if isinstance(outcome, Unscored))
    return fmean(scores), len(scores), found.count(None), dict(reasons)


def test_gated_gives_zero_to_wrong_answers_and_nothing_to_unknown_ones() -> None:
    value, scored, left_out, unscored = mean("gated")
    assert value == pytest.approx((0.8 + 0.4 + 0 + 0) / 4)
    assert (scored, left_out) == (4, 0)
    assert unscored == {"no_answer": 1, "no_text": 1}


def test_ungated_does_not_look_at_answers() -> None:
    value, scored, left_out, unscored = mean("ungated")
    assert value == pytest.approx((0.8 + 0.4 + 0.6 + 0.9) / 4)
    assert (scored, left_out) == (4, 0)
    assert unscored == {"no_text": 2}


def test_conditional_is_over_correct_answers() -> None:
    value, scored, left_out, unscored = mean("conditional")
    assert value == pytest.approx((0.8 + 0.4) / 2)
    assert (scored, left_out) == (2, 2)
    assert unscored == {"no_answer": 1, "no_text": 1}


def test_where_all_are_scored_gated_is_conditional_times_accuracy() -> None:
    items = ITEMS[:3]
    assert mean("gated", items)[0] == pytest.approx(mean("conditional", items)[0] * 2 / 3)


def test_an_answer_is_right_or_wrong() -> None:
    for rule in ("gated", "conditional"):
        with pytest.raises(ValueError, match=r"correct \(1\) or wrong \(0\), not 0\.5"):
            view(rule, Scored(1.0), Scored(0.5))  # type: ignore[arg-type]


def test_every_variant_has_its_own_name_title_and_signature() -> None:
    gates = [with_gate(BLEU, rule) for rule in GATE_RULES]
    variants = [
        metric
        for gate in gates
        for metric in (
            averaged(gate, "micro"),
            averaged(gate, "macro", by="specialty"),
            averaged(gate, "macro", by="specialty", without=["slp"]),
        )
    ]
    for attribute in ("name", "title", "signature"):
        assert len({getattr(metric, attribute) for metric in [BLEU, *gates, *variants]}) == 13
    assert variants[2].name == "bleu_gated_macro_without_slp"
    assert variants[2].signature == (
        "bleu_gated_macro_without_slp|mean:macro:specialty|without:slp|gate:wrong=0|tok:13a|v:1"
    )


def test_a_macro_mean_says_by_what() -> None:
    with pytest.raises(ValueError, match="by some breakdown"):
        averaged(BLEU, "macro")
    with pytest.raises(ValueError, match="by some breakdown"):
        averaged(BLEU, "micro", by="specialty")
