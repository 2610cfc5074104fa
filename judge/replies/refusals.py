"""Sentences that decline to answer."""

from __future__ import annotations

from collections.abc import Iterable

from judge.replies import vocabulary as words
from judge.replies.listing import is_end_of_sentence
from judge.replies.tokens import Document


def refuses(document: Document) -> bool:
    """Whether the reply declines to answer, somewhere."""
    return has_refusal(token.norm for token in document.tokens)


def has_refusal(norms: Iterable[str]) -> bool:
    """Whether the words hold a phrase that declines to answer."""
    text = f" {' '.join(norm for norm in norms if norm != '-')} "
    return any(f" {phrase} " in text for phrase in words.REFUSALS)


def refused_tokens(document: Document) -> list[bool]:
    """For each token, whether its sentence declines to answer before a "but"."""
    refused: list[bool] = []
    sentence: list[str] = []
    for i, token in enumerate(document.tokens):
        sentence.append(token.norm)
        last = i + 1 == len(document.tokens)
        if last or is_end_of_sentence(document, i) or document.at(i + 1).norm in words.BUT:
            declines = has_refusal(sentence)
            refused += [declines] * len(sentence)
            sentence = []
    return refused
