"""How far judges, people among them, agree on single labels, and how far a judge agrees with itself.

A judge cannot be expected to agree with others better than with itself: the same settings asked twice, under two names
or about the same output in two epochs, are its ceiling.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import combinations
from typing import Any

from judge.judgements import Label, UnitJudgements
from judge.runs.rating_agreement import ORDINAL, RESAMPLES, SEED, Item, Said, labelled
from judge.runs.store import StoredUnit
from judge.sensitivity.material import Candidate, Material
from judge.sensitivity.settings import SAME, axis
from judge.stats import agreement

#: Who is compared.
JUDGES, WITH_PERSON, PEOPLE = "judges", "judge and person", "people"


def label_agreement(material: Material) -> list[dict[str, Any]]:
    """One entry a model, setting and kind that two raters labelled; one more without what rules decide, if any do."""
    found = []
    for candidate in material.candidates:
        for setting in candidate.spec.settings:
            units = [stored.unit.key for stored in candidate.within(setting)]
            for kind in _kinds(candidate.said, set(units)):
                for entry in _agreed(kind, candidate.said, units, candidate.clusters):
                    about = {"setting": setting, "model": candidate.name, "kind": kind}
                    found.append({**about, **entry, "pairs": [_told(material, pair) for pair in entry["pairs"]]})
    return found


def _kinds(said: Said, units: set[str]) -> list[str]:
    every = (one.kind for of in said.values() for unit, judged in of.items() if unit in units
             for one in judged.judgements)  # fmt: skip
    return list(dict.fromkeys(every))


def _agreed(kind: str, said: Said, units: list[str], clusters: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    found = labelled(kind, said, units)
    if len(found.labels) < 2:
        return
    versions: dict[str, dict[str, dict[Item, float | Label]]] = {"all": found.labels}
    if found.ruled:
        versions["read"] = found.read()
    for items, labels in versions.items():
        report = agreement(
            labels, lambda item: clusters[item[0]], ordinal=ORDINAL.get(kind), seed=SEED, resamples=RESAMPLES
        )
        yield {"items": items, "ordinal": kind in ORDINAL, "other": found.other, "n_ruled": len(found.ruled),
               **asdict(report)}  # fmt: skip


def _told(material: Material, pair: Mapping[str, Any]) -> dict[str, Any]:
    """A pair with who they are, in what they differ, and how many labels would flip from one to the other."""
    names = pair["raters"]
    people = sum(name in material.people for name in names)
    raw = pair["estimates"]["raw_agreement"]
    ends = raw["interval"]
    return {
        **pair,
        "between": (JUDGES, WITH_PERSON, PEOPLE)[people],
        "axis": axis(*(material.judges[name].spec for name in names)),
        "flips": {
            "n": raw["n_items"],
            "share": None if raw["value"] is None else 1.0 - raw["value"],
            "interval": (1.0 - ends[1], 1.0 - ends[0]) if ends else None,
        },
    }


def self_consistency(material: Material, agreed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How far judges agree with themselves; empty where nothing was judged twice.

    Args:
        agreed: as `label_agreement` gives it.
    """
    twice = [
        {"setting": entry["setting"], "model": entry["model"], "kind": entry["kind"], "items": entry["items"],
         "ordinal": entry["ordinal"], "how": SAME, "pair": pair, "n_outputs": None}
        for entry in agreed
        for pair in entry["pairs"]
        if pair["axis"] == SAME
    ]  # fmt: skip
    return twice + [row for candidate in material.candidates for row in _over_epochs(candidate)]


def _over_epochs(candidate: Candidate) -> Iterator[dict[str, Any]]:
    """Every judge against itself on outputs that are the same, letter by letter, in two epochs."""
    for setting in candidate.spec.settings:
        for pair in combinations(range(1, candidate.spec.epochs + 1), 2):
            alike = list(_alike(candidate.within(setting), pair))
            for judge in candidate.said:
                yield from _twice(candidate, setting, judge, pair, alike)


def _alike(units: list[StoredUnit], epochs: tuple[int, int]) -> Iterator[tuple[str, str]]:
    """Keys of two units of a case, one of each epoch, whose transcripts are equal."""
    by_case: dict[str, dict[int, StoredUnit]] = {}
    for stored in units:
        by_case.setdefault(stored.unit.case, {})[stored.unit.epoch] = stored
    for of_case in by_case.values():
        a, b = (of_case.get(epoch) for epoch in epochs)
        if a is not None and b is not None and a.transcript is not None and a.transcript == b.transcript:
            yield a.unit.key, b.unit.key


def _twice(
    candidate: Candidate, setting: str, judge: str, epochs: tuple[int, int], alike: list[tuple[str, str]]
) -> Iterator[dict[str, Any]]:
    of_judge = candidate.said[judge]
    both = [pair for pair in alike if all(unit in of_judge for unit in pair)]
    said: dict[str, dict[str, UnitJudgements]] = {
        f"{judge}, epoch {epoch}": {pair[0]: of_judge[pair[place]] for pair in both}
        for place, epoch in enumerate(epochs)
    }
    units = [first for first, _ in both]
    for kind in _kinds(said, set(units)):
        for entry in _agreed(kind, said, units, candidate.clusters):
            yield {"setting": setting, "model": candidate.name, "kind": kind, "items": entry["items"],
                   "ordinal": entry["ordinal"], "how": "epochs", "pair": entry["pairs"][0],
                   "n_outputs": len(both)}  # fmt: skip
