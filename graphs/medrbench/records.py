"""Cases as plain data, stored with a run so that scoring and showing need no data folder, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from graphs.medrbench.cases import Case
from graphs.medrbench.entries import Entry

_TUPLES = ("body_category", "disorder_category", "rare_diseases", "flags")


def to_record(case: Case) -> dict[str, Any]:
    """Every field of a case in JSON types."""
    record = {field.name: getattr(case, field.name) for field in fields(case)}
    record |= {name: list(record[name]) for name in _TUPLES}
    return record | {"ancillary": [asdict(entry) for entry in case.ancillary]}


def from_record(record: Mapping[str, Any]) -> Case:
    """The inverse of `to_record`."""
    tuples: dict[str, Any] = {name: tuple(record[name]) for name in _TUPLES}
    return Case(**{**record, **tuples, "ancillary": entries_of(record)})


def entries_of(record: Mapping[str, Any]) -> tuple[Entry, ...]:
    """The ancillary tests of a record."""
    return tuple(Entry(**entry) for entry in record["ancillary"])
