"""Whether two judges' numbers may be set beside each other: only if both measured against the same reference steps.

Completeness is found reference steps over all reference steps. Split anew, a reference has another denominator and
other steps to find, so the numbers of two judges differ although they agree on every word. Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from judge.judgements import UnitJudgements
from judge.metrics.reasoning import COMPLETENESS, REASONING

#: Kinds of judgement, and metrics, that rest on reference steps.
AGAINST_REFERENCE = frozenset({"match", COMPLETENESS.name})


@dataclass(frozen=True, slots=True)
class CaseReference:
    """What is known of the reference steps that one judge had for one case.

    Attributes:
        steps: their texts in order; empty if they are not known.
        hash: as `judge.references.ReferenceSteps`; empty if it is not known.
    """

    steps: tuple[str, ...] = ()
    hash: str = ""


def same_reference(a: CaseReference, b: CaseReference) -> bool:
    """Whether two judges had the same reference steps: equal hashes, or, word for word, the same texts in order.

    White space apart; of two whose texts and hashes cannot be compared it is not known, and so they are not the same.
    """
    if a.hash and a.hash == b.hash:
        return True
    return bool(a.steps) and _plain(a.steps) == _plain(b.steps)


def _plain(steps: Iterable[str]) -> list[str]:
    return [" ".join(step.split()) for step in steps]


def comparable_cases(a: Mapping[str, CaseReference], b: Mapping[str, CaseReference]) -> Sequence[str]:
    """The cases, in the order of `a`, in which labels and metrics against the reference may be compared."""
    return [case_id for case_id, reference in a.items() if case_id in b and same_reference(reference, b[case_id])]


def references_before(said: Mapping[str, UnitJudgements]) -> dict[str, CaseReference]:
    """Unit -> the reference steps that a judge had before it, where it had any."""
    found = {}
    for unit, of_unit in said.items():
        texts = tuple(judgement.text for judgement in of_unit.view.of("match"))
        known = str(of_unit.facts.get("reference") or "")
        if texts or known:
            found[unit] = CaseReference(texts, known)
    return found


# -- pairs of judges of one run ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Refused:
    """That a metric of two judges is not compared, and why."""

    metric: str
    judges: tuple[str, str]
    why: str

    def __str__(self) -> str:
        return (
            f"{self.metric} by {self.judges[0]} and by {self.judges[1]} is not comparable: {self.why} "
            "(--force shows it all the same)"
        )


def refusals(said: Mapping[str, Mapping[str, UnitJudgements]]) -> list[Refused]:
    """For each pair of judges, the metrics against reference steps in which they are not comparable."""
    references = {name: references_before(of_judge) for name, of_judge in said.items()}
    found = []
    for a, b in combinations(said, 2):
        both = [unit for unit in references[a] if unit in references[b]]
        same = set(comparable_cases(references[a], references[b]))
        if differing := sum(unit not in same for unit in both):
            why = f"in {differing} of {len(both)} units that both judged they had other reference steps"
            found += [Refused(metric, (a, b), why) for metric in sorted(AGAINST_REFERENCE - {"match"})]
    return found


def other_texts(facts: Mapping[str, Mapping[str, Any]]) -> list[Refused]:
    """For each pair of judges of which one judged the answers and one the thinking: nothing about steps compares."""
    found = []
    for a, b in combinations(facts, 2):
        sources = [facts[name].get("spec", {}).get("reasoning_source") for name in (a, b)]
        if None not in sources and sources[0] != sources[1]:
            why = f"one judged the {sources[0]}, the other the {sources[1]}"
            found += [Refused(metric.name, (a, b), why) for metric in REASONING]
    return found
