"""How results move with choices that could have been made otherwise, as a section of the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judge.report.tables import number


@dataclass(frozen=True, slots=True)
class SectionTable:
    """A table of the section; the first column heads its rows.

    Attributes:
        labels: how many columns say what a row is about; the others are numbers.
        note: what must be known to read it; may be empty.
        folded: whether it is shown only when asked.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: int = 1
    note: str = ""
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """What the template block `sensitivity.html.j2` shows."""

    sentences: tuple[str, ...]
    tables: tuple[SectionTable, ...]
    notes: tuple[str, ...] = ()
    heading: str = "Sensitivity"


def sensitivity_section(data: Mapping[str, Any] | None) -> Section | None:
    """The section, or None where there is nothing to say.

    Args:
        data: ``{"heading": text, "sentences": [text, …], "tables": [{"title": …, "columns": [text, …], "labels": 1,
            "rows": [[cell, …], …], "note": text, "folded": false}, …], "notes": [text, …]}``; of the section any key
            may be missing, and of a table ``labels``, ``note`` and ``folded``. A cell is a text, a number or None.

    Raises:
        ValueError: a row has not as many cells as there are columns.
    """
    if not data:
        return None
    tables = tuple(_table(table) for table in data.get("tables", ()))
    sentences = tuple(data.get("sentences", ()))
    notes = tuple(data.get("notes", ()))
    return Section(sentences, tables, notes, data.get("heading", "Sensitivity")) if sentences or tables else None


def _table(table: Mapping[str, Any]) -> SectionTable:
    columns = tuple(table["columns"])
    rows = tuple(tuple(_cell(cell) for cell in row) for row in table["rows"])
    if any(len(row) != len(columns) for row in rows):
        raise ValueError(f"the table {table['title']!r} has rows of other lengths than its {len(columns)} columns")
    return SectionTable(table["title"], columns, rows, int(table.get("labels", 1)), table.get("note", ""),
                        bool(table.get("folded")))  # fmt: skip


def _cell(cell: Any) -> str:
    if isinstance(cell, float) or cell is None:
        return number(cell)
    return str(cell)
