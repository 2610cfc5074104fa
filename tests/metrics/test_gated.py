"""Gated, ungated and conditional means against arithmetic done by hand."""

from __future__ import annotations

import pytest

from judge.metrics.gated import GATE_RULES, GateRule, averaged, macro, micro, view, with_gate
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


def viewed(rule: GateRule) -> list[Outcome | None]:
    return [view(rule, explanation, correct) for explanation, correct in ITEMS]


def test_gated_gives_zero_to_wrong_answers_and_nothing_to_unknown_ones() -> None:
    found = micro(viewed("gated"))
    assert found.mean == pytest.approx((0.8 + 0.4 + 0 + 0) / 4)
    assert (found.n, found.left_out) == (4, 0)
    assert found.unscored == {"no_answer": 1, "no_text": 1}


def test_ungated_does_not_look_at_answers() -> None:
    found = micro(viewed("ungated"))
    assert found.mean == pytest.approx((0.8 + 0.4 + 0.6 + 0.9) / 4)
    assert (found.n, found.left_out) == (4, 0)
    assert found.unscored == {"no_text": 2}


def test_conditional_is_over_correct_answers() -> None:
    found = micro(viewed("conditional"))
    assert found.mean == pytest.approx((0.8 + 0.4) / 2)
    assert (found.n, found.left_out) == (2, 2)
    assert found.unscored == {"no_answer": 1, "no_text": 1}


def test_where_all_are_scored_gated_is_conditional_times_accuracy() -> None:
    items = ITEMS[:3]
    gated, conditional = (micro([view(rule, *item) for item in items]) for rule in ("gated", "conditional"))
    assert gated.mean == pytest.approx((conditional.mean or 0) * 2 / 3)


def test_an_answer_is_right_or_wrong() -> None:
    for rule in ("gated", "conditional"):
        with pytest.raises(ValueError, match=r"correct \(1\) or wrong \(0\), not 0\.5"):
            view(rule, Scored(1.0), Scored(0.5))  # type: ignore[arg-type]


def test_a_mean_of_nothing_is_none() -> None:
    assert micro([]).mean is None
    assert micro([None, NO_ANSWER]).mean is None


def test_scores_by_convention_are_counted() -> None:
    assert micro([Scored(0.0, empty=True), Scored(1.0)]).empty == 1


GROUPS: dict[str, list[Outcome | None]] = {
    "large": [Scored(1.0), Scored(1.0), Scored(0.0), Scored(0.0)],
    "small": [Scored(1.0)],
    "odd": [Scored(0.2), NO_ANSWER, None],
}


def test_macro_is_the_mean_of_group_means_and_micro_of_items() -> None:
    assert macro(GROUPS).mean == pytest.approx((2 / 4 + 1 + 0.2) / 3)
    assert micro([outcome for group in GROUPS.values() for outcome in group]).mean == pytest.approx(3.2 / 6)
    assert (macro(GROUPS).n, macro(GROUPS).left_out, macro(GROUPS).unscored) == (6, 1, {"no_answer": 1})


def test_macro_without_a_named_group() -> None:
    found = macro(GROUPS, without=["odd"])
    assert found.mean == pytest.approx((2 / 4 + 1) / 2)
    assert list(found.groups) == ["large", "small"]
    assert found.n == 5


def test_leaving_out_a_group_that_is_none_is_an_error() -> None:
    with pytest.raises(ValueError, match="no group 'slp' to leave out; there are large, small, odd"):
        macro(GROUPS, without=["slp"])


def test_a_group_without_a_mean_leaves_no_macro_mean_and_is_named() -> None:
    found = macro({**GROUPS, "unanswered": [NO_ANSWER, NO_ANSWER]})
    assert found.mean is None
    assert found.groups_without_mean == ("unanswered",)
    assert found.groups["small"].mean == 1
    assert macro({}).mean is None


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
