"""The MedExQA machine: prepare → weigh → answer → read → (re-ask once) → (explain) → done.

One reply is asked for, with the letter on its first line and the explanation below. Only where an answer was read and
nothing else was said does a second turn ask for the explanation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from graphs.medexqa.choosing import scores_of
from graphs.medexqa.reading import explanation_of, read_answer
from graphs.medexqa.state import Context, State
from graphs.medexqa.table import LETTERS
from judge.errors import CallFailed
from judge.models.address import Address
from judge.models.choices import Choice
from judge.models.reply import Reply
from judge.prompting import Prompts

#: The first ask and one re-ask.
MOST_ASKS = 2

#: A reply that ended for one of these reasons says nothing that a re-ask could make readable.
NOT_ASKED_AGAIN = frozenset({"truncated", "truncated_reasoning", "refused", "content_filter", "malformed_response"})


def build_graph() -> CompiledStateGraph[State, Context, State, State]:
    """The compiled machine; its settings come with each invocation as `Context`."""
    graph = StateGraph(State, context_schema=Context)
    graph.add_node("prepare", prepare)
    graph.add_node("weigh", weigh)
    graph.add_node("answer", answer)
    graph.add_node("read", read)
    graph.add_node("reask", reask)
    graph.add_node("explain", explain)
    graph.add_edge(START, "prepare")
    graph.add_edge("prepare", "weigh")
    graph.add_conditional_edges("weigh", after_weigh, ["answer", END])
    graph.add_conditional_edges("answer", after_answer, ["read", END])
    graph.add_conditional_edges("read", after_read, ["reask", "explain", END])
    graph.add_edge("reask", "answer")
    graph.add_edge("explain", END)
    return graph.compile()


def prepare(state: State, runtime: Runtime[Context]) -> State:
    """Fill in the prompt; examples come first, as a question and the reply wanted for it each."""
    context = runtime.context
    messages: list[dict[str, Any]] = []
    for example in context.examples:
        asked = question_prompt(context.prompts, example.specialty, example.question, example.options)
        shown = f"{example.answer}\n{example.explanations[0].strip()}"
        messages += [{"role": "user", "content": asked}, {"role": "assistant", "content": shown}]
    case = state["case"]
    prompt = question_prompt(context.prompts, case["specialty"], case["question"], case["options"])
    return {
        "messages": [*messages, {"role": "user", "content": prompt}],
        "replies": [],
        "scores": None,
        "text": {"answer": None, "reason": "", "detail": ""},
        "explanation": {"text": "", "reason": "not_asked"},
        "status": "",
        "detail": "",
    }


def question_prompt(prompts: Prompts, specialty: str, question: str, options: Mapping[str, str]) -> str:
    """The question as the doctor is asked it."""
    lines = "\n".join(f"{letter}. {text}" for letter, text in options.items())
    return prompts["doctor.v1"].fill(profession=specialty.replace("_", " "), question=question, options=lines)


async def weigh(state: State, runtime: Runtime[Context]) -> State:
    """Where the doctor shows its logits, the scores of the letters as the first token of its reply."""
    context = runtime.context
    if context.weighing is None or context.weighing.chooses_by != "logits":
        return {"scores": None}
    try:
        choice = await context.weighing.choose(state["messages"], LETTERS, _address(context, "letters"))
    except CallFailed as failure:
        return _failed(failure)
    return {"scores": scores_of(choice)}


async def answer(state: State, runtime: Runtime[Context]) -> State:
    """Ask the doctor; a call that fails for good ends the case and keeps what was said."""
    context = runtime.context
    address = _address(context, f"turn{len(state['replies']) + 1}")
    try:
        if context.weighing is not None and context.weighing.chooses_by == "logprobs":
            return _weighed(state, await context.weighing.choose(state["messages"], LETTERS, address))
        return _said(state, await context.doctor.ask(state["messages"], address), "answer")
    except CallFailed as failure:
        return _failed(failure)


def _weighed(state: State, choice: Choice) -> State:
    """The state after a reply that came with log-probabilities; scores of an earlier one stay."""
    assert choice.reply is not None, "log-probabilities are of a reply"
    said = _said(state, choice.reply, "answer")
    if state["scores"] and state["scores"]["best"]:
        return said
    return {**said, "scores": scores_of(choice) or state["scores"]}


def read(state: State) -> State:
    """Find the chosen option in the last reply, or why there is none, and the explanation beside it."""
    *earlier, last = state["replies"]
    if unscored := last["unscored"]:
        why = {"reason": unscored["reason"], "detail": unscored["detail"]}
        replies = [*earlier, last | {"how": unscored["reason"], "well_formed": False}]
        return {"replies": replies, **_unread(why)}
    options = state["case"]["options"]
    found = read_answer(last["text"], options)
    replies = [*earlier, last | {"how": found.how, "well_formed": found.well_formed}]
    if found.letter is None:
        why = {"reason": "no_answer", "detail": f"no option could be read ({found.how})"}
        return {"replies": replies, **_unread(why)}
    explanation = explanation_of(last["text"], options)
    return {
        "replies": replies,
        "text": {"answer": found.letter, "reason": "", "detail": ""},
        "explanation": {"text": explanation, "reason": "" if explanation else "not_asked"},
    }


def _unread(why: Mapping[str, str]) -> State:
    return {"text": {"answer": None, **why}, "explanation": {"text": "", "reason": why["reason"]}}


def reask(state: State, runtime: Runtime[Context]) -> State:
    """Ask for the answer alone."""
    return {"messages": [*state["messages"], {"role": "user", "content": runtime.context.prompts["reask.v1"].text}]}


async def explain(state: State, runtime: Runtime[Context]) -> State:
    """Ask for the explanation of an answer that came without one."""
    prompt = runtime.context.prompts["explain.v1"].fill(answer=str(state["text"]["answer"]))
    asked: State = state | {"messages": [*state["messages"], {"role": "user", "content": prompt}]}
    try:
        reply = await runtime.context.doctor.ask(asked["messages"], _address(runtime.context, "explain"))
    except CallFailed as failure:
        return {"messages": asked["messages"], **_failed(failure)}
    text = "" if reply.unscored else explanation_of(reply.text, state["case"]["options"])
    reason = reply.unscored.reason if reply.unscored else "" if text else "no_explanation"
    return _said(asked, reply, "explanation") | {"explanation": {"text": text, "reason": reason}}


def after_weigh(state: State) -> Literal["answer", "__end__"]:
    return "__end__" if state["status"] else "answer"


def after_answer(state: State) -> Literal["read", "__end__"]:
    return "__end__" if state["status"] else "read"


def after_read(state: State) -> Literal["reask", "explain", "__end__"]:
    if state["text"]["answer"] is None:
        again = state["text"]["reason"] not in NOT_ASKED_AGAIN and len(state["replies"]) < MOST_ASKS
        return "reask" if again else "__end__"
    return "__end__" if state["explanation"]["text"] else "explain"


def _address(context: Context, step: str) -> Address:
    unit = context.unit
    return Address(unit.benchmark, unit.setting, unit.case, unit.epoch, "doctor", step)


def _failed(failure: CallFailed) -> State:
    return {"status": failure.reason, "detail": str(failure)}


def _said(state: State, reply: Reply, kind: str) -> State:
    """The state after a reply."""
    said = {
        "kind": kind,
        "text": reply.text,
        "thinking": reply.thinking,
        "finish_reason": reply.finish_reason,
        "unscored": asdict(reply.unscored) if reply.unscored else None,
        "served_model": reply.served_model,
        "fingerprint": reply.fingerprint,
        "prompt_tokens": reply.usage.prompt,
    }
    message = reply.message(send_reasoning=True)
    return {"replies": [*state["replies"], said], "messages": [*state["messages"], message]}
