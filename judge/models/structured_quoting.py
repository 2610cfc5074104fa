"""Whether a verdict is quoted from what the judge was given, however it is written there.

Texts are compared by their letters and digits alone. So escapes, quotes of another shape, line breaks, another order
of the keys, and whatever it is nested in or hidden behind make no difference.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator

from pydantic import BaseModel

from judge.models.exchange import JSON, clean

RATIONALE = "rationale"

_ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|[bfnrt])")


def is_quoted(verdict: BaseModel, prompt: str) -> bool:
    """Whether all rationales of a verdict stand in the prompt as rationales: then they are not the judge's own words.

    The labels beside them are not compared, since one label can be written in many ways.
    """
    rationales = list(_rationales(verdict.model_dump()))
    given = folded(prompt) if rationales else ""
    return bool(rationales) and all(folded(f"{RATIONALE} {text}") in given for text in rationales)


def _rationales(value: JSON) -> Iterator[str]:
    if isinstance(value, dict):
        for name, entry in value.items():
            if name == RATIONALE and isinstance(entry, str):
                yield entry
            else:
                yield from _rationales(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _rationales(entry)


def folded(text: str) -> str:
    """Only the letters and digits of a text, in one case; escapes of JSON, however often escaped, and HTML are read."""
    plain = _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else " ", html.unescape(text))
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", clean(plain)).casefold()))
