"""Texts in a run's file: compressed, and every long paragraph stored once."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator

#: The table that the paragraphs stand in.
SCHEMA = "CREATE TABLE texts (hash BLOB PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;"

#: Paragraph ends, as they are and as they look inside a JSON string.
_PARAGRAPH = re.compile(r"(?<=\n\n)|(?<=\\n\\n)")
_LONG = 300


def pack(db: sqlite3.Connection, text: str) -> bytes:
    """Compress a text; its long paragraphs go into the table of texts, where each stands once.

    The hundreds of prompts that carry the same article thus hold it once.
    """
    parts: list[str | dict[str, str]] = []
    for piece in _PARAGRAPH.split(text):
        if len(piece) >= _LONG:
            parts.append({"text": _put_text(db, piece).hex()})
        elif parts and isinstance(parts[-1], str):
            parts[-1] += piece
        else:
            parts.append(piece)
    return zlib.compress(json.dumps(parts).encode("ascii"))


def _put_text(db: sqlite3.Connection, piece: str) -> bytes:
    data = piece.encode("utf-8", errors="surrogatepass")
    digest = hashlib.sha256(data).digest()[:16]
    if not db.execute("SELECT 1 FROM texts WHERE hash = ?", (digest,)).fetchone():
        db.execute("INSERT INTO texts VALUES (?, ?)", (digest, zlib.compress(data)))
    return digest


def unpack(db: sqlite3.Connection, blob: bytes) -> str:
    """The text that `pack` made this of."""
    return "".join(_pieces(db, json.loads(zlib.decompress(blob))))


def _pieces(db: sqlite3.Connection, parts: Iterable[str | dict[str, str]]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
        else:
            digest = bytes.fromhex(part["text"])
            (body,) = db.execute("SELECT body FROM texts WHERE hash = ?", (digest,)).fetchone()
            yield zlib.decompress(body).decode("utf-8", errors="surrogatepass")
