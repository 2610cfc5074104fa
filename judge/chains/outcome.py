"""Is the answer right?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field

from judge.chains.asking import Asker
from judge.chains.fence import Data
from judge.chains.searches import (
    Decided,
    Evidenced,
    Found,
    Queries,
    evidence_items,
    without_query,
)
from judge.models.verdict import Verdict

#: Variables: ``answer``, ``reference``.
PROMPT_DIAGNOSIS = "outcome.diagnosis.v1"
#: Variables: ``case``, ``answer``, ``reference``; where something may be looked up, and where not or no more.
PROMPT_TREATMENT = "outcome.treatment.v1"
PROMPT_TREATMENT_FINAL = "outcome.treatment.final.v1"


class OutcomeVerdict(Verdict):
    """Whether an answer is right; ``queries`` says what to look up where that cannot be told."""

    rationale: str = Field(description="one to three sentences")
    verdict: Evidenced
    queries: Queries = Field(default_factory=list)


class FinalOutcome(Verdict):
    """Whether an answer is right."""

    rationale: str = Field(description="one to three sentences")
    verdict: Decided


async def judge_outcome(
    asker: Asker,
    prompt: str,
    values: Mapping[str, str],
    *,
    round: int,
    found: Sequence[Found],
    may_search: bool,
) -> OutcomeVerdict:
    """Judge an answer against the reference, with the address ``accuracy/<round>``.

    Args:
        prompt: name of the one to fill in; one that offers evidence goes with `may_search`, a final one without.
        values: the prompt's variables other than ``evidence``: texts of the candidate and the case.
        round: how often something was looked up before, from 0.
        found: what was found then.
        may_search: whether the judge may ask for evidence; if not, it decides.

    Raises:
        JudgeFailed: no usable answer.
    """
    step = f"accuracy/{round}"
    data: dict[str, Data] = {**values, "evidence": evidence_items({"passage": found})}
    if may_search:
        return await asker.ask(prompt, OutcomeVerdict, step, data, check=_names_queries)
    final = await asker.ask(prompt, FinalOutcome, step, data)
    return OutcomeVerdict(rationale=final.rationale, verdict=final.verdict, queries=[])


def _names_queries(verdict: OutcomeVerdict) -> str:
    return without_query(verdict.verdict, verdict.queries)
