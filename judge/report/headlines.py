"""The numbers at the top of a report: which metric says how good the answers are, and on which cases each mean is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from statistics import fmean
from typing import Any

from judge.outcome import Outcome, Scored
from judge.report.casedata import Column
from judge.runs.store import StoredUnit

#: The judged metric that says whether an answer is right; without it, a benchmark's headline says so.
ACCURACY = "accuracy"

#: Of each judge that does not say whether answers are right.
_MOST_TILES = 3

Scores = Mapping[str, Mapping[str, Mapping[str, Outcome]]]
"""Judge, empty for none -> unit key -> metric -> outcome."""


def deciding(columns: Sequence[Column], scores: Scores) -> list[Column]:
    """What says whether an answer is right: judges, where any has judged it, else the benchmark's own headline.

    Empty where nothing does: neither has a value in any unit, or the headline is no question of right or wrong.
    """
    judged = [column for column in columns if column.judge and column.metric == ACCURACY and _values(column, scores)]
    own = [column for column in columns[:1] if not column.judge and set(_values(column, scores)) in _RIGHT_OR_WRONG]
    return judged or own


_RIGHT_OR_WRONG = ({0.0}, {1.0}, {0.0, 1.0})


def leading(columns: Sequence[Column], decided: Sequence[Column], scores: Scores) -> list[Column]:
    """What stands beside each unit in a list: what decides, else the first score that any unit has."""
    return list(decided) or [column for column in columns if _values(column, scores)][:1]


def _values(column: Column, scores: Scores) -> list[float]:
    found = (of_unit.get(column.metric) for of_unit in scores[column.judge].values())
    return [outcome.value for outcome in found if isinstance(outcome, Scored)]


def headlines(
    settings: Sequence[Mapping[str, Any]],
    decided: Sequence[Column],
    units: Sequence[StoredUnit],
    scores: Scores,
    people: Collection[str] = (),
) -> list[dict[str, Any]]:
    """For each setting what says how many answers are right, or the benchmark's headline.

    Means of one metric that are on other cases than the one with most have its name in ``others``, and all of that
    metric then have in ``common`` their mean over the cases that all of them scored, with ``n_cases``; a mean of group
    means has neither. ``n_cases`` is the number of cases that a mean is over.

    Args:
        people: judges that are people; they label few cases, and do not narrow what the others have in common.
    """
    tiles: list[dict[str, Any]] = [
        {"setting": setting["setting"], "row": row} for setting in settings for row in _rows(setting, decided)
    ]
    by_metric: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for tile in tiles:
        by_metric[tile["row"]["metric"]].append(tile)
    for alike in by_metric.values():
        _compare(alike, [_by_case(tile, units, scores) for tile in alike], people)
    return tiles


def _rows(setting: Mapping[str, Any], decided: Sequence[Column]) -> list[Mapping[str, Any]]:
    own, *judged = [block["tables"] for block in setting["blocks"]]
    rows = [row for tables in judged for row in tables["metrics"]]
    names = {(column.judge, column.metric) for column in decided}
    if found := [row for row in rows if (row["judge"], row["metric"]) in names]:
        return found
    first = [row for row in (own["summaries"] or own["metrics"])[:1] if row["n_scored"] or not rows]
    return [*first, *(row for tables in judged for row in tables["metrics"][:_MOST_TILES])]


def _by_case(tile: Mapping[str, Any], units: Sequence[StoredUnit], scores: Scores) -> dict[str, float]:
    """Case -> mean of its epochs, for the cases that a mean is over."""
    row, found = tile["row"], defaultdict(list)
    for stored in units:
        outcome = scores[row["judge"]][stored.unit.key].get(row["metric"])
        if stored.unit.setting == tile["setting"] and isinstance(outcome, Scored):
            found[stored.unit.case].append(outcome.value)
    return {case: fmean(values) for case, values in found.items()}


def _compare(tiles: Sequence[dict[str, Any]], values: Sequence[Mapping[str, float]], people: Collection[str]) -> None:
    """Say of each mean on which cases it is, beside the others of its metric."""
    most = max(range(len(tiles)), key=lambda place: len(values[place]))
    judges = [of for tile, of in zip(tiles, values, strict=True) if of and tile["row"]["judge"] not in people]
    differ = any(of.keys() != values[most].keys() for of in judges)
    shared = [case for case in values[most] if all(case in of for of in judges)]
    for tile, of in zip(tiles, values, strict=True):
        other = bool(of) and of.keys() != values[most].keys()
        tile |= {
            "n_cases": tile["row"]["n_cases"],
            "others": _name(tiles[most]) if other else "",
            "common": {"n_cases": len(shared), "mean": fmean(of[case] for case in shared) if shared else None}
            if differ and of and tile["row"]["judge"] not in people
            else None,
        }


def _name(tile: Mapping[str, Any]) -> str:
    by = f" by {tile['row']['judge']}" if tile["row"]["judge"] else ""
    return f"{tile['setting']}{by}"
