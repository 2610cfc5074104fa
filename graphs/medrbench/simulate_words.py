"""What a person types as a turn, put into the form in which a model must write it: one reader for both."""

from __future__ import annotations

import re
from collections.abc import Sequence

from judge.replies.headings import Strength, heading_of
from judge.replies.sections import read_sections

_CONCLUDES = re.compile(r"\s*(?:(?:my |final )?diagnosis|conclude|conclusion)\s*[::]\s*(.*)", re.IGNORECASE | re.DOTALL)
_REASON = re.compile(r"\s*(?:reason|because)\s*[::]\s*(.*)", re.IGNORECASE | re.DOTALL)
_MARKS = re.compile(r"\s*(?:(?:[-•+]|\d{1,3}[.)])\s+)?[#*_>`\s]*")


def is_complete(lines: Sequence[str]) -> bool:
    """Whether these lines are a whole turn: after an empty line, or with a diagnosis.

    Whoever writes the three sections may leave lines empty between them; they are whole when an empty line follows a
    text that has both requests (or "Not required.") and a conclusion.
    """
    empty = not lines[-1].strip()
    if not in_sections(lines):
        return empty or _CONCLUDES.match(lines[-1]) is not None
    if not empty:
        return False
    sections = read_sections("\n".join(lines))
    return bool(sections.additional_information and sections.conclusion)


def in_sections(lines: Sequence[str]) -> bool:
    """Whether the first line is a heading as a model would write it."""
    first = next((line for line in lines if line.strip()), "")
    heading = heading_of(first)
    return heading is not None and heading.strength is not Strength.PLAIN


def is_blank(lines: Sequence[str]) -> bool:
    """Whether nothing was typed."""
    return not any(line.strip() for line in lines)


def unsent(lines: Sequence[str]) -> list[str]:
    """Requests that stand before a diagnosis in the same entry: the diagnosis ends the examination without them."""
    return _requests(lines) if not in_sections(lines) and any(map(_CONCLUDES.match, lines)) else []


def as_turn(lines: Sequence[str]) -> str:
    """The text of the turn in sections; one that is written so stays what it is."""
    if in_sections(lines):
        return "\n".join(lines).strip()
    reasons = [match.group(1).strip() for line in lines if (match := _REASON.match(line))]
    diagnosis = next((match.group(1).strip() for line in lines if (match := _CONCLUDES.match(line))), None)
    steps = "\n".join(f"<step {number}> {reason}" for number, reason in enumerate(reasons, start=1))
    asked = "\n".join(f"- {request}" for request in _requests(lines))
    parts = [f"### Chain of Thought:\n{steps}"] if steps else []
    if diagnosis is None:
        return "\n\n".join([*parts, f"### Additional Information Required:\n{asked}"])
    return "\n\n".join([*parts, "### Additional Information Required:\nNot required.", f"### Conclusion:\n{diagnosis}"])


def _requests(lines: Sequence[str]) -> list[str]:
    """The other lines, without marks that would make a list or a heading of them."""
    plain = (line for line in lines if not (_CONCLUDES.match(line) or _REASON.match(line)))
    return [request for line in plain if (request := _MARKS.sub("", line, count=1).strip())]
