"""The examination with a person in it: the same machine, with a chair in the doctor's place.

Both nodes wait for the person before they do anything else, since a node begins again when it is resumed.
"""

from __future__ import annotations

from typing import Literal

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from graphs.medrbench.graph import Chair, Machine, build_graph, doctor, said
from graphs.medrbench.state import Context, State
from judge.models.reply import Reply

Sitter = Literal["person", "model"]

#: What the person is asked for: a turn of the doctor, or what to do with the model's.
TURN, REVIEW = "turn", "review"

#: What the person can give: a turn; to a model's turn: go on, a note, or a turn in its place; and the chair back.
GIVE_TURN, GO_ON, NOTE, TAKE_OVER, HAND_BACK = "turn", "go_on", "note", "take_over", "hand_back"

GIVEN_TO = {TURN: (GIVE_TURN, HAND_BACK), REVIEW: (GO_ON, NOTE, TAKE_OVER)}

NOTE_HEAD = "[Note from a person who follows this examination; it is not from the examiner:]"


class Seated(State, total=False):
    """What the chair adds to the state.

    Attributes:
        sits: who is the doctor now.
        note: the person's, for the doctor's next message; its turn keeps it too, under ``note``.

    A turn has besides ``by`` (who wrote it), and ``replaced``, the model's text, where the person took over.
    """

    sits: Sitter
    note: str


def person_graph() -> Machine:
    """The machine with a chair in it."""
    return build_graph(Chair(sit, review, Seated, InMemorySaver()))


async def sit(state: Seated, runtime: Runtime[Context]) -> Seated:
    """The person speaks for the doctor, or the model does."""
    if state["sits"] == "person":
        given = interrupt({"asks": TURN})
        if given["kind"] == GIVE_TURN:
            mine = _by("person", said(state, Reply(text=given["text"])))
            return {**mine, "calls": state["calls"] + 1, "sits": "person", "note": ""}
    said_now = _by("model", await doctor(_with_note(state), runtime))
    return {**said_now, "sits": "model", "note": ""}


def _by(who: Sitter, update: State) -> State:
    if "turns" not in update:  # the model could not be asked
        return update
    *earlier, last = update["turns"]
    return {**update, "turns": [*earlier, last | {"by": who}]}


def _with_note(state: Seated) -> Seated:
    if not state.get("note"):
        return state
    note = {"role": "user", "content": f"{NOTE_HEAD}\n{state['note']}"}
    return {**state, "messages": [*state["messages"], note]}


async def review(state: Seated, runtime: Runtime[Context]) -> Seated:
    """The person sees the model's turn before anything follows from it."""
    *earlier, turn = state["turns"]
    if turn["by"] == "person":
        return {}
    given = interrupt({"asks": REVIEW})
    if given["kind"] == NOTE:
        return {"note": given["text"], "turns": [*earlier, turn | {"note": given["text"]}]}
    if given["kind"] == TAKE_OVER:
        return _taken_over(state, given["text"])
    return {}


def _taken_over(state: Seated, text: str) -> Seated:
    *earlier, turn = state["turns"]
    blank = {"thinking": "", "finish_reason": "", "served_model": "", "unscored": None}
    mine = turn | blank | {"text": text, "by": "person", "replaced": turn["text"]}
    messages = [*state["messages"][:-1], {"role": "assistant", "content": text}]
    return {"turns": [*earlier, mine], "messages": messages, "sits": "person"}
