"""Read which options of a multiple-choice question a reply chooses.

A reply is cleaned, its thinking set aside, cut into tokens, and given to the rules of `_RULES` in order; the first
rule that has something to say decides. Plainer forms come first, so that an announced answer outweighs a list at the
head of the reply, which outweighs verdicts on single options, and so on. Where a reply does not settle on an answer
the result is None: a missing answer is counted as one, a guessed answer would be counted as the model's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from judge.replies import vocabulary as words
from judge.replies.claims import Claim, Rank, find_claims, refuses
from judge.replies.listing import Listing, read_list
from judge.replies.normalise import clean
from judge.replies.quantified import everything_or_nothing
from judge.replies.structured import Found, answer_of, json_values, verdicts_of
from judge.replies.thinking import separate_thinking
from judge.replies.tokens import SENTENCE_ENDS, Document, Kind, Token
from judge.replies.verdicts import Verdict, enumerated, find_verdicts, others_are_true, verdict_after


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply answers, and how that was found out.

    Attributes:
        chosen: the options chosen, as keys of the question's options; the empty set for an explicit "none of them",
            which only a question with several answers can have; None for no answer.
        how: the rule that decided. With an answer: ``bare``, ``json``, ``anchored``, ``leading``, ``conclusion``,
            ``per_option``, ``trailing``, ``all``, ``none``, ``option_text``, ``mention``, ``elimination``. Without:
            ``empty``, ``truncated_reasoning``, ``refusal``, ``none``, ``all``, ``ambiguous``, ``not_an_option``,
            ``echo``, ``no_answer``.
        well_formed: the reply, its thinking, markup and closing full stop removed, is only option letters separated
            by commas, semicolons, spaces, "et" or "and", at most after one announcement such as "Réponse :".
        dropped: letters the answer names that are no option, upper case.
    """

    chosen: frozenset[str] | None
    how: str
    well_formed: bool = False
    dropped: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Reply:
    """A reply on its way through the rules."""

    text: str
    document: Document
    claims: list[Claim]
    verdicts: list[Verdict]
    multiple: bool

    @property
    def options(self) -> Mapping[str, str]:
        return self.document.options

    def choose(
        self, how: str, keys: frozenset[str], stray: frozenset[str] = frozenset(), *, ambiguous: bool = False
    ) -> Reading:
        """The reading for these keys: a question with one answer takes no set of several."""
        if ambiguous or (not self.multiple and len(keys) + len(stray) > 1):
            return Reading(None, "ambiguous", dropped=stray)
        if not keys and stray:
            return Reading(None, "not_an_option", dropped=stray)
        if not keys:
            return Reading(frozenset() if self.multiple else None, "none")
        return Reading(keys, how, dropped=stray)


def choose_options(response: str, options: Mapping[str, str], *, multiple: bool) -> frozenset[str] | None:
    """The options a reply chooses.

    Args:
        response: the reply as the model sent it, thinking included; any string.
        options: key (a letter, either case) to text, in the order shown.
        multiple: whether the question takes several answers.

    Returns:
        Keys of `options`; the empty set when the reply says that none is right (only with `multiple`); None when
        there is no answer or no single reading of it.
    """
    return read_options(response, options, multiple=multiple).chosen


def read_options(response: str, options: Mapping[str, str], *, multiple: bool) -> Reading:
    """The options a reply chooses, with the rule that decided.

    Arguments are those of `choose_options`.
    """
    separated = separate_thinking(clean(response))
    if separated.unclosed:
        return Reading(None, "truncated_reasoning")
    return _read(_own_turn(separated.answer, options, multiple), options, multiple)


#: A reply longer than this has run into repetition; its answer is looked for at its head and at its end.
_HEAD, _TAIL = 20_000, 40_000


def _read(text: str, options: Mapping[str, str], multiple: bool) -> Reading:
    if not text.strip():
        return Reading(None, "empty")
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]}\n\n{text[-_TAIL:]}"
    document = Document(text, options)
    verdicts = find_verdicts(document)
    reply = _Reply(text, document, find_claims(document, verdicts), verdicts, multiple)
    for rule in _RULES:
        reading = rule(reply)
        if reading is not None:
            return reading
    return Reading(None, "refusal" if refuses(document) else "no_answer")


