"""Reading the files of a data set: bytes, text and JSON, with one sentence for whatever is wrong, and their hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge.errors import DataError

#: What to do about a file that is there but wrong.
REMEDY = "correct it there or fetch the data set again"

_TYPE_NAMES = {
    "NoneType": "null",
    "bool": "true or false",
    "int": "a number",
    "float": "a number",
    "str": "a text",
    "list": "a list",
    "dict": "an object",
}


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that was read: path relative to the data set's folder, and SHA-256 of its bytes."""

    path: str
    sha256: str


def combined_hash(files: Iterable[DataFile]) -> str:
    """SHA-256 over paths and hashes; the same data give the same hash from any folder."""
    lines = sorted(f"{file.path}\0{file.sha256}\n" for file in files)
    return hashlib.sha256("".join(lines).encode("utf-8")).hexdigest()


def read_bytes(file: Path) -> bytes:
    """The bytes of a file; DataError if there is none."""
    try:
        return file.read_bytes()
    except FileNotFoundError as error:
        raise DataError(f"{file}: this file is missing; fetch the data set again") from error
    except IsADirectoryError as error:
        raise DataError(f"{file}: this is a folder, a file is expected; fetch the data set again") from error
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror or error}); check the file and its rights") from error


def decode(content: bytes, file: Path) -> str:
    """UTF-8 text, byte-order mark dropped; DataError if it is not."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{file}: not UTF-8 text at byte {error.start}; save it as UTF-8") from error


def parse_json(text: str, file: Path, make_object: Callable[[list[tuple[str, Any]]], Any]) -> Any:
    """JSON with objects made by a function, which may refuse a name given twice by ValueError; else DataError."""
    try:
        return json.loads(text, object_pairs_hook=make_object)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise DataError(f"{file}: not valid JSON at {place} ({error.msg}); {REMEDY}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{file}: not usable JSON ({error}); {REMEDY}") from error


def type_name(value: object) -> str:
    """The type of a JSON value for a person."""
    return kind_name(type(value))


def kind_name(kind: type) -> str:
    """A JSON type for a person; a subclass is called like its base."""
    name = next((base.__name__ for base in kind.__mro__ if base.__name__ in _TYPE_NAMES), kind.__name__)
    return _TYPE_NAMES.get(name, name)
