"""The rules for replies that repeat an option's text."""

from __future__ import annotations

import re

from judge.replies import vocabulary as words
from judge.replies.reading import Reading, Reply
from judge.replies.refusals import refuses
from judge.replies.tokens import SENTENCE_ENDS, Document, Kind, Token
from judge.replies.verdicts import verdict_after


def by_whole_text(reply: Reply) -> Reading | None:
    """The reply is one option's text and nothing else. A single letter is a key, whatever the texts are."""
    text = reply.text.strip()
    if len(text.strip(" .()*")) == 1 and text.strip(" .()*").upper() in reply.document.keys:
        return None
    announced = re.sub(r"^\W{0,4}(?:answer|réponse|reponse)\W{0,4}?[ \t]*:[ \t]*", "", text, flags=re.IGNORECASE)
    for said in (text, announced):
        key = reply.document.texts.symbols.get(said)
        if key is not None and not (len(said) == 1 and said.upper() in reply.document.keys):
            return reply.choose("option_text", frozenset({key}))
    return _by_whole_words(reply)


def _by_whole_words(reply: Reply) -> Reading | None:
    document = reply.document
    said = [t for t in document.tokens if t.kind not in (Kind.MARK, Kind.BREAK)]
    norms = tuple(word for token in said for word in token.norm.split(" "))
    if len(said) > 40 or (len(said) == 1 and said[0].kind is Kind.LETTER):
        return None
    key = document.texts.key_of(norms)
    return None if key is None else reply.choose("option_text", frozenset({key}))


def by_only_texts(reply: Reply) -> Reading | None:
    """Nothing but option texts, without letters."""
    document = reply.document
    if not all(t.kind in (Kind.TEXT, Kind.MARK, Kind.BREAK, Kind.NUMBER) or _is_filler(t) for t in document.tokens):
        return None
    keys = frozenset(key for t in document.tokens if t.kind is Kind.TEXT for key in t.keys)
    if not keys or any(t.norm in ("?", "✓", "✗") for t in document.tokens):
        return None
    echo = len(keys) == len(reply.options) > 2
    return Reading(None, "echo") if echo else reply.choose("option_text", keys)


def by_leading_text(reply: Reply) -> Reading | None:
    """An option such as "Yes" or "None", too plain a word to be looked for elsewhere, opens the reply."""
    document = reply.document
    found = document.texts.find(document.tokens, 0) if document.tokens else None
    if found is None or not all(norm in words.RESERVED and len(norm) > 1 for norm in found[0]):
        return None
    after = document.at(found[1]).norm
    if after not in (",", ".", "!", "-", ":") and after not in ("because", "since", "as", "car"):
        return None
    key = document.texts.key_of(found[0])
    return None if key is None else reply.choose("option_text", frozenset({key}))


_FEW_WORDS = 60


def by_option_text(reply: Reply) -> Reading | None:
    """One option's text in a short reply."""
    document = reply.document
    if refuses(document):
        return None
    said = [i for i, token in enumerate(document.tokens) if token.kind is Kind.TEXT]
    affirmed = [
        i
        for i in said
        if not _is_negated(document, i) and not _is_in_cut_text(document, i) and not _is_of_others(document, i)
    ]
    keys = frozenset(key for i in affirmed for key in document.at(i).keys)
    others = [t for t in document.tokens if t.kind in (Kind.WORD, Kind.LETTER, Kind.NUMBER) and not _is_filler(t)]
    if not keys or any(t.kind is Kind.LETTER and t.strong and frozenset(t.keys) != keys for t in others):
        return None
    if len(keys) == 1 and len(document.tokens) <= _FEW_WORDS:
        return reply.choose("option_text", keys)
    return None


def _is_of_others(document: Document, i: int) -> bool:
    """ "A patient with asthma would wheeze": a supposition that only mentions the option."""
    supposes = document.at(i + 1).norm in words.CONDITIONALS and document.at(i + 2).norm not in words.COPULAS
    return supposes and verdict_after(document, i + 1) is None


def _is_in_cut_text(document: Document, i: int) -> bool:
    """Whether a later sentence breaks off: the reply had not come to its answer."""
    last = len(document.tokens) - 1
    if document.at(last).kind is not Kind.WORD:
        return False
    return any(document.at(n).norm in SENTENCE_ENDS for n in range(i, last))


def _is_filler(token: Token) -> bool:
    return token.norm in ("et", "and", "the", "la", "le", "les", "l'", "a", "an", "or") and token.kind is Kind.WORD


def _is_negated(document: Document, i: int) -> bool:
    before = [document.at(n).norm for n in range(i - 1, i - 5, -1)]
    end = next((n for n, norm in enumerate(before) if norm in words.BUT or norm in (".", ",", ";", "")), len(before))
    negated = any(
        norm in words.NEGATIONS or norm.endswith("n't") or norm in ("no", "than", "over") for norm in before[:end]
    )
    after = verdict_after(document, i + 1)
    return negated or document.at(i + 1).norm == "?" or (after is not None and not after.true)
