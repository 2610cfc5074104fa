"""Which option the two reference explanations of a question support, read from their words alone.

The answer letter is never looked at: the matcher is a witness about the letters. It errs, mostly where the explanations
discuss every option, so it says something about many rows together and nothing certain about one.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

_WORD = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")

#: Weight of a sentence relative to the one before: explanations open with the answer and then discuss the rest.
_DECAY = 0.85

#: Weight of a word that the question has as well.
_IN_QUESTION = 0.5

#: A word weighs as many letters as it has, up to this many; a number weighs this much.
_FULL_WEIGHT = 8

_TIE = 1e-9


def supported_option(record: Mapping[str, Any]) -> str | None:
    """The letter of the option whose words the explanations use most, None if two lead or no option's words occur.

    The support of an option is a sum over the sentences of both explanations: the share of the option's words that the
    sentence has, times 0.85 to the power of the sentence's position. In that share a word counts
    ``log(4 / number of options that have it)`` (the inverse document frequency over the options, so that a word of
    every option counts nothing), times its length up to 8, halved if the question has it.

    Args:
        record: with ``question``, ``options`` (letter to text) and ``explanations``.
    """
    options = {letter: frozenset(words(text)) for letter, text in record["options"].items()}
    weights = _weights(options, frozenset(words(record["question"])))
    sentences = [
        (_DECAY**position, frozenset(words(sentence)))
        for text in record["explanations"]
        for position, sentence in enumerate(_SENTENCE_END.split(text))
    ]
    return _leader({letter: _support(option, weights, sentences) for letter, option in options.items()})


def words(text: str) -> list[str]:
    """Words and numbers, compared without capitals; a single letter keeps its case, as in the antigens E and e."""
    plain = unicodedata.normalize("NFKC", text)
    return [word if len(word) == 1 else word.casefold() for word in _WORD.findall(plain)]


def _weights(options: Mapping[str, frozenset[str]], question: frozenset[str]) -> dict[str, float]:
    having = Counter(word for option in options.values() for word in option)
    return {word: _weight(word, len(options) / count, word in question) for word, count in having.items()}


def _weight(word: str, rarity: float, in_question: bool) -> float:
    size = _FULL_WEIGHT if word[0].isdigit() else min(len(word), _FULL_WEIGHT)
    return math.log(rarity) * size * (_IN_QUESTION if in_question else 1.0)


def _support(
    option: frozenset[str], weights: Mapping[str, float], sentences: Iterable[tuple[float, frozenset[str]]]
) -> float:
    total = math.fsum(weights[word] for word in option)
    if total <= 0:
        return 0.0
    found = (factor * math.fsum(weights[word] for word in option & sentence) for factor, sentence in sentences)
    return math.fsum(found) / total


def _leader(support: Mapping[str, float]) -> str | None:
    best = max(support.values(), default=0.0)
    leaders = [letter for letter, value in support.items() if value > best - _TIE]
    return leaders[0] if best > 0 and len(leaders) == 1 else None
