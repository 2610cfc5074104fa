"""Two models on the same cases: published tables, hand arithmetic, SciPy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from judge.stats import REASONS, mcnemar, paired, pairwise
from judge.stats.draws import expanded_interval, two_sided_p


def own(case: int) -> int:
    return case


def two(x: list[float | None], y: list[float | None]) -> dict[str, dict[int, float | None]]:
    return {"a": dict(enumerate(x)), "b": dict(enumerate(y))}


def test_mcnemar_of_the_approval_ratings() -> None:
    # Agresti 1990, Categorical Data Analysis, p. 350, as computed by R's mcnemar.test without and with correction
    found = mcnemar(794, 150, 86, 570)
    assert found.chi_square == pytest.approx(17.3559, abs=5e-5)
    assert found.p == pytest.approx(3.099e-05, abs=5e-9)
    assert found.chi_square_corrected == pytest.approx(16.818, abs=5e-4)
    assert found.p_corrected == pytest.approx(4.115e-05, abs=5e-9)
    assert found.n == 1600


def test_mcnemar_of_responses_before_and_after_consolidation() -> None:
    # Fagerland, Lydersen & Laake 2017, Statistical Analysis of Contingency Tables, chapter 8 (data of Cavo et al. 2012)
    found = mcnemar(59, 6, 16, 80)
    assert found.chi_square == pytest.approx(2.132**2, abs=0.003)
    assert found.p == pytest.approx(0.033006, abs=5e-7)
    assert found.chi_square_corrected == pytest.approx(1.919**2, abs=0.003)
    assert found.p_corrected == pytest.approx(0.055009, abs=5e-7)
    assert found.p_exact == pytest.approx(0.052479, abs=5e-7)


@given(st.integers(0, 60), st.integers(1, 60))
def test_mcnemars_p_values_are_those_of_scipy(first_only: int, second_only: int) -> None:
    found = mcnemar(3, first_only, second_only, 4)
    discordant = first_only + second_only
    assert found.p == pytest.approx(scipy.stats.chisquare([first_only, second_only]).pvalue)
    assert found.p_corrected == pytest.approx(scipy.stats.chi2.sf(found.chi_square_corrected, 1))
    assert found.p_exact == pytest.approx(scipy.stats.binomtest(first_only, discordant).pvalue)


def test_mcnemar_without_discordant_cases_has_no_chi_square() -> None:
    found = mcnemar(5, 0, 0, 3)
    assert (found.chi_square, found.p, found.p_exact, found.reason) == (None, None, 1.0, "no_discordant")
    assert mcnemar(5, 1, 1, 3).chi_square_corrected == 0.0
    with pytest.raises(ValueError, match="negative"):
        mcnemar(1, -1, 0, 0)


def test_a_comparison_worked_by_hand() -> None:
    found = paired(two([1, 1, 0, 1, None, 0], [0, 1, 1, 0, 1]), own, seed=0)
    # cases 0 to 3 count: a has 3 of 4, b 2 of 4; a wins 0 and 3, loses 2, ties 1
    assert found.means == (0.75, 0.5)
    assert found.difference == 0.25
    assert (found.wins, found.ties, found.losses, found.win_rate) == (2, 1, 1, 0.625)
    assert (found.n, found.n_clusters, found.n_missing) == (4, 4, {"a": 1, "b": 1})
    assert found.mcnemar is not None
    assert (found.mcnemar.both, found.mcnemar.first_only, found.mcnemar.second_only, found.mcnemar.neither) == (
        1,
        2,
        1,
        0,
    )


def test_the_interval_and_p_are_near_those_of_the_paired_t_test() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(0.4, 1.0, 60)
    y = x - rng.normal(0.25, 1.0, 60)
    found = paired(two(x.tolist(), y.tolist()), own, seed=1, resamples=20_000)
    theirs = scipy.stats.ttest_rel(x, y)
    ends = theirs.confidence_interval()
    assert found.interval == pytest.approx((ends.low, ends.high), abs=0.03)
    assert found.p == pytest.approx(theirs.pvalue, abs=0.02)
    assert found.mcnemar is None


def test_two_models_with_the_same_scores_do_not_differ() -> None:
    found = paired(two([1, 0] * 10, [1, 0] * 10), own, seed=0)
    assert (found.difference, found.interval, found.p, found.interval_reason) == (0.0, None, None, "no_variation")
    assert (found.win_rate, found.win_interval.reason) == (0.5, "no_variation")


def test_differences_that_are_all_the_same_have_the_p_of_the_sign_test_over_clusters() -> None:
    alone = paired(two([1] * 20, [0] * 20), own, seed=1)
    assert (alone.interval, alone.interval_reason) == (None, "no_variation")
    assert alone.p == pytest.approx(scipy.stats.binomtest(20, 20).pvalue)
    lost = paired(two([0.25] * 20, [0.75] * 20), lambda case: case // 4, seed=1)
    assert lost.p == pytest.approx(scipy.stats.binomtest(0, 5).pvalue)


def test_cases_of_one_cluster_are_drawn_together() -> None:
    x, y = [1, 1, 1, 0, 0, 0] * 10, [0, 0, 0, 1, 0, 0] * 10
    alone = paired(two(list(x), list(y)), own, seed=1)
    together = paired(two(list(x), list(y)), lambda case: case // 3, seed=1)
    assert alone.interval is not None
    assert together.interval is not None
    assert together.interval[1] - together.interval[0] > 1.4 * (alone.interval[1] - alone.interval[0])


def test_mcnemars_test_is_not_made_where_any_cluster_has_two_cases() -> None:
    x, y = [1, 1, 1, 0, 0, 0] * 10, [0, 0, 0, 1, 0, 0] * 10
    alone = paired(two(list(x), list(y)), own, seed=1).mcnemar
    together = paired(two(list(x), list(y)), lambda case: max(case, 1), seed=1).mcnemar
    assert alone is not None
    assert together is not None
    assert (alone.p_exact, alone.note) == (pytest.approx(scipy.stats.binomtest(30, 40).pvalue), "")
    assert (together.first_only, together.second_only, together.n) == (30, 10, 60)
    tests = (together.chi_square, together.p, together.chi_square_corrected, together.p_corrected, together.p_exact)
    assert tests == (None,) * 5
    assert together.reason == "clustered"
    assert together.reason in REASONS
    assert "60 cases come in 59 clusters" in together.note


@pytest.mark.parametrize(("n_clusters", "warned"), [(3, True), (9, True), (10, False)])
def test_few_clusters_are_warned_of_with_and_without_an_interval(n_clusters: int, warned: bool) -> None:
    x = [float(case % 3 == 0) for case in range(60)]
    found = paired(two(list(x), [0.0] * 60), lambda case: case % n_clusters, seed=0)
    assert (f"only {n_clusters} clusters" in found.note) == warned


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [([1, None], [None, 0], "no_value"), ([1], [0], "one_cluster"), ([1, 1, 0], [0, 1, 0], "too_few_clusters")],
)
def test_what_has_no_interval_says_why(x: list[float | None], y: list[float | None], reason: str) -> None:
    found = paired(two(x, y), own, seed=0)
    assert (found.interval, found.p, found.interval_reason) == (None, None, reason)
    assert (found.difference is None) == (found.reason == "no_overlap")
    assert {reason, "no_overlap"} <= set(REASONS)


def test_p_agrees_with_the_interval_and_is_never_0() -> None:
    rng = np.random.default_rng(0)
    for shift, n_clusters in itertools.product((0.0, 1.8, 2.0, 2.2, 9.0), (8, 30, 200)):
        draws = rng.normal(shift, 1.0, 4000)
        interval, _ = expanded_interval(draws, n_clusters, 0.95)
        p = two_sided_p(draws, n_clusters)
        assert interval is not None
        assert p > 0.0
        if abs(p - 0.05) > 0.002:
            assert (p < 0.05) == (interval[0] > 0.0)


def test_the_expanded_interval_of_normal_draws_is_the_t_interval() -> None:
    # a bootstrap of G clusters has a spread of se sqrt((G - 1) / G)
    n_clusters, se = 12, 1.0
    draws = scipy.stats.norm.ppf((np.arange(200_000) + 0.5) / 200_000) * se * math.sqrt(11 / 12)
    interval, _ = expanded_interval(draws, n_clusters, 0.95)
    assert interval == pytest.approx(scipy.stats.t.interval(0.95, 11), abs=0.01)


def test_equal_models_are_told_apart_about_as_often_as_alpha_says() -> None:
    rng = np.random.default_rng(8)
    found = 0
    for seed in range(200):
        rates = rng.beta(2, 2, 20)
        x, y = rng.random((2, 20, 3)) < rates[:, None]
        p = paired(two(list(map(float, x.ravel())), list(map(float, y.ravel()))), lambda case: case // 3, seed=seed,
                   resamples=500).p  # fmt: skip
        found += p is not None and p <= 0.05
    assert found <= 22  # 10 of 200 expected, with a standard deviation of 3.1


def test_all_pairs_are_corrected_for_their_number() -> None:
    rng = np.random.default_rng(2)
    scores = {name: dict(enumerate((rng.random(60) < rate).astype(float).tolist()))
              for name, rate in (("a", 0.8), ("b", 0.5), ("c", 0.5))}  # fmt: skip
    found = pairwise(scores, own, seed=0)
    assert [pair.models for pair in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    smallest = min(found, key=lambda pair: pair.p or 1.0)
    assert smallest.p is not None
    assert smallest.p_holm == pytest.approx(3 * smallest.p)
    alone = paired({"a": scores["a"], "b": scores["b"]}, own, seed=0)
    assert (alone.p, alone.interval, alone.p_holm) == (found[0].p, found[0].interval, found[0].p)


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ValueError, match="two models, got a"):
        paired({"a": {0: 1.0}}, own, seed=0)
    with pytest.raises(ValueError, match="at least two models"):
        pairwise({"a": {0: 1.0}}, own, seed=0)
    with pytest.raises(ValueError, match="no finite number"):
        paired(two([math.nan], [1.0]), own, seed=0)
