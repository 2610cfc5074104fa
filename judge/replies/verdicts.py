"""Verdicts on single options: "A : vrai", "B and D are incorrect", "C. its text → faux", table rows, ticks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from judge.replies import vocabulary as words
from judge.replies.listing import Listing, is_end_of_sentence, read_item, read_list
from judge.replies.normalise import ARROW, CROSS, TICK
from judge.replies.tokens import SENTENCE_ENDS, Document, Kind

_TRUE = words.TRUE_WORDS | words.TRUE_MARKS
_GAP_MARKS = words.of("/ ) ] : - → | = , ( [ \" '")
_BECAUSE = words.REASONS | words.of("dans ici here statement answer reponse proposition option choice one")
_JUDGED = words.ITEM_NOUNS | words.of("c' ce ceci cela it this that elle il ceci which")
#: A verdict behind one of these stands alone in its clause.
_BEFORE_ALONE = words.of('. : - | ( → ! ; donc , "')
_ELLIPTICAL = words.of("is are est sont isn't aren't do does don't doesn't")
_GAP = 12
#: Said of one option: "C is better", "B is closest".
_COMPARED = words.of("better preferable closest best")
_CONTRAST = words.of("; but mais while whereas tandis que contrairement , unlike")
_BEFORE_SUBJECT = words.ITEM_NOUNS | words.ANSWER_NOUNS | words.of("la les l' the")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of some options.

    Attributes:
        keys: the options judged.
        true: whether they are called right.
        strong: they are called the answer, the best or the only one.
        only: the verdict holds for these options and no other.
        start: where it is said.
        end: the position after it.
        tabular: it belongs to a line or label of its own, as in a table.
        either: it is said of one option or another, not of both.
        adds: it is said besides an earlier one ("D est aussi exacte").
        predicate: whether the word used is a positive one, whatever is denied of it ("is not correct").
    """

    keys: frozenset[str]
    true: bool
    start: int
    end: int
    strong: bool = False
    only: bool = False
    tabular: bool = False
    either: bool = False
    adds: bool = False
    predicate: bool = True


@dataclass(frozen=True, slots=True)
class _Found:
    true: bool
    end: int
    strong: bool = False
    adds: bool = False
    predicate: bool = True
    only: bool = False


def find_verdicts(document: Document) -> list[Verdict]:
    """All verdicts on options, in order; those of enumerated sections after those said outright."""
    said = list(_said(document))
    judged = {key for verdict in said if verdict.tabular for key in verdict.keys}
    return said + [v for v in _of_sections(document) if not v.keys & judged]


def _said(document: Document) -> list[Verdict]:
    found: list[Verdict] = []
    i = 0
    while i < len(document.tokens):
        if document.at(i).kind not in (Kind.LETTER, Kind.TEXT):
            i += 1
            continue
        listing = read_list(document, i)
        if listing is None:
            i += 1
            continue
        verdict = _verdict_on(document, listing, i) or _elliptical(document, listing, i, found)
        if verdict is not None:
            found.append(verdict)
            found += _likewise(document, verdict)
        i = max(listing.end, i + 1)
    return found


def _verdict_on(document: Document, listing: Listing, start: int) -> Verdict | None:
    before = _tick_before(document, start) or _word_before(document, start, listing.end)
    verdict = before or verdict_after(document, listing.end, at_line_start=document.starts_line(start))
    if verdict is None or not listing.keys or _is_doubted(document, start, verdict.end):
        return None
    true = verdict.true and not _is_denied(document, start)
    only = verdict.only or document.at(start - 1).norm in words.ONLY or document.at(start - 2).norm in words.ONLY
    tabular = document.starts_line(start) or document.at(listing.end).kind is Kind.MARK
    return Verdict(
        keys=listing.keys,
        true=true,
        start=start,
        end=verdict.end,
        strong=verdict.strong or only,
        only=only,
        tabular=tabular,
        either=listing.either and true,
        adds=verdict.adds,
        predicate=verdict.predicate,
    )


def _likewise(document: Document, verdict: Verdict) -> list[Verdict]:
    """What "…, de même que E" adds to a verdict."""
    end = document.phrase_end(document.skip(verdict.end, words.of(","), most=1), words.LIKEWISE)
    listing = read_list(document, end) if end is not None else None
    if listing is None or not document.ends_clause(listing.end):
        return []
    return [replace(verdict, keys=listing.keys, start=listing.end, end=listing.end, tabular=False)]


