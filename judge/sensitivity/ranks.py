"""Which model comes first under which judge, and which judges order models otherwise.

A judge orders the models by the cases that it scored for all of them; two judges are compared on the cases that both
scored for all models. So nobody, least of all a person who rated a few cases, changes what others are compared on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

from judge.runs.comparable import AGAINST_REFERENCE, references_before, same_reference
from judge.sensitivity.labels import between
from judge.sensitivity.material import RESAMPLES, SEED, Candidate, Material
from judge.sensitivity.scores import asked, not_comparable
from judge.sensitivity.settings import axis
from judge.stats import Rankings, rankings

Scores = Mapping[str, Mapping[str, float]]
"""Model -> case -> value."""


def ranks(material: Material) -> list[dict[str, Any]]:
    """One entry a setting and metric that at least two models have; of fewer models there is no order.

    ``judges`` holds a row for each judge of all models, ``pairs`` one for every two of them with Kendall's tau and the
    pairs of models that they put in opposite orders, ``left_out`` the other judges with the reason.
    """
    found = []
    for setting in material.settings:
        of_metric: dict[str, tuple[str, list[Candidate]]] = {}
        for candidate, metric in material.within(setting):
            of_metric.setdefault(metric.name, (metric.title, []))[1].append(candidate)
        for metric_name, (title, candidates) in of_metric.items():
            if len(candidates) > 1 and (entry := _ranked(material, setting, metric_name, candidates)):
                found.append({"setting": setting, "metric": metric_name, "title": title, **entry})
    return found


def _ranked(material: Material, setting: str, metric: str, candidates: list[Candidate]) -> dict[str, Any] | None:
    models = {judge: sum(judge in one.said and asked(one, setting, metric, judge) for one in candidates)
              for judge in material.judges}  # fmt: skip
    left_out = {judge: f"judged {count} of {len(candidates)} models" for judge, count in models.items()
                if 0 < count < len(candidates)}  # fmt: skip
    judges = [judge for judge, count in models.items() if count == len(candidates)]
    if metric in AGAINST_REFERENCE and not material.force:
        other = [judge for judge in judges if _other_references(judge, candidates)]
        left_out |= dict.fromkeys(other, "the models were measured against other reference steps")
        judges = [judge for judge in judges if judge not in other]
    if not judges and not left_out:
        return None
    scores = {judge: {one.name: one.by_case(one.values(setting, metric, judge)) for one in candidates}
              for judge in judges}  # fmt: skip
    return {
        "left_out": left_out,
        "judges": [_alone(material, metric, candidates, judge, scores[judge]) for judge in judges],
        "pairs": [
            _pair(material, metric, candidates, {a: scores[a], b: scores[b]}) for a, b in combinations(judges, 2)
        ],
    }


def _other_references(judge: str, candidates: list[Candidate]) -> bool:
    """Whether any case had other reference steps in one model's outputs than in another's."""
    first, *others = [references_before(one.said[judge]) for one in candidates]
    return any(not same_reference(first[unit], other[unit]) for other in others for unit in first if unit in other)


def _rankings(candidates: Sequence[Candidate], scores: Mapping[str, Scores]) -> Rankings:
    clusters = {case: cluster for one in candidates for case, cluster in one.cluster_of_case.items()}
    return rankings(scores, clusters.__getitem__, seed=SEED, resamples=RESAMPLES)


def _counts(found: Rankings) -> dict[str, Any]:
    return {"n": found.n, "n_clusters": found.n_clusters, "n_left_out": found.n_left_out, "reason": found.reason}


def _alone(
    material: Material, metric: str, candidates: Sequence[Candidate], judge: str, scores: Scores
) -> dict[str, Any]:
    """The order of the models under one judge; no means where they must not stand beside those of other judges."""
    found = _rankings(candidates, {judge: scores})
    why = next(filter(None, (not_comparable(material, one, metric, judge) for one in candidates)), "")
    return {"judge": judge, "person": judge in material.people, **_counts(found), "ranks": found.ranks.get(judge),
            "means": None if why else found.means.get(judge), "not_comparable": why}  # fmt: skip


def _pair(
    material: Material, metric: str, candidates: Sequence[Candidate], scores: Mapping[str, Scores]
) -> dict[str, Any]:
    """How two judges order the models, on the cases that both scored for all of them."""
    names = list(scores)
    differ = axis(*(material.judges[name].spec for name in names))
    row: dict[str, Any] = {"judges": names, "between": between(material, names), "axis": differ}
    if why := next(filter(None, (material.refused(one, metric, names) for one in candidates)), ""):
        return {**row, "not_comparable": why, "n": None, "n_clusters": None, "n_left_out": None, "reason": "",
                "means": None, "concordance": None, "changes": []}  # fmt: skip
    found = _rankings(candidates, scores)
    return {
        **row,
        "not_comparable": "",
        **_counts(found),
        "means": dict(found.means),
        "concordance": asdict(found.concordances[0]) if found.concordances else None,
        "changes": [asdict(change) for change in found.changes],
    }
