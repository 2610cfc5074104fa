"""What the branches brought back, put in order: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graphs.medrbench.judging.plan import KINDS, MATCH, REASONING
from graphs.medrbench.judging.state import Row, State
from judge.judgements import Judgement, StepCounts, UnitJudgements
from judge.outcome import Unscored

ORDER = tuple(kind for kinds in KINDS.values() for kind in kinds)


def result_of(state: State, source: str) -> dict[str, Any]:
    """The judgements of a unit in plain data; `unit_judgements` makes them what they are."""
    rows = sorted(state.get("judgements", []), key=lambda row: (ORDER.index(row["kind"]), row["item"]))
    return {
        "judgements": rows,
        "counts": _counts(state),
        "missing": {kind: _why(gone) for kind in ORDER if (gone := _of_kind(state["missing"], kind))},
        "facts": _facts(state, source),
    }


def unit_judgements(result: Mapping[str, Any]) -> UnitJudgements:
    """A result as judgements."""
    return UnitJudgements(
        tuple(Judgement.from_row(row) for row in result["judgements"]),
        StepCounts(*result["counts"]) if result["counts"] else None,
        {kind: Unscored(*why) for kind, why in result["missing"].items()},
        result["facts"],
    )


def _of_kind(rows: Iterable[Row], kind: str) -> list[Row]:
    """What is missing of a kind: first where all of it is, then by item."""
    found = (row for row in rows if row["kind"] == kind)
    return sorted(found, key=lambda row: -1 if row["item"] is None else row["item"])


def _why(gone: list[Row]) -> tuple[str, str]:
    """The first reason, with how many labels are missing where not all of them are."""
    first = gone[0]
    if first["item"] is None or first["kind"] not in _ABOUT:
        return first["reason"], first["detail"]
    labels = "1 label is" if len(gone) == 1 else f"{len(gone)} labels are"
    where = f"{_ABOUT[first['kind']]} {first['item'] + 1}"
    return first["reason"], f"{labels} missing, the first for {where}: {first['detail']}"


_ABOUT: Mapping[str, str] = {**dict.fromkeys(KINDS[REASONING], "step"), MATCH: "reference step"}


def _counts(state: State) -> tuple[int | None, int | None] | None:
    """How many steps there were to judge; None where none could be judged at all."""
    steps, reference = state["steps"], state["reference"]
    if REASONING not in state["branches"]:
        return None
    return (None if steps is None else len(steps), None if reference is None else len(reference))


def _facts(state: State, source: str) -> dict[str, Any]:
    if REASONING not in state["branches"]:
        return {}
    facts: dict[str, Any] = {"source": source}
    if state["steps"] is not None:
        facts["splitter"] = state["splitter"]
    if state["reference"] is not None:
        facts["reference"] = state["reference_hash"]
    if state.get("given_steps") is not None:
        facts["searched"] = "steps"  # reference steps are looked for in them alone: there is no conclusion
    return facts
