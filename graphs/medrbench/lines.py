"""Lines of a case summary: indentation, bullet, label and body, in every style the data use."""

from __future__ import annotations

import re
from dataclasses import dataclass

_BULLET = re.compile(r"(?:[-+•‣▪◦●○–—]|\*(?!\*)(?=\s)|\(?\d{1,2}[.)](?!\d)|[a-zA-Z][.)](?=\s))\s*")
_HASHES = re.compile(r"#{1,6}\s*")
_RULE = re.compile(r"[-*_=~—–]{3,}|[-*_—–](?:\s[-*_—–]){2,}")
_MARKED = re.compile(r"(\*{1,3}|_{1,3})(?=\S)(?P<label>[^*_]+?)\s*\1(?P<rest>.*)", re.DOTALL)
_PLAIN = re.compile(r"(?P<label>[^:]+?)[*_]*\s*[:：](?!\d)[*_]*(?P<rest>.*)", re.DOTALL)
_LONGEST_LABEL = 90  # characters


@dataclass(frozen=True, slots=True)
class Line:
    """One line, taken apart.

    Attributes:
        index: position among the lines of the text, from 0.
        text: as it stands, without its end.
        indent: columns before the first character, a tab counting to the next multiple of four.
        bullet: whether it begins with a bullet or a number.
        hashes: whether it is a ``#`` heading.
        label: its name, without marks and colon; empty if it has none.
        body: what follows the label, or the whole content.
    """

    index: int
    text: str
    indent: int
    bullet: bool
    hashes: bool
    label: str
    body: str

    @property
    def blank(self) -> bool:
        """Whether there is nothing on it."""
        return not self.text.strip()

    @property
    def rule(self) -> bool:
        """A horizontal rule such as ``---``."""
        return bool(_RULE.fullmatch(self.text.strip()))


def read_lines(text: str) -> list[Line]:
    """All lines of a text; only ``\\n``, ``\\r\\n`` and ``\\r`` end a line."""
    pieces = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [_read(piece.rstrip(), index) for index, piece in enumerate(pieces)]


def _read(text: str, index: int) -> Line:
    expanded = text.expandtabs(4)
    content = expanded.lstrip()
    indent = len(expanded) - len(content)
    if _RULE.fullmatch(content):
        return Line(index, text, indent, False, False, "", "")
    bullet = _BULLET.match(content)
    rest = content[bullet.end() :] if bullet else content
    hashes = _HASHES.match(rest)
    rest = rest[hashes.end() :] if hashes else rest
    label, body = _label(rest, heading=bool(hashes))
    return Line(index, text, indent, bool(bullet), bool(hashes), label, body)


def _label(content: str, heading: bool) -> tuple[str, str]:
    """The label and what follows it: ``**Name:** x``, ``**Name**: x``, ``*Name*: x``, ``Name: x``, ``# Name``."""
    marked = _MARKED.match(content)
    if marked and _closes(marked["label"], marked["rest"]):
        return _clean(marked["label"]), marked["rest"].lstrip(" :：").strip()
    plain = _PLAIN.match(content)
    if plain and _is_label(plain["label"]):
        rest = plain["rest"].strip()
        return _clean(plain["label"]), rest if rest.strip("*_") else ""
    return (_clean(content), "") if heading else ("", content.strip())


def _is_label(words: str) -> bool:
    """Whether what stands before a colon can be a label: no sentence, and no colon inside brackets."""
    return len(words) <= _LONGEST_LABEL and not re.search(r"[.;!?]\s", words) and words.count("(") == words.count(")")


def _closes(label: str, rest: str) -> bool:
    """Whether a marked phrase is the line's label and not an emphasised word at its beginning."""
    return label.rstrip().endswith((":", "：")) or not rest.strip() or rest.lstrip().startswith((":", "："))


def _clean(label: str) -> str:
    return " ".join(label.replace("**", "").strip(" *_#:：").split())
