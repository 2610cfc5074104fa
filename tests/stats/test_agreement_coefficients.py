"""Coefficients of agreement against published worked examples and other libraries."""

from __future__ import annotations

from itertools import permutations

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from nltk.metrics.agreement import AnnotationTask
from numpy.typing import NDArray
from sklearn.metrics import cohen_kappa_score

from judge.stats.coefficients import (
    alpha_of_coincidences,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    linear_weights,
    quadratic_weights,
    raw_agreement,
)

Counts = NDArray[np.intp]

# Cohen 1960, Table 2: 200 cases, rows and columns are three categories of two judges
COHEN = np.array([[88, 10, 2], [14, 40, 6], [18, 10, 12]])

# Fleiss 1971, Table 1: thirty patients, six psychiatrists each; depression, personality disorder, schizophrenia,
# neurosis, other
FLEISS = np.array(
    [
        *([0, 0, 0, 6, 0], [0, 3, 0, 0, 3], [0, 1, 4, 0, 1], [0, 0, 0, 0, 6], [0, 3, 0, 3, 0], [2, 0, 4, 0, 0]),
        *([0, 0, 4, 0, 2], [2, 0, 3, 1, 0], [2, 0, 0, 4, 0], [0, 0, 0, 0, 6], [1, 0, 0, 5, 0], [1, 1, 0, 4, 0]),
        *([0, 3, 3, 0, 0], [1, 0, 0, 5, 0], [0, 2, 0, 3, 1], [0, 0, 5, 0, 1], [3, 0, 0, 1, 2], [5, 1, 0, 0, 0]),
        *([0, 2, 0, 4, 0], [1, 0, 2, 0, 3], [0, 0, 0, 0, 6], [0, 1, 0, 5, 0], [0, 2, 0, 1, 3], [2, 0, 0, 4, 0]),
        *([1, 0, 0, 4, 1], [0, 5, 0, 1, 0], [4, 0, 0, 0, 2], [0, 2, 0, 4, 0], [1, 0, 5, 0, 0], [0, 0, 0, 0, 6]),
    ]
)

# Krippendorff 2011, section C: how many of four observers gave each of five values to each of twelve units
KRIPPENDORFF = np.array(
    [
        *([3, 0, 0, 0, 0], [0, 3, 1, 0, 0], [0, 0, 4, 0, 0], [0, 0, 4, 0, 0], [0, 4, 0, 0, 0], [1, 1, 1, 1, 0]),
        *([0, 0, 0, 4, 0], [3, 1, 0, 0, 0], [0, 4, 0, 0, 0], [0, 0, 0, 0, 3], [2, 0, 0, 0, 0], [0, 0, 1, 0, 0]),
    ]
)

# Krippendorff's example of three coders with missing data, in "Krippendorff's alpha" of Wikipedia: fifteen units
THREE_CODERS = np.array(
    [
        *([1, 0, 0, 0], [0, 0, 0, 0], [0, 2, 0, 0], [2, 0, 0, 0], [0, 0, 2, 0]),
        *([0, 0, 2, 1], [0, 0, 0, 3], [1, 0, 1, 0], [0, 2, 0, 0], [2, 0, 0, 0]),
        *([2, 0, 0, 0], [0, 0, 2, 0], [0, 0, 2, 0], [0, 0, 0, 0], [0, 0, 1, 1]),
    ]
)

# Gwet 2014, Handbook of Inter-Rater Reliability, 4th ed., as in his package irrCAC: 100 pregnancies by two abstractors
# (cont3x3abstractors), and 223 patients by two ways of diagnosis (cont4x4diagnosis)
ABSTRACTORS = np.array([[13, 0, 0], [0, 20, 7], [0, 4, 56]])
DIAGNOSES = np.array([[40, 6, 4, 15], [4, 25, 1, 5], [4, 2, 21, 9], [17, 13, 12, 45]])


def pairs(counts: Counts) -> NDArray[np.float64]:
    """Σ (r_k r_l - [k = l] r_k) / (r (r - 1)) item by item."""
    given = [row for row in counts if row.sum() >= 2]
    return np.array(sum((np.outer(row, row) - np.diag(row)) / (row.sum() * (row.sum() - 1)) for row in given))


