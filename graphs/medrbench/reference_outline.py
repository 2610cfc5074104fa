"""The outline of a reference text: headings, items of lists and paragraphs, nested as their indentation says."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_BULLET = re.compile(r"(?:(?P<dash>[-–—+•‣▪◦●○])\s+|(?P<star>\*)\s+|\(?(?P<number>\d{1,2})[.)](?!\d)\s*"
                     r"|(?P<letter>[a-zA-Z])[.)]\s+)")  # fmt: skip
_HASHES = re.compile(r"#{1,6}\s+")
_RULE = re.compile(r"[-*_=~—–]{3,}|[-*_—–](?:\s+[-*_—–]){2,}")
_STEP = re.compile(r"(?P<mark>[*_]{0,3})step\s+\d{1,2}\s*(?P<after>[*_]{0,3})\s*[:.)–—-]\s*(?P<close>[*_]{0,3})\s*",
                   re.IGNORECASE)  # fmt: skip
_STRONG = re.compile(r"\*{2,3}|__(?=\S)|(?<=\S)__")
_ITALIC = re.compile(r"(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])")
_WHOLLY_STRONG = re.compile(r"(?:\*{2,3})[^*]+(?:\*{2,3})\s*:?\s*")

#: What does not end in one of these, and has something under it, is a heading.
_STOPS = (".", "!", "?", ";", ",")
_HEADING_WORDS = 15


@dataclass(slots=True)
class Node:
    """One line with what is under it.

    Attributes:
        text: without marks of lists and emphasis; a heading's also without its colon.
        item: whether it is an item of a list, and no running text.
        heading: whether it only names what is under it.
    """

    text: str
    item: bool
    heading: bool
    children: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class _Open:
    """A node that may still get children."""

    node: Node
    indent: int
    kind: str
    raw: str


def outline(text: str) -> list[Node]:
    """The nodes of the outermost level."""
    top: list[Node] = []
    stack: list[_Open] = []
    fresh = True  # nothing before, or an empty line
    every: list[_Open] = []
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        content = line.expandtabs(4).strip()
        if not content or _RULE.fullmatch(content):
            fresh = True
            continue
        found = _read(line)
        if found.kind == "text" and not fresh and stack and _continues(stack[-1], found):
            stack[-1].node.text += " " + found.node.text
            stack[-1].raw += " " + found.raw
        elif found.node.text:
            _leave(stack, found)
            (stack[-1].node.children if stack else top).append(found.node)
            stack.append(found)
            every.append(found)
        fresh = False
    for entry in every:
        _name(entry)
    return top


def _read(line: str) -> _Open:
    expanded = line.expandtabs(4)
    content = expanded.strip()
    indent = len(expanded) - len(expanded.lstrip())
    kind = "text"
    if hashes := _HASHES.match(content):
        kind, content = f"hashes{hashes.end()}", content[hashes.end() :]
    elif bullet := _BULLET.match(content):
        kind, content = bullet.lastgroup or "dash", content[bullet.end() :]
        if second := _BULLET.match(content):  # "- 1. …"
            content = content[second.end() :]
    if step := _STEP.match(content):
        open_mark = step["mark"] if not (step["after"] or step["close"]) else ""
        content = open_mark + content[step.end() :]
    return _Open(Node(plain(content), kind in _ITEMS, False), indent, kind, content.strip())


_ITEMS = ("dash", "star", "number", "letter")


def plain(text: str) -> str:
    """A text without marks of emphasis, its white space single."""
    return " ".join(_ITALIC.sub(r"\1", _STRONG.sub("", text)).split())


def _continues(above: _Open, found: _Open) -> bool:
    """Whether a line of running text goes on with the line above it, and is not what that one introduces."""
    return not above.kind.startswith("hashes") and not above.raw.rstrip("*_ ").endswith(":") and not _strong(found.raw)


def _strong(raw: str) -> bool:
    return bool(_WHOLLY_STRONG.fullmatch(raw))


def _leave(stack: list[_Open], found: _Open) -> None:
    """Close what the new line cannot be under."""
    same = next((i for i, entry in enumerate(stack) if (entry.indent, _level(entry)) == (found.indent, _level(found))),
                None)  # fmt: skip
    if same is not None:
        del stack[same:]
    while stack and (stack[-1].indent > found.indent or not _may_hold(stack[-1], found)):
        stack.pop()


def _level(entry: _Open) -> str:
    return f"{entry.kind} heading" if entry.kind == "text" and entry.raw.rstrip("*_ ").endswith(":") else entry.kind


def _may_hold(entry: _Open, found: _Open) -> bool:
    if entry.indent < found.indent or entry.kind.startswith("hashes"):
        return True
    return entry.raw.rstrip("*_ ").endswith(":") or _strong(entry.raw)


def _name(entry: _Open) -> None:
    """Decide whether a line is a heading, now that its children are known."""
    node = entry.node
    colon = node.text.endswith((":", "："))
    sentence = not node.item and node.text.endswith(".")
    named = entry.kind.startswith("hashes") or (_strong(entry.raw) and not sentence)
    short = not node.text.endswith(_STOPS) and len(node.text.split()) <= _HEADING_WORDS and ": " not in node.text
    if colon or (node.children and (named or short)):
        node.heading = True
        node.text = node.text.rstrip(":：. ")
