"""A case summary, split by position into what the doctor may see and what is withheld.

The ancillary tests must not reach the doctor in the exam settings, nor must what some summaries add after them:
treatment, surgery, histology, the diagnosis itself. So the doctor sees only sections whose names are understood as
history or examination (`graphs.medrbench.names`), and everything else is withheld, including text that belongs to no
section. Several patients in one summary keep each their history.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from graphs.medrbench.lines import Line, read_lines
from graphs.medrbench.names import Kind, is_ancillary, is_denied, kind_of

Part = Literal["history", "ancillary", "other", "noise"]

#: All parts; what is not history and not noise is withheld from the doctor.
PARTS: tuple[Part, ...] = ("history", "ancillary", "other", "noise")

_INSTRUCTION = re.compile(
    r"(?:please\b|(?:provide|summari[sz]e|extract|describe|list|write|generate|give|fill)\b.*\b(?:format|template|sections?)\b)",
    re.IGNORECASE,
)
_TASK = re.compile(r"\b(?:format|template|following|sections?|summary|history|information)\b", re.IGNORECASE)
_PERSON = re.compile(
    r"\b(?:years?|months?|weeks?|days?|hours?)[- ]old\b|\b(?:fe)?male\b|\b(?:wo)?man\b|\b(?:boy|girl)\b"
)
_LOOSE = 1  # columns by which a heading may be indented more than the others


@dataclass(frozen=True, slots=True)
class Section:
    """Consecutive lines under one heading.

    Attributes:
        name: of the heading as written, without marks; empty for text before, or outside, any section.
        kind: what the name says.
        patient: heading of the patient it belongs to, empty unless the summary numbers its patients.
        first: index of its first line.
        last: index of its last line that is not blank.
    """

    name: str
    kind: Kind
    patient: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Split:
    """A summary, every line of which is in exactly one part.

    Attributes:
        lines: all lines in order.
        parts: the part of each line. A blank line is in the part of the next line that is not blank.
        sections: in order; noise is in none.
        follows_tests: indices of lines that begin a section after the first ancillary heading and at its level, unless
            it is history or the heading of another patient.
    """

    lines: tuple[Line, ...]
    parts: tuple[Part, ...]
    sections: tuple[Section, ...]
    follows_tests: tuple[int, ...]

    def text(self, *parts: Part) -> str:
        """The lines of these parts in order, blank lines at both ends dropped."""
        kept = [line.text for line, part in zip(self.lines, self.parts, strict=True) if part in parts]
        return "\n".join(kept).strip("\n")

    @property
    def history(self) -> str:
        """What the doctor sees in the exam settings."""
        return self.text("history")

    @property
    def withheld(self) -> str:
        """All that the doctor does not see, in order; noise is not in it."""
        return self.text("ancillary", "other")

    @property
    def cleaned(self) -> str:
        """The summary without noise."""
        return self.text("history", "ancillary", "other")

    @property
    def instructions(self) -> int:
        """How many lines of a leftover instruction were dropped."""
        return sum(
            part == "noise" and not line.rule and not line.blank
            for line, part in zip(self.lines, self.parts, strict=True)
        )

    @property
    def test_sections(self) -> tuple[Section, ...]:
        """The sections of tests, in order."""
        return tuple(section for section in self.sections if section.kind == "tests")

    @property
    def is_series(self) -> bool:
        """Whether several patients have each their own sections."""
        patients = {section.name for section in self.sections if section.kind == "patient"}
        names = Counter(section.name.lower() for section in self.sections if section.kind == "history")
        return len(patients) > 1 or sum(count > 1 for count in names.values()) > 1

    def count(self, part: Part) -> int:
        """How many lines that are not blank are in a part."""
        return sum(mine == part and not line.blank for line, mine in zip(self.lines, self.parts, strict=True))

    def section_text(self, section: Section) -> str:
        """The lines of one section, rules left out."""
        chosen = range(section.first, section.last + 1)
        return "\n".join(self.lines[index].text for index in chosen if self.parts[index] != "noise").strip("\n")


def split_summary(text: str) -> Split:
    """Split any text; one without sections ends up in ``other`` as a whole.

    A line begins a section if it stands at the level of the headings and has their form. The level is the smallest
    indentation at which a name of history or tests is found; where those headings carry no bullet, bulleted lines
    below them are their content. A heading of ancillary tests counts at any level.
    """
    lines = read_lines(text)
    level = _level(lines)
    parts: list[Part] = []
    sections: list[Section] = []
    reader = _Reader(level)
    for line in lines:
        parts.append(reader.part(line, sections))
    _place_blanks(lines, parts)
    return Split(tuple(lines), tuple(parts), tuple(sections), _followers(lines, parts, sections))


@dataclass(frozen=True, slots=True)
class _Level:
    """Where headings stand and what they look like; ``indent`` is None if there are none."""

    indent: int | None
    bullets: bool = False
    hashes: bool = False

    def begins(self, line: Line) -> bool:
        """Whether a line begins a section."""
        if self.indent is None:
            return False
        if line.label and is_ancillary(line.label):
            return True
        if line.indent > self.indent + _LOOSE:
            return False
        if line.bullet and not self.bullets:
            return False
        if self.hashes and not line.hashes and line.label:  # "Lungs: clear" in a paragraph below a # heading
            return kind_of(line.label) != "other" or is_denied(line.label)
        return bool(line.label) or line.bullet


def _level(lines: Iterable[Line]) -> _Level:
    known = [line for line in lines if line.label and kind_of(line.label) in ("history", "tests")]
    if not known:
        return _Level(None)
    indent = min(line.indent for line in known)
    top = [line for line in known if line.indent <= indent + _LOOSE and kind_of(line.label) == "history"]
    half = len(top) / 2
    bullets, hashes = (sum(getattr(line, mark) for line in top) for mark in ("bullet", "hashes"))
    return _Level(indent, bullets >= half, hashes > half)


class _Reader:
    """Goes through the lines and remembers the section it is in."""

    def __init__(self, level: _Level) -> None:
        self.level = level
        self.patient = ""

    def part(self, line: Line, sections: list[Section]) -> Part:
        if line.rule or (not sections and _is_instruction(line)):
            return "noise"
        if line.blank:
            return "other"  # placed later
        if self.level.begins(line) or not sections:
            sections.append(self._open(line))
        else:
            sections[-1] = _extended(sections[-1], line)
        return _part_of(sections[-1], line)

    def _open(self, line: Line) -> Section:
        begins = self.level.begins(line)
        kind = kind_of(line.label) if begins and line.label else "other"
        if kind == "patient" and line.body and not _PERSON.search(line.body.lower()):
            kind = "other"  # numbered findings, or a title that may name the diagnosis
        if kind == "patient":
            self.patient = line.label
        return Section(line.label if begins else "", kind, self.patient, line.index, line.index)


def _is_instruction(line: Line) -> bool:
    """Whether a line before the first section tells a writer what to do."""
    content = line.body or line.label
    return bool(_INSTRUCTION.match(content)) and bool(_TASK.search(line.text))


def _extended(section: Section, line: Line) -> Section:
    return Section(section.name, section.kind, section.patient, section.first, line.index)


def _part_of(section: Section, line: Line) -> Part:
    if section.kind == "tests":
        return "ancillary"
    if section.kind == "history" or (section.kind == "patient" and line.index == section.first):
        return "history"
    return "other"


def _place_blanks(lines: list[Line], parts: list[Part]) -> None:
    following: Part = next(
        (part for line, part in zip(lines[::-1], parts[::-1], strict=True) if not line.blank), "other"
    )
    for index in range(len(lines) - 1, -1, -1):
        if lines[index].blank:
            parts[index] = following
        following = parts[index]


def _followers(lines: list[Line], parts: list[Part], sections: list[Section]) -> tuple[int, ...]:
    first = next((section.first for section in sections if section.kind == "tests"), None)
    if first is None:
        return ()
    level = lines[first].indent
    return tuple(
        line.index
        for line, part in zip(lines[first + 1 :], parts[first + 1 :], strict=True)
        if not line.blank and line.indent <= level and part in ("ancillary", "other") and (line.label or line.bullet)
        and not is_ancillary(line.label)
    )  # fmt: skip
