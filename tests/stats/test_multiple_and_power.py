"""Holm's correction and detectable differences against hand arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.stats import clusters_needed, detectable_difference, holm


def test_holm_worked_by_hand() -> None:
    # .005 * 4, .01 * 3, then .03 * 2 = .06, and .04 * 1 = .04, which cannot be less than the one before
    found = holm([0.01, 0.04, 0.03, 0.005])
    assert found.adjusted == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert found.n == 4


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
