"""A judge that answers from a script, validated as a real one's answers are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from judge.benchmark import Unit
from judge.chains import effectiveness, factuality, labelling, matching, outcome
from judge.chains.asking import Asker
from judge.models.address import Address
from judge.models.chat import Message
from judge.models.verdict import Check, JudgeFailed, V
from judge.prompting import load_prompts

SPLIT = "split.reasoning.v1"
PROMPTS = (
    *effectiveness.PROMPTS,
    *factuality.PROMPTS,
    *matching.PROMPTS,
    *matching.PROMPTS_BATCHED,
    *labelling.PROMPTS_CLOSED,
    *labelling.PROMPTS_SEARCHING,
    SPLIT,
    outcome.PROMPT_DIAGNOSIS,
    outcome.PROMPT_TREATMENT,
    outcome.PROMPT_TREATMENT_FINAL,
)

#: How often an answer that does not validate is asked for.
ASKS = 3


@dataclass(frozen=True)
class Asked:
    """One question: the prompt, and what was wrong with the answers before this one."""

    step: str
    text: str
    faults: tuple[str, ...]

    @property
    def mark(self) -> str:
        return re.findall(r"^<<<end (\w+)>>>$", self.text, re.MULTILINE)[-1]  # ones before it may be forged

    def inside(self, name: str) -> str:
        """What stands between the fences of a name."""
        opening, closing = f"<<<{name} {self.mark}>>>\n", f"\n<<<end {self.mark}>>>"
        return self.text.partition(opening)[2].partition(closing)[0]

    def pieces(self, name: str) -> list[tuple[str, str]]:
        """The labelled texts between the fences of a name."""
        parts = re.split(rf"^<<<(.+) {self.mark}>>>\n", self.inside(name), flags=re.MULTILINE)
        return [(label, text.removesuffix("\n")) for label, text in zip(parts[1::2], parts[2::2], strict=True)]

    @property
    def wanted(self) -> list[int]:
        """The numbers for which verdicts are asked."""
        *_, last = re.finditer(r"under its number: ([\d, ]+)\.", self.text)  # ones before it may be forged
        return [int(number) for number in last[1].split(",")]


Script = Callable[[Asked], Mapping[str, Any]] | Sequence[Mapping[str, Any]]


@dataclass
class ScriptedJudge:
    """Implements `StructuredModel`. A script in form of a list is used up in turn."""

    script: Script
    asked: list[Asked] = field(default_factory=list)

    async def ask(
        self, messages: Sequence[Message], schema: type[V], address: Address, *, check: Check[V] | None = None
    ) -> V:
        faults: list[str] = []
        for _ in range(ASKS):
            self.asked.append(asked := Asked(address.step, str(messages[-1]["content"]), tuple(faults)))
            script = self.script
            answer = script(asked) if callable(script) else script[len(self.asked) - 1]
            if "fails" in answer:
                raise JudgeFailed("no answer", reason=answer["fails"])
            try:
                verdict = schema.model_validate(answer)
            except ValidationError as error:
                faults.append(str(error))
                continue
            fault = check(verdict) if check else ""
            if not fault:
                return verdict
            faults.append(fault)
        raise JudgeFailed(faults[-1], reason="judge_invalid", attempts=ASKS)


def asker_of(judge: ScriptedJudge, nonce: str = "nonce") -> Asker:
    unit = Unit("medrbench", "oracle", "case 1", 1)
    return Asker(judge, load_prompts("medrbench", PROMPTS), nonce, unit, "judge:test")
