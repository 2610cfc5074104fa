"""MedR-Bench cases, read, checked and split.

The data set (arXiv 2503.04691) holds case reports with a summary, a reasoned diagnosis or treatment plan, and
categories. Whatever is wrong with a file ends in one `DataError` that names the file, the case and what to do; nothing
is guessed or dropped. How a summary is split is said in `graphs.medrbench.sections`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from graphs.medrbench.entries import Entry, ancillary_entries
from graphs.medrbench.files import (
    CaseKind,
    Content,
    Record,
    find_file,
    open_record,
    read_records,
)
from graphs.medrbench.names import is_patient
from graphs.medrbench.sections import Split, split_summary
from judge.datafiles import DataFile, combined_hash
from judge.errors import DataError

Place = Literal["summary", "before_tests", "history", "ancillary", "other"]

#: Flag -> what it means, for every flag a case may carry.
FLAGS: Mapping[str, str] = {
    "series": "several patients, each with own sections; every history is shown, every test withheld",
    "patients_in_sections": "several patients, numbered within the sections",
    "leftover_instruction": "the summary opened with an instruction to its writer, which was dropped",
    "sections_after_tests": "something other than tests follows them at the level of the headings, and is withheld",
    "no_ancillary_tests": "the summary has no section of ancillary tests",
    "no_test_entries": "the section of ancillary tests names no test",
    "no_history": "the summary has no section that the doctor may see",
    "answer_in_summary": "the diagnosis stands word for word in the summary",
    "answer_before_tests": "the diagnosis stands word for word before the first ancillary heading",
    "answer_in_history": "the diagnosis stands word for word in what the doctor sees",
}


@dataclass(frozen=True, slots=True)
class Case:
    """One case.

    Attributes:
        id: the data set's identifier, a PubMed Central number.
        kind: which file it is from.
        summary: the case summary without noise; all of it is shown in the settings ``oracle`` and ``treatment``.
        raw_case: the published report.
        history: what the doctor may see in the exam settings.
        ancillary: the tests that were done, as single entries.
        ancillary_text: the sections of tests as written, for an examiner; in a series under each patient's heading.
        withheld: all that ``history`` lacks, in order: the tests and whatever else the summary tells.
        other: the lines of ``withheld`` that are in no section of tests.
        differential: reasoning towards the diagnosis; empty for treatment.
        final_diagnosis: with reasons; empty for treatment.
        diagnosis_results: the diagnosis in short, which answers are compared with; empty for treatment.
        treatment_analysis: reasoning towards the plan; empty for diagnosis.
        treatment_plan: the plan, which answers are compared with; empty for diagnosis.
        body_category: parts of the body, may be empty.
        disorder_category: kinds of disorder, may be empty.
        receive_time: when the report was received, year-month-day or year-month.
        rare_diseases: rare diseases found in the case.
        flags: words of `FLAGS`.
        index: position in the file, from 0.
    """

    id: str
    kind: CaseKind
    summary: str
    raw_case: str = field(repr=False)
    history: str = field(repr=False)
    ancillary: tuple[Entry, ...] = field(repr=False)
    ancillary_text: str = field(repr=False)
    withheld: str = field(repr=False)
    other: str = field(repr=False)
    differential: str = field(repr=False)
    final_diagnosis: str
    diagnosis_results: str
    treatment_analysis: str = field(repr=False)
    treatment_plan: str
    body_category: tuple[str, ...]
    disorder_category: tuple[str, ...]
    receive_time: str
    rare_diseases: tuple[str, ...]
    flags: tuple[str, ...]
    index: int

    @property
    def rare(self) -> bool:
        """Whether it is a rare-disease case."""
        return bool(self.rare_diseases)

    @property
    def answer(self) -> str:
        """What a correct answer says: the diagnosis or the treatment plan."""
        return self.diagnosis_results if self.kind == "diagnosis" else self.treatment_plan


@dataclass(frozen=True)
class CaseSet:
    """All cases of one file.

    Attributes:
        kind: of the cases.
        root: the folder that holds the file.
        cases: in file order.
        files: every file read.
        data_hash: SHA-256 over paths and hashes of ``files``; the same data give the same hash from any folder.
    """

    kind: CaseKind
    root: Path
    cases: tuple[Case, ...]
    files: tuple[DataFile, ...]
    data_hash: str

    def __len__(self) -> int:
        return len(self.cases)

    def __iter__(self) -> Iterator[Case]:
        return iter(self.cases)

    def case(self, case_id: str) -> Case:
        """One case; DataError if the id is not known."""
        for case in self.cases:
            if case.id == case_id:
                return case
        raise DataError(f"{self.root}: no {self.kind} case has the id {case_id!r}; use an id of this data set")


def load_cases(data: Path, kind: CaseKind) -> CaseSet:
    """Read and check all cases of one kind.

    Args:
        data: the folder that holds the data set's JSON files, or the folder above it.
        kind: ``"diagnosis"`` or ``"treatment"``.

    Raises:
        DataError: anything missing, malformed or used twice.
    """
    content = read_records(find_file(data, kind))
    cases = tuple(parse_case(content, case_id, index, kind) for index, case_id in enumerate(content.records))
    files = (DataFile(content.file.name, content.sha256),)
    return CaseSet(kind, content.file.parent, cases, files, combined_hash(files))


def parse_case(content: Content, case_id: str, index: int, kind: CaseKind) -> Case:
    """Turn one raw record into a checked `Case`; fields beyond the known ones are ignored.

    Raises:
        DataError: a field is missing, of the wrong type, empty or given twice.
    """
    record = open_record(content, case_id)
    generated = record.inside("generate_case")
    case = _with_split(record, generated, index, kind)
    return replace(case, flags=case.flags + _answer_flags(case))


def _with_split(record: Record, generated: Record, index: int, kind: CaseKind) -> Case:
    split = split_summary(generated.text("case_summary", empty=False))
    entries = _entries(split)
    diagnosis = kind == "diagnosis"

    def only(name: str, wanted: bool) -> str:
        return generated.text(name, empty=False) if wanted else ""

    return Case(
        id=record.case_id,
        kind=kind,
        summary=split.cleaned,
        raw_case=record.text("raw_case"),
        history=split.history,
        ancillary=entries,
        ancillary_text=_ancillary_text(split),
        withheld=split.withheld,
        other=split.text("other"),
        differential=only("differential_diagnosis", diagnosis),
        final_diagnosis=only("final_diagnosis", diagnosis),
        diagnosis_results=only("diagnosis_results", diagnosis),
        treatment_analysis=only("treatment_planning_analysis", not diagnosis),
        treatment_plan=only("treatment_plan_results", not diagnosis),
        body_category=record.texts("body_category"),
        disorder_category=record.texts("disorder_category"),
        receive_time=record.text("receive_time"),
        rare_diseases=record.texts("checked_rare_disease"),
        flags=tuple(_split_flags(split, entries, kind)),
        index=index,
    )


def _entries(split: Split) -> tuple[Entry, ...]:
    found: list[Entry] = []
    for section in split.test_sections:
        for entry in ancillary_entries(split.section_text(section)):
            patient = entry.patient or section.patient
            found.append(replace(entry, position=len(found), patient=patient))
    return tuple(found)


def _ancillary_text(split: Split) -> str:
    texts: list[str] = []
    shown = ""
    for section in split.test_sections:
        if section.patient != shown:
            shown = section.patient
            texts.append(f"{shown}:")
        texts.append(split.section_text(section))
    return "\n".join(texts)


def _split_flags(split: Split, entries: tuple[Entry, ...], kind: CaseKind) -> Iterator[str]:
    if split.is_series:
        yield "series"
    elif _numbers_patients(split):
        yield "patients_in_sections"
    if split.instructions:
        yield "leftover_instruction"
    if kind == "diagnosis" and split.follows_tests:  # in treatment cases the diagnosis always follows
        yield "sections_after_tests"
    if not split.test_sections:
        yield "no_ancillary_tests"
    elif not entries:
        yield "no_test_entries"
    if not split.history:
        yield "no_history"


def _numbers_patients(split: Split) -> bool:
    return len({line.label.lower() for line in split.lines if is_patient(line.label)}) > 1


def _answer_flags(case: Case) -> tuple[str, ...]:
    places = answer_places(case) if case.kind == "diagnosis" else ()
    return tuple(flag for place, flag in _PLACE_FLAGS.items() if place in places)


_PLACE_FLAGS: Mapping[Place, str] = {
    "summary": "answer_in_summary",
    "before_tests": "answer_before_tests",
    "history": "answer_in_history",
}


def answer_places(case: Case, *, loose: bool = False) -> tuple[Place, ...]:
    """Where in the summary the answer stands word for word, in another case perhaps and without its final full stop.

    ``summary`` is anywhere in it; ``before_tests`` before the first heading of tests; ``history`` in what the doctor
    sees; ``ancillary`` and ``other`` in the two parts of what is withheld.

    Args:
        case: any case.
        loose: also find any line of the answer without its number, marks, brackets and words of doubt, so that
            "Possible X (Y)." is found as "x".
    """
    wanted = _phrases(case.answer) if loose else [_plain(case.answer)]
    split = split_summary(case.summary)
    first = min((section.first for section in split.test_sections), default=None)
    before = "\n".join(line.text for line in split.lines[:first]) if first is not None else ""
    texts: dict[Place, str] = {
        "summary": case.summary,
        "before_tests": before,
        "history": case.history,
        "ancillary": split.text("ancillary"),
        "other": case.other,
    }
    return tuple(place for place, text in texts.items() if _stands_in(wanted, text, loose))


def _stands_in(wanted: list[str], text: str, loose: bool) -> bool:
    searched = _marks_dropped(text.lower()) if loose else text.lower()
    return any(phrase and phrase in searched for phrase in wanted)


def _plain(answer: str) -> str:
    return answer.strip().rstrip(".").strip().lower()


def _phrases(answer: str) -> list[str]:
    """The lines of an answer, reduced to what may be found again; very short ones are left out."""
    lines = [_marks_dropped(line) for line in answer.lower().split("\n")]
    lines = [_TRIMMING.sub("", line).strip(" .:,;") for line in lines]
    return [line for line in lines if len(line) > 3]


_TRIMMING = re.compile(
    r"^(?:\d{1,2}[.)]\s*|[-•]\s*|case \d:\s*|(?:final )?diagnos[ei]s:?\s*|(?:possible|probable|suspected|likely)\s+)+"
)


def _marks_dropped(text: str) -> str:
    return " ".join(re.sub(r"\([^()]*\)|[*_]", " ", text).split())
