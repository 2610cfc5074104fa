"""The interval that reports show: a published table, hand arithmetic, SciPy, how often it covers the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from judge.stats import REASONS, bootstrap_interval, few_clusters, mean_interval


def test_without_a_range_and_with_single_items_it_is_the_t_interval_with_hc3_errors() -> None:
    values = np.random.default_rng(3).normal(size=25)
    found = mean_interval(values, range(25), None)
    # HC3 of a mean: every residual over (1 - 1/n), so the classical error times sqrt(n / (n - 1))
    expected = scipy.stats.t.interval(0.95, 24, values.mean(), scipy.stats.sem(values) * math.sqrt(25 / 24))
    assert (found.method, found.n, found.n_clusters) == ("t", 25, 25)
    assert found.ends == pytest.approx(expected)


def test_unequal_clusters_worked_by_hand() -> None:
    # clusters of 2 and 1: mean 2/3, residual sums -1/3 and 1/3, over 1 - 2/3 and 1 - 1/3: -1 and 1/2
    # se = sqrt(1 + 1/4) / 3; t(.975; 1) = 12.7062; logit 2/3 = log 2; mean (1 - mean) = 2/9
    reach = 12.7062 * math.sqrt(1.25) / 3 / (2 / 9)
    expected = [1 / (1 + math.exp(-(math.log(2) + sign * reach))) for sign in (-1, 1)]
    assert mean_interval([1, 0, 1], ["x", "x", "y"]).ends == pytest.approx(expected, rel=1e-4)


def test_unequal_clusters_count_for_fewer() -> None:
    # clusters of 3, 1, 1 and 1: 6² / (9 + 1 + 1 + 1) = 3 effective clusters, 2 degrees of freedom; mean 3
    # residual sums -3, 0, 1, 2 over 1 - 3/6 and 1 - 1/6: -6, 0, 1.2, 2.4; se = sqrt(36 + 1.44 + 5.76) / 6
    found = mean_interval([1, 2, 3, 3, 4, 5], ["a", "a", "a", "b", "c", "d"], None)
    reach = 4.30265 * math.sqrt(43.2) / 6
    assert found.ends == pytest.approx((3 - reach, 3 + reach), rel=1e-5)


def test_it_goes_with_the_unit_of_the_score() -> None:
    values, clusters = np.array([0.2, 0.5, 0.5, 0.9, 1.0, 0.1]), [1, 1, 2, 2, 3, 4]
    unit, likert = mean_interval(values, clusters).ends, mean_interval(1 + 4 * values, clusters, (1.0, 5.0)).ends
    assert unit is not None
    assert likert == pytest.approx((1 + 4 * unit[0], 1 + 4 * unit[1]))


def test_all_right_gives_the_exact_interval_of_so_many_clusters_not_a_width_of_0() -> None:
    found = mean_interval([1.0] * 90, [case // 3 for case in range(90)])
    theirs = scipy.stats.binomtest(30, 30).proportion_ci(method="exact")
    assert found.method == "exact"
    assert found.ends == pytest.approx((theirs.low, theirs.high))
    thirds = [case // 3 for case in range(90)]
    assert mean_interval([0.0] * 90, thirds).ends == pytest.approx((0.0, 1 - theirs.low))
    assert mean_interval([-1.0] * 90, thirds, (-1.0, 1.0)).ends == pytest.approx((-1.0, 1 - 2 * theirs.low))


def test_single_cases_all_right_or_all_wrong_have_the_interval_of_their_count() -> None:
    # mid-p: half of p^30 is .025
    least = 0.05 ** (1 / 30)
    found = mean_interval([1.0] * 30, range(30))
    assert found.method == "mid_p"
    assert found.ends == pytest.approx((least, 1.0))
    assert mean_interval([0.0] * 30, range(30)).ends == pytest.approx((0.0, 1 - least))
    assert mean_interval([-1.0] * 30, range(30), (-1.0, 1.0)).ends == pytest.approx((-1.0, 1 - 2 * least))


def test_what_does_not_vary_otherwise_has_no_interval() -> None:
    for found in (
        mean_interval([0.5] * 12, range(12)),
        mean_interval([1.0, 0.0] * 12, [case // 2 for case in range(24)]),  # every cluster has one of two right
        mean_interval([3.0] * 12, range(12), None),
    ):
        assert (found.ends, found.reason) == (None, "no_variation")


@pytest.mark.parametrize(("right", "n"), [(1, 30), (15, 30), (29, 30), (61, 90)])
def test_single_cases_right_or_wrong_have_the_interval_of_their_count(right: int, n: int) -> None:
    found = mean_interval(np.arange(n) < right, range(n))
    assert found.method == "mid_p"
    assert found.ends is not None
    low, high = found.ends
    for p, tail in ((low, 0.025), (high, 0.975)):
        as_many = scipy.stats.binom.sf(right, n, p) + scipy.stats.binom.pmf(right, n, p) / 2
        assert as_many == pytest.approx(tail, abs=1e-9)


@pytest.mark.parametrize(
    ("right", "n", "ends"),
    [(81, 263, (0.2544, 0.3658)), (15, 148, (0.0601, 0.1581)), (0, 20, (0, 0.1391)), (1, 29, (0.0017, 0.1585))],
)
def test_mid_p_interval_in_the_table_of_newcombe(right: int, n: int, ends: tuple[float, float]) -> None:
    # Newcombe 1998, Stat. Med. 17:857-872, table I, method 6
    assert mean_interval(np.arange(n) < right, range(n)).ends == pytest.approx(ends, abs=5e-5)


@pytest.mark.parametrize(
    ("values", "clusters", "reason"), [([], [], "no_items"), ([0.2, 0.8], ["a", "a"], "one_cluster")]
)
def test_too_little_data_is_said(values: list[float], clusters: list[str], reason: str) -> None:
    found = mean_interval(values, clusters)
    assert (found.ends, found.reason) == (None, reason)
    assert reason in REASONS


def test_few_clusters_carry_a_warning() -> None:
    assert mean_interval([0, 1] * 5, range(10)).note == ""
    assert "only 9 clusters" in mean_interval([0, 1] * 4 + [1], range(9)).note
    assert few_clusters(2) == mean_interval([0, 1], range(2)).note


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 6)), min_size=1, max_size=40))
def test_it_lies_within_the_range_and_around_the_mean_or_is_not_there(items: list[tuple[float, int]]) -> None:
    found = mean_interval([value for value, _ in items], [cluster for _, cluster in items])
    if found.ends is None:
        assert found.reason in REASONS
        return
    low, high = found.ends
    mean = math.fsum(value for value, _ in items) / len(items)
    assert 0.0 <= low <= mean + 1e-9
    assert mean - 1e-9 <= high <= 1.0


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="must lie in"):
        mean_interval([0.5, 1.5], range(2))
    with pytest.raises(ValueError, match="level"):
        mean_interval([0.5, 1.0], range(2), level=1.0)
    with pytest.raises(ValueError, match="finite"):
        mean_interval([0.5, math.nan], range(2))


def test_it_covers_low_rates_in_30_cases_where_the_bootstrap_does_not() -> None:
    # exact, from the binomial distribution of 30 independent cases; averaged over rates, since counts are whole numbers
    rates = np.linspace(0.05, 0.25, 41)
    covered, drawn = np.zeros(41), np.zeros(41)
    for successes in range(31):
        values, probability = np.arange(30) < successes, scipy.stats.binom.pmf(successes, 30, rates)
        for shares, ends in (
            (covered, mean_interval(values, range(30)).ends),
            (drawn, bootstrap_interval(values, range(30), seed=successes)),
        ):
            if ends is not None:
                shares += probability * (ends[0] <= rates) * (rates <= ends[1])
    assert 0.94 <= covered.mean() <= 0.97
    assert covered.min() >= 0.92
    assert drawn.mean() < 0.92


@pytest.mark.parametrize(("rate", "correlation"), [(0.1, 0.1), (0.9, 0.5), (0.5, 0.3)])
def test_it_covers_the_rate_of_30_clusters_about_as_often_as_it_says(rate: float, correlation: float) -> None:
    rng = np.random.default_rng(5)
    spread = (1 - correlation) / correlation
    covered = 0
    for _ in range(600):
        clusters = np.repeat(np.arange(30), rng.integers(8, 17, 30))
        rates = rng.beta(rate * spread, (1 - rate) * spread, 30)
        ends = mean_interval(rng.random(len(clusters)) < rates[clusters], clusters.tolist()).ends
        covered += ends is not None and ends[0] <= rate <= ends[1]
    assert 0.915 <= covered / 600 <= 0.975  # .935 to .96 by long simulation, with a standard deviation of .009
