"""The terms of a text for a search: the same for French, English and other spaced scripts, and for Chinese."""

from __future__ import annotations

import re
import unicodedata

#: Stands in the version of every corpus; raise it when the same text would get other terms.
TERMS = 1

#: Characters of scripts that put no spaces between words: Han, kana and Hangul.
_UNSPACED = "々〆〇ぁ-ゖァ-ヺー\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"

_UNSPACED_START = re.compile(f"[{_UNSPACED}]")

_RUN = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")

#: What stands on letters in Latin, Greek and Cyrillic script, and what is not seen at all.
_DROPPED = re.compile("[\u0300-\u036f\u00ad\u200b-\u200d\u2060\ufeff]")

#: Letters that Unicode does not take apart.
_LETTERS = str.maketrans({"œ": "oe", "æ": "ae", "ø": "o", "ł": "l"})


def terms(text: str) -> list[str]:
    """The terms of a text, in order, repeats included.

    Case and accents do not count, composed or not (``Œdème``, ``OEDEME``; ``Sjögren``, ``Sjogren``), nor do
    compatibility forms (``²`` and ``2``). A term is a run of letters and digits, so ``l'œdème`` is ``l`` and
    ``oedeme``. Where a script has no spaces, every two neighbouring characters are a term, and a character that stands
    alone is one.

    No word is left out and none is reduced to a stem: both need to know the language, and an English list or stemmer
    spoils French. Frequent words weigh little by themselves, since BM25 weighs a term by how few passages have it.
    """
    found: list[str] = []
    for run in _RUN.findall(_folded(text)):
        if _is_unspaced(run) and len(run) > 1:
            found += (run[i : i + 2] for i in range(len(run) - 1))
        else:
            found.append(run)
    return found


def _is_unspaced(run: str) -> bool:
    return not run.isascii() and _UNSPACED_START.match(run) is not None


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    bare = _DROPPED.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFKC", bare.casefold()).translate(_LETTERS)
