"""What the CareMedEval graph carries (state) and what it is run with (context)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

from graphs.caremedeval.cases import Language
from judge.benchmark import Unit
from judge.models.chat import ChatModel
from judge.models.tokens import Tokenizer
from judge.prompting import Prompts


class State(TypedDict, total=False):
    """One case on its way.

    Attributes:
        case: the record of the case, see `graphs.caremedeval.records`.
        article: text of the article as the setting allows it, None without context.
        note: name of the prompt that says how much of the article this is.
        messages: the conversation so far, as role/content dictionaries.
        replies: what came of each ask: text, thinking, finish_reason, well_formed, how, dropped, prompt_tokens.
        answer: sorted keys of the chosen options; None while no answer was read.
        status, detail: how the case ended; status is empty while it has not.
    """

    case: dict[str, Any]
    article: str | None
    note: str
    messages: list[dict[str, Any]]
    replies: list[dict[str, Any]]
    answer: list[str] | None
    status: str
    detail: str


@dataclass(frozen=True, slots=True)
class Context:
    """Settings of the run and the model asked; never part of the state."""

    unit: Unit
    doctor: ChatModel
    prompts: Prompts
    language: Language
    tokenizer: Tokenizer
