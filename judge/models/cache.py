"""Answers shared between runs (`--cache FILE`): temperature 0 only, keyed by endpoint and whole body."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Mapping
from pathlib import Path

from judge.database import Database
from judge.models.address import Call
from judge.models.door import Answer
from judge.models.exchange import JSON, body_hash

APPLICATION_ID = 0x6D6A6361  # "mjca"

SCHEMA = """
CREATE TABLE answers (key BLOB PRIMARY KEY, status INTEGER NOT NULL, text BLOB NOT NULL) WITHOUT ROWID;
"""


class FileCache:
    """A SQLite file of answers; several runs may use it one after another or at once.

    The epoch and the count of re-asks are part of the key: repeats of one case must not be one answer seen twice.

    Raises:
        RunError: the file is not a cache, or cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = Database(path, application_id=APPLICATION_ID, schema=SCHEMA, create=True)

    async def find(self, endpoint: str, body: Mapping[str, JSON], call: Call) -> Answer | None:
        key = _key(endpoint, body, call)

        def read(db: sqlite3.Connection) -> tuple[int, bytes] | None:
            row: tuple[int, bytes] | None = db.execute(
                "SELECT status, text FROM answers WHERE key = ?", (key,)
            ).fetchone()
            return row

        row = await self._database.run_async(read)
        return Answer(row[0], {}, zlib.decompress(row[1]).decode("utf-8", errors="surrogatepass")) if row else None

    async def keep(self, endpoint: str, body: Mapping[str, JSON], call: Call, answer: Answer) -> None:
        key, text = _key(endpoint, body, call), zlib.compress(answer.text.encode("utf-8", errors="surrogatepass"))
        row = (key, answer.status, text)
        await self._database.run_async(
            lambda db: db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", row) and None
        )

    def close(self) -> None:
        self._database.close()


def _key(endpoint: str, body: Mapping[str, JSON], call: Call) -> bytes:
    text = "\0".join((endpoint, body_hash(body), str(call.address.epoch), str(call.asks)))
    return hashlib.sha256(text.encode("utf-8")).digest()
