"""What reading a reply ends in, and the reply as the rules see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from judge.replies.claims import Claim
from judge.replies.tokens import Document
from judge.replies.verdicts import Verdict


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
class Reply:
    """A reply on its way through the rules.

    Attributes:
        text: the answer, thinking set aside, markup kept.
        document: its tokens.
        claims: answers it announces.
        verdicts: what it says of single options.
        multiple: whether the question takes several answers.
        read: reads another text as an answer to the same question.
    """

    text: str
    document: Document
    claims: list[Claim]
    verdicts: list[Verdict]
    multiple: bool
    read: Callable[[str], Reading]

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
