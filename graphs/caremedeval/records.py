"""Cases as plain data, stored with a run so that scoring and showing need no data folder, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from graphs.caremedeval.cases import Case

_SETS = ("correct", "essential", "unacceptable")


def to_record(case: Case) -> dict[str, Any]:
    """Every field of a case in JSON types."""
    record = {field.name: getattr(case, field.name) for field in fields(case)}
    record |= {name: sorted(record[name]) for name in _SETS}
    return record | {"options": dict(case.options), "labels": list(case.labels)}


def from_record(record: Mapping[str, Any]) -> Case:
    """The inverse of `to_record`."""
    sets: dict[str, Any] = {name: frozenset(record[name]) for name in _SETS}
    return Case(**{**record, **sets, "labels": tuple(record["labels"])})


def option_lines(options: Mapping[str, str]) -> str:
    """The options as a prompt shows them: ``A. text``, one a line."""
    return "\n".join(f"{letter.upper()}. {text}" for letter, text in options.items())


def letters(keys: Sequence[str]) -> str:
    """Chosen or correct keys for a person, e.g. ``A, C``; ``none`` for an empty set."""
    return ", ".join(key.upper() for key in sorted(keys)) or "none"
