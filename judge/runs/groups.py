"""Breakdowns in the order in which a benchmark publishes them, and means of group means. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, TypeVar

from judge.benchmark import Benchmark, Macro, SummarisedBenchmark
from judge.metrics.gated import averaged
from judge.metrics.signature import Metric

if TYPE_CHECKING:
    from judge.runs.scoring import MetricSummary

T = TypeVar("T")


def in_order(benchmark: Benchmark, breakdown: str, groups: Mapping[str, T]) -> dict[str, T]:
    """The groups of a breakdown in published order where there is one, then by name."""
    order = list(benchmark.group_order.get(breakdown, ())) if isinstance(benchmark, SummarisedBenchmark) else []
    places = {name: place for place, name in enumerate(order)}
    return dict(sorted(groups.items(), key=lambda item: (places.get(item[0], len(order)), item[0])))


def summarised(
    benchmark: Benchmark,
    metrics: Sequence[Metric],
    whole: Mapping[str, MetricSummary],
    by: Mapping[str, Mapping[str, Mapping[str, MetricSummary]]],
) -> dict[str, MetricSummary]:
    """Means of group means as the benchmark declares them, and the mean over all cases as ``micro``.

    Nothing is said of a metric that no unit has.

    Args:
        whole: metric -> its mean over all cases.
        by: breakdown -> group -> metric -> its mean over the group.
    """
    if not isinstance(benchmark, SummarisedBenchmark):
        return {}
    found = []
    for metric in metrics:
        if whole[metric.name].n_scored:
            rules = ((rule, by.get(rule.by, {}), benchmark.group_order[rule.by]) for rule in benchmark.macros)
            means = (_macro(metric, rule, groups, order) for rule, groups, order in rules)
            micro = _named(whole[metric.name], averaged(metric, "micro"))
            found += [*(mean for mean in means if mean is not None), micro]
    return {summary.metric: summary for summary in found}


def _macro(
    metric: Metric, rule: Macro, groups: Mapping[str, Mapping[str, MetricSummary]], published: Sequence[str]
) -> MetricSummary | None:
    """One mean of group means; None where what is to be left out is not there, or nothing else is.

    A mean over some of the published groups is another number than one over all, and so has another signature.
    """
    kept = {name: of[metric.name] for name, of in groups.items() if name not in rule.without}
    if not kept or not set(rule.without) <= set(groups):
        return None
    named = averaged(metric, "macro", by=rule.by, without=rule.without)
    wanted = [name for name in published if name not in rule.without]
    if any(name not in kept for name in wanted):
        over = tuple(kept)
        named = replace(
            named,
            title=f"{named.title} (only {', '.join(over)})",
            parameters=(("over", ",".join(over)), *named.parameters),
        )
    return _named(mean_of_means(list(kept.values())), named)


def _named(summary: MetricSummary, metric: Metric) -> MetricSummary:
    return replace(summary, metric=metric.name, title=metric.title, signature=metric.signature)


def mean_of_means(groups: Sequence[MetricSummary]) -> MetricSummary:
    """The mean of the groups' means, each counting the same; no mean where a group has none.

    Groups are strata: ``se = sqrt(Σ se_g²) / G``. There is no bootstrap interval; bounds and reachable maximum are the
    means of the groups' own.
    """
    means = [group.mean for group in groups if group.mean is not None]
    errors = [group.se for group in groups if group.se is not None]
    bounds = [group.bounds for group in groups if group.bounds is not None]
    maxima = [group.maximum for group in groups if group.maximum is not None]
    size = len(groups)
    whole = len(means) == size
    reasons = {reason for group in groups for reason in group.unscored}
    return replace(
        groups[0],
        mean=fmean(means) if whole else None,
        se=math.sqrt(math.fsum(error**2 for error in errors)) / size if whole and len(errors) == size else None,
        interval=None,
        bounds=(fmean(low for low, _ in bounds), fmean(high for _, high in bounds)) if len(bounds) == size else None,
        maximum=fmean(maxima) if len(maxima) == size else None,
        n_scored=sum(group.n_scored for group in groups),
        n_unscored=sum(group.n_unscored for group in groups),
        n_cases=sum(group.n_cases for group in groups),
        n_clusters=sum(group.n_clusters for group in groups),
        n_empty=sum(group.n_empty for group in groups),
        unscored={reason: sum(group.unscored.get(reason, 0) for group in groups) for reason in sorted(reasons)},
    )
