"""Efficiency, factuality and completeness against arithmetic done by hand, and judgements as plain data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.judgements import Judgement, Judgements
from judge.metrics.reasoning import (
    COMPLETENESS,
    EFFECTIVENESS,
    EFFICIENCY,
    FACTUALITY,
    Effectiveness,
    completeness,
    effective_correct,
    efficiency,
    empty_denominators,
    factuality,
    read_effectiveness,
    reasoning_metrics,
    score_reasoning,
)
from judge.outcome import Outcome, Scored, Unscored

EMPTY = "empty_denominator"
MISSING = "missing_label"


def reason(outcome: Outcome) -> str:
    assert isinstance(outcome, Unscored)
    return outcome.reason


def view(
    steps: Sequence[str | None], correct: Sequence[bool | None] = (), matched: Sequence[bool | None] = ()
) -> Judgements:
    given = [("effectiveness", steps), ("factuality", correct), ("match", matched)]
    return Judgements(
        tuple(
            Judgement(kind, item, f"text {item}", label)
            for kind, labels in given
            for item, label in enumerate(labels)
            if label is not None
        )
    )


# --- metrics ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["reasoning", "reasoning"], 2 / 2),
        (["citation", "reasoning", "reasoning"], 2 / 3),
        (["citation", "repetition", "reasoning", "redundancy"], 1 / 4),
        (["redundancy"], 0 / 1),
    ],
)
def test_efficiency_is_the_share_of_effective_steps(labels: list[Effectiveness], expected: float) -> None:
    assert efficiency(labels) == Scored(expected)


@pytest.mark.parametrize(
    ("hits", "expected"), [([True], 1.0), ([True, False, True], 2 / 3), ([False, False], 0.0), ([True, False], 0.5)]
)
def test_factuality_and_completeness_are_shares_of_true_labels(hits: list[bool], expected: float) -> None:
    assert factuality(hits) == completeness(hits) == Scored(expected)


def test_an_empty_denominator_is_what_the_signature_says() -> None:
    assert efficiency([]) == factuality([]) == completeness([]) == Scored(0.0)
    assert [metric.signature for metric in reasoning_metrics()] == [
        "efficiency|effective:reasoning|empty:0|v:1",
        "factuality|effective:reasoning|empty:0|v:1",
        "completeness|empty:0|v:1",
    ]
    assert reasoning_metrics() == (EFFICIENCY, FACTUALITY, COMPLETENESS)

    outcomes = efficiency([], empty="unscored"), factuality([], empty="unscored"), completeness([], empty="unscored")
    assert [reason(outcome) for outcome in outcomes] == [EMPTY] * 3
    assert [metric.signature for metric in reasoning_metrics("unscored")] == [
        "efficiency|effective:reasoning|empty:unscored|v:1",
        "factuality|effective:reasoning|empty:unscored|v:1",
        "completeness|empty:unscored|v:1",
    ]


def test_conventions_differ_on_empty_denominators_only() -> None:
    assert efficiency(["reasoning", "citation"], empty="unscored") == Scored(1 / 2)
    assert factuality([False], empty="unscored") == Scored(0.0)


def test_a_third_convention_is_refused() -> None:
    for call in (lambda: completeness([True], empty="1"), lambda: reasoning_metrics("1")):  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="empty denominators are 0 or unscored, not '1'"):
            call()


def test_a_missing_label_is_never_a_default() -> None:
    assert reason(efficiency(["reasoning", None])) == MISSING
    assert reason(factuality([True, None, None])) == MISSING
    assert reason(completeness([None])) == MISSING
    assert factuality([True, None, None]) == Unscored(MISSING, "2 of 3 labels are missing")


def test_labels_of_another_type_are_refused() -> None:
    with pytest.raises(ValueError, match="true or false, not 'false'"):
        completeness([True, "false"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="true or false, not 1"):
        factuality([1])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="'Reasoning' is none of citation, repetition, reasoning, redundancy"):
        efficiency(["Reasoning"])  # type: ignore[list-item]


def test_factuality_counts_effective_steps_only() -> None:
    labels: list[Effectiveness | None] = ["citation", "reasoning", "reasoning", "redundancy"]
    # steps 1 and 2 count; that step 0 is wrong and step 3 correct does not matter
    assert effective_correct(labels, {0: False, 1: True, 2: False, 3: True}) == [True, False]
    assert effective_correct(labels, {0: True, 1: True}) == [True, None]
    assert effective_correct(["citation"], {}) == []
    assert effective_correct([None, "reasoning"], {0: True, 1: True}) == [None, True]  # step 0 may be effective


@pytest.mark.parametrize(
    "written", ["reasoning", "Reasoning", "REASONING", " Reasoning. ", "reasoning .", "Reasoning.\n"]
)
def test_an_effectiveness_label_may_be_written_in_any_case_with_a_full_stop(written: str) -> None:
    assert read_effectiveness(written) == "reasoning"


@pytest.mark.parametrize(
    "written",
    [
        "",
        ".",
        "reason",
        "Reasoning..",
        "not reasoning",
        "reasoning or citation",
        "[Citation|Repetition]",
        "new",
        "none",
    ],
)
def test_an_unknown_effectiveness_label_is_an_error(written: str) -> None:
    with pytest.raises(ValueError, match="is none of citation, repetition, reasoning, redundancy"):
        read_effectiveness(written)


def test_the_three_metrics_of_one_judge_by_hand() -> None:
    judged = view(
        ["citation", "Reasoning", "reasoning.", "reasoning"],
        [None, True, False, True],
        [True, False],
    )
    assert score_reasoning(judged, steps=4, reference_steps=2) == {
        "efficiency": Scored(3 / 4),  # three of four steps reason
        "factuality": Scored(2 / 3),  # two of these three are correct
        "completeness": Scored(1 / 2),
    }


def test_what_a_judge_left_out_is_unscored_under_its_metric_alone() -> None:
    scored = score_reasoning(view(["reasoning", "citation"], [None, True], []), steps=2, reference_steps=1)
    assert scored["efficiency"] == Scored(1 / 2)
    assert reason(scored["factuality"]) == reason(scored["completeness"]) == MISSING
    scored = score_reasoning(view(["reasoning"], [True], [True]), steps=2, reference_steps=1)
    assert reason(scored["efficiency"]) == reason(scored["factuality"]) == MISSING
    assert scored["completeness"] == Scored(1.0)


def test_no_steps_at_all_are_empty_and_not_missing() -> None:
    judged = view([], [], [True])
    zero, one = Scored(0.0), Scored(1.0)
    assert list(score_reasoning(judged, steps=0, reference_steps=1).values()) == [zero, zero, one]
    scored = score_reasoning(judged, steps=0, reference_steps=1, empty="unscored")
    assert reason(scored["efficiency"]) == reason(scored["factuality"]) == EMPTY


@pytest.mark.parametrize(
    ("kind", "label", "message"),
    [
        ("effectiveness", "Good", "'Good' is none of"),
        ("effectiveness", True, "is a text, not True"),
        ("factuality", "true", "true or false, not 'true'"),
        ("match", "hit", "true or false, not 'hit'"),
    ],
)
def test_labels_of_the_wrong_kind_are_refused(kind: str, label: str | bool, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        score_reasoning(Judgements((Judgement(kind, 0, "", label),)), steps=1, reference_steps=1)


@pytest.mark.parametrize("kind", ["effectiveness", "factuality", "match"])
def test_a_label_of_a_step_that_there_is_not_is_refused(kind: str) -> None:
    label = "reasoning" if kind == "effectiveness" else True
    with pytest.raises(ValueError, match=f"a label for {kind} of item 1, counted from 0, but only 1 items"):
        score_reasoning(Judgements((Judgement(kind, 1, "", label),)), steps=1, reference_steps=1)


def test_empty_denominators_are_named() -> None:
    assert empty_denominators([], []) == ("efficiency", "factuality", "completeness")
    assert empty_denominators(["citation"], [True]) == ("factuality",)
    assert empty_denominators(["reasoning"], [False]) == ()


@given(st.lists(st.sampled_from(EFFECTIVENESS), min_size=1), st.data())
def test_every_share_lies_in_the_unit_interval(labels: list[Effectiveness], data: st.DataObject) -> None:
    correct = {index: data.draw(st.booleans()) for index in range(len(labels))}
    effective = effective_correct(labels, correct)
    for outcome in (efficiency(labels), factuality(effective), completeness(list(correct.values()))):
        assert isinstance(outcome, Scored)
        assert 0 <= outcome.value <= 1
    assert efficiency(labels) == Scored(len(effective) / len(labels))


# --- judgements ---------------------------------------------------------------------------------------------------

SEARCHED = Judgement("factuality", 1, "Yeast grows.", True, "It does.", ({"query": "yeast", "found": ["a", 1, None]},))


def test_judgements_survive_as_json() -> None:
    judged = Judgements(
        (Judgement("effectiveness", 0, "Ünklar", "reasoning"), SEARCHED, Judgement("match", 0, "", False))
    )
    assert Judgements.from_rows(json.loads(json.dumps(judged.to_rows()))) == judged
    assert json.loads(json.dumps(SEARCHED.to_row())) == {
        "kind": "factuality",
        "item": 1,
        "text": "Yeast grows.",
        "label": True,
        "rationale": "It does.",
        "path": [{"query": "yeast", "found": ["a", 1, None]}],
    }


def test_judgements_of_a_kind_come_in_the_order_of_their_items() -> None:
    given = [
        Judgement("match", 2, "c", True),
        SEARCHED,
        Judgement("match", 0, "a", False),
        Judgement("match", 1, "b", True),
    ]
    judged = Judgements(tuple(given))
    assert [found.text for found in judged.of("match")] == ["a", "b", "c"]
    assert judged.labels("match") == {0: False, 1: True, 2: True}
    assert judged.of("accuracy") == []
    assert judged.of("factuality") == [SEARCHED]


def test_one_item_is_judged_once() -> None:
    with pytest.raises(ValueError, match="item 1 is judged twice for factuality"):
        Judgements((SEARCHED, SEARCHED))


@pytest.mark.parametrize(
    "change",
    [{"item": "1"}, {"item": True}, {"item": -1}, {"kind": ""}, {"kind": None}, {"label": 1}, {"label": None},
     {"path": {}}, {"path": ["x"]}, {"text": None}, {"rationale": 1}, {"more": 1}],
)  # fmt: skip
def test_a_row_of_other_types_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"judgement|items"):
        Judgement.from_row({**SEARCHED.to_row(), **change})


def test_a_row_without_a_field_is_refused() -> None:
    row = SEARCHED.to_row()
    del row["label"]
    with pytest.raises(ValueError, match="a judgement has the fields kind, item, text, label"):
        Judgement.from_row(row)


def test_a_judgement_with_a_path_can_be_in_a_set() -> None:
    assert len({SEARCHED, Judgement.from_row(SEARCHED.to_row())}) == 1
