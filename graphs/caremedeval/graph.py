"""The CareMedEval machine: prepare → ask → read → (re-ask once when no answer can be read) → done."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from graphs.caremedeval.reading import read_answer
from graphs.caremedeval.records import option_lines
from graphs.caremedeval.state import Context, State
from judge.benchmark import ANSWERED
from judge.errors import CallFailed
from judge.models.address import Address
from judge.models.tokens import looks_cut

#: The first ask and one re-ask.
MOST_ASKS = 2

#: A reply that ended for one of these reasons says nothing that a re-ask could make readable.
NOT_ASKED_AGAIN = frozenset({"truncated", "truncated_reasoning", "refused", "content_filter", "malformed_response"})


def build_graph() -> CompiledStateGraph[State, Context, State, State]:
    """The compiled machine; its settings come with each invocation as `Context`."""
    graph = StateGraph(State, context_schema=Context)
    graph.add_node("prepare", prepare)
    graph.add_node("ask", ask)
    graph.add_node("read", read)
    graph.add_node("reask", reask)
    graph.add_edge(START, "prepare")
    graph.add_edge("prepare", "ask")
    graph.add_conditional_edges("ask", after_ask, ["read", END])
    graph.add_conditional_edges("read", after_read, ["reask", END])
    graph.add_edge("reask", "ask")
    return graph.compile()


def prepare(state: State, runtime: Runtime[Context]) -> State:
    """Fill in the prompt."""
    context, case = runtime.context, state["case"]
    values = {"question": case["question"], "options": option_lines(case["options"])}
    if state["article"] is None:
        prompt = context.prompts[f"doctor.without_article.{context.language}.v1"].fill(**values)
    else:
        note = context.prompts[f"{state['note']}.{context.language}.v1"].text
        values |= {"article": state["article"], "context_note": note}
        prompt = context.prompts[f"doctor.with_article.{context.language}.v1"].fill(**values)
    return {
        "messages": [{"role": "user", "content": prompt}],
        "replies": [],
        "answer": None,
        "status": "",
        "detail": "",
    }


async def ask(state: State, runtime: Runtime[Context]) -> State:
    """Ask the doctor; a call that fails for good ends the case and keeps what was said."""
    unit = runtime.context.unit
    step = f"turn{len(state['replies']) + 1}"
    address = Address(unit.benchmark, unit.setting, unit.case, unit.epoch, "doctor", step)
    try:
        reply = await runtime.context.doctor.ask(state["messages"], address)
    except CallFailed as failure:
        return {"status": failure.reason, "detail": str(failure)}
    said: dict[str, Any] = {
        "text": reply.text,
        "thinking": reply.thinking,
        "finish_reason": reply.finish_reason,
        "unscored": asdict(reply.unscored) if reply.unscored else None,
        "served_model": reply.served_model,
        "fingerprint": reply.fingerprint,
        "prompt_tokens": reply.usage.prompt,
        "prompt_cut": looks_cut(
            (str(message["content"]) for message in state["messages"]), reply.usage.prompt, runtime.context.tokenizer
        ),
    }
    message = reply.message(send_reasoning=True)
    return {"replies": [*state["replies"], said], "messages": [*state["messages"], message]}


def read(state: State) -> State:
    """Find the chosen options in the last reply, or why there are none."""
    *earlier, last = state["replies"]
    if last["unscored"]:
        unscored = last["unscored"]
        read_as = {"how": unscored["reason"], "well_formed": False, "dropped": []}
        return {"replies": [*earlier, last | read_as], "status": unscored["reason"], "detail": unscored["detail"]}
    answer = read_answer(last["text"], state["case"]["options"])
    replies = [*earlier, last | {"how": answer.how, "well_formed": answer.well_formed, "dropped": answer.dropped}]
    if answer.chosen is None:
        return {"replies": replies, "status": "no_answer", "detail": f"no options could be read ({answer.how})"}
    return {"replies": replies, "answer": answer.chosen, "status": ANSWERED, "detail": ""}


def reask(state: State, runtime: Runtime[Context]) -> State:
    """Ask for the answer alone."""
    text = runtime.context.prompts[f"reask.{runtime.context.language}.v1"].text
    return {"messages": [*state["messages"], {"role": "user", "content": text}], "status": "", "detail": ""}


def after_ask(state: State) -> Literal["read", "__end__"]:
    return "__end__" if state["status"] else "read"


def after_read(state: State) -> Literal["reask", "__end__"]:
    again = state["status"] != ANSWERED and state["status"] not in NOT_ASKED_AGAIN
    return "reask" if again and len(state["replies"]) < MOST_ASKS else "__end__"
