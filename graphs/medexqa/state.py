"""What the MedExQA graph carries (state) and what it is run with (context)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from graphs.medexqa.cases import Case
from judge.benchmark import Unit
from judge.models.chat import ChatModel
from judge.models.choices import ChoosingModel
from judge.prompting import Prompts


class State(TypedDict, total=False):
    """One case on its way.

    Attributes:
        case: the record of the case.
        messages: the conversation so far, examples included, as role/content dictionaries.
        replies: what came of each ask: kind (``answer`` or ``explanation``), text, thinking, finish_reason, how,
            well_formed.
        scores: of the letters, see `graphs.medexqa.choosing.scores_of`; None while there are none.
        text: what was read from the replies: answer (letter or None), reason and detail where there is none.
        explanation: text and reason; the reason is empty where there is a text.
        status, detail: of a call that failed for good; empty otherwise.
    """

    case: dict[str, Any]
    messages: list[dict[str, Any]]
    replies: list[dict[str, Any]]
    scores: dict[str, Any] | None
    text: dict[str, Any]
    explanation: dict[str, Any]
    status: str
    detail: str


@dataclass(frozen=True, slots=True)
class Context:
    """Settings of the run and the model asked; never part of the state.

    Attributes:
        weighing: the doctor as one that gives scores of the letters; None where they are not wanted or cannot be had.
        examples: worked questions of the case's specialty, shown before it.
    """

    unit: Unit
    doctor: ChatModel
    prompts: Prompts
    weighing: ChoosingModel | None
    examples: Sequence[Case]
