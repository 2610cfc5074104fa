"""What the MedR-Bench machine carries (state) and what it is run with (context)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypedDict

from graphs.medrbench.policy import Rules
from judge.benchmark import Unit
from judge.models.address import Address
from judge.models.chat import ChatModel
from judge.prompting import Prompts


class State(TypedDict, total=False):
    """One case on its way.

    Attributes:
        case: the record of the case, see `graphs.medrbench.records`.
        messages: the conversation with the doctor so far, as role/content dictionaries.
        turns: one dictionary a turn of the doctor. Keys: ``kind`` (``turn`` or ``conclusion``), ``asks`` (1, or 2 after
            a re-ask), ``text``, ``thinking``, ``finish_reason``, ``served_model``, ``unscored``; as read ``reasoning``,
            ``field``, ``requests``, ``answer``, ``repeats`` (per request whether it repeats an earlier one),
            ``looping``, ``flags``; and from the examiner ``results``, ``disclosed`` (positions of ancillary entries),
            ``learned`` (those not disclosed before), ``unavailable`` (requests).
        calls: how many times the doctor was asked, for addresses.
        next: where the machine goes from here, as `graphs.medrbench.policy.decide` said.
        status, detail: how the case ended; status is empty while it has not.
    """

    case: dict[str, Any]
    messages: list[dict[str, Any]]
    turns: list[dict[str, Any]]
    calls: int
    next: str
    status: str
    detail: str


@dataclass(frozen=True, slots=True)
class Results:
    """An examiner's answer to one turn.

    Attributes:
        text: what the doctor is told.
        disclosed: positions of the ancillary entries it discloses.
        unavailable: the requests that it cannot answer.
        flags: what is odd about it, see `graphs.medrbench.FLAGS`.
        detail: for the flags, e.g. the numbers that are not in the record.
    """

    text: str
    disclosed: tuple[int, ...]
    unavailable: tuple[str, ...]
    flags: tuple[str, ...] = ()
    detail: tuple[str, ...] = ()


class Examiner(Protocol):
    """Answers requests from the record."""

    async def answer(self, case: dict[str, Any], requests: Sequence[str], address: Address) -> Results:
        """Answer one turn's requests.

        Raises:
            CallFailed: it cannot; never turned into "no information".
        """


class LoopCheck(Protocol):
    """Says which requests repeat earlier ones, in place of the deterministic check."""

    async def repeated(self, requests: Sequence[str], before: Sequence[str], address: Address) -> list[bool]:
        """Per request, whether it repeats an earlier one.

        Raises:
            CallFailed: it cannot say.
        """


@dataclass(frozen=True, slots=True)
class Context:
    """Settings of the run and the models asked; never part of the state."""

    unit: Unit
    doctor: ChatModel
    examiner: Examiner
    prompts: Prompts
    rules: Rules
    loops: LoopCheck | None = None
