"""Cut a plain reply into words, marks, option letters and option texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from judge.replies import vocabulary as words
from judge.replies.normalise import BOX, clean, fold, plain

if TYPE_CHECKING:
    from judge.replies.listing import Listing


class Kind(Enum):
    WORD = auto()
    NUMBER = auto()
    MARK = auto()
    BREAK = auto()
    LETTER = auto()
    TEXT = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of a reply.

    Attributes:
        kind: what it is.
        text: as written.
        norm: without case and accents.
        glued: nothing stands between it and the token before.
        keys: the options named, for a letter or an option's text.
        stray: letters named that are no option.
        strong: a letter that cannot well be the article "a" or another word.
    """

    kind: Kind
    text: str
    norm: str
    glued: bool = False
    keys: tuple[str, ...] = ()
    stray: tuple[str, ...] = ()
    strong: bool = False


_END = Token(Kind.END, "", "")

_TOKEN = re.compile(
    r"""
      (?P<break>\n)
    | (?P<elision>(?:qu|jusqu|lorsqu|puisqu|[cdjlmnst])'(?=[^\W_]))
    | (?P<number>(?:(?<![^\s(:=])-)?\d+(?:[.,]\d+)*(?![^\W\d_]))
    | (?P<word>[^\W_]+(?:'(?:t|s|re|ve|d|ll|m)(?![^\W_]))?)
    | (?P<mark>[^\w\s])
    """,
    re.IGNORECASE | re.VERBOSE,
)
_KINDS = {"break": Kind.BREAK, "number": Kind.NUMBER, "mark": Kind.MARK}

#: Greek and Cyrillic capitals that look like option letters.
_LOOKALIKES = str.maketrans("АВСЕНІКМОРТХΑΒΕΖΗΙΚΜΝΟΡΤΧ" + "асе", "ABCEHIKMOPTXABEZHIKMNOPTX" + "ace")
_LOOKALIKE = re.compile("[АВСЕНІΑΒΕΗΙ]{1,5}|[асе]")
#: One Greek or Cyrillic word that has no Latin look-alike means the letters are that alphabet's own.
_OTHER_ALPHABET = re.compile("[\u0430-\u044f\u03b1-\u03c9]{3,}")
_STRAY_LETTERS = frozenset("ABCDEFGHIJ")
#: Words an option's text may lose when it is repeated.
_ARTICLES = words.of("the a an le la les l' un une des du de d' both")


class Document:
    """The tokens of one reply and the options it answers.

    Attributes:
        tokens: in order.
        options: key to text, as given.
    """

    def __init__(self, text: str, options: Mapping[str, str]) -> None:
        """Read a cleaned text; markup is removed here."""
        self.options = dict(options)
        self.keys = _letter_keys(options)
        self.order = list(options)
        self.texts = OptionTexts(options)
        tokens = list(_raw_tokens(plain(text)))
        tokens = self.texts.mark(tokens)
        if not self.texts.numeric:
            tokens = list(_count(tokens, self.order))
        #: Items already read by position, for `listing.read_item`; lists are read from many starting points.
        self.items: dict[int, Listing | None] = {}
        self.tokens: list[Token] = _mark_letters(tokens, self.keys)

    def at(self, i: int) -> Token:
        """The token at `i`; past either end, an END token."""
        return self.tokens[i] if 0 <= i < len(self.tokens) else _END

    def skip(self, i: int, norms: Iterable[str] | frozenset[str], most: int = 8) -> int:
        """The first position from `i` whose token is none of `norms`, or is a plain letter; at most `most` further."""
        end = i + most
        while i < end and self.at(i).kind is not Kind.END and self.at(i).norm in norms and not self.at(i).strong:
            i += 1
        return i

    def phrase_end(self, i: int, phrases: words.Phrases) -> int | None:
        """Where the longest of `phrases` that stands at `i` ends."""
        for phrase in phrases.get(self.at(i).norm, ()):
            if all(self.at(i + n).norm == word for n, word in enumerate(phrase)):
                return i + len(phrase)
        return None

    def starts_line(self, i: int) -> bool:
        """Whether only bullets and numbering stand between the line's start and `i`."""
        for back in range(1, 7):
            token = self.at(i - back)
            if token.kind in (Kind.BREAK, Kind.END):
                return True
            if token.norm not in _BULLETS and token.kind is not Kind.NUMBER:
                return False
        return False

    def starts_sentence(self, i: int) -> bool:
        """Whether a line or a sentence starts at `i`."""
        return self.starts_line(i) or self.at(i - 1).norm in SENTENCE_ENDS

    def ends_clause(self, i: int) -> bool:
        """Whether nothing more is said at `i`: an end, a mark, or a word that gives a reason."""
        token = self.at(i)
        if token.kind in (Kind.END, Kind.BREAK):
            return True
        if token.kind is Kind.MARK:
            return token.norm not in ("'", "?", "+", "%") and not (token.norm == "-" and token.glued)
        return token.norm in words.REASONS

    def ends_line(self, i: int) -> bool:
        """Whether only closing marks stand between `i` and the line's end."""
        i = self.skip(i, _CLOSING)
        return self.at(i).kind in (Kind.END, Kind.BREAK)


