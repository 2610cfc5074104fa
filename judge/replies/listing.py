"""Read a list of options out of a document: "B", "A, C et D", "(A) and (C)", "B) its text", "A à D"."""

from __future__ import annotations

from dataclasses import dataclass

from judge.replies import vocabulary as words
from judge.replies.tokens import SENTENCE_ENDS, Document, Kind, Token

#: A reply names each option a few times at most; longer lists are noise.
_AFTER_SMALL_A = words.of("est is et and ou or because since parce puisque to through")
_MOST_ITEMS = 24
#: Tokens in a remark on an item.
_GLOSS = 16

_OPENING = words.of("( [ \" ' • | < .") | {"\ue000"}
_CLOSING = words.of(") ] \" ' >")
_TO_TEXT = words.of(") ] \" ' . : - ( ,")
_SEPARATORS = words.of(", ; / & + • |") | words.of("et and plus puis ainsi que qu' as well")
_RANGES = words.of("to through thru jusqu' jusque")
_SINGULAR = words.of("est is n' isn't was etait a measures best seems has = →") | words.FITTING
_BULLETS = words.of("- * + • . )")


@dataclass(frozen=True, slots=True)
class Listing:
    """Options named one after the other.

    Attributes:
        keys: the options.
        stray: letters that are no option.
        end: the position after the list.
        count: how many items were named, repeats included.
        echoed: how many of them came with their text.
        either: the list is a choice between its items ("A ou B").
        contradictory: a letter came with another option's text.
        capital: no item rests on a lower-case letter.
    """

    keys: frozenset[str]
    stray: frozenset[str]
    end: int
    count: int = 1
    echoed: int = 0
    either: bool = False
    contradictory: bool = False
    capital: bool = True

    def join(self, other: Listing, either: bool) -> Listing:
        """This list, continued by `other`."""
        return Listing(
            self.keys | other.keys,
            self.stray | other.stray,
            other.end,
            self.count + other.count,
            self.echoed + other.echoed,
            self.either or other.either or either,
            self.contradictory or other.contradictory,
            self.capital and other.capital,
        )


def read_list(document: Document, i: int) -> Listing | None:
    """The list that starts at `i`, or None if no option is named there."""
    found = read_item(document, i)
    if found is None:
        return None
    while found.count < _MOST_ITEMS:
        separator = _separator(document, found.end) or _separator_after_gloss(document, found.end)
        if separator is None:
            break
        start, either, new_line, comma = separator
        item = read_item(document, start)
        if item is None or not _continues(document, item, new_line, comma):
            break
        found = found.join(item, either)
    return found


def _continues(document: Document, item: Listing, new_line: bool, comma: bool) -> bool:
    """Whether the item belongs to the list, and does not begin a sentence of its own ("B, C est faux")."""
    if new_line:
        return document.ends_line(item.end)
    return not comma or document.at(item.end).norm not in _SINGULAR


def _separator(document: Document, i: int) -> tuple[int, bool, bool, bool] | None:
    """Where the next item would start, whether "or" stands between, a line break does, or a mere comma."""
    start, either, new_line, words_between = i, False, False, False
    if document.at(i - 1).kind is Kind.TEXT and document.at(i).norm == "." and document.at(i + 1).kind is Kind.BREAK:
        # "B. its text.", and the next line likewise.
        i += 1
    while i < start + 8:
        token = document.at(i)
        joined = document.phrase_end(i, words.JOINING)
        if joined is not None:
            words_between, i = True, joined
            continue
        if token.norm in words.EITHER:
            either = True
        elif token.kind is Kind.BREAK:
            new_line = True
        elif new_line and (token.norm in _BULLETS or token.kind is Kind.NUMBER):
            pass
        elif token.norm not in _SEPARATORS:
            break
        words_between |= token.kind is Kind.WORD
        i += 1
    if i > start:
        return i, either, new_line, not (words_between or new_line)
    return _unseparated(document, i)


def _separator_after_gloss(document: Document, i: int) -> tuple[int, bool, bool, bool] | None:
    """The separator behind a remark on the item: "A (cohorte prospective) et D", "A - cohorte ; D - biais"."""
    closing = {"(": ")", "[": "]", "-": ";"}.get(document.at(i).norm)
    if closing is None:
        return None
    for j in range(i + 1, i + _GLOSS):
        token = document.at(j)
        if token.norm == closing:
            return _separator(document, j if closing == ";" else j + 1)
        judges = token.norm in words.VERDICT_WORDS or token.norm in words.HEDGES
        judges |= j == i + 1 and token.norm in words.VERDICT_MARKS
        if judges or token.kind in (Kind.LETTER, Kind.BREAK, Kind.END):
            return None
    return None


def _unseparated(document: Document, i: int) -> tuple[int, bool, bool, bool] | None:
    """ "A C D" and "A. C. D." """
    after = i + 1 if document.at(i).norm == "." else i
    token, following = document.at(after), document.at(after + 1)
    if (
        token.kind is not Kind.LETTER
        or not token.strong
        or not token.keys
        or document.at(i - 1).kind is not Kind.LETTER
    ):
        return None
    if after > i and not (following.norm == "." or following.kind is Kind.END):
        return None
    return after, False, False, True


def read_item(document: Document, i: int) -> Listing | None:
    """The first item of the list that starts at `i`."""
    if i not in document.items:
        document.items[i] = _item(document, i)
    return document.items[i]


