"""The reasoning of one unit: split it into steps, then label them, side by side."""

from __future__ import annotations

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send

from graphs.medrbench.judging.labelling import build_labelling
from graphs.medrbench.judging.plan import IMPORTED, KINDS, REASONING
from graphs.medrbench.judging.splits import split_reasoning
from graphs.medrbench.judging.state import Context, Failed, Reasoning, ReasoningFound, missing


def build_reasoning() -> CompiledStateGraph[Reasoning, Context, Reasoning, ReasoningFound]:
    """The compiled branch."""
    graph = StateGraph(Reasoning, context_schema=Context, output_schema=ReasoningFound)
    graph.add_node("split", split)
    graph.add_node("labels", build_labelling())
    graph.add_edge(START, "split")
    graph.add_conditional_edges("split", to_labels, ["labels", END])
    graph.add_edge("labels", END)
    return graph.compile()


async def split(state: Reasoning, runtime: Runtime[Context]) -> Reasoning:
    """The steps; where there are only steps, those."""
    given = state["given_steps"]
    if given is not None:
        return {"steps": given, "splitter": {"by": IMPORTED, "n": len(given)}}
    found = await split_reasoning(runtime.context, state["texts"])
    if isinstance(found, Failed):
        return {"steps": None, "missing": [missing(kind, found) for kind in KINDS[REASONING]]}
    splitter = {"by": found.by, "n": len(found.steps)} | ({"prompt": found.prompt} if found.prompt else {})
    return {"steps": list(found.steps), "splitter": splitter}


def to_labels(state: Reasoning) -> list[Send] | str:
    """One branch a step, or one for all; none where there are no steps."""
    steps = state["steps"]
    if not steps:
        return END
    items = list(range(len(steps)))
    branches = [items] if state["batched"] else [[item] for item in items]
    return [Send("labels", {"case": state["case"], "steps": steps, "items": branch}) for branch in branches]
