"""What a benchmark's judging works with, and what it must provide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from judge.benchmark import Case, Transcript, Unit
from judge.chains.asking import Asker, FailedCall
from judge.evidence import Evidence
from judge.judgements import UnitJudgements
from judge.models.verdict import StructuredModel
from judge.prompting import Prompts
from judge.references import ReferenceSteps
from judge.settings import JudgeSpec, ReasoningSource

#: Role under which splits by a model are stored: they belong to the transcript, not to a judge.
SPLITTER_ROLE = "splitter"


@dataclass(frozen=True, slots=True)
class Split:
    """The steps of one transcript's reasoning.

    Attributes:
        source: which of its texts was split.
        by: ``rules`` with the version of the rules, or the SPEC of the model that split it.
        prompt: SHA-256 of the prompt; empty for rules.
    """

    source: ReasoningSource
    by: str
    prompt: str
    steps: tuple[str, ...]


class Splits(Protocol):
    """Splits made by a model, kept with the run and shared by all its judges."""

    async def find(self, unit: Unit, source: ReasoningSource, prompt: str) -> Split | None:
        """What a model split before with a prompt of this hash."""

    async def keep(self, unit: Unit, split: Split) -> None:
        """Keep it for good."""


@dataclass(frozen=True, slots=True)
class JudgeTools:
    """Everything that judging one run takes.

    Attributes:
        evidence: None where nothing may be looked up.
        references: by case id; a case that has none is not measured against a reference.
        failed: every question that got no usable answer.
    """

    spec: JudgeSpec
    model: StructuredModel
    prompts: Prompts
    nonce: str
    evidence: Evidence | None
    references: Mapping[str, ReferenceSteps]
    splits: Splits
    failed: list[FailedCall] = field(default_factory=list)

    def asker(self, unit: Unit) -> Asker:
        """Asks the judge about one unit."""
        return Asker(self.model, self.prompts, self.nonce, unit, self.spec.role, self.failed)

    def splitter(self, unit: Unit) -> Asker:
        """Asks the judge to split a unit's reasoning."""
        return Asker(self.model, self.prompts, self.nonce, unit, SPLITTER_ROLE, self.failed)


class Judging(Protocol):
    """Judges units of one run."""

    async def judge(self, case: Case, unit: Unit, transcript: Transcript) -> UnitJudgements:
        """Judge one unit.

        Raises:
            EndpointError, ReplayError, Interrupted: pass through and end the judging; failures of a single call do not
                raise but are reasons in the result.
        """
