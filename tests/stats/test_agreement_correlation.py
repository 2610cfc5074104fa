"""Rank correlations of a judge and a person against published examples, hand arithmetic and SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.stats import Correlation, correlation, few_clusters


def of(x: list[float | None], y: list[float | None]) -> Correlation:
    return correlation({"judge": dict(enumerate(x)), "human": dict(enumerate(y))}, lambda item: item)


def test_hours_of_television_by_intelligence_quotient() -> None:
    # example of "Spearman's rank correlation coefficient" of Wikipedia: rho = -29/165
    quotient = [106, 100, 86, 101, 99, 103, 97, 113, 112, 110]
    hours = [7, 27, 2, 50, 28, 29, 20, 12, 6, 17]
    assert of(list(quotient), list(hours)).spearman.value == pytest.approx(-29 / 165)


def test_the_quality_of_canned_tuna() -> None:
    # Hollander & Wolfe 1973, p. 187 f.: tau = .4444
    lightness = [44.4, 45.9, 41.9, 53.3, 44.7, 44.1, 50.7, 45.2, 60.1]
    quality = [2.6, 3.1, 2.5, 5.0, 3.6, 4.0, 5.2, 2.8, 3.8]
    assert of(list(lightness), list(quality)).kendall.value == pytest.approx(0.4444444, abs=5e-8)


def test_ties_as_in_the_manual_of_scipy() -> None:
    # examples of scipy.stats.kendalltau and scipy.stats.spearmanr
    assert of([12, 2, 1, 12, 2], [1, 4, 7, 1, 0]).kendall.value == pytest.approx(-0.47140452079103173)
    assert of([1, 2, 3, 4, 5], [5, 6, 7, 8, 7]).spearman.value == pytest.approx(0.8207826816681233)


def test_ranks_worked_by_hand() -> None:
    found = of([1, 2, 3, 4], [10, 30, 20, 40])
    # rho = 1 - 6 * (0 + 1 + 1 + 0) / (4 * 15); tau = (5 concordant - 1 discordant) / 6
    assert found.spearman.value == pytest.approx(0.8)
    assert found.kendall.value == pytest.approx(4 / 6)


def test_ties_worked_by_hand() -> None:
    found = of([1, 1, 2, 3], [1, 2, 2, 3])
    # of 6 pairs one is tied in x and another in y; the other 4 concord: 4 / sqrt(5 * 5)
    assert found.kendall.value == pytest.approx(4 / 5)
    # mean ranks 1.5 1.5 3 4 and 1 2.5 2.5 4, less 2.5: 1.5 + 0 + 0 + 2.25 over 1 + 1 + .25 + 2.25
    assert found.spearman.value == pytest.approx(3.75 / 4.5)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 4)), min_size=3, max_size=25))
def test_values_are_those_of_scipy(pairs: list[tuple[float, int]]) -> None:
    x, y = [a for a, _ in pairs], [float(b) for _, b in pairs]
    found = of(list(x), list(y))
    if len(set(x)) < 2 or len(set(y)) < 2:
        assert (found.spearman.value, found.kendall.value) == (None, None)
        assert (found.spearman.reason, found.kendall.reason) == ("constant", "constant")
        return
    assert found.spearman.value == pytest.approx(scipy.stats.spearmanr(x, y).statistic, abs=1e-9)
    assert found.kendall.value == pytest.approx(scipy.stats.kendalltau(x, y, variant="b").statistic, abs=1e-9)


def test_the_intervals_are_those_of_a_jackknife_by_hand() -> None:
    rng = np.random.default_rng(7)
    x = {(g, i): float(rng.integers(4)) for g in range(15) for i in range(1 + g % 3)}
    y = {item: value + float(rng.integers(3)) for item, value in x.items()}
    # items come in another order than their cases
    shuffled = [list(x)[index] for index in rng.permutation(len(x))]
    found = correlation({"judge": {item: x[item] for item in shuffled}, "human": y}, lambda item: item[0])

    def by_hand(measure: Callable[..., Any]) -> tuple[float, float]:
        def without(gone: int | None) -> float:
            kept = [item for item in x if item[0] != gone]
            return float(measure([x[item] for item in kept], [y[item] for item in kept]).statistic)

        value = without(None)
        error = np.sqrt(14 / 15 * sum((without(g) - value) ** 2 for g in range(15)))
        # 30 items in clusters of 1, 2 and 3, five of each, count as 30² / (5 + 20 + 45) = 12.9 clusters
        reach = scipy.stats.t.ppf(0.975, 11) * error / (1 - value**2)
        return float(np.tanh(np.arctanh(value) - reach)), float(np.tanh(np.arctanh(value) + reach))

    assert found.spearman.interval == pytest.approx(by_hand(scipy.stats.spearmanr))
    assert found.kendall.interval == pytest.approx(by_hand(scipy.stats.kendalltau))


def test_the_interval_in_many_clusters_is_that_of_a_bootstrap() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=300)
    y = x + rng.normal(size=300)
    found = of(x.tolist(), y.tolist()).spearman
    drawn = scipy.stats.bootstrap(
        (x, y),
        lambda a, b: scipy.stats.spearmanr(a, b).statistic,
        paired=True,
        vectorized=False,
        n_resamples=2000,
        method="percentile",
        rng=np.random.default_rng(4),
    ).confidence_interval
    assert found.interval == pytest.approx(tuple(drawn), abs=0.015)


def test_many_items_go_by_blocks() -> None:
    rng = np.random.default_rng(1)
    x = rng.random(700)
    y = x + rng.random(700)
    found = correlation(
        {"a": dict(enumerate(x.tolist())), "b": dict(enumerate(y.tolist()))},
        lambda item: item % 90,
    )
    assert found.kendall.value == pytest.approx(scipy.stats.kendalltau(x, y).statistic)
    assert found.spearman.value == pytest.approx(scipy.stats.spearmanr(x, y).statistic)
    assert found.kendall.n_clusters == 90


def test_missing_ratings_are_left_out_and_counted() -> None:
    found = of([1, 2, None, 4, 5], [1, None, 3, 5, 4]).spearman
    assert (found.n_items, found.n_missing) == (3, {"judge": 1, "human": 1})
    assert found.value == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [([1, None], [None, 2], "no_overlap"), ([1, 2], [1, 2], "too_few_items"), ([1, 1, 1], [1, 2, 3], "constant")],
)
def test_what_has_no_value_says_why(x: list[float | None], y: list[float | None], reason: str) -> None:
    for found in (of(x, y).spearman, of(x, y).kendall):
        assert (found.value, found.interval, found.reason, found.interval_reason) == (None, None, reason, "no_value")


def test_a_rating_that_varies_in_one_cluster_only_leaves_no_interval() -> None:
    found = of([0, 0, 0, 1], [1, 2, 4, 3])
    for estimate in (found.spearman, found.kendall):
        assert estimate.value is not None
        assert (estimate.interval, estimate.interval_reason) == (None, "one_cluster_decides")


@pytest.mark.parametrize("sign", [1, -1])
def test_equal_ranks_have_no_interval_of_width_zero(sign: int) -> None:
    found = of(list(range(12)), [sign * number for number in range(12)])
    for estimate in (found.spearman, found.kendall):
        assert estimate.value == pytest.approx(sign)
        assert (estimate.interval, estimate.interval_reason) == (None, "no_variation")


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 8)), min_size=3, max_size=25))
def test_intervals_lie_about_the_value_and_within_the_range(rated: list[tuple[int, int, int]]) -> None:
    x, y = {i: a for i, (a, _, _) in enumerate(rated)}, {i: b for i, (_, b, _) in enumerate(rated)}
    found = correlation({"a": x, "b": y}, lambda item: rated[item][2])
    assert found == correlation({"a": x, "b": y}, lambda item: rated[item][2])
    for estimate in (found.spearman, found.kendall):
        assert (estimate.interval is None) == bool(estimate.interval_reason)
        if estimate.interval is not None and estimate.value is not None:
            assert -1.0 <= estimate.interval[0] <= estimate.value <= estimate.interval[1] <= 1.0


def test_few_clusters_carry_a_warning() -> None:
    assert of([1, 2, 3, 4], [1, 3, 2, 4]).kendall.note == few_clusters(4)
    assert of(list(range(10)), [1, 0, *range(2, 10)]).kendall.note == ""


def test_one_case_has_no_interval() -> None:
    labels = {"a": {0: 1, 1: 2, 2: 3}, "b": {0: 1, 1: 3, 2: 2}}
    found = correlation(labels, lambda _: "case").kendall
    assert found.value == pytest.approx(1 / 3)
    assert (found.interval, found.interval_reason) == (None, "one_cluster")


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), True, "3"])
def test_ratings_that_are_no_finite_numbers_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match=r"the rating .* of a for 0 is no finite number"):
        correlation({"a": {0: bad}, "b": {0: 1}}, lambda item: item)


def test_a_correlation_is_of_two_raters() -> None:
    with pytest.raises(ValueError, match="two raters, got a, b, c"):
        correlation({"a": {0: 1}, "b": {0: 1}, "c": {0: 1}}, lambda item: item)
