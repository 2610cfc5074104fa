"""Cases asked several times: how often all or any of their epochs succeed, and where the variance lies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from judge.benchmark import Case
from judge.metrics.signature import Metric
from judge.outcome import Outcome, Scored
from judge.runs.store import StoredUnit
from judge.stats.epochs import all_of, any_of, variance_components


def repeats(
    metrics: Mapping[str, Sequence[Metric]],
    cases: Mapping[str, Case],
    units: Sequence[StoredUnit],
    scores: Mapping[str, Mapping[str, Outcome]],
    epochs: int,
) -> list[dict[str, Any]]:
    """One row a setting and metric, as plain data; none where each case was asked once.

    Args:
        metrics: setting -> those to look at.
        scores: unit key -> metric -> outcome.
        epochs: of the run, the k of "all of k" and "any of k"; these are of metrics that are right or wrong.
    """
    if epochs < 2:
        return []
    return [
        {"setting": setting, "metric": metric.name, "title": metric.title, **row}
        for setting, of_setting in metrics.items()
        for metric in of_setting
        if (row := _row(_values(metric.name, setting, units, scores), cases, epochs))
    ]


def _values(
    name: str, setting: str, units: Sequence[StoredUnit], scores: Mapping[str, Mapping[str, Outcome]]
) -> dict[str, list[float | None]]:
    """Case -> the score of each epoch, None where it is unscored."""
    found: dict[str, list[float | None]] = defaultdict(list)
    for stored in units:
        outcome = scores[stored.unit.key].get(name)
        if stored.unit.setting == setting and outcome is not None:
            found[stored.unit.case].append(outcome.value if isinstance(outcome, Scored) else None)
    return found


def _row(values: Mapping[str, list[float | None]], cases: Mapping[str, Case], epochs: int) -> dict[str, Any]:
    scored = [value for of_case in values.values() for value in of_case if value is not None]
    if not scored:
        return {}
    parts = variance_components(values)
    row: dict[str, Any] = {
        "k": epochs, "all_of": None, "any_of": None, "n_cases": parts.n_cases, "between": parts.between,
        "within": parts.within, "icc": parts.icc, "reason": parts.reason, "note": parts.note,
    }  # fmt: skip
    if set(scored) <= {0.0, 1.0}:
        both = (all_of(values, lambda case: cases[case].cluster, epochs),
                any_of(values, lambda case: cases[case].cluster, epochs))  # fmt: skip
        row |= {"all_of": both[0].value, "any_of": both[1].value, "n_short": both[0].n_short}
    return row
