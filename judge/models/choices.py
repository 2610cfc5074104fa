"""Which option letter a model chooses, by the scores it gives the letters as its next token.

Two sources give one kind of `Choice`: next-token logits of a model in this process (``logits``), and log-probabilities
that a server returns beside an ordinary reply (``logprobs``). Either way a letter's score is the highest of its forms,
with and without a space before it, e.g. ``"A"`` and ``" A"``. The maximum and not the sum: the published protocols
take the highest logit, and the list that a server returns may hold one of the forms and lack the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from judge.models.answer_token import ScoredToken, find_answer_token, letter_of
from judge.models.reply import Reply
from judge.outcome import Unscored

if TYPE_CHECKING:
    from judge.models.address import Address
    from judge.models.chat import Message

How = Literal["logits", "logprobs"]

#: Scores closer than this, in nats, are a tie: so much the company in a batch, or a server, may change a score.
TIE = 1e-4


@dataclass(frozen=True, slots=True)
class Choice:
    """What the scores of the letters say.

    Attributes:
        scores: letter -> log-probability over the whole vocabulary (<= 0); None where there is none.
        best: the letter with the highest score; None when that is no single one, see `unscored`.
        how: where the scores are from.
        forms: letter -> the token that its score is of.
        ties: the letters that share the highest score, when several do.
        unscored: why there is no `best`: ``tied_letters``, ``letter_not_a_token``, ``score_not_finite``,
            ``no_logprobs``, ``no_alternatives``, ``answer_not_in_logprobs``, ``no_letter_in_logprobs``,
            ``conflicting_letters``, ``letters_below_top``, or why the reply itself cannot be read.
        reply: the reply in which the letter stood; None for logits, where nothing is said.
    """

    scores: Mapping[str, float | None]
    best: str | None
    how: How
    forms: Mapping[str, str] = field(default_factory=dict)
    ties: tuple[str, ...] = ()
    unscored: Unscored | None = None
    reply: Reply | None = None


@runtime_checkable
class ChoosingModel(Protocol):
    """A model that can be asked which letter comes next."""

    chooses_by: How

    async def choose(self, messages: Sequence[Message], letters: Sequence[str], address: Address) -> Choice:
        """One question. Failures that make a case unscored raise `judge.errors.CallFailed`.

        Args:
            letters: of the options, e.g. ``ABCD``; one character each, as the prompt shows them.
        """


def choice_from_logprobs(reply: Reply, letters: Sequence[str]) -> Choice:
    """The choice by the alternatives at the token of a reply that is its answer letter.

    The token is found by `judge.models.answer_token.find_answer_token`. A letter that is not among the alternatives
    has no score; the best of the others still beats it, as long as it is itself one of the most likely tokens.
    """
    nothing: dict[str, float | None] = dict.fromkeys(letters)
    if reply.unscored is not None and not (reply.text and reply.unscored.reason == "truncated"):
        return Choice(nothing, None, "logprobs", unscored=reply.unscored, reply=reply)
    found = find_answer_token(reply.logprobs, reply.text, letters)
    if isinstance(found, Unscored):
        return Choice(nothing, None, "logprobs", unscored=found, reply=reply)
    return _by_alternatives(found, letters, reply)


def _by_alternatives(found: ScoredToken, letters: Sequence[str], reply: Reply) -> Choice:
    by_form: dict[str, dict[str, float]] = {letter: {} for letter in letters}
    for token, score in found.alternatives.items():
        if (letter := letter_of(token, letters)) is not None:
            by_form[letter][token] = score
    scores, forms = _best_forms(by_form)
    missing = [letter for letter, score in scores.items() if score is None]
    if len(missing) == len(scores):
        why = Unscored("no_letter_in_logprobs", "the letter in the answer has no log-probability")
        return Choice(scores, None, "logprobs", unscored=why, reply=reply)
    if missing and _highest(scores) < found.lowest_listed:
        why = Unscored("letters_below_top", f"{', '.join(missing)} may be likelier than the letter that was sampled")
        return Choice(scores, None, "logprobs", forms, unscored=why, reply=reply)
    return _chosen(scores, forms, "logprobs", reply)


def choice_from_scores(response: str, letters: Sequence[str]) -> Choice:
    """The choice by a stored response of a model in this process: ``{"letters": {"A": {"A": -0.1, " A": -3.2}}}``.

    Every letter must have a score, for the highest of some is not the highest of all.
    """
    stored: Mapping[str, Mapping[str, float | None]] = json.loads(response)["letters"]
    by_form = {
        letter: {form: score for form, score in stored[letter].items() if score is not None} for letter in letters
    }
    scores, forms = _best_forms(by_form)
    if missing := [letter for letter in letters if not stored[letter]]:
        why = Unscored("letter_not_a_token", f"{', '.join(missing)} is no single token of this model")
        return Choice(scores, None, "logits", forms, unscored=why)
    if missing := [letter for letter in letters if not by_form[letter]]:
        why = Unscored("score_not_finite", f"the model gives {', '.join(missing)} no finite score")
        return Choice(scores, None, "logits", forms, unscored=why)
    return _chosen(scores, forms, "logits")


def _best_forms(by_form: Mapping[str, Mapping[str, float]]) -> tuple[dict[str, float | None], dict[str, str]]:
    """The highest score of each letter, and the form that has it."""
    forms = {letter: max(of, key=of.__getitem__) for letter, of in by_form.items() if of}
    return {letter: by_form[letter][forms[letter]] if letter in forms else None for letter in by_form}, forms


def _highest(scores: Mapping[str, float | None]) -> float:
    return max(score for score in scores.values() if score is not None)


def _chosen(
    scores: Mapping[str, float | None], forms: Mapping[str, str], how: How, reply: Reply | None = None
) -> Choice:
    highest = _highest(scores)
    first = tuple(letter for letter, score in scores.items() if score is not None and highest - score < TIE)
    if len(first) > 1:
        why = Unscored("tied_letters", f"{', '.join(first)} have the same score")
        return Choice(scores, None, how, forms, first, why, reply)
    return Choice(scores, first[0], how, forms, reply=reply)
