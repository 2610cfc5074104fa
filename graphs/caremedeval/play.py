"""Playing CareMedEval: contexts cut once per article and setting, one graph run per unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs.caremedeval.cases import CaseSet
from graphs.caremedeval.contexts import CONTEXTS, build_context
from graphs.caremedeval.contexts import Context as ArticleContext
from graphs.caremedeval.graph import build_graph
from graphs.caremedeval.state import Context, State
from judge.benchmark import ANSWERED, Case, Transcript, Unit
from judge.models.chat import ChatModel
from judge.models.tokens import Tokenizer
from judge.prompting import Prompts


class CarePlayer:
    """A `judge.benchmark.Player`."""

    def __init__(self, cases: CaseSet, prompts: Prompts, tokenizer: Tokenizer) -> None:
        self._cases = cases
        self._prompts = prompts
        self._tokenizer = tokenizer
        self._graph = build_graph()
        self._contexts: dict[tuple[str, str], ArticleContext] = {}

    async def play(self, case: Case, unit: Unit, models: Mapping[str, ChatModel]) -> Transcript:
        article = self._context(unit.setting, str(case.record["article_id"]))
        start: State = {"case": dict(case.record), "article": article.text, "note": note_of(unit.setting, article)}
        context = Context(unit, models["doctor"], self._prompts, self._cases.language, self._tokenizer)
        end = await self._graph.ainvoke(start, context=context)
        return transcript_of(end, article)

    def _context(self, setting: str, article_id: str) -> ArticleContext:
        key = (setting, article_id)
        if key not in self._contexts:
            article, abstract = self._cases.article(article_id), self._cases.abstract(article_id)
            self._contexts[key] = build_context(setting, article, abstract, self._tokenizer)
        return self._contexts[key]


def note_of(setting: str, article: ArticleContext) -> str:
    """Which note tells the doctor how much of the article it sees; what fits whole is called whole."""
    if CONTEXTS[setting].source == "abstract":
        return "note.abstract"
    return "note.ends" if article.cut else "note.whole"


def transcript_of(end: Mapping[str, Any], article: ArticleContext) -> Transcript:
    """The final state as a transcript."""
    replies = end["replies"]
    data = {
        "messages": end["messages"],
        "replies": replies,
        "answer": end["answer"],
        "context": {"tokens": article.tokens, "cut": article.cut, "original_tokens": article.original_tokens},
    }
    return Transcript(end["status"], end["detail"], tuple(_flags(end, article)), data)


def _flags(end: Mapping[str, Any], article: ArticleContext) -> list[str]:
    replies = end["replies"]
    answered = end["status"] == ANSWERED
    marks = {
        "malformed": bool(replies) and not replies[0].get("well_formed", False),
        "extracted_from_malformed": answered and not replies[-1]["well_formed"],
        "re_asked": sum(message["role"] == "user" for message in end["messages"]) > 1,
        "explicit_none": answered and end["answer"] == [],
        "letters_dropped": any(reply.get("dropped") for reply in replies),
        "context_cut": article.cut,
        "prompt_cut_suspected": any(reply["prompt_cut"] for reply in replies),
    }
    return [flag for flag, holds in marks.items() if holds]
