"""What models score under each judge, and what changes from judge to judge on the units that both scored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import combinations
from typing import Any

from judge.metrics.signature import Metric
from judge.outcome import Unscored
from judge.runs.scoring import metric_summary
from judge.sensitivity.material import RESAMPLES, SEED, Candidate, Material
from judge.sensitivity.settings import axis
from judge.stats import mean_interval, paired
from judge.stats.means import SAME

#: A judge was not asked for what a metric needs.
NOT_JUDGED = "not_judged"


def scores(material: Material) -> list[dict[str, Any]]:
    """One row a setting, metric, model and judge; None for numbers that may not stand beside the other judges'."""
    return [
        _score(material, setting, candidate, metric, judge)
        for setting in material.settings
        for candidate, metric in material.within(setting)
        for judge in candidate.said
        if asked(candidate, setting, metric.name, judge)
    ]


def asked(candidate: Candidate, setting: str, metric: str, judge: str) -> bool:
    """Whether a judge was asked for what the metric needs in any unit."""
    outcomes = candidate.about(setting, metric, judge).values()
    return any(not isinstance(outcome, Unscored) or outcome.reason != NOT_JUDGED for outcome in outcomes)


def _score(material: Material, setting: str, candidate: Candidate, metric: Metric, judge: str) -> dict[str, Any]:
    units = [stored.unit for stored in candidate.within(setting)]
    found = asdict(metric_summary(candidate.signed(metric, judge), candidate.cases, units, candidate.outcomes[judge]))
    others = [other for other in candidate.said if other != judge]
    why = next(filter(None, (material.refused(candidate, metric.name, (judge, other)) for other in others)), "")
    if why:
        found |= {"mean": None, "se": None, "interval": None, "bounds": None}
    return {"setting": setting, "model": candidate.name, "judge": judge, "not_comparable": why, **found}


def differences(material: Material) -> list[dict[str, Any]]:
    """One row a setting, metric, model and pair of judges; the difference is of the first less the second."""
    return [
        _difference(material, setting, candidate, metric, pair)
        for setting in material.settings
        for candidate, metric in material.within(setting)
        for pair in pairs(candidate, setting, metric.name)
    ]


def pairs(candidate: Candidate, setting: str, metric: str) -> Iterator[tuple[str, str]]:
    """Pairs of judges that both were asked for what a metric needs."""
    yield from combinations([one for one in candidate.said if asked(candidate, setting, metric, one)], 2)


def _difference(
    material: Material, setting: str, candidate: Candidate, metric: Metric, pair: tuple[str, str]
) -> dict[str, Any]:
    specs = [material.judges[name].spec for name in pair]
    row: dict[str, Any] = {"setting": setting, "metric": metric.name, "title": metric.title, "model": candidate.name,
           "judges": list(pair), "axis": axis(*specs),
           "not_comparable": material.refused(candidate, metric.name, pair)}  # fmt: skip
    values = {judge: candidate.values(setting, metric.name, judge) for judge in pair}
    first, second = values.values()
    both = [unit for unit in first if unit in second]
    row |= {
        "n_units": len(both),
        "n_one_only": {judge: len(values[judge]) - len(both) for judge in pair},
        "n_neither": len(candidate.about(setting, metric.name, pair[0])) - len(first.keys() | second.keys()),
        "compared": None,
        "flips": None,
    }
    if row["not_comparable"]:
        return row
    means = {judge: candidate.by_case({unit: of[unit] for unit in both}) for judge, of in values.items()}
    compared = paired(means, candidate.cluster_of_case.__getitem__, seed=SEED, resamples=RESAMPLES)
    flips = {unit: float(abs(first[unit] - second[unit]) > SAME) for unit in both}
    return row | {"compared": asdict(compared), "flips": _share(candidate, flips)}


def _share(candidate: Candidate, hits: Mapping[str, float]) -> dict[str, Any]:
    """A share of units with its interval."""
    if not hits:
        return {"n": 0, "count": 0, "share": None, "interval": None}
    interval = mean_interval(list(hits.values()), [candidate.clusters[unit] for unit in hits])
    count = int(sum(hits.values()))
    return {"n": len(hits), "count": count, "share": count / len(hits), "interval": interval.ends}


def unscored(material: Material) -> list[dict[str, Any]]:
    """One row a setting, metric, model and pair of judges of which one at least left units unscored.

    ``compared`` is of the shares of units without a score, over all units that the metric is defined for.
    """
    rows = []
    for setting in material.settings:
        for candidate, metric in material.within(setting):
            for pair in pairs(candidate, setting, metric.name):
                reasons = {judge: _reasons(candidate, setting, metric.name, judge) for judge in pair}
                if any(reasons.values()):
                    rows.append(_unscored(candidate, setting, metric, pair, reasons))
    return rows


def _reasons(candidate: Candidate, setting: str, metric: str, judge: str) -> dict[str, str]:
    """Unit -> why it has no score."""
    found = candidate.about(setting, metric, judge).items()
    return {unit: outcome.reason for unit, outcome in found if isinstance(outcome, Unscored)}


def _unscored(
    candidate: Candidate, setting: str, metric: Metric, pair: tuple[str, str], reasons: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    units = list(candidate.about(setting, metric.name, pair[0]))
    shares = {judge: candidate.by_case({unit: float(unit in reasons[judge]) for unit in units}) for judge in pair}
    compared = paired(shares, candidate.cluster_of_case.__getitem__, seed=SEED, resamples=RESAMPLES)
    return {"setting": setting, "metric": metric.name, "title": metric.title, "model": candidate.name,
            "judges": list(pair), "n_units": len(units),
            "counts": {judge: len(reasons[judge]) for judge in pair},
            "compared": asdict(compared)}  # fmt: skip
