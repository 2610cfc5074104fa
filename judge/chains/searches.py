"""What a judge wants looked up, and how it is shown what was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from judge.chains.fence import Items
from judge.evidence import Passage

NEEDS_EVIDENCE = "needs_evidence"

Evidenced = Literal["correct", "wrong", "needs_evidence"]
"""A verdict where something may be looked up first."""

Decided = Literal["correct", "wrong"]
"""A verdict where nothing may be looked up, or no more."""

#: Most queries that are taken from one verdict.
QUERIES = 3
#: Most characters of passages shown in one call; the longest ones are cut first.
EVIDENCE_CHARACTERS = 8000
#: Of more passages than this in one call, the best ones of each search are shown.
PASSAGES = 20
#: Most characters shown of a query or a source.
LINE_CHARACTERS = 300

_NO_QUERY = frozenset({"none", "n/a", "na", "nil", "null", "nan"})


@dataclass(frozen=True, slots=True)
class Found:
    """What one search found, best first; nothing is an answer, too."""

    query: str
    passages: tuple[Passage, ...]


def _asks(query: str) -> bool:
    return any(map(str.isalnum, query)) and query.strip(" .\t\n\"'").casefold() not in _NO_QUERY


def _not_null(value: Any) -> Any:
    return [] if value is None else value


def _first_that_ask(queries: list[str]) -> list[str]:
    return [query.strip() for query in queries if _asks(query)][:QUERIES]


Queries = Annotated[
    list[str],
    BeforeValidator(_not_null),
    AfterValidator(_first_that_ask),
    Field(description=f"with needs_evidence, 1 to {QUERIES} search queries; else empty"),
]
"""What a judge wants looked up; null, blank entries and words like "none" are no queries."""


def without_query(label: str, queries: Sequence[str]) -> str:
    """What is wrong with a verdict that wants evidence and does not say which; else empty."""
    if label == NEEDS_EVIDENCE and not queries:
        return f"{NEEDS_EVIDENCE} needs at least one search query in queries"
    return ""


@dataclass(frozen=True, slots=True)
class _Entry:
    label: str
    query: str
    rank: int
    passage: Passage | None

    @property
    def text(self) -> str:
        return self.passage.text.strip() if self.passage else ""

    def shown(self, limit: int) -> tuple[str, str]:
        query = f"searched for: {_cut(' '.join(self.query.split()), LINE_CHARACTERS)}"
        if self.passage is None:
            return self.label, f"{query}\nnothing was found"
        source = f"source: {_cut(' '.join(self.passage.source.split()), LINE_CHARACTERS)}"
        return self.label, f"{query}\n{source}\n{_cut(self.text, limit)}"


def evidence_items(found: Mapping[str, Sequence[Found]]) -> Items:
    """What searches found, as it is shown to a judge.

    Args:
        found: label -> searches in order. A passage that an earlier search of the label found is not shown twice.

    Returns:
        One piece for each passage, with its query and source, and one for each search that found nothing. The
        passages have `EVIDENCE_CHARACTERS` together; where one is cut or left out, the text says so.
    """
    entries = [entry for label, searches in found.items() for entry in _entries(label, searches)]
    best = sorted((entry for entry in entries if entry.passage), key=lambda entry: entry.rank)[:PASSAGES]
    limit = _common_limit([len(entry.text) for entry in best], EVIDENCE_CHARACTERS)
    kept = {id(entry) for entry in best}
    pieces = [entry.shown(limit) for entry in entries if entry.passage is None or id(entry) in kept]
    if left_out := sum(1 for entry in entries if entry.passage) - len(best):
        pieces.append(("note", f"{left_out} more passages were found and are not shown"))
    return Items(tuple(pieces))


def _entries(label: str, searches: Sequence[Found]) -> Iterator[_Entry]:
    seen: set[Passage] = set()
    for search in searches:
        if not search.passages:
            yield _Entry(label, search.query, 0, None)
        for rank, passage in enumerate(search.passages):
            if passage not in seen:
                seen.add(passage)
                yield _Entry(label, search.query, rank, passage)


def _common_limit(lengths: Sequence[int], total: int) -> int:
    """The greatest length to which all can be cut so that they have `total` together."""
    left = total
    for n, length in enumerate(sorted(lengths)):
        share = left // (len(lengths) - n)
        if length > share:
            return share
        left -= length
    return total


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]} [cut: {len(text) - limit} more characters are not shown]"
