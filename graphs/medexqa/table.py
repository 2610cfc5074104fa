"""Reading the tab-separated files line by line, so that no quote and no word like "None" can change what a row holds.

The files have no header and eight columns. A row is a line: the number of rows is the number of lines. Quotes are text,
except where a field could not have been written without them (see `split_line`).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from judge.datafiles import REMEDY, DataFile, decode, read_bytes
from judge.errors import DataError

#: What the columns hold, in order.
COLUMNS = (
    "question",
    "option A",
    "option B",
    "option C",
    "option D",
    "explanation 0",
    "explanation 1",
    "answer letter",
)

LETTERS = ("A", "B", "C", "D")

_ENCLOSED = re.compile(r'"(?:[^"]|"")*"')
_FIELD = re.compile(r'(?:"(?:[^"]|"")*"(?=\t|\Z)|[^\t]*)(?:\t|\Z)')


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file, with what an error about it has to name.

    Attributes:
        number: from 1, as an editor counts.
        case_id: of the case that the line is.
    """

    file: Path
    number: int
    case_id: str
    text: str

    def fail(self, problem: str, remedy: str = REMEDY) -> NoReturn:
        """Raise the DataError that names file, line, id, problem and remedy."""
        raise DataError(f"{self.file}: line {self.number} (id {self.case_id}): {problem}; {remedy}")


@dataclass(frozen=True, slots=True)
class Row:
    """The eight fields of one line.

    Attributes:
        quoted: whether quotes around a field were taken as quoting and dropped.
    """

    line: Line
    fields: tuple[str, ...]
    quoted: bool


def read_lines(file: Path, prefix: str) -> tuple[list[Line], DataFile]:
    """The lines of a file, and its name with its hash.

    Lines end at ``\\n`` or ``\\r\\n`` and nowhere else; empty lines at the end of the file are no rows.

    Args:
        prefix: of the ids; the id of line 1 is ``<prefix>-000``.

    Raises:
        DataError: the file is missing, a folder, not UTF-8, or empty.
    """
    content = read_bytes(file)
    texts = decode(content, file).replace("\r\n", "\n").rstrip("\n").split("\n")
    if texts == [""]:
        raise DataError(f"{file}: there is no row in it; fetch the data set again")
    lines = [Line(file, number, f"{prefix}-{number - 1:03d}", text) for number, text in enumerate(texts, start=1)]
    return lines, DataFile(file.name, hashlib.sha256(content).hexdigest())


def parse_line(line: Line) -> Row:
    """The eight checked fields of a line.

    Raises:
        DataError: another number of columns, an empty question or option, or an answer that is no letter from A to D.
    """
    fields, quoted = split_line(line.text)
    if len(fields) != len(COLUMNS):
        line.fail(_column_problem(fields))
    for name, field in zip(COLUMNS[:5], fields, strict=False):
        if not field.strip():
            line.fail(f"the {name} is empty")
    letter = fields[-1].strip()
    if letter not in LETTERS:
        header = ", or is this a header, which the format does not have" if line.number == 1 else ""
        line.fail(f"the answer letter is {letter[:40]!r}, expected A, B, C or D{header}")
    return Row(line, (*fields[:-1], letter), quoted)


def split_line(text: str) -> tuple[list[str], bool]:
    """The fields of a line, and whether any of them was quoted.

    A line of at most eight columns is split at its tabs; with more, tabs inside a quoted field are text if that gives
    eight. The quotes around a field are dropped, and doubled ones inside it made single, only where the writer must
    have added them: the field holds a doubled quote or a tab or nothing, or every field of the row is quoted. All other
    quotes are text.
    """
    fields = text.split("\t")
    if len(fields) > len(COLUMNS):
        with_tabs = _split_quoted(text)
        fields = with_tabs if len(with_tabs) == len(COLUMNS) else fields
    whole = all(_ENCLOSED.fullmatch(field) for field in fields)
    read = [_unquote(field, whole=whole) for field in fields]
    return read, read != fields


def _split_quoted(text: str) -> list[str]:
    fields: list[str] = []
    place = 0
    while True:
        match = _FIELD.match(text, place)
        assert match is not None, "the second alternative matches anything"
        fields.append(match.group().removesuffix("\t"))
        if not match.group().endswith("\t"):
            return fields
        place = match.end()


def _unquote(field: str, *, whole: bool) -> str:
    if not _ENCLOSED.fullmatch(field):
        return field
    inside = field[1:-1]
    needed = whole or not inside or '""' in inside or "\t" in inside
    return inside.replace('""', '"') if needed else field


def _column_problem(fields: list[str]) -> str:
    found, wanted = len(fields), len(COLUMNS)
    problem = f"{found} column(s) found, {wanted} are needed ({', '.join(COLUMNS)})"
    if found > wanted:
        return f"{problem}, so a text holds a tab that is not in quotes"
    if found > 1 and fields[-1].strip() not in LETTERS:
        return f"{problem}, and the last one is no answer letter"
    return problem
