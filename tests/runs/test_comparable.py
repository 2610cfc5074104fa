"""Two judges' completeness is comparable only over the same reference steps."""

from __future__ import annotations

import pytest

from graphs.medrbench.labels import read_labels
from judge.judgements import CaseLabels
from judge.runs.comparable import CaseReference, comparable_cases, same_reference
from tests.data import real_data


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
