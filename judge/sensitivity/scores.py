"""What models score under each judge, and what changes from judge to judge on the units that both scored.

Units that nobody asked a judge about are not unscored: they are counted apart, and are in no comparison.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import combinations
from typing import Any

from judge.metrics.signature import Metric
from judge.outcome import Unscored
from judge.runs.scoring import metric_summary
from judge.sensitivity.material import Candidate, Material
from judge.sensitivity.settings import axis
from judge.sensitivity.testing import PairedTest
from judge.stats import mean_interval
from judge.stats.means import SAME


def scores(material: Material) -> list[dict[str, Any]]:
    """One row a setting, metric, model and judge; None for numbers that may not stand beside the other judges'.

    Rows are of the units that the judge was asked about; ``n_not_rated`` counts the others.
    """
    return [
        _score(material, setting, candidate, metric, judge)
        for setting in material.settings
        for candidate, metric in material.within(setting)
        for judge in candidate.said
        if asked(candidate, setting, metric.name, judge)
    ]


def asked(candidate: Candidate, setting: str, metric: str, judge: str) -> bool:
    """Whether a judge was asked for what the metric needs in any unit."""
    return bool(candidate.rated(setting, metric, judge))


def _score(material: Material, setting: str, candidate: Candidate, metric: Metric, judge: str) -> dict[str, Any]:
    rated = candidate.rated(setting, metric.name, judge)
    units = [stored.unit for stored in candidate.within(setting) if stored.unit.key in rated]
    found = asdict(metric_summary(candidate.signed(metric, judge), candidate.cases, units, candidate.outcomes[judge]))
    means = candidate.by_case(candidate.values(setting, metric.name, judge))
    clusters = [candidate.cluster_of_case[case] for case in means]
    reason = mean_interval(list(means.values()), clusters, metric.range).reason
    why = not_comparable(material, candidate, metric.name, judge)
    if why:
        found |= {"mean": None, "se": None, "interval": None, "bounds": None}
    about = {"setting": setting, "model": candidate.name, "judge": judge, "not_comparable": why}
    left = len(candidate.about(setting, metric.name, judge)) - len(rated)
    return {**about, **found, "range": metric.range, "interval_reason": reason, "n_not_rated": left}


def not_comparable(material: Material, candidate: Candidate, metric: str, judge: str) -> str:
    """Why a judge's value must not stand beside those of all other judges; empty if it may."""
    others = (other for other in candidate.said if other != judge)
    return next(filter(None, (material.refused(candidate, metric, (judge, other)) for other in others)), "")


def differences(material: Material) -> list[dict[str, Any]]:
    """One row a setting, metric, model and pair of judges; the difference is of the first less the second.

    Under ``compared`` is a `PairedTest` that `judge.sensitivity.testing.carry_out` replaces by its result.
    """
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
    about = candidate.about(setting, metric.name, pair[0])
    row |= {
        "n_units": len(both),
        "n_one_only": {judge: len(values[judge]) - len(both) for judge in pair},
        "n_neither": len(about) - len(first.keys() | second.keys()),
        "n_not_rated": {judge: len(about) - len(candidate.rated(setting, metric.name, judge)) for judge in pair},
        "compared": None,
        "flips": None,
    }
    if row["not_comparable"]:
        return row
    means = {judge: candidate.by_case({unit: of[unit] for unit in both}) for judge, of in values.items()}
    flips = {unit: float(abs(first[unit] - second[unit]) > SAME) for unit in both}
    test = PairedTest(means, candidate.cluster_of_case.__getitem__)
    return row | {"compared": test, "flips": _share(candidate, flips)}


def _share(candidate: Candidate, hits: Mapping[str, float]) -> dict[str, Any]:
    """A share of units with its interval."""
    if not hits:
        return {"n": 0, "count": 0, "share": None, "interval": None, "interval_reason": "no_items"}
    interval = mean_interval(list(hits.values()), [candidate.clusters[unit] for unit in hits])
    count = int(sum(hits.values()))
    return {"n": len(hits), "count": count, "share": count / len(hits), "interval": interval.ends,
            "interval_reason": interval.reason}  # fmt: skip


def unscored(material: Material) -> list[dict[str, Any]]:
    """One row a setting, metric, model and pair of judges of which one at least left units unscored.

    ``compared`` is of the shares of units without a score, over the units that both judges were asked about; a
    `PairedTest`, as in `differences`.
    """
    return [
        row
        for setting in material.settings
        for candidate, metric in material.within(setting)
        for pair in pairs(candidate, setting, metric.name)
        if (row := _unscored(candidate, setting, metric, pair))
    ]


def _unscored(candidate: Candidate, setting: str, metric: Metric, pair: tuple[str, str]) -> dict[str, Any] | None:
    rated = {judge: candidate.rated(setting, metric.name, judge) for judge in pair}
    units = [unit for unit in rated[pair[0]] if unit in rated[pair[1]]]
    gone = {judge: {unit: float(isinstance(of[unit], Unscored)) for unit in units} for judge, of in rated.items()}
    counts = {judge: int(sum(of.values())) for judge, of in gone.items()}
    if not any(counts.values()):
        return None
    shares = {judge: candidate.by_case(of) for judge, of in gone.items()}
    return {"setting": setting, "metric": metric.name, "title": metric.title, "model": candidate.name,
            "judges": list(pair), "n_units": len(units), "counts": counts,
            "compared": PairedTest(shares, candidate.cluster_of_case.__getitem__)}  # fmt: skip
