"""What people's labels say of a judge's result, and whether a judge prefers the outputs of its own model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

from judge.metrics.signature import Metric
from judge.runs.comparable import AGAINST_REFERENCE, comparable_cases
from judge.runs.judge_comparison import references_before
from judge.sensitivity.material import RESAMPLES, SEED, Candidate, Material
from judge.sensitivity.scores import asked
from judge.stats import misclassification_corrected, paired, prediction_powered


def corrected(material: Material) -> list[dict[str, Any]]:
    """One row a setting, metric, model and judge where people labelled some of the same units.

    Items are units; where several people scored one, their mean counts. Both corrections take for granted that the
    units that people labelled are a random part of all.
    """
    return [
        row
        for setting in material.settings
        for candidate, metric in material.within(setting)
        for judge in candidate.said
        if judge not in material.people and (row := _corrected(material, setting, candidate, metric, judge))
    ]


def _corrected(
    material: Material, setting: str, candidate: Candidate, metric: Metric, judge: str
) -> dict[str, Any] | None:
    values = candidate.values(setting, metric.name, judge)
    given = {person: _comparable(candidate, metric.name, judge, person, candidate.values(setting, metric.name, person))
             for person in candidate.said if person in material.people}  # fmt: skip
    human = {unit: fmean(of[unit] for of in given.values() if unit in of)
             for unit in dict.fromkeys(unit for of in given.values() for unit in of)}  # fmt: skip
    if not values or not human:
        return None
    cluster = candidate.clusters.__getitem__
    return {
        "setting": setting,
        "metric": metric.name,
        "title": metric.title,
        "model": candidate.name,
        "judge": judge,
        "people": [person for person, of in given.items() if of],
        "prediction_powered": asdict(prediction_powered(values, human, cluster)),
        "misclassification": asdict(
            misclassification_corrected(values, human, cluster, seed=SEED, resamples=RESAMPLES)
        ),
    }


def _comparable(
    candidate: Candidate, metric: str, judge: str, person: str, values: Mapping[str, float]
) -> dict[str, float]:
    """A person's values, where they were measured against the judge's reference steps if that matters."""
    if metric not in AGAINST_REFERENCE:
        return dict(values)
    references = [references_before(candidate.said[name]) for name in (judge, person)]
    return {unit: values[unit] for unit in comparable_cases(*references) if unit in values}


# -- judges of their own model -----------------------------------------------------------------------------------------


def self_preference(material: Material) -> list[dict[str, Any]]:
    """One row a setting, metric and judge whose model is also under test; empty where there is none, or nobody else.

    A case's value is the score of the judge's own model less the mean of the other models', by this judge, compared
    with the mean of the same by the other judges. The cases are those that all of these judges scored for all models.
    Judges whose model is under test too count among the others only where there are no others.
    """
    rows = []
    for setting in material.settings:
        of_metric: dict[str, tuple[str, list[Candidate]]] = {}
        for candidate, metric in material.within(setting):
            of_metric.setdefault(metric.name, (metric.title, []))[1].append(candidate)
        for metric_name, (title, candidates) in of_metric.items():
            for judge in material.judges:
                if entry := _preference(material, setting, metric_name, candidates, judge):
                    rows.append({"setting": setting, "metric": metric_name, "title": title, **entry})
    return rows


def _preference(
    material: Material, setting: str, metric: str, candidates: Sequence[Candidate], judge: str
) -> dict[str, Any] | None:
    own = [one for one in candidates if _own(material, judge, one)]
    judges = _of_all(material, setting, metric, candidates)
    rivals = [other for other in judges if other != judge and not _alike(material, judge, other)]
    if len(own) != 1 or len(candidates) < 2 or judge not in judges or not rivals:
        return None
    neutral = [other for other in rivals if not any(_own(material, other, one) for one in candidates)]
    others = neutral or rivals
    if why := next(filter(None, (material.refused(c, metric, (judge, o)) for o in others for c in candidates)), ""):
        return {"judge": judge, "model": own[0].name, "others": others, "neutral": bool(neutral),
                "not_comparable": why, "compared": None}  # fmt: skip
    gaps = {name: _gaps(setting, metric, own[0], candidates, name) for name in (judge, *others)}
    shared = [case for case in gaps[judge] if all(case in of for of in gaps.values())]
    found = paired(
        {judge: {case: gaps[judge][case] for case in shared},
         "other judges": {case: fmean(gaps[other][case] for other in others) for case in shared}},
        own[0].cluster_of_case.__getitem__, seed=SEED, resamples=RESAMPLES,
    )  # fmt: skip
    return {"judge": judge, "model": own[0].name, "others": others, "neutral": bool(neutral), "not_comparable": "",
            "compared": asdict(found)}  # fmt: skip


def _own(material: Material, judge: str, candidate: Candidate) -> bool:
    spec = material.judges[judge].spec
    return spec is not None and spec.model.name.casefold() == candidate.spec.model.name.casefold()


def _alike(material: Material, judge: str, other: str) -> bool:
    """Whether two judges are one model."""
    specs = [material.judges[name].spec for name in (judge, other)]
    return all(spec is not None for spec in specs) and len({spec.model.name.casefold() for spec in specs if spec}) == 1


def _of_all(material: Material, setting: str, metric: str, candidates: Sequence[Candidate]) -> list[str]:
    """The judges of all models; not panels, whose members may be among the others."""
    return [
        judge
        for judge, known in material.judges.items()
        if known.kind != "panel" and all(judge in c.said and asked(c, setting, metric, judge) for c in candidates)
    ]


def _gaps(setting: str, metric: str, own: Candidate, candidates: Sequence[Candidate], judge: str) -> dict[str, float]:
    """Case -> score of the own model less the mean of the others', by one judge, where all have one."""
    scores = {one.name: one.by_case(one.values(setting, metric, judge)) for one in candidates}
    mine = scores.pop(own.name)
    return {case: value - fmean(of[case] for of in scores.values())
            for case, value in mine.items() if all(case in of for of in scores.values())}  # fmt: skip
