"""What a reply to a CareMedEval question chooses, and whether it kept to the form it was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judge.replies import read_options

#: What may stand around a letter in a list: "A.", "(b)", "**C**".
_AROUND = " \t\r\n\u00a0().:*[]"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as read.

    Attributes:
        chosen: sorted keys of the chosen options; empty for an explicit "none of them"; None when no answer was read.
        how: the rule that decided, see `judge.replies`.
        well_formed: the last line is the demanded one: letters after the anchor, nothing else.
        dropped: letters named that are no option of this question.
    """

    chosen: list[str] | None
    how: str
    well_formed: bool
    dropped: list[str]


def read_answer(text: str, options: Mapping[str, str]) -> Answer:
    """Read a reply whose thinking has been set apart."""
    reading = read_options(text, options, multiple=True)
    last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    return Answer(
        chosen=None if reading.chosen is None else sorted(reading.chosen),
        how=reading.how,
        well_formed=reading.chosen is not None and read_options(last, options, multiple=True).well_formed,
        dropped=sorted(reading.dropped),
    )


def take_letters(given: Sequence[str], options: Mapping[str, str]) -> Answer:
    """Letters that came as a list; when none of several is an option, that is no answer and not "none of them"."""
    by_letter = {key.casefold(): key for key in options}
    named = [letter.strip(_AROUND).casefold() for letter in given]
    chosen = sorted({by_letter[letter] for letter in named if letter in by_letter})
    return Answer(
        chosen=chosen if chosen or not named else None,
        how="letters" if chosen or not named else "no_such_option",
        well_formed=bool(chosen) or not named,
        dropped=sorted({letter for letter in named if letter not in by_letter}),
    )