def coincidences(counts: Counts) -> NDArray[np.float64]:
    given = [row for row in counts if row.sum() >= 2]
    return np.array(sum((np.outer(row, row) - np.diag(row)) / (row.sum() - 1) for row in given))


def as_pairs(confusion: NDArray[np.int_]) -> NDArray[np.float64]:
    return (confusion + confusion.T) / 2.0


def expanded(confusion: NDArray[np.int_]) -> tuple[list[int], list[int]]:
    """The two raters' labels that a confusion table counts."""
    cells = [(i, j) for (i, j), n in np.ndenumerate(confusion) for _ in range(n)]
    return [i for i, _ in cells], [j for _, j in cells]


# --- published examples -------------------------------------------------------------------------------------------


def test_cohen_1960_table_2() -> None:
    # observed 140/200 = .70; chance .5 * .6 + .3 * .3 + .2 * .1 = .41; .29 / .59
    assert float(cohen_kappa(COHEN)) == pytest.approx(0.29 / 0.59)
    assert round(float(cohen_kappa(COHEN)), 3) == 0.492


def test_cohen_1968_weighs_the_same_table() -> None:
    # weights of disagreement 1, 3 and 6: observed 180/200 = .90, by chance 1.38; 1 - .90 / 1.38
    disagreement = np.array([[0, 1, 3], [1, 0, 6], [3, 6, 0]])
    assert round(float(cohen_kappa(COHEN, 1.0 - disagreement / 6.0)), 3) == 0.348


def test_fleiss_1971_psychiatric_diagnoses() -> None:
    assert FLEISS.sum(axis=0).tolist() == [26, 26, 30, 55, 43]  # the table's own totals
    table = pairs(FLEISS)
    assert round(float(raw_agreement(table)), 3) == 0.556
    assert float(fleiss_kappa(table)) == pytest.approx(0.4302445, abs=5e-8)  # kappam.fleiss of R's irr


def test_gwets_package_on_the_first_half_of_fleiss_table() -> None:
    # irrCAC, distrib.6raters and its README
    table = pairs(FLEISS[:15])
    assert float(raw_agreement(table)) == pytest.approx(0.5511111, abs=5e-8)
    assert float(fleiss_kappa(table)) == pytest.approx(0.4139265, abs=5e-8)
    assert float(gwet_ac(table)) == pytest.approx(0.4448007, abs=5e-8)
    assert krippendorff_alpha(FLEISS[:15], "nominal") == pytest.approx(0.4204384, abs=5e-8)


def test_krippendorff_2011_twelve_units_four_observers_missing_data() -> None:
    table = coincidences(KRIPPENDORFF)
    assert table.sum() == pytest.approx(40)  # pairable values
    assert round(float(alpha_of_coincidences(table, "nominal")), 3) == 0.743
    assert round(float(alpha_of_coincidences(table, "ordinal")), 3) == 0.815
    assert round(float(alpha_of_coincidences(table, "interval", (1, 2, 3, 4, 5))), 3) == 0.849


def test_krippendorffs_three_coders_with_missing_data() -> None:
    table = coincidences(THREE_CODERS)
    assert round(float(alpha_of_coincidences(table, "nominal")), 3) == 0.691
    assert round(float(alpha_of_coincidences(table, "interval", (1, 2, 3, 4))), 3) == 0.811
    assert round(krippendorff_alpha(THREE_CODERS, "nominal"), 3) == 0.691


@pytest.mark.parametrize(
    ("table", "kappa", "linear", "quadratic"),
    [(ABSTRACTORS, 0.796, 0.843, 0.892), (DIAGNOSES, 0.432, 0.407, 0.383)],
)
def test_gwets_two_raters_kappa(table: Counts, kappa: float, linear: float, quadratic: float) -> None:
    k = len(table)
    found = [cohen_kappa(table), cohen_kappa(table, linear_weights(k)), cohen_kappa(table, quadratic_weights(k))]
    assert found == pytest.approx([kappa, linear, quadratic], abs=5e-4)


