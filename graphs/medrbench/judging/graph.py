"""The judging: plan → (accuracy | reasoning | match … | exams, side by side) → collect."""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send

from graphs.medrbench.judging.accuracy import build_accuracy
from graphs.medrbench.judging.evidence import MAX_SEARCHES
from graphs.medrbench.judging.exams import judge_exams
from graphs.medrbench.judging.labelling import LEFT_OUT
from graphs.medrbench.judging.plan import ACCURACY, EXAMS, KINDS, MATCH, REASONING, plan_unit
from graphs.medrbench.judging.reasoning import build_reasoning
from graphs.medrbench.judging.results import result_of
from graphs.medrbench.judging.state import (
    Accuracy,
    Context,
    Failed,
    Gathered,
    Match,
    Plan,
    Reasoning,
    State,
    attempt,
    missing,
)
from judge.chains.matching import MatchVerdict, match_all, match_step
from judge.judgements import Judgement

Machine = CompiledStateGraph[State, Context, State, State]

#: LangGraph's own limit, which must never be what ends a unit: each search takes two steps of a branch, and the steps
#: whose searches are used up wait for the others.
RECURSION_LIMIT = 4 * (MAX_SEARCHES + 3)


def build_graph() -> Machine:
    """The compiled machine."""
    graph = StateGraph(State, context_schema=Context)
    graph.add_node("plan", plan)
    graph.add_node(ACCURACY, build_accuracy())
    graph.add_node(REASONING, build_reasoning())
    graph.add_node(MATCH, match)
    graph.add_node(EXAMS, exams)
    graph.add_node("collect", collect, defer=True)
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", branches, [ACCURACY, REASONING, MATCH, EXAMS, "collect"])
    for branch in (ACCURACY, REASONING, MATCH, EXAMS):
        graph.add_edge(branch, "collect")
    graph.add_edge("collect", END)
    return graph.compile()


def plan(state: State, runtime: Runtime[Context]) -> Plan:
    """What can be judged, and why the rest cannot."""
    return plan_unit(state, runtime.context.tools)


def branches(state: State) -> list[Send | str]:
    """Each branch with what it works on."""
    sends = [send for branch in state["branches"] for send in _SENDS[branch](state)]
    return [*sends] or ["collect"]


def _to_accuracy(state: State) -> list[Send]:
    start: Accuracy = {"record": state["record"], "case": state["case"], "answer": state["answer"]}
    return [Send(ACCURACY, {**start, "queries": [], "searches": [], "round": 0})]


def _to_reasoning(state: State) -> list[Send]:
    start: Reasoning = {"batched": state["batched"], "case": state["case"], "texts": state["texts"]}
    return [Send(REASONING, {**start, "given_steps": state["given_steps"]})]


def _to_match(state: State) -> list[Send]:
    reference = state["reference"] or []
    every = list(range(len(reference)))
    parts = [every] if state["batched"] and every else [[item] for item in every]
    return [Send(MATCH, {"searched": state["searched"], "reference": reference, "items": part}) for part in parts]


def _to_exams(state: State) -> list[Send]:
    return [Send(EXAMS, {"record": state["record"], "data": state["data"]})]


_SENDS = {ACCURACY: _to_accuracy, REASONING: _to_reasoning, MATCH: _to_match, EXAMS: _to_exams}


async def match(state: Match, runtime: Runtime[Context]) -> Gathered:
    """Whether reference steps are found in the output."""
    context, items = runtime.context, state["items"]
    verdicts = await attempt(context, lambda: _matched(state, context))
    if isinstance(verdicts, Failed):
        return {"missing": [missing(MATCH, verdicts, item) for item in items]}
    rows = [
        Judgement(MATCH, item, state["reference"][item], one.match, one.rationale).to_row()
        for item, one in verdicts.items()
    ]
    return {"judgements": rows, "missing": [missing(MATCH, LEFT_OUT, item) for item in items if item not in verdicts]}


async def _matched(state: Match, context: Context) -> dict[int, MatchVerdict]:
    searched, reference = state["searched"], state["reference"]
    if context.tools.spec.protocol == "batched":
        return await match_all(context.asker, searched, reference)
    (item,) = state["items"]
    return {item: await match_step(context.asker, searched, reference, item)}


async def exams(state: State, runtime: Runtime[Context]) -> Gathered:
    """Which of the requested exams were done, and which of those done were requested."""
    context = runtime.context
    found = await attempt(
        context,
        lambda: judge_exams(context.asker, context.tools.spec.protocol, state["record"], state["data"]),
    )
    if isinstance(found, Failed):
        return {"missing": [missing(kind, found) for kind in KINDS[EXAMS]]}
    judgements, gone = found
    why: list[dict[str, Any]] = [missing(kind, Failed(one.reason, one.detail)) for kind, one in gone.items()]
    return {"judgements": [one.to_row() for one in judgements], "missing": why}


def collect(state: State, runtime: Runtime[Context]) -> Plan:
    """All labels in the order of their items, whatever the order in which they came, and what is missing."""
    return {"result": result_of(state, runtime.context.tools.spec.reasoning_source)}
