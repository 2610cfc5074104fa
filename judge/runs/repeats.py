"""Cases asked several times: how often all or any of their epochs succeed, and where the variance lies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from judge.benchmark import Case
from judge.metrics.signature import Metric
from judge.outcome import Outcome, Scored
from judge.runs.store import StoredUnit
from judge.stats.epochs import EpochRate, all_of, any_of, variance_components


def repeats(
    metrics: Iterable[Metric],
    cases: Mapping[str, Case],
    units: Sequence[StoredUnit],
    scores: Mapping[str, Mapping[str, Outcome]],
    epochs: int,
) -> list[dict[str, Any]]:
    """One row a metric, as plain data; none where each case was asked once, or nothing is scored.

    ``all_of`` and ``any_of`` are of metrics that are right or wrong, over cases with ``k`` scored epochs; ``n_short``
    cases have fewer. ``between`` and ``within`` are variances, ``sd_between`` and ``sd_within`` their roots, in the
    units of the metric. ``reason`` says why there are no variances, ``note`` what a reader must know of them.

    Args:
        units: of one setting.
        scores: unit key -> metric -> outcome.
        epochs: of the run, the k of "all of k" and "any of k".
    """
    if epochs < 2:
        return []
    return [
        {"metric": metric.name, "title": metric.title, **row}
        for metric in metrics
        if (row := _row(_values(metric.name, units, scores), cases, epochs))
    ]


def _values(
    name: str, units: Sequence[StoredUnit], scores: Mapping[str, Mapping[str, Outcome]]
) -> dict[str, list[float | None]]:
    """Case -> the score of each epoch, None where it is unscored."""
    found: dict[str, list[float | None]] = defaultdict(list)
    for stored in units:
        outcome = scores[stored.unit.key].get(name)
        if outcome is not None:
            found[stored.unit.case].append(outcome.value if isinstance(outcome, Scored) else None)
    return found


def _row(values: Mapping[str, list[float | None]], cases: Mapping[str, Case], epochs: int) -> dict[str, Any]:
    scored = [value for of_case in values.values() for value in of_case if value is not None]
    if not scored:
        return {}
    parts = variance_components(values)
    return {
        "k": epochs,
        **_rates(values, cases, epochs, binary=set(scored) <= {0.0, 1.0}),
        "n_cases": parts.n_cases,
        "between": parts.between,
        "within": parts.within,
        "sd_between": _root(parts.between),
        "sd_within": _root(parts.within),
        "icc": parts.icc,
        "reason": parts.reason,
        "note": parts.note,
    }


def _rates(
    values: Mapping[str, list[float | None]], cases: Mapping[str, Case], epochs: int, *, binary: bool
) -> dict[str, Any]:
    """How often all, and any, of the epochs of a case are right."""
    if not binary:
        return {"all_of": None, "all_of_interval": None, "any_of": None, "any_of_interval": None, "n_short": None}
    every = all_of(values, lambda case: cases[case].cluster, epochs)
    some = any_of(values, lambda case: cases[case].cluster, epochs)
    return {
        "all_of": every.value,
        "all_of_interval": _ends(every),
        "any_of": some.value,
        "any_of_interval": _ends(some),
        "n_short": every.n_short,
    }


def _ends(rate: EpochRate) -> list[float] | None:
    return list(rate.interval.ends) if rate.interval.ends else None


def _root(variance: float | None) -> float | None:
    return None if variance is None else variance**0.5
