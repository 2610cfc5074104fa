"""Sessions on disk: one JSON file each, written whole after everything that happens.

A session is kept as what it was begun with, what the person gave, and what models answered. Taking it up again means to
play the same inputs through the same machine; the models' part comes from the file, so nothing is paid for twice.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from typing import Any

from judge.errors import RunError
from judge.locks import lock_folder
from judge.models.address import Address
from judge.models.chat import ChatModel, Message
from judge.models.exchange import Exchange, encodable_json
from judge.models.reply import Reply

FILE = "session.json"
FOLDER = "sessions"
LOCK = ".lock"
FORMAT = 1


@dataclass(slots=True)
class Saved:
    """One session.

    Attributes:
        folder: its own; the last part is its id.
        head: what it was begun with.
        inputs: what the person gave, in order; what was undone is not among them.
        exchanges: (hash of the question, exchange), in the order in which they took place.
        draft: lines typed and not yet sent.
        undone: how often a turn was taken back.
        status: how it ended; empty while it has not.
    """

    folder: Path
    head: dict[str, Any]
    inputs: list[dict[str, str]] = field(default_factory=list)
    exchanges: list[tuple[str, Exchange]] = field(default_factory=list)
    draft: list[str] = field(default_factory=list)
    undone: int = 0
    status: str = ""

    @property
    def id(self) -> str:
        return self.folder.name

    def write(self) -> None:
        """Replace the file as a whole: after a crash there is the old one or the new one.

        Raises:
            RunError: it cannot be written, e.g. the disk is full.
        """
        document = {
            "medjudge_session": FORMAT,
            "head": self.head,
            "inputs": self.inputs,
            "draft": self.draft,
            "undone": self.undone,
            "status": self.status,
            "exchanges": [{"asked": asked} | asdict(exchange) for asked, exchange in self.exchanges],
        }
        draft = self.folder / f"{FILE}.new"
        try:
            with draft.open("w", encoding="utf-8") as file:
                file.write(encodable_json(document) + "\n")
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self.folder / FILE)
        except OSError as error:
            raise RunError(f"{self.folder / FILE} cannot be written: {error.strerror}") from None


def new_session(root: Path, name: str, head: Mapping[str, Any]) -> Saved:
    """A session in a folder of its own, ``sessions/<name>-<time>`` below `root`.

    Raises:
        RunError: the folder cannot be made.
    """
    stem = f"{re.sub(r'[^A-Za-z0-9._-]+', '-', name).strip('-.')[:60] or 'case'}-{time.strftime('%Y%m%d-%H%M%S')}"
    for candidate in chain([stem], (f"{stem}-{number}" for number in count(2))):
        folder = root / FOLDER / candidate
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            if folder.is_dir():
                continue
            raise RunError(f"{folder.parent} cannot hold sessions: it is no folder") from None
        except OSError as error:
            raise RunError(f"{folder} cannot be made: {error.strerror}") from None
        saved = Saved(folder, dict(head))
        saved.write()
        return saved
    raise AssertionError("there is always a free number")


def open_session(root: Path, wanted: str) -> Saved:
    """A saved session by its id, or by its folder.

    Raises:
        RunError: there is none, or its file cannot be read.
    """
    places = (root / FOLDER / wanted, Path(wanted)) if wanted else ()
    folder = next((place for place in places if (place / FILE).is_file()), None)
    if folder is None:
        known = sorted(path.parent.name for path in (root / FOLDER).glob(f"*/{FILE}"))
        there_are = f"; there are: {', '.join(known[-5:])}" if known else ""
        raise RunError(f"--resume {wanted}: no session of that id in {root / FOLDER}, and no folder{there_are}")
    try:
        return _read(folder.resolve() if folder.name in ("", ".", "..") else folder)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise RunError(f"{folder / FILE} is no saved session ({type(error).__name__}: {error})") from None


def _read(folder: Path) -> Saved:
    document = json.loads((folder / FILE).read_text(encoding="utf-8"))
    if (version := document["medjudge_session"]) != FORMAT:
        raise ValueError(f"it is of format {version}, this version reads {FORMAT}")
    return Saved(
        folder,
        dict(document["head"]),
        [{str(key): str(value) for key, value in given.items()} for given in document["inputs"]],
        [_exchange(dict(item)) for item in document["exchanges"]],
        list(map(str, document["draft"])),
        int(document["undone"]),
        str(document["status"]),
    )


def _exchange(item: dict[str, Any]) -> tuple[str, Exchange]:
    return str(item.pop("asked")), Exchange(**item)


@contextmanager
def locked(saved: Saved) -> Iterator[None]:
    """Nobody else continues this session meanwhile.

    Raises:
        RunError: somebody does.
    """
    lock = lock_folder(saved.folder, LOCK, "is in use")
    try:
        yield
    finally:
        lock.release()
        with contextlib.suppress(OSError):
            (saved.folder / LOCK).unlink()


class Exchanges:
    """A session's exchanges as the store of a `judge.models.door.Door`.

    Undoing leads to another question under the same address, so an exchange is found by address and question: the old
    one again is answered from here, a new one is asked.
    """

    def __init__(self, saved: Saved) -> None:
        self._saved = saved
        self._asked = ""
        self._used: dict[str, Exchange] = {}

    def asking(self, messages: Sequence[Message]) -> None:
        """Say what is about to be asked."""
        self._asked = hashlib.sha256(encodable_json(list(messages)).encode("utf-8")).hexdigest()[:32]

    async def find(self, address: str) -> Exchange | None:
        """The exchange in which this was asked under `address`."""
        kept = (exchange for asked, exchange in reversed(self._saved.exchanges) if asked == self._asked)
        found = next((exchange for exchange in kept if exchange.address == address), None)
        if found is not None:
            self._used[address] = found
        return found

    async def keep(self, exchange: Exchange) -> Exchange:
        """Keep it and write it before it is used."""
        earlier = sum(other.address == exchange.address for _, other in self._saved.exchanges)
        kept = replace(exchange, attempt=earlier + 1)
        self._saved.exchanges.append((self._asked, kept))
        self._saved.write()
        self._used[kept.address] = kept
        return kept

    async def superseded(self, address: str) -> bool:
        """A session has no shared cache that would have to know."""
        return False

    def in_order(self) -> list[Exchange]:
        """All of them; those that the session as it stands rests on come last under their address."""
        used = {id(exchange) for exchange in self._used.values()}
        return sorted((exchange for _, exchange in self._saved.exchanges), key=lambda exchange: id(exchange) in used)


class Seated:
    """A chat model whose exchanges a session keeps."""

    def __init__(self, model: ChatModel, exchanges: Exchanges) -> None:
        self._model = model
        self._exchanges = exchanges

    async def ask(self, messages: Sequence[Message], address: Address) -> Reply:
        """See `judge.models.chat.ChatModel`."""
        self._exchanges.asking(messages)
        return await self._model.ask(messages, address)
