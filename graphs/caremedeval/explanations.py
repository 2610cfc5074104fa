"""What a doctor wrote besides the letters: compared with the human justification, where a question has one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from graphs.caremedeval.reading import read_answer
from judge.benchmark import Explanation, Transcript


def explanation(record: Mapping[str, Any], transcript: Transcript | None) -> Explanation | None:
    """The reply without the line that gives the letters; None for the questions that nobody justified."""
    justification = str(record["justification"]).strip()
    if not justification:
        return None
    return Explanation(explanation_text(record, transcript) if transcript is not None else None, (justification,))


def explanation_text(record: Mapping[str, Any], transcript: Transcript) -> str:
    """What the last reply that says anything besides letters says; empty where none does.

    One that was asked again only for the letters has explained itself before.
    """
    said = (
        _without_letters(str(reply.get("text") or ""), record["options"]) for reply in reversed(_replies(transcript))
    )
    return next((text for text in said if text), "")


def _replies(transcript: Transcript) -> Sequence[Mapping[str, Any]]:
    return list(transcript.data.get("replies") or ())


def _without_letters(text: str, options: Mapping[str, str]) -> str:
    return "\n".join(line for line in text.splitlines() if not _gives_letters(line, options)).strip()


#: A line of letters and marks alone, e.g. "A, C".
_LETTERS = re.compile(r"[\W_]*(?:[A-Ea-e][\W_]*)+")


def _gives_letters(line: str, options: Mapping[str, str]) -> bool:
    """Whether a line is the answer itself and nothing else."""
    return bool(line.strip()) and (_LETTERS.fullmatch(line) is not None or read_answer(line, options).well_formed)
