"""Tables that people fill in with a spreadsheet: written so that no cell is a formula, read back with line numbers."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from judge.datafiles import decode
from judge.errors import DataError, UserError
from judge.report.text import printable

#: A cell that begins with one of these would be a formula.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")

#: Spreadsheets hold at most 32,767 characters in a cell.
MOST_CHARACTERS = 32_000

_CUT = " […]"

_SEPARATORS = (",", ";", "\t")


@dataclass(frozen=True, slots=True)
class Row:
    """One row by column; errors name line and column."""

    file: Path
    line: int
    cells: dict[str, str]

    def __getitem__(self, column: str) -> str:
        """The cell without spaces around it; empty if the sheet lacks the column."""
        return self.cells.get(column, "").strip()

    def fail(self, column: str, problem: str) -> NoReturn:
        raise DataError(f"{self.file}: line {self.line}, column {column}: {problem}; correct it there")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table as read.

    Attributes:
        rows: those that are not empty.
        sha256: of the file.
    """

    file: Path
    rows: tuple[Row, ...]
    sha256: str


def read_sheet(file: Path, required: Sequence[str], allowed: Sequence[str] | None = None) -> Sheet:
    """Read a CSV file; semicolons or tabs may stand for commas, as spreadsheets of some languages write them.

    Args:
        required: columns that must be there.
        allowed: other columns that may be there; None for any.

    Raises:
        DataError: with file, line and column.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror or error}); check the name and its rights") from None
    rows = tuple(_rows(file, decode(content, file), required, allowed))
    if not rows:
        raise DataError(f"{file}: there is no row below the names of the columns")
    return Sheet(file, rows, hashlib.sha256(content).hexdigest())


def _rows(file: Path, text: str, required: Sequence[str], allowed: Sequence[str] | None) -> Iterator[Row]:
    header: list[str] | None = None
    start = 1
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text), strict=True)
    try:
        for cells in reader:
            if header is None:
                header = _header(file, cells, required, allowed)
            elif any(cell.strip() for cell in cells):
                yield _row(file, start, header, cells)
            start = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{file}: line {start}: not usable CSV ({error}); quote texts with commas or lines") from None
    if header is None:
        _header(file, [], required, allowed)


def _separator(text: str) -> str:
    first = text.partition("\n")[0]
    return max(_SEPARATORS, key=first.count)


def _header(file: Path, cells: Sequence[str], required: Sequence[str], allowed: Sequence[str] | None) -> list[str]:
    names = [cell.strip().casefold() for cell in cells]
    wanted = f"the first line must name the columns {', '.join(required)}"
    for name in required:
        if name not in names:
            raise DataError(f"{file}: line 1: there is no column {name}; {wanted}")
    for name in names:
        if name and names.count(name) > 1:
            raise DataError(f"{file}: line 1: the column {name} is there twice; {wanted}, each once")
        if allowed is not None and name not in (*required, *allowed):
            raise DataError(
                f"{file}: line 1: the column {name or '(without name)'} is not known; {wanted}, and may name "
                f"{', '.join(allowed)}"
            )
    return names


def _row(file: Path, line: int, header: Sequence[str], cells: Sequence[str]) -> Row:
    if len(cells) != len(header):
        problem = f"{len(cells)} cells under {len(header)} columns; quote texts that hold the separator"
        raise DataError(f"{file}: line {line}: {problem}")
    return Row(file, line, {name: as_meant(cell) for name, cell in zip(header, cells, strict=True)})


def write_sheet(file: Path, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a CSV file with byte-order mark, by which spreadsheets know UTF-8.

    Raises:
        UserError: the file is there already, or cannot be written.
    """
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(columns)
    writer.writerows([harmless(cell) for cell in row] for row in rows)
    try:
        with file.open("xb") as handle:
            handle.write(buffer.getvalue().encode("utf-8-sig"))
    except FileExistsError:
        raise UserError(f"{file} is there already and may hold somebody's work; name another file") from None
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror or error}") from None


def harmless(text: str) -> str:
    """A cell that no spreadsheet takes for a formula, without control characters, of a length that a cell can have."""
    shown = printable(text)
    if len(shown) > MOST_CHARACTERS:
        shown = shown[:MOST_CHARACTERS] + _CUT
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown


def as_meant(cell: str) -> str:
    """The inverse of `harmless` for texts that are neither cut nor hold control characters."""
    inside = cell.removeprefix("'")
    return inside if inside.lstrip().startswith(_FORMULA) else cell
