"""Rank correlations of a judge and a person against published examples, hand arithmetic and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.stats import Correlation, correlation


def of(x: list[float | None], y: list[float | None], seed: int = 0, resamples: int = 50) -> Correlation:
    return correlation(
        {"judge": dict(enumerate(x)), "human": dict(enumerate(y))}, lambda item: item, seed=seed, resamples=resamples
    )


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


def test_the_intervals_are_those_of_drawing_items_cluster_by_cluster() -> None:
    rng = np.random.default_rng(7)
    x = {(g, i): float(rng.integers(4)) for g in range(15) for i in range(1 + g % 3)}
    y = {item: value + float(rng.integers(3)) for item, value in x.items()}
    # items come in another order than their cases
    shuffled = [list(x)[index] for index in rng.permutation(len(x))]
    found = correlation(
        {"judge": {item: x[item] for item in shuffled}, "human": y}, lambda item: item[0], seed=3, resamples=200
    )
    order = list(dict.fromkeys(item[0] for item in shuffled))
    members = {g: [item for item in x if item[0] == g] for g in order}
    spearman, kendall = [], []
    for row in np.random.default_rng(3).integers(15, size=(200, 15)):
        items = [item for code in row for item in members[order[code]]]
        a, b = [x[item] for item in items], [y[item] for item in items]
        spearman.append(scipy.stats.spearmanr(a, b).statistic)
        kendall.append(scipy.stats.kendalltau(a, b).statistic)
    assert found.spearman.interval == pytest.approx(tuple(np.quantile(spearman, [0.025, 0.975])))
    assert found.kendall.interval == pytest.approx(tuple(np.quantile(kendall, [0.025, 0.975])))


def test_many_items_go_by_blocks() -> None:
    rng = np.random.default_rng(1)
    x = rng.random(700)
    y = x + rng.random(700)
    found = correlation(
        {"a": dict(enumerate(x.tolist())), "b": dict(enumerate(y.tolist()))},
        lambda item: item % 90,
        seed=0,
        resamples=5,
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


def test_draws_with_a_constant_rater_are_counted() -> None:
    # a draw without item 2, of three items with probability (2/3)³, has one rating by the judge only
    found = of([0, 0, 1], [1, 2, 3], resamples=2000).spearman
    single = 1 / 27  # all three draws are item 2
    assert found.n_undefined == pytest.approx(2000 * (8 / 27 + single), abs=80)


def test_one_case_has_no_interval() -> None:
    labels = {"a": {0: 1, 1: 2, 2: 3}, "b": {0: 1, 1: 3, 2: 2}}
    found = correlation(labels, lambda _: "case", seed=0).kendall
    assert found.value == pytest.approx(1 / 3)
    assert (found.interval, found.interval_reason) == (None, "one_cluster")


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), True, "3"])
def test_ratings_that_are_no_finite_numbers_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match=r"the rating .* of a for 0 is no finite number"):
        correlation({"a": {0: bad}, "b": {0: 1}}, lambda item: item, seed=0)


def test_a_correlation_is_of_two_raters() -> None:
    with pytest.raises(ValueError, match="two raters, got a, b, c"):
        correlation({"a": {0: 1}, "b": {0: 1}, "c": {0: 1}}, lambda item: item, seed=0)