def _elliptical(document: Document, listing: Listing, start: int, before: list[Verdict]) -> Verdict | None:
    """ "A is not the answer; C is.", "La D l'est": the last verdict's words are meant again."""
    i = listing.end
    if document.at(i).norm == "l'":
        i += 1
    verb = document.at(i).norm
    if not (verb in words.ALSO or verb in _ELLIPTICAL):
        return None
    negated = document.at(i + 1).norm in ("not", "pas")
    denied = document.at(i).norm.endswith("n't") or negated
    if not is_end_of_sentence(document, i + 1 + negated):
        return None
    if not before:
        return (
            Verdict(listing.keys, False, start, i + 1) if denied and document.at(start - 1).norm in _CONTRAST else None
        )
    if before[-1].either:
        return None
    return replace(before[-1], keys=listing.keys, true=before[-1].predicate != denied, start=start, end=i + 1)


def _is_denied(document: Document, start: int) -> bool:
    """ "not all of A, C", "ni A ni B": the denial stands before the letters."""
    return document.at(start - 1).norm in ("not", "pas", "ni", "nor", "neither") or document.at(start - 2).norm == "not"


def _is_doubted(document: Document, start: int, end: int) -> bool:
    """A question ("Is A correct?"), a supposition or a hedge is no verdict."""
    if document.at(end).norm == "?":
        return True
    for i in range(start - 1, start - 8, -1):
        token = document.at(i)
        if token.kind in (Kind.BREAK, Kind.END) or token.norm in SENTENCE_ENDS or token.norm == ",":
            return False
        if token.norm in words.HYPOTHESES or token.norm in ("whether", "pourquoi", "why", "quand"):
            return True
    return False


def _tick_before(document: Document, start: int) -> _Found | None:
    """ "✅ A" at the start of a line."""
    i = start - 1
    while document.at(i).norm in ("(", "[", '"', "-", "|", ":", "proposition", "option", "reponse"):
        i -= 1
    if document.at(i).norm not in (TICK, CROSS) or not document.starts_line(i):
        return None
    return _Found(document.at(i).norm == TICK, start)


def _word_before(document: Document, start: int, end: int) -> _Found | None:
    """ "Vrai pour A et D, faux pour B"."""
    n = start - 1
    while document.at(n).norm in _BEFORE_SUBJECT and n > start - 5:
        n -= 1
    is_subject = document.at(n - 1).norm in ("sont", "est") and document.starts_sentence(n - 1)
    if document.at(n).norm in ("pour", "for"):
        n -= 1
    elif not is_subject:
        return None
    word = document.at(n).norm
    if word not in words.VERDICT_WORDS or not document.ends_clause(end):
        return None
    denied = any(document.at(m).norm in words.DENIALS for m in range(n - 3, n))
    return _Found((word in words.TRUE_WORDS) != denied, end)


def verdict_after(document: Document, i: int, *, at_line_start: bool = False) -> _Found | None:
    """The verdict that follows a list of options ending at `i`."""
    if _fits_best(document, i):
        return _Found(True, i + 1, strong=True)
    denied = copula = superlative = less = adds = only = False
    for j in range(i, i + _GAP):
        token = document.at(j)
        verdict = _verdict_word(document, j, copula=copula, superlative=superlative or less)
        if verdict is not None:
            true = verdict.true != (denied or less)
            return _Found(true, verdict.end, verdict.strong and not less, adds, verdict.true, only and copula)
        if token.norm in words.ANSWER_NOUNS and copula:
            return _Found(not denied, j + 1, strong=True, adds=adds)
        if not _is_gap(document, j, i, at_line_start):
            return None
        denied |= token.norm in words.NEGATIONS or token.norm in words.PARTICLES
        copula |= token.kind is Kind.WORD and (token.norm in words.COPULAS or token.norm.endswith("n't"))
        superlative |= token.norm in words.SUPERLATIVES
        less |= token.norm in words.LESS
        adds |= token.norm in words.ALSO
        only |= token.norm in words.ONLY
    return None


def _fits_best(document: Document, i: int) -> bool:
    """ "(C) fits best", "best explains the findings", "explique le mieux"."""
    if document.at(i).norm == "best":
        return document.at(i + 1).norm in words.FITTING
    if document.at(i).norm not in words.FITTING:
        return False
    for j in range(i + 1, i + 8):
        if document.at(j).norm in ("best", "mieux"):
            return document.at(document.skip(j + 1, {","}, most=1)).norm not in words.BUT
        if document.at(j).kind is not Kind.WORD or document.at(j).norm in words.NEGATIONS:
            return False
    return False