# The model's own turn -----------------------------------------------------------------------------------------

_END_OF_TURN = re.compile(
    r"<\|(?:im_end|eot_id|end|endoftext|end_of_text|return|eom_id)\|>|</s>|<end_of_turn>|<\|end▁of▁sentence\|>"
)
_NEXT_TURN = re.compile(
    r"^[ \t*#]{0,6}(?:question(?:[ \t]{0,3}(?:n°[ \t]?)?\d{1,3})?|user|human|utilisateur|\[INST\])[ \t*]{0,3}(?::|$|(?<=\]))",
    re.IGNORECASE | re.MULTILINE,
)


def _own_turn(text: str, options: Mapping[str, str], multiple: bool) -> str:
    """The text up to the turn's end, or to the next question that a small model makes up after it has answered."""
    end = _END_OF_TURN.search(text)
    if end is not None and text[: end.start()].strip():
        text = text[: end.start()]
    following = _NEXT_TURN.search(text)
    if following is None or not text[: following.start()].strip():
        return text
    own = text[: following.start()]
    return own if _read(own, options, multiple).chosen is not None else text


# Rules --------------------------------------------------------------------------------------------------------


def _by_json(reply: _Reply) -> Reading | None:
    values = json_values(reply.text)
    for value in reversed(values):
        reading = _json_reading(reply, value)
        if reading is not None:
            return reading
    return None


def _json_reading(reply: _Reply, value: Found) -> Reading | None:
    has_answer, content = answer_of(value)
    if not has_answer:
        verdicts = verdicts_of(value, reply.document.keys)
        if verdicts:
            return reply.choose("json", frozenset(key for key, true in verdicts.items() if true))
        has_answer, content = isinstance(value, list) and all(isinstance(v, str) for v in value), value
    return _json_content(reply, content) if has_answer else None


def _json_content(reply: _Reply, content: Found) -> Reading:
    if isinstance(content, list):
        return _json_list(reply, content)
    if isinstance(content, dict):
        named = frozenset(reply.document.keys[name.upper()] for name in content if name.upper() in reply.document.keys)
        verdicts = verdicts_of(content, reply.document.keys)
        return reply.choose("json", frozenset(k for k, true in verdicts.items() if true) if verdicts else named)
    if isinstance(content, bool | None) or not isinstance(content, str | int | float):
        return Reading(None, "no_answer")
    reading = _read_field(str(content), reply)
    return replace(reading, how="json", well_formed=False) if reading.chosen is not None else reading


def _json_list(reply: _Reply, content: list[Found]) -> Reading:
    verdicts = verdicts_of(content, reply.document.keys)
    if verdicts:
        return reply.choose("json", frozenset(key for key, true in verdicts.items() if true))
    readings = [_read_field(str(element), reply) for element in content[:40]]
    keys = frozenset(key for reading in readings for key in reading.chosen or ())
    stray = frozenset(letter for reading in readings for letter in reading.dropped)
    if content and not keys and not stray:
        return Reading(None, "no_answer")
    return reply.choose("json", keys, stray)


def _read_field(text: str, reply: _Reply) -> Reading:
    return _read(clean(text).replace("{", " ").replace("[", " "), reply.options, reply.multiple)


def _by_whole_text(reply: _Reply) -> Reading | None:
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


def _by_whole_words(reply: _Reply) -> Reading | None:
    document = reply.document
    said = [t for t in document.tokens if t.kind not in (Kind.MARK, Kind.BREAK)]
    norms = tuple(word for token in said for word in token.norm.split(" "))
    if len(said) > 40 or (len(said) == 1 and said[0].kind is Kind.LETTER):
        return None
    key = document.texts.key_of(norms)
    return None if key is None else reply.choose("option_text", frozenset({key}))


_SEPARATORS = words.of(", ; et and & . ( ) [ ] \" ' • - * + |") | {"\ue000"}


