"""What people's labels say of a judge's result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from statistics import fmean
from typing import Any

from judge.metrics.signature import Metric
from judge.runs.comparable import AGAINST_REFERENCE, comparable_cases, references_before
from judge.sensitivity.material import RESAMPLES, SEED, Candidate, Material
from judge.stats import Corrected, misclassification_corrected, prediction_powered

Values = Mapping[str, float]
"""Unit key -> value."""


def corrected(material: Material) -> list[dict[str, Any]]:
    """One row a setting, metric, model and judge where people labelled some of the same units.

    Items are units. The prediction-powered estimate is of the mean over people, so that of several scores for a unit
    the mean counts. Error rates need to know which score is true: it is what more than half of its people gave, and
    where half of them gave the other, no unit being left out, there is no estimate. To leave such units out would
    measure the judge on the easy ones. Both take for granted that the units that people labelled are a random part.
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
    human = {unit: [of[unit] for of in given.values() if unit in of]
             for unit in dict.fromkeys(unit for of in given.values() for unit in of)}  # fmt: skip
    if not values or not human:
        return None
    means = {unit: fmean(of_unit) for unit, of_unit in human.items()}
    return {
        "setting": setting,
        "metric": metric.name,
        "title": metric.title,
        "model": candidate.name,
        "judge": judge,
        "people": [person for person, of in given.items() if of],
        "n_split": sum(_split(of_unit) for of_unit in human.values()),
        "prediction_powered": asdict(prediction_powered(values, means, candidate.clusters.__getitem__)),
        "misclassification": asdict(_by_error_rates(candidate, values, human)),
    }


def _split(of_unit: list[float]) -> bool:
    """Whether as many people gave 0 as gave 1."""
    return of_unit.count(0.0) == of_unit.count(1.0) > 0


def _by_error_rates(candidate: Candidate, values: Values, human: Mapping[str, list[float]]) -> Corrected:
    """By the judge's error rates against what most people of a unit gave."""
    binary = all(value in (0.0, 1.0) for of_unit in human.values() for value in of_unit)
    truths = {unit: float(round(fmean(of))) if binary else fmean(of) for unit, of in human.items()}
    found = misclassification_corrected(values, truths, candidate.clusters.__getitem__, seed=SEED, resamples=RESAMPLES)
    if not any(_split(of_unit) for of_unit in human.values()) or found.reason == "not_binary":
        return found
    return replace(found, value=None, interval=None, reason="people_split", interval_reason="no_value", note="")


def _comparable(candidate: Candidate, metric: str, judge: str, person: str, values: Values) -> dict[str, float]:
    """A person's values, where they were measured against the judge's reference steps if that matters."""
    if metric not in AGAINST_REFERENCE:
        return dict(values)
    references = [references_before(candidate.said[name]) for name in (judge, person)]
    return {unit: values[unit] for unit in comparable_cases(*references) if unit in values}
