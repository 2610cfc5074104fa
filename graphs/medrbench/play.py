"""Playing MedR-Bench: one run of the machine per unit, and what remains of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphs.medrbench.graph import build_graph, recursion_limit
from graphs.medrbench.loops import JudgedLoops
from graphs.medrbench.metrics import SCORED_STATUSES
from graphs.medrbench.options import EXAMINING, LOOP_JUDGE, rules_of
from graphs.medrbench.policy import LOOP_STOPPED, MAX_TURNS, Rules
from graphs.medrbench.seats import ModelExaminer, RecordsExaminer
from graphs.medrbench.state import Context, Examiner, LoopCheck, State
from judge.benchmark import Case, Transcript, Unit
from judge.models.chat import ChatModel
from judge.prompting import Prompts
from judge.replies.steps import split_steps


class ExaminationPlayer:
    """A `judge.benchmark.Player`."""

    def __init__(self, options: Mapping[str, Any], prompts: Prompts) -> None:
        self._options = options
        self._prompts = prompts
        self._graph = build_graph()

    async def play(self, case: Case, unit: Unit, models: Mapping[str, ChatModel]) -> Transcript:
        if unit.setting in EXAMINING and "no_ancillary_tests" in case.record["flags"]:
            return Transcript("no_ancillary_tests", "the summary has no tests that could be asked for")
        rules = rules_of(unit.setting, self._options)
        context = Context(
            unit,
            models["doctor"],
            examiner_of(models, self._prompts),
            self._prompts,
            rules,
            loops_of(models, self._prompts),
        )
        start: State = {"case": dict(case.record)}
        config: Any = {"recursion_limit": recursion_limit(rules.max_turns)}
        end = await self._graph.ainvoke(start, context=context, config=config)
        return transcript_of(end, unit.setting, rules)


def loops_of(models: Mapping[str, ChatModel], prompts: Prompts) -> LoopCheck | None:
    """The model that checks for loops, if one does."""
    return JudgedLoops(models[LOOP_JUDGE], prompts) if LOOP_JUDGE in models else None


def examiner_of(models: Mapping[str, ChatModel], prompts: Prompts) -> Examiner:
    """The model in that role, or the record itself."""
    return ModelExaminer(models["examiner"], prompts) if "examiner" in models else RecordsExaminer()


def transcript_of(end: Mapping[str, Any], setting: str, rules: Rules) -> Transcript:
    """The final state as a transcript; where an error ended it, a diagnosis named on the way is not its answer."""
    turns = end["turns"]
    scored = end["status"] in SCORED_STATUSES
    answer = next((turn["answer"] for turn in reversed(turns) if turn.get("answer")), None) if scored else None
    looping = next((number for number, turn in enumerate(turns, start=1) if turn.get("looping")), None)
    data = {
        "setting": setting,
        "messages": end["messages"],
        "turns": turns,
        "answer": answer,
        "first_looping_turn": looping,
    }
    if setting in EXAMINING:
        data["rounds"] = rules.rounds
    else:  # elsewhere several turns reason, and labels do not say of which they are
        data["steps"] = split_steps(turns[-1]["text"]) if turns else []
    return Transcript(end["status"], end["detail"], tuple(flags_of(setting, end["status"], turns, answer)), data)


def flags_of(setting: str, status: str, turns: Sequence[Mapping[str, Any]], answer: str | None) -> list[str]:
    """The flags of a transcript: those of its turns, and what only the whole shows."""
    asked = any(turn.get("requests") for turn in turns)
    marks = {
        "re_asked": any(turn["asks"] > 1 for turn in turns),
        "looped": any(turn.get("looping") for turn in turns),
        "asked_nothing": setting in EXAMINING and status in SCORED_STATUSES and not asked,
        "provisional_answer": status in (MAX_TURNS, LOOP_STOPPED) and answer is not None,
    }
    of_turns = dict.fromkeys(flag for turn in turns for flag in turn.get("flags", ()))
    return [*of_turns, *(flag for flag, holds in marks.items() if holds)]
