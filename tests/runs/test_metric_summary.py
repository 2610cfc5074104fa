"""A metric over units: cases count once, bounds hold the mean, counts are never negative."""

from __future__ import annotations

import pytest

from judge.benchmark import Case, Unit
from judge.metrics.signature import Metric
from judge.outcome import Outcome, Scored, Unscored
from judge.runs.scoring import MetricSummary, metric_summary

SHARE = Metric("share", "Share")
COUNT = Metric("count", "Count", range=None, least=0.0)


def summary(metric: Metric, outcomes: dict[tuple[str, int], Outcome]) -> MetricSummary:
    """Of (case, epoch) -> outcome; an epoch that is not there does not take part."""
    units = [Unit("b", "s", case, epoch) for case, epoch in outcomes]
    cases = {unit.case: Case(unit.case, unit.case, {}) for unit in units}
    scores = {unit.key: {metric.name: outcome} for unit, outcome in zip(units, outcomes.values(), strict=True)}
    return metric_summary(metric, cases, units, scores)


def test_a_case_counts_once_in_mean_and_bounds_whatever_epochs_take_part() -> None:
    found = summary(SHARE, {("a", 1): Scored(1), ("a", 2): Scored(0.5), ("b", 1): Scored(0.25)})
    assert found.mean == pytest.approx((0.75 + 0.25) / 2)
    assert found.bounds == pytest.approx((0.5, 0.5)), "nothing is unscored"


def test_bounds_are_where_the_mean_would_be_with_the_lowest_and_the_highest_value() -> None:
    found = summary(SHARE, {("a", 1): Scored(1), ("a", 2): Unscored("truncated"), ("b", 1): Unscored("empty")})
    assert found.mean == 1
    assert found.bounds == pytest.approx(((0.5 + 0) / 2, (1 + 1) / 2))


def test_no_interval_of_a_count_goes_below_the_least_count() -> None:
    found = summary(COUNT, {(str(n), 1): Scored(float(n == 9) * 5) for n in range(10)})
    assert found.interval is not None
    assert found.interval[0] == 0
    assert found.interval[1] > 0.5
    assert found.bounds is None
