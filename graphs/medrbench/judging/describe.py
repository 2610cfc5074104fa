"""What a judge said of one unit, for a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from judge.judgements import Judgement, UnitJudgements

#: Most characters shown of what a search found.
FOUND_CHARACTERS = 200

_YES_NO: Mapping[str, tuple[str, str]] = {
    "factuality": ("correct", "wrong"),
    "match": ("found", "not found"),
    "accuracy": ("correct", "wrong"),
    "exam_precision": ("a test that was done", "no test that was done"),
    "exam_recall": ("asked for", "not asked for"),
}

_WHOLE = (
    ("accuracy", "judge, answer"),
    ("match", "judge, reference steps"),
    ("exam_precision", "judge, requests"),
    ("exam_recall", "judge, tests of the record"),
)


def describe_judgements(said: UnitJudgements) -> list[tuple[str, str]]:
    """(heading, text) pairs: the answer, each step, the reference steps, the exams both ways, and what is missing."""
    view = said.view
    references = said.counts.reference_steps if said.counts else None
    answer, *others = ((heading, view.of(kind), references if kind == "match" else None) for kind, heading in _WHOLE)
    parts = [_listed(*answer), _steps(said), *(_listed(*other) for other in others), *_missing(said)]
    return [part for part in parts if part[1]]


def _listed(heading: str, judgements: Sequence[Judgement], count: int | None) -> tuple[str, str]:
    """A kind whose labels are yes or no; the count is part of the heading where there may be several.

    Args:
        count: how many things there were to label, where that is known.
    """
    if not judgements or judgements[0].kind == "accuracy":
        return heading, "\n".join(_lines(judgements, None))
    hits = sum(bool(one.label) for one in judgements)
    yes = _YES_NO[judgements[0].kind][0]
    of = len(judgements) if count is None else count
    without = f", {of - len(judgements)} without a label" if of > len(judgements) else ""
    return f"{heading} ({hits} of {of} {yes}{without})", "\n".join(_lines(judgements, count))


def _lines(judgements: Iterable[Judgement], count: int | None) -> Iterable[str]:
    by_item = {one.item: one for one in judgements}
    for item in range(count) if count is not None else by_item:
        number = f"{item + 1}. "
        if (one := by_item.get(item)) is None:
            yield f"{number}no label"
            continue
        yield f"{'' if one.kind == 'accuracy' else number}{_verdict(one)}: {_folded(one.text) or '(no text)'}"
        yield from _reasons(one)


def _steps(said: UnitJudgements) -> tuple[str, str]:
    facts = {one.item: one for one in said.view.of("factuality")}
    labels = {one.item: one for one in said.view.of("effectiveness")}
    count = said.counts.steps if said.counts and labels else None
    lines: list[str] = []
    for item in range(count) if count is not None else labels:
        if (step := labels.get(item)) is None:
            lines.append(f"{item + 1}. no label")
            continue
        fact = facts.get(step.item)
        verdict = f", {_verdict(fact)}" if fact else ""
        lines.append(f"{step.item + 1}. {step.label}{verdict}: {_folded(step.text)}")
        lines += _reasons(step)
        if fact is not None:
            lines += _reasons(fact, but=step.rationale)
    return _steps_heading(said), "\n".join(lines)


def _steps_heading(said: UnitJudgements) -> str:
    splitter = said.facts.get("splitter")
    if not splitter:
        return "judge, steps"
    source = f"of the {said.facts['source']}, " if "source" in said.facts else ""
    return f"judge, steps ({source}split by {splitter['by']})"


def _verdict(one: Judgement) -> str:
    if isinstance(one.label, str):
        return one.label
    yes, no = _YES_NO[one.kind]
    return yes if one.label else no


def _reasons(one: Judgement, *, but: str = "") -> list[str]:
    """The rationale, unless it was shown just before, and how the label was reached."""
    rationale = [f"   because: {_folded(one.rationale)}"] if one.rationale and one.rationale != but else []
    return [*rationale, *(line for entry in one.path for line in _path(one, entry))]


def _path(one: Judgement, entry: Mapping[str, Any]) -> list[str]:
    if "query" in entry:
        return _search(entry)
    if "requests" in entry:
        return ["   by request " + ", ".join(str(index + 1) for index in entry["requests"])]
    if "turn" in entry:
        return [f"   in turn {entry['turn']}" + (", read by the judge" if "read_by" in entry else "")]
    return [f"   {str(key).replace('_', ' ')}: {_cut(_folded(str(value)))}" for key, value in entry.items()]


def _search(entry: Mapping[str, Any]) -> list[str]:
    query, found = _folded(entry["query"]), entry.get("found", ())
    if not found:
        return [f"   searched: {query} → nothing found"]
    return [f"   searched: {query} → {_folded(one['source'])}: {_cut(_folded(one['text']))}" for one in found]


def _missing(said: UnitJudgements) -> list[tuple[str, str]]:
    """What the judge failed at, apart from what there was not in the transcript to be judged."""
    lines = {
        kind: f"{kind}: {why.reason}{f' ({why.detail})' if why.detail else ''}" for kind, why in said.missing.items()
    }
    failed = [line for kind, line in lines.items() if _lies_with_the_judge(said.missing[kind].reason)]
    nothing = [line for kind, line in lines.items() if not _lies_with_the_judge(said.missing[kind].reason)]
    return [("judge, labels it failed to give", "\n".join(failed)), ("nothing to judge there", "\n".join(nothing))]


def _lies_with_the_judge(reason: str) -> bool:
    return reason.startswith(("judge_", "evidence_", "panel_"))


def _folded(text: str) -> str:
    return " ".join(text.split())


def _cut(text: str) -> str:
    return text if len(text) <= FOUND_CHARACTERS else f"{text[:FOUND_CHARACTERS]} […]"
