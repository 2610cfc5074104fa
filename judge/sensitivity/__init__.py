"""How much of a result is the judge: the same outputs under several judges, from what is stored; calls no model."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from judge.benchmark import Benchmark, SummarisedBenchmark
from judge.runs.judged import judge_warnings
from judge.runs.paneling import outdated_note
from judge.sensitivity.labels import label_agreement, self_consistency
from judge.sensitivity.material import Material, load
from judge.sensitivity.people import corrected
from judge.sensitivity.preference import only_own, self_preference
from judge.sensitivity.ranks import ranks
from judge.sensitivity.scores import differences, scores, unscored
from judge.sensitivity.splits import splits
from judge.sensitivity.testing import carry_out

__all__ = ["Material", "load", "over_cases", "sensitivity"]


def sensitivity(material: Material, *, top: int = 20) -> dict[str, Any]:
    """Everything that moves with the judge, as plain data.

    Args:
        top: how many of the items on which judges split are told in full.
    """
    agreed = label_agreement(material)
    moved, gone, preferred = differences(material), unscored(material), self_preference(material)
    tests = carry_out([moved, gone, preferred])
    return {
        "benchmark": material.benchmark.name,
        "title": material.benchmark.title,
        "runs": [
            {"model": one.name, "folder": str(one.folder), "n_units": len(one.units), "n_cases": len(one.cases),
             "epochs": one.spec.epochs}
            for one in material.candidates
        ],
        "settings": list(material.settings),
        "judges": [_judge(material, name) for name in material.judges],
        "scores": scores(material),
        "tests": asdict(tests),
        "differences": moved,
        "unscored": gone,
        "ranks": ranks(material),
        "agreement": agreed,
        "self_consistency": self_consistency(material, agreed),
        "people": corrected(material),
        "self_preference": preferred,
        "families": [list(names) for names in material.families],
        "splits": splits(material, top),
        "not_comparable": _refused(material),
        "notes": _notes(material),
        "forced": material.force,
    }  # fmt: skip


def _judge(material: Material, name: str) -> dict[str, Any]:
    judge = material.judges[name]
    return {
        "name": name,
        "kind": "person" if name in material.people else judge.kind,
        "members": list(judge.members),
        "settings": judge.spec.model_dump(mode="json") if judge.spec else None,
        "runs": [one.name for one in material.candidates if name in one.said],
    }


def _refused(material: Material) -> list[str]:
    """What is not compared, or would not be without force."""
    return [
        f"{metric} of {one.name} by {' and by '.join(sorted(pair))} is not comparable: {why}"
        for one in material.candidates
        for (metric, pair), why in one.refused.items()
    ]


def _notes(material: Material) -> list[str]:
    """What else must be known to read the numbers."""
    judges = material.judges
    unknown = [one.name for one in judges.values() if one.kind == "imported" and one.name not in material.people]
    notes = [f"whether {', '.join(unknown)} are people is not known; if so, say it with --people"] if unknown else []
    notes += [
        f"{one.name} is made of labels by {', '.join(one.members)}, so that it agrees with them more than others would"
        for one in judges.values()
        if one.members
    ]
    given = {name: {one.name: one.facts[name] for one in material.candidates if name in one.said} for name in judges}
    notes += [f"{name} did not judge {', '.join(gone)}" for name, of in given.items()
              if (gone := [one.name for one in material.candidates if one.name not in of])]  # fmt: skip
    notes += list(dict.fromkeys(
        f"{name} rated as many cases of each {facts['by']}, so that corrections by its labels weigh these alike"
        for one in material.candidates
        for name, facts in one.facts.items()
        if name in material.people and facts.get("sample") and facts.get("by")
    ))  # fmt: skip
    notes += [f"all models under test are of the family of {name}, so that it cannot be seen whether it prefers them"
              for name in only_own(material)]  # fmt: skip
    notes += [outdated_note(name) for one in material.candidates for name in one.outdated]
    warnings = (
        warning
        for one in material.candidates
        for name, said in one.said.items()
        for warning in judge_warnings(name, one.facts[name], one.spec.model, len(one.units), said)
    )
    return list(dict.fromkeys([*notes, *over_cases(material.benchmark), *warnings]))


def over_cases(benchmark: Benchmark) -> list[str]:
    """What must be said where the benchmark's own headline is another mean."""
    if not isinstance(benchmark, SummarisedBenchmark):
        return []
    return ["all means here are over cases, not means of the means of groups, which are this benchmark's headline"]
