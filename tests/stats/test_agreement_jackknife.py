"""The jackknife over clusters, on coefficients whose error is known otherwise."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from judge.stats import REASONS
from judge.stats.coefficients import gwet_ac, least_gwet_ac, linear_weights, quadratic_weights
from judge.stats.jackknife import jackknife_interval, without_each


def mean_without_each(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray((values.sum() - values) / (len(values) - 1))


def test_of_a_mean_the_error_is_the_classical_one() -> None:
    values = np.random.default_rng(1).beta(2, 3, size=20)
    mean, error = values.mean(), scipy.stats.sem(values)
    reach = scipy.stats.t.ppf(0.95, 19) * error / (mean * (1 - mean))
    expected = scipy.special.expit(scipy.special.logit(mean) + np.array([-reach, reach]))
    ends, _ = jackknife_interval(
        float(mean), mean_without_each(values), np.ones(20, dtype=np.intp), least=0.0, level=0.9
    )
    assert ends == pytest.approx(tuple(expected))


@settings(deadline=None)
@given(
    st.lists(st.floats(-1, 1), min_size=2, max_size=12),
    st.sampled_from([-3.0, -1.0, 0.0]),
    st.integers(1, 9),
)
def test_the_ends_enclose_the_value_within_the_range(values: list[float], least: float, size: int) -> None:
    of_clusters = np.array(values) / 2 + 0.5
    value = float(of_clusters.mean())
    ends, reason = jackknife_interval(
        value, mean_without_each(of_clusters), np.full(len(values), size, dtype=np.intp), least=least
    )
    assert (ends is None) == (reason in REASONS)
    if ends is not None:
        assert least <= ends[0] <= value + 1e-12
        assert value - 1e-12 <= ends[1] <= 1.0


@pytest.mark.parametrize(
    ("value", "left_out", "reason"),
    [
        (0.5, [0.5], "one_cluster"),
        (0.5, [0.4, np.nan, 0.6], "one_cluster_decides"),
        (0.5, [0.5, 0.5, 0.5], "no_variation"),
        (1.0, [1.0, 1.0, 0.9], "no_variation"),
        (-1.0, [-1.0, -1.0, -0.9], "no_variation"),
    ],
)
def test_what_has_no_interval_says_why(value: float, left_out: list[float], reason: str) -> None:
    sizes = np.ones(len(left_out), dtype=np.intp)
    assert jackknife_interval(value, np.array(left_out), sizes) == (None, reason)


def test_a_cluster_with_most_items_leaves_few_degrees_of_freedom() -> None:
    left_out = np.random.default_rng(2).normal(0.5, 0.01, size=20)
    equal, _ = jackknife_interval(0.5, left_out, np.full(20, 5, dtype=np.intp))
    unequal, _ = jackknife_interval(0.5, left_out, np.array([1] * 19 + [81], dtype=np.intp))
    assert equal is not None
    assert unequal is not None
    # 20 clusters have 19 degrees of freedom; 100² / (19 + 81²) = 1.5 clusters have one
    ratio = scipy.stats.t.ppf(0.975, 1) / scipy.stats.t.ppf(0.975, 19)
    assert np.ptp(np.arctanh(unequal)) == pytest.approx(ratio * np.ptp(np.arctanh(equal)))


@pytest.mark.parametrize(("clusters", "width"), [(5, 1), (5, 900_000), (5, 10**9), (1, 4), (0, 0)])
def test_each_cluster_is_left_out_once_whatever_the_blocks(clusters: int, width: int) -> None:
    found = [np.empty((0, clusters)), *without_each(clusters, width)]
    assert np.array_equal(np.concatenate(found), 1.0 - np.eye(clusters))


@settings(deadline=None)
@given(st.integers(2, 4), st.sampled_from(["nominal", "linear", "quadratic"]), st.data())
def test_gwets_coefficients_are_never_below_their_least(k: int, kind: str, data: st.DataObject) -> None:
    weights = {"nominal": np.eye(k), "linear": linear_weights(k), "quadratic": quadratic_weights(k)}[kind]
    cells = data.draw(st.lists(st.integers(0, 20), min_size=k * k, max_size=k * k))
    table = np.array(cells, dtype=np.float64).reshape(k, k)
    value = float(gwet_ac(table + table.T, weights))
    assert np.isnan(value) or value >= least_gwet_ac(weights) - 1e-12


def test_the_least_of_ac1_for_two_labels_is_that_of_never_agreeing() -> None:
    assert least_gwet_ac(np.eye(2)) == float(gwet_ac([[0, 5], [5, 0]])) == -1.0
