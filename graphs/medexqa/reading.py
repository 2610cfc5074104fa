"""What a reply to a MedExQA question chooses, and the explanation that it gives.

The doctor is asked for the letter alone on the first line and the explanation below it. Letter first, because the
published accuracy is of the next token after the question; and so the token that a model's scores are of is the one it
says. A reply in another form is read too, by `judge.replies`, and counted as malformed.

An option is named by its letter or by its exact text, capital and small letters told apart: there is a question whose
options are the antigens D, e, C and E. A letter of the question wins over an option whose text is that letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from judge.replies import Reading, read_options


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as read.

    Attributes:
        letter: the chosen option; None when no single one was read.
        how: the rule that decided: ``first_line``, ``last_line``, or one of `judge.replies`.
        well_formed: the first line is the letter and nothing else.
    """

    letter: str | None
    how: str
    well_formed: bool


def read_answer(text: str, options: Mapping[str, str]) -> Answer:
    """Read a reply whose thinking has been set apart.

    A line at the head that only names an option is the answer, unless another letter is announced further down ("so
    the answer is C"): explanations speak of the other options by their texts, and that takes nothing back. Without such
    a line, an announced letter counts, then whatever `judge.replies` finds, then a last line that only names an option.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    first, last = (option_of(lines[0], options), option_of(lines[-1], options)) if lines else (None, None)
    if first is not None:
        announced = _chosen(_read_letters(text, options))
        letter = last or (announced.letter if announced.how == "anchored" else None) or first
        how = "first_line" if letter == first else "last_line" if letter == last else announced.how
        return Answer(letter, how, well_formed=_bare(lines[0]) in options)
    found = _chosen(_read_letters(text, options))
    if found.how != "anchored" and not has_letter_texts(options):
        found = _chosen(read_single(text, options))
    return Answer(last, "last_line", False) if found.letter is None and last is not None else found


#: "Hence it is a 'concentrated solution'" announces no option A.
_ARTICLE = re.compile(r"(?<![^\W_])a(?![^\W_])")
#: Where case counts, a small letter names no option.
_SMALL_LETTER = re.compile(r"(?<![^\W_])[a-z](?![^\W_])")


def _chosen(reading: Reading) -> Answer:
    return Answer(next(iter(reading.chosen)) if reading.chosen else None, reading.how, False)


def read_single(text: str, options: Mapping[str, str]) -> Reading:
    """`judge.replies` on a question that has one answer."""
    return read_options(text, options, multiple=False)


def has_letter_texts(options: Mapping[str, str]) -> bool:
    """Whether the text of an option is a letter that could be taken for another option, or differs from another only
    in capital letters."""
    texts = [text.strip() for text in options.values()]
    folded = {text.casefold() for text in texts}
    return len(folded) < len(texts) or bool(folded & {letter.casefold() for letter in options})


def _read_letters(text: str, options: Mapping[str, str]) -> Reading:
    """The reading by letters alone: no option has a text that a reply could hold."""
    passed_over = _SMALL_LETTER if has_letter_texts(options) else _ARTICLE
    return read_single(passed_over.sub("one", text), {letter: f"\ue010{letter}\ue011" for letter in options})


#: Marks that may stand around an answer: emphasis, quotation, mathematics; and brackets, which may be of a text.
_EMPHASIS = " \t\u00a0*_`#>\"'$"
_BRACKETS = "()[]{}"
_BOX = re.compile(r"\\(?:boxed|text|textbf|mathbf|mathrm)\{([^{}]*)\}")
_ANNOUNCEMENT = re.compile(
    r"(?:(?:the|my)\s+)?(?:(?:final|correct|best|right)\s+)?(?:answer|option|choice)\b[*_\s]*(?:is\b|[:=-])?[*_\s]*(?::\s*)?",
    re.IGNORECASE,
)
_LETTER_AND_TEXT = re.compile(r"\(?([^\W\d_])[).:*\]\s-]+\s*(.+)", re.DOTALL)
_TEXT_AND_LETTER = re.compile(r"(.+?)\s*[(\[]([^\W\d_])[)\]]", re.DOTALL)


def option_of(line: str, options: Mapping[str, str]) -> str | None:
    """The option that a line names and nothing more: its letter, its exact text, or both, perhaps announced."""
    plain = _bare(line)
    if (named := _named(plain, options)) is not None:
        return named
    announced = _ANNOUNCEMENT.match(plain)
    return _named(_bare(plain[announced.end() :]), options) if announced else None


def _named(plain: str, options: Mapping[str, str]) -> str | None:
    if plain in options:
        return plain
    exact = [letter for letter, text in options.items() if _spaced(text) in (plain, f"{plain}.")]
    if len(exact) == 1:
        return exact[0]
    for letter, text in _pairs(plain):
        if letter in options and _spaced(options[letter]).rstrip(".") == _bare(text):
            return letter
    return None


def _pairs(plain: str) -> Iterator[tuple[str, str]]:
    """A letter and a text beside it, in either order."""
    if both := _LETTER_AND_TEXT.fullmatch(plain):
        yield both[1], both[2]
    if both := _TEXT_AND_LETTER.fullmatch(plain):
        yield both[2], both[1]


def _bare(text: str) -> str:
    """A line without marks around it and without its full stop; brackets that belong to a text stay."""
    while (opened := _BOX.sub(r"\1", text)) != text:
        text = opened
    plain = _spaced(text.strip(_EMPHASIS)).rstrip(".").strip("*_ ")
    inside = plain.strip(_EMPHASIS + _BRACKETS + ".:")
    return inside if len(inside) == 1 else plain


def _spaced(text: str) -> str:
    return " ".join(text.split())


_LABEL = re.compile(r"[\s*_#]*(?:explanation|rationale|reasoning|justification)[*_]*\s*:[*_]*\s*", re.IGNORECASE)


def explanation_of(text: str, options: Mapping[str, str]) -> str:
    """A reply without the lines that only name an option, and without a heading such as ``Explanation:``.

    Args:
        text: without thinking.
    """
    lines = text.strip().splitlines()
    while lines and (not lines[0].strip() or option_of(lines[0], options) is not None):
        lines.pop(0)
    while lines and (not lines[-1].strip() or option_of(lines[-1], options) is not None):
        lines.pop()
    kept = "\n".join(lines)
    label = _LABEL.match(kept)
    return kept[label.end() if label else 0 :].strip()
