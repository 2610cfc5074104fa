"""Split a reasoning text into its steps, in whatever style it is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from judge.replies.headings import heading_of
from judge.replies.layout import body, is_rule
from judge.replies.sections import reasoning_region
from judge.replies.step_markers import CLOSING_TAG, Marker, NumberedLine, numbered_lines, tags, words


class Style(StrEnum):
    """How the steps of a text are set apart."""

    #: ``<step 1>``
    TAGS = "tags"
    #: "Step 1:", "**Step 1**", "### Étape 1", "第一步"
    WORDS = "words"
    #: rows of a table with a column of step numbers
    TABLE = "table"
    #: "1." or "1)"
    NUMBERS = "numbers"
    #: a heading of its own over each step
    TITLES = "titles"
    BULLETS = "bullets"
    PARAGRAPHS = "paragraphs"
    #: there is no reasoning
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a text, in order, and the style they were found in."""

    steps: tuple[str, ...]
    style: Style


def split_steps(text: str) -> list[str]:
    """The steps of a reasoning text; see `split_steps_with_style`."""
    return list(split_steps_with_style(text).steps)


def split_steps_with_style(text: str) -> Steps:
    """Split a reply, or only its reasoning, into steps.

    Thinking is set apart first and never yields steps; answer, conclusion and requests are left out. The clearest
    style present wins: tags, "Step n", a table of steps, numbers, titles, bullets, and at last paragraphs. Items of
    lists within a step stay in it.

    Returns:
        The steps without their marks, blanks at both ends removed and otherwise as written (line ends become ``\\n``,
        zero-width characters, fence marks and closing tags are dropped); empty steps are left out.
    """
    region = reasoning_region(text)
    if not region.strip():
        return Steps((), Style.NONE)
    for style, split in _STYLES:
        steps = tuple(step for step in split(region) if step)
        if steps:
            return Steps(steps, style)
    return Steps((), Style.NONE)


# Marked steps --------------------------------------------------------------------------------------------------


def _tagged(text: str) -> list[str]:
    markers = tags(text)
    if not markers or (len(markers) == 1 and len(words(text)) > 1):
        return []
    return [_tidy(_until_closed(piece)) for piece in _pieces(text, markers)]


def _until_closed(piece: str) -> str:
    closing = CLOSING_TAG.search(piece)
    if closing is None:
        return piece
    return piece[: closing.start()] or CLOSING_TAG.sub("", piece)


def _worded(text: str) -> list[str]:
    markers = words(text)
    named = [marker for marker in markers if marker.number is not None]
    if not named or (len(markers) == 1 and text[: markers[0].start].count("\n\n") > 1):
        return []
    return [_tidy(piece) for piece in _pieces(text, markers)]


def _pieces(text: str, markers: list[Marker]) -> list[str]:
    ends = [marker.start for marker in markers[1:]] + [len(text)]
    return [text[marker.end : end] for marker, end in zip(markers, ends, strict=True)]


def _tidy(step: str) -> str:
    """The step without rules, enclosing tags and the closing half of an emphasis whose opening went with the mark."""
    step = body(CLOSING_TAG.sub("", step).split("\n"))
    first, line_end, rest = step.partition("\n")
    bold = first.find("**")
    if bold >= 0 and first.count("**") % 2 and not first.startswith("**"):
        step = f"{first[:bold]}{first[bold + 2 :]}{line_end}{rest}"
    elif first.startswith("**") and first.count("**") % 2 and "**" not in rest:
        step = step[2:]
    return step.strip().lstrip(":：").strip() if step.startswith((":", "：")) else step.strip()


# Tables --------------------------------------------------------------------------------------------------------

_STEP_COLUMN = re.compile(r"[*_\s]*(?:steps?|étapes?|etapes?|步骤|步驟|no\.?|n°|#|序号)[*_\s]*", re.IGNORECASE)
_DIVIDER = re.compile(r"[\s|:\-–]+")
_ROW_NUMBER = re.compile(r"[*_\s]*(?:step|étape|etape|步骤)?\s?\d{1,3}[*_.\s:)]*", re.IGNORECASE)


