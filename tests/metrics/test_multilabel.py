"""Multi-answer metrics against arithmetic done by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.metrics.multilabel import MULTILABEL, exact_match, f1, hamming, jaccard, precision, recall

O5 = frozenset("abcde")
SCORES = [score for _, score in MULTILABEL]
subsets = st.frozensets(st.sampled_from("abcde"))
nonempty = st.frozensets(st.sampled_from("abcde"), min_size=1)


@pytest.mark.parametrize(
    ("chosen", "gold", "options", "expected"),
    [
        # emr, f1, hamming, jaccard, precision, recall
        ("ac", "ac", "abcde", (1, 1, 1, 1, 1, 1)),
        ("ab", "ac", "abcde", (0, 2 * 1 / (2 + 2), 1 - 2 / 5, 1 / 3, 1 / 2, 1 / 2)),
        ("a", "abc", "abcde", (0, 2 * 1 / (1 + 3), 1 - 2 / 5, 1 / 3, 1, 1 / 3)),
        ("abcd", "d", "abcd", (0, 2 * 1 / (4 + 1), 1 - 3 / 4, 1 / 4, 1 / 4, 1)),
        ("de", "ab", "abcde", (0, 0, 1 - 4 / 5, 0, 0, 0)),
        ("", "ab", "abcde", (0, 0, 1 - 2 / 5, 0, 0, 0)),
    ],
)
def test_hand_computed(chosen: str, gold: str, options: str, expected: tuple[float, ...]) -> None:
    sets = frozenset(chosen), frozenset(gold), frozenset(options)
    assert [score(*sets) for score in SCORES] == pytest.approx(expected)


def test_empty_denominators_are_as_the_signature_says() -> None:
    none: frozenset[str] = frozenset()
    assert precision(none, frozenset("a"), O5) == 0
    assert recall(frozenset("a"), none, O5) == 0
    assert f1(none, none, O5) == 0
    assert jaccard(none, none, O5) == 1
    signatures = {metric.name: metric.signature for metric, _ in MULTILABEL}
    assert signatures["precision"] == "precision|empty:0|v:1"
    assert signatures["recall"] == "recall|empty:0|v:1"
    assert signatures["jaccard"] == "jaccard|empty:1|v:1"


def test_jaccard_cannot_be_mistaken_for_hamming() -> None:
    metrics = {metric.name: metric for metric, _ in MULTILABEL}
    assert metrics["jaccard"].title.startswith("Jaccard")
    assert 'published as "Hamming"' in metrics["jaccard"].title
    assert len({metric.title for metric in metrics.values()}) == len(metrics) == 6
    assert len({metric.signature for metric in metrics.values()}) == 6


@pytest.mark.parametrize("score", SCORES)
def test_labels_outside_the_options_are_refused(score) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match="predicted labels \\['z'\\]"):
        score(frozenset("az"), frozenset("a"), O5)
    with pytest.raises(ValueError, match="gold labels \\['z'\\]"):
        score(frozenset("a"), frozenset("z"), O5)
    with pytest.raises(ValueError, match="at least one option"):
        score(frozenset(), frozenset(), frozenset())


@given(subsets, subsets)
def test_every_score_lies_in_the_unit_interval(chosen: frozenset[str], gold: frozenset[str]) -> None:
    assert all(0 <= score(chosen, gold, O5) <= 1 for score in SCORES)


@given(subsets, nonempty)
def test_order_and_identities_between_scores(chosen: frozenset[str], gold: frozenset[str]) -> None:
    values = exact_match(chosen, gold, O5), jaccard(chosen, gold, O5), f1(chosen, gold, O5)
    assert values[0] <= values[1] <= values[2]
    assert values[1] == pytest.approx(values[2] / (2 - values[2]))
    p, r = precision(chosen, gold, O5), recall(chosen, gold, O5)
    assert values[2] == pytest.approx(2 * p * r / (p + r) if p + r else 0)


@given(subsets, subsets)
def test_hamming_of_an_answer_and_its_opposite_add_up_to_one(chosen: frozenset[str], gold: frozenset[str]) -> None:
    assert hamming(chosen, gold, O5) + hamming(O5 - chosen, gold, O5) == pytest.approx(1)
    assert hamming(chosen, gold, O5) == hamming(gold, chosen, O5)


@given(nonempty)
def test_the_right_answer_gets_everything(gold: frozenset[str]) -> None:
    assert all(score(gold, gold, O5) == 1 for score in SCORES)
