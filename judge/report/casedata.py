"""The cases of a run as data for the case browser: an index, and pages of transcripts within a budget of bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate, combinations
from typing import Any

from judge.benchmark import PENDING, Benchmark, Case, Transcript
from judge.judgements import Judgement, UnitJudgements
from judge.outcome import Outcome, Scored
from judge.report.inert import inert, script_json
from judge.runs.rating_agreement import WHOLE
from judge.runs.store import StoredUnit

#: Bytes of all texts together, about, and of any one of them; what is as short as a name or a label stays whole.
BUDGET, MOST, LEAST = 24_000_000, 200_000, 120

#: About how many bytes of JSON stand in one block of the file; a block is parsed when one of its cases is opened.
PAGE = 400_000

#: Share of a cut text that is its beginning; the rest is its end.
_HEAD = 2 / 3


@dataclass(frozen=True, slots=True)
class Column:
    """One metric of the browser's scores; `judge` is empty for metrics without one."""

    judge: str
    metric: str
    title: str


@dataclass(frozen=True, slots=True)
class Browsed:
    """Everything that the case browser shows.

    Attributes:
        index: one short row a unit, and what its words mean.
        pages: JSON texts, safe in a script block; the index says which one holds a unit.
        limit: bytes above which texts are cut; None if all are whole.
        n_cut: units with a text that is cut.
    """

    index: dict[str, Any]
    pages: tuple[str, ...]
    limit: int | None
    n_cut: int


@dataclass(frozen=True, slots=True)
class Material:
    """What the browser is made from.

    Attributes:
        said: judge -> unit key -> what it said.
        scores: judge, empty for none -> unit key -> metric -> outcome.
        columns: the scores that are shown.
        deciding: those of the columns of which a 0 means that the answer is wrong; empty where none does.
        leading: those whose values stand beside a unit in the list.
        sides: case -> on which side of a cut-off it is; empty without one.
    """

    benchmark: Benchmark
    cases: Mapping[str, Case]
    units: Sequence[StoredUnit]
    said: Mapping[str, Mapping[str, UnitJudgements]]
    scores: Mapping[str, Mapping[str, Mapping[str, Outcome]]]
    columns: Sequence[Column]
    deciding: Sequence[Column]
    leading: Sequence[Column]
    sides: Mapping[str, str]


def browsed(material: Material, *, budget: int = BUDGET) -> Browsed:
    """The data of the case browser.

    Args:
        budget: bytes of all texts; the longest are cut so that they fit.
    """
    details = [inert(_detail(material, stored)) for stored in material.units]
    sizes = [len(text.encode()) for detail in details for text in _texts(detail)]
    limit = max(fitting(sizes, budget, MOST), LEAST)
    cut = [_cut(detail, limit) for detail in details]
    n_cut = sum(before != after for before, after in zip(details, cut, strict=True))
    numbers, pages = _paged([script_json(detail) for detail in cut])
    expected = _expected(material)
    rows = [
        _row(material, stored, page, expected[stored.unit.setting])
        for stored, page in zip(material.units, numbers, strict=True)
    ]
    index = {
        "columns": [asdict(column) for column in material.columns],
        "deciding": [place for place, column in enumerate(material.columns) if column in material.deciding],
        "leading": [place for place, column in enumerate(material.columns) if column in material.leading],
        "units": rows,
    }
    return Browsed(inert(index), tuple(pages), limit if n_cut else None, n_cut)