@pytest.mark.parametrize(
    ("table", "ac1", "linear", "quadratic"),
    [(ABSTRACTORS, 0.849, 0.900, 0.940), (DIAGNOSES, 0.456, 0.377, 0.299)],
)
def test_gwets_two_raters_ac1_and_ac2(table: Counts, ac1: float, linear: float, quadratic: float) -> None:
    k, both = len(table), as_pairs(table)
    found = [gwet_ac(both), gwet_ac(both, linear_weights(k)), gwet_ac(both, quadratic_weights(k))]
    assert found == pytest.approx([ac1, linear, quadratic], abs=5e-4)


def test_gwets_two_abstractors_to_seven_places() -> None:
    # README of irrCAC: Cohen, Scott, Gwet, Krippendorff
    both = as_pairs(ABSTRACTORS)
    found = [
        cohen_kappa(ABSTRACTORS),
        fleiss_kappa(both),
        gwet_ac(both),
        alpha_of_coincidences(2.0 * both, "nominal"),
    ]
    assert found == pytest.approx([0.7964094, 0.7962397, 0.8493305, 0.7972585], abs=5e-8)


def test_gwet_2014_four_raters_of_fifteen_subjects() -> None:
    # irrCAC, cac.raw.gender
    raters = ("aaaaabbbcaaaaab", "aaaababccaaaaba", "abbcaabbcabbcaa", "ccccaabbcccccaa")
    counts = np.array([[labels.count(label) for label in "abc"] for labels in zip(*raters, strict=True)])
    table = pairs(counts)
    found = [raw_agreement(table), fleiss_kappa(table), gwet_ac(table), krippendorff_alpha(counts, "nominal")]
    assert found == pytest.approx([0.456, 0.129, 0.208, 0.143], abs=5e-4)


def test_where_agreement_is_high_and_kappa_is_not_worked_by_hand() -> None:
    # table of Gwet 2008: 125 subjects, 118 +/+, 5 +/-, 2 -/+, none -/-: observed .944
    table = np.array([[118, 5], [2, 0]])
    # kappa: chance .984 * .96 + .016 * .04 = .94528
    assert float(cohen_kappa(table)) == pytest.approx((0.944 - 0.94528) / (1 - 0.94528))
    # pi: chance .972² + .028² = .945568
    assert float(fleiss_kappa(as_pairs(table))) == pytest.approx((0.944 - 0.945568) / (1 - 0.945568))
    # AC1: chance 2 * .972 * .028 = .054432
    assert float(gwet_ac(as_pairs(table))) == pytest.approx((0.944 - 0.054432) / (1 - 0.054432))


# --- other libraries ----------------------------------------------------------------------------------------------


confusions = st.integers(2, 5).flatmap(lambda k: arrays(np.int64, (k, k), elements=st.integers(0, 6)))
item_counts = st.tuples(st.integers(2, 8), st.integers(2, 5)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 3))
)


