"""What of a unit can be judged, and from which of its texts: pure functions over what is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs.medrbench.judging.state import Failed, Input, Plan, Row, missing
from graphs.medrbench.metrics import SCORED_STATUSES, STEPS_ONLY
from graphs.medrbench.options import EXAMINING
from graphs.medrbench.policy import PARSE_FAILED
from judge.chains.tools import JudgeTools
from judge.replies import separate_thinking

ACCURACY, REASONING, MATCH, EXAMS = "accuracy", "reasoning", "match", "exams"

#: Kinds of judgement of each branch, in the order in which they are stored.
KINDS: Mapping[str, tuple[str, ...]] = {
    ACCURACY: ("accuracy",),
    REASONING: ("effectiveness", "factuality"),
    MATCH: ("match",),
    EXAMS: ("exam_precision", "exam_recall"),
}

#: Statuses of transcripts whose text is there, whether or not an answer could be read in it.
WITH_TEXT = SCORED_STATUSES | {PARSE_FAILED}

#: Under which a unit with steps but without texts says who made them.
IMPORTED = "imported"


def plan_unit(unit: Input, tools: JudgeTools) -> Plan:
    """The branches that can be walked for a unit, what each works on, and why the others cannot be walked."""
    plan: Plan = {
        "branches": [],
        "missing": [],
        "batched": tools.spec.protocol == "batched",
        "case": case_text(unit),
        "reference": None,
        "steps": None,
    }
    for task, add_task in (("accuracy", _accuracy), ("reasoning", _reasoning), ("exams", _exams)):
        if task in tools.spec.only:
            _merge(plan, add_task(unit, tools))
    return plan


def _merge(plan: Plan, part: Plan) -> None:
    rows, branches = [*plan["missing"], *part.pop("missing", [])], [*plan["branches"], *part.pop("branches", [])]
    plan |= part
    plan["missing"], plan["branches"] = rows, branches


def case_text(unit: Input) -> str:
    """What the doctor knew in the end: the case as it was shown, and in the exam settings each answer it got.

    An answer is headed by the turn after which it came, since what a step restates depends on what was known then.
    """
    record, data = unit["record"], unit["data"]
    if unit["setting"] not in EXAMINING:
        return str(record["summary"])
    results = [
        f"Learned after turn {number}:\n{turn['results']}"
        for number, turn in enumerate(data.get("turns", ()), start=1)
        if turn.get("results")
    ]
    return "\n\n".join([record["history"], *results])


def _accuracy(unit: Input, tools: JudgeTools) -> Plan:
    answer = unit["data"].get("answer") if unit["status"] in SCORED_STATUSES else None
    if answer:
        return {"branches": [ACCURACY], "answer": answer}
    return {"missing": _none_of(ACCURACY, _of_status(unit, "it gave no answer"))}


def _exams(unit: Input, tools: JudgeTools) -> Plan:
    if unit["setting"] not in EXAMINING:
        return {}
    if unit["status"] in SCORED_STATUSES - {STEPS_ONLY}:
        return {"branches": [EXAMS]}
    return {"missing": _none_of(EXAMS, _of_status(unit, "there is no dialogue"))}


def _reasoning(unit: Input, tools: JudgeTools) -> Plan:
    """Both halves: the steps of the output, and whether those of the reference are in it.

    The second is not defined for exam recommendation (MedR-Bench, arXiv 2503.04691, Methods).
    """
    texts = reasoning_texts(unit, thinking=tools.spec.reasoning_source == "thinking")
    matches = unit["setting"] not in EXAMINING
    if isinstance(texts, Failed):
        kinds = (REASONING, MATCH) if matches else (REASONING,)
        return {"missing": [row for branch in kinds for row in _none_of(branch, texts)]}
    found: Plan = {"branches": [REASONING], **texts}
    if not matches:
        return found
    reference = tools.references.get(unit["record"]["id"])
    if reference is None:
        why = Failed("no_reference", "there are no reference steps for this case")
        return {**found, "missing": _none_of(MATCH, why)}
    found |= {"reference": list(reference.steps), "reference_hash": reference.hash}
    return {**found, "branches": [REASONING, MATCH]}


def reasoning_texts(unit: Input, *, thinking: bool) -> Plan | Failed:
    """The texts whose steps are judged, and the one in which reference steps are looked for.

    The latter is the whole text of the source that is judged, as in the published evaluation: the thinking, or the
    answer with its conclusion, since the last step of a reference is the diagnosis itself. Of an output of which only
    the steps are there, it is the steps.
    """
    if unit["status"] not in WITH_TEXT:
        return _of_status(unit, "there is no output to judge")
    if unit["status"] == STEPS_ONLY:
        return _steps_only(unit, thinking=thinking)
    turns = [turn for turn in unit["data"].get("turns", ()) if not turn.get("unscored")]
    texts = [_text(turn, thinking=thinking) for turn in (turns if unit["setting"] in EXAMINING else turns[-1:])]
    texts = [text for text in texts if text.strip()]
    if not texts:
        return _NO_THINKING if thinking else Failed("empty", "there is no text to judge")
    return Plan({"texts": texts, "given_steps": None, "searched": "\n\n".join(texts)})


_NO_THINKING = Failed("no_thinking", "the transcript has no thinking apart from the answer")


def _text(turn: Mapping[str, Any], *, thinking: bool) -> str:
    return (turn.get("thinking") or "") if thinking else separate_thinking(turn["text"]).answer


def _steps_only(unit: Input, *, thinking: bool) -> Plan | Failed:
    """The steps that came with labels; they are steps of an answer."""
    steps = list(unit["data"].get("steps", ()))
    if thinking:
        return _NO_THINKING
    if not steps:
        return Failed("no_steps", "made from labels that came without the texts of the steps")
    return Plan({"texts": [], "given_steps": steps, "searched": "\n".join(steps)})


def _of_status(unit: Input, otherwise: str) -> Failed:
    return Failed(unit["status"], unit["detail"] or otherwise)


def _none_of(branch: str, why: Failed) -> list[Row]:
    return [missing(kind, why) for kind in KINDS[branch]]
