"""The examination: doctor → read → (examiner → doctor …) → done. One machine for all settings.

Oracle and treatment are the same machine with rules that let nothing be asked for.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from graphs.medrbench.options import LOOP_JUDGE
from graphs.medrbench.policy import EXAMINER_FAILED, LOOP_CHECK_FAILED, decide
from graphs.medrbench.reading import read_turn, with_repeats
from graphs.medrbench.state import Context, State
from judge.errors import CallFailed
from judge.models.address import Address
from judge.models.reply import Reply

#: Above every loop of ours: the cap on turns, with a re-ask each, must end a case first.
STEPS_PER_TURN = 6


Machine = CompiledStateGraph[State, Context, State, State]


class Node(Protocol):
    """A node whose state may have more than `State`."""

    def __call__(self, state: Any, runtime: Runtime[Context]) -> Awaitable[Any]: ...


@dataclass(frozen=True, slots=True)
class Chair:
    """A person in the doctor's place, or beside it.

    Attributes:
        doctor: the node in which somebody speaks for the doctor.
        review: the node between a turn and its reading.
        state: what these two carry besides.
        checkpointer: needed to wait for a person.
    """

    doctor: Node
    review: Node
    state: type[State]
    checkpointer: BaseCheckpointSaver[str]


def build_graph(chair: Chair | None = None) -> Machine:
    """The compiled machine; with a checkpointer only where a person takes part."""
    graph = StateGraph(chair.state if chair else State, context_schema=Context)
    graph.add_node("present", present)
    graph.add_node("doctor", chair.doctor if chair else doctor)
    graph.add_node("read", read)
    graph.add_node("examiner", examiner)
    graph.add_node("reask", reask)
    graph.add_node("conclude", conclude)
    graph.add_edge(START, "present")
    graph.add_edge("present", "doctor")
    if chair:
        graph.add_node("review", chair.review)
        graph.add_edge("review", "read")
    graph.add_conditional_edges("doctor", after_doctor, {"read": "review" if chair else "read", END: END})
    graph.add_conditional_edges("read", after_read, ["examiner", "reask", "conclude", END])
    graph.add_conditional_edges("examiner", after_examiner, ["doctor", END])
    graph.add_edge("reask", "doctor")
    graph.add_edge("conclude", "doctor")
    return graph.compile(checkpointer=chair.checkpointer if chair else None)


def recursion_limit(max_turns: int) -> int:
    """LangGraph's own limit, which must never be what ends a case."""
    return STEPS_PER_TURN * (max_turns + 3)


def present(state: State, runtime: Runtime[Context]) -> State:
    """Show the case as the setting allows."""
    setting, rules = runtime.context.unit.setting, runtime.context.rules
    shown = state["case"]["history"] if rules.examines else state["case"]["summary"]
    values = {"case": shown} | ({"max_turns": str(rules.max_turns)} if setting == "free_turn" else {})
    prompt = runtime.context.prompts[f"doctor.{setting}.v1"].fill(**values)
    message = {"role": "user", "content": prompt}
    return {"messages": [message], "turns": [], "calls": 0, "next": "", "status": "", "detail": ""}


async def doctor(state: State, runtime: Runtime[Context]) -> State:
    """Ask the doctor; a call that fails for good ends the case and keeps what was said."""
    calls = state["calls"] + 1
    address = address_of(runtime.context, "doctor", f"turn{calls}")
    try:
        reply = await runtime.context.doctor.ask(state["messages"], address)
    except CallFailed as failure:
        return {"status": failure.reason, "detail": str(failure), "calls": calls}
    return said(state, reply) | {"calls": calls}


def said(state: State, reply: Reply) -> State:
    """A reply as the doctor's turn and in the conversation."""
    turn = {
        "kind": _kind(state),
        "asks": 1,
        "text": reply.text,
        "thinking": reply.thinking,
        "finish_reason": reply.finish_reason,
        "served_model": reply.served_model,
        "unscored": asdict(reply.unscored) if reply.unscored else None,
    }
    return {"turns": _with_turn(state, turn), "messages": [*state["messages"], reply.message(send_reasoning=True)]}


def _kind(state: State) -> str:
    """A conclusion is what was asked for as one; an empty reply to that does not change it."""
    again = state["next"] == "reask" and state["turns"][-1]["kind"] == "conclusion"
    return "conclusion" if again or state["next"] == "conclude" else "turn"


