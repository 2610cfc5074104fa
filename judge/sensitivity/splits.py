"""Where judges split: the cases and steps on which they gave several labels, most informative first.

What counts first is how many judges are against the most frequent label, then how much the score of the unit moves if
one judge's label is replaced by another's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from judge.judgements import Judgement, Label, UnitJudgements
from judge.outcome import Outcome, Scored
from judge.runs.rating_agreement import WHOLE, labelled
from judge.runs.store import StoredUnit
from judge.sensitivity.material import Candidate, Material


def splits(material: Material, top: int) -> dict[str, Any]:
    """How many items judges split on, and the first ``top`` of them."""
    found = [split for candidate in material.candidates for split in _of(candidate)]
    ranked = sorted(found, key=lambda split: (-split["n_against"], -(split["effect"]["size"] or 0.0)))
    return {"n": len(found), "shown": ranked[:top]}


def _of(candidate: Candidate) -> Iterator[dict[str, Any]]:
    for setting in candidate.spec.settings:
        units = {stored.unit.key: stored for stored in candidate.within(setting)}
        kinds = dict.fromkeys(one.kind for said in candidate.said.values() for unit, judged in said.items()
                              if unit in units for one in judged.judgements)  # fmt: skip
        for kind in kinds:
            labels = labelled(kind, candidate.said, list(units)).labels
            for item in dict.fromkeys(item for given in labels.values() for item in given):
                given = {judge: of[item] for judge, of in labels.items() if item in of}
                if len(set(given.values())) > 1:
                    yield _split(candidate, units[item[0]], kind, item[1], list(given))


def _split(candidate: Candidate, stored: StoredUnit, kind: str, item: int, judges: Sequence[str]) -> dict[str, Any]:
    unit = stored.unit
    by_judge = {judge: _judgement(candidate.said[judge][unit.key], kind, item) for judge in judges}
    counts = Counter(one.label for one in by_judge.values())
    return {
        "model": candidate.name,
        "setting": unit.setting,
        "case": unit.case,
        "epoch": unit.epoch,
        "kind": kind,
        "item": item,
        "whole": kind in WHOLE,
        "text": next((one.text for one in by_judge.values() if one.text), ""),
        "n_against": len(by_judge) - max(counts.values()),
        "effect": _effect(candidate, stored, by_judge),
        "labels": {judge: {"label": one.label, "rationale": one.rationale} for judge, one in by_judge.items()},
    }


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
