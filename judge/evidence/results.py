"""What search tools give back, in the many forms they give it, as passages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

from judge.evidence.cutting import PASSAGES, cut
from judge.evidence.passages import Passage
from judge.models.exchange import JSON, clean

#: Stands in the version of web evidence; raise it when the same answer would be read another way.
READING = 1

_TEXT = ("content", "snippet", "body", "text", "page_content", "summary", "description", "result")
_SOURCE = ("url", "link", "href", "source")
_LISTS = ("results", "organic_results", "organic", "items", "documents", "data", "web")

#: How tools say in words that there is nothing.
_NOTHING = re.compile(
    r"no (?:\w+ ){0,4}(?:results?|documents?|pages?) (?:(?:was|were) )?found(?: (?:for|matching) .*)?[.!]?", re.I | re.S
)

#: How tools that catch their own exceptions hand them over as if they had been found.
_FAILED = re.compile(r"\w*(?:Error|Exception|Timeout)\(.*\)|Error: .*|\w+ exception: .*", re.S)

_ADDRESS = re.compile(r"https?://\S+")


def plain(found: Any) -> JSON:
    """What a tool gave, as far as possible in JSON types."""
    if isinstance(found, Mapping):
        return {str(name): plain(value) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [plain(value) for value in found]
    if hasattr(found, "model_dump"):
        return plain(found.model_dump())
    if is_dataclass(found) and not isinstance(found, type):
        return plain(asdict(found))
    return found if found is None or isinstance(found, str | int | float | bool) else str(found)


def says_nothing(text: str) -> bool:
    """Whether a tool says in words that it found nothing."""
    return _NOTHING.fullmatch(text.strip()) is not None


def failure_in_results(found: Any) -> str | Exception | None:
    """The failure that a tool reports in the place of results, if it does."""
    found = _opened(found)
    if isinstance(found, Mapping) and found.get("error") and not any(found.get(name) for name in _LISTS):
        error = found["error"]
        return error if isinstance(error, Exception) else str(error)
    if isinstance(found, list | tuple) and len(found) == 1:
        return failure_in_results(found[0])
    return found if isinstance(found, str) and _FAILED.fullmatch(found.strip()) else None


def read_results(found: JSON, name: str) -> list[Passage]:
    """The first passages in what a tool gave: a text, or entries that are objects, texts, or pairs of text and address.

    One text may give several passages, an entry only its beginning.

    Args:
        name: of the search, the source of whatever names none.

    Raises:
        ValueError: there is something, but nothing of it has a form that is known.
    """
    entries = [entry for entry in _entries(found) if not (isinstance(entry, str) and says_nothing(entry))]
    if len(entries) == 1 and isinstance(entries[0], str):
        return [Passage(piece.text, name) for piece in cut(clean(entries[0]))][:PASSAGES]
    passages = [passage for entry in entries if (passage := _passage(entry, name))]
    if entries and not passages:
        raise ValueError("the results have no text under any known name")
    return passages[:PASSAGES]


def _opened(found: Any) -> Any:
    """JSON that came as text."""
    if isinstance(found, str) and found.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(found)
        except (ValueError, RecursionError):
            return found
    return found


def _entries(found: JSON) -> Iterator[str | Mapping[str, JSON]]:
    found = _opened(found)
    if isinstance(found, list):
        if pair := _pair(found):
            yield pair
        else:
            for value in found:
                yield from _entries(value)
    elif isinstance(found, Mapping):
        yield from _of_object(found)
    else:
        yield found if isinstance(found, str) else {}


def _of_object(found: Mapping[str, JSON]) -> Iterator[str | Mapping[str, JSON]]:
    named = {name.lower(): value for name, value in found.items()}
    if isinstance(named.get("metadata"), Mapping):
        named = {**named["metadata"], **named}
    text = _first(named, _TEXT)
    inner = next((named[name] for name in _LISTS if isinstance(named.get(name), list | Mapping)), None)
    if text and says_nothing(text) and not _first(named, _SOURCE):
        yield text
    elif text or inner is None:
        yield named
    else:
        yield from _entries(inner)


def _pair(found: Sequence[JSON]) -> Mapping[str, JSON] | None:
    """Texts of which one is an address are one entry: some tools give tuples."""
    if len(found) < 2 or not all(isinstance(value, str) for value in found):
        return None
    addresses = [value for value in found if _ADDRESS.fullmatch(value.strip())]
    texts = [value for value in found if value not in addresses]
    return {"text": "\n".join(texts), "url": addresses[0]} if len(addresses) == 1 and texts else None


def _passage(entry: str | Mapping[str, JSON], name: str) -> Passage | None:
    if isinstance(entry, str):
        entry = {"text": entry}
    title, text = _first(entry, ("title",)), _first(entry, _TEXT)
    piece = next(cut(text, title) if text else cut(title), None)
    return Passage(piece.text, _first(entry, _SOURCE) or title or name) if piece else None


def _first(entry: Mapping[str, JSON], names: Sequence[str]) -> str:
    found = (entry.get(name) for name in names)
    return next((clean(value).strip() for value in found if isinstance(value, str) and value.strip()), "")