def _with_turn(state: State, turn: dict[str, Any]) -> list[dict[str, Any]]:
    """The turns with this one; the answer to a re-ask takes the place of the turn that could not be read."""
    turns = state["turns"]
    unread = state["next"] == "reask" and turns and not turns[-1]["unscored"]
    if unread:
        # what a person told the doctor after the unreadable reply moved the answer all the same
        steered = {"note": turns[-1]["note"]} if "note" in turns[-1] else {}
        return [*turns[:-1], turn | steered | {"asks": 2, "unread": turns[-1]["text"]}]
    return [*turns, turn]


async def read(state: State, runtime: Runtime[Context]) -> State:
    """Read the turn, see whether it loops, and decide."""
    context = runtime.context
    *earlier, last = state["turns"]
    turn = read_turn(last, earlier, examines=context.rules.examines)
    if context.loops is not None and not last["unscored"]:
        before = [request for asked in earlier for request in asked["requests"]]
        address = address_of(context, LOOP_JUDGE, f"loop_check/{state['calls']}")
        try:
            turn = with_repeats(turn, await context.loops.repeated(turn["requests"], before, address))
        except CallFailed as failure:
            detail = f"{failure.reason}: {failure}"
            return {"turns": [*earlier, turn], "next": "end", "status": LOOP_CHECK_FAILED, "detail": detail}
    turns = [*earlier, turn]
    decision = decide(turns, context.rules)
    return {"turns": turns, "next": decision.next, "status": decision.status, "detail": decision.detail}


async def examiner(state: State, runtime: Runtime[Context]) -> State:
    """Have the requests answered and pass the answer on; a failure is a status, never "nothing available"."""
    context = runtime.context
    *earlier, turn = state["turns"]
    address = address_of(context, "examiner", f"turn{len(state['turns'])}")
    try:
        results = await context.examiner.answer(state["case"], turn["requests"], address)
    except CallFailed as failure:
        return {"status": EXAMINER_FAILED, "detail": f"{failure.reason}: {failure}"}
    known = {position for before in earlier for position in before.get("disclosed", ())}
    turn = turn | {
        "results": results.text,
        "disclosed": list(results.disclosed),
        "learned": sorted(set(results.disclosed) - known),
        "unavailable": list(results.unavailable),
        "flags": [*turn["flags"], *results.flags],
        "flag_details": list(results.detail),
    }
    message = {"role": "user", "content": _results_prompt(state, context, turn)}
    following = "conclude" if context.rules.final_turn == "conclude" else ""
    return {"turns": [*earlier, turn], "messages": [*state["messages"], message], "next": following}


def _results_prompt(state: State, context: Context, turn: dict[str, Any]) -> str:
    rules, prompts = context.rules, context.prompts
    last_is_next = len(state["turns"]) + 1 >= rules.max_turns
    if rules.final_turn == "conclude":
        name = "conclude.one_turn.v1"
    elif last_is_next and rules.final_turn == "warn":
        name = "results.last.v1"
    else:
        name = "results.v1"
    text = prompts[name].fill(results=turn["results"])
    if turn["looping"] and rules.on_loop == "nudge":
        repeated = "\n".join(f"- {request}" for request in turn["requests"])
        text = f"{text}\n\n{prompts['nudge.v1'].fill(repeated=repeated)}"
    return text


def reask(state: State, runtime: Runtime[Context]) -> State:
    """Ask for the same in the form that can be read."""
    name = "reask.v1" if runtime.context.rules.examines else "reask.answer.v1"
    return {"messages": [*state["messages"], {"role": "user", "content": runtime.context.prompts[name].text}]}


def conclude(state: State, runtime: Runtime[Context]) -> State:
    """No turn is left: ask for the conclusion."""
    return {"messages": [*state["messages"], {"role": "user", "content": runtime.context.prompts["conclude.v1"].text}]}


def after_doctor(state: State) -> Literal["read", "__end__"]:
    return "__end__" if state["status"] else "read"


def after_read(state: State) -> Literal["examiner", "reask", "conclude", "__end__"]:
    if state["next"] == "examine":
        return "examiner"
    if state["next"] == "reask":
        return "reask"
    return "conclude" if state["next"] == "conclude" else "__end__"


def after_examiner(state: State) -> Literal["doctor", "__end__"]:
    return "__end__" if state["status"] else "doctor"


def address_of(context: Context, role: str, step: str) -> Address:
    """Where a call of this case stands."""
    unit = context.unit
    return Address(unit.benchmark, unit.setting, unit.case, unit.epoch, role, step)
