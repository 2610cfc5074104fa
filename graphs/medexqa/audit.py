"""What a user should know about the MedExQA files before trusting a number computed from them.

The audit goes on past rows that `load_cases` refuses, so that one report names everything. Only a file that cannot be
read at all ends it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from graphs.medexqa.cases import (
    DEV_ROWS,
    FLAGS,
    SPECIALTIES,
    Case,
    Folders,
    Specialty,
    Split,
    case_of,
    find_folders,
    id_prefix,
    to_record,
)
from graphs.medexqa.chance import holm, show_p, uniform_chi_square
from graphs.medexqa.likeness import NEAR, Pair, alike
from graphs.medexqa.shift import OFFSETS, Agreement, LabelShift, label_shifts
from graphs.medexqa.support import supported_option
from graphs.medexqa.table import LETTERS, parse_line, read_lines
from judge.audit import AuditReport, Finding, Severity
from judge.errors import DataError

_MAX_EXAMPLES = 10

#: Specialty to what the codes of findings about it end in.
_CODES = {specialty.name: specialty.code.casefold() for specialty in SPECIALTIES}

#: Skewed letters are reported below this, after Holm's correction over specialties.
_SKEW = 0.05

#: With fewer rows the chi-square approximation is poor (five expected for each letter).
_LEAST_ROWS = 20


@dataclass(frozen=True, slots=True)
class _File:
    """What could be read of one file, and what was refused."""

    specialty: Specialty
    split: Split
    lines: int
    cases: tuple[Case, ...]
    refused: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.specialty.file_name(self.split)

    @property
    def published(self) -> int:
        """How many rows the published file has."""
        return self.specialty.rows if self.split == "test" else DEV_ROWS


class _Material:
    """Everything read, and what is computed from it once for several checks."""

    def __init__(self, folders: Folders) -> None:
        self.folders = folders
        self.test = _read_split(folders, "test")
        self.dev = _read_split(folders, "dev")

    @property
    def files(self) -> list[_File]:
        return [*self.test, *self.dev]

    @property
    def cases(self) -> list[Case]:
        return [case for file in self.files for case in file.cases]

    @cached_property
    def shifts(self) -> dict[str, LabelShift]:
        return label_shifts(to_record(case) for file in self.test for case in file.cases)

    @cached_property
    def pairs(self) -> list[Pair]:
        return alike(self.cases)

    @cached_property
    def skew(self) -> dict[str, tuple[float, float]]:
        """Specialty to chi-square and adjusted p, where there are enough rows."""
        tests = {
            file.specialty.name: uniform_chi_square(list(_letters(file).values()))
            for file in self.test
            if len(file.cases) >= _LEAST_ROWS
        }
        adjusted = holm({name: p for name, (_, p) in tests.items()})
        return {name: (statistic, adjusted[name]) for name, (statistic, _) in tests.items()}


def audit(data: Path) -> AuditReport:
    """Examine all test and dev files that are there.

    Args:
        data: as for `load_cases`.

    Raises:
        DataError: there is no test file, or a file cannot be read as text.
    """
    material = _Material(find_folders(data))
    findings = [finding for check in _CHECKS for finding in check(material)]
    order: dict[Severity, int] = {"problem": 0, "warning": 1, "info": 2}
    findings.sort(key=lambda finding: order[finding.severity])
    return AuditReport(material.folders.test, _counts(material), {}, tuple(findings))


def _read_split(folders: Folders, split: Split) -> list[_File]:
    found = ((specialty, folders.file(specialty, split)) for specialty in SPECIALTIES)
    return [_read(file, specialty, split) for specialty, file in found if file]


def _read(file: Path, specialty: Specialty, split: Split) -> _File:
    lines, _ = read_lines(file, id_prefix(specialty, split))
    cases: list[Case] = []
    refused: list[str] = []
    for line in lines:
        try:
            cases.append(case_of(parse_line(line), specialty, split))
        except DataError as error:
            refused.append(str(error).replace(str(file), file.name, 1))
    return _File(specialty, split, len(lines), tuple(cases), tuple(refused))


def _letters(file: _File) -> dict[str, int]:
    counts = Counter(case.answer for case in file.cases)
    return {letter: counts[letter] for letter in LETTERS}


def _counts(material: _Material) -> dict[str, Any]:
    dev = {file.specialty.name: file for file in material.dev}
    specialties = {
        file.specialty.name: {
            "code": file.specialty.code,
            "rows": file.lines,
            "published_rows": file.specialty.rows,
            "usable_rows": len(file.cases),
            "dev_rows": dev[file.specialty.name].lines if file.specialty.name in dev else None,
            "answer_letters": _letters(file),
            "skew": _skew_counts(material.skew.get(file.specialty.name)),
            "labels": _shift_counts(material.shifts.get(file.specialty.name)),
        }
        for file in material.test
    }
    return {
        "rows": sum(file.lines for file in material.test),
        "usable_rows": sum(len(file.cases) for file in material.test),
        "specialties": specialties,
        "flags": {flag: [case.id for case in material.cases if flag in case.flags] for flag in FLAGS},
        "pairs_alike": [_pair_counts(pair) for pair in material.pairs],
    }


def _skew_counts(skew: tuple[float, float] | None) -> dict[str, float] | None:
    return {"chi_square": round(skew[0], 3), "p_holm": skew[1]} if skew else None


def _shift_counts(shift: LabelShift | None) -> dict[str, Any] | None:
    if shift is None:
        return None
    return {
        "verdict": shift.verdict,
        "offset": shift.offset,
        "rows": shift.rows,
        "decided": shift.decided,
        "shifted_thirds": list(shift.shifted_parts),
        "perfect_knowledge": {"matches": shift.perfect_matches, "n": shift.perfect_n},
        "by_offset": {f"{offset:+d}" if offset else "0": _agreement_counts(shift.at(offset)) for offset in OFFSETS},
    }


def _agreement_counts(found: Agreement) -> dict[str, Any]:
    counts = {"matches": found.matches, "n": found.n, "share": round(found.share, 4), "chance": round(found.chance, 4)}
    paired = {"wins": found.wins, "losses": found.losses, "p_paired_holm": found.p_paired} if found.offset else {}
    return {**counts, "p_holm": found.p, **paired}


def _pair_counts(pair: Pair) -> dict[str, Any]:
    return {
        "kind": pair.kind,
        "ids": [pair.first.id, pair.second.id],
        "question": round(pair.question, 1),
        "whole": round(pair.whole, 1),
        "across_specialties": pair.across,
    }


def _found(code: str, severity: Severity, places: Sequence[str], text: str) -> Iterator[Finding]:
    """A finding if there is any place; ``{n}`` in the text stands for their number."""
    if places:
        count = len(places)
        yield Finding(code, severity, count, text.replace("{n}", str(count)), tuple(places[:_MAX_EXAMPLES]))


def _check_rows(material: _Material) -> Iterator[Finding]:
    refused = [place for file in material.files for place in file.refused]
    text = "{n} row(s) cannot be used and are left out of the rest of this audit."
    yield from _found("unusable_row", "problem", refused, text)
    other = [
        f"{file.name}: {file.lines}, published {file.published}"
        for file in material.files
        if file.lines != file.published
    ]
    yield from _found("number_of_rows", "warning", other, "{n} file(s) do not have the published number of rows.")
    here = {file.name for file in material.files}
    wanted = [specialty.file_name(split) for split in get_args(Split) for specialty in SPECIALTIES]
    missing = [name for name in wanted if name not in here]
    yield from _found("missing_file", "warning", missing, "{n} file(s) of the published set are not here.")
    text = "{n} test file(s) are of no known specialty and are not read."
    yield from _found("unknown_specialty", "warning", material.folders.unknown, text)
    shown = ", ".join(f"{file.specialty.code} {len(file.cases)}" for file in material.test)
    total = sum(len(file.cases) for file in material.test)
    yield Finding("rows", "info", total, f"{total} test question(s) can be used: {shown}.")


def _check_flags(material: _Material) -> Iterator[Finding]:
    for flag, severity, text in _FLAG_FINDINGS:
        yield from _found(flag, severity, [case.id for case in material.cases if flag in case.flags], text)


_FLAG_FINDINGS: tuple[tuple[str, Severity, str], ...] = (
    ("same_options", "problem", "{n} question(s) offer the same option text twice."),
    ("empty_explanation", "problem", "{n} question(s) have an empty reference explanation."),
    (
        "options_differ_in_case",
        "warning",
        "{n} question(s) have options that differ in capital letters only: reading an answer must mind the case.",
    ),
    (
        "same_explanations",
        "warning",
        "{n} question(s) have the same text for both reference explanations: a second reference adds nothing.",
    ),
    ("quoted", "info", "{n} row(s) are quoted as in a CSV file; the quoting was taken off."),
)


def _check_labels(material: _Material) -> Iterator[Finding]:
    for shift in material.shifts.values():
        code = _CODES[shift.specialty]
        if shift.verdict == "shifted":
            yield Finding(f"labels_shifted_{code}", "problem", shift.rows, _shifted_text(shift))
        elif shift.verdict == "partly_shifted":
            yield Finding(f"labels_partly_shifted_{code}", "problem", shift.rows, _partly_text(shift))
        elif shift.verdict == "unclear":
            text = f"{shift.specialty}: {_own_text(shift)}: too little to say whether its labels are in the right rows."
            yield Finding(f"labels_unclear_{code}", "warning", shift.rows, text)
        else:
            text = f"{shift.specialty}: {_own_text(shift)} ({_chance_text(shift.at(0))})."
            yield Finding(f"labels_agree_{code}", "info", shift.at(0).matches, text)


def _shifted_text(shift: LabelShift) -> str:
    found = shift.at(shift.offset)
    perfect = f"about {shift.perfect_matches / shift.perfect_n:.0%} ({shift.perfect_matches} of {shift.perfect_n} rows)"
    return (
        f"{shift.specialty}: the answer letters look shifted by {_rows(shift.offset)}: {_own_text(shift)}, but the "
        f"label {_where(shift.offset)} in {_share(found.matches, found.n)} ({_chance_text(found)}; better than the own "
        f"label in {found.wins} rows, worse in {found.losses}, {show_p(found.p_paired)}; p by Holm's correction); a "
        f"model that knows every answer would score {perfect} here, so report this specialty apart."
    )


def _partly_text(shift: LabelShift) -> str:
    parts = f"third(s) {', '.join(map(str, shift.shifted_parts))} of the file" if shift.shifted_parts else "the file"
    return (
        f"{shift.specialty}: in {parts} the answer letters look shifted by {_rows(shift.offset)}, but not everywhere: "
        f"{_own_text(shift)} over all; look for a row or a letter that is missing or added."
    )


def _own_text(shift: LabelShift) -> str:
    own = shift.at(0)
    undecided = shift.rows - shift.decided
    aside = f" ({undecided} of {shift.rows} undecided)" if undecided else ""
    return f"the explanations support the row's own label in {_share(own.matches, own.n)}{aside}"


def _share(matches: int, n: int) -> str:
    return f"{matches} of {n} rows ({matches / n:.1%})" if n else "0 of 0 rows"


def _chance_text(found: Agreement) -> str:
    return f"by chance {found.chance:.1%}, {show_p(found.p)}"


def _rows(offset: int) -> str:
    return "one row" if abs(offset) == 1 else f"{abs(offset)} rows"


def _where(offset: int) -> str:
    if abs(offset) == 1:
        return "of the next row" if offset > 0 else "of the row before"
    return f"{_rows(offset)} {'further down' if offset > 0 else 'further up'}"


def _check_doubtful(material: _Material) -> Iterator[Finding]:
    sound = {name for name, shift in material.shifts.items() if shift.verdict == "own"}
    doubtful = []
    for case in (case for file in material.test if file.specialty.name in sound for case in file.cases):
        option = supported_option(to_record(case))
        if option is not None and option != case.answer:
            doubtful.append(f"{case.id} (label {case.answer}, explanations {option})")
    text = (
        "In {n} row(s) of files whose labels agree the explanations use the words of another option most: "
        "a label to check, or the matcher's mistake."
    )
    yield from _found("label_not_supported", "info", doubtful, text)


def _check_letters(material: _Material) -> Iterator[Finding]:
    for file in material.test:
        name = file.specialty.name
        if name not in material.skew:
            continue
        statistic, p = material.skew[name]
        counts = _letters(file)
        letter = max(counts, key=lambda key: counts[key])
        shown = ", ".join(f"{key} {count}" for key, count in counts.items())
        if p < _SKEW:
            text = (
                f"{name}: the answer letters are skewed ({shown}; chi-square {statistic:.1f}, {show_p(p)}); always "
                f"answering {letter} scores {counts[letter] / len(file.cases):.1%}."
            )
            yield Finding(f"letters_skewed_{_CODES[name]}", "warning", len(file.cases), text)
        else:
            text = f"{name}: the answer letters are not clearly skewed ({shown}; {show_p(p)})."
            yield Finding(f"letters_even_{_CODES[name]}", "info", len(file.cases), text)


def _check_likeness(material: _Material) -> Iterator[Finding]:
    test = [pair for pair in material.pairs if "dev" not in (pair.first.split, pair.second.split)]
    leaks = [pair for pair in material.pairs if {pair.first.split, pair.second.split} == {"test", "dev"}]
    shown = [_show_pair(pair) for pair in leaks if pair.kind != "related"]
    text = "{n} test question(s) resemble a dev question, which few-shot prompts show with its answer."
    yield from _found("dev_question_in_test", "problem", shown, text)
    for code, severity, kind, text in _PAIR_FINDINGS:
        pairs = [pair for pair in test if pair.kind == kind]
        across = sum(pair.across for pair in pairs)
        yield from _found(code, severity, [_show_pair(pair) for pair in pairs], text.replace("{across}", str(across)))
    if not any(pair.kind == "near_duplicate" for pair in test):
        number = sum(len(file.cases) for file in material.test)
        text = (
            f"No two of the {number} test questions are near duplicates (question and options at least {NEAR} of 100 "
            "alike), so each is a cluster of its own."
        )
        yield Finding("no_near_duplicates", "info", number, text)


_PAIR_FINDINGS: tuple[tuple[str, Severity, str, str], ...] = (
    (
        "near_duplicate_questions",
        "warning",
        "near_duplicate",
        f"{{n}} pair(s) of test questions are near duplicates: question and options at least {NEAR} of 100 alike, "
        "{across} of them across specialties.",
    ),
    (
        "same_question_text",
        "warning",
        "same_question",
        "{n} pair(s) of test questions have the same question with other options, {across} of them across specialties.",
    ),
    (
        "related_questions",
        "info",
        "related",
        "{n} further pair(s) of test questions are related: much the same options, or the same answer to a similar "
        "question; {across} of them across specialties.",
    ),
)


def _show_pair(pair: Pair) -> str:
    return f"{pair.first.id} and {pair.second.id}"


_CHECKS: tuple[Callable[[_Material], Iterator[Finding]], ...] = (
    _check_labels,
    _check_rows,
    _check_flags,
    _check_letters,
    _check_likeness,
    _check_doubtful,
)