def _is_gap(document: Document, j: int, start: int, at_line_start: bool) -> bool:
    """Whether the token may stand between the letters and their verdict."""
    token = document.at(j)
    if token.norm in _GAP_MARKS or (token.norm in words.BEFORE_VERDICT and token.kind is Kind.WORD):
        return True
    if token.kind is Kind.BREAK or token.norm == ".":
        return j <= start + 1 and (at_line_start or _is_word_sentence(document, j + 1))
    return False


def _is_word_sentence(document: Document, j: int) -> bool:
    """Whether a verdict is a sentence of its own: "A. Exact. B. Inexact."."""
    norm = document.at(j).norm
    return (norm in words.TRUE_WORDS or norm in words.FALSE_WORDS) and is_end_of_sentence(document, j + 1)


def _verdict_word(document: Document, j: int, *, copula: bool, superlative: bool) -> _Found | None:
    token = document.at(j)
    norm = token.norm
    if norm in words.PRAISE or norm in ("right", "correct", "correcte", "mauvaise", "mauvais", "wrong"):
        noun = _noun_after(document, j)
        if noun or (superlative and norm in words.PRAISE):
            return _Found(norm not in words.FALSE_WORDS, noun or j + 1, strong=True)
    if (
        copula
        and norm in words.PRAISE
        and document.at(j - 1).norm in ("la", "le", "les")
        and document.ends_clause(j + 1)
    ):
        return _Found(True, j + 1, strong=True)
    if copula and norm in _COMPARED and (document.ends_clause(j + 1) or document.at(j + 1).norm == "than"):
        return _Found(True, j + 1, strong=True)
    to_do = document.at(j - 1).norm == "a" and (copula or document.at(j - 1).text == "à")
    if to_do and norm in words.TO_KEEP | words.TO_DROP:
        return _Found(norm in words.TO_KEEP, j + 1)
    if norm in words.TRUE_WORDS or norm in words.FALSE_WORDS:
        return _Found(norm in words.TRUE_WORDS, j + 1) if _is_verdict(document, j, copula) else None
    ends = document.ends_clause(j + 1) or document.at(j + 1).kind is Kind.LETTER
    if not copula and ends and (norm in words.TRUE_MARKS or norm in words.FALSE_MARKS):
        beside_mark = document.at(j - 1).norm in (":", "-", "=", "|", ARROW, "(", "[", ".")
        beside_mark |= document.at(j - 1).norm == ")" and document.at(j - 2).kind is Kind.LETTER
        beside_mark |= document.at(j - 1).kind is Kind.LETTER and (len(norm) > 1 or token.text in ("V", "F"))
        if beside_mark and token.norm not in document.keys:
            return _Found(norm in words.TRUE_MARKS, j + 1)
    return None


def _noun_after(document: Document, j: int) -> int | None:
    """Where the noun ends in "bonne réponse", "best possible answer", "right choice"."""
    for n in (j + 1, j + 2, j + 3):
        norm = document.at(n).norm
        if norm in words.ANSWER_NOUNS or norm in ("option", "choice", "choix", "proposition", "one"):
            return n + 1
        if norm not in ("possible", "and", "et", "appropriate", "la", "plus", "most", "overall"):
            return None
    return None


def _is_verdict(document: Document, j: int, copula: bool) -> bool:
    """Whether the word judges, and is not part of a term ("faux positif") or of a heading ("vrai/faux")."""
    after, second = document.at(j + 1), document.at(j + 2)
    if after.norm in words.NOT_AFTER_VERDICT or document.at(j - 1).norm in words.PARTLY:
        return False
    opposite = words.FALSE_WORDS if document.at(j).norm in words.TRUE_WORDS else words.TRUE_WORDS
    if after.norm in ("/", "ou", "or", "|") and second.norm in opposite:
        return False
    if copula or document.at(j).norm in (TICK, CROSS):
        return True
    return document.ends_clause(j + 1) or after.kind is Kind.LETTER or after.norm in _BECAUSE | {TICK, CROSS}


# Sections -----------------------------------------------------------------------------------------------------