SENTENCE_ENDS = words.of(". ! ? ;")
_BULLETS = words.of("- * + • > ( [ \" ' | . ) → ✓ ✗") | {BOX}
_CLOSING = words.of(". ! ; : ) ] \" ' | ,")


def _letter_keys(options: Mapping[str, str]) -> dict[str, str]:
    """Upper-case letter to option key."""
    return {key.upper(): key for key in reversed(list(options))}


def _raw_tokens(text: str) -> Iterator[Token]:
    end = -1
    for match in _TOKEN.finditer(text):
        kind = _KINDS.get(match.lastgroup or "", Kind.WORD)
        norm = match[0].replace(",", ".") if kind is Kind.NUMBER else fold(match[0])
        yield Token(kind, match[0], norm, glued=match.start() == end)
        end = match.end()


# Option texts -------------------------------------------------------------------------------------------------


class OptionTexts:
    """Finds the options' texts in a reply, whatever their case, accents, spacing and punctuation.

    Attributes:
        numeric: an option is itself a number, so "2" or "the second" cannot count options.
        noun: the noun all options begin with, as in "Biais de …", without its s; empty without one.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        said = [clean(text) for text in options.values()]
        self.symbols = {
            clean(text): key for key, text in options.items() if text.strip() and said.count(clean(text)) == 1
        }
        full = {key: _text_norms(text) for key, text in options.items()}
        self.single = {
            key: norms[0]
            for key, norms in full.items()
            if len(norms) == 1 and (len(norms[0]) == 1 or norms[0] in words.RESERVED)
        }
        self._full = _unique(full.items())
        self._spellings = dict(self._full)
        for norms, key in _unique(_aliases(options)).items():
            self._spellings.setdefault(norms, key)
        self._by_first: dict[str, list[tuple[str, ...]]] = {}
        for norms in sorted(self._spellings, key=len, reverse=True):
            self._by_first.setdefault(norms[0], []).append(norms)
        firsts = {norms[0].rstrip("s") for norms in full.values() if norms}
        self.noun = firsts.pop() if len(firsts) == 1 and len(options) > 2 and not firsts & words.RESERVED else ""
        self.numeric = any(_is_number(norms) for norms in full.values())

    def key_of(self, norms: tuple[str, ...]) -> str | None:
        """The option that is said by exactly these words."""
        return self._spellings.get(norms)

    def mark(self, tokens: list[Token]) -> list[Token]:
        """The tokens with each option's text, longest first, put into one TEXT token."""
        marked: list[Token] = []
        i = 0
        while i < len(tokens):
            found = self.find(tokens, i)
            if found is None or not self._is_telling(found[0]):
                marked.append(tokens[i])
                i += 1
                continue
            norms, end = found
            end += end < len(tokens) and tokens[end].norm == "%"
            text = " ".join(norms)
            marked.append(Token(Kind.TEXT, text, text, tokens[i].glued, keys=(self._spellings[norms],)))
            i = end
        return marked

    def find(self, tokens: Sequence[Token], i: int) -> tuple[tuple[str, ...], int] | None:
        """The longest option text that starts at `i`: its words and where it ends."""
        for norms in self._by_first.get(tokens[i].norm, ()):
            end = _match(tokens, i, norms)
            if end is not None:
                return norms, end
        return None

    def _is_telling(self, norms: tuple[str, ...]) -> bool:
        """Single letters are keys, and words such as "none" or "true" are read by their place in the sentence."""
        if len(norms) > 1:
            return len(norms) > 2 or not all(norm in words.UNTELLING for norm in norms)
        return len(norms[0]) > 1 and norms[0] not in words.RESERVED and not _is_number(norms)


