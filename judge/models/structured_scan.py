"""JSON read strictly, and all JSON objects that stand anywhere in a text: every one of them, or none.

An object that is overlooked could be the verdict that contradicts another, so a search that would take too long gives
nothing rather than what it has found so far.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from judge.models.exchange import JSON, clean

#: Brackets at which an object or list is looked for within one text; a reply on fifty steps holds as many.
MOST_STARTS = 5000

#: Characters read on the way, those of nested objects again; a reply of 100,000 characters needs a few times as many.
MOST_READ = 2_000_000


class TooMuch(Exception):
    """A text holds more brackets, or deeper ones, than can be searched."""


@dataclass(frozen=True, slots=True)
class Placed:
    """An object in a text.

    Attributes:
        value: None for what begins like an object and is none.
        outermost: whether it stands inside of no other object or list, broken ones included.
    """

    value: dict[str, JSON] | None
    outermost: bool


_START = re.compile(r"""\[|\{(?=[ \t\r\n]*["'])""")
_STRING_OR_BRACE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)


def objects(text: str) -> Iterator[Placed]:
    """All JSON objects with keys, wherever they begin, and the outermost broken ones; in that order.

    Raises:
        TooMuch: there may be more.
    """
    read = starts = inside_until = 0
    for start in _START.finditer(text):
        at, is_list = start.start(), start[0] == "["
        if is_list and at < inside_until:
            continue
        starts += 1
        if starts > MOST_STARTS or read > MOST_READ:
            raise TooMuch
        value, end, reached = _decoded(text, at)
        read += reached - at
        outermost = at >= inside_until
        if isinstance(value, dict) or (outermost and not end and not is_list):
            yield Placed(value, outermost)
        if outermost:
            inside_until = end or (at if is_list else _after_broken(text, at))


def _decoded(text: str, at: int) -> tuple[JSON, int, int]:
    """The value that begins here and its end, None and 0 where there is none; and how far was read."""
    try:
        value, end = _DECODER.raw_decode(text, at)
        return _clean(value, text[at:end]), end, end
    except RecursionError:
        raise TooMuch from None
    except ValueError as error:
        return None, 0, getattr(error, "pos", len(text))


def _after_broken(text: str, start: int) -> int:
    """Where something that begins like an object and is none ends; the end of the text where nothing closes it."""
    depth = 0
    for found in _STRING_OR_BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    return len(text)


def json_value(text: str) -> JSON:
    """The value of a JSON text, without lone surrogates, which nothing could store.

    Raises:
        ValueError: it is no JSON, or not in the strict sense (duplicate keys, NaN).
    """
    text = text.strip()
    try:
        value, end = _DECODER.raw_decode(text)
        if end != len(text):
            raise ValueError("there is text after its JSON object")
        return _clean(value, text)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not one JSON object ({error.msg} at character {error.pos})") from None


_FENCE = re.compile(r"^[ \t>]*(?:`{3,}|~{3,})[^\n`]*$", re.MULTILINE)


def unfenced(text: str) -> str:
    """A text without white space and one code fence around all of it."""
    text = text.strip()
    opening = _FENCE.match(text)
    if opening is None or not text.endswith(text[:3]):
        return text
    return text[opening.end() :].rstrip(text[0]).strip()


def is_json(text: str) -> bool:
    """Whether `json_value` gives one."""
    try:
        json_value(text)
    except ValueError:
        return False
    return True


def _clean(value: JSON, source: str) -> JSON:
    return json.loads(clean(json.dumps(value, ensure_ascii=False))) if "\\u" in source else value


def _unique(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} is given twice")
    return found


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text[:40]} is no finite number")
    return value


#: Strict but for line breaks inside strings, which models write and which mean only themselves.
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite)
