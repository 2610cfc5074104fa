"""Judging explanations: show → (by rule | grade). At most one call a unit; knows no benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from judge.benchmark import Case, Transcript, Unit
from judge.chains.asking import Asker
from judge.chains.grading import grade_explanation
from judge.chains.tools import JudgeTools
from judge.errors import CallFailed
from judge.explanations import KIND, Exhibit
from judge.judgements import Judgement, UnitJudgements
from judge.outcome import Unscored

Showing = Callable[[Mapping[str, Any], Transcript], Exhibit | Unscored]
"""What is shown of a case's record and its transcript, or why it cannot be judged."""


class State(TypedDict, total=False):
    """One unit on its way.

    Attributes:
        record: of the case.
        transcript: its fields.
        shown: fields of the `Exhibit`; None where there is nothing to judge.
        grade: a judgement as `Judgement.to_row` gives it; None while there is none.
        missing: reason and detail where there is no grade.
    """

    record: dict[str, Any]
    transcript: dict[str, Any]
    shown: dict[str, Any] | None
    grade: dict[str, Any] | None
    missing: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Context:
    """Who asks, and what the benchmark shows; never part of the state."""

    asker: Asker
    showing: Showing


def build_graph() -> CompiledStateGraph[State, Context, State, State]:
    """The compiled machine."""
    graph = StateGraph(State, context_schema=Context)
    graph.add_node("show", show)
    graph.add_node("by_rule", by_rule)
    graph.add_node("grade_explanation", grade)
    graph.add_edge(START, "show")
    graph.add_conditional_edges("show", after_show, ["by_rule", END])
    graph.add_conditional_edges("by_rule", after_rule, ["grade_explanation", END])
    graph.add_edge("grade_explanation", END)
    return graph.compile()


def show(state: State, runtime: Runtime[Context]) -> State:
    """What there is to judge, or why there is nothing."""
    shown = runtime.context.showing(state["record"], Transcript(**state["transcript"]))
    if isinstance(shown, Unscored):
        return {"shown": None, "grade": None, "missing": (shown.reason, shown.detail)}
    return {"shown": asdict(shown), "grade": None}


def by_rule(state: State) -> State:
    """The grade of a wrong answer, and of a right one that nothing explains."""
    found = Exhibit(**(state["shown"] or {})).by_rule()
    return {"grade": found.to_row() if found else None}


async def grade(state: State, runtime: Runtime[Context]) -> State:
    """Ask the judge; a call that fails for good is the reason why there is no grade."""
    shown = Exhibit(**(state["shown"] or {}))
    try:
        verdict = await grade_explanation(runtime.context.asker, shown)
    except CallFailed as failure:
        return {"missing": (failure.reason, str(failure))}
    return {"grade": Judgement(KIND, 0, shown.explanation, verdict.grade, verdict.rationale).to_row()}


def after_show(state: State) -> Literal["by_rule", "__end__"]:
    return "by_rule" if state["shown"] else "__end__"


def after_rule(state: State) -> Literal["grade_explanation", "__end__"]:
    return "__end__" if state["grade"] else "grade_explanation"


class ExplanationJudging:
    """A `judge.chains.tools.Judging`.

    Args:
        showing: the benchmark's `judge.explanations.ExplainedAnswers.exhibit`.
    """

    def __init__(self, tools: JudgeTools, showing: Showing) -> None:
        self._tools = tools
        self._showing = showing
        self._graph = build_graph()

    async def judge(self, case: Case, unit: Unit, transcript: Transcript) -> UnitJudgements:
        context = Context(self._tools.asker(unit), self._showing)
        start: State = {"record": dict(case.record), "transcript": asdict(transcript)}
        end = await self._graph.ainvoke(start, context=context)
        if row := end["grade"]:
            return UnitJudgements((Judgement.from_row(row),))
        return UnitJudgements(missing={KIND: Unscored(*end["missing"])})
