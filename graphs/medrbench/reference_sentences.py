"""Ends of sentences in clinical English.

A small splitter of our own: the libraries for this are unmaintained or bring models, and what counts here is that the
same text is split alike for ever.
"""

from __future__ import annotations

import re

#: Words whose full stop ends no sentence, and those of which this is so before a number only.
_ABBREVIATIONS = frozenset(
    {"al.", "approx.", "ca.", "cf.", "dept.", "dr.", "drs.", "e.g.", "eg.", "esp.", "i.e.", "incl.", "mr.", "mrs.",
     "ms.", "prof.", "resp.", "sp.", "spp.", "ssp.", "st.", "subsp.", "var.", "viz.", "vs."}
)  # fmt: skip
_BEFORE_NUMBERS = frozenset({"eq.", "fig.", "figs.", "no.", "nos.", "p.", "pp.", "ref.", "refs.", "tab.", "vol."})

#: First words after which a single capital letter with a full stop was the end of a sentence ("vitamin D. The …").
_OPENERS = frozenset(
    {"a", "absence", "additional", "after", "all", "although", "an", "as", "at", "based", "both", "but", "case",
     "clinical", "considered", "considering", "despite", "due", "during", "elevated", "excluded", "exclusion",
     "finally", "findings", "first", "following", "for", "further", "given", "he", "her", "his", "however",
     "imaging", "in", "initial", "initially", "it", "its", "laboratory", "no", "none", "normal", "on", "other",
     "patient", "since", "she", "subsequent", "such", "supported", "tests", "that", "the", "their", "there", "these",
     "they", "this", "thus", "to", "treatment", "unlikely", "was", "were", "when", "while", "with"}
)  # fmt: skip

_END = re.compile(r"[.!?][\"'”’)\]*]*\s+(?=[\"'“‘(\[*]*[A-Z0-9À-Þ])")
_NUMBER = re.compile(r"\(?\d{1,2}\.")
_INITIAL = re.compile(r"(?:^|[\s(\[])[A-Z]\.$")


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph in order; nothing is lost but the white space between them."""
    found: list[str] = []
    start = 0
    for end in _END.finditer(text):
        if _ends(text, start, end):
            found.append(text[start : end.end()].strip())
            start = end.end()
    return [sentence for sentence in [*found, text[start:].strip()] if sentence]


def _ends(text: str, start: int, end: re.Match[str]) -> bool:
    before, after = text[start : end.start() + 1], text[end.end() :]
    if before.count("(") > text[start : end.end()].count(")"):
        return False
    last = before.split()[-1].lstrip("([\"'“‘*").lower()
    if last in _ABBREVIATIONS or (last in _BEFORE_NUMBERS and after[:1].isdigit()):
        return False
    if _INITIAL.search(before):
        following = re.match(r"\W*([\w-]+)", after)
        return following is not None and following[1].lower() in _OPENERS
    return not _NUMBER.fullmatch(before.strip())
