"""What the judging graph carries (state) and what it is run with (context)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from operator import add
from typing import Annotated, Any, TypedDict, TypeVar

from judge.benchmark import Unit
from judge.chains.asking import Asker
from judge.chains.tools import JudgeTools
from judge.errors import CallFailed

Row = dict[str, Any]
"""A judgement as `judge.judgements.Judgement.to_row` gives it, or a label that is missing, see `missing`."""

T = TypeVar("T")


class Gathered(TypedDict, total=False):
    """What every branch brings back, in the order of arrival.

    Attributes:
        judgements: rows of judgements.
        missing: rows of what is not there, see `missing`.
    """

    judgements: Annotated[list[Row], add]
    missing: Annotated[list[Row], add]


class Input(TypedDict):
    """One unit as it is to be judged.

    Attributes:
        setting: of the unit.
        record: of the case, see `graphs.medrbench.records`.
        status, detail, data: of the transcript.
    """

    setting: str
    record: dict[str, Any]
    status: str
    detail: str
    data: dict[str, Any]


class Plan(Gathered, total=False):
    """What is judged of a unit, and what came of it.

    Attributes:
        branches: what is judged of it, see `graphs.medrbench.judging.plan`.
        batched: whether one call is about all steps.
        case: what the doctor knew.
        answer: the answer that was read.
        texts: the doctor's texts that hold the reasoning, one a turn.
        given_steps: the steps where only they are there; None where texts are.
        searched: the text in which reference steps are looked for.
        reference: the case's reference steps; None where it has none or they mean nothing.
        reference_hash: what these were pinned as.
        steps: the steps of the reasoning; None where they could not be made or are not judged.
        splitter: who made them, and how many.
        result: what is known in the end, see `graphs.medrbench.judging.results`.
    """

    branches: list[str]
    batched: bool
    case: str
    answer: str
    texts: list[str]
    given_steps: list[str] | None
    searched: str
    reference: list[str] | None
    reference_hash: str
    steps: list[str] | None
    splitter: dict[str, Any]
    result: dict[str, Any]


class State(Input, Plan):
    """One unit on its way."""


class Reasoning(Gathered, total=False):
    """The reasoning of one unit; see `Plan`."""

    batched: bool
    case: str
    texts: list[str]
    given_steps: list[str] | None
    steps: list[str] | None
    splitter: dict[str, Any]


class ReasoningFound(Gathered, total=False):
    """What of `Reasoning` is passed on."""

    steps: list[str] | None
    splitter: dict[str, Any]


class Labelling(Gathered, total=False):
    """Some steps on their way to their labels: one in protocol ``per-step``, all of them in ``batched``.

    Attributes:
        case: what the doctor knew.
        steps: all steps of the reasoning.
        items: indices of those that are labelled here.
        open: indices of effective steps whose facts are not decided.
        queries: index -> what is to be looked up for it next.
        searches: index -> what was looked up for it, as it goes into a judgement's path.
        round: how often evidence was looked up.
    """

    case: str
    steps: list[str]
    items: list[int]
    open: list[int]
    queries: dict[int, list[str]]
    searches: dict[int, list[Row]]
    round: int


class Accuracy(Gathered, total=False):
    """One answer on its way to its label; the names mean what they mean in `Plan` and `Labelling`."""

    record: dict[str, Any]
    case: str
    answer: str
    queries: list[str]
    searches: list[Row]
    round: int


class Match(TypedDict):
    """Reference steps that are looked for: one in protocol ``per-step``, all of them in ``batched``."""

    searched: str
    reference: list[str]
    items: list[int]


@dataclass(frozen=True, slots=True)
class Context:
    """What the judging works with; never part of the state.

    Attributes:
        faults: what ends the judging, in the order in which it occurred; see `attempt`.
    """

    tools: JudgeTools
    unit: Unit
    faults: list[Exception] = field(default_factory=list)

    @property
    def asker(self) -> Asker:
        return self.tools.asker(self.unit)

    @property
    def may_search(self) -> bool:
        return self.tools.evidence is not None


@dataclass(frozen=True, slots=True)
class Failed:
    """Why something that was asked for is not there."""

    reason: str
    detail: str


async def attempt(context: Context, ask: Callable[[], Awaitable[T]]) -> T | Failed:
    """What is asked for, or why it is not there.

    What ends the judging is set aside until all branches are through, and nothing more is asked meanwhile: if a node
    raised it, the calls that others wait for would be cancelled, and their answers, paid for, lost.
    """
    if context.faults:
        return Failed("interrupted", "the judging was ended before this was asked")
    try:
        return await ask()
    except CallFailed as failure:
        return Failed(failure.reason, str(failure))
    except Exception as fault:
        context.faults.append(fault)
        return Failed("interrupted", str(fault))


def missing(kind: str, failed: Failed, item: int | None = None) -> Row:
    """A label that is not there; without an item, no label of its kind is."""
    return {"kind": kind, "item": item, "reason": failed.reason, "detail": failed.detail}