def _by_bare_letters(reply: _Reply) -> Reading | None:
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
    if any(a.norm == "-" and _is_joint(b, c) for b, a, c in zip(body, body[1:], body[2:], strict=False)):
        return None
    letters = [token for token in body if token.kind is Kind.LETTER]
    keys = frozenset(key for token in letters for key in token.keys)
    stray = frozenset(letter for token in letters for letter in token.stray)
    well_formed = not stray and all(len(token.keys) == 1 and len(token.text) == 1 for token in letters)
    reading = reply.choose("bare", keys, stray)
    return replace(reading, well_formed=well_formed and not any(token.norm == "|" for token in body))


def _is_joint(before: Token, after: Token) -> bool:
    return before.kind is Kind.LETTER and after.kind is Kind.LETTER


def _is_bare(document: Document, i: int) -> bool:
    token = document.at(i)
    if token.kind is Kind.NUMBER:
        return document.at(i - 1).kind in (Kind.BREAK, Kind.END) and document.at(i + 1).norm in (".", ")")
    return token.kind in (Kind.LETTER, Kind.BREAK) or token.norm in _SEPARATORS


def _after_announcement(document: Document) -> int:
    """Where the text after an announcement such as "Votre réponse :" begins; 0 without one."""
    for i in range(min(len(document.tokens), 8)):
        token = document.at(i)
        if token.norm == ":":
            return i + 1 if i else 0
        if token.norm not in words.GLUE and not (i and token.norm in ("est", "sont", "is", "are")):
            break
    return 0


def _glued(reply: _Reply, body: list[Token]) -> Reading | None:
    """ "EB" and "bce", which in running text would be words."""
    said = [token for token in body if token.kind not in (Kind.BREAK, Kind.MARK)]
    if len(said) != 1 or said[0].kind is not Kind.WORD or len(said[0].text) < 2:
        return None
    letters = said[0].text
    keys = [reply.document.keys.get(letter.upper(), "") for letter in letters]
    if not all(keys) or len(set(keys)) < len(keys) or not (letters.isupper() or letters.islower()):
        return None
    return reply.choose("bare", frozenset(keys))


def _by_claim(rank: Rank) -> Callable[[_Reply], Reading | None]:
    """The rule that takes the last answer announced with at least this rank."""

    def rule(reply: _Reply) -> Reading | None:
        claims = [claim for claim in reply.claims if claim.rank >= rank and not claim.denied]
        if rank is Rank.LABEL and len({claim.keys for claim in claims}) > 1:
            return None
        if rank is Rank.CONCLUSION and claims and not reply.multiple and _is_outdated(reply, claims[-1]):
            return None
        final = [claim for claim in claims if claim.rank is Rank.FINAL]
        return _of_claims(reply, final or claims)

    return rule


def _is_outdated(reply: _Reply, claim: Claim) -> bool:
    """Whether another option is called right after a conclusion ("I would say C. However, B is correct")."""
    later = frozenset(key for v in reply.verdicts if v.true and v.start > claim.start for key in v.keys)
    return bool(later - claim.keys)


def _of_claims(reply: _Reply, claims: list[Claim]) -> Reading | None:
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


def _of_quantity(reply: _Reply, keys: frozenset[str], how: str) -> Reading:
    """All or none; an option that itself says "all of the above" or "none of the above" is then the one chosen."""
    own = _quantity_option(reply.options, how) if not keys or len(keys) == len(reply.options) else None
    if own is not None:
        return Reading(frozenset({own}), how)
    return reply.choose(how, keys)


def _quantity_option(options: Mapping[str, str], how: str) -> str | None:
    letters = {key: "" for key in options}
    for key, text in options.items():
        found = everything_or_nothing(Document(clean(text), letters), 0, announced=True)
        if found is not None and found.how == how:
            return key
    return None


