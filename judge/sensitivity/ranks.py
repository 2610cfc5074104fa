"""Which model comes first under which judge; only judges of all models, on the cases that all of them scored."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from judge.runs.comparable import AGAINST_REFERENCE, same_reference
from judge.runs.judge_comparison import references_before
from judge.sensitivity.material import RESAMPLES, SEED, Candidate, Material
from judge.sensitivity.scores import asked
from judge.stats import rankings


def ranks(material: Material) -> list[dict[str, Any]]:
    """One entry a setting and metric that at least two models have; of fewer models there is no order."""
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
    judges = [judge for judge, count in models.items() if count == len(candidates)]
    left_out = {judge: f"judged {count} of {len(candidates)} models" for judge, count in models.items()
                if 0 < count < len(candidates)}  # fmt: skip
    left_out |= {} if material.force else _not_comparable(material, metric, judges, candidates)
    kept = [judge for judge in judges if judge not in left_out]
    if not kept:
        return {"left_out": left_out, "ranked": None} if left_out else None
    scores = {
        judge: {one.name: one.by_case(one.values(setting, metric, judge)) for one in candidates} for judge in kept
    }
    clusters = {case: cluster for one in candidates for case, cluster in one.cluster_of_case.items()}
    found = rankings(scores, clusters.__getitem__, seed=SEED, resamples=RESAMPLES)
    return {"left_out": left_out, "ranked": asdict(found)}


def _not_comparable(material: Material, metric: str, judges: list[str], candidates: list[Candidate]) -> dict[str, str]:
    """Judge -> why it is not ranked with the judges before it: other reference steps, or another text was judged."""
    found: dict[str, str] = {}
    for judge in judges:
        if metric in AGAINST_REFERENCE and _other_references(judge, candidates):
            found[judge] = "the models were measured against other reference steps"
            continue
        kept = [other for other in judges[: judges.index(judge)] if other not in found]
        refused = (material.refused(one, metric, (judge, other)) for other in kept for one in candidates)
        if why := next(filter(None, refused), ""):
            found[judge] = why
    return found


def _other_references(judge: str, candidates: list[Candidate]) -> bool:
    """Whether any case had other reference steps in one model's outputs than in another's."""
    first, *others = [references_before(one.said[judge]) for one in candidates]
    return any(not same_reference(first[unit], other[unit]) for other in others for unit in first if unit in other)
