"""What a user should know about the MedR-Bench files before trusting a number computed from them.

The audit goes on past cases that `load_cases` refuses, so that one report names everything. Only a file that cannot be
read at all ends it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphs.medrbench.audit_outputs import counts_of, findings_of, outputs_beside
from graphs.medrbench.cases import FLAGS, Case, answer_places, parse_case
from graphs.medrbench.files import CaseKind, Content, find_file, read_records
from graphs.medrbench.names import is_ancillary
from graphs.medrbench.sections import PARTS, Split, split_summary
from judge.audit import AuditReport, Finding, Severity
from judge.errors import DataError

_MAX_EXAMPLES = 10
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}")


@dataclass(frozen=True, slots=True)
class _Look:
    """One case and its summary, taken apart."""

    case: Case
    raw_summary: str
    split: Split


@dataclass(frozen=True, slots=True)
class _Material:
    """One file: what could be read of it, and what was refused."""

    kind: CaseKind
    content: Content
    looks: list[_Look]
    refused: list[str]


def audit(data: Path) -> AuditReport:
    """Examine the diagnosis cases, and the treatment cases where they are there.

    Args:
        data: as for `load_cases`.

    Raises:
        DataError: there are no diagnosis cases, or a file is not readable JSON.
    """
    materials = [_read(find_file(data, "diagnosis"), "diagnosis"), *_treatment(data)]
    findings = [finding for check in _CHECKS for finding in check(materials[0])]
    findings += [finding for material in materials[1:] for finding in _check_treatment(material)]
    if len(materials) == 1:
        findings.append(Finding("no_treatment_cases", "info", 1, "There is no file of treatment cases to examine."))
    folder = materials[0].content.file.parent
    outputs = outputs_beside(folder)
    of_outputs = counts_of(outputs)
    findings += findings_of(folder, outputs, of_outputs)
    order: dict[Severity, int] = {"problem": 0, "warning": 1, "info": 2}
    findings.sort(key=lambda finding: order[finding.severity])
    counts: dict[str, Any] = {material.kind: _counts(material) for material in materials}
    counts["outputs"] = of_outputs
    return AuditReport(folder, counts, {}, tuple(findings))


def heading_style(line: str) -> str:
    """How a heading is written, its name replaced by ``Name``, what follows by ``text``: ``- **Name:** text``."""
    head = re.match(r"(\W*)(\w[^:*_]*?)(\W*:\W*|\W*$)(.*)", line.strip())
    if not head:
        return line.strip()
    before, _, after, rest = head.groups()
    return f"{before}Name{after.rstrip()}{' text' if rest.strip() else ''}"


def _treatment(data: Path) -> list[_Material]:
    try:
        file = find_file(data, "treatment")
    except DataError as error:
        if "more than one" in str(error):
            raise
        return []
    return [_read(file, "treatment")]


def _read(file: Path, kind: CaseKind) -> _Material:
    content = read_records(file)
    looks: list[_Look] = []
    refused: list[str] = []
    for index, case_id in enumerate(content.records):
        try:
            case = parse_case(content, case_id, index, kind)
        except DataError as error:
            refused.append(str(error).removeprefix(f"{file}: "))
            continue
        summary = content.records[case_id]["generate_case"]["case_summary"]
        looks.append(_Look(case, summary, split_summary(summary)))
    return _Material(kind, content, looks, refused)


def _counts(material: _Material) -> dict[str, Any]:
    cases = [look.case for look in material.looks]
    entries = Counter(len(case.ancillary) for case in cases)
    lines = {part: sum(look.split.count(part) for look in material.looks) for part in PARTS}
    return {
        "file": material.content.file.name,
        "cases": len(material.content.records),
        "usable_cases": len(cases),
        "rare_cases": sum(case.rare for case in cases),
        "flags": {flag: sum(flag in case.flags for case in cases) for flag in FLAGS},
        "ids": {flag: [case.id for case in cases if flag in case.flags] for flag in FLAGS},
        "lines": lines,
        "ancillary_entries": _entries_total(cases),
        "entries_per_case": {str(size): entries[size] for size in sorted(entries)},
        "ancillary_heading_styles": _heading_styles(material.looks),
        "section_names": _section_names(material.looks),
        "sections_after_tests": _following_names(material.looks),
        "body_category": _tally(name for case in cases for name in case.body_category),
        "disorder_category": _tally(name for case in cases for name in case.disorder_category),
    }


def _entries_total(cases: Iterable[Case]) -> int:
    """How many ancillary tests are listed in all these cases."""
    return sum(len(case.ancillary) for case in cases)


def _heading_styles(looks: Iterable[_Look]) -> dict[str, int]:
    lines = (look.split.lines[section.first] for look in looks for section in look.split.test_sections)
    return _tally(heading_style(line.text) for line in lines if is_ancillary(line.label))


def _section_names(looks: Iterable[_Look]) -> dict[str, dict[str, int]]:
    names: dict[str, Counter[str]] = {}
    for look in looks:
        for section in look.split.sections:
            names.setdefault(section.kind, Counter())[section.name.lower() or "(no name)"] += 1
    return {kind: _tally(names[kind].elements()) for kind in sorted(names)}


def _following_names(looks: Iterable[_Look]) -> dict[str, int]:
    return _tally(look.split.lines[index].label.lower() or "(no name)" for look in looks
                  for index in look.split.follows_tests)  # fmt: skip


def _tally(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items(), key=lambda item: (-item[1], item[0])))


def _found(code: str, severity: Severity, places: Sequence[str], text: str) -> Iterator[Finding]:
    """A finding if there is any place; ``{n}`` in the text stands for their number."""
    if places:
        count = len(places)
        yield Finding(code, severity, count, text.replace("{n}", str(count)), tuple(places[:_MAX_EXAMPLES]))


def _where(looks: Iterable[_Look], condition: Callable[[_Look], bool]) -> list[str]:
    return [look.case.id for look in looks if condition(look)]


def _flagged(material: _Material, flag: str) -> list[str]:
    return _where(material.looks, lambda look: flag in look.case.flags)


def _check_records(material: _Material) -> Iterator[Finding]:
    text = "{n} " + material.kind + " case(s) cannot be used and are left out of the rest of this audit."
    yield from _found("unusable_case", "problem", material.refused, text)
    undated = _where(material.looks, lambda look: not _DATE.fullmatch(look.case.receive_time))
    yield from _found(
        "receive_time_without_day", "info", undated, "{n} " + material.kind + " case(s) give no full date."
    )
    rare = sum(look.case.rare for look in material.looks)
    total = len(material.looks)
    text = f"{total} {material.kind} cases can be used, {rare} of them with a rare disease."
    yield Finding(f"{material.kind}_cases", "info", total, text)


def _check_partition(material: _Material) -> Iterator[Finding]:
    lost = _where(material.looks, lambda look: not _is_partition(look))
    yield from _found(
        "lines_lost", "problem", lost, "In {n} case(s) some line of the summary is in no part, or in two."
    )


def _is_partition(look: _Look) -> bool:
    split = look.split
    lines = [line.text for line in split.lines]
    raw = look.raw_summary.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    parts = sum(split.count(part) for part in PARTS)
    return lines == [line.rstrip() for line in raw] and parts == sum(bool(line.strip()) for line in raw)


def _check_flags(material: _Material) -> Iterator[Finding]:
    for flag, severity, text in _FLAG_FINDINGS:
        yield from _found(flag, severity, _flagged(material, flag), text)


_FLAG_FINDINGS: tuple[tuple[str, Severity, str], ...] = (
    ("no_ancillary_tests", "warning", "{n} summary(ies) have no section of ancillary tests."),
    ("no_test_entries", "warning", "{n} summary(ies) have a section of ancillary tests that names no test."),
    ("no_history", "warning", "{n} summary(ies) have no section that the doctor may see."),
    ("series", "warning", "{n} case(s) are series of several patients, each with own sections."),
    ("patients_in_sections", "info", "{n} further case(s) number several patients within the sections."),
    ("leftover_instruction", "info", "{n} summary(ies) open with a leftover instruction, which is dropped."),
    ("sections_after_tests", "warning", "In {n} case(s) something follows the tests as a section, and is withheld."),
    ("answer_in_summary", "warning", "In {n} case(s) the diagnosis stands word for word in the summary."),
    ("answer_before_tests", "warning", "In {n} case(s) the diagnosis stands before the first ancillary heading."),
    ("answer_in_history", "warning", "In {n} case(s) the diagnosis stands in what the doctor sees."),
)


def _check_same_lines(material: _Material) -> Iterator[Finding]:
    text = "In {n} case(s) the same line is found before and after the first ancillary heading: only position tells."
    yield from _found("same_line_in_both", "info", _where(material.looks, _repeats_line), text)


def _repeats_line(look: _Look) -> bool:
    first = min((section.first for section in look.split.test_sections), default=len(look.split.lines))
    texts = [line.text.strip() for line in look.split.lines]
    return bool(set(texts[:first]) & set(texts[first:]) - {""})


def _check_answers(material: _Material) -> Iterator[Finding]:
    loose = _where(material.looks, lambda look: "history" in answer_places(look.case, loose=True))
    text = "In {n} case(s) a diagnosis, brackets and words of doubt aside, stands in what the doctor sees."
    yield from _found("answer_loosely_in_history", "info", loose, text)


def _check_headings(material: _Material) -> Iterator[Finding]:
    styles = _heading_styles(material.looks)
    shown = ", ".join(f"{style!r} {count}" for style, count in styles.items())
    text = f"Headings of ancillary tests are written in {len(styles)} ways: {shown}."
    yield Finding("heading_styles", "info", len(styles), text)
    names = _section_names(material.looks)
    other = [f"{name} {count}" for name, count in names.get("other", {}).items()]
    yield from _found("withheld_names", "info", other, "{n} names of sections are neither history nor tests.")


def _check_entries(material: _Material) -> Iterator[Finding]:
    total = _entries_total(look.case for look in material.looks)
    yield Finding("ancillary_entries", "info", total, f"The cases list {total} ancillary tests.")
    undone = _where(material.looks, lambda look: any(not entry.performed for entry in look.case.ancillary))
    yield from _found("tests_not_done", "info", undone, "{n} case(s) name a test that was not done.")


_CHECKS: tuple[Callable[[_Material], Iterator[Finding]], ...] = (
    _check_records,
    _check_partition,
    _check_flags,
    _check_same_lines,
    _check_answers,
    _check_headings,
    _check_entries,
)


def _check_treatment(material: _Material) -> Iterator[Finding]:
    yield from _check_records(material)
    series = _where(material.looks, lambda look: bool({"series", "patients_in_sections"} & set(look.case.flags)))
    yield from _found("treatment_series", "info", series, "{n} treatment case(s) are about several patients.")
    instructions = _flagged(material, "leftover_instruction")
    text = "{n} treatment summary(ies) open with a leftover instruction, which is dropped."
    yield from _found("treatment_instruction", "info", instructions, text)
