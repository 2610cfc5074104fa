"""Texts as the metrics see them: NFC, and the words that ROUGE-L and METEOR compare."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Any, Literal

#: In signatures; raised whenever the same text would give other words.
TOKENISER = "unicode-words.1"
NORMALISATION: Literal["NFC"] = "NFC"

#: Scripts written without spaces: each character with its marks is a word.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"


def normalised(text: str) -> str:
    """The text in NFC, so that composed and decomposed accents are the same; half surrogates become U+FFFD."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return unicodedata.normalize(NORMALISATION, whole)


def is_blank(text: str) -> bool:
    """Whether there is nothing to see: white space, control and format characters at most."""
    return all(unicodedata.category(character)[0] in "ZC" for character in text)


def words(text: str) -> list[str]:
    """Lower-case runs of letters, marks and digits, accents kept; in scripts without spaces each character.

    On ASCII texts these are the words of rouge-score's own tokeniser.
    """
    found: list[str] = _pattern().findall(normalised(normalised(text).lower()))
    return found


@cache
def _pattern() -> Any:
    import regex

    return regex.compile(rf"(?V1)[{_UNSPACED}]\p{{M}}*|[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]+")
