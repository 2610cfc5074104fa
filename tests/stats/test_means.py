"""Standard errors and intervals against a published example, hand arithmetic and SciPy."""

from __future__ import annotations

import math
import tracemalloc
from typing import Literal

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from judge.stats import Mean, bootstrap_interval, clustered_mean

unit = st.floats(0, 1)


def test_grade_points_of_students_in_suites() -> None:
    # Lohr 1999, Sampling: Design and Analysis, example 5.2: four students in each of five suites; their total over 400
    # students is 1130.4, with an error of 67.16666 where no correction is made for a finite number of suites
    suites = {
        1: [3.08, 2.60, 3.44, 3.04],
        2: [2.36, 3.04, 3.28, 2.68],
        3: [2.00, 2.56, 2.52, 1.88],
        4: [3.00, 2.88, 3.44, 3.64],
        5: [2.68, 1.92, 3.28, 3.20],
    }
    found = clustered_mean(
        [value for values in suites.values() for value in values], [suite for suite in suites for _ in range(4)]
    )
    assert found.mean == pytest.approx(1130.4 / 400)
    assert found.se == pytest.approx(67.16666 / 400, abs=5e-8)


def test_two_clusters_worked_by_hand() -> None:
    # mean 1/2; residual sums +1 and -1; sqrt(2/1 * (1 + 1)) / 4 = 1/2
    assert clustered_mean([1, 1, 0, 0], ["a", "a", "b", "b"]) == Mean(0.5, 0.5, 4, 2)


def test_unequal_clusters_worked_by_hand() -> None:
    # mean 2/3; residual sums (1/3 - 2/3) and 1/3; sqrt(2/1 * 2/9) / 3 = 2/9
    result = clustered_mean([1, 0, 1], ["x", "x", "y"])
    assert result.mean == pytest.approx(2 / 3)
    assert result.se == pytest.approx(2 / 9)


def test_three_clusters_worked_by_hand() -> None:
    # mean 3/6; residual sums +1, 0, -1; sqrt(3/2 * 2) / 6
    result = clustered_mean([1, 1, 1, 0, 0, 0], [1, 1, 2, 2, 3, 3])
    assert result.se == pytest.approx(math.sqrt(3) / 6)


@given(st.lists(unit, min_size=2, max_size=40))
def test_one_item_per_cluster_gives_the_classical_standard_error(values: list[float]) -> None:
    result = clustered_mean(values, range(len(values)))
    assert result.mean == pytest.approx(float(np.mean(values)), abs=1e-12)
    assert result.se == pytest.approx(float(scipy.stats.sem(values)), abs=1e-12)


@given(st.lists(st.tuples(unit, st.integers(0, 4)), min_size=1, max_size=40), st.randoms())
def test_order_of_items_and_names_of_clusters_do_not_matter(items: list[tuple[float, int]], random) -> None:  # type: ignore[no-untyped-def]
    before = clustered_mean([value for value, _ in items], [cluster for _, cluster in items])
    random.shuffle(items)
    after = clustered_mean([value for value, _ in items], [f"article {cluster}" for _, cluster in items])
    assert (after.n, after.n_clusters, after.mean) == (before.n, before.n_clusters, before.mean)
    assert (after.se is None) == (before.se is None)
    assert after.se == pytest.approx(before.se, abs=1e-12) if before.se is not None else after.se is None


