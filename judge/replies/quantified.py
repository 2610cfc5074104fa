"""All and none: "Toutes sauf B", "All of the above", "Aucune n'est exacte", "no correct option"."""

from __future__ import annotations

from dataclasses import dataclass

from judge.replies import vocabulary as words
from judge.replies.listing import is_end_of_sentence, read_list
from judge.replies.tokens import Document, Kind
from judge.replies.verdicts import verdict_after

_REACH = 14
#: "C'est tout", "each", "nothing" say too little by themselves.
_VAGUE = words.of(
    "tout every each chaque chacune chacun integralite totalite everything ensemble neither rien nothing no pas tous"
)
#: "Il y a …", "c'est donc …": what may lead to a quantifying word.
_BEFORE = words.of("l' y a is are donc que n' there so therefore thus comporte")
_NAMING = words.ITEM_NOUNS | words.ANSWER_NOUNS | words.of("above dessus them elles these cinq quatre five four")
_SKIPPED = words.QUANTIFIED | words.of("pas not - ( \" '")


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
    found = _said_of_options(document, i, none, announced)
    excepted = None if none else _excepted_before(document, i)
    if excepted is not None and is_end_of_sentence(document, i + 1):
        return excepted
    return excepted if found is not None and found.how == "all" and excepted is not None else found


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
    if before.norm in _BEFORE or (before.norm == "sont" and document.at(i - 2).norm in ("elles", "ils")):
        return True
    return document.starts_sentence(i) or before.norm in (",", ":", "-")


@dataclass(slots=True)
class _Said:
    """What is said after a quantifying word.

    Attributes:
        none: "none" is meant, so far; a verdict such as "fausses" turns it round.
        denied: a "not" was met.
        named: it is said of propositions, answers, "the above".
        judged: they are called right or wrong.
        copula: "are", "sont" was met.
    """

    none: bool
    denied: bool = False
    named: bool = False
    judged: bool = False
    copula: bool = False

    def note(self, norm: str, noun: str) -> None:
        """Take account of a word; `noun` is the options' own."""
        self.copula |= norm in words.COPULAS
        self.denied |= norm in ("pas", "not")
        self.named |= norm in _NAMING or _is_noun(norm, noun)
        if _is_verdict(norm):
            # "toutes les bonnes réponses" judges nothing yet, "aucune bonne réponse" does.
            self.judged |= self.copula or self.none or norm not in words.PRAISE
            self.none ^= norm in words.FALSE_WORDS


def _is_noun(norm: str, noun: str) -> bool:
    return bool(noun) and norm.rstrip("s") == noun


def _is_skipped(document: Document, j: int) -> bool:
    return document.at(j).norm in _SKIPPED or _is_noun(document.at(j).norm, document.texts.noun)


def _is_verdict(norm: str) -> bool:
    return norm in words.TRUE_WORDS or norm in words.FALSE_WORDS or norm in words.PRAISE


def _said_of_options(document: Document, i: int, none: bool, announced: bool) -> Quantified | None:
    said = _Said(none)
    j = i + 1
    while j < i + _REACH:
        exception = _exception(document, j) or (_exception(document, j + 1) if document.at(j).norm == "," else None)
        if exception is not None:
            return Quantified(_complement(document, exception.keys), "anchored") if said.none else exception
        if _is_verdict(document.at(j).norm) and document.at(j + 1).norm in words.NOT_AFTER_VERDICT:
            return None
        brackets = _past_brackets(document, j)
        said.named |= brackets > j
        if brackets == j and _ends(document, j):
            break
        if brackets == j and not (_is_verdict(document.at(j).norm) or _is_skipped(document, j)):
            if not said.judged:
                return None
            break
        said.note(document.at(j).norm, document.texts.noun)
        j = brackets + 1
    if said.denied and not _is_no(document, i):
        return None
    return _meant(document, i, said, announced)


def _ends(document: Document, j: int) -> bool:
    norm = document.at(j).norm
    return is_end_of_sentence(document, j) or norm in (",", ")", '"') or norm in words.REASONS - words.COPULAS


def _meant(document: Document, i: int, said: _Said, announced: bool) -> Quantified | None:
    first = document.at(i).norm
    if first in ("no", "pas") and not (said.named and said.judged):
        return None
    if first in words.NUMBERS and document.starts_sentence(i - 1) and is_end_of_sentence(document, i + 1):
        return Quantified(frozenset(document.options), "all")
    if (first in _VAGUE or first in words.NUMBERS) and not said.judged and not (said.named and announced):
        return None
    if not (announced or said.named or said.judged or _is_whole_sentence(document, i)):
        return None
    keys = frozenset[str]() if said.none else frozenset(document.options)
    return Quantified(keys, "none" if said.none else "all")


def _is_whole_sentence(document: Document, i: int) -> bool:
    return document.starts_sentence(i) and is_end_of_sentence(document, i + 1)


def _past_brackets(document: Document, j: int) -> int:
    """The end of the letters in "Toutes les propositions (A, B, C, D) sont exactes"; `j` if there are none."""
    listing = read_list(document, j) if document.at(j).norm == "(" or document.at(j).kind is Kind.LETTER else None
    return j if listing is None else max(listing.end - 1, j)


def _exception(document: Document, j: int) -> Quantified | None:
    end = document.phrase_end(j, words.EXCEPT)
    if end is None:
        return None
    listing = read_list(document, end) or read_list(document, document.skip(end, words.GLUE, most=5))
    if listing is None or listing.either:
        return None
    verdict = verdict_after(document, listing.end)
    if verdict is not None and not verdict.true:
        # "All except B are wrong."
        return Quantified(listing.keys, "anchored")
    return Quantified(_complement(document, listing.keys), "all")


def _excepted_before(document: Document, i: int) -> Quantified | None:
    """ "Sauf B, toutes les propositions sont exactes."."""
    start = i
    while start > i - 10 and not document.starts_sentence(start):
        start -= 1
    return _exception(document, start) if start < i else None


def _complement(document: Document, keys: frozenset[str]) -> frozenset[str]:
    return frozenset(document.options) - keys
