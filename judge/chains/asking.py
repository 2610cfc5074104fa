"""How every chain asks: a prompt by name, the data in it fenced, the call addressed, the answer validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from judge.benchmark import Unit
from judge.chains.fence import Data, fence_for
from judge.models.address import Address
from judge.models.verdict import Check, JudgeFailed, StructuredModel, V
from judge.prompting import Prompts


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A question that got no usable answer.

    Attributes:
        unit: key of the unit that it is about.
        question: `judge.models.address.Address.question`, by which its exchanges are found.
        reason: as in `JudgeFailed`.
    """

    unit: str
    question: str
    reason: str


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks one judge about one unit.

    Attributes:
        nonce: of the run; fences derive from it.
        role: under which the calls are stored, e.g. ``judge:gpt-4.1``.
        failed: told of every question without a usable answer, so that it can be asked again, and nothing else.
    """

    model: StructuredModel
    prompts: Prompts
    nonce: str
    unit: Unit
    role: str
    failed: list[FailedCall] = field(default_factory=list)

    def address(self, step: str) -> Address:
        """Where a question to this judge about this unit stands."""
        return Address(self.unit.benchmark, self.unit.setting, self.unit.case, self.unit.epoch, self.role, step)

    def give_up(self, step: str, reason: str) -> None:
        """Say that what a step was asked for is not there, though its calls were answered."""
        self.failed.append(FailedCall(self.unit.key, self.address(step).question, reason))

    async def ask(
        self,
        prompt: str,
        schema: type[V],
        step: str,
        data: Mapping[str, Data],
        *,
        words: Mapping[str, str] | None = None,
        check: Check[V] | None = None,
    ) -> V:
        """Fill a prompt and ask.

        Args:
            prompt: its name, e.g. ``effectiveness.step.v1``. The variable ``fence`` is the mark of this call's fences.
            step: chain and index within the unit, e.g. ``effectiveness/3``; part of the call's address.
            data: variable -> text of the candidate, the case or the evidence, or several; it is put between fences.
            words: variable -> text of our own, put in as it stands.
            check: see `judge.models.verdict.Check`.

        Raises:
            JudgeFailed: no usable answer.
        """
        address = self.address(step)
        fence = fence_for(self.nonce, address, data)
        fenced = {name: fence.around(name, text) for name, text in data.items()}
        text = self.prompts[prompt].fill(**fenced, **(words or {}), fence=fence.mark)
        try:
            return await self.model.ask([{"role": "user", "content": text}], schema, address, check=check)
        except JudgeFailed as failure:
            self.give_up(step, failure.reason)
            raise