def _text_norms(text: str) -> tuple[str, ...]:
    norms = [t.norm for t in _raw_tokens(plain(clean(text))) if t.kind in (Kind.WORD, Kind.NUMBER)]
    return tuple(norms)


def _aliases(options: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """A text without its article or its unit, and both names in "GGT (gamma-glutamyl transferase)"."""
    for key, text in options.items():
        norms = _text_norms(text)
        if len(norms) > 1 and norms[0] in _ARTICLES:
            yield key, norms[1:]
        if len(norms) > 2 and norms[0] in ("both", "neither"):
            yield key, norms[:1]
        if len(norms) == 2 and _is_number(norms):
            yield key, norms[:1]
        before, bracket, rest = clean(text).partition("(")
        if bracket and rest.rstrip(" .").endswith(")") and before.strip():
            yield key, _text_norms(before)
            yield key, _text_norms(rest)


def _unique(spellings: Iterable[tuple[str, tuple[str, ...]]]) -> dict[tuple[str, ...], str]:
    """Words to key, without words that name several options."""
    keys: dict[tuple[str, ...], set[str]] = {}
    for key, norms in spellings:
        if norms:
            keys.setdefault(norms, set()).add(key)
    return {norms: named.pop() for norms, named in keys.items() if len(named) == 1}


def _is_number(norms: tuple[str, ...]) -> bool:
    return bool(norms) and norms[0].lstrip("-")[:1].isdigit()


def _match(tokens: Sequence[Token], i: int, norms: tuple[str, ...]) -> int | None:
    """Where `norms` end in `tokens` from `i`, punctuation within them ignored."""
    for n, norm in enumerate(norms):
        while n and i < len(tokens) and tokens[i].kind is Kind.MARK and tokens[i].norm not in "✓✗→":
            i += 1
        if i >= len(tokens) or tokens[i].norm != norm:
            return None
        i += 1
    return i


# Numbers that count options -----------------------------------------------------------------------------------


def _count(tokens: list[Token], order: list[str]) -> Iterator[Token]:
    """ "option 2" and "the third proposition" name their option."""
    counting = counted = False
    for i, token in enumerate(tokens):
        if counted:
            counted = False
            continue
        ordinal = words.ORDINALS.get(token.norm)
        if counting and token.kind is Kind.NUMBER:
            yield _numbered(token, order)
            continue
        if ordinal is not None and _counts(tokens, i):
            # "the second option" is "B", without the noun.
            counted = True
            yield _numbered(replace(token, norm=str(ordinal + 1 or len(order))), order)
            continue
        counting = token.norm in words.COUNTED_NOUNS or (counting and token.norm in _COUNTING_ON)
        yield token


_COUNTING_ON = words.of(", et and & / n° n numero number # °")


def _counts(tokens: list[Token], i: int) -> bool:
    after = tokens[i + 1].norm if i + 1 < len(tokens) else ""
    before = tokens[i - 1].norm if i else ""
    return after in words.COUNTED_NOUNS and before not in ("ma", "mon", "my")


def _numbered(token: Token, order: list[str]) -> Token:
    number = int(token.norm) if token.norm.isdigit() and len(token.norm) < 3 else 0
    if not 1 <= number <= len(order):
        return token
    return replace(token, kind=Kind.LETTER, keys=(order[number - 1],), strong=True)


# Letters ------------------------------------------------------------------------------------------------------


def _mark_letters(tokens: list[Token], keys: Mapping[str, str]) -> list[Token]:
    foreign = any(t.kind is Kind.WORD and _OTHER_ALPHABET.search(t.text) for t in tokens)
    if not foreign:
        tokens = [_latin(token) for token in tokens]
    in_terms = _term_letters(tokens)
    return [token if i in in_terms else _letter(tokens, i, keys) for i, token in enumerate(tokens)]


def _latin(token: Token) -> Token:
    if token.kind is Kind.WORD and _LOOKALIKE.fullmatch(token.text):
        text = token.text.translate(_LOOKALIKES)
        return replace(token, text=text, norm=fold(text))
    return token


def _term_letters(tokens: list[Token]) -> set[int]:
    """Where letters belong to the term before them: the A and the B of "hépatite A et B"."""
    found: set[int] = set()
    for i, token in enumerate(tokens):
        if token.kind is not Kind.WORD or token.norm not in words.TERMS:
            continue
        j = i + 1
        while _is_single(_peek(tokens, j)):
            found.add(j)
            j += 2 if _peek(tokens, j + 1).norm in ("et", "and", "ou", "or", "/", "vs", "versus") else len(tokens)
    return found


def _letter(tokens: list[Token], i: int, keys: Mapping[str, str]) -> Token:
    """The token, as a LETTER if it can name options."""
    token = tokens[i]
    if token.kind is not Kind.WORD or len(token.text) > len(keys):
        return token
    if len(token.text) > 1:
        return _joined_letters(token, keys)
    if _is_tied(tokens, i):
        return token
    capital = token.text.upper()
    if capital in keys:
        return replace(token, kind=Kind.LETTER, keys=(keys[capital],), strong=_is_strong(tokens, i))
    if token.text in _STRAY_LETTERS and _is_strong(tokens, i):
        return replace(token, kind=Kind.LETTER, stray=(token.text,), strong=True)
    return token


def _joined_letters(token: Token, keys: Mapping[str, str]) -> Token:
    """ "ACD": several letters, if they are in order; "ACE" is told from letters by what follows it."""
    letters = list(token.text)
    if all(letter in keys and letter.isupper() for letter in letters) and letters == sorted(set(letters)):
        return replace(token, kind=Kind.LETTER, keys=tuple(keys[letter] for letter in letters))
    return token


def _is_tied(tokens: list[Token], i: int) -> bool:
    """Whether the letter is a piece of something longer: "C-reactive", "38 °C", "B+", "E. coli", "e.g.", "B cells"."""
    after, second = _peek(tokens, i + 1), _peek(tokens, i + 2)
    if tokens[i].glued and _peek(tokens, i - 1).norm in ("°", "-", "%") and len(_peek(tokens, i - 2).text) > 1:
        return True
    if after.norm in words.TERM_TAILS or (after.norm == "." and second.norm in words.SPECIES):
        return True
    if not after.glued or (not second.glued and after.norm != "+"):
        return False
    if after.norm == "-":
        return second.kind in (Kind.WORD, Kind.NUMBER) and len(second.text) > 1 and not second.text[:1].isupper()
    if after.norm in (".", "/"):
        return (len(second.text) == 1 and second.text.islower() and second.kind is Kind.WORD) or second.norm == "a"
    return after.norm == "+" and not second.glued and not _is_single(second)


def _is_single(token: Token) -> bool:
    return token.kind is Kind.WORD and len(token.text) == 1


def _is_strong(tokens: list[Token], i: int) -> bool:
    """A capital that is no article and no pronoun."""
    token, after = tokens[i], _peek(tokens, i + 1)
    if not token.text.isupper():
        return False
    before = _peek(tokens, i - 1).norm
    if before in (words.ITEM_NOUNS | words.ANSWER_NOUNS) - {"q", "question"}:
        return True
    if token.text in ("A", "I") and after.kind is Kind.NUMBER:
        return False
    if token.text not in ("A", "I", "O", "Y") or after.kind not in (Kind.WORD, Kind.TEXT) or len(after.text) == 1:
        return True
    if after.kind is Kind.TEXT:
        return token.text in (key.upper() for key in after.keys)
    if token.text == "I" and after.norm == "would":
        return False
    if after.norm == "car":
        return any(_peek(tokens, n).norm in _FRENCH for n in range(i + 2, i + 8))
    return after.text.isupper() or after.norm in words.AFTER_LETTER_A


#: Words that tell "A car l'étude …" from "A car moves".
_FRENCH = words.of("le la les l' est sont une un des du d' qu' c' s' n' il elle on que ce en cette aucun")


def _peek(tokens: list[Token], i: int) -> Token:
    return tokens[i] if 0 <= i < len(tokens) else _END
