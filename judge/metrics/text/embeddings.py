"""Embeddings of reference texts on disk: a second model is scored against the same references."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Embedding = NDArray[np.float32]
    """One row of length 1 for each token."""

_AT_ONCE = 500


class EmbeddingStore:
    """Embeddings by the hash of a text's token ids, in one SQLite file for one encoder and layer.

    The ids say what the encoder was given: a text that is cut, or read by another tokeniser, is another key. What does
    not look like an embedding of that text is not there.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def get(self, lengths: Mapping[bytes, int]) -> dict[bytes, Embedding]:
        """What there is of these.

        Args:
            lengths: key -> number of tokens.
        """
        found: dict[bytes, Embedding] = {}
        keys = list(lengths)
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            for key, data in self._rows(some):
                if (embedding := _read(data, lengths[key])) is not None:
                    found[key] = embedding
        return found

    def _rows(self, keys: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
        marks = ",".join("?" * len(keys))
        try:
            return self._connection.execute(f"SELECT key, data FROM text WHERE key IN ({marks})", keys).fetchall()
        except sqlite3.Error:
            return []

    def put(self, embeddings: Sequence[tuple[bytes, Embedding]]) -> None:
        """Keep these, where that is possible."""
        rows = [(key, embedding.astype("<f4").tobytes()) for key, embedding in embeddings]
        with suppress(sqlite3.Error), self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO text VALUES (?, ?)", rows)


@contextmanager
def open_store(file: Path) -> Iterator[EmbeddingStore | None]:
    """The store in a file, made if there is none; None where it cannot be used: it saves time and changes no number."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(file, timeout=60)
    except (OSError, sqlite3.Error):
        yield None
        return
    try:
        yield EmbeddingStore(connection) if _usable(connection) else None
    finally:
        connection.close()


def _usable(connection: sqlite3.Connection) -> bool:
    try:
        with connection:
            connection.execute("CREATE TABLE IF NOT EXISTS text (key BLOB PRIMARY KEY, data BLOB NOT NULL)")
    except sqlite3.Error:
        return False
    return True


def _read(data: bytes, tokens: int) -> Embedding | None:
    if not tokens or len(data) % (4 * tokens):
        return None
    rows = np.frombuffer(data, dtype="<f4").reshape(tokens, -1).astype(np.float32)
    norms = np.linalg.norm(rows, axis=1)
    return rows if np.allclose(norms, 1.0, atol=1e-3) else None  # also false for what is not finite
