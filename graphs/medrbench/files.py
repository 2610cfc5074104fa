"""Finding and reading the data files, with every fault of JSON that Python's reader would pass over."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from judge.datafiles import REMEDY, decode, kind_name, parse_json, read_bytes, type_name
from judge.errors import DataError

CaseKind = Literal["diagnosis", "treatment"]

#: What the files are named like; the number of cases is part of the published names.
PATTERNS: Mapping[CaseKind, str] = {"diagnosis": "diagnosis_*cases*.json", "treatment": "treatment_*cases*.json"}


class JsonObject(dict[str, Any]):
    """A JSON object that remembers names given more than once, of which a dict keeps the last only."""

    twice: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Content:
    """What a file holds: ``records`` by case id, in the file's order."""

    file: Path
    sha256: str
    records: JsonObject


def find_file(data: Path, kind: CaseKind) -> Path:
    """The file of one kind in a folder or in one of the folders directly below it.

    Raises:
        DataError: there is none, or more than one.
    """
    pattern = PATTERNS[kind]
    folder = Path(data)
    found = sorted(folder.glob(pattern)) or sorted(folder.glob(f"*/{pattern}"))
    if not found:
        raise DataError(
            f"{data}: no MedR-Bench {kind} cases here, neither {folder / pattern} nor {folder / '*' / pattern} exists; "
            f"give the folder that holds the data set's two JSON files"
        )
    if len(found) > 1:
        names = ", ".join(str(file) for file in found)
        raise DataError(f"{data}: more than one file of {kind} cases ({names}); keep one of them in the folder given")
    return found[0]


def read_records(file: Path) -> Content:
    """The raw records of a file by case id.

    Raises:
        DataError: it cannot be read, is not a JSON object, or uses an id twice.
    """
    content = read_bytes(file)
    text = decode(content, file)
    records = parse_json(text, file, json_object)
    if not isinstance(records, JsonObject):
        raise DataError(f"{file}: an object of cases by id is expected, found {type_name(records)}; {REMEDY}")
    for case_id in records.twice:
        lines = _lines_of(text, case_id)
        raise DataError(f"{file}: the id {case_id} is used more than once ({lines}); {REMEDY}")
    if not records:
        raise DataError(f"{file}: there is no case in it; {REMEDY}")
    return Content(file, hashlib.sha256(content).hexdigest(), records)


def json_object(pairs: list[tuple[str, Any]]) -> JsonObject:
    """For `json.loads`: an object that knows which of its names were given twice."""
    content = JsonObject(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        content.twice = tuple(name for name in content if names.count(name) > 1)
    return content


def _lines_of(text: str, name: str) -> str:
    key = re.compile(re.escape(json.dumps(name)) + r"\s*:")
    lines = [str(text.count("\n", 0, match.start()) + 1) for match in key.finditer(text)]
    return f"line {' and '.join(lines[:3])}" if lines else "in other spellings"


@dataclass(frozen=True, slots=True)
class Record:
    """An object of one case, with what an error about it has to name.

    Attributes:
        raw: the object.
        file: it is from.
        case_id: of the case.
        path: names that lead to the object, each with a dot behind.
    """

    raw: Mapping[str, Any]
    file: Path
    case_id: str
    path: str = ""

    def fail(self, problem: str, remedy: str = REMEDY) -> NoReturn:
        """Raise the DataError that names file, case, problem and remedy."""
        raise DataError(f"{self.file}: case {self.case_id or '(empty id)'}: {problem}; {remedy}")

    def check_names(self) -> None:
        """Refuse names given twice."""
        for name in self.raw.twice if isinstance(self.raw, JsonObject) else ():
            self.fail(f"the field {self.path + name!r} is given twice")

    def text(self, name: str, *, empty: bool = True) -> str:
        """A field that holds a text; DataError if it does not, or is empty where that is not allowed."""
        value: str = self._get(name, str)
        if not empty and not value.strip():
            self.fail(f"the field {self.path + name!r} is empty")
        self._check_unicode(name, value)
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A field that holds a list of texts, none of them empty; the list may be."""
        values: list[Any] = self._get(name, list)
        for value in values:
            if not isinstance(value, str) or not value.strip():
                found = "an empty one" if isinstance(value, str) else type_name(value)
                self.fail(f"the field {self.path + name!r} must hold texts, found {found}")
            self._check_unicode(name, value)
        return tuple(values)

    def inside(self, name: str) -> Record:
        """The object held by a field."""
        record = Record(self._get(name, dict), self.file, self.case_id, f"{self.path}{name}.")
        record.check_names()
        return record

    def _get(self, name: str, kind: type) -> Any:
        if name not in self.raw:
            self.fail(f"the field {self.path + name!r} is missing")
        value = self.raw[name]
        if not isinstance(value, kind):
            wanted = kind_name(kind)
            self.fail(f"the field {self.path + name!r} must be {wanted}, found {type_name(value)}")
        return value

    def _check_unicode(self, name: str, value: str) -> None:
        if any("\ud800" <= character <= "\udfff" for character in value):
            self.fail(f"the field {self.path + name!r} holds half a surrogate pair, which is no text")


def open_record(content: Content, case_id: str) -> Record:
    """The record of one case; DataError if it is no object or gives a field twice."""
    raw = content.records[case_id]
    if not isinstance(raw, dict):
        raise DataError(f"{content.file}: case {case_id}: an object is expected, found {type_name(raw)}; {REMEDY}")
    record = Record(raw, content.file, case_id)
    if not case_id.strip() or any(ord(character) < 32 or "\ud800" <= character <= "\udfff" for character in case_id):
        record.fail(f"{case_id!r} cannot be an id")
    record.check_names()
    return record
