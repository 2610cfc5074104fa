"""How much of the article a model sees: the four context conditions, always reported apart.

The limits are those of arXiv 2511.03441: abstract below 2,000 tokens, medium below 8,000 (beginning and end of the
article), full text below 32,000. Which tokenizer counted is part of a result, as it decides where a text is cut.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from judge.errors import SpecError
from judge.models.tokens import Tokenizer

#: Stands where the middle was taken out; articles are English in both languages of the questions.
MARKER = "\n\n[... the middle of this text is left out here ...]\n\n"

_SNAP = 10  # a cut moves by at most a tenth of the kept part to reach a paragraph or word boundary


@dataclass(frozen=True, slots=True)
class Condition:
    """One context condition.

    Attributes:
        name: key and column heading.
        source: which text the model sees.
        budget: the text has fewer tokens than this.
        description: one phrase for a table.
    """

    name: str
    source: Literal["none", "abstract", "article"]
    budget: int
    description: str


@dataclass(frozen=True, slots=True)
class Context:
    """What one model sees of one article.

    Attributes:
        text: None in the condition without context.
        tokens: length of ``text``.
        cut: whether something was left out.
        original_tokens: length of the source before the cut.
    """

    text: str | None
    tokens: int
    cut: bool
    original_tokens: int


#: The conditions by name, from least to most context.
CONTEXTS: Mapping[str, Condition] = {
    condition.name: condition
    for condition in (
        Condition("none", "none", 0, "question only"),
        Condition("abstract", "abstract", 2_000, "abstract, below 2,000 tokens"),
        Condition("medium", "article", 8_000, "beginning and end of the article, below 8,000 tokens"),
        Condition("full", "article", 32_000, "whole article, below 32,000 tokens"),
    )
}


def build_context(name: str, article: str, abstract: str, tokenizer: Tokenizer) -> Context:
    """The text shown under one condition.

    A source that fits its budget is passed on unchanged; a longer one loses its middle (`cut_middle`).

    Args:
        name: a key of `CONTEXTS`.
        article: full text.
        abstract: its abstract.
        tokenizer: counts.

    Raises:
        SpecError: ``name`` is not a condition.
        ValueError: the text the condition needs is empty.
    """
    if name not in CONTEXTS:
        raise SpecError(f"context {name!r} is not known; choose one of {', '.join(CONTEXTS)}")
    condition = CONTEXTS[name]
    if condition.source == "none":
        return Context(None, 0, False, 0)
    text = article if condition.source == "article" else abstract
    if not text.strip():
        raise ValueError(f"the {condition.source} is empty, which would be the condition 'none'")
    original = tokenizer.count(text)
    if original < condition.budget:
        return Context(text, original, False, original)
    shortened = cut_middle(text, condition.budget, tokenizer)
    return Context(shortened, tokenizer.count(shortened), True, original)


def cut_middle(text: str, budget: int, tokenizer: Tokenizer) -> str:
    """Beginning and end of a text in equal token halves, joined by `MARKER`, together fewer than ``budget`` tokens.

    Cuts fall on a line break (paragraph) if one lies within the last tenth of a half, else on white space, else between
    two characters. Each half costs about log2(characters) tokenizations.

    Raises:
        ValueError: the budget does not even hold the marker.
    """
    half = (budget - 1 - tokenizer.count(MARKER)) // 2
    while half > 0:
        head = _head_length(text, half, tokenizer)
        tail = max(head, len(text) - _tail_length(text, half, tokenizer))
        joined = text[:head].rstrip() + MARKER + text[tail:].lstrip()
        excess = tokenizer.count(joined) - budget + 1
        if excess <= 0:
            return joined
        half -= (excess + 1) // 2  # counts of parts need not add up where they meet
    raise ValueError(f"a budget of {budget} tokens leaves no room beside the marker")


def _head_length(text: str, tokens: int, tokenizer: Tokenizer) -> int:
    """How many characters of the beginning to keep."""
    longest = bisect_right(range(1, len(text) + 1), tokens, key=lambda size: tokenizer.count(text[:size]))
    return _snap(text[: longest + 1], longest)


def _tail_length(text: str, tokens: int, tokenizer: Tokenizer) -> int:
    """How many characters of the end to keep."""
    longest = bisect_right(range(1, len(text) + 1), tokens, key=lambda size: tokenizer.count(text[-size:]))
    return _snap(text[-longest - 1 :][::-1], longest)


def _snap(text: str, longest: int) -> int:
    """The last break of ``text`` in the tenth before ``longest`` (or right at it), a line break if there is one."""
    floor = longest - longest // _SNAP
    for pattern in (r"\n", r"\s"):
        positions = [match.start() for match in re.finditer(pattern, text[floor:])]
        if positions:
            return floor + positions[-1]
    return longest
