"""Other people's words in a report: as text that acts on nothing, and as JSON that cannot end its script block."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from judge.report.text import printable


def inert(value: Any) -> Any:
    """`value` in JSON types with every text, keys too, as `judge.report.text.printable` shows it."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {printable(str(key)): inert(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [inert(item) for item in value]
    return value


def script_json(value: Any) -> str:
    """`value` as JSON for a ``<script type="application/json">`` block: no ``<`` in it, hence no tag and no comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")
