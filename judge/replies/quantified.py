"""All and none: "Toutes sauf B", "All of the above", "Aucune n'est exacte", "no correct option"."""

from __future__ import annotations

from dataclasses import dataclass

from judge.replies import vocabulary as words
from judge.replies.listing import is_end_of_sentence, read_list
from judge.replies.tokens import Document, Kind

_REACH = 14
#: "C'est tout", "each", "nothing" say too little by themselves.
_VAGUE = words.of("tout every each everything ensemble neither rien nothing no pas tous")


@dataclass(frozen=True, slots=True)
class Quantified:
    """All options, all but some, or none: the keys meant, and "all" or "none"."""

    keys: frozenset[str]
    how: str


def everything_or_nothing(document: Document, i: int, *, announced: bool) -> Quantified | None:
    """What "all" or "none" at `i` says of the options.

    Args:
        document: the reply.
        i: where the quantifying word would stand.
        announced: an announcement ("Réponse :") stands before it, so the word alone is enough.
    """
    start = document.at(i).norm
    none = start in words.NONE_WORDS or _is_no(document, i)
    if not none and start not in words.ALL_WORDS and not _is_their_number(document, i):
        return None
    if not announced and not _opens_clause(document, i):
        return None
    return _said_of_options(document, i, none, announced)


def _is_no(document: Document, i: int) -> bool:
    """ "no correct answer", "pas de bonne réponse"."""
    first, second = document.at(i).norm, document.at(i + 1).norm
    return first == "no" or (first == "pas" and second in ("de", "d'"))


def _is_their_number(document: Document, i: int) -> bool:
    """ "les cinq" of five options."""
    number = words.NUMBERS.get(document.at(i).norm)
    return number == len(document.options) and document.at(i - 1).norm in ("les", "the", "all", "ces", "these")


def _opens_clause(document: Document, i: int) -> bool:
    if _is_their_number(document, i):
        i -= 1
    before = document.at(i - 1)
    if before.norm in (
        "l'",
        "y",
        "a",
        "is",
        "are",
        "donc",
        "que",
        "n'",
        "there",
        "so",
        "therefore",
        "thus",
        "comporte",
    ):
        return True
    return document.starts_sentence(i) or before.norm in (",", ":", "-")


def _said_of_options(document: Document, i: int, none: bool, announced: bool) -> Quantified | None:
    denied = named = judged = copula = False
    j = i + 1
    while j < i + _REACH:
        token = document.at(j)
        exception = _exception(document, j)
        if exception is None and token.norm == ",":
            exception = _exception(document, j + 1)
        if exception is not None and (judged or not none):
            return Quantified(_complement(document, exception.keys), "anchored") if none else exception
        if token.norm in words.TRUE_WORDS or token.norm in words.FALSE_WORDS or token.norm in words.PRAISE:
            if document.at(j + 1).norm in words.NOT_AFTER_VERDICT:
                return None
            judged |= copula or none or token.norm not in words.PRAISE
            none ^= token.norm in words.FALSE_WORDS
        elif (
            is_end_of_sentence(document, j)
            or token.norm in (",", ")", '"')
            or token.norm in words.REASONS - words.COPULAS
        ):
            break
        elif token.norm not in words.QUANTIFIED and token.norm not in ("pas", "not", "-", "(", '"', "'"):
            j = _past_brackets(document, j)
            if j < 0 and not judged:
                return None
            if j < 0:
                break
        copula |= token.norm in words.COPULAS
        denied |= token.norm in ("pas", "not")
        named |= token.norm in words.ITEM_NOUNS | words.ANSWER_NOUNS | {"above", "dessus", "them", "elles", "these"}
        j += 1
    if denied and not _is_no(document, i):
        return None
    return _meant(document, i, none, named, judged, announced)


def _meant(document: Document, i: int, none: bool, named: bool, judged: bool, announced: bool) -> Quantified | None:
    first = document.at(i).norm
    if first in ("no", "pas") and not (named and judged):
        return None
    if (first in _VAGUE or first in words.NUMBERS) and not judged and not (named and announced):
        return None
    if not (announced or named or judged or _is_whole_sentence(document, i)):
        return None
    return Quantified(frozenset() if none else frozenset(document.options), "none" if none else "all")


def _is_whole_sentence(document: Document, i: int) -> bool:
    return document.starts_sentence(i) and is_end_of_sentence(document, i + 1)


def _past_brackets(document: Document, j: int) -> int:
    """Past the letters in "Toutes les propositions (A, B, C, D) sont exactes"; -1 for anything else."""
    listing = read_list(document, j)
    return -1 if listing is None or document.at(j).kind is Kind.WORD else listing.end - 1


def _exception(document: Document, j: int) -> Quantified | None:
    end = document.phrase_end(j, words.EXCEPT)
    if end is None:
        return None
    listing = read_list(document, end) or read_list(document, document.skip(end, words.GLUE, most=5))
    if listing is None or listing.either:
        return None
    return Quantified(_complement(document, listing.keys), "all")


def _complement(document: Document, keys: frozenset[str]) -> frozenset[str]:
    return frozenset(document.options) - keys
