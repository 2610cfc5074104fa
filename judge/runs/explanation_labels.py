"""Grades of explanations from a CSV of labels: case_id, kind, item, label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from judge.benchmark import Transcript
from judge.errors import DataError
from judge.explanations import GRADES, KIND, Exhibit, ExplainedAnswers, Grade, read_grade
from judge.judgements import CaseLabels, Judgement, Labels
from judge.runs.sheets import Row, read_sheet

COLUMNS = ("case_id", "kind", "item", "label")
OPTIONAL_COLUMNS = ("text", "rationale")


def read_explanation_labels(file: Path, judge: str | None = None) -> Labels:
    """Read one judge's, or one person's, grades; the columns text and rationale may be there too.

    Raises:
        DataError: with file, line and column; or a judge was named, of whom such a file knows nothing.
    """
    if judge is not None:
        raise DataError(f"{file}: has no labels with judge {judge!r}; a CSV names no judge")
    sheet = read_sheet(file, COLUMNS, OPTIONAL_COLUMNS)
    found: dict[str, tuple[int, Judgement]] = {}
    for row in sheet.rows:
        case_id = _case_id(row)
        if case_id in found:
            row.fail("case_id", f"the case {case_id!r} is labelled at line {found[case_id][0]} already")
        found[case_id] = row.line, _judgement(row)
    records = tuple(CaseLabels(case_id, "", "", (judgement,)) for case_id, (_, judgement) in found.items())
    return Labels(records, (), (), sheet.sha256)


def with_rubric(
    source: object, record: Mapping[str, Any], transcript: Transcript | None, given: tuple[Judgement, ...]
) -> tuple[Judgement, ...]:
    """Labels that came without what they are about, with the rule that decides of this transcript, if one does."""
    if transcript is None or not isinstance(source, ExplainedAnswers):
        return given
    shown = source.exhibit(record, transcript)
    path = shown.rubric() if isinstance(shown, Exhibit) else ()
    return tuple(replace(one, path=(*one.path, *path)) if one.kind == KIND else one for one in given)


def _case_id(row: Row) -> str:
    if not row["case_id"] or not row["case_id"].isprintable():
        row.fail("case_id", f"{row['case_id']!r} cannot be an id")
    return row["case_id"]


def _judgement(row: Row) -> Judgement:
    if row["kind"].casefold() != KIND:
        row.fail("kind", f"{row['kind']!r} is not {KIND}")
    if row["item"] not in ("", "0"):
        row.fail("item", f"an explanation is graded as a whole, item 0, found {row['item']!r}")
    return Judgement(KIND, 0, row["text"], grade_in(row, "label"), row["rationale"])


def grade_in(row: Row, column: str) -> Grade:
    """The grade in a column; DataError if there is none."""
    grade = read_grade(row[column])
    if grade is None:
        row.fail(column, f"{row[column]!r} is none of {', '.join(GRADES)}" if row[column] else "it is empty")
    return grade