def _tabled(text: str) -> list[str]:
    rows = [_cells(line) for line in text.split("\n") if line.count("|") > 1 and not _DIVIDER.fullmatch(line)]
    if len(rows) < 2 or not _STEP_COLUMN.fullmatch(rows[0][0]):
        return []
    steps = [row for row in rows[1:] if _ROW_NUMBER.fullmatch(row[0])]
    return [" | ".join(cell for cell in row[1:] if cell) for row in steps]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]


# Lists ---------------------------------------------------------------------------------------------------------

#: At most this share of a text may stand before and after its list.
_MOST_OUTSIDE = 0.5
_BULLET = re.compile(r"(?P<indent>[ \t>]{0,60})(?:[-*+•‣◦–●▪][ \t]{1,9}|[•●▪])(?=\S)")


def _numbered(text: str) -> list[str]:
    lines = text.split("\n")
    items = _outer(list(numbered_lines(lines)))
    if len(items) == 1 and items[0].number == 1 and len(lines) == 1:
        return _run_in_numbers(text)
    return _items(lines, [item.line for item in items], [item.rest for item in items])


_RUN_IN_NUMBER = re.compile(r"(?:^|(?<=[.!?;:。；]))[ \t]{0,9}\(?(?P<n>\d{1,3})[.)][ \t]")


def _run_in_numbers(line: str) -> list[str]:
    """The numbered steps of a text without line breaks: "1. ... 2. ..."."""
    markers: list[Marker] = []
    for found in _RUN_IN_NUMBER.finditer(line):
        if int(found["n"]) == len(markers) + 1:
            markers.append(Marker(found.start(), found.end(), len(markers) + 1, True))
    return [_tidy(piece) for piece in _pieces(line, markers)] if len(markers) > 1 else []


def _outer(found: list[NumberedLine]) -> list[NumberedLine]:
    """The items of the outermost list."""
    if not found:
        return []
    first = next((item for item in found if item.number <= 1), found[0])
    top = [item for item in found if item.form == first.form and item.indent <= first.indent + 1]
    return _without_nested(top)


def _without_nested(items: list[NumberedLine]) -> list[NumberedLine]:
    """Without lists that begin again at 1 inside an item, after which the outer count goes on."""
    outer: list[NumberedLine] = []
    position = 0
    returns = _returns(items)
    while position < len(items):
        outer.append(items[position])
        position = returns.get(position, position + 1)
    return outer


def _returns(items: list[NumberedLine]) -> dict[int, int]:
    """For each item with such a list after it, where the outer count goes on."""
    returns: dict[int, int] = {}
    starts: list[int] = []
    for n, item in enumerate(items):
        if item.number == 1 and n and items[n - 1].number >= 1:
            starts.append(n - 1)
        elif n and item.number != items[n - 1].number + 1:
            while starts:
                start = starts.pop()
                if item.number == items[start].number + 1:
                    returns[start] = n
                    break
    return returns


def _items(lines: list[str], starts: list[int], rests: list[str]) -> list[str]:
    """The items that begin at these lines, if they are most of the text."""
    if len(starts) < 2:
        return []
    total = sum(map(len, lines)) or 1
    outside = sum(map(len, lines[: starts[0]])) + sum(map(len, lines[_end_of_last(lines, starts[-1]) :]))
    if outside > _MOST_OUTSIDE * total:
        return []
    ends = [*starts[1:], len(lines)]
    spans = zip(starts, ends, rests, strict=True)
    return [_tidy("\n".join([rest, *lines[start + 1 : end]])) for start, end, rest in spans]


def _end_of_last(lines: list[str], start: int) -> int:
    """Where the last item ends by layout: at an unindented line after a blank one."""
    for n in range(start + 2, len(lines)):
        if lines[n][:1].strip() and not lines[n - 1].strip() and not _BULLET.match(lines[n]):
            return n
    return len(lines)


def _bulleted(text: str) -> list[str]:
    lines = text.split("\n")
    found = [(n, bullet) for n, line in enumerate(lines) if (bullet := _BULLET.match(line)) and not is_rule(line)]
    if not found:
        return []
    least = min(len(bullet["indent"].expandtabs(4)) for _, bullet in found)
    top = [(n, bullet) for n, bullet in found if len(bullet["indent"].expandtabs(4)) <= least + 1]
    starts = [n for n, _ in top]
    between = sum(len(line) for n, line in enumerate(lines) if _is_outside(lines, n))
    if between > _MOST_OUTSIDE * sum(map(len, lines)):
        return []
    steps = _items(lines, starts, [lines[n][bullet.end() :] for n, bullet in top])
    return [part for step in steps for part in _apart(step)]


