"""A judge corrected by people's labels: published examples, the papers' formulas written out, coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special
import scipy.stats

from judge.stats import REASONS, Corrected, misclassification_corrected, prediction_powered, rogan_gladen


def own(item: int) -> int:
    return item


def simulated(seed: int, n: int = 400, n_labelled: int = 100) -> tuple[dict[int, float], dict[int, float]]:
    """Items that people would call 1 in 40 of 100 cases, by a judge that is right in 80 and 90 of 100."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.4
    judge = np.where(truth, rng.random(n) < 0.8, rng.random(n) < 0.1)
    return dict(enumerate(map(float, judge))), {item: float(truth[item]) for item in range(n_labelled)}


def chen_2026() -> tuple[dict[int, float], dict[int, float]]:
    """Chen et al. 2026, Efficient Inference for Noisy LLM-as-a-Judge Evaluation, arXiv 2601.05420, their package.

    People labelled 24 items 0, three of which the judge called 1, and four items 1, one of which it called 1. It called
    40 of 248 unlabelled items 1.
    """
    judge = {item: float(item < 3 or item == 24 or 28 <= item < 68) for item in range(276)}
    return judge, {item: float(item >= 24) for item in range(28)}


@pytest.mark.parametrize(("weight", "value", "interval"), [(1.0, 0.161, (0.059, 0.371)), (None, 0.145, (0.065, 0.292))])
def test_a_published_evaluation_of_a_noisy_judge(
    weight: float | None, value: float, interval: tuple[float, float]
) -> None:
    found = prediction_powered(*chen_2026(), own, level=0.9, weight=weight)
    assert found.value == pytest.approx(value, abs=5e-4)
    assert found.se is not None
    # their 90% interval is normal on the logit scale; their variances are over n, ours as HC3 has them over n - 1
    reach = scipy.stats.norm.ppf(0.95) * found.se * math.sqrt(27 / 28) / (found.value * (1 - found.value))
    ends = scipy.special.expit(scipy.special.logit(found.value) + np.array([-reach, reach]))
    assert ends == pytest.approx(interval, abs=5e-4)


def test_the_first_papers_estimate_and_variance() -> None:
    judge, human = simulated(1)
    found = prediction_powered(judge, human, own, weight=1.0)
    f, y = np.array(list(judge.values())), np.array(list(human.values()))
    # Angelopoulos et al. 2023, algorithm 1: mean of f over unlabelled + mean of y - f; variances over their numbers,
    # here with residuals over (1 - 1/n) as HC3 has them
    others, error = f[100:], y - f[:100]
    se = math.sqrt(others.var(ddof=1) / 299 + error.var(ddof=1) / 99)
    assert found.value == pytest.approx(others.mean() + error.mean())
    assert found.se == pytest.approx(se)
    reach = scipy.stats.t.ppf(0.975, 99) * se
    assert found.interval == pytest.approx((found.value - reach, found.value + reach))
    assert (found.n, found.n_labelled, found.n_clusters, found.n_labelled_clusters) == (400, 100, 400, 100)
    assert (found.judge_mean, found.human_mean) == (pytest.approx(f.mean()), pytest.approx(y.mean()))


def test_the_weight_is_that_of_power_tuning() -> None:
    judge, human = simulated(2, n=4000, n_labelled=1000)
    found = prediction_powered(judge, human, own)
    f, y = np.array(list(judge.values())), np.array(list(human.values()))
    # PPI++, example 6.1, for a mean: Cov(y, f) / ((1 + n/N) Var f)
    expected = np.cov(y, f[:1000])[0, 1] / ((1 + 1000 / 3000) * f.var(ddof=1))
    assert found.weight == pytest.approx(expected, rel=0.01)
    classical = prediction_powered(judge, human, own, weight=0.0).se
    untuned = prediction_powered(judge, human, own, weight=1.0).se
    assert classical == pytest.approx(scipy.stats.sem(y) * math.sqrt(1000 / 999))
    assert found.se is not None
    assert classical is not None
    assert untuned is not None
    assert found.se < min(classical, untuned)


def test_a_judge_that_knows_nothing_is_hardly_counted() -> None:
    rng = np.random.default_rng(3)
    judge = dict(enumerate(rng.random(2000).tolist()))
    human = {item: float(rng.random() < 0.5) for item in range(400)}
    found = prediction_powered(judge, human, own)
    assert found.weight == pytest.approx(0.0, abs=0.15)
    assert found.value == pytest.approx(found.human_mean, abs=0.01)


def test_labels_on_everything_leave_the_human_mean() -> None:
    judge, human = simulated(4, n=50, n_labelled=50)
    found = prediction_powered(judge, human, own)
    assert (found.value, found.weight) == (pytest.approx(found.human_mean), 0.0)
    assert found.se == pytest.approx(scipy.stats.sem(list(human.values())) * math.sqrt(50 / 49))
    assert "every judged item" in found.note


