"""Holm's correction and detectable differences against published examples and hand arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
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
    # differences of sd 1 about 0 in 100 clusters: (1.95996 + .84162) / 10
    values = np.tile([-1.0, 1.0], 50) * np.sqrt(99 / 100)
    found = detectable_difference(values, range(100))
    assert found.sd == pytest.approx(1.0)
    assert found.difference == pytest.approx(0.280158, abs=1e-6)
    assert (found.n, found.n_clusters, found.power, found.alpha) == (100, 100, 0.8, 0.05)


def test_the_sample_size_of_a_textbook() -> None:
    # Chow, Shao & Wang 2008, p. 51: a difference of .5 at a standard deviation of 1 needs 31.39552, so 32
    assert clusters_needed(0.5, 1.0) == 32
    found = detectable_difference(np.tile([-1.0, 1.0], 16) * np.sqrt(31 / 32), range(32))
    assert found.difference == pytest.approx(0.5 * np.sqrt(31.39552 / 32), abs=1e-7)


def test_items_that_agree_within_their_cluster_count_for_less() -> None:
    values = np.repeat([-1.0, 1.0] * 10, 5)
    together = detectable_difference(values, [item // 5 for item in range(100)]).difference
    alone = detectable_difference(values, range(100)).difference
    assert together is not None
    assert alone is not None
    assert together == pytest.approx(alone * np.sqrt(5), rel=0.05)


def test_clusters_needed_worked_by_hand() -> None:
    # (2.80159 * .5 / .1)² = 196.2
    assert clusters_needed(0.1, 0.5) == 197
    # at power .9: (1.95996 + 1.28155)² * 4 = 42.03
    assert clusters_needed(-1.0, 2.0, power=0.9) == 43


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
