"""The lines of a doctor's reply: without its thinking, with one kind of line end and without fence marks."""

from __future__ import annotations

import re

from judge.replies.headings import Part, Strength, heading_of
from judge.replies.thinking import separate_thinking

_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_INVISIBLE = re.compile("[\u200b\u2060\ufeff]")
_BREAK = re.compile(r"<br[ \t]{0,3}/?>", re.IGNORECASE)
_FENCE = re.compile(r"[ \t>]{0,40}(?:`{3,}|~{3,})[ \t]{0,9}[\w+-]{0,20}[ \t]{0,40}")
_OPENING = re.compile(r"[ \t>]{0,40}`{3,}(?:markdown|md|text|txt|plaintext|xml|html)?[ \t]{0,9}(?=\S)")
_CLOSING = re.compile(r"`{3,}[ \t]{0,40}$")
_RULE = re.compile(r"[ \t]{0,40}(?:[-*_=~][ \t]{0,3}){3,200}")


def lines_of(text: str) -> list[str]:
    """The lines of what the model said outside of its thinking; every recognised heading starts a line."""
    said = _INVISIBLE.sub("", separate_thinking(text).answer)
    lines: list[str] = []
    for line in _LINE_ENDS.sub("\n", said).split("\n"):
        pieces = [line] if line.lstrip().startswith("|") else _BREAK.split(line)
        lines += map(_unfenced, pieces)
    return [part for line in lines for part in _at_headings(line)]


def is_rule(line: str) -> bool:
    """Whether a line is only drawn, like ``---``."""
    return _RULE.fullmatch(line) is not None


def body(lines: list[str]) -> str:
    """The text of some lines without blank lines and rules at both ends."""
    start, end = 0, len(lines)
    while start < end and (not lines[start].strip() or is_rule(lines[start])):
        start += 1
    while end > start and (not lines[end - 1].strip() or is_rule(lines[end - 1])):
        end -= 1
    return "\n".join(lines[start:end]).strip()


def _unfenced(line: str) -> str:
    if "```" not in line and "~~~" not in line:
        return line
    if _FENCE.fullmatch(line):
        return ""
    return _CLOSING.sub("", _OPENING.sub("", line, count=1) if _OPENING.match(line) else line)


_INNER_HASH = re.compile(r"(?<=[^#\s>])[ \t]{0,9}(?=#{2,6}[ \t]{0,3}[^#\s])")
#: "Step 10: **Conclusion**" is the title of a step.
_LONGEST_MARK = 24
_INNER_BOLD = re.compile(r"(?<=[.!?:;)。！？；|])[ \t]{0,9}(?=\*\*[^*\n]{3,60}\*\*)")


def _at_headings(line: str) -> list[str]:
    """The line, cut before headings in its middle ("... of the ovary. ### Answer: ...")."""
    cuts = [found.end() for found in _INNER_HASH.finditer(line)] if "##" in line else []
    hashes = {cut for cut in cuts if heading_of(line[cut : cut + 400])}
    bolds = {found.end() for found in _INNER_BOLD.finditer(line)} if "**" in line else set()
    bolds = {cut for cut in bolds if cut > _LONGEST_MARK and _is_inner_bold(line[cut : cut + 400])}
    starts = sorted(hashes | bolds)
    if not starts:
        return [line]
    return [line[start:end].rstrip() for start, end in zip([0, *starts], [*starts, len(line)], strict=True)]


def _is_inner_bold(text: str) -> bool:
    heading = heading_of(text)
    if heading is None or heading.strength is not Strength.BOLD or heading.rank > 0:
        return False
    return heading.part in (Part.ADDITIONAL, Part.CONCLUSION, Part.ANSWER)
