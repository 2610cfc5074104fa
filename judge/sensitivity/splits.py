"""Where judges split: the cases and steps on which they gave several labels, most informative first.

What counts first is how many judges are against the most frequent label, then how much the score of the unit moves if
one judge's label is replaced by another's. Only judges vote, neither people nor panels, whose labels are told all the
same; where fewer than two judges are there, people vote. Among items that tell as much, models and kinds of labels take
turns, and within each its cases, in the order of the runs and their cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from judge.judgements import Judgement, Label, UnitJudgements
from judge.outcome import Outcome, Scored
from judge.runs.rating_agreement import WHOLE, labelled
from judge.runs.store import StoredUnit
from judge.sensitivity.labels import JUDGES, PEOPLE
from judge.sensitivity.material import Candidate, Material

Split = dict[str, Any]


def splits(material: Material, top: int) -> dict[str, Any]:
    """How many items judges split on, who they are, and the first ``top`` items."""
    who = JUDGES if len(material.voters) > 1 else PEOPLE
    voters = material.voters if who == JUDGES else tuple(name for name in material.judges if name in material.people)
    found = [split for candidate in material.candidates for split in _of(candidate, voters)]
    ranked = sorted(found, key=_told_by)
    tiers = (list(tier) for _, tier in groupby(ranked, key=_told_by))
    return {"n": len(found), "who": who, "shown": [split for tier in tiers for split in _in_turns(tier)][:top]}


def _told_by(split: Split) -> tuple[float, float]:
    """How much an item tells, those that tell most first."""
    return -split["n_against"], -round(split["effect"]["size"] or 0.0, 9)


def _in_turns(tier: Sequence[Split]) -> list[Split]:
    """Items that tell as much: models and kinds alternate, and within them cases."""
    sides: dict[tuple[str, str, str], list[Split]] = {}
    for split in _turned(tier, "case"):
        sides.setdefault((split["model"], split["setting"], split["kind"]), []).append(split)
    rounds = [(turn, place, split) for place, of in enumerate(sides.values()) for turn, split in enumerate(of)]
    return [split for _, _, split in sorted(rounds, key=lambda one: one[:2])]


def _turned(tier: Sequence[Split], key: str) -> list[Split]:
    """The first item of every case, then every second one, and so on."""
    seen: Counter[tuple[str, ...]] = Counter()
    turns = []
    for split in tier:
        about = (split["model"], split["setting"], split["kind"], split[key])
        turns.append((seen[about], split))
        seen[about] += 1
    return [split for _, split in sorted(turns, key=lambda one: one[0])]


def _of(candidate: Candidate, voters: Sequence[str]) -> Iterator[Split]:
    for setting in candidate.spec.settings:
        units = {stored.unit.key: stored for stored in candidate.within(setting)}
        kinds = dict.fromkeys(one.kind for said in candidate.said.values() for unit, judged in said.items()
                              if unit in units for one in judged.judgements)  # fmt: skip
        for kind in kinds:
            labels = labelled(kind, candidate.said, list(units)).labels
            for item in dict.fromkeys(item for given in labels.values() for item in given):
                given = {judge: of[item] for judge, of in labels.items() if item in of}
                if len({label for judge, label in given.items() if judge in voters}) > 1:
                    yield _split(candidate, units[item[0]], kind, item[1], list(given), voters)


def _split(
    candidate: Candidate, stored: StoredUnit, kind: str, item: int, judges: Sequence[str], voters: Sequence[str]
) -> Split:
    unit = stored.unit
    by_judge = {judge: _judgement(candidate.said[judge][unit.key], kind, item) for judge in judges}
    voted = {judge: one for judge, one in by_judge.items() if judge in voters}
    counts = Counter(one.label for one in voted.values())
    return {
        "model": candidate.name,
        "setting": unit.setting,
        "case": unit.case,
        "epoch": unit.epoch,
        "kind": kind,
        "item": item,
        "whole": kind in WHOLE,
        "text": next((one.text for one in by_judge.values() if one.text), ""),
        "n_against": len(voted) - max(counts.values()),
        "effect": _effect(candidate, stored, voted),
        "labels": {judge: {"label": one.label, "rationale": one.rationale, "votes": judge in voted}
                   for judge, one in by_judge.items()},
    }  # fmt: skip


def _judgement(said: UnitJudgements, kind: str, item: int) -> Judgement:
    return next(one for one in said.judgements if (one.kind, one.item) == (kind, item))


def _effect(candidate: Candidate, stored: StoredUnit, by_judge: Mapping[str, Judgement]) -> dict[str, Any]:
    """The metric of the unit that moves most if one judge's label takes the place of another's, and how much."""
    largest: dict[str, Any] = {"metric": "", "size": None}
    for judge, own in by_judge.items():
        before = candidate.outcomes[judge][stored.unit.key]
        for label in {one.label for one in by_judge.values()} - {own.label}:
            said = _with_label(candidate.said[judge][stored.unit.key], own, label)
            for metric, size in _moved(before, candidate.outcome(stored, said)).items():
                if size > (largest["size"] or 0.0):
                    largest = {"metric": metric, "size": size}
    return largest


def _with_label(said: UnitJudgements, own: Judgement, label: Label) -> UnitJudgements:
    return replace(said, judgements=tuple(replace(one, label=label) if one is own else one for one in said.judgements))


def _moved(before: Mapping[str, Outcome], after: Mapping[str, Outcome]) -> dict[str, float]:
    """Metric -> how far it moved, where it has a value both times."""
    return {
        metric: abs(outcome.value - other.value)
        for metric, outcome in before.items()
        if isinstance(outcome, Scored) and isinstance(other := after.get(metric), Scored)
    }
