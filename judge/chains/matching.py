"""Is a step of the reference found in the candidate's reasoning?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field

from judge.chains.asking import Asker
from judge.chains.fence import Data, numbered
from judge.chains.indexed import Batch, Indexed, Question, ask_indexed
from judge.models.verdict import Verdict

PROMPT = "match.v1"
PROMPT_BATCH = "match.batch.v1"
PROMPTS = (PROMPT,)
PROMPTS_BATCHED = (PROMPT_BATCH,)


class MatchVerdict(Verdict):
    """Whether one reference step is found."""

    rationale: str = Field(description="one or two sentences")
    match: bool


class IndexedMatch(Indexed):
    """Whether the reference step of this number is found."""

    rationale: str = Field(description="one sentence")
    match: bool


class Matches(Batch[IndexedMatch]):
    """Which reference steps are found."""


async def match_step(asker: Asker, reasoning: str, reference_steps: Sequence[str], index: int) -> MatchVerdict:
    """Look for one reference step.

    Args:
        index: of the reference step, from 0.

    Raises:
        JudgeFailed: no usable answer.
    """
    data = {"reasoning": reasoning, "reference": reference_steps[index]}
    return await asker.ask(PROMPT, MatchVerdict, f"match/{index}", data)


async def match_all(asker: Asker, reasoning: str, reference_steps: Sequence[str]) -> dict[int, MatchVerdict]:
    """Look for all reference steps in one call.

    Returns:
        Verdicts by index of the reference step, from 0; without those that the judge left out even when asked again.

    Raises:
        JudgeFailed: as in `judge.chains.indexed.ask_indexed`.
    """

    def shown(wanted: Sequence[int]) -> Mapping[str, Data]:
        return {"reasoning": reasoning, "reference": numbered((n, reference_steps[n]) for n in wanted)}

    question = Question(PROMPT_BATCH, "match", Matches, shown)
    found = await ask_indexed(asker, question, range(len(reference_steps)))
    return {index: MatchVerdict(rationale=one.rationale, match=one.match) for index, one in found.items()}
