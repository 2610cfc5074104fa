"""Recordings: JSON Lines, a header and then one exchange a line, readable in a diff."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from judge.errors import DataError, UserError
from judge.models.exchange import Exchange

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

    A torn last line, left by a crash, is cut off before anything is appended.

    Raises:
        UserError: the file exists and does not belong to this run (another nonce), or cannot be written.
    """

    def __init__(self, path: Path, header: Header) -> None:
        if path.exists() and path.stat().st_size:
            _cut_torn_line(path)
            existing = load_recording(path).header
            if existing.nonce != header.nonce:
                raise UserError(f"{path} holds the recording of another run; name a new file after --record")
            self._file: IO[str] = _open(path, "a")
        else:
            self._file = _open(path, "x" if not path.exists() else "w")
            self._write({"medjudge_recording": FORMAT, "nonce": header.nonce, "models": dict(header.models),
                         "facts": dict(header.facts)})  # fmt: skip

    def add(self, exchange: Exchange) -> None:
        """Write one exchange and hand it to the operating system."""
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
        # a lone surrogate in a model's reply must not end the run: ASCII escapes carry it
        try:
            text = json.dumps(line, ensure_ascii=False)
            text.encode("utf-8")
        except UnicodeEncodeError:
            text = json.dumps(line)
        self._file.write(text + "\n")
        self._file.flush()


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


def _lines(path: Path) -> list[str]:
    if not path.is_file():
        raise DataError(f"{path}: no such recording")
    try:
        text = path.read_bytes().decode("utf-8-sig", errors="surrogatepass")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text (byte {error.start})") from None
    lines = text.split("\n")  # on \n only: U+2028 and U+0085 occur inside records
    return lines[:-1] if lines[-1] == "" else lines


def _read_header(path: Path, lines: list[str]) -> Header:
    try:
        header = json.loads(lines[0])
        if header["medjudge_recording"] != FORMAT:
            raise DataError(f"{path}: recording format {header['medjudge_recording']!r}; this version reads {FORMAT}")
        return Header(str(header["nonce"]), dict(header["models"]), dict(header.get("facts", {})))
    except (IndexError, ValueError, KeyError, TypeError):
        raise DataError(f"{path}: its first line is not the header of a medjudge recording") from None


def _read_exchange(path: Path, number: int, line: str) -> Exchange:
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
            response=response if isinstance(response, str) else json.dumps(response, ensure_ascii=False),
            error=str(item.get("error", "")),
            source="replay",
        )
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: line {number} is not an exchange ({error!r})") from None


def _parsed(response: str) -> Any:
    """The response as JSON where that keeps every byte of meaning, else as text."""
    try:
        value = json.loads(response)
    except ValueError:
        return response
    return response if isinstance(value, str) else value


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _cut_torn_line(path: Path) -> None:
    with path.open("rb+") as file:
        content = file.read()
        if content.endswith(b"\n"):
            return
        last = content[content.rfind(b"\n") + 1 :]
        if _is_json(last.decode("utf-8", errors="replace")):
            file.write(b"\n")
        else:
            file.truncate(len(content) - len(last))


def _open(path: Path, mode: str) -> IO[str]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open(mode, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UserError(f"{path} cannot be written: {os.strerror(error.errno or 0)}") from None


def roles(exchanges: Iterable[Exchange]) -> set[str]:
    """The roles that speak in a recording."""
    return {exchange.role for exchange in exchanges}