def test_items_of_one_cluster_widen_the_error() -> None:
    rng = np.random.default_rng(5)
    truth = np.repeat(rng.random(80) < 0.5, 5)
    judge = dict(enumerate(np.where(rng.random(400) < 0.9, truth, ~truth).astype(float).tolist()))
    human = {item: float(truth[item]) for item in range(200)}
    alone = prediction_powered(judge, human, own).se
    together = prediction_powered(judge, human, lambda item: item // 5).se
    assert alone is not None
    assert together is not None
    assert together > 1.5 * alone


def test_the_corrected_mean_covers_where_the_judges_own_does_not() -> None:
    weights = (1.0, None)
    covered, judged = [0, 0], 0
    for seed in range(200):
        judge, human = simulated(seed, n=800, n_labelled=80)
        for place, weight in enumerate(weights):
            low, high = prediction_powered(judge, human, own, weight=weight).interval or (1.0, 0.0)
            covered[place] += low <= 0.4 <= high
        raw = np.array(list(judge.values()))
        judged += abs(raw.mean() - 0.4) <= 1.96 * raw.std() / math.sqrt(800)
    # 190 of 200 expected, with a standard deviation of 3.1; the judge's own mean is .38
    assert all(180 <= count <= 199 for count in covered)
    assert judged < 178


@pytest.mark.parametrize(
    ("apparent", "sensitivity", "specificity", "share"),
    [
        (23 / 150, 0.96, 0.89, 0.051),  # first example of epi.prev in R's epiR: 5.1 of 100
        (6 / 151, 0.964, 0.927, 0.0),  # Reiczigel et al. 2010 and second example of epi.prev, Helicobacter pylori
        (0.4, 0.9, 0.7, 0.1667),  # Lee et al. 2025, How to Correctly Report LLM-as-a-Judge Evaluations, their package
    ],
)
def test_rogan_and_gladens_estimate(apparent: float, sensitivity: float, specificity: float, share: float) -> None:
    assert rogan_gladen(apparent, sensitivity, specificity) == pytest.approx(share, abs=5e-4)


def test_rogan_and_gladens_estimate_is_cut_to_a_share() -> None:
    assert rogan_gladen(6 / 151, 0.964, 0.927) == 0.0
    assert rogan_gladen(0.95, 0.8, 0.9) == 1.0
    assert rogan_gladen(0.3, 1.0, 1.0) == pytest.approx(0.3)
    assert rogan_gladen(0.3, 0.5, 0.5) is None
    with pytest.raises(ValueError, match="between 0 and 1"):
        rogan_gladen(1.1, 0.9, 0.9)


def test_a_share_is_corrected_by_errors_on_labelled_items() -> None:
    # 20 labelled 1, of which the judge found 16; 40 labelled 0, of which it rejected 36; 40 more judged, 18 as 1
    human = {item: float(item < 20) for item in range(60)}
    judge = {item: float(item < 16 or 20 <= item < 24 or 60 <= item < 78) for item in range(100)}
    found = misclassification_corrected(judge, human, own, seed=0)
    assert found.judge_mean == pytest.approx(0.38)
    assert found.value == pytest.approx(0.4)
    assert found.interval is not None
    assert found.interval[0] < 0.4 < found.interval[1]
    assert (found.se, found.weight, found.n_undefined) == (None, None, 0)
    assert found == misclassification_corrected(judge, human, own, seed=0)


def test_the_corrected_share_covers_the_truth() -> None:
    covered = 0
    for seed in range(150):
        judge, human = simulated(seed, n=200, n_labelled=80)
        low, high = misclassification_corrected(judge, human, own, seed=seed, resamples=300).interval or (1.0, 0.0)
        covered += low <= 0.4 <= high
    assert 133 <= covered <= 150  # 142.5 expected, with a standard deviation of 2.7


def test_an_estimate_below_0_is_cut_and_says_so() -> None:
    human = {item: float(item < 10) for item in range(60)}
    judge = {item: float(item < 9 or 10 <= item < 40) for item in range(60)} | dict.fromkeys(range(60, 400), 0.0)
    found = misclassification_corrected(judge, human, own, seed=0)
    assert found.value == 0.0
    assert "is cut" in found.note


def test_a_judge_that_was_never_wrong_carries_a_warning() -> None:
    judge = {item: float(item % 2) for item in range(100)}
    human = {item: float(item % 2) for item in range(20)}
    for found in (prediction_powered(judge, human, own), misclassification_corrected(judge, human, own, seed=0)):
        assert "right on all 20 labelled items" in found.note


def of_both(judge: dict[int, float], human: dict[int, float]) -> list[Corrected]:
    return [prediction_powered(judge, human, own), misclassification_corrected(judge, human, own, seed=0)]


def test_too_few_labels_give_a_reason_and_no_number() -> None:
    judge = {item: float(item % 2) for item in range(100)}
    for human in ({}, {item: float(item % 2) for item in range(9)}, {500: 1.0}):
        for found in of_both(judge, human):
            assert (found.value, found.interval, found.reason) == (None, None, "too_few_labels")
            assert found.n_unjudged == (500 in human)
    assert [found.reason for found in of_both({}, {})] == ["too_few_labels"] * 2


@pytest.mark.parametrize(
    ("judge", "human", "reason"),
    [
        (lambda item: item % 2, lambda item: float(item < 4), "one_class"),
        (lambda item: 0.5, lambda item: item % 2, "not_binary"),
        (lambda item: item % 2, lambda item: (item // 2) % 2, "uninformative"),
    ],
)
def test_errors_that_cannot_be_measured_are_said(judge, human, reason: str) -> None:  # type: ignore[no-untyped-def]
    found = misclassification_corrected(
        {item: float(judge(item)) for item in range(80)}, {item: float(human(item)) for item in range(40)}, own, seed=0
    )
    assert (found.value, found.interval, found.reason, found.interval_reason) == (None, None, reason, "no_value")
    assert reason in REASONS


def test_unlabelled_items_of_one_cluster_have_no_known_spread() -> None:
    judge = {item: float(item % 2) for item in range(60)}
    human = {item: float(item % 3 == 0) for item in range(30)}
    found = prediction_powered(judge, human, lambda item: min(item, 30))
    assert (found.interval, found.se, found.interval_reason) == (None, None, "one_cluster")


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="weight"):
        prediction_powered({}, {}, own, weight=2.0)
    with pytest.raises(ValueError, match="level"):
        prediction_powered({}, {}, own, level=0.0)
    with pytest.raises(ValueError, match="of people for 1 is no finite number"):
        prediction_powered({1: 1.0}, {1: math.nan}, own)
