"""The steps of a transcript's reasoning: by rules, or by a model whose split is kept for all judges."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from graphs.medrbench.judging.state import Context, Failed, attempt
from judge.chains.splitting import split_text
from judge.chains.tools import Split
from judge.replies.sections import reasoning_region
from judge.replies.steps import Style, split_steps_with_style
from judge.settings import ReasoningSource

#: The rules of `judge.replies.steps`, and their version.
RULES = "rules.v1"

PROMPT = "split.reasoning.v1"

#: Styles that number or name their steps. Titles name topics and bullets list things, each of one or of many steps.
LABELLED = frozenset({Style.TAGS, Style.WORDS, Style.TABLE, Style.NUMBERS})


async def split_reasoning(context: Context, texts: Sequence[str]) -> Split | Failed:
    """The steps of all texts together, in order.

    Args:
        texts: of the source that is judged, one a turn. Who splits is decided once for all of them.
    """
    spec = context.tools.spec
    source = spec.reasoning_source
    if spec.step_splitter == "rules" or (spec.step_splitter == "auto" and labels_its_steps(texts)):
        return by_rules(texts, source)
    regions = [region for text in texts if (region := _region(text, source))]
    if not regions:
        return by_rules((), source)
    prompt = context.tools.prompts[PROMPT].sha256
    kept = await attempt(context, lambda: context.tools.splits.find(context.unit, source, prompt))
    return kept if kept is not None else await _by_model(context, regions, source)


def labels_its_steps(texts: Sequence[str]) -> bool:
    """Whether every text that has steps numbers or names them."""
    styles = {split_steps_with_style(text).style for text in texts} - {Style.NONE}
    return styles <= LABELLED


def by_rules(texts: Sequence[str], source: ReasoningSource) -> Split:
    """As the rules split them."""
    return Split(source, RULES, "", tuple(step for text in texts for step in split_steps_with_style(text).steps))


def _region(text: str, source: ReasoningSource) -> str:
    """What of a text is reasoning: all of a thinking, of an answer what is no conclusion, answer or request."""
    return (reasoning_region(text) if source == "answer" else text).strip()


async def _by_model(context: Context, regions: Sequence[str], source: ReasoningSource) -> Split | Failed:
    """One question a turn; a split is kept only if it is whole."""
    parts = await asyncio.gather(
        *(_part(context, region, source, turn) for turn, region in enumerate(regions, start=1))
    )
    steps: list[str] = []
    for part in parts:
        if isinstance(part, Failed):
            return part
        steps += part
    tools = context.tools
    split = Split(source, tools.spec.model.text, tools.prompts[PROMPT].sha256, tuple(steps))
    kept = await attempt(context, lambda: tools.splits.keep(context.unit, split))
    return kept if isinstance(kept, Failed) else split


async def _part(context: Context, region: str, source: ReasoningSource, turn: int) -> Sequence[str] | Failed:
    # splits are stored in a role that all judges share; without the judge's name, one that failed would stand in the
    # way of the next, whose question at the same address is another one
    step = f"split/{source}/{turn}/{context.tools.spec.name}"
    asker = context.tools.splitter(context.unit)
    return await attempt(context, lambda: split_text(asker, PROMPT, step, region))