@settings(deadline=None)
@given(confusions)
def test_cohen_kappa_is_that_of_scikit_learn(table: NDArray[np.int_]) -> None:
    k = len(table)
    if (table.sum(axis=0) + table.sum(axis=1) > 0).sum() < 2:
        assert np.isnan(cohen_kappa(table))
        return
    first, second = expanded(table)
    for name, weights in ((None, None), ("linear", linear_weights(k)), ("quadratic", quadratic_weights(k))):
        expected = cohen_kappa_score(first, second, labels=range(k), weights=name)
        assert float(cohen_kappa(table, weights)) == pytest.approx(expected, abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(arrays(np.int64, st.tuples(st.integers(2, 12), st.integers(2, 4)), elements=st.integers(0, 2)))
def test_fleiss_kappa_is_that_of_nltk(labels: NDArray[np.int_]) -> None:
    if len(np.unique(labels)) < 2:
        return
    counts = np.stack([(labels == code).sum(axis=1) for code in range(3)], axis=1)
    task = AnnotationTask([(rater, item, int(label)) for (item, rater), label in np.ndenumerate(labels)])
    assert float(fleiss_kappa(pairs(counts))) == pytest.approx(task.pi(), abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(arrays(np.int64, st.tuples(st.integers(2, 10), st.integers(2, 4)), elements=st.integers(0, 2)))
def test_gwets_coefficients_are_those_of_comparing_labels_one_by_one(labels: NDArray[np.int_]) -> None:
    # Gwet 2014: agreement of two raters drawn for an item; chance agreement of a label given at random
    if len(np.unique(labels)) < 2:
        return
    counts = np.stack([(labels == code).sum(axis=1) for code in range(3)], axis=1)
    shares = [np.mean(labels == code) for code in range(3)]
    for weights in (np.eye(3), linear_weights(3), quadratic_weights(3)):
        observed = np.mean([weights[a, b] for row in labels for a, b in permutations(row, 2)])
        chance = weights.sum() / 6 * sum(share * (1 - share) for share in shares)
        assert float(gwet_ac(pairs(counts), weights)) == pytest.approx((observed - chance) / (1 - chance), abs=1e-9)


@settings(deadline=None)
@given(item_counts)
def test_alpha_from_sums_is_that_of_the_krippendorff_library(counts: Counts) -> None:
    values = (0.0, 0.5, 2.0, 3.0, 7.0)[: counts.shape[1]]
    table = coincidences(counts)
    if not table.any() or np.count_nonzero(table.sum(axis=0)) < 2:
        return
    for level in ("nominal", "ordinal", "interval"):
        domain = values if level == "interval" else range(len(values))
        expected = krippendorff.alpha(value_counts=counts, value_domain=domain, level_of_measurement=level)
        assert float(alpha_of_coincidences(table, level, values)) == pytest.approx(expected, abs=1e-9)
        assert krippendorff_alpha(counts, level, values) == pytest.approx(expected, abs=1e-12)


@settings(deadline=None)
@given(arrays(np.int64, st.tuples(st.integers(2, 12), st.just(4)), elements=st.integers(0, 2)))
def test_fleiss_kappa_differs_from_alpha_by_the_correction_for_small_samples_only(labels: NDArray[np.int_]) -> None:
    # all raters label all items: 1 - alpha = (1 - kappa) (1 - 1 / n) with n labels in all (Krippendorff 2004, §3.3)
    counts = np.stack([(labels == code).sum(axis=1) for code in range(3)], axis=1)
    if len(np.unique(labels)) < 2:
        assert np.isnan(fleiss_kappa(pairs(counts)))
        return
    alpha = krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")
    kappa = 1.0 - (1.0 - alpha) / (1.0 - 1.0 / labels.size)
    assert float(fleiss_kappa(pairs(counts))) == pytest.approx(kappa, abs=1e-9)


# --- limits -------------------------------------------------------------------------------------------------------


def test_perfect_agreement_on_two_labels_is_one_everywhere() -> None:
    table = np.array([[3, 0], [0, 7]])
    values = [
        raw_agreement(as_pairs(table)),
        cohen_kappa(table),
        cohen_kappa(table, quadratic_weights(2)),
        fleiss_kappa(as_pairs(table)),
        gwet_ac(as_pairs(table)),
        alpha_of_coincidences(2.0 * as_pairs(table), "nominal"),
    ]
    assert values == pytest.approx([1.0] * 6)


def test_one_label_only_is_undefined_beyond_raw_agreement() -> None:
    table = np.array([[9, 0], [0, 0]])
    assert float(raw_agreement(table)) == 1.0
    for value in (cohen_kappa(table), fleiss_kappa(table), gwet_ac(table), alpha_of_coincidences(table, "nominal")):
        assert np.isnan(value)


def test_an_empty_table_is_undefined() -> None:
    empty = np.zeros((2, 2))
    for value in (raw_agreement(empty), cohen_kappa(empty), fleiss_kappa(empty), gwet_ac(empty)):
        assert np.isnan(value)


def test_many_tables_give_the_values_of_each() -> None:
    tables = np.stack([COHEN, COHEN.T, np.diag([1, 2, 3]), np.diag([4, 0, 0])])
    values = cohen_kappa(tables, linear_weights(3))
    assert values[:3] == pytest.approx([float(cohen_kappa(table, linear_weights(3))) for table in tables[:3]])
    assert np.isnan(values[3])


def test_tables_must_be_square() -> None:
    with pytest.raises(ValueError, match="square"):
        cohen_kappa(np.zeros((2, 3)))
