"""Texts cut into passages of bounded size, at the ends of paragraphs, or of sentences where a paragraph is long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

#: Passages that one search gives at most.
PASSAGES = 3

#: Characters of a passage at most, its title included.
CHARACTERS = 1000

#: Characters of a title at most.
TITLE = 200

#: Stands in the version of every evidence; raise it when the same text would be cut another way.
CUTTING = 1

#: Where a text may be cut: the first of these that leaves no piece too long.
_ENDS = (
    re.compile(r"\n(?:[^\S\n]*\n)+"),
    re.compile(r"[.!?…]+(?:\s?[»”’\"')\]])*\s+|[。！？]+[”’』」）]*"),
    re.compile(r"\n"),
    re.compile(r"\s+"),
)


@dataclass(frozen=True, slots=True)
class Cut:
    """A piece of a text.

    Attributes:
        line: of the text where it begins, counted from 1.
    """

    text: str
    line: int


def cut(text: str, title: str = "") -> Iterator[Cut]:
    """The passages of a text, in order; together they hold all of it but the whitespace between them.

    Paragraphs end at blank lines. As many whole ones as fit make a passage; one that is too long is cut at the ends of
    sentences, or else of lines, of words, or anywhere. A title stands before every passage, on a line of its own.

    Args:
        text: with line feeds only.
    """
    heading = " ".join(title.split())[:TITLE].rstrip()
    limit = CHARACTERS - (len(heading) + 1 if heading else 0)
    line, counted = 1, 0
    for start, end in _packed(_pieces(text, 0, len(text), limit), limit):
        line, counted = line + text.count("\n", counted, start), start
        piece = text[start:end]
        yield Cut(f"{heading}\n{piece}" if heading else piece, line)


Span = tuple[int, int]


def _packed(pieces: Iterator[Span], limit: int) -> Iterator[Span]:
    """Neighbouring pieces joined as long as they fit."""
    start, end = next(pieces, (0, 0))
    for begin, stop in pieces:
        if stop - start > limit:
            yield start, end
            start = begin
        end = stop
    if end > start:
        yield start, end


def _pieces(text: str, start: int, end: int, limit: int, level: int = 0) -> Iterator[Span]:
    """Pieces within the limit, without whitespace around them."""
    start, end = _trimmed(text, start, end)
    if end - start <= limit:
        if end > start:
            yield start, end
        return
    if level == len(_ENDS):
        yield from ((begin, min(begin + limit, end)) for begin in range(start, end, limit))
        return
    for match in _ENDS[level].finditer(text, start, end):
        yield from _pieces(text, start, match.end(), limit, level + 1)
        start = match.end()
    yield from _pieces(text, start, end, limit, level + 1)


def _trimmed(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    stop = start + len(piece.rstrip())
    return min(start + len(piece) - len(piece.lstrip()), stop), stop