def test_agreement_within_clusters_widens_the_error() -> None:
    values = [1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0]
    alone = clustered_mean(values, range(12)).se
    together = clustered_mean(values, [i // 3 for i in range(12)]).se
    assert alone is not None
    assert together is not None
    assert together > 1.5 * alone


def test_too_little_data_is_said_not_invented() -> None:
    assert clustered_mean([], []) == Mean(None, None, 0, 0)
    assert clustered_mean([1.0, 0.0], ["a", "a"]) == Mean(0.5, None, 2, 1)
    assert bootstrap_interval([1.0, 0.0], ["a", "a"], seed=1) is None
    assert bootstrap_interval([], [], seed=1) is None


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_non_finite_values_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        clustered_mean([0.5, bad], ["a", "b"])
    with pytest.raises(ValueError, match="finite"):
        bootstrap_interval([0.5, bad], ["a", "b"], seed=0)


def test_wrong_shapes_and_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="2 values but 1 cluster"):
        clustered_mean([0.5, 0.5], ["a"])
    with pytest.raises(ValueError, match="one-dimensional"):
        clustered_mean([[0.5, 0.5]], ["a", "b"])
    with pytest.raises(ValueError, match="resamples"):
        bootstrap_interval([0.5, 0.5], ["a", "b"], seed=0, resamples=0)
    with pytest.raises(ValueError, match="level"):
        bootstrap_interval([0.5, 0.5], ["a", "b"], seed=0, level=1.0)


def test_bootstrap_draws_whole_clusters() -> None:
    # two clusters: the resampled mean is 0, 1/2 or 1 with probability 1/4, 1/2, 1/4, however many items they have
    values = [1.0] * 50 + [0.0] * 50
    assert bootstrap_interval(values, ["a"] * 50 + ["b"] * 50, seed=3) == (0.0, 1.0)
    item_wise = bootstrap_interval(values, range(100), seed=3)
    assert item_wise is not None
    assert item_wise[1] - item_wise[0] < 0.3


def test_bootstrap_agrees_with_scipy_when_clusters_are_single_items() -> None:
    values = np.random.default_rng(5).beta(2, 1, size=80)
    ours = bootstrap_interval(values, range(80), seed=11, resamples=20_000)
    theirs = scipy.stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(7)
    ).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.003)


def test_bca_agrees_with_scipy_when_clusters_are_single_items() -> None:
    values = np.random.default_rng(5).beta(4, 0.6, size=40)  # skewed, so that it differs from the percentiles
    ours = bootstrap_interval(values, range(40), seed=11, resamples=20_000, method="bca")
    theirs = scipy.stats.bootstrap(
        (values,), np.mean, method="BCa", n_resamples=20_000, rng=np.random.default_rng(7)
    ).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.003)
    plain = bootstrap_interval(values, range(40), seed=11, resamples=20_000)
    assert plain is not None
    assert ours is not None
    assert ours[0] < plain[0] - 0.003  # the tail of low scores is longer


def test_bca_of_symmetric_values_is_almost_the_percentile_interval() -> None:
    values = np.tile([0.0, 0.25, 0.75, 1.0], 15)
    bca = bootstrap_interval(values, range(60), seed=4, resamples=20_000, method="bca")
    assert bca == pytest.approx(bootstrap_interval(values, range(60), seed=4, resamples=20_000), abs=0.005)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_values_that_are_all_alike_have_no_bootstrap_interval(method: Literal["percentile", "bca"]) -> None:
    assert bootstrap_interval([0.7] * 20, range(20), seed=0, method=method) is None


def test_bootstrap_is_deterministic_and_depends_on_the_seed() -> None:
    values = np.random.default_rng(2).random(60)
    clusters = [i // 4 for i in range(60)]
    assert bootstrap_interval(values, clusters, seed=4) == bootstrap_interval(values, clusters, seed=4)
    assert bootstrap_interval(values, clusters, seed=4) != bootstrap_interval(values, clusters, seed=5)


def test_wider_level_gives_wider_interval() -> None:
    values = np.random.default_rng(2).random(60)
    narrow = bootstrap_interval(values, range(60), seed=4, level=0.5)
    wide = bootstrap_interval(values, range(60), seed=4, level=0.99)
    assert narrow is not None
    assert wide is not None
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_bootstrap_memory_stays_bounded() -> None:
    values = np.zeros(100_000)
    tracemalloc.start()
    bootstrap_interval(values, range(100_000), seed=0, resamples=100)  # 10 million draws, 80 MB if drawn at once
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 75_000_000
