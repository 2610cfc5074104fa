"""The three LCA variants, score_answer and the reachable maximum, by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs.caremedeval.metrics import (
    LCA,
    LCA_EXAM,
    LCA_PUBLISHED,
    METRICS,
    lca,
    lca_exam,
    lca_published,
    reachable_maximum,
    score_answer,
)
from tests.caremedeval.synthetic import case

letters = st.frozensets(st.sampled_from("abcde"))


@pytest.mark.parametrize(
    ("chosen", "mismatches", "expected"),
    [
        # default, exam, published
        ("ac", 0, (1, 1, 1)),
        ("a", 1, (0.5, 0.5, 0.5)),
        ("ace", 1, (0.5, 0.5, 0.5)),
        ("ae", 2, (0.25, 0.2, 0.2)),
        ("abcd", 2, (0.25, 0.2, 0.2)),
        ("e", 3, (0, 0, 0)),
        ("abcde", 3, (0, 0, 0)),
        ("bde", 5, (0, 0, 0)),
    ],
)
def test_marks_fall_with_mismatches(chosen: str, mismatches: int, expected: tuple[float, ...]) -> None:
    item, answer = case("ac"), frozenset(chosen)
    assert len(answer ^ item.correct) == mismatches
    assert (lca(item, answer), lca_exam(item, answer), lca_published(item, answer)) == expected


def test_no_answer_gets_nothing_though_it_has_one_mismatch() -> None:
    item, nothing = case("a"), frozenset[str]()
    assert (lca(item, nothing), lca_exam(item, nothing), lca_published(item, nothing)) == (0, 0, 0)


def test_missing_an_essential_option_costs_the_mark_except_in_the_published_code() -> None:
    item, answer = case("abc", essential="b"), frozenset("ac")
    assert (lca(item, answer), lca_exam(item, answer), lca_published(item, answer)) == (0, 0, 0.5)


def test_choosing_an_unacceptable_option_costs_the_mark_except_in_the_published_code() -> None:
    item, answer = case("abc", unacceptable="e"), frozenset("abce")
    assert (lca(item, answer), lca_exam(item, answer), lca_published(item, answer)) == (0, 0, 0.5)


def test_signatures_tell_the_variants_apart() -> None:
    assert LCA.signature == "lca|two:.25|rules:essential,unacceptable|v:1"
    assert LCA_EXAM.signature == "lca_exam|two:.2|rules:essential,unacceptable|v:1"
    assert LCA_PUBLISHED.signature == "lca_published|two:.2|rules:none|v:1"
    assert len({metric.title for metric in METRICS}) == len(METRICS)


def test_all_metrics_of_one_answer() -> None:
    assert score_answer(case("ac"), "ab") == pytest.approx(
        {
            "emr": 0,
            "f1": 0.5,
            "hamming": 0.6,
            "lca": 0.25,
            "lca_exam": 0.2,
            "jaccard": 1 / 3,
            "lca_published": 0.2,
            "precision": 0.5,
            "recall": 0.5,
        }
    )
    assert list(score_answer(case("ac"), "ab")) == [metric.name for metric in METRICS]
    assert [metric.name for metric in METRICS[:4]] == ["emr", "f1", "hamming", "lca"]


def test_a_letter_that_is_no_option_is_refused() -> None:
    with pytest.raises(ValueError, match="not among the options"):
        score_answer(case("a", options="abcd"), "e")
    with pytest.raises(ValueError, match="not among the options"):
        lca(case("a", options="abcd"), frozenset("e"))


def test_reachable_maximum_tries_every_answer_not_only_the_key() -> None:
    # b is essential but not correct: the key {c} gets 0; {b, c} has one mismatch and gets a half
    maxima = reachable_maximum([case("c", essential="b"), case("ab")])
    assert maxima["lca"] == maxima["lca_exam"] == (0.5 + 1) / 2
    assert maxima["emr"] == maxima["lca_published"] == maxima["hamming"] == 1


def test_reachable_maximum_can_be_nothing() -> None:
    assert reachable_maximum([case("c", essential="b", unacceptable="b")])["lca"] == 0


def test_reachable_maximum_needs_questions() -> None:
    with pytest.raises(ValueError, match="at least one question"):
        reachable_maximum([])


@given(letters, letters.filter(bool), letters, letters)
def test_the_variants_are_ordered(
    chosen: frozenset[str], correct: frozenset[str], essential: frozenset[str], unacceptable: frozenset[str]
) -> None:
    item = case("".join(correct), essential="".join(essential), unacceptable="".join(unacceptable))
    scores = score_answer(item, chosen)
    assert scores["lca_exam"] <= scores["lca"]
    assert scores["lca_exam"] <= scores["lca_published"]
    assert scores["emr"] <= scores["lca_published"] <= 1
