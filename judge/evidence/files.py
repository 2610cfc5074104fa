"""The user's own files as passages: .txt and .md are texts, .jsonl has one record a line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from judge.datafiles import DataFile, combined_hash, read_bytes, type_name
from judge.errors import DataError
from judge.evidence.cutting import cut
from judge.evidence.passages import Passage
from judge.models.exchange import clean

SUFFIXES = (".txt", ".md", ".jsonl")

#: Bytes of all files together at most, since they are searched in memory.
LARGEST = 500_000_000


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of texts, read.

    Attributes:
        sha256: over the paths in the folder and the bytes of all files.
        passages: in the order of the files' paths; each has at least one letter or digit.
    """

    sha256: str
    passages: tuple[Passage, ...]


def read_folder(folder: Path) -> Folder:
    """Read every text below a folder.

    Files are those named ``*.txt``, ``*.md`` and ``*.jsonl`` in any case, at any depth. Names that begin with a dot are
    passed over. Links are followed; what several lead to is read once.

    Raises:
        DataError: no such folder, nothing in it to search, too much of it, or a file that is not what its name says.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; give a folder of {', '.join(SUFFIXES)} files after corpus:")
    places = sorted(_files(folder), key=lambda place: place.relative_to(folder).as_posix())
    size = sum(_size(place) for place in places)
    if size > LARGEST:
        raise DataError(
            f"{folder}: holds {size / 1e6:,.0f} MB of text and at most {LARGEST / 1e6:,.0f} MB can be searched; "
            "give a smaller folder"
        )
    files: list[DataFile] = []
    passages: list[Passage] = []
    for place in places:
        content = read_bytes(place)
        path = clean(place.relative_to(folder).as_posix())
        files.append(DataFile(path, sha256(content).hexdigest()))
        passages += (passage for passage in _passages(content, place, path) if any(map(str.isalnum, passage.text)))
    if not passages:
        raise DataError(f"{folder}: no text to search; put {', '.join(SUFFIXES)} files with text into it")
    return Folder(combined_hash(files), tuple(passages))


def _files(folder: Path) -> Iterator[Path]:
    seen: set[str] = set()
    for here, folders, names in os.walk(folder, followlinks=True, onerror=_refuse):
        if _seen(here, seen):  # a link led here before, or leads back up
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.lower().endswith(SUFFIXES) and not name.startswith("."):
                place = Path(here, name)
                if not _seen(place, seen):
                    yield place


def _seen(place: str | Path, seen: set[str]) -> bool:
    real = os.path.realpath(place)
    known = real in seen
    seen.add(real)
    return known


def _refuse(error: OSError) -> None:
    raise DataError(f"{error.filename}: cannot be read ({error.strerror}); check the folder and its rights") from error


def _size(place: Path) -> int:
    if not place.is_file():  # opening a pipe would wait for ever
        raise DataError(f"{place}: is named like a text but leads to no file; remove it or mend the link")
    return place.stat().st_size


def _passages(content: bytes, place: Path, path: str) -> Iterator[Passage]:
    text = _text(content, place)
    if place.suffix.lower() == ".jsonl":
        for number, line in enumerate(text.split("\n"), start=1):  # not splitlines: U+2028 occurs in records
            if line.strip():
                yield from _record(line, f"{place}: line {number}", f"{path}:{number}")
    else:
        for piece in cut(_line_feeds(text)):
            yield Passage(piece.text, f"{path}:{piece.line}")


def _text(content: bytes, place: Path) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise DataError(f"{place}: line {line} is not UTF-8 text; save the file as UTF-8") from error
    if (found := text.find("\0")) >= 0:
        line = text.count("\n", 0, found) + 1
        raise DataError(f"{place}: line {line} holds a zero byte, which no UTF-8 text does; save the file as UTF-8")
    return text


def _line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _record(line: str, where: str, source: str) -> Iterator[Passage]:
    """The passages of one record; they are from its own source if it names one."""
    record = _object(line, where)
    text = _string(record, "text", where)
    if text is None:
        raise DataError(f"{where} has no 'text'; every record needs one")
    title = _string(record, "title", where) or ""
    if own := _string(record, "source", where) or _string(record, "url", where):
        source = own
    elif name := _string(record, "id", where):
        source = f"{source} ({name})"
    for piece in cut(_line_feeds(text), title):
        yield Passage(piece.text, source)


def _object(line: str, where: str) -> Mapping[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else error
        raise DataError(f"{where} is not valid JSON ({reason}); correct it there") from error
    if not isinstance(record, dict):
        raise DataError(f"{where} is {type_name(record)}, an object is expected; correct it there")
    return record


def _string(record: Mapping[str, Any], name: str, where: str) -> str | None:
    value = record.get(name)
    if name == "id" and type(value) is int:
        value = str(value)
    if value is not None and not isinstance(value, str):
        raise DataError(f"{where}: {name!r} is {type_name(value)}, a text is expected; correct it there")
    return None if value is None else clean(value)
