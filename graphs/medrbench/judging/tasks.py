"""What a model can judge of a MedR-Bench unit, and which prompts that takes; nothing heavy is imported before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from graphs.medrbench.options import EXAMINING

if TYPE_CHECKING:
    from judge.settings import JudgeSpec

TASKS: Mapping[str, str] = {
    "accuracy": "is the diagnosis, or the treatment plan, right?",
    "reasoning": "which steps are effective and true, and which reference steps are among them?",
    "exams": "are the requested exams those that were done, and the other way round? (one_turn and free_turn)",
}


def judge_prompt_names(spec: JudgeSpec, settings: Sequence[str]) -> tuple[str, ...]:
    """Names of the prompts that judging these settings under `spec` may use."""
    names: list[str] = []
    if "accuracy" in spec.only:
        names += _for_accuracy(spec, settings)
    if "reasoning" in spec.only:
        names += _for_reasoning(spec, settings)
    if "exams" in spec.only and set(settings) & EXAMINING:
        from graphs.medrbench.judging.exams import prompt_names

        names += prompt_names(spec.protocol)
    return tuple(names)


def _searches(spec: JudgeSpec) -> bool:
    return spec.evidence != "none"


def _for_accuracy(spec: JudgeSpec, settings: Sequence[str]) -> list[str]:
    from judge.chains import outcome

    names = [outcome.PROMPT_DIAGNOSIS] if set(settings) - {"treatment"} else []
    if "treatment" in settings:
        names += [outcome.PROMPT_TREATMENT] if _searches(spec) else []
        names.append(outcome.PROMPT_TREATMENT_FINAL)
    return names


def _for_reasoning(spec: JudgeSpec, settings: Sequence[str]) -> list[str]:
    from graphs.medrbench.judging.splits import PROMPT
    from judge.chains import effectiveness, factuality, labelling, matching

    names = [PROMPT] if spec.step_splitter != "rules" else []
    matches = bool(set(settings) - EXAMINING)
    if spec.protocol == "batched":
        names += labelling.PROMPTS_SEARCHING if _searches(spec) else labelling.PROMPTS_CLOSED
        return [*names, *(matching.PROMPTS_BATCHED if matches else ())]
    names += effectiveness.PROMPTS
    names += factuality.PROMPTS if _searches(spec) else [factuality.PROMPT_FINAL]
    return [*names, *(matching.PROMPTS if matches else ())]