def _by_leading_list(reply: _Reply) -> Reading | None:
    """The reply opens with its answer and goes on to explain it."""
    document = reply.document
    start = document.skip(
        _after_opening(document),
        words.of("• - * ( [ \" ' la les the l' option options proposition propositions"),
        most=4,
    )
    listing = read_list(document, start)
    if listing is None or not _is_opening(document, listing):
        return None
    if _is_enumeration(reply, listing) or (listing.either and reply.claims):
        return None
    return reply.choose("leading", listing.keys, listing.stray, ambiguous=listing.either or listing.contradictory)


def _after_opening(document: Document) -> int:
    """Past a few words such as "À mon avis," or "Sure!" if the line then holds nothing but a list."""
    for i in range(min(len(document.tokens), 9)):
        token = document.at(i)
        if token.norm in (",", "!", ":") and i:
            listing = read_list(document, i + 1)
            return i + 1 if listing is not None and document.ends_line(listing.end) else 0
        if (
            token.kind is not Kind.WORD
            or token.norm in words.FALSE_WORDS
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
    return document.ends_clause(listing.end) or after.kind is Kind.TEXT


def _is_enumeration(reply: _Reply, listing: Listing) -> bool:
    """Whether the letter at the head only labels the first option discussed, or all options are merely repeated."""
    document = reply.document
    if listing.echoed and len(listing.keys) == len(reply.options) > 2:
        return True
    if listing.echoed and _is_cut_echo(reply, listing):
        return True
    labels = _labels(document)
    if labels == list(reply.options) and any(v.tabular and v.keys == listing.keys for v in reply.verdicts):
        return True
    if (
        len(labels) < 2
        or listing.count > 1
        or listing.echoed
        or document.at(listing.end).kind in (Kind.BREAK, Kind.END)
    ):
        return len(labels) == len(reply.options) > 2 and listing.count == 1 and _lists_in_order(reply, labels)
    return True


def _lists_in_order(reply: _Reply, labels: list[str]) -> bool:
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


def _is_cut_echo(reply: _Reply, listing: Listing) -> bool:
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


def _by_verdicts(reply: _Reply) -> Reading | None:
    verdicts = [v for v in reply.verdicts if not _is_retracted(reply, v)]
    best = [v for v in verdicts if v.strong and v.true]
    if not reply.multiple and best:
        return reply.choose("per_option", best[-1].keys, ambiguous=best[-1].either)
    if any(v.either for v in verdicts):
        return Reading(None, "ambiguous")
    true = frozenset(key for v in verdicts if v.true for key in v.keys)
    false = _denied_keys(reply)
    if reply.multiple and others_are_true(reply.document) and false:
        return reply.choose("per_option", frozenset(reply.options) - false)
    only = next((v for v in reversed(verdicts) if v.only), None)
    if only is not None and reply.multiple:
        return reply.choose("per_option", only.keys if only.true else frozenset(reply.options) - only.keys)
    return _of_table(reply, verdicts, true - _overruled(verdicts), false)


def _is_retracted(reply: _Reply, verdict: Verdict) -> bool:
    return reply.document.at(verdict.start - 1).norm == "~"


def _overruled(verdicts: list[Verdict]) -> frozenset[str]:
    """Options whose last verdict is false."""
    last: dict[str, bool] = {}
    for verdict in verdicts:
        last |= dict.fromkeys(verdict.keys, verdict.true)
    return frozenset(key for key, true in last.items() if not true)


def _denied_keys(reply: _Reply) -> frozenset[str]:
    said = frozenset(key for v in reply.verdicts if not v.true for key in v.keys)
    return said | frozenset(key for claim in reply.claims if claim.denied for key in claim.keys)


def _of_table(reply: _Reply, verdicts: list[Verdict], true: frozenset[str], false: frozenset[str]) -> Reading | None:
    judged = true | false
    if not true:
        none = reply.multiple and judged == frozenset(reply.options)
        return reply.choose("per_option", frozenset()) if none else None
    if reply.multiple and _is_cut_table(reply, verdicts, judged):
        return Reading(None, "no_answer")
    return reply.choose("per_option", true)


def _is_cut_table(reply: _Reply, verdicts: list[Verdict], judged: frozenset[str]) -> bool:
    """A table of verdicts in the options' order that stops before the last option was cut short."""
    tabular = [v for v in verdicts if v.tabular and len(v.keys) == 1]
    keys = list(dict.fromkeys(key for v in tabular for key in v.keys))
    if len(tabular) < len(verdicts) or all(v.true for v in verdicts):
        return False
    return keys == list(reply.options)[: len(keys)] and len(judged) < len(reply.options)


def _by_complement(reply: _Reply) -> Reading | None:
    """ "La seule proposition fausse est C": all the others are right."""
    claim = next((claim for claim in reversed(reply.claims) if claim.complement), None)
    if claim is None or not reply.multiple:
        return None
    return reply.choose("anchored", frozenset(reply.options) - claim.keys)


def _by_trailing_list(reply: _Reply) -> Reading | None:
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
    if not document.ends_line(listing.end) or _follows_label(document, start):
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


_FEW_WORDS = 60


def _by_only_texts(reply: _Reply) -> Reading | None:
    """Nothing but option texts, without letters."""
    document = reply.document
    if not all(t.kind in (Kind.TEXT, Kind.MARK, Kind.BREAK, Kind.NUMBER) or _is_filler(t) for t in document.tokens):
        return None
    keys = frozenset(key for t in document.tokens if t.kind is Kind.TEXT for key in t.keys)
    if not keys or any(t.norm in ("?", "✓", "✗") for t in document.tokens):
        return None
    echo = len(keys) == len(reply.options) > 2
    return Reading(None, "echo") if echo else reply.choose("option_text", keys)


def _by_option_text(reply: _Reply) -> Reading | None:
    """One option's text in a short reply."""
    document = reply.document
    if refuses(document):
        return None
    said = [i for i, token in enumerate(document.tokens) if token.kind is Kind.TEXT]
    affirmed = [i for i in said if not _is_negated(document, i)]
    keys = frozenset(key for i in affirmed for key in document.at(i).keys)
    others = [t for t in document.tokens if t.kind in (Kind.WORD, Kind.LETTER, Kind.NUMBER) and not _is_filler(t)]
    if not keys or any(token.kind is Kind.LETTER and token.strong for token in others):
        return None
    if len(keys) == 1 and len(document.tokens) <= _FEW_WORDS:
        return reply.choose("option_text", keys)
    return None


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


def _by_elimination(reply: _Reply) -> Reading | None:
    """A question with one answer, all of whose other options are called wrong."""
    left = frozenset(reply.options) - _denied_keys(reply)
    if reply.multiple or len(left) != 1 or len(reply.options) < 3:
        return None
    return reply.choose("elimination", left)


_SHORT = 20


def _by_lone_mention(reply: _Reply) -> Reading | None:
    """A short reply that names one option and no other."""
    document = reply.document
    said = [t for t in document.tokens if t.kind in (Kind.WORD, Kind.LETTER, Kind.TEXT)]
    letters = [t for t in said if t.kind is Kind.LETTER and t.strong]
    keys = frozenset(key for token in letters for key in token.keys)
    if len(said) > _SHORT or len(keys) != 1 or any(t.stray for t in letters) or refuses(document):
        return None
    doubted = any(
        t.norm in words.NEGATIONS | words.PARTICLES or t.norm.endswith("n't") or t.norm == "?" for t in document.tokens
    )
    if doubted or keys & _denied_keys(reply) or len(letters[0].keys) > 1:
        return None
    return reply.choose("mention", keys)


def _by_echo(reply: _Reply) -> Reading | None:
    listing = read_list(reply.document, 0)
    if listing is not None and listing.echoed and len(listing.keys) == len(reply.options):
        return Reading(None, "echo")
    return None


_RULES: tuple[Callable[[_Reply], Reading | None], ...] = (
    _by_whole_text,
    _by_json,
    _by_bare_letters,
    _by_only_texts,
    _by_claim(Rank.ANCHORED),
    _by_leading_list,
    _by_claim(Rank.CONCLUSION),
    _by_complement,
    _by_verdicts,
    _by_trailing_list,
    _by_claim(Rank.LABEL),
    _by_echo,
    _by_option_text,
    _by_elimination,
    _by_lone_mention,
)
