"""Whether the answer is right: judge ⇄ search. A diagnosis is compared; a plan may also be borne out by evidence."""

from __future__ import annotations

from typing import Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from graphs.medrbench.judging.evidence import UNDECIDED, look_up, may_search, shown
from graphs.medrbench.judging.plan import ACCURACY
from graphs.medrbench.judging.state import Accuracy, Context, Failed, Gathered, attempt, missing
from graphs.medrbench.metrics import reference
from judge.chains.outcome import (
    PROMPT_DIAGNOSIS,
    PROMPT_TREATMENT,
    PROMPT_TREATMENT_FINAL,
    OutcomeVerdict,
    judge_outcome,
)
from judge.chains.searches import NEEDS_EVIDENCE
from judge.judgements import Judgement


def build_accuracy() -> CompiledStateGraph[Accuracy, Context, Accuracy, Gathered]:
    """The compiled branch."""
    graph = StateGraph(Accuracy, context_schema=Context, output_schema=Gathered)
    graph.add_node("judge", judge)
    graph.add_node("search", search)
    graph.add_edge(START, "judge")
    graph.add_conditional_edges("judge", following, ["search", END])
    graph.add_conditional_edges("search", after_search, ["judge", END])
    return graph.compile()


def following(state: Accuracy) -> Literal["search", "__end__"]:
    return "search" if state["queries"] else "__end__"


def after_search(state: Accuracy) -> Literal["judge", "__end__"]:
    """Without what was to be looked up nothing can be decided."""
    return "__end__" if state.get("missing") else "judge"


async def judge(state: Accuracy, runtime: Runtime[Context]) -> Accuracy:
    """Compare the answer with the reference."""
    context = runtime.context
    verdict = await attempt(context, lambda: _ask(state, context))
    if isinstance(verdict, Failed):
        return {"queries": [], "missing": [missing(ACCURACY, verdict, 0)]}
    if verdict.verdict != NEEDS_EVIDENCE:
        right, path = verdict.verdict == "correct", tuple(state["searches"])
        found = Judgement(ACCURACY, 0, state["answer"], right, verdict.rationale, path)
        return {"queries": [], "judgements": [found.to_row()]}
    if not (verdict.queries and _may_search(state, context)):
        return {"queries": [], "missing": [missing(ACCURACY, UNDECIDED, 0)]}
    return {"queries": verdict.queries, "round": state["round"] + 1}


async def _ask(state: Accuracy, context: Context) -> OutcomeVerdict:
    values = {"answer": state["answer"], "reference": reference(state["record"])}
    more, prompt = _may_search(state, context), PROMPT_DIAGNOSIS
    if _is_plan(state):
        values["case"] = state["case"]
        prompt = PROMPT_TREATMENT if more else PROMPT_TREATMENT_FINAL
    found = shown(state["searches"])
    return await judge_outcome(context.asker, prompt, values, round=state["round"], found=found, may_search=more)


def _is_plan(state: Accuracy) -> bool:
    return bool(state["record"]["kind"] == "treatment")


def _may_search(state: Accuracy, context: Context) -> bool:
    return _is_plan(state) and may_search(context, state["searches"])


async def search(state: Accuracy, runtime: Runtime[Context]) -> Accuracy:
    """Look up what was asked for."""
    found = await look_up(runtime.context, ACCURACY, 0, state["queries"], state["searches"])
    if isinstance(found, Failed):
        return {"queries": [], "missing": [missing(ACCURACY, found, 0)]}
    return {"queries": [], "searches": found}
