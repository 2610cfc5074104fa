"""Cases asked several times: published tables, hand arithmetic, and counting all choices of k epochs."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import combinations
from statistics import fmean

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from judge.stats import all_of, any_of, mean_of_epochs, variance_components

# Shrout & Fleiss 1979, table 2: six targets, four ratings each
SHROUT_FLEISS = {
    1: [9, 2, 5, 8],
    2: [6, 1, 3, 2],
    3: [8, 4, 6, 8],
    4: [7, 1, 2, 6],
    5: [10, 5, 6, 9],
    6: [6, 2, 4, 7],
}

# Davies & Goldsmith 1972, section 6.4: yield of five preparations from each of six batches (Dyestuff of R's lme4)
DYESTUFF = {
    "A": [1545, 1440, 1440, 1520, 1580],
    "B": [1540, 1555, 1490, 1560, 1495],
    "C": [1595, 1550, 1605, 1510, 1560],
    "D": [1445, 1440, 1595, 1465, 1545],
    "E": [1595, 1630, 1515, 1635, 1625],
    "F": [1520, 1455, 1450, 1480, 1445],
}

# Sokal & Rohlf 1995, Biometry, 3rd ed., p. 210: width of scutum of ticks from four rabbits
TICKS = {
    1: [380, 376, 360, 368, 372, 366, 374, 382],
    2: [350, 356, 358, 376, 338, 342, 366, 350, 344, 364],
    3: [354, 360, 362, 352, 366, 372, 362, 344, 342, 358, 351, 348, 348],
    4: [376, 344, 342, 372, 374, 360],
}


def own(case: int) -> int:
    return case


def test_the_components_of_shrout_and_fleiss() -> None:
    found = variance_components(SHROUT_FLEISS)
    # their table 3: between-targets mean square 11.24, within-target 6.26; table 4: ICC(1,1) = .17
    assert found.mean_square_between == pytest.approx(11.24, abs=0.005)
    assert found.mean_square_within == pytest.approx(6.26, abs=0.005)
    assert found.icc == pytest.approx(0.165742, abs=5e-7)  # .17 in print, six places by R's psych
    assert found.between == pytest.approx((11.24 - 6.26) / 4, abs=0.005)
    assert (found.n, found.n_cases, found.note) == (24, 6, "")


def test_the_components_of_dyestuff() -> None:
    # manual of lme4, restricted maximum likelihood, which is the analysis of variance where numbers are equal
    found = variance_components(DYESTUFF)
    assert (found.between, found.within) == (pytest.approx(1764.05), pytest.approx(2451.25))


@pytest.mark.parametrize("data", [SHROUT_FLEISS, DYESTUFF, TICKS])
def test_mean_squares_have_the_ratio_of_scipys_analysis_of_variance(data: dict[Hashable, list[int]]) -> None:
    found = variance_components(data)
    assert found.mean_square_between is not None
    assert found.mean_square_within is not None
    ratio = scipy.stats.f_oneway(*data.values()).statistic
    assert found.mean_square_between / found.mean_square_within == pytest.approx(ratio)


def test_unequal_numbers_of_epochs_worked_by_hand() -> None:
    # means 1 (of 0 and 2) and 5 (of 4, 5, 6); grand mean 17/5; within (2 + 2) / 3; n0 = (5 - 13/5) / 1 = 12/5
    found = variance_components({"a": [0, 2, None], "b": [4, 5, 6]})
    square = 2 * (1 - 3.4) ** 2 + 3 * (5 - 3.4) ** 2
    assert found.within == pytest.approx(4 / 3)
    assert found.mean_square_between == pytest.approx(square)
    assert found.between == pytest.approx((square - 4 / 3) / 2.4)


def test_a_negative_component_is_0_and_says_so() -> None:
    found = variance_components({"a": [0, 1], "b": [1, 0]})
    assert (found.between, found.within, found.icc) == (0.0, 0.5, 0.0)
    assert "set to 0" in found.note


def test_no_variance_at_all_has_no_correlation() -> None:
    found = variance_components({"a": [1, 1], "b": [1, 1]})
    assert (found.between, found.within, found.icc, found.note) == (0.0, 0.0, None, "")


@pytest.mark.parametrize(
    ("epochs", "reason"),
    [
        ({}, "no_items"),
        ({"a": [1, 0]}, "one_case"),
        ({"a": [1], "b": [0, None]}, "no_epochs"),
        ({"a": [None]}, "no_items"),
    ],
)
def test_too_few_epochs_for_components_are_said(epochs: dict[str, list[float | None]], reason: str) -> None:
    found = variance_components(epochs)
    assert (found.between, found.within, found.reason) == (None, None, reason)


def test_all_and_any_as_in_the_manual_of_scorio() -> None:
    # Hariri et al. 2025, Don't Pass@k, arXiv 2510.04265, examples of their package: pass^k and pass@k of k = 1, 2
    epochs = {0: [0, 1, 1, 0, 1], 1: [1, 1, 0, 1, 1]}
    assert [all_of(epochs, own, k).value for k in (1, 2)] == pytest.approx([0.7, 0.45])
    assert [any_of(epochs, own, k).value for k in (1, 2)] == pytest.approx([0.7, 0.95])


def test_all_and_any_of_two_worked_by_hand() -> None:
    epochs = {0: [1, 1, 0], 1: [1, 1, 1], 2: [0, 0, 0], 3: [1], 4: [1, None, 0]}
    # pairs of epochs: case 0 has 1 of 3 with both and 3 of 3 with one; case 4 has 0 and 1 of 1; case 3 is short
    every, some = all_of(epochs, own, 2), any_of(epochs, own, 2)
    assert every.value == pytest.approx((1 / 3 + 1 + 0 + 0) / 4)
    assert some.value == pytest.approx((1 + 1 + 0 + 1) / 4)
    assert (every.n, every.n_short, every.n_clusters, every.k) == (4, 1, 4, 2)
    assert every.interval.ends is not None


@given(st.lists(st.integers(0, 1), min_size=1, max_size=7), st.integers(1, 7))
def test_all_and_any_are_the_shares_of_choices_of_k_epochs(scores: list[int], k: int) -> None:
    every, some = all_of({0: scores}, own, k), any_of({0: scores}, own, k)
    if k > len(scores):
        assert (every.value, every.reason, some.value, some.reason) == (None, "too_few_epochs", None, "too_few_epochs")
        return
    choices = list(combinations(scores, k))
    assert every.value == pytest.approx(fmean(all(choice) for choice in choices))
    assert some.value == pytest.approx(fmean(any(choice) for choice in choices))


def test_means_count_every_case_the_same() -> None:
    found = mean_of_epochs({0: [1, 1, 1, 0], 1: [0, None], 2: [None]}, own)
    assert found.value == pytest.approx((0.75 + 0) / 2)
    assert (found.n, found.n_short, found.k) == (2, 1, None)


def test_one_of_one_is_the_mean() -> None:
    epochs = {0: [1, 0], 1: [1, 1], 2: [0, 0, 1]}
    assert all_of(epochs, own, 1).value == pytest.approx(mean_of_epochs(epochs, own).value)
    assert any_of(epochs, own, 1).value == pytest.approx(mean_of_epochs(epochs, own).value)


def test_scores_in_between_neither_succeed_nor_fail() -> None:
    found = all_of({0: [0.5, 1.0]}, own, 2)
    assert (found.value, found.reason) == (None, "not_binary")
    with pytest.raises(ValueError, match="at least 1"):
        all_of({0: [1.0]}, own, 0)
    with pytest.raises(ValueError, match="finite"):
        variance_components({0: [float("nan")]})
