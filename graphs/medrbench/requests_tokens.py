"""A request in pieces: tokens looked up in the vocabulary, and segments between separators, freed of reasons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from graphs.medrbench.requests_vocabulary import Term, articles, correct, fold, stem, vocabulary

#: Kinds of terms that make an exam of their own.
TESTS = frozenset({"imaging", "procedure", "lab", "blood", "antibody", "fixed", "assay", "tissue", "serology"})
REGIONAL = frozenset({"imaging", "procedure"})
ANALYTES = frozenset({"lab", "blood", "antibody"})
TARGETED = frozenset({"assay", "tissue", "serology", "family"})
HEADS = TESTS | {"family", "exam", "topic", "generic"}

HARD = frozenset(";\n.?!")
SOFT = frozenset({",", "/", "+", "and", "or", "plus", "with"})
_TOKEN = re.compile(r"[^\W_]+|[,;:()/+\n.?!]")
_CLEANINGS = tuple(
    (re.compile(pattern, re.MULTILINE), replacement)
    for pattern, replacement in (
        (r"[*#>|\"\[\]{}]+", " "),
        (r"'s\b", ""),
        (r"n't\b", " not"),
        (r"::", " "),
        (r"'", ""),
        (r"^[ \t]*(?:[-•·]+|\(?\d{1,2}[.):]|\(?[a-h]\))[ \t]+", ""),
        (r"^[ \t]*([a-h])\.[ \t]+(\w+)", lambda match: _lettered_item(match[1], match[2])),
        (r"(?<=[\s;,])\(?\d{1,2}[.)](?=\s)", "\n"),
        (r"\b(e\.g|i\.e)\b\.?,?", lambda match: match[1].replace(".", " ")),
        (r"\bi\.v\.?", "iv"),
        (r"\ba\.m\.?", "am"),
        (r"\bwork[- ]up\b", "workup"),
        (r"\b([a-z])\.(?=\s?[a-z])", r"\1 "),
        (r"(?<=\d)\.(?=\d)", ""),
        (r"(?<=\w)\+(?!\w)", " "),
        (r"[ \t]-+[ \t]", " : "),
        (r"&|\bas well as\b|\balong with\b|\btogether with\b|\bfollowed by\b|\bin addition to\b|\band/or\b", " and "),
        (r"\b([a-z]+)(\d+)/(\d+)\b", r"\1\2 and \1\3"),
        (r"\bcd[ -](\d+)\b", r"cd\1"),
        (r"\b([ct])-(?=\d\b)", r"\1"),
    )
)


def _lettered_item(letter: str, word: str) -> str:
    """ "a. Ferritin" is an item of a list, "H. pylori" is not."""
    return f"{letter} {word}" if (letter, stem(word)) in _initials() else word


@cache
def _initials() -> frozenset[tuple[str, ...]]:
    return frozenset(phrase[:2] for phrase in vocabulary().phrases if len(phrase[0]) == 1)


@dataclass(slots=True)
class Token:
    """A word, a phrase of the vocabulary or a separator."""

    text: str
    terms: tuple[Term, ...] = ()

    @property
    def kind(self) -> str:
        """Kind of what it stands for, "" if unknown."""
        return self.terms[0].kind if self.terms else ""


@dataclass(slots=True)
class Segment:
    """What stands between two separators.

    Attributes:
        sep: the separator before it.
        listed: whether it is in brackets, after a colon or after "including".
        heads: exams it names.
        ids: what else it names, by kind.
        words: words unknown to the vocabulary.
        reason: the part that only says why.
        head_last: "chest CT" rather than "CT of the chest".
        parent: the segment that a list belongs to.
        asks: whether it opens with "please", "I would like" and the like.
        question: whether it ends with a question mark.
    """

    sep: str
    listed: bool = False
    continues_reason: bool = False
    heads: list[Term] = field(default_factory=list)
    ids: dict[str, list[str]] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    reason: list[Token] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)
    head_last: bool = False
    parent: Segment | None = None
    dropped: bool = False
    asks: bool = False
    question: bool = False

    def named(self, *kinds: str) -> list[str]:
        """Ids of these kinds."""
        return [id for kind in kinds for id in self.ids.get(kind, ())]

    def has(self, *kinds: str) -> bool:
        """Whether a head is of one of these kinds."""
        return any(head.kind in kinds for head in self.heads)

    @property
    def empty(self) -> bool:
        """Whether it says nothing."""
        return not (self.heads or self.ids or self.words)

    def add(self, token: Token) -> None:
        """Take in one more token."""
        self.said.append(token.text)
        if not token.terms:
            _add_word(self, token.text)
        for term in token.terms:
            if term.kind in HEADS:
                self.head_last = self.head_last or (not self.heads and bool(self.ids or self.words))
                self.heads.append(term)
            elif term.kind != "drop":
                self.ids.setdefault(term.kind, []).append(term.id)


def _add_word(segment: Segment, text: str) -> None:
    follows = bool(segment.words) or "target" in segment.ids
    if text not in vocabulary().fillers and (follows or not text.isdigit()):
        segment.words.append(text)


def _clean(text: str) -> str:
    text = fold(text)
    for pattern, replacement in _CLEANINGS:
        text = pattern.sub(replacement, text)
    return vocabulary().spans.sub(" ", text)


def _words_of(word: str) -> Iterator[str]:
    """A word of the text as vocabulary words: singular, corrected, "anti" set apart."""
    known = vocabulary().known
    plain = stem(word)
    opens_with_anti = word.startswith("anti") and len(word) > 6 and word not in vocabulary().words["not_antibodies"]
    if plain not in known and opens_with_anti:
        yield from ("anti", correct(plain[4:]))
        return
    yield plain if plain in known else correct(plain)


def _raw_words(text: str) -> Iterator[str]:
    before = ""
    for raw in _TOKEN.findall(_clean(text)):
        if not raw.isalnum():
            yield raw
        elif raw not in articles() and not (raw == "a" and before not in vocabulary().words["lettered"]):
            yield from _words_of(raw)
        before = raw


def tokenise(text: str) -> list[Token]:
    """Words, phrases and separators of a request, each with what the vocabulary says of it."""
    words = list(_raw_words(text))
    tokens, at = [], 0
    while at < len(words):
        length, terms = _longest_phrase(words, at)
        tokens.append(Token(" ".join(words[at : at + length]), terms))
        at += length
    return tokens


def _longest_phrase(words: Sequence[str], at: int) -> tuple[int, tuple[Term, ...]]:
    """How many of the words from `at` on are one phrase, and what it stands for; slash and comma do not count."""
    book = vocabulary()
    left = book.longest.get(words[at], 0)
    phrase: tuple[str, ...] = ()
    best: tuple[int, tuple[Term, ...]] = (1, ())
    for end in range(at, len(words)):
        if words[end] in ("/", ",") and phrase:
            continue
        if len(phrase) == left:
            break
        phrase += (words[end],)
        if phrase in book.phrases:
            best = (end - at + 1, book.phrases[phrase])
    return best


class Splitter:
    """Cuts tokens into segments and sets reasons apart."""

    def __init__(self, cut_reasons: bool) -> None:
        self.segments: list[Segment] = [Segment(sep="")]
        self.cut_reasons = cut_reasons
        self.in_reason = False
        self.listed = False
        self.outer: list[tuple[bool, bool]] = []
        self.previous = ""

    def feed(self, tokens: Iterable[Token]) -> list[Segment]:
        """The segments that say anything."""
        for token in tokens:
            self._take(token)
            self.previous = token.text
        return [segment for segment in self.segments if not segment.empty]

    def _take(self, token: Token) -> None:
        if not token.terms and token.text in HARD:
            self.in_reason = False
            self.listed = self.listed and bool(self.outer)
            self._open(token.text)
        elif not token.terms and token.text in SOFT and not (self.in_reason and token.text == "with"):
            self._open(token.text)
        elif not token.terms and token.text in "():":
            self._bracket(token.text)
        elif token.kind == "asks":
            self._ask()
        elif token.kind == "elaborations":
            self.listed = True
            self._open(":")
        else:
            self._word(token)

    def _word(self, token: Token) -> None:
        current = self.segments[-1]
        if self.cut_reasons and not self.in_reason and self._opens_reason(token, current):
            self.in_reason = True
        if self.in_reason:
            current.reason.append(token)
        elif token.text not in ("to", "of", "for") and token.kind != "reasons":
            current.add(token)

    def _open(self, sep: str) -> None:
        continues = self.in_reason and sep in SOFT
        self.in_reason = False
        self.segments[-1].question = sep == "?"
        self.segments.append(Segment(sep=sep, listed=self.listed, continues_reason=continues))

    def _ask(self) -> None:
        if self.outer:
            return
        self._open(self.segments[-1].sep if self.segments[-1].empty else "asks")
        self.segments[-1].asks = True

    def _bracket(self, mark: str) -> None:
        if mark == "(":
            self.outer.append((self.listed, self.in_reason))
            self.listed = True
            self._open("(")
        elif mark == ")":
            self.listed, reason = self.outer.pop() if self.outer else (False, False)
            self._open(")")
            self.in_reason = reason
        else:
            self.listed = self.listed or not self.segments[-1].empty
            self._open(":")

    def _opens_reason(self, token: Token, current: Segment) -> bool:
        if token.kind == "reasons":
            return not (token.text in ("which", "who") and current.empty)
        if token.text == "to":
            return self.previous.split(" ")[-1] not in vocabulary().words["to_keeps"]
        return token.text == "for" and not _asks_for_target(current)


def _asks_for_target(segment: Segment) -> bool:
    if segment.has(*TARGETED):
        return not segment.ids.get("target")
    if segment.has("exam", "topic"):
        return True
    return not segment.heads and not segment.words
