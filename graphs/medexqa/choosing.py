"""Which letter is the answer: by the scores a model gives the letters, or by what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from graphs.medexqa.options import AnswerBy, How

if TYPE_CHECKING:
    from judge.models.choices import Choice

#: Reasons for which there are no scores at all, whatever was said.
ABSENT = frozenset({"no_logprobs", "no_alternatives"})


@dataclass(frozen=True, slots=True)
class Decided:
    """The answer of a unit.

    Attributes:
        letter: None where there is none.
        how: what it is by; None without an answer.
        reason, detail: why there is none; empty with an answer.
    """

    letter: str | None
    how: How | None
    reason: str = ""
    detail: str = ""


def scores_of(choice: Choice) -> dict[str, Any] | None:
    """A choice by scores as plain data, None where nothing was scored."""
    if choice.unscored is not None and choice.unscored.reason in ABSENT:
        return None
    return {
        "how": choice.how,
        "best": choice.best,
        "scores": dict(choice.scores),
        "forms": dict(choice.forms),
        "unscored": asdict(choice.unscored) if choice.unscored else None,
    }


def decide(by: AnswerBy, text: Mapping[str, Any], scores: Mapping[str, Any] | None) -> Decided:
    """The answer by the way that was asked for; ``auto`` takes the letter by scores where there is one.

    Args:
        text: ``answer`` (letter or None), ``reason`` and ``detail`` of what was read from the text.
        scores: as `scores_of` gives them.
    """
    if by == "text":
        return _by_text(text)
    found = by_scores(scores)
    return _by_text(text) if by == "auto" and found.letter is None else found


def by_scores(scores: Mapping[str, Any] | None) -> Decided:
    """The answer by the scores alone."""
    if scores is None:
        return Decided(None, None, "no_scores", "there are neither logits nor log-probabilities of the letters")
    if scores["best"] is not None:
        return Decided(scores["best"], scores["how"])
    why = scores["unscored"]
    return Decided(None, None, why["reason"], why["detail"])


def _by_text(text: Mapping[str, Any]) -> Decided:
    if text["answer"] is not None:
        return Decided(text["answer"], "text")
    return Decided(None, None, text["reason"], text["detail"])
