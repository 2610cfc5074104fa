"""All labels of all steps in one call, and one more call for each round of evidence."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict

from pydantic import Field

from judge.chains.asking import Asker
from judge.chains.factuality import FactualityVerdict
from judge.chains.fence import Data, numbered
from judge.chains.indexed import Batch, Indexed, Question, ask_indexed, named
from judge.chains.searches import (
    Decided,
    Evidenced,
    Found,
    Queries,
    evidence_items,
    without_query,
)
from judge.metrics.reasoning import EFFECTIVE, Effectiveness

#: Where nothing may be looked up.
PROMPTS_CLOSED = ("labels.batch.v1",)
#: Where the judge may ask for evidence.
PROMPTS_SEARCHING = ("labels.batch.search.v1", "factuality.batch.v1", "factuality.batch.final.v1")


class StepVerdict(Indexed):
    """Both labels of one step, and what to look up where its facts cannot be told."""

    rationale: str = Field(description="one or two sentences")
    effectiveness: Effectiveness
    factuality: Evidenced
    queries: Queries = Field(default_factory=list)


class FinalStepVerdict(Indexed):
    """Both labels of one step."""

    rationale: str = Field(description="one or two sentences")
    effectiveness: Effectiveness
    factuality: Decided


class StepVerdicts(Batch[StepVerdict]):
    """The labels of all steps."""


class FinalStepVerdicts(Batch[FinalStepVerdict]):
    """The labels of all steps."""


class IndexedFactuality(Indexed):
    """Whether the step of this number is factually correct."""

    rationale: str = Field(description="one or two sentences")
    verdict: Evidenced
    queries: Queries = Field(default_factory=list)


class IndexedFinalFactuality(Indexed):
    """Whether the step of this number is factually correct."""

    rationale: str = Field(description="one or two sentences")
    verdict: Decided


class Factualities(Batch[IndexedFactuality]):
    """Whether steps are factually correct."""


class FinalFactualities(Batch[IndexedFinalFactuality]):
    """Whether steps are factually correct."""


async def label_all(asker: Asker, case: str, steps: Sequence[str], *, may_search: bool) -> dict[int, StepVerdict]:
    """Label all steps in one call, with the address ``labels``.

    Args:
        may_search: whether the judge may ask for evidence. An effective step that needs it comes with queries.

    Returns:
        Verdicts by index of the step, from 0; without those that the judge left out even when asked again.

    Raises:
        JudgeFailed: as in `judge.chains.indexed.ask_indexed`.
    """

    def shown(_: Sequence[int]) -> Mapping[str, Data]:  # all of them: whether a step repeats depends on the others
        return {"case": case, "steps": numbered(enumerate(steps))}

    indices = range(len(steps))
    if may_search:
        question = Question("labels.batch.search.v1", "labels", StepVerdicts, shown, _can_be_looked_up)
        return await ask_indexed(asker, question, indices)
    found = await ask_indexed(asker, Question("labels.batch.v1", "labels", FinalStepVerdicts, shown), indices)
    return {index: StepVerdict(**one.model_dump(), queries=[]) for index, one in found.items()}


def _can_be_looked_up(verdict: StepVerdict) -> bool:
    return verdict.effectiveness != EFFECTIVE or not without_query(verdict.factuality, verdict.queries)


async def verify_all(
    asker: Asker,
    case: str,
    steps: Mapping[int, str],
    *,
    round: int,
    found: Mapping[int, Sequence[Found]],
    may_search: bool,
) -> dict[int, FactualityVerdict]:
    """Judge the facts in several steps in one call, with the address ``factuality/<round>/<items>[/<evidence>]``.

    A search that failed and then works changes which steps are asked about in a round, and with what. So the address
    says which they are, and has a hash of the evidence where there is any.

    Args:
        steps: those to judge, by index from 0.
        round: how often something was looked up before, from 0.
        found: what was found then, by index of the step it is about.
        may_search: whether the judge may ask for evidence; if not, it decides.

    Returns:
        Verdicts by index of the step; without those that the judge left out even when asked again.

    Raises:
        JudgeFailed: as in `judge.chains.indexed.ask_indexed`.
    """

    def shown(wanted: Sequence[int]) -> Mapping[str, Data]:
        evidence = evidence_items({f"for step {index + 1}": found.get(index, ()) for index in wanted})
        return {"case": case, "steps": numbered((n, steps[n]) for n in wanted), "evidence": evidence}

    step = f"factuality/{round}/{named(steps)}{_evidence_name(steps, found)}"
    if may_search:
        question = Question("factuality.batch.v1", step, Factualities, shown, _names_queries)
        open_ones = await ask_indexed(asker, question, sorted(steps))
        return {index: FactualityVerdict(**one.model_dump(exclude={"index"})) for index, one in open_ones.items()}
    final = Question("factuality.batch.final.v1", step, FinalFactualities, shown)
    decided = await ask_indexed(asker, final, sorted(steps))
    return {
        index: FactualityVerdict(rationale=one.rationale, verdict=one.verdict, queries=[])
        for index, one in decided.items()
    }


def _evidence_name(steps: Collection[int], found: Mapping[int, Sequence[Found]]) -> str:
    """The last part of an address; empty where nothing was looked up."""
    searches = {step: [asdict(one) for one in found[step]] for step in sorted(steps) if found.get(step)}
    digest = hashlib.sha256(json.dumps(searches).encode()).hexdigest()
    return f"/{digest[:8]}" if searches else ""


def _names_queries(verdict: IndexedFactuality) -> bool:
    return not without_query(verdict.verdict, verdict.queries)
