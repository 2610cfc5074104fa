"""The sections of a doctor's reply: reasoning, additional information required, conclusion, answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from judge.replies.headings import STRENGTHS, Heading, Part, Strength, heading_of
from judge.replies.layout import body, lines_of
from judge.replies.step_markers import explicit_number, opens_step


@dataclass(frozen=True, slots=True)
class Sections:
    """What a doctor's reply says; None for what it does not have.

    Attributes:
        reasoning: the chain of thought, without its heading; several such parts are joined. Text before the first
            heading counts only when there is no reasoning section.
        additional_information: what is asked for, the text of the last such section that is not empty.
        conclusion: the last conclusion that is not empty.
        answer: the last answer that is not empty ("### Answer:", else a final diagnosis or treatment).
    """

    reasoning: str | None
    additional_information: str | None
    conclusion: str | None
    answer: str | None


@dataclass(frozen=True, slots=True)
class _Placed:
    line: int
    heading: Heading


_FINDINGS = (Part.ADDITIONAL, Part.CONCLUSION, Part.ANSWER)
#: Shorter text before the first heading is a greeting or the like.
_SHORTEST_PREAMBLE = 80
_IMPLICIT = Heading(Part.REASONING, 0, Strength.HASH, 7, 0, False, None, "")
_UNKNOWN_HASH = re.compile(r"[ \t>]{0,20}(#{1,6})[ \t]{0,9}\S")


def read_sections(text: str) -> Sections:
    """Read the sections of a reply, in any order and style; its thinking is set apart first.

    Headings may be marked with ``#``, bold or a colon, numbered, misspelled, in the middle of a line, and English,
    French or Chinese. For each section the clearest name wins ("Answer" over "Diagnosis"), then the clearest mark
    (``#`` over bold over plain); of several equally clear ones the last that is not empty. A text without any
    heading yields nothing but the reasoning, and that only if it is written in named steps.
    """
    return _read(lines_of(text))


def _read(lines: list[str]) -> Sections:
    headings = _headings(lines)
    return Sections(
        _reasoning(lines, headings) or None,
        _last(lines, headings, Part.ADDITIONAL),
        _last(lines, headings, Part.CONCLUSION),
        _last(lines, headings, Part.ANSWER),
    )


def reasoning_region(text: str) -> str:
    """The part of a reply that holds its reasoning: the section, else all that is not another section."""
    lines = lines_of(text)
    headings = _headings(lines)
    if not headings:
        return body(lines)
    return _reasoning(lines, headings) or body(lines[: headings[0].line])


def answer_text(text: str) -> str | None:
    """The answer of a reply: its answer section, else its conclusion, else a plain final statement.

    Returns:
        The text without heading, fence and enclosing emphasis; None if there is none, or none that is clear. Thinking
        is never searched.
    """
    lines = lines_of(text)
    sections = _read(lines)
    found = sections.answer or sections.conclusion
    if found is not None:
        return _bare(found) or None
    return _stated(body(lines))


# Headings ------------------------------------------------------------------------------------------------------


def _headings(lines: list[str]) -> list[_Placed]:
    """The headings that open sections, in order."""
    found = _candidates(lines)
    if all(placed.heading.strength is Strength.PLAIN for placed in found) and _cut_run_in(lines):
        found = _candidates(lines)
    found = _without_steps(lines, _without_items(found))
    return _with_implied_reasoning(lines, _relevant(found))


def _candidates(lines: list[str]) -> list[_Placed]:
    return [_Placed(n, heading) for n, line in enumerate(lines) if line.strip() and (heading := heading_of(line))]


def _without_items(found: list[_Placed]) -> list[_Placed]:
    """Without list items that read like headings, unless the whole reply is a list of its sections."""
    numbers = {placed.heading.number for placed in found}
    found = [p for p in found if p.heading.number is None or p.heading.number < 2 or p.heading.number - 1 in numbers]
    listed = [placed for placed in found if placed.heading.listed]
    parts = {placed.heading.part for placed in listed}
    if listed and len(parts) > 1 and found[0].heading.listed and len(parts & set(_FINDINGS)) > 0:
        return found
    return [placed for placed in found if not placed.heading.listed and not _is_nested(placed.heading)]


def _is_nested(heading: Heading) -> bool:
    return heading.indent > 3 or (heading.indent > 1 and heading.strength is not Strength.HASH)


def _without_steps(lines: list[str], found: list[_Placed]) -> list[_Placed]:
    """Without labels inside of a list of steps, which goes on after them ("Conclusion: ..." in step 3 of 5)."""
    weak = [p for p in found if p.heading.part in _FINDINGS and p.heading.level > 6 and not p.heading.listed]
    if not weak:
        return found
    numbers = [(n, number) for n, line in enumerate(lines) if (number := explicit_number(line)) is not None]
    inside: set[int] = set()
    position = 0
    for placed in weak:
        while position < len(numbers) and numbers[position][0] <= placed.line:
            position += 1
        if 0 < position < len(numbers) and numbers[position][1] == numbers[position - 1][1] + 1:
            inside.add(placed.line)
    return [placed for placed in found if placed.line not in inside]


def _relevant(found: list[_Placed]) -> list[_Placed]:
    """Without labels that are no sections beside clearer ones; reasons after an answer become explanations."""
    best = {part: _clearest(found, part) for part in Part}
    decided = best[Part.ANSWER] < (2, 0)
    kept: list[_Placed] = []
    for placed in found:
        heading, key = placed.heading, _key(placed.heading)
        weaker = key > best[heading.part]
        if heading.part is Part.REASONING and weaker:
            if kept and kept[-1].heading.part in (Part.ANSWER, Part.CONCLUSION):
                kept.append(replace(placed, heading=replace(heading, part=Part.EXPLANATION)))
        elif heading.part is Part.ADDITIONAL and heading.rank and decided and heading.strength is not Strength.HASH:
            continue
        elif not (heading.part is Part.ANSWER and heading.rank > 1 and weaker):
            kept.append(placed)
    return kept


def _clearest(found: Iterable[_Placed], part: Part) -> tuple[int, int]:
    return min((_key(placed.heading) for placed in found if placed.heading.part is part), default=(9, 9))


def _key(heading: Heading) -> tuple[int, int]:
    return heading.rank, STRENGTHS.index(heading.strength)


_RUN_IN = re.compile(
    r"(?:(?<=[.!?;:)。；][ \t])|(?<=[ \t])(?=Additional Information Required))"
    r"(?:Chain of Thought|Reasoning|Additional Information(?: Required)?|Conclusion|(?:Final )?Answer"
    r"|Final Diagnosis)[ \t]?[:：]"
)


def _cut_run_in(lines: list[str]) -> bool:
    """Cut `lines` before headings that stand within a line; whether there were any."""
    text = "\n".join(lines)
    starts = [found.start() for found in _RUN_IN.finditer(text)]
    pieces = [text[start:end] for start, end in zip([0, *starts], [*starts, len(text)], strict=True)]
    lines[:] = [line for piece in pieces for line in piece.split("\n")]
    return bool(starts)


def _with_implied_reasoning(lines: list[str], found: list[_Placed]) -> list[_Placed]:
    """Named steps after a first section open the reasoning where no heading does."""
    if not found or any(placed.heading.part is Part.REASONING for placed in found) or body(lines[: found[0].line]):
        return found
    for n in range(found[0].line + 1, len(lines)):
        if opens_step(lines[n]) and explicit_number(lines[n]) in (1, None):
            if not body(lines[found[0].line + 1 : n]) and not found[0].heading.rest:
                return found
            return sorted([*found, _Placed(n, _IMPLICIT)], key=lambda placed: placed.line)
    return found


# Bodies --------------------------------------------------------------------------------------------------------


def _reasoning(lines: list[str], headings: list[_Placed]) -> str:
    if not headings:
        first = next((n for n, line in enumerate(lines) if opens_step(line)), None)
        return "" if first is None else body(lines[first:])
    parts: list[str] = []
    for n, placed in enumerate(headings):
        if placed.heading.part is Part.REASONING:
            parts.append(_text(lines, placed, _next_finding(headings, n, len(lines))))
    parts = [part for part in parts if part]
    preamble = body(lines[: headings[0].line])
    steps_before = any(opens_step(line) for line in lines[: headings[0].line])
    if steps_before or (not parts and len(preamble) >= _SHORTEST_PREAMBLE):
        parts.insert(0, preamble)
    if not parts:
        explained = [n for n, placed in enumerate(headings) if placed.heading.part is Part.EXPLANATION]
        parts = [part for n in explained if (part := _section(lines, headings, n))]
    return "\n\n".join(parts)


def _next_finding(headings: list[_Placed], n: int, end: int) -> int:
    """Where the reasoning that opens at the n-th heading ends: at the next section, but not at a mere note."""
    stops = (*_FINDINGS, Part.REASONING)
    return next((placed.line for placed in headings[n + 1 :] if placed.heading.part in stops), end)


def _text(lines: list[str], placed: _Placed, end: int) -> str:
    first = [placed.heading.rest] if placed.heading is not _IMPLICIT else [lines[placed.line]]
    return body(first + lines[placed.line + 1 : end])


def _last(lines: list[str], headings: list[_Placed], part: Part) -> str | None:
    """The last section of a kind that is not empty, among the clearest that are not."""
    of_part = [n for n, placed in enumerate(headings) if placed.heading.part is part]
    texts = [(_key(headings[n].heading), text) for n in of_part if (text := _section(lines, headings, n))]
    if not texts:
        return None
    clearest = min(key for key, _ in texts)
    return [text for key, text in texts if key == clearest][-1]


def _section(lines: list[str], headings: list[_Placed], n: int) -> str:
    placed = headings[n]
    end = len(lines)
    for other in headings[n + 1 :]:
        if _ends(placed, other, lines):
            end = other.line
            break
    if placed.heading.part is not Part.ADDITIONAL:
        end = _end_at_unknown(lines, placed, end)
    return _text(lines, placed, end)


def _ends(placed: _Placed, other: _Placed, lines: list[str]) -> bool:
    """Whether a section ends at a later heading."""
    own, new = placed.heading, other.heading
    weaker = STRENGTHS.index(new.strength) > STRENGTHS.index(own.strength)
    if own.part is new.part and _key(new) > _key(own):
        return False
    if own.part is Part.ADDITIONAL and new.part in (Part.EXPLANATION, Part.OTHER, Part.REASONING):
        return new.strength is Strength.HASH
    return not weaker or bool(_text(lines, placed, other.line))


def _end_at_unknown(lines: list[str], placed: _Placed, end: int) -> int:
    """A heading of another kind, as high as the section's own, ends it too."""
    level = placed.heading.level
    blank = not placed.heading.rest.strip()
    for n in range(placed.line + 1, end):
        found = _UNKNOWN_HASH.match(lines[n])
        if found is not None and len(found[1]) <= level and not blank:
            return n
        blank = blank and not lines[n].strip()
    return end


# The answer itself ---------------------------------------------------------------------------------------------

_WHOLE_BOLD = re.compile(r"(\*\*\*|\*\*|__|\*|_)(?P<text>[^*_]+)\1[.。]?")
_STATEMENT = re.compile(
    r"(?:\b(?:the|my|our)\s(?:final|definitive)\s(?:diagnosis|answer|treatment)|\b(?:le\s)?diagnostic\s(?:final"
    r"|définitif)"
    r"|最终(?:诊断|答案))\s{0,3}(?:is|was|est|are|为|是)?\s{0,3}[:：]?(?P<text>[^\n]{0,600})",
    re.IGNORECASE,
)
_UNSURE = re.compile(r"\b(?:not|unclear|unknown|uncertain|pending|pas|incertain)\b|不明|未知", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?](?=\s+[A-ZÀ-Þ]|\s*$)|[。！？]")


def _bare(answer: str) -> str:
    """The answer without emphasis or a label around the whole of it."""
    if "\n" not in answer:
        heading = heading_of(answer)
        if heading is not None and heading.part is Part.ANSWER and heading.rest:
            answer = heading.rest
        whole = _WHOLE_BOLD.fullmatch(answer)
        answer = whole["text"] if whole is not None else re.sub(r"^#{1,6}[ \t]{0,9}", "", answer)
    return answer.strip()


def _stated(text: str) -> str | None:
    """What the last paragraphs declare to be the final diagnosis."""
    paragraphs = [paragraph for paragraph in re.split(r"\n[ \t]*\n", text[-6000:]) if paragraph.strip()][-4:]
    for n in range(len(paragraphs) - 1, -1, -1):
        statements = list(_STATEMENT.finditer(paragraphs[n]))
        if not statements:
            continue
        said = statements[-1]["text"].strip()
        if not said and statements[-1].end() == len(paragraphs[n].rstrip()) and n + 1 < len(paragraphs):
            said = paragraphs[n + 1].strip().split("\n")[0]
        end = _SENTENCE.search(said)
        said = _bare((said[: end.start()] if end else said).strip())
        return None if not said or _UNSURE.search(said) else said
    return None
