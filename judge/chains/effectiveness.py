"""What does a step of reasoning add?"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from judge.chains.asking import Asker
from judge.chains.fence import Data, numbered
from judge.metrics.reasoning import Effectiveness
from judge.models.verdict import Verdict

PROMPT = "effectiveness.v1"
PROMPTS = (PROMPT,)


class EffectivenessVerdict(Verdict):
    """What one step does."""

    rationale: str = Field(description="one or two sentences")
    effectiveness: Effectiveness


async def judge_effectiveness(asker: Asker, case: str, steps: Sequence[str], index: int) -> EffectivenessVerdict:
    """Judge one step, given the case and the steps before it.

    Args:
        index: of the step, from 0.

    Raises:
        JudgeFailed: no usable answer.
    """
    data: dict[str, Data] = {"case": case, "previous": numbered(enumerate(steps[:index])), "step": steps[index]}
    return await asker.ask(PROMPT, EffectivenessVerdict, f"effectiveness/{index}", data)
