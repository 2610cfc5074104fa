"""How far judges, people among them, agree on single labels, and how far a judge agrees with itself.

Self-consistency is how often a judge gives the same label when it is asked again: under equal settings, with two names
or about the same output in several epochs. It is no bound: a judge whose labels vary may agree better with a steady one
than with itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

from judge.judgements import Label, UnitJudgements
from judge.runs.rating_agreement import ORDINAL, Item, Labelled, Said, labelled, together
from judge.runs.store import StoredUnit
from judge.sensitivity.material import Candidate, Material
from judge.sensitivity.settings import SAME, axis
from judge.stats import agreement

#: Who is compared.
JUDGES, WITH_PERSON, PEOPLE = "judges", "judge and person", "people"

#: How a judge came to label the same thing again.
EPOCHS = "epochs"

Labels = dict[str, dict[Item, float | Label]]
"""Rater -> item -> label."""


def between(material: Material, names: Sequence[str]) -> str:
    """Whether two raters are judges, people, or one of each."""
    return (JUDGES, WITH_PERSON, PEOPLE)[sum(name in material.people for name in names)]


def label_agreement(material: Material) -> list[dict[str, Any]]:
    """One entry a model, setting and kind that two raters labelled; one more without what rules decide, if any do.

    ``groups`` holds all judges together where they are more than two, without panels, whose labels are made of the
    others', and with one of those that have equal settings; and all people together.
    """
    found = []
    for candidate in material.candidates:
        for setting in candidate.spec.settings:
            units = [stored.unit.key for stored in candidate.within(setting)]
            for kind in _kinds(candidate.said, set(units)):
                for entry in _agreed(kind, candidate.said, units, candidate.clusters):
                    about = {"setting": setting, "model": candidate.name, "kind": kind}
                    groups = list(_groups(material, candidate, kind, entry.pop("labels_by_rater")))
                    pairs = [_told(material, pair) for pair in entry["pairs"]]
                    found.append({**about, **entry, "pairs": pairs, "groups": groups})
    return found


def _kinds(said: Said, units: set[str]) -> list[str]:
    every = (one.kind for of in said.values() for unit, judged in of.items() if unit in units
             for one in judged.judgements)  # fmt: skip
    return list(dict.fromkeys(every))


def _agreed(kind: str, said: Said, units: list[str], clusters: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    found = labelled(kind, said, units)
    if len(found.labels) < 2:
        return
    for items, labels in _versions(found):
        report = asdict(agreement(labels, lambda item: clusters[item[0]], ordinal=ORDINAL.get(kind)))
        del report["together"]
        yield {"items": items, "ordinal": kind in ORDINAL, "other": found.other, "n_ruled": len(found.ruled),
               "labels_by_rater": labels, **report}  # fmt: skip


def _versions(found: Labelled) -> Iterator[tuple[str, Labels]]:
    """All items, and those that had to be read where a rule decides others."""
    yield "all", found.labels
    if found.ruled:
        yield "read", found.read()


def _groups(material: Material, candidate: Candidate, kind: str, labels: Labels) -> Iterator[dict[str, Any]]:
    first = {names[0] for names in _repeated_here(material, labels)}
    members = {
        JUDGES: [name for name in labels if name in material.voters and name in first],
        PEOPLE: [name for name in labels if name in material.people],
    }
    for who, names in members.items():
        if len(names) > (2 if who == JUDGES else 1):
            chosen = {name: labels[name] for name in names}
            yield {"who": who, **asdict(together(kind, chosen, candidate.clusters))}


def _repeated_here(material: Material, labels: Labels) -> list[list[str]]:
    """As `Material.repeated`, of the raters that gave labels."""
    found = [[name for name in names if name in labels] for names in material.repeated()]
    return [names for names in found if names]


def _told(material: Material, pair: Mapping[str, Any]) -> dict[str, Any]:
    """A pair with who they are, in what they differ, and how many labels would flip from one to the other."""
    names = pair["raters"]
    raw = pair["estimates"]["raw_agreement"]
    ends = raw["interval"]
    return {
        **pair,
        "between": between(material, names),
        "panel": any(material.judges[name].kind == "panel" for name in names),
        "axis": axis(*(material.judges[name].spec for name in names)),
        "flips": {
            "n": raw["n_items"],
            "share": None if raw["value"] is None else 1.0 - raw["value"],
            "interval": (1.0 - ends[1], 1.0 - ends[0]) if ends else None,
        },
    }


# -- a judge against itself --------------------------------------------------------------------------------------------


def self_consistency(material: Material, agreed: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """How far judges agree with themselves; empty lists where nothing was judged twice.

    Args:
        agreed: as `label_agreement` gives it.

    Returns:
        ``pairs``: every two labels that a judge gave the same things; ``pooled``: one row a judge, setting and kind,
        over all its repetitions and models.
    """
    twice = [
        {"setting": entry["setting"], "model": entry["model"], "kind": entry["kind"], "items": entry["items"],
         "ordinal": entry["ordinal"], "how": SAME, "pair": pair, "n_outputs": None}
        for entry in agreed
        for pair in entry["pairs"]
        if pair["axis"] == SAME
    ]  # fmt: skip
    pairs = twice + [row for candidate in material.candidates for row in _over_epochs(candidate)]
    return {"pairs": pairs, "pooled": list(_pooled(material))}


def _outputs(units: list[StoredUnit]) -> list[list[StoredUnit]]:
    """Units in groups with the same output: of one case, with transcripts that are equal letter by letter."""
    found: list[list[StoredUnit]] = []
    by_case: dict[str, list[list[StoredUnit]]] = {}
    for stored in sorted(units, key=lambda stored: stored.unit.epoch):
        of_case = by_case.setdefault(stored.unit.case, [])
        same = next((group for group in of_case if group[0].transcript == stored.transcript is not None), None)
        if same is not None:
            same.append(stored)
            continue
        group = [stored]
        of_case.append(group)
        found.append(group)
    return found


def _over_epochs(candidate: Candidate) -> Iterator[dict[str, Any]]:
    """Every judge against itself on outputs that are the same, letter by letter, in two epochs."""
    for setting in candidate.spec.settings:
        by_epoch = [{stored.unit.epoch: stored.unit.key for stored in group}
                    for group in _outputs(candidate.within(setting))]  # fmt: skip
        for pair in combinations(range(1, candidate.spec.epochs + 1), 2):
            alike = [(of[pair[0]], of[pair[1]]) for of in by_epoch if all(epoch in of for epoch in pair)]
            for judge in candidate.said:
                yield from _twice(candidate, setting, judge, pair, alike)


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
                   "ordinal": entry["ordinal"], "how": EPOCHS, "pair": entry["pairs"][0],
                   "n_outputs": len(both)}  # fmt: skip


@dataclass
class _Repetitions:
    """The labels of one judge, kind and version over several models.

    Attributes:
        labels: repetition -> model, unit and the rest of an item -> label.
    """

    labels: dict[str, dict[tuple[str, Item], float | Label]] = field(default_factory=dict)

    def add(self, model: str, labels: Labels) -> None:
        for name, of in labels.items():
            self.labels.setdefault(name, {}).update({(model, item): label for item, label in of.items()})

    def counts(self) -> Counter[tuple[str, Item]]:
        """How often each item was labelled, of those labelled more than once."""
        every = Counter(item for of in self.labels.values() for item in of)
        return Counter({item: count for item, count in every.items() if count > 1})


def _pooled(material: Material) -> Iterator[dict[str, Any]]:
    """One row a judge, setting and kind over all its repetitions, where there are any."""
    clusters = {(one.name, unit): cluster for one in material.candidates for unit, cluster in one.clusters.items()}
    for setting in material.settings:
        for names in material.repeated():
            found: dict[tuple[str, str], _Repetitions] = {}
            for candidate in material.candidates:
                if setting in candidate.spec.settings:
                    _collect(found, candidate, setting, names)
            for (kind, items), one in found.items():
                if row := _over_all(kind, one, clusters):
                    yield {"setting": setting, "kind": kind, "items": items, "ordinal": kind in ORDINAL,
                           "judges": list(names), **row}  # fmt: skip


def _collect(
    found: dict[tuple[str, str], _Repetitions], candidate: Candidate, setting: str, names: Sequence[str]
) -> None:
    """Add what a judge, under all its names, said of the outputs of a model."""
    said: dict[str, dict[str, UnitJudgements]] = {}
    outputs = [[stored.unit.key for stored in group] for group in _outputs(candidate.within(setting))]
    for group in outputs:
        for name in (name for name in names if name in candidate.said):
            for time, unit in enumerate(group):
                if unit in candidate.said[name]:
                    said.setdefault(f"{name}, time {time + 1}", {})[group[0]] = candidate.said[name][unit]
    units = [group[0] for group in outputs]
    for kind in _kinds(said, set(units)):
        for items, labels in _versions(labelled(kind, said, units)):
            found.setdefault((kind, items), _Repetitions()).add(candidate.name, labels)


def _over_all(kind: str, one: _Repetitions, clusters: Mapping[tuple[str, str], str]) -> dict[str, Any] | None:
    counts = one.counts()
    if not counts:
        return None
    report = agreement(one.labels, lambda item: clusters[item[0], item[1][0]], ordinal=ORDINAL.get(kind))
    models = list(dict.fromkeys(model for model, _ in counts))
    outputs = {(model, item[0]) for model, item in counts}
    return {"models": models, "n_outputs": len(outputs), "most_times": max(counts.values()),
            "compared": asdict(report.together)}  # fmt: skip
