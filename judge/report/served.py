"""Which models the servers say they ran, from the stored responses."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from functools import partial
from typing import Any

from judge.runs import texts
from judge.runs.store import RunStore

_BATCH = 500


def served_models(store: RunStore) -> list[dict[str, Any]]:
    """One row for each role, model as asked, and model and fingerprint as served, with the number of answers."""
    found: Counter[tuple[str, str, str, str]] = Counter()
    last = 0
    while True:
        rows = store.run(partial(_after, row=last))
        if not rows:
            break
        last = rows[-1][0]
        found.update((role, model, *_served(response)) for _, role, model, response in rows)
    keys = ("role", "model", "served_model", "fingerprint")
    return [dict(zip(keys, key, strict=True)) | {"answers": count} for key, count in sorted(found.items())]


def _after(db: sqlite3.Connection, row: int) -> list[tuple[int, str, str, str]]:
    query = f"""SELECT rowid, role, model, response FROM exchanges
        WHERE rowid > ? AND error = '' ORDER BY rowid LIMIT {_BATCH}"""
    return [(number, role, model, texts.unpack(db, blob)) for number, role, model, blob in db.execute(query, (row,))]


def _served(response: str) -> tuple[str, str]:
    """What a response says of the model behind it; servers leave out either."""
    try:
        parsed = json.loads(response)
    except (ValueError, RecursionError):
        return "", ""
    if not isinstance(parsed, dict):
        return "", ""
    return str(parsed.get("model") or ""), str(parsed.get("system_fingerprint") or "")
