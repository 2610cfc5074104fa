"""Sentences that decline to answer, only suppose an answer, or take one back."""

from __future__ import annotations

from collections.abc import Iterable

from judge.replies import vocabulary as words
from judge.replies.listing import is_end_of_sentence
from judge.replies.tokens import SENTENCE_ENDS, Document, Kind, Token

_PAST = words.of("was were going initially first initialement abord tempted thought allais pensais avais")

_SHORTEST = min(map(len, words.REFUSALS))


def refuses(document: Document) -> bool:
    """Whether the reply declines to answer, somewhere."""
    return has_refusal(map(_word, document.tokens))


def has_refusal(norms: Iterable[str]) -> bool:
    """Whether the words hold a phrase that declines to answer."""
    text = f" {' '.join(norm for norm in norms if norm != '-')} "
    return len(text) > _SHORTEST and any(f" {phrase} " in text for phrase in words.REFUSALS)


def _word(token: Token) -> str:
    """The token's word; an option's own text, such as "Cannot be determined", declines nothing."""
    return "" if token.kind is Kind.TEXT else token.norm


def refused_tokens(document: Document) -> list[bool]:
    """For each token, whether its sentence declines to answer before a "but"."""
    refused: list[bool] = []
    sentence: list[str] = []
    for i, token in enumerate(document.tokens):
        sentence.append(_word(token))
        last = i + 1 == len(document.tokens)
        if last or is_end_of_sentence(document, i) or document.at(i + 1).norm in words.BUT:
            declines = has_refusal(sentence)
            refused += [declines] * len(sentence)
            sentence = []
    return refused


def is_supposed(document: Document, i: int) -> bool:
    """ "If …, the answer would be B" is no answer; "If I had to choose, it would be B" is."""
    for n in range(i - 1, i - 30, -1):
        token = document.at(n)
        if token.kind is Kind.END or token.kind is Kind.BREAK or token.norm in SENTENCE_ENDS:
            return False
        if token.norm in words.HYPOTHESES:
            return document.at(n + 1).norm not in words.FIRST_PERSON
    return False


def is_conditional_on(document: Document, i: int) -> bool:
    """Whether "if …" follows within the sentence that goes on at `i`."""
    for n in range(i, i + 30):
        if is_end_of_sentence(document, n):
            return False
        if document.at(n).norm in words.HYPOTHESES:
            return True
    return False


def takes_back(document: Document, i: int) -> bool:
    """Whether a sentence begins with "Wait", "Non", "Actually" at `i`."""
    if document.at(i).norm in ("fait", "realite"):
        return document.at(i - 1).norm == "en" and document.starts_sentence(i - 1)
    if document.at(i).norm not in words.TAKING_BACK or not document.starts_sentence(i):
        return False
    # "No wheeze was heard" and "Erreur alpha : 5 %" go on.
    after = document.at(i + 1)
    return after.kind is Kind.MARK or after.norm in words.TAKING_BACK or document.at(i).norm == "actually"


def contrasts(document: Document, i: int) -> bool:
    """Whether "but" follows a denial or a doubt in its sentence."""
    before: list[str] = []
    for n in range(i - 1, i - 14, -1):
        if document.at(n).norm in SENTENCE_ENDS or document.at(n).kind in (Kind.BREAK, Kind.END):
            break
        before.insert(0, document.at(n).norm)
    doubts = words.NEGATIONS | words.TAKING_BACK | {"reflexion", "reflection"}
    return has_refusal(before) or any(norm in doubts or norm.endswith("n't") for norm in before)


def is_past(document: Document, i: int) -> bool:
    """ "I was going to say C", "I first thought C"."""
    return any(document.at(n).norm in _PAST for n in range(i - 5, i))
