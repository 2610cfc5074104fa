"""Tables as files: JSON Lines, CSV, Parquet."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from judge.errors import UserError
from judge.exports.source import Source
from judge.exports.tables import TABLES, Kind, Row, Table
from judge.models.exchange import clean, encodable_json

#: Beginnings of a cell that a spreadsheet takes for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")

#: What is no line end in JSON Lines, but is taken for one by readers that split texts the Unicode way.
_LINE_ENDS = {"\u2028": "\\u2028", "\u2029": "\\u2029", "\u0085": "\\u0085"}


# -- JSON Lines ------------------------------------------------------------------------------------------------------


def json_line(value: Any) -> str:
    """One record and its line end; inside it nothing is, or is taken for, a line end."""
    text = encodable_json(_finite(value))
    for character, escape in _LINE_ENDS.items():
        text = text.replace(character, escape)  # such a character can only stand inside a JSON text
    return f"{text}\n"


def _finite(value: Any) -> Any:
    """JSON knows no NaN and no infinity: they become texts, not null, which means that there is no value."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def write_jsonl(source: Source, folder: Path) -> list[str]:
    """All tables, one file each; every line is an object that says what it is, and of which run."""
    return [_jsonl(table, source, folder) for table in TABLES]


def _jsonl(table: Table, source: Source, folder: Path) -> str:
    name = f"{table.name}.jsonl"
    with (folder / name).open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json_line({"type": table.type, **row}) for row in table.rows(source))
    return name


# -- CSV -------------------------------------------------------------------------------------------------------------


def write_csv(source: Source, folder: Path, *, bom: bool = False) -> list[str]:
    """The flat tables without whole texts; a missing value is an empty cell."""
    return [_csv(table, source, folder, "utf-8-sig" if bom else "utf-8") for table in TABLES if table.flat]


def _csv(table: Table, source: Source, folder: Path, encoding: str) -> str:
    name = f"{table.name}.csv"
    columns = {column: kind for column, kind in table.columns.items() if column not in table.bulky}
    with (folder / name).open("w", encoding=encoding, newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(_cells(columns, table.rows(source)))
    return name


def _cells(columns: Mapping[str, Kind], rows: Iterable[Row]) -> Iterator[list[str]]:
    for row in rows:
        yield [_cell(row[column], kind) for column, kind in columns.items()]


def _cell(value: Any, kind: Kind) -> str:
    if value is None:
        return ""
    flat = _flat(value, kind)
    if isinstance(flat, bool):
        return "true" if flat else "false"
    return safe_cell(flat) if isinstance(flat, str) else repr(flat)


def safe_cell(text: str) -> str:
    """A text that no spreadsheet computes; what a CSV file cannot hold becomes U+FFFD."""
    text = clean(text).replace("\x00", "\ufffd")
    return f"'{text}" if text.startswith(FORMULA) else text


def _flat(value: Any, kind: Kind) -> Any:
    """A value for a table: numbers stay, truth values of a column of labels and JSON become texts."""
    if value is None:
        return None
    if kind == "json":
        return encodable_json(_finite(value))
    if isinstance(value, bool) and kind == "label":
        return "true" if value else "false"
    return value


# -- Parquet ---------------------------------------------------------------------------------------------------------


def write_parquet(source: Source, folder: Path) -> list[str]:
    """The flat tables, whole texts included; columns of lists and objects hold JSON.

    Raises:
        UserError: pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UserError(
            "--to parquet needs pyarrow, which is not installed; install it with: pip install 'medjudge[export]'"
        ) from None
    types = {"text": pa.string(), "label": pa.string(), "json": pa.string(), "int": pa.int64(), "float": pa.float64(),
             "bool": pa.bool_()}  # fmt: skip
    names = []
    for table in (table for table in TABLES if table.flat):
        schema = pa.schema([(column, types[kind]) for column, kind in table.columns.items()])
        rows = [{name: _arrow(row[name], kind) for name, kind in table.columns.items()} for row in table.rows(source)]
        names.append(f"{table.name}.parquet")
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / names[-1])
    return names


def _arrow(value: Any, kind: Kind) -> Any:
    flat = _flat(value, kind)
    return clean(flat) if isinstance(flat, str) else flat
