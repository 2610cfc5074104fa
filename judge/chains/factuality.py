"""Is what a step says medically correct?"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from judge.chains.asking import Asker
from judge.chains.fence import Data
from judge.chains.searches import Decided, Evidenced, Queries, evidence_items, without_query
from judge.chains.searches import Found as Found
from judge.models.verdict import Verdict

#: Where something may be looked up, and where not or no more.
PROMPT = "factuality.v1"
PROMPT_FINAL = "factuality.final.v1"
PROMPTS = (PROMPT, PROMPT_FINAL)


class FactualityVerdict(Verdict):
    """Whether a step is factually correct; ``queries`` says what to look up where that cannot be told."""

    rationale: str = Field(description="one or two sentences")
    verdict: Evidenced
    queries: Queries = Field(default_factory=list)


class FinalFactuality(Verdict):
    """Whether a step is factually correct."""

    rationale: str = Field(description="one or two sentences")
    verdict: Decided


async def judge_factuality(
    asker: Asker,
    case: str,
    step_text: str,
    index: int,
    *,
    round: int,
    found: Sequence[Found],
    may_search: bool,
) -> FactualityVerdict:
    """Judge the facts in one step.

    Args:
        round: how often something was looked up before, from 0.
        found: what was found then.
        may_search: whether the judge may ask for evidence; if not, it decides.

    Raises:
        JudgeFailed: no usable answer.
    """
    step = f"factuality/{index}/{round}"
    data: dict[str, Data] = {"case": case, "step": step_text, "evidence": evidence_items({"passage": found})}
    if may_search:
        return await asker.ask(PROMPT, FactualityVerdict, step, data, check=_names_queries)
    final = await asker.ask(PROMPT_FINAL, FinalFactuality, step, data)
    return FactualityVerdict(rationale=final.rationale, verdict=final.verdict, queries=[])


def _names_queries(verdict: FactualityVerdict) -> str:
    return without_query(verdict.verdict, verdict.queries)
