"""Results before and after a day, e.g. the last one that a model's training data may be from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from typing import Any, Literal

from judge.benchmark import Benchmark, Case, DatedBenchmark
from judge.errors import SpecError
from judge.outcome import Outcome
from judge.runs.scoring import Scorer, summarise
from judge.runs.store import StoredUnit

Side = Literal["before", "after", "undated"]

SIDES: Mapping[Side, str] = {
    "before": "before the cut-off",
    "after": "on or after the cut-off",
    "undated": "date not known well enough",
}

_DATE = re.compile(r"\s*(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?\s*")


def side_of(text: str, cutoff: date) -> Side:
    """On which side of a day a date lies; a month or year lies on one only as a whole.

    Args:
        text: ``2024-7-3``, ``2024-07`` or ``2024``; anything else is no date.
    """
    span = _span(text)
    if span is None:
        return "undated"
    first, last = span
    if last < cutoff:
        return "before"
    return "after" if first >= cutoff else "undated"


def _span(text: str) -> tuple[date, date] | None:
    """First and last day that a date may mean."""
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    year, month, day = (int(part) if part else None for part in found.groups())
    assert year is not None
    try:
        first = date(year, month or 1, day or 1)
        return first, first if day else _last_day(year, month or 12)
    except ValueError:
        return None


def _last_day(year: int, month: int) -> date:
    after = date(year + 1, 1, 1) if month == 12 else date(year, month + 1, 1)
    return date.fromordinal(after.toordinal() - 1)


def dated(benchmark: Benchmark) -> DatedBenchmark:
    """The benchmark as one whose cases have dates.

    Raises:
        SpecError: they have none.
    """
    if not isinstance(benchmark, DatedBenchmark):
        raise SpecError(f"--cutoff: the cases of {benchmark.name} have no dates")
    return benchmark


def sides(benchmark: Benchmark, cases: Mapping[str, Case], cutoff: date) -> dict[str, Side]:
    """Case -> its side.

    Raises:
        SpecError: the benchmark's cases have no dates.
    """
    source = dated(benchmark)
    return {name: side_of(source.date_of(case.record), cutoff) for name, case in cases.items()}


def by_side(
    scorer: Scorer,
    cases: Mapping[str, Case],
    units: Sequence[StoredUnit],
    scores: Mapping[str, Mapping[str, Outcome]],
    found: Mapping[str, Side],
) -> dict[str, dict[str, dict[str, Any]]]:
    """Setting -> side -> the summary of the setting over its cases on that side; sides without cases are left out."""
    result: dict[str, dict[str, dict[str, Any]]] = {}
    for side in SIDES:
        some = [stored for stored in units if found[stored.unit.case] == side]
        for summary in summarise(scorer, cases, some, scores):
            result.setdefault(summary.setting, {})[side] = asdict(summary)
    return result