def _apart(step: str) -> list[str]:
    """A bullet and the paragraphs after it, without the lead-in of the next list."""
    first, *others = re.split(r"\n(?:[ \t]*\n)+(?=\S)", step)
    return [first, *(other.strip() for other in others if not other.rstrip().endswith((":", "：")))]


def _is_outside(lines: list[str], n: int) -> bool:
    """Whether an unindented line after a blank one belongs to no bullet."""
    line = lines[n]
    return bool(line[:1].strip()) and not _BULLET.match(line) and (n == 0 or not lines[n - 1].strip())


# Titles and paragraphs -----------------------------------------------------------------------------------------

_HASH_LINE = re.compile(r"[ \t>]{0,20}#{1,6}[ \t]{0,9}(?P<title>\S.*)")
_BOLD_LINE = re.compile(r"[ \t]{0,3}(?:\*\*|__)(?P<title>[^*_\n]{2,120})(?:\*\*|__)[ \t]?[:：]?[ \t]*")
_LIST_LINE = re.compile(r"[ \t]{2,}\S|[ \t]*(?:[-*+•|>]|\(?\d{1,3}[.)])(?:[ \t]|\|)|[ \t]*[•|]")
#: With more blocks under a title than this, the blocks are the steps.
_MOST_BLOCKS = 4


def _title_of(block: str) -> str | None:
    """The title that the first line of a block is, if it is one."""
    first = block.partition("\n")[0]
    found = _HASH_LINE.fullmatch(first) or _BOLD_LINE.fullmatch(first)
    return None if found is None else found["title"].strip(" *_:：")


def _blocks(text: str) -> list[str]:
    """Paragraphs, each with the lists and tables that follow it."""
    blocks: list[list[str]] = []
    for raw in re.split(r"\n(?:[ \t]*\n)+", text):
        block = body(raw.split("\n"))
        if not block:
            continue
        lines = _LIST_LINE.match(raw.lstrip("\n")) is not None
        if lines and blocks and (_title_of(block) is None):
            blocks[-1].append(block if raw[:1].strip() else raw.strip("\n"))
        else:
            blocks.append([block])
    return ["\n\n".join(block) for block in blocks]


def _titled(text: str) -> list[str]:
    blocks = _blocks(text)
    titles = [n for n, block in enumerate(blocks) if _title_of(block) is not None]
    if len(titles) < 2 or len(blocks) > _MOST_BLOCKS * len(titles):
        return []
    before = sum(map(len, blocks[: titles[0]]))
    if before > _MOST_OUTSIDE * len(text):
        return []
    ends = [*titles[1:], len(blocks)]
    return [_under_title(blocks[start:end]) for start, end in zip(titles, ends, strict=True)]


def _under_title(blocks: list[str]) -> str:
    """A titled step; a title over another title or over nothing is none."""
    title = _title_of(blocks[0]) or ""
    rest = "\n\n".join([blocks[0].partition("\n")[2], *blocks[1:]]).strip()
    return f"{title}\n{rest}" if rest else ""


def _paragraphs(text: str) -> list[str]:
    blocks = [_without_title(block) for block in _blocks(text)]
    blocks = [block for block in blocks if block]
    if len(blocks) == 1:
        lines = [line for line in blocks[0].split("\n") if line.strip()]
        if len(lines) > 1 and not any(map(_LIST_LINE.match, lines)):
            return [line.strip() for line in lines]
    return blocks


def _without_title(block: str) -> str:
    title = _title_of(block)
    rest = block.partition("\n")[2].strip()
    if title is None or heading_of(block.partition("\n")[0]) is not None:
        return block if title is None else rest
    return rest or ("" if _HASH_LINE.match(block) or title.count(" ") < 8 else block)


_STYLES: tuple[tuple[Style, Callable[[str], list[str]]], ...] = (
    (Style.TAGS, _tagged),
    (Style.WORDS, _worded),
    (Style.TABLE, _tabled),
    (Style.NUMBERS, _numbered),
    (Style.TITLES, _titled),
    (Style.BULLETS, _bulleted),
    (Style.PARAGRAPHS, _paragraphs),
)
