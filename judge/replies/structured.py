"""Answers given as JSON, alone, in a code fence or with prose round it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from judge.replies import vocabulary as words
from judge.replies.normalise import fold

#: Names of the field that holds the answer, best first.
_ANSWER_FIELDS = (
    "final answer", "reponse finale", "reponses finales", "correct answer", "correct answers", "bonne reponse",
    "bonnes reponses", "reponses correctes", "reponse correcte", "answer", "answers", "reponse", "reponses",
    "correct option", "correct options", "correct choice", "selected", "selected option", "selected options", "choice",
    "choices", "choix", "option", "options correctes", "propositions correctes", "propositions exactes", "selection",
    "letter", "letters", "lettre", "lettres", "prediction", "result", "resultat", "correct", "corrects", "correctes",
    "exactes", "vraies",
)  # fmt: skip
_VERDICT_FIELDS = (
    "correct",
    "verdict",
    "exact",
    "exacte",
    "correcte",
    "is correct",
    "vrai",
    "vraie",
    "true",
    "value",
    "valeur",
)
_KEY_FIELDS = ("option", "proposition", "letter", "lettre", "choice", "id", "key", "item")
_START = re.compile(r"[\[{]")
#: Objects to try from either end of a text; a reply holds a few.
_MOST_STARTS = 40

Found = Any
"""A JSON value."""


def json_values(text: str) -> list[Found]:
    """The objects and lists of the text, in order; the whole text first if it is one."""
    whole = _decode(text.strip(), 0)
    if whole is not None and whole[1] == len(text.strip()):
        return [whole[0]]
    return list(_embedded(text))


def _embedded(text: str) -> Iterator[Found]:
    starts = [match.start() for match in _START.finditer(text)]
    if len(starts) > 2 * _MOST_STARTS:
        starts = starts[:_MOST_STARTS] + starts[-_MOST_STARTS:]
    end = 0
    for start in starts:
        found = _decode(text, start) if start >= end and text[start] == "{" else None
        if found is not None:
            end = found[1]
            yield found[0]


def _decode(text: str, start: int) -> tuple[Found, int] | None:
    if text[start : start + 1] not in ("{", "["):
        return None
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError):
        return None


def answer_of(value: Found) -> tuple[bool, Found]:
    """Whether the object has a field for the answer, and what it holds."""
    if not isinstance(value, dict):
        return False, None
    fields = {_field(name): content for name, content in value.items()}
    for name in _ANSWER_FIELDS:
        if name in fields and not isinstance(fields[name], bool):
            content = fields[name]
            nested = answer_of(content)
            return nested if nested[0] else (True, content)
    return False, None


def verdicts_of(value: Found, keys: Mapping[str, str]) -> dict[str, bool]:
    """Option key to verdict, of {"A": true, "B": "faux"} or [{"option": "A", "correct": true}, …], at any depth."""
    pairs = list(_pairs(value, depth=0))
    found = {keys[name.upper()]: true for name, true in pairs if name.upper() in keys and true is not None}
    return found if len(found) > 1 else {}


def _pairs(value: Found, depth: int) -> Iterator[tuple[str, bool | None]]:
    if depth > 3:
        return
    if isinstance(value, list):
        for element in value[:100]:
            yield from _pairs(element, depth + 1)
    elif isinstance(value, dict):
        fields = {_field(name): content for name, content in value.items()}
        name = next((fields[n] for n in _KEY_FIELDS if isinstance(fields.get(n), str)), None)
        if name is not None:
            yield name.strip(), _truth(fields)
            return
        for key, content in value.items():
            yield _letter_of(key), _truth(content)
            if isinstance(content, dict | list):
                yield from _pairs(content, depth + 1)


def _letter_of(key: str) -> str:
    """The letter of "A", "option_a" or "Proposition A"."""
    parts = fold(key).replace("_", " ").split()
    return parts[-1] if parts and (len(parts) == 1 or parts[0] in words.ITEM_NOUNS) else ""


def _truth(content: Found) -> bool | None:
    if isinstance(content, bool):
        return content
    if isinstance(content, int):
        return bool(content) if content in (0, 1) else None
    if isinstance(content, str):
        first = re.split(r"[\s.,:;(–-]", fold(content.strip()), maxsplit=1)[0]
        if first in words.TRUE_WORDS | words.TRUE_MARKS:
            return True
        return False if first in words.FALSE_WORDS | words.FALSE_MARKS else None
    if isinstance(content, dict):
        fields = {_field(name): inner for name, inner in content.items()}
        return next((_truth(fields[name]) for name in _VERDICT_FIELDS if name in fields), None)
    return None


def _field(name: str) -> str:
    return " ".join(fold(name).replace("_", " ").replace("-", " ").split())