def fitting(sizes: Sequence[int], budget: int, most: int) -> int:
    """The largest size, `most` at most, to which all larger ones can be cut so that the sum is within the budget."""
    ordered = sorted(min(size, most) for size in sizes)
    before = [0, *accumulate(ordered)]
    for place, size in enumerate(ordered):
        left, rest = budget - before[place], len(ordered) - place
        if size * rest > left:
            return max(0, left // rest)
    return most


# -- one unit --------------------------------------------------------------------------------------------------------


def _expected(material: Material) -> dict[str, list[Column]]:
    """Setting -> the scores without which a unit is unscored: those that any of its units has, or all if none has."""
    keys: dict[str, list[str]] = {}
    for stored in material.units:
        keys.setdefault(stored.unit.setting, []).append(stored.unit.key)
    found = {}
    for setting, of_setting in keys.items():
        there = [
            column
            for column in material.columns
            if any(isinstance(material.scores[column.judge][key].get(column.metric), Scored) for key in of_setting)
        ]
        found[setting] = there or list(material.columns)
    return found


def _row(material: Material, stored: StoredUnit, page: tuple[int, int], expected: Sequence[Column]) -> dict[str, Any]:
    unit = stored.unit
    return {
        "case": unit.case,
        "setting": unit.setting,
        "epoch": unit.epoch,
        "status": "not_run" if stored.status == PENDING else stored.status,
        "flags": list(stored.flags),
        "marks": list(_marks(material, stored, expected)),
        "scores": [_score(material.scores[c.judge][unit.key].get(c.metric)) for c in material.columns],
        "page": list(page),
    }


def _score(outcome: Outcome | None) -> float | str | None:
    """A number, the reason why there is none, or None where the metric is not about the unit."""
    if outcome is None:
        return None
    return round(outcome.value, 6) if isinstance(outcome, Scored) else outcome.reason


def _marks(material: Material, stored: StoredUnit, expected: Sequence[Column]) -> Iterator[str]:
    key = stored.unit.key
    decided = [material.scores[column.judge][key].get(column.metric) for column in material.deciding]
    if any(isinstance(outcome, Scored) and outcome.value == 0 for outcome in decided):
        yield "wrong"
    shown = (_score(material.scores[column.judge][key].get(column.metric)) for column in expected)
    if any(isinstance(score, str) and score != "not_judged" for score in shown):
        yield "unscored"
    if disagreements({judge: of[key] for judge, of in material.said.items() if key in of}):
        yield "disagree"
    if material.sides:
        yield material.sides[stored.unit.case]


def disagreements(said: Mapping[str, UnitJudgements]) -> list[dict[str, Any]]:
    """Things that two judges labelled differently; parts of a whole only where both had the same text before them."""
    labels: dict[tuple[str, int, str], dict[str, Any]] = {}
    for judge, of_unit in said.items():
        for one in of_unit.judgements:
            labels.setdefault(_thing(one), {})[judge] = one.label
    return [
        {"kind": kind, "item": item, "labels": found}
        for (kind, item, _), found in labels.items()
        if any(a != b for a, b in combinations(found.values(), 2))
    ]


def _thing(one: Judgement) -> tuple[str, int, str]:
    return one.kind, one.item, "" if one.kind in WHOLE else " ".join(one.text.split())


def _detail(material: Material, stored: StoredUnit) -> dict[str, Any]:
    unit, record = stored.unit, material.cases[stored.unit.case].record
    transcript = stored.transcript or Transcript(stored.status, stored.detail)
    said = {judge: of[unit.key] for judge, of in material.said.items() if unit.key in of}
    return {
        "detail": stored.detail,
        "text": material.benchmark.describe(record, transcript),
        "judges": [{"name": name, **_said(of_unit)} for name, of_unit in said.items()],
        "disagree": disagreements(said),
        "unscored": _reasons(material, unit.key),
    }


def _said(said: UnitJudgements) -> dict[str, Any]:
    return {
        "judgements": said.view.to_rows(),
        "missing": {kind: asdict(why) for kind, why in said.missing.items()},
        "splitter": (said.facts.get("splitter") or {}).get("by", ""),
    }


def _reasons(material: Material, key: str) -> list[str]:
    """What is said of the scores that are missing, each sentence once."""
    found = (material.scores[column.judge][key].get(column.metric) for column in material.columns)
    return list(dict.fromkeys(one.detail for one in found if one is not None and not isinstance(one, Scored)))


# -- within the budget -----------------------------------------------------------------------------------------------


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _cut(value: Any, limit: int) -> Any:
    """`value` with every longer text as ``{"$cut": [beginning, end, characters left out]}``."""
    if isinstance(value, str):
        return _cut_text(value, limit)
    if isinstance(value, dict):
        return {key: _cut(item, limit) for key, item in value.items()}
    if isinstance(value, list):
        return [_cut(item, limit) for item in value]
    return value


def _cut_text(text: str, limit: int) -> Any:
    size = len(text.encode())
    if size <= limit:
        return text
    kept = len(text) * limit // size
    head = round(kept * _HEAD)
    tail = kept - head
    return {"$cut": [text[:head], text[len(text) - tail :], len(text) - kept]}


def _paged(details: Sequence[str]) -> tuple[list[tuple[int, int]], list[str]]:
    """(page, place on it) of every detail, and the pages as JSON lists."""
    pages: list[list[str]] = [[]]
    numbers: list[tuple[int, int]] = []
    size = 0
    for detail in details:
        if pages[-1] and size + len(detail) > PAGE:
            pages.append([])
            size = 0
        numbers.append((len(pages) - 1, len(pages[-1])))
        pages[-1].append(detail)
        size += len(detail)
    return numbers, ["[" + ",".join(page) + "]" for page in pages]