def _item(document: Document, i: int) -> Listing | None:
    i = document.skip(i, _OPENING | words.BEFORE_LETTERS, most=6)
    token = document.at(i)
    if token.kind is Kind.TEXT:
        label = document.at(i + 2)
        labelled = document.at(i + 1).norm == "(" and label.kind is Kind.LETTER and label.keys == token.keys
        return Listing(frozenset(token.keys), frozenset(), _closed(document, i + (3 if labelled else 1)), echoed=1)
    if token.kind is not Kind.LETTER or not _is_letter_here(document, i):
        return None
    span = _range(document, i)
    if span is not None:
        return span
    return _with_text(document, i, token)


def _is_letter_here(document: Document, i: int) -> bool:
    """Whether a weak letter is one, judged by what follows: "a, c", but not "a car"."""
    token, after = document.at(i), document.at(i + 1)
    if len(token.keys) > 1:
        return document.ends_clause(i + 1)
    if token.strong:
        return True
    if after.kind in (Kind.TEXT, Kind.LETTER, Kind.END, Kind.BREAK):
        return after.kind is not Kind.TEXT or after.keys == token.keys or token.norm != "a"
    if after.kind is Kind.MARK:
        joint = after.norm == "-" and document.at(i + 2).kind is Kind.LETTER
        return not (after.norm == "'" and after.glued) and (joint or not (after.norm == "-" and after.glued))
    if token.norm == "a" and after.norm == "car":
        return False
    if token.text == "a" and after.kind is Kind.WORD:
        # The French verb: "la réponse a donc …".
        return after.norm in _AFTER_SMALL_A or after.text in ("à", "À")
    return after.norm in words.REASONS or after.norm in _RANGES or after.text in ("à", "À")


def _range(document: Document, i: int) -> Listing | None:
    """ "A à D", "A-D", "A through D"; "A - C - D" is a list."""
    first, between, last = document.at(i), document.at(i + 1), document.at(i + 2)
    is_range = between.norm in _RANGES or between.text in ("à", "À") or between.norm == "-"
    if not is_range or last.kind is not Kind.LETTER or len(first.keys) != 1 or len(last.keys) != 1:
        return None
    if not _is_letter_here(document, i + 2):
        return None
    if between.norm == "-" and not _is_lone_dash(document, i):
        keys, end = _dashed(document, i)
        return Listing(keys, frozenset(), end, count=len(keys)) if len(keys) > 1 else None
    low, high = document.order.index(first.keys[0]), document.order.index(last.keys[0])
    if low >= high:
        return None
    keys = frozenset(document.order[low : high + 1])
    return Listing(keys, frozenset(), _closed(document, i + 3), count=len(keys))


def _is_lone_dash(document: Document, i: int) -> bool:
    # "B - D" with spaces is a list.
    return document.at(i + 1).glued and document.at(i + 3).norm != "-" and document.ends_clause(i + 3)


def _dashed(document: Document, i: int) -> tuple[frozenset[str], int]:
    """The letters of "A-C-D"."""
    keys = list(document.at(i).keys)
    start, i = i, i + 1
    while document.at(i).norm == "-" and document.at(i + 1).kind is Kind.LETTER and i < start + _MOST_ITEMS:
        keys += document.at(i + 1).keys
        i += 2
    return frozenset(keys), i


def _with_text(document: Document, i: int, token: Token) -> Listing:
    """The letter, and its text if that is repeated after it."""
    j = document.skip(i + 1, _TO_TEXT, most=4)
    text = document.at(j)
    named, stray, capital = frozenset(token.keys), frozenset(token.stray), token.text.isupper()
    count = max(len(token.keys), 1)
    if _is_own_letter(document, i, token):
        return Listing(named, stray, _closed(document, i + 3), echoed=1, capital=capital)
    if text.kind is Kind.TEXT and len(token.keys) == 1:
        between = [document.at(n).norm for n in range(i + 1, j)]
        if text.keys == token.keys:
            return Listing(named, stray, _closed(document, j + 1), echoed=1, capital=capital)
        end = _closed(document, j + 1)
        # "The answer is C. Hepatitis A and E are …" begins a sentence of its own.
        goes_on = between[:1] == ["."] and document.at(end).kind is Kind.WORD
        if _labels(between) and document.ends_clause(end) and not goes_on:
            return Listing(named, stray, end, contradictory=True, echoed=1, capital=capital)
    return Listing(named, stray, _closed(document, i + 1), count=count, capital=capital)


def _is_own_letter(document: Document, i: int, token: Token) -> bool:
    """Whether the letter is followed by its text where that is a letter too: "A. C" for {"A": "C"}."""
    if document.at(i + 1).norm not in (".", ")", ":", "(", "-") or len(token.keys) != 1:
        return False
    return document.texts.single.get(token.keys[0]) == document.at(i + 2).norm


def _labels(between: list[str]) -> bool:
    """Whether these marks make the letter a label of what follows."""
    return bool(between) and between[0] in (")", ".", ":", "]", "-") and "," not in between


def _closed(document: Document, i: int) -> int:
    return document.skip(i, _CLOSING, most=3)


def is_end_of_sentence(document: Document, i: int) -> bool:
    """Whether a sentence, a line or the reply ends at `i`."""
    token = document.at(i)
    return token.kind in (Kind.END, Kind.BREAK) or token.norm in SENTENCE_ENDS