def enumerated(document: Document) -> list[tuple[int, Listing]]:
    """Where lines begin with a letter used as a label: "A) …", "- **B** : …", "Option C. …"."""
    found: list[tuple[int, Listing]] = []
    start_of_line = True
    for i, token in enumerate(document.tokens):
        if token.kind is Kind.BREAK:
            start_of_line = True
            continue
        if not start_of_line:
            continue
        if token.kind is Kind.LETTER and len(token.keys) + len(token.stray) == 1 and _is_label(document, i):
            listing = read_item(document, i)
            if listing is not None:
                found.append((i, listing))
            start_of_line = False
        elif not _may_precede_label(document, i):
            start_of_line = False
    return found


def _may_precede_label(document: Document, i: int) -> bool:
    token = document.at(i)
    return token.kind in (Kind.NUMBER, Kind.MARK) or token.norm in words.ITEM_NOUNS | words.ANSWER_NOUNS | {"la", "l'"}


def _is_label(document: Document, i: int) -> bool:
    after = document.at(i + 1)
    return after.norm in (")", ".", ":", "-", "]", "|", ARROW) or after.kind in (Kind.BREAK, Kind.END, Kind.TEXT)


def _of_sections(document: Document) -> list[Verdict]:
    """Verdicts in the text under each label, for labels with none beside them."""
    labels = enumerated(document)
    found: list[Verdict] = []
    for n, (start, listing) in enumerate(labels):
        limit = labels[n + 1][0] if n + 1 < len(labels) else len(document.tokens)
        body = listing.end if listing.count == 1 else start + 2
        true = _judgement(document, body, _section_end(document, body, limit))
        if true is not None and listing.count == 1:
            found.append(Verdict(listing.keys, true, start, limit, tabular=True))
    return [verdict for verdict in found if verdict.keys]


def _section_end(document: Document, start: int, limit: int) -> int:
    """The blank line that ends the section; one straight after its title does not."""
    seen_text = False
    title_open = True
    for i in range(start, limit):
        token = document.at(i)
        if token.kind is not Kind.BREAK:
            seen_text |= not title_open
            continue
        if document.at(i + 1).kind is Kind.BREAK and seen_text:
            return i
        title_open = False
    return limit


def _judgement(document: Document, start: int, end: int) -> bool | None:
    """The one verdict of a section; where they differ, the last one drawn with an arrow, else none."""
    plain: set[bool] = set()
    drawn: bool | None = None
    for j in range(start, end):
        true = _stated(document, j) if _may_judge(document, j) else None
        if true is None:
            continue
        plain.add(true)
        if document.at(j - 1).norm in (ARROW, "donc", "|") or document.at(j).norm in (TICK, CROSS):
            drawn = true
    if drawn is not None:
        return drawn
    return plain.pop() if len(plain) == 1 else None


def _may_judge(document: Document, j: int) -> bool:
    """Whether the token is a verdict word; "oui" and the like only behind an arrow or in a cell."""
    norm = document.at(j).norm
    if norm in words.TRUE_WORDS or norm in words.FALSE_WORDS:
        return True
    return norm in words.TRUE_MARKS | words.FALSE_MARKS and document.at(j - 1).norm in (ARROW, "|")


def _stated(document: Document, j: int) -> bool | None:
    """What the verdict word at `j` says of the section's option: alone in its clause, or of "this statement"."""
    true = document.at(j).norm in _TRUE
    if not _is_verdict(document, j, copula=True):
        return None
    before = document.at(j - 1)
    if before.kind in (Kind.BREAK, Kind.TEXT, Kind.END) or before.norm in _BEFORE_ALONE:
        alone = document.ends_clause(j + 1) or document.at(j).norm in (TICK, CROSS)
        return true if alone and (before.norm != "," or document.ends_line(j + 1)) else None
    return _stated_of_it(document, j, true)


def _stated_of_it(document: Document, j: int, true: bool) -> bool | None:
    copula = denied = False
    for i in range(j - 1, j - 8, -1):
        norm = document.at(i).norm
        denied |= norm in words.NEGATIONS or norm in words.PARTICLES
        copula |= norm in words.POINTING_COPULAS or norm.endswith("n't") or norm in ("it's", "that's")
        if copula and norm in _JUDGED | {"it's", "that's"}:
            return true != denied
        if document.at(i).kind is not Kind.WORD or norm not in words.BEFORE_VERDICT | _JUDGED | {"it's", "that's"}:
            return None
    return None


def others_are_true(document: Document) -> bool:
    """Whether the reply calls the options it did not name right ("les autres sont exactes")."""
    for i, token in enumerate(document.tokens):
        if token.norm in words.OTHERS and token.kind is Kind.WORD:
            verdict = verdict_after(document, i + 1)
            if verdict is not None and verdict.true:
                return True
    return False
