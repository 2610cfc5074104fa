"""How every chain asks: a prompt by name, the data in it fenced, the call addressed, the answer validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from judge.benchmark import Unit
from judge.chains.fence import Data, fence_for
from judge.models.address import Address
from judge.models.verdict import Check, StructuredModel, V
from judge.prompting import Prompts


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks one judge about one unit.

    Attributes:
        nonce: of the run; fences derive from it.
        role: under which the calls are stored, e.g. ``judge:gpt-4.1``.
    """

    model: StructuredModel
    prompts: Prompts
    nonce: str
    unit: Unit
    role: str

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
        address = Address(self.unit.benchmark, self.unit.setting, self.unit.case, self.unit.epoch, self.role, step)
        fence = fence_for(self.nonce, address, data)
        fenced = {name: fence.around(name, text) for name, text in data.items()}
        text = self.prompts[prompt].fill(**fenced, **(words or {}), fence=fence.mark)
        return await self.model.ask([{"role": "user", "content": text}], schema, address, check=check)
