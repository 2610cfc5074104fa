"""Models ranked by several judges: published rankings, hand arithmetic, SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.stats import Rankings, rankings


def own(case: int) -> int:
    return case


def of_means(**by_judge: list[float]) -> Rankings:
    """Every model has the same score in each of 12 cases."""
    names = "ABCDEFGHIJ"
    scores = {
        judge: {names[model]: dict.fromkeys(range(12), mean) for model, mean in enumerate(means)}
        for judge, means in by_judge.items()
    }
    return rankings(scores, own, seed=0, resamples=50)


def test_the_example_of_hollander_and_wolfe() -> None:
    # Hollander & Wolfe 1973, p. 187 f., lightness and quality of canned tuna: tau = .4444, 26 of 36 pairs concordant
    lightness = [44.4, 45.9, 41.9, 53.3, 44.7, 44.1, 50.7, 45.2, 60.1]
    quality = [2.6, 3.1, 2.5, 5.0, 3.6, 4.0, 5.2, 2.8, 3.8]
    found = of_means(lightness=lightness, quality=quality)
    assert found.concordances[0].tau_b == pytest.approx(16 / 36)
    assert len(found.changes) == 10


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=8))
def test_tau_and_ranks_are_those_of_scipy(pairs: list[tuple[int, int]]) -> None:
    x, y = [float(a) for a, _ in pairs], [float(b) for _, b in pairs]
    found = of_means(x=x, y=y)
    ranks = scipy.stats.rankdata([-value for value in x])
    assert list(found.ranks["x"].values()) == pytest.approx(ranks.tolist())
    tau = found.concordances[0]
    if len(set(x)) < 2 or len(set(y)) < 2:
        assert (tau.tau_b, tau.reason) == (None, "one_rank")
    else:
        assert tau.tau_b == pytest.approx(scipy.stats.kendalltau(x, y).statistic)


def test_shared_cases_worked_by_hand() -> None:
    scores = {
        "strict": {"A": {0: 1.0, 1: 0.0, 2: 1.0}, "B": {0: 0.0, 1: 0.0, 2: None}},
        "mild": {"A": {0: 1.0, 1: 1.0, 2: 1.0}, "B": {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}},
    }
    found = rankings(scores, own, seed=0)
    # cases 0 and 1 have all four scores
    assert (found.n, found.n_clusters, found.n_left_out) == (2, 2, 2)
    assert found.means == {"strict": {"A": 0.5, "B": 0.0}, "mild": {"A": 1.0, "B": 1.0}}
    assert found.ranks == {"strict": {"A": 1.0, "B": 2.0}, "mild": {"A": 1.5, "B": 1.5}}
    # A is above unless case 1 is drawn twice, and then level with B: 1 - 1/4 + 1/8
    assert found.order("strict", "A", "B").p_above == pytest.approx(0.875, abs=0.03)
    assert found.order("mild", "A", "B").p_above == 0.5
    assert found.changes == ()
    assert "only 2 clusters" in found.note


def test_probabilities_are_those_of_drawing_cases() -> None:
    rng = np.random.default_rng(3)
    tables = rng.random((2, 2, 40)) + np.array([[[0.05], [0.0]], [[0.0], [0.03]]])
    scores = {judge: {model: dict(enumerate(tables[j, m].tolist())) for m, model in enumerate("AB")}
              for j, judge in enumerate(("one", "two"))}  # fmt: skip
    found = rankings(scores, own, seed=6, resamples=400)
    drawn = np.random.default_rng(6).integers(40, size=(400, 40))
    means = tables[:, :, drawn].mean(axis=3)
    for j, judge in enumerate(("one", "two")):
        expected = (means[j, 0] > means[j, 1]).mean()
        assert found.order(judge, "A", "B").p_above == pytest.approx(expected)


def test_a_change_that_both_judges_are_sure_of_is_outside_noise() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.1, (2, 2, 50))
    one = {"A": dict(enumerate((0.8 + noise[0, 0]).tolist())), "B": dict(enumerate((0.5 + noise[0, 1]).tolist()))}
    other = {"A": dict(enumerate((0.5 + noise[1, 0]).tolist())), "B": dict(enumerate((0.8 + noise[1, 1]).tolist()))}
    [change] = rankings({"one": one, "two": other}, own, seed=0).changes
    assert (change.judges, change.above, change.below) == (("one", "two"), "A", "B")
    assert (change.p_first, change.p_second, change.p_change, change.outside_noise) == (1.0, 1.0, 1.0, True)
    reverse = rankings({"two": other, "one": one}, own, seed=0).changes[0]
    assert (reverse.above, reverse.below) == ("B", "A")


def test_a_change_by_chance_is_within_noise() -> None:
    outside = changes = 0
    for seed in range(100):
        tables = np.random.default_rng(seed).random((2, 2, 40))  # models and judges alike
        scores = {judge: {model: dict(enumerate(tables[j, m].tolist())) for m, model in enumerate("AB")}
                  for j, judge in enumerate(("one", "two"))}  # fmt: skip
        found = rankings(scores, own, seed=seed, resamples=300).changes
        changes += len(found)
        outside += sum(change.outside_noise is True for change in found)
    assert changes > 30
    assert outside <= 2


def test_few_clusters_do_not_tell_a_change_from_noise() -> None:
    one = {"A": dict.fromkeys(range(9), 1.0), "B": dict.fromkeys(range(9), 0.0)}
    other = {"A": dict.fromkeys(range(9), 0.0), "B": dict.fromkeys(range(9), 1.0)}
    [change] = rankings({"one": one, "two": other}, own, seed=0).changes
    assert (change.p_change, change.outside_noise, change.reason) == (1.0, None, "few_clusters")
    [alone] = rankings({"one": one, "two": other}, lambda _: "x", seed=0).changes
    assert (alone.p_change, alone.outside_noise, alone.reason) == (None, None, "one_cluster")


@pytest.mark.parametrize(
    ("scores", "reason"),
    [({"j": {"A": {0: 1.0}, "B": {1: 1.0}}}, "no_overlap"), ({"j": {"A": {0: 1.0}}}, "one_model")],
)
def test_what_cannot_be_ranked_says_why(scores: dict[str, dict[str, dict[int, float | None]]], reason: str) -> None:
    found = rankings(scores, own, seed=0)
    assert (found.ranks, found.orders, found.reason) == ({}, (), reason)


def test_judges_of_different_models_are_refused() -> None:
    with pytest.raises(ValueError, match="two has scores of B, other judges of A"):
        rankings({"one": {"A": {0: 1.0}}, "two": {"B": {0: 1.0}}}, own, seed=0)
    with pytest.raises(ValueError, match="at least one judge"):
        rankings({}, own, seed=0)
