"""Read which options of a multiple-choice question a reply chooses.

A reply is cleaned, its thinking set aside, cut into tokens, and given to the rules of `_RULES` in order; the first
rule that has something to say decides. Plainer forms come first, so that an announced answer outweighs a list at the
head of the reply, which outweighs verdicts on single options, and so on. Where a reply does not settle on an answer
the result is None: a missing answer is counted as one, a guessed answer would be counted as the model's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from judge.replies.claims import Rank, find_claims
from judge.replies.normalise import clean
from judge.replies.reading import Reading, Reply
from judge.replies.refusals import refuses
from judge.replies.rules import by_bare_letters, by_claim, by_echo, by_leading_list, by_lone_mention, by_trailing_list
from judge.replies.rules_json import by_json
from judge.replies.rules_texts import by_leading_text, by_only_texts, by_option_text, by_whole_text
from judge.replies.rules_verdicts import by_complement, by_elimination, by_row_of_marks, by_verdicts
from judge.replies.thinking import separate_thinking
from judge.replies.tokens import Document
from judge.replies.verdicts import find_verdicts


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
_HEAD, _TAIL = 12_000, 28_000


def _read(text: str, options: Mapping[str, str], multiple: bool) -> Reading:
    if not text.strip():
        return Reading(None, "empty")
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]}\n\n{text[-_TAIL:]}"
    document = Document(text, options)
    verdicts = find_verdicts(document)

    def read(other: str) -> Reading:
        return _read(other, options, multiple)

    reply = Reply(text, document, find_claims(document, verdicts), verdicts, multiple, read)
    for rule in _RULES:
        reading = rule(reply)
        if reading is not None:
            return reading
    return Reading(None, "refusal" if refuses(document) else "no_answer")


_END_OF_TURN = re.compile(
    r"<\|(?:im_end|eot_id|end|endoftext|end_of_text|return|eom_id)\|>|</s>|<end_of_turn>|<\|end▁of▁sentence\|>"
)


_NEXT_TURN = re.compile(
    r"^[ \t*#]{0,6}(?:question(?:[ \t]{0,3}(?:n°[ \t]?)?\d{1,3})?|user|human|utilisateur|\[INST\])"
    r"[ \t*]{0,3}(?::|$|(?<=\]))",
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


_RULES: tuple[Callable[[Reply], Reading | None], ...] = (
    by_whole_text,
    by_json,
    by_row_of_marks,
    by_bare_letters,
    by_only_texts,
    by_claim(Rank.ANCHORED),
    by_leading_list,
    by_claim(Rank.CONCLUSION),
    by_leading_text,
    by_complement,
    by_verdicts,
    by_trailing_list,
    by_claim(Rank.LABEL),
    by_echo,
    by_option_text,
    by_elimination,
    by_lone_mention,
)
