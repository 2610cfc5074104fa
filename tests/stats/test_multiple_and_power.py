"""Holm's correction and detectable differences against published examples and hand arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from judge.stats import clusters_needed, detectable_difference, holm


def test_holm_of_four_hypotheses() -> None:
    # example of "Holm-Bonferroni method" of Wikipedia: of four, the fourth and the first are rejected at .05
    found = holm([0.01, 0.04, 0.03, 0.005])
    assert [p is not None and p <= 0.05 for p in found.adjusted] == [True, False, False, True]
    # .005 * 4, .01 * 3, then .03 * 2 = .06, and .04 * 1 = .04, which cannot be less than the one before
    assert found.adjusted == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert found.n == 4


@pytest.mark.parametrize(
    ("p_values", "adjusted"),
    [
        (
            [0.001, 0.002, 0.003, 0.004, 0.005, 0.05, 0.06, 0.07, 0.08, 0.09],
            [0.01, 0.018, 0.024, 0.028, 0.03, 0.25, 0.25, 0.25, 0.25, 0.25],
        ),
        ([0.002, 0.004, 0.006, 0.008, 0.01, 0.012], [0.012, 0.02, 0.024, 0.024, 0.024, 0.024]),
        (
            [
                *(5.23656777208e-05, 0.00028140506198, 0.0149877310796, 0.0202732688798, 0.177096952723),
                *(0.642193923795, 0.680845947633, 0.71626938238, 0.838541367553, 0.967833824309),
            ],
            [0.000523656777208, 0.00253264555782, 0.1199018486368, 0.1419128821586, 1, 1, 1, 1, 1, 1],
        ),
    ],
)
def test_holm_as_computed_by_mt_rawp2adjp(p_values: list[float], adjusted: list[float]) -> None:
    # R's multtest; figures recorded in statsmodels, stats/tests/test_multi.py
    assert holm(p_values).adjusted == pytest.approx(adjusted, rel=1e-9)


def test_holm_as_in_the_manual_of_pingouin() -> None:
    # example of pingouin.multicomp, in no order
    assert holm([0.50, 0.003, 0.32, 0.054, 0.0003]).adjusted == pytest.approx((0.64, 0.012, 0.64, 0.162, 0.0015))


def test_holm_leaves_out_tests_that_could_not_be_made() -> None:
    found = holm([None, 0.02, 0.9, None])
    assert found.adjusted == (None, pytest.approx(0.04), pytest.approx(0.9), None)
    assert found.n == 2
    assert holm([]).adjusted == ()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.floats(0.001, 0.5))
def test_holm_rejects_what_stepping_down_rejects(p_values: list[float], alpha: float) -> None:
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    rejected = set()
    for step, place in enumerate(order):
        if p_values[place] * (len(order) - step) > alpha:
            break
        rejected.add(place)
    adjusted = holm(p_values).adjusted
    assert {place for place, p in enumerate(adjusted) if p is not None and p <= alpha} == rejected


def test_p_values_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, 1.2])


def test_a_detectable_difference_worked_by_hand() -> None:
    # differences of sd 1 about 0 in 100 clusters; tables of t with 99 degrees of freedom have 1.9842 and .8453
    values = np.tile([-1.0, 1.0], 50) * np.sqrt(99 / 100)
    found = detectable_difference(values, range(100))
    assert found.sd == pytest.approx(1.0)
    assert found.difference == pytest.approx((1.9842 + 0.8453) / 10, abs=1e-5)
    assert (found.n, found.n_clusters, found.power, found.alpha) == (100, 100, 0.8, 0.05)


@pytest.mark.parametrize("n_clusters", [4, 10, 37, 400])
def test_a_detectable_difference_is_as_much_wider_as_the_t_interval_is(n_clusters: int) -> None:
    values = np.tile([0.0, 1.0], n_clusters // 2 + 1)[:n_clusters]
    found = detectable_difference(values, range(n_clusters), power=0.9, alpha=0.1)
    reach = sum(scipy.stats.t.ppf((0.95, 0.9), n_clusters - 1))
    assert found.difference == pytest.approx(reach * scipy.stats.sem(values), rel=1e-7)


def test_the_sample_size_of_a_paired_t_test() -> None:
    # R: power.t.test(delta = .5, sd = 1, power = .8, type = "paired") gives n = 33.37, so 34
    assert clusters_needed(0.5, 1.0) == 34


@pytest.mark.parametrize("ratio", [0.1, 0.3, 0.5, 0.8, 1.0])
def test_so_many_clusters_have_the_power_of_the_noncentral_t_and_one_less_has_not(ratio: float) -> None:
    needed = clusters_needed(-ratio, 1.0)
    assert power_of_paired_t(needed, ratio) == pytest.approx(0.8, abs=0.025)
    assert power_of_paired_t(needed, ratio) > 0.795
    assert power_of_paired_t(needed - 1, ratio) < 0.8


def power_of_paired_t(n: int, ratio: float) -> float:
    critical, center = scipy.stats.t.ppf(0.975, n - 1), ratio * np.sqrt(n)
    tails = scipy.stats.nct.sf(critical, n - 1, center) + scipy.stats.nct.cdf(-critical, n - 1, center)
    return float(tails)


def test_the_clusters_needed_are_the_fewest_of_which_the_difference_is_detectable() -> None:
    needed = clusters_needed(0.4, 1.0)
    for n_clusters, found in ((needed, True), (needed - 1, False)):
        sd_of_one = np.tile([-1.0, 1.0], n_clusters)[:n_clusters]
        values = (sd_of_one - sd_of_one.mean()) / sd_of_one.std(ddof=1)
        least = detectable_difference(values, range(n_clusters)).difference
        assert least is not None
        assert (least <= 0.4) == found


def test_items_that_agree_within_their_cluster_count_for_less() -> None:
    values = np.repeat([-1.0, 1.0] * 10, 5)
    together = detectable_difference(values, [item // 5 for item in range(100)]).difference
    alone = detectable_difference(values, range(100)).difference
    assert together is not None
    assert alone is not None
    assert together == pytest.approx(alone * np.sqrt(5), rel=0.1)


def test_a_large_difference_needs_two_clusters_at_least() -> None:
    assert clusters_needed(1000.0, 1.0) == 2


@pytest.mark.parametrize(
    ("values", "clusters", "reason"),
    [([], [], "no_items"), ([1.0, 0.0], ["x", "x"], "one_cluster"), ([0.0] * 3, range(3), "no_variation")],
)
def test_an_unknown_spread_gives_no_difference(values: list[float], clusters: list[str], reason: str) -> None:
    found = detectable_difference(values, clusters)
    assert (found.difference, found.sd, found.reason) == (None, None, reason)


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="power and alpha"):
        detectable_difference([0.0, 1.0], range(2), power=1.0)
    with pytest.raises(ValueError, match="sd above 0"):
        clusters_needed(0.1, 0.0)
