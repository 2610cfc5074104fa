"""Cases as plain data, stored with a run; each with the letter that the data audit takes to be right.

That letter is found from whole files, so it is kept with the case when the files are read: a run over some cases knows
it too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graphs.medexqa.cases import CaseSet, to_record
from graphs.medexqa.shift import LabelShift, corrected_labels, label_shifts


def records_of(cases: CaseSet) -> list[dict[str, Any]]:
    """Every case with ``audited_answer`` and ``label_offset``, the row where the audit finds its letter; mostly 0."""
    records = [to_record(case) for case in cases]
    labels, offsets = corrected_labels(records), _offsets(label_shifts(records))
    return [
        record | {"audited_answer": labels[record["id"]], "label_offset": offsets[record["specialty"]]}
        for record in records
    ]


def _offsets(shifts: Mapping[str, LabelShift]) -> dict[str, int]:
    return {name: shift.offset if shift.verdict == "shifted" else 0 for name, shift in shifts.items()}


def shift_notes(cases: CaseSet) -> Iterator[str]:
    """What must stand beside every accuracy over a specialty whose letters look shifted."""
    for shift in label_shifts(to_record(case) for case in cases).values():
        if shift.verdict == "shifted":
            share = shift.perfect_matches / shift.perfect_n
            yield (
                f"The answer letters of {shift.specialty} look shifted by {abs(shift.offset)} row(s): perfect "
                f"knowledge would score about {share:.0%} there; see medjudge data audit medexqa"
            )
