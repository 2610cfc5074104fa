"""Two judges' completeness is comparable only over the same reference steps."""

from __future__ import annotations

from typing import Any

import pytest

from graphs.medrbench.labels import read_labels
from judge.judgements import CaseLabels
from judge.runs.comparable import CaseReference, comparable_cases, same_reference, why_not_comparable
from tests.data import real_data


def judge(reference: str = "rules.v1", reference_hash: str = "aa11") -> dict[str, Any]:
    return {"source": "model", "spec": {"reference": reference, "reference_hash": reference_hash}}


IMPORTED = {"source": "imported", "file": "labels.jsonl"}


@pytest.mark.parametrize("name", ["completeness", "match"])
def test_one_reference_makes_two_judges_comparable_and_another_does_not(name: str) -> None:
    assert why_not_comparable(name, judge(), judge()) == ""
    why = why_not_comparable(name, judge(), judge("openai:gpt-4.1", "bb22"))
    assert name in why
    assert "rules.v1 (aa11)" in why
    assert "openai:gpt-4.1 (bb22)" in why


def test_one_splitter_over_other_data_is_another_reference() -> None:
    assert "rules.v1 (bb22)" in why_not_comparable("completeness", judge(), judge(reference_hash="bb22"))


def test_judges_without_a_reference_are_not_comparable_by_it() -> None:
    assert why_not_comparable("completeness", judge("", ""), judge("", "")) != ""


@pytest.mark.parametrize(("a", "b"), [(IMPORTED, judge()), (judge(), IMPORTED), (IMPORTED, IMPORTED)])
def test_labels_made_elsewhere_are_comparable_case_by_case_only(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert "only cases whose reference steps are identical" in why_not_comparable("match", a, b)


@pytest.mark.parametrize("name", ["efficiency", "factuality", "accuracy", "effectiveness", "exam_recall"])
def test_what_rests_on_no_reference_is_always_comparable(name: str) -> None:
    assert why_not_comparable(name, judge(), judge("x", "y")) == ""
    assert why_not_comparable(name, IMPORTED, judge()) == ""


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (CaseReference(("A.", "B."), "1"), CaseReference(("A.", "B."), "1"), True),
        (CaseReference((), "1"), CaseReference((), "1"), True),
        (CaseReference(("A.", "B.")), CaseReference(("A. ", "B."), "1"), True),
        (CaseReference(("A.", "B."), "1"), CaseReference(("A.", "B."), "2"), True),
        (CaseReference(("A.", "B.")), CaseReference(("B.", "A.")), False),
        (CaseReference(("A.", "B.")), CaseReference(("A.",)), False),
        (CaseReference((), "1"), CaseReference((), "2"), False),
        (CaseReference(("A.",)), CaseReference((), "1"), False),
        (CaseReference(), CaseReference(), False),
    ],
)
def test_a_case_is_comparable_when_the_texts_or_the_hashes_of_its_steps_are_the_same(
    a: CaseReference, b: CaseReference, same: bool
) -> None:
    assert same_reference(a, b) is same
    assert same_reference(b, a) is same


def test_the_comparable_cases_are_those_of_both_in_the_order_of_the_first() -> None:
    a = {name: CaseReference((name,)) for name in ("c", "a", "b")}
    b = {"b": CaseReference(("b",)), "c": CaseReference(("c",)), "a": CaseReference(("x",)), "d": CaseReference(("d",))}
    assert comparable_cases(a, b) == ["c", "b"]


# --- the published labels: one reference text, split anew for every model and judge

FILES = {
    "deepseek": "reasoning_deepseek-r1_qwen2.5-7b_957.jsonl",
    "gemini": "reasoning_gemini2-ft_qwen2.5-7b_35.jsonl",
    "gemini, gpt-4o": "reasoning_gemini2-ft_gpt-4o-websearch_34.jsonl",
}


def published(name: str) -> dict[str, CaseLabels]:
    labels = read_labels(real_data("medrbench") / "judged" / FILES[name])
    return {found.case_id: found for found in labels.records}


def references(labels: dict[str, CaseLabels]) -> dict[str, CaseReference]:
    return {case_id: CaseReference(found.reference_steps) for case_id, found in labels.items()}


def completeness(labels: dict[str, CaseLabels], case_ids: list[str]) -> float:
    shares = []
    for case_id in case_ids:
        found = [bool(item.label) for item in labels[case_id].judgements if item.kind == "match"]
        shares.append(sum(found) / len(found))
    return sum(shares) / len(shares)


@pytest.mark.data
@pytest.mark.parametrize(
    ("a", "b", "common", "identical"),
    [("deepseek", "gemini", 35, 1), ("gemini", "gemini, gpt-4o", 34, 0), ("deepseek", "gemini, gpt-4o", 34, 0)],
)
def test_hardly_any_published_case_was_split_alike_twice(a: str, b: str, common: int, identical: int) -> None:
    ours, theirs = references(published(a)), references(published(b))
    assert len(ours.keys() & theirs.keys()) == common
    assert len(comparable_cases(ours, theirs)) == identical


@pytest.mark.data
def test_one_judge_ranks_two_models_over_other_denominators_and_not_over_the_same() -> None:
    """.495 over all 957 and .327 over all 35, as the files themselves say; on the one identical split 3 of 7 each."""
    deepseek, gemini = published("deepseek"), published("gemini")
    assert completeness(deepseek, list(deepseek)) == pytest.approx(0.495, abs=5e-4)
    assert completeness(gemini, list(gemini)) == pytest.approx(0.327, abs=5e-4)
    (same,) = comparable_cases(references(deepseek), references(gemini))
    assert completeness(deepseek, [same]) == completeness(gemini, [same]) == 3 / 7
