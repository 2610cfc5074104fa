"""The rules for letters and announced answers.

A rule returns a reading, or None when it has nothing to say. `options` puts the rules in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce

from judge.replies import vocabulary as words
from judge.replies.claims import Claim, Rank
from judge.replies.listing import Listing, read_list
from judge.replies.normalise import clean
from judge.replies.quantified import everything_or_nothing
from judge.replies.reading import Reading, Reply
from judge.replies.refusals import refuses
from judge.replies.rules_verdicts import denied_keys
from judge.replies.tokens import SENTENCE_ENDS, Document, Kind, Token
from judge.replies.verdicts import enumerated, verdict_after

_SEPARATORS = words.of(", ; et and & . ( ) [ ] \" ' • - * + |") | {"\ue000"}


_LABEL_NOUNS = words.ITEM_NOUNS | words.ANSWER_NOUNS
#: Letters of a question with five options, which "ACE" may answer where there are four.
_NEXT_LETTERS = frozenset("CDE")


def by_bare_letters(reply: Reply) -> Reading | None:
    """Letters and nothing else, at most after one announcement."""
    document = reply.document
    body = document.tokens[_after_announcement(document) :]
    if not any(token.kind is Kind.LETTER for token in body):
        return _glued(reply, body)
    first = len(document.tokens) - len(body)
    labelled = read_list(document, first)
    if labelled is not None and labelled.count == labelled.echoed == 1 and document.at(labelled.end).kind is Kind.END:
        return reply.choose("bare", labelled.keys, ambiguous=labelled.contradictory)
    if not all(_is_bare(document, i) for i in range(first, len(document.tokens))):
        return None
    nouns = sum(token.kind is Kind.WORD and token.norm in _LABEL_NOUNS for token in body)
    if nouns == 1:
        return None
    if any(a.norm == "-" and _is_joint(b, c) for b, a, c in zip(body, body[1:], body[2:], strict=False)):
        return None
    letters = [token for token in body if token.kind is Kind.LETTER]
    keys = frozenset(key for token in letters for key in token.keys)
    stray = frozenset(letter for token in letters for letter in token.stray)
    well_formed = not stray and not nouns
    well_formed &= all(len(token.keys) == 1 and len(token.text) == 1 for token in letters)
    reading = reply.choose("bare", keys, stray)
    return replace(reading, well_formed=well_formed and not any(token.norm == "|" for token in body))


def _is_joint(before: Token, after: Token) -> bool:
    return before.kind is Kind.LETTER and after.kind is Kind.LETTER


def _is_bare(document: Document, i: int) -> bool:
    token = document.at(i)
    if token.kind is Kind.NUMBER:
        before = document.at(i - 1).kind
        return before in (Kind.BREAK, Kind.END, Kind.LETTER) and document.at(i + 1).norm in (".", ")")
    if token.norm in _LABEL_NOUNS and token.kind is Kind.WORD:
        # "Réponse A, réponse C".
        return document.at(i + 1).kind is Kind.LETTER
    return token.kind in (Kind.LETTER, Kind.BREAK) or token.norm in _SEPARATORS


def _after_announcement(document: Document) -> int:
    """Where the text after an announcement such as "Votre réponse :" begins; 0 without one."""
    for i in range(min(len(document.tokens), 8)):
        token = document.at(i)
        if token.norm == ":":
            return i + 1
        if token.strong or (token.norm not in words.GLUE and not (i and token.norm in ("est", "sont", "is", "are"))):
            break
    return 0


def _glued(reply: Reply, body: list[Token]) -> Reading | None:
    """ "EB" and "bce", which in running text would be words."""
    said = [token for token in body if token.kind not in (Kind.BREAK, Kind.MARK)]
    said = said[1:] if said and said[0].norm in words.ANSWER_NOUNS else said
    if len(said) != 1 or said[0].kind is not Kind.WORD or len(said[0].text) < 2:
        return None
    letters = said[0].text
    keys = [reply.document.keys.get(letter.upper(), "") for letter in letters]
    ordered = letters.isupper() and list(letters) == sorted(letters) and len(set(letters)) > 1
    if not ordered and (len(set(keys)) < len(keys) or not (letters.isupper() or letters.islower())):
        return None
    stray = frozenset(letter for letter, key in zip(letters, keys, strict=True) if not key)
    if stray and not (ordered and reply.multiple and stray <= _NEXT_LETTERS):
        return None
    return reply.choose("bare", frozenset(keys) - {""}, stray)


def by_claim(rank: Rank) -> Callable[[Reply], Reading | None]:
    """The rule that takes the last answer announced with at least this rank."""

    def rule(reply: Reply) -> Reading | None:
        claims = [claim for claim in reply.claims if claim.rank >= rank and not claim.denied]
        if rank is Rank.LABEL and len({claim.keys for claim in claims}) > 1:
            return None
        if rank is Rank.CONCLUSION and claims and not reply.multiple and _is_outdated(reply, claims[-1]):
            return None
        final = [claim for claim in claims if claim.rank is Rank.FINAL]
        return _of_claims(reply, final or claims)

    return rule


def _is_outdated(reply: Reply, claim: Claim) -> bool:
    """Whether another option is called right after a conclusion ("I would say C. However, B is correct")."""
    later = frozenset(key for v in reply.verdicts if v.true and v.start > claim.start for key in v.keys)
    return bool(later - claim.keys)


def _of_claims(reply: Reply, claims: list[Claim]) -> Reading | None:
    if not claims:
        return None
    last = claims[-1]
    keys = last.keys
    for earlier in reversed(claims[:-1]):
        if not last.adds or not reply.multiple:
            break
        keys |= earlier.keys
        last = earlier
    last = claims[-1]
    if last.how in ("all", "none"):
        return _of_quantity(reply, last.keys, last.how)
    if reply.multiple:
        keys |= frozenset(k for v in reply.verdicts if v.adds and v.true and v.start > last.start for k in v.keys)
    return reply.choose(last.how, keys, last.stray, ambiguous=last.ambiguous)


def _of_quantity(reply: Reply, keys: frozenset[str], how: str) -> Reading:
    """All or none; an option that itself says "all of the above" or "none of the above" is then the one chosen."""
    own = _quantity_option(reply.options, how) if not keys or len(keys) == len(reply.options) else None
    if own is not None:
        return Reading(frozenset({own}), how)
    return reply.choose(how, keys)


def _quantity_option(options: Mapping[str, str], how: str) -> str | None:
    letters = dict.fromkeys(options, "")
    for key, text in options.items():
        found = everything_or_nothing(Document(clean(text), letters), 0, announced=True)
        if found is not None and found.how == how:
            return key
    return None


def by_leading_list(reply: Reply) -> Reading | None:
    """The reply opens with its answer and goes on to explain it."""
    document = reply.document
    start = document.skip(
        _after_opening(document),
        words.of("• - * ( [ \" ' la les the l' option options proposition propositions"),
        most=4,
    )
    listing = read_list(document, document.phrase_end(0, words.OPENINGS) or start) or read_list(document, start)
    if listing is None or not _is_opening(document, listing):
        return None
    unsettled = listing.either or (not reply.multiple and listing.count > 1 and len(listing.keys) > 1)
    if _is_enumeration(reply, listing) or (unsettled and reply.claims):
        return None
    if reply.multiple and listing.echoed == listing.count == 1:
        listing = _remarked(document) or listing
    return reply.choose("leading", listing.keys, listing.stray, ambiguous=listing.either or listing.contradictory)


def _remarked(document: Document) -> Listing | None:
    """Lines that all repeat an option, each with a remark: "B. its text : p. 2", "D. its text : 4 %"."""
    sections = enumerated(document)
    lines = sum(
        a.kind is not Kind.BREAK and b.kind in (Kind.BREAK, Kind.END)
        for a, b in zip(document.tokens, [*document.tokens[1:], document.at(-1)], strict=True)
    )
    if len(sections) != lines or not all(section.echoed for _, section in sections):
        return None
    return reduce(lambda joined, section: joined.join(section, either=False), (section for _, section in sections))


def _after_opening(document: Document) -> int:
    """Past a few words such as "À mon avis," or "Sure!" if the line then holds nothing but a list."""
    for i in range(min(len(document.tokens), 9)):
        token = document.at(i)
        if token.norm in (",", "!", ":") and i:
            listing = read_list(document, i + 1)
            if listing is not None or token.norm != ",":
                return i + 1 if listing is not None and document.ends_line(listing.end) else 0
            continue
        if (
            token.kind is not Kind.WORD
            or token.norm in words.FALSE_WORDS | words.TO_DROP
            or token.norm in words.NEGATIONS
            or token.norm in words.PARTICLES
        ):
            break
    return 0


def _is_opening(document: Document, listing: Listing) -> bool:
    after = document.at(listing.end)
    if (
        after.norm in words.COPULAS - {"-", ":", "→"}
        or verdict_after(document, listing.end, at_line_start=False) is not None
    ):
        return False
    if not listing.capital and listing.echoed < listing.count and not document.ends_clause(listing.end):
        return False
    believed = after.norm in ("je", "i") and document.at(listing.end + 1).norm in words.SAYING
    return document.ends_clause(listing.end) or after.kind is Kind.TEXT or believed


def _is_enumeration(reply: Reply, listing: Listing) -> bool:
    """Whether the letter at the head only labels the first option discussed, or all options are merely repeated."""
    document = reply.document
    if listing.echoed and len(listing.keys) == len(reply.options) > 2:
        return True
    if listing.echoed and _is_cut_echo(reply, listing):
        return True
    if listing.count == 1 and not listing.echoed and _marks_others_alike(document, listing):
        return True
    labels = _labels(document)
    sections = [key for _, section in enumerated(document) for key in section.keys]
    if list(reply.options) in (labels, sections) and any(v.tabular and v.keys == listing.keys for v in reply.verdicts):
        return True
    if (
        len(labels) < 2
        or listing.count > 1
        or listing.echoed
        or document.at(listing.end).kind in (Kind.BREAK, Kind.END)
    ):
        return len(labels) == len(reply.options) > 2 and listing.count == 1 and _lists_in_order(reply, labels)
    return True


def _marks_others_alike(document: Document, listing: Listing) -> bool:
    """ "A: 10 %, B: 80 %": the mark after the first letter stands after other letters too."""
    mark = document.at(listing.end).norm
    if mark not in (":", "=", "("):
        return False
    others = (
        t.keys for i, t in enumerate(document.tokens) if t.kind is Kind.LETTER and document.at(i + 1).norm == mark
    )
    return len(frozenset(others)) > 1


def _lists_in_order(reply: Reply, labels: list[str]) -> bool:
    return labels == list(reply.options) and not _has_blank_line(reply.document, 0)


def _has_blank_line(document: Document, start: int) -> bool:
    """Whether the first paragraph holds a single label."""
    first_end = next(
        (i for i in range(start, len(document.tokens)) if document.at(i).kind is document.at(i + 1).kind is Kind.BREAK),
        len(document.tokens),
    )
    return sum(1 for at, _ in enumerated(document) if at < first_end) == 1


def _labels(document: Document) -> list[str]:
    """Options used as labels at the start of lines or sentences."""
    found: list[str] = []
    for i, token in enumerate(document.tokens):
        if token.kind is Kind.LETTER and len(token.keys) == 1 and document.starts_sentence(i):
            labels = document.at(i + 1).norm in (")", ".", ":", "-") or document.at(i + 1).kind is Kind.TEXT
            if labels and document.at(i + 2).kind not in (Kind.BREAK, Kind.END) and token.keys[0] not in found:
                found.append(token.keys[0])
    return found


def _is_cut_echo(reply: Reply, listing: Listing) -> bool:
    """The options repeated in order from the first, the last one cut short."""
    count = len(listing.keys)
    rest = [token for token in reply.document.tokens[listing.end :] if token.kind is not Kind.BREAK]
    if listing.keys != frozenset(list(reply.options)[:count]) or not rest or count == len(reply.options):
        return False
    following = reply.options[list(reply.options)[count]]
    said = [token.norm for token in rest if token.kind is not Kind.MARK]
    label = list(reply.options)[count].casefold()
    expected = [label] + [t.norm for t in Document(clean(following), {}).tokens if t.kind is not Kind.MARK]
    return said[:-1] == expected[: len(said) - 1] and len(said) <= len(expected)


def by_trailing_list(reply: Reply) -> Reading | None:
    """The last line, or the last sentence, is the answer and nothing else."""
    document = reply.document
    end = len(document.tokens) - 1
    line = next((i + 1 for i in range(end, -1, -1) if document.at(i).kind is Kind.BREAK), 0)
    sentence = next((i + 1 for i in range(end - 1, 0, -1) if document.at(i).norm in SENTENCE_ENDS), 0)
    for start in (line, sentence):
        listing = read_list(document, start) if start else None
        if listing is not None and _is_last_word(document, start, listing):
            ambiguous = listing.either or listing.contradictory
            return reply.choose("trailing", listing.keys, listing.stray, ambiguous=ambiguous)
    return None


def _is_last_word(document: Document, start: int, listing: Listing) -> bool:
    """Whether the list ends the reply and is not the last of several labelled options."""
    inside_word = document.at(start).glued and document.at(start - 1).kind is not Kind.BREAK
    if inside_word or not document.ends_line(listing.end) or _follows_label(document, start):
        return False
    return not listing.echoed or len(enumerated(document)) < 3 or _has_gap_before(document, start)


def _follows_label(document: Document, start: int) -> bool:
    """Whether the line before begins with a label too, so that both belong to a list."""
    return not _has_gap_before(document, start) and any(
        at < start and all(document.at(i).kind is not Kind.BREAK for i in range(at, start - 1))
        for at, _ in enumerated(document)
    )


def _has_gap_before(document: Document, start: int) -> bool:
    return document.at(start - 2).kind is Kind.BREAK


_SHORT = 20


def by_lone_mention(reply: Reply) -> Reading | None:
    """A short reply that names one option and no other."""
    document = reply.document
    said = [t for t in document.tokens if t.kind in (Kind.WORD, Kind.LETTER, Kind.TEXT)]
    letters = [t for t in said if t.kind is Kind.LETTER and t.strong]
    keys = frozenset(key for token in letters for key in token.keys)
    if len(said) > _SHORT or len(keys) != 1 or any(t.stray for t in letters) or refuses(document):
        return None
    if any(t.norm in words.HEDGES for t in document.tokens) and any(
        t.norm in words.TRUE_WORDS for t in document.tokens
    ):
        return None
    if any(t.norm in words.THIRD_PARTIES - {"one", "might", "some"} for t in document.tokens):
        return None
    doubted = any(
        t.norm in words.NEGATIONS | words.PARTICLES or t.norm.endswith("n't") or t.norm == "?" for t in document.tokens
    )
    if doubted or keys & denied_keys(reply) or len(letters[0].keys) > 1:
        return None
    return reply.choose("mention", keys)


def by_echo(reply: Reply) -> Reading | None:
    """The options repeated without a word on them."""
    listing = read_list(reply.document, 0)
    if listing is not None and listing.echoed and len(listing.keys) == len(reply.options):
        return Reading(None, "echo")
    return None
