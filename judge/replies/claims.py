"""Announced answers: "The answer is B", "Réponses : A, C", "je retiens D", "None of the above", boxes and tags."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import IntEnum

from judge.replies import vocabulary as words
from judge.replies.listing import Listing, is_end_of_sentence, read_list
from judge.replies.normalise import ARROW, BOX
from judge.replies.quantified import everything_or_nothing
from judge.replies.refusals import contrasts, is_conditional_on, is_past, is_supposed, refused_tokens, takes_back
from judge.replies.tokens import SENTENCE_ENDS, Document, Kind
from judge.replies.verdicts import Verdict, enumerated, verdict_after

_REACH = 18
_SHORT_REACH = 8
#: Before an announcing word, these leave nothing announced.
_DENYING = words.of("not pas no aucune aucun ne n' another isn't don't wouldn't can't")
#: "I initially chose C": the choice did not last.
_FIRST = words.of("initially initialement originally tempted")
_PREPOSITIONS = words.of("with for pour sur towards toward vers to")
_VERBS = words.COPULAS - words.of("= → -")
_COLONS = words.of(": = →")


class Rank(IntEnum):
    """How plainly an answer is announced; a plainer one outweighs a later one."""

    LABEL = 0
    CONCLUSION = 1
    ANCHORED = 2
    FINAL = 3


@dataclass(frozen=True, slots=True)
class Claim:
    """One announced answer.

    Attributes:
        keys: the options named; empty for "none of them".
        stray: letters named that are no option.
        start: where the announcement begins.
        rank: how plainly it is announced.
        how: the rule that read it.
        ambiguous: it does not settle on an answer ("A ou B", a letter with another option's text).
        adds: it names further right options ("C est aussi …") rather than replacing earlier ones.
        denied: it names what is not the answer.
    """

    keys: frozenset[str]
    stray: frozenset[str]
    start: int
    rank: Rank
    how: str = "anchored"
    ambiguous: bool = False
    adds: bool = False
    denied: bool = False
    complement: bool = False


@dataclass(slots=True)
class _Path:
    """What is met on the way from an announcing word to its letters."""

    position: int
    negative: bool = False
    denied: bool = False
    copula: bool = False
    conditional: bool = False
    unknown: bool = False
    only: bool = False
    assertive: bool = False
    adds: bool = False
    final: bool = False
    heading: bool = False
    met: list[str] = field(default_factory=list)

    def note(self, document: Document, i: int) -> None:
        """Take account of a token that is not the answer itself."""
        token = document.at(i)
        norm = token.norm
        if norm in words.COPULAS or norm.endswith("n't"):
            self.copula, self.unknown = True, False
        elif not _is_glue(norm):
            self.unknown = True
        self.negative |= norm in words.FALSE_WORDS
        self.denied |= norm in words.NEGATIONS or norm in words.PARTICLES or norm.endswith("n't")
        self.conditional |= norm in words.CONDITIONALS
        self.only |= norm in words.ONLY
        self.assertive |= norm in words.ASSERTIVE
        self.adds |= norm in words.ALSO
        self.final |= norm in ("final", "finale", "finales", "definitive")
        self.met.append(norm)


def _is_glue(norm: str) -> bool:
    return (
        norm in words.GLUE
        or norm in words.NEGATIONS
        or norm in words.PARTICLES
        or norm in words.FALSE_WORDS
        or norm in words.HEDGES
        or not norm.isalpha()
        or norm in ("c'", "it", "ce", "it's", "etre")
    )


def find_claims(document: Document, verdicts: list[Verdict]) -> list[Claim]:
    """All announced answers in order, those in refusals, questions and suppositions left out."""
    scan = _Scan(document, _Blocks(document, verdicts))
    refused = refused_tokens(document)
    claims = [claim for i, declines in enumerate(refused) if not declines for claim in _claims_at(scan, i)]
    return list(_taken_back(document, claims))


def _taken_back(document: Document, claims: list[Claim]) -> Iterator[Claim]:
    """The claims; a conclusion drawn after a "Wait," is as plain as the answer it takes back."""
    latest: Claim | None = None
    for claim in claims:
        if latest is not None and claim.rank is Rank.CONCLUSION and not claim.denied:
            between = range(latest.start + 1, claim.start)
            if any(takes_back(document, n) for n in between):
                claim = replace(claim, rank=latest.rank)
        if claim.rank >= Rank.ANCHORED:
            latest = claim
        yield claim


class _Blocks:
    """Runs of lines, each with its letter and some prose of its own, that may stand under an announcement."""

    def __init__(self, document: Document, verdicts: list[Verdict]) -> None:
        labels = enumerated(document)
        self._starts = [at for at, _ in labels]
        self._runs = [listing for _, listing in labels]
        self._judged_until = max((v.start for v in verdicts if v.tabular), default=-1)
        for n in range(len(labels) - 2, -1, -1):
            if not _has_paragraph_between(document, labels[n][1].end, self._starts[n + 1]):
                self._runs[n] = self._runs[n].join(self._runs[n + 1], False)

    def at(self, document: Document, i: int) -> Listing | None:
        """The run that starts at the line at `i`, unless its lines are judged one by one."""
        if document.at(i - 1).kind is not Kind.BREAK or self._judged_until >= i:
            return None
        n = bisect_left(self._starts, i)
        if n + 1 >= len(self._starts) or self._starts[n] > i + 4:
            return None
        return self._runs[n]


@dataclass(frozen=True, slots=True)
class _Scan:
    document: Document
    blocks: _Blocks


def _claims_at(scan: _Scan, i: int) -> Iterator[Claim]:
    document = scan.document
    token = document.at(i)
    norm = token.norm
    if norm == BOX:
        yield from _announced(scan, i, Rank.FINAL)
    elif token.kind is not Kind.WORD and norm != ARROW and norm not in words.NUMBERS:
        return
    elif norm in words.ANSWER_NOUNS:
        yield from _announced(scan, i, Rank.ANCHORED)
    elif norm in words.ITEM_NOUNS or norm in words.PRAISE:
        claims = list(_announced(scan, i, Rank.ANCHORED, item=True))
        yield from claims or _weak_claims_at(scan, i)
    elif _is_choosing(document, i):
        yield from _announced(scan, i, Rank.ANCHORED)
    elif norm in words.CORRECTING:
        yield from _corrected(scan, i)
    elif norm == "one" and document.at(i - 1).norm in words.ASSERTIVE:
        yield from _announced(scan, i, Rank.ANCHORED, item=True)
    elif norm in words.TRUE_WORDS or norm in words.FALSE_WORDS:
        yield from _headed(scan, i)
    else:
        yield from _weak_claims_at(scan, i)


def _weak_claims_at(scan: _Scan, i: int) -> Iterator[Claim]:
    document = scan.document
    norm = document.at(i).norm
    if (
        (norm in words.POINTING and document.at(i + 1).norm in words.POINTING_COPULAS | words.PARTICLES | {"isn't"})
        or norm in ("it's", "that's")
        or (norm in words.SAYING and not is_past(document, i))
        or (norm == "left" and document.at(i + 1).norm == "with")
        or (
            norm in words.CONCLUDING
            and document.at(i + 1).norm not in ("que", "qu'")
            and not _is_false_heading(document, i)
        )
        or document.at(i).text.casefold() == "où"
        or (norm in words.BUT and contrasts(document, i))
        or (norm in words.PRAISE and document.at(i - 1).norm in words.SUPERLATIVES)
    ):
        yield from _announced(scan, i, Rank.CONCLUSION)
    elif takes_back(document, i) and document.at(i + 1).norm in (",", ":", "-", "…"):
        # "Non, A et D." takes back what was announced before.
        yield from (replace(claim, rank=Rank.ANCHORED) for claim in _announced(scan, i, Rank.CONCLUSION))
    elif norm in ("ni", "neither") or _denies_at_once(document, i):
        yield from _neither(document, i)
    elif norm in words.ALL_WORDS or norm in words.NONE_WORDS or norm in ("no", "pas") or norm in words.NUMBERS:
        yield from _quantified(document, i)


def _is_false_heading(document: Document, i: int) -> bool:
    """ "Incorrectes → C, D", "A → F"."""
    maps = document.at(i - 1).kind is Kind.LETTER and bool(document.at(i + 1).stray)
    return document.at(i).norm == ARROW and (document.at(i - 1).norm in words.FALSE_WORDS or maps)


def _corrected(scan: _Scan, i: int) -> Iterator[Claim]:
    """ "Correction : B, D", "Je retire C et j'ajoute B : A, B"."""
    for n in range(i + 1, i + _SHORT_REACH):
        if scan.document.at(n).norm == ":":
            yield from _announced(scan, n - 1, Rank.ANCHORED)
        if is_end_of_sentence(scan.document, n) or scan.document.at(n).norm == ":":
            return


def _denies_at_once(document: Document, i: int) -> bool:
    """ "Not A, not C"."""
    opens = document.starts_sentence(i) or document.at(i - 1).norm == ","
    return opens and document.at(i).norm in ("not", "pas") and document.at(i + 1).kind in (Kind.LETTER, Kind.TEXT)


def _is_choosing(document: Document, i: int) -> bool:
    norm = document.at(i).norm
    if any(document.at(n).norm in words.THIRD_PARTIES for n in range(i - 3, i)):
        return False
    if any(document.at(n).norm in _FIRST for n in range(i - 4, i)):
        return False
    with_words = words.CHOOSING_WITH.get(norm)
    return norm in words.CHOOSING or (with_words is not None and document.at(i + 1).norm in with_words)


def _quantified(document: Document, i: int) -> Iterator[Claim]:
    """ "Toutes sauf B." as a sentence of its own."""
    found = everything_or_nothing(document, i, announced=False)
    if found is not None:
        yield Claim(found.keys, frozenset(), i, Rank.CONCLUSION, how=found.how)


def _neither(document: Document, i: int) -> Iterator[Claim]:
    """ "Ni A ni B."""
    listing = read_list(document, i + 1)
    if listing is not None:
        end = _further_denied(document, listing.end)
        named = [t for t in document.tokens[i:end] if t.kind in (Kind.LETTER, Kind.TEXT)]
        yield Claim(frozenset(k for t in named for k in t.keys), frozenset(), i, Rank.LABEL, denied=True)


def _headed(scan: _Scan, i: int) -> Iterator[Claim]:
    """ "Vraies : A, C", "Correct: B"."""
    document = scan.document
    start = i - 1 if document.at(i - 1).norm in ("les", "the", "est", "sont") else i
    after = document.skip(i + 1, words.ITEM_NOUNS | words.ANSWER_NOUNS | {"s", "(", ")"}, most=4)
    if document.starts_sentence(start) and document.at(after).norm in _COLONS:
        yield from _announced(scan, i, Rank.ANCHORED)


# From the announcing word to the answer ------------------------------------------------------------------------


def _announced(scan: _Scan, i: int, rank: Rank, *, item: bool = False) -> Iterator[Claim]:
    document = scan.document
    if _is_negated_before(document, i):
        return
    path = _before(document, i)
    # "go with", "opte pour": the preposition belongs to the verb.
    has_preposition = _is_choosing(document, i) or document.at(i).norm == "left"
    first = i + 2 if has_preposition and document.at(i + 1).norm in _PREPOSITIONS else i + 1
    reach = _REACH if rank > Rank.CONCLUSION else _SHORT_REACH
    for j in range(first, i + reach):
        path.position = j
        if not path.unknown:
            claims = list(_answer_at(scan, i, path, rank, item))
            if claims:
                yield from claims
                return
        if not _may_pass(document, j, path) or _repeats(document, i, path, rank):
            return
        if not path.unknown and document.at(j).kind in (Kind.LETTER, Kind.TEXT):
            return
        if document.at(j).norm not in words.BUT and document.phrase_end(j, words.EXCEPT) is not None:
            return
        path.note(document, j)


def _repeats(document: Document, i: int, path: _Path, rank: Rank) -> bool:
    """Whether the announcing word came again, and announces by itself what follows."""
    norm = document.at(i).norm
    again = document.at(path.position).norm == norm
    return again and (rank is Rank.CONCLUSION or path.met.count(norm) > 1)


def _is_negated_before(document: Document, i: int) -> bool:
    """ "A n'est pas la bonne réponse", "no answer": nothing is announced."""
    before = [document.at(n).norm for n in range(i - 1, i - 4, -1)]
    # "Il ne reste que A" denies nothing; "il est faux de dire que A" does.
    only = document.at(i + 1).norm in ("que", "qu'") and document.at(i).norm in ("reste", "restent")
    denying = _DENYING | words.FALSE_WORDS if document.at(i).norm in words.SAYING else _DENYING
    for norm in before:
        if norm in SENTENCE_ENDS or norm in (":", ",", "") or document.at(i).norm in words.BUT:
            return False
        if norm in denying - ({"ne"} if only else set()):
            return True
    return False


def _before(document: Document, i: int) -> _Path:
    """What the announcing word and the adjectives before it say."""
    path = _Path(i)
    for n in range(i, i - 4, -1):
        token = document.at(n)
        if token.kind is not Kind.WORD or not _is_glue(token.norm):
            break
        path.note(document, n)
    norm = document.at(i).norm
    may_head = (
        norm in words.ANSWER_NOUNS or norm in words.ITEM_NOUNS or norm in words.TRUE_WORDS or norm in words.CHOOSING
    )
    path.heading = norm == BOX or (may_head and document.starts_line(i - len(path.met) + 1))
    path.copula = path.unknown = path.adds = False
    path.denied = document.at(i).norm.endswith("n't")
    if document.at(i).norm not in words.CONDITIONALS:
        path.conditional = False
    return path


def _may_pass(document: Document, j: int, path: _Path) -> bool:
    token = document.at(j)
    if (
        token.kind is Kind.END
        or token.norm in SENTENCE_ENDS
        or (path.met and not path.heading and token.norm in (BOX, ARROW))
    ):
        return token.norm == "." and document.at(j - 1).norm in ("ans", "rep")
    if token.kind is Kind.BREAK:
        before = document.at(j - 1)
        return before.norm in _COLONS or before.kind is Kind.BREAK or before.norm == BOX or path.heading
    return True


def _answer_at(scan: _Scan, start: int, path: _Path, rank: Rank, item: bool) -> Iterator[Claim]:
    """The claims that are complete at the path's position."""
    document = scan.document
    j = path.position
    rank = Rank.FINAL if path.final and rank is Rank.ANCHORED else rank
    literal = _literal_text(document, j)
    if literal is not None and (path.copula or (path.heading and document.at(j).kind is Kind.WORD)):
        yield Claim(frozenset({literal}), frozenset(), start, rank, "option_text", denied=path.denied)
        return
    found = everything_or_nothing(document, j, announced=(rank > Rank.CONCLUSION and not item) or path.copula)
    if found is not None and not path.denied and not path.negative:
        yield Claim(found.keys, frozenset(), start, rank, found.how)
        return
    if document.at(j).norm in (".", "<") or document.at(j).kind is Kind.BREAK:
        return
    listing = scan.blocks.at(document, j) or read_list(document, j)
    if listing is not None and _is_announced(document, start, path, listing, rank, item):
        yield from _as_claims(document, start, path, listing, _rank_of(path, rank, item))


def _rank_of(path: _Path, rank: Rank, item: bool) -> Rank:
    return Rank.LABEL if item and not path.copula and not path.assertive else rank


def _literal_text(document: Document, j: int) -> str | None:
    """The option whose text, an ordinary word such as "None" or "True", is all that is said at `j`."""
    if document.at(j).kind in (Kind.END, Kind.BREAK, Kind.TEXT):
        return None
    found = document.texts.find(document.tokens, j)
    if found is None or (len(found[0]) == 1 and len(found[0][0]) == 1 and found[0][0].isalpha()):
        return None
    end = document.skip(found[1], words.of("\" ' ) ] %"))
    return document.texts.key_of(found[0]) if is_end_of_sentence(document, end) else None


def _has_paragraph_between(document: Document, start: int, end: int) -> bool:
    for i in range(start, end - 1):
        if document.at(i).kind is Kind.BREAK and document.at(i + 1).kind is Kind.BREAK:
            return any(document.at(n).kind is Kind.WORD for n in range(i + 2, end))
    return False


def _is_announced(document: Document, start: int, path: _Path, listing: Listing, rank: Rank, item: bool) -> bool:
    """Whether the announcing word is about these letters."""
    if document.at(listing.end).norm == "?" and rank < Rank.FINAL and path.met[:1] != ["dirais"]:
        return False
    if path.conditional and (is_supposed(document, start) or is_conditional_on(document, listing.end)):
        return False
    if _is_echo(document, listing) and not path.assertive:
        return False
    if rank is Rank.CONCLUSION:
        # "So A and B are chronic" announces nothing.
        return _ends_there(document, listing) and document.at(listing.end).norm not in _VERBS - {":"}
    if item and not path.assertive and ":" in path.met and _is_discussed(document, listing.end):
        return False
    if document.at(start).norm == BOX or (path.copula and not _is_bare_dash(path)):
        return path.copula is False or _is_free(document, listing, path)
    if verdict_after(document, listing.end) is not None:
        return False
    if _is_direct(document, start, item):
        return _ends_there(document, listing) or listing.echoed == listing.count
    return False


def _is_discussed(document: Document, i: int) -> bool:
    """Whether the letters before `i` are not listed but talked about: "The options: A is a flexor, B …"."""
    return document.at(i).norm in _VERBS or verdict_after(document, i) is not None


def _is_bare_dash(path: _Path) -> bool:
    return path.met[-1:] == ["-"] and not any(norm in words.COPULAS for norm in path.met[:-1])


def _is_free(document: Document, listing: Listing, path: _Path) -> bool:
    """Whether the letters are the end of the announcement, not the subject of another verdict ("… : A est faux")."""
    if path.met[-1:] and path.met[-1] not in words.COPULAS:
        return True
    return document.at(listing.end).norm not in words.COPULAS - _COLONS - {"-"} or (
        verdict_after(document, listing.end) is None
    )


def _is_direct(document: Document, start: int, item: bool) -> bool:
    """Whether "réponse B", "je choisis B" opens its sentence or is a choice."""
    norm = document.at(start).norm
    if norm in words.CHOOSING or norm in words.CHOOSING_WITH:
        return True
    first = start
    while document.at(first - 1).norm in words.GLUE | words.ANSWER_NOUNS and start - first < 4:
        first -= 1
    return document.starts_sentence(first) or (not item and document.at(first - 1).norm in (",", ":"))


def _ends_there(document: Document, listing: Listing) -> bool:
    after = document.at(listing.end)
    if after.norm == ":" and listing.echoed < listing.count:
        return False
    if not listing.capital and not document.ends_clause(listing.end):
        return False
    is_free = document.ends_clause(listing.end) or document.phrase_end(listing.end, words.INSTEAD_OF) is not None
    return is_free and verdict_after(document, listing.end) is None


def _is_echo(document: Document, listing: Listing) -> bool:
    return len(listing.keys) == len(document.options) > 2 and listing.echoed >= listing.count - 1


def _as_claims(document: Document, start: int, path: _Path, listing: Listing, rank: Rank) -> Iterator[Claim]:
    denied = path.denied != path.negative
    claim = Claim(
        listing.keys,
        listing.stray,
        start,
        rank,
        how="conclusion" if rank is Rank.CONCLUSION else "anchored",
        ambiguous=listing.either or listing.contradictory,
        adds=path.adds,
        denied=denied,
        complement=denied and path.only,
    )
    yield claim
    if denied:
        end = _further_denied(document, listing.end)
        instead = _after_but(document, end)
        if instead is not None:
            yield replace(
                claim, keys=instead.keys, stray=instead.stray, denied=False, complement=False, ambiguous=False
            )


def _further_denied(document: Document, i: int) -> int:
    """Past "… ni B ni C"."""
    for _ in range(8):
        j = document.skip(i, words.of(", ni nor or ou et and"), most=3)
        listing = read_list(document, j) if j > i and document.at(j - 1).norm != "," else None
        if listing is None:
            return i
        i = listing.end
    return i


def _after_but(document: Document, i: int) -> Listing | None:
    j = document.skip(i, words.of(", ;"), most=2)
    if document.at(j).norm not in words.BUT:
        return None
    j = document.skip(j, words.BUT | words.POINTING | words.COPULAS | words.GLUE | {","}, most=8)
    return read_list(document, j)
