"""Recordings: JSON Lines, a header and then one exchange a line, readable in a diff."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

from judge.errors import DataError, RunError, UserError
from judge.models.exchange import Exchange, encodable_json

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Header:
    """First line of a recording.

    Attributes:
        nonce: of the run that was recorded; everything random in its requests derives from it.
        models: role -> model spec as the user wrote it.
        facts: what was probed or measured and shapes requests, e.g. the structured-output mode of a judge.
    """

    nonce: str
    models: Mapping[str, str]
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording in memory: the last attempt under every address."""

    path: Path
    header: Header
    exchanges: Mapping[str, Exchange]


class Recorder:
    """Appends exchanges to a recording.

    A torn last line, left by a crash, is cut off before anything is appended; what is recorded already is passed over.

    Raises:
        UserError: the file exists and does not belong to this run (another nonce), or cannot be written.
    """

    def __init__(self, path: Path, header: Header) -> None:
        self._path = path
        self._known: set[tuple[str, int, bool]] = set()
        if path.is_file():
            _cut_torn_line(path)
        if path.is_file() and path.stat().st_size:
            existing = load_recording(path)
            if existing.header.nonce != header.nonce:
                raise UserError(f"{path} holds the recording of another run; name a new file after --record")
            self._known = {_key(exchange) for exchange in existing.exchanges.values()}
            self._file = _open(path)
        else:
            self._file = _open(path)
            self._write({"medjudge_recording": FORMAT, "nonce": header.nonce, "models": dict(header.models),
                         "facts": dict(header.facts)})  # fmt: skip

    def add(self, exchange: Exchange) -> None:
        """Write one exchange and hand it to the operating system.

        Raises:
            RunError: the file cannot be written any more, e.g. the disk is full; it ends with a whole line.
        """
        if _key(exchange) in self._known:
            return
        self._known.add(_key(exchange))
        line = {
            "address": exchange.address,
            "attempt": exchange.attempt,
            "role": exchange.role,
            "model": exchange.model,
            "request": exchange.body,
            "status": exchange.status,
            "response": _parsed(exchange.response),
        }
        self._write(line | ({"error": exchange.error} if exchange.error else {}))

    def close(self) -> None:
        self._file.close()

    def _write(self, line: Mapping[str, Any]) -> None:
        data = encodable_json(line).encode("utf-8") + b"\n"
        start = self._file.seek(0, os.SEEK_END)
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(start)
            raise RunError(f"{self._path} cannot be written: {os.strerror(error.errno or 0)}") from None


def _key(exchange: Exchange) -> tuple[str, int, bool]:
    return exchange.address, exchange.attempt, exchange.completed


def load_recording(path: Path) -> Recording:
    """Read a recording; the last attempt under an address counts. A torn last line is passed over.

    Raises:
        DataError: no such file, not a recording, or a broken line that is not the last.
    """
    lines = _lines(path)
    header = _read_header(path, lines)
    exchanges: dict[str, Exchange] = {}
    for number, line in enumerate(lines[1:], start=2):
        if number == len(lines) and not _is_json(line):
            break
        exchange = _read_exchange(path, number, line)
        exchanges[exchange.address] = exchange
    return Recording(path, header, exchanges)


def _lines(path: Path) -> list[bytes]:
    """Lines as bytes, since one torn within a character is no text; split on \\n only: U+2028 occurs in records."""
    if not path.is_file():
        raise DataError(f"{path}: no such recording")
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    return lines[:-1] if lines[-1] == b"" else lines


def _read_header(path: Path, lines: list[bytes]) -> Header:
    try:
        header = json.loads(lines[0].removeprefix(codecs.BOM_UTF8))
        if header["medjudge_recording"] != FORMAT:
            raise DataError(f"{path}: recording format {header['medjudge_recording']!r}; this version reads {FORMAT}")
        return Header(str(header["nonce"]), dict(header["models"]), dict(header.get("facts", {})))
    except (IndexError, ValueError, KeyError, TypeError):
        raise DataError(f"{path}: its first line is not the header of a medjudge recording") from None


def _read_exchange(path: Path, number: int, line: bytes) -> Exchange:
    try:
        item = json.loads(line)
        response = item["response"]
        return Exchange(
            address=str(item["address"]),
            attempt=int(item["attempt"]),
            role=str(item["role"]),
            model=str(item["model"]),
            endpoint="",
            body=dict(item["request"]),
            status=int(item["status"]),
            response=response if isinstance(response, str) else encodable_json(response),
            error=str(item.get("error", "")),
            source="replay",
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"{path}: line {number} is not an exchange ({error!r})") from None


def _parsed(response: str) -> Any:
    """The response as JSON where that keeps every byte of meaning, else as text."""
    try:
        value = json.loads(response)
    except (ValueError, RecursionError):
        return response
    return response if isinstance(value, str) else value


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _cut_torn_line(path: Path) -> None:
    try:
        content = path.read_bytes()
        if not content or content.endswith(b"\n"):
            return
        last = content[content.rfind(b"\n") + 1 :]
        with path.open("rb+") as file:
            if _is_json(last):
                file.seek(0, os.SEEK_END)
                file.write(b"\n")
            else:
                file.truncate(len(content) - len(last))
    except OSError as error:
        raise UserError(f"{path} cannot be written: {os.strerror(error.errno or 0)}") from None


def _open(path: Path) -> FileIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return FileIO(path, "a+")
    except OSError as error:
        raise UserError(f"{path} cannot be written: {os.strerror(error.errno or 0)}") from None


def roles(exchanges: Iterable[Exchange]) -> set[str]:
    """The roles that speak in a recording."""
    return {exchange.role for exchange in exchanges}
