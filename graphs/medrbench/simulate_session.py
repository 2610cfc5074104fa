"""One examination with a person in it: what was given is played through the machine, and can be taken back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.types import Command

from graphs.medrbench.graph import recursion_limit, said
from graphs.medrbench.play import transcript_of
from graphs.medrbench.policy import EXAMINER_FAILED, Decision, decide
from graphs.medrbench.reading import read_turn
from graphs.medrbench.simulate_graph import GIVEN_TO, REVIEW, Sitter, person_graph
from graphs.medrbench.state import Context
from judge.benchmark import Transcript
from judge.errors import CallFailed, MedjudgeError, RunError
from judge.models.reply import Reply
from judge.outcome import ERROR_REASONS
from judge.seats.saved import Saved

_THREAD: Any = {"configurable": {"thread_id": "examination"}}


@dataclass(frozen=True, slots=True)
class Point:
    """A moment at which the person is asked, or the end.

    Attributes:
        config: its checkpoint.
        state: the machine's state there.
        asks: what for, see `graphs.medrbench.simulate_graph`; empty at the end.
    """

    config: Any
    state: dict[str, Any]
    asks: str


class Examination:
    """The machine, where it stands, and the session it is kept in.

    Args:
        runner: runs the machine; typing happens outside of it, so that Ctrl-C is heard.
    """

    def __init__(self, record: Mapping[str, Any], context: Context, saved: Saved, runner: asyncio.Runner) -> None:
        self.context = context
        self._record = dict(record)
        self._saved = saved
        self._runner = runner
        self._graph = person_graph()
        self._points: list[Point] = []

    # -- where it stands ---------------------------------------------------------------------------------------------

    @property
    def asks(self) -> str:
        """What the person is asked for now; empty when the examination has ended."""
        return self._points[-1].asks

    @property
    def state(self) -> dict[str, Any]:
        return self._points[-1].state

    @property
    def turns(self) -> list[dict[str, Any]]:
        turns: list[dict[str, Any]] = self.state["turns"]
        return turns

    def as_read(self, text: str | None = None) -> tuple[dict[str, Any], Decision]:
        """How a turn of the doctor would be read now, and what would follow from it.

        Args:
            text: of the person's turn, a new one or in place of the model's; None for the model's as it is.
        """
        *earlier, last = self.turns if self.asks == REVIEW else said(self.state, Reply(text=text or ""))["turns"]  # type: ignore[arg-type]
        if text is not None:
            last = last | {"text": text, "unscored": None}
        turn = read_turn(last, earlier, examines=self.context.rules.examines)
        return turn, decide([*earlier, turn], self.context.rules)

    def transcript(self) -> Transcript:
        """The examination so far, or as it ended."""
        return transcript_of(self.state, self.context.unit.setting, self.context.rules)

    # -- what can be done --------------------------------------------------------------------------------------------

    def begin(self, sits: Sitter) -> None:
        """Play up to where the session was left; what models answered then is not asked again.

        Raises:
            RunError: the inputs do not fit, e.g. since another version wrote them.
            MedjudgeError: a model that has to be asked now cannot be.
        """
        self._go({"case": self._record, "sits": sits, "note": ""})
        for number, given in enumerate(self._saved.inputs, start=1):
            if given.get("kind") not in GIVEN_TO.get(self.asks, ()):
                raise RunError(f"{self._saved.folder}: its input {number} does not fit; another version wrote it")
            self._go(Command(resume=given))

    def give(self, kind: str, text: str = "", *, lines: Sequence[str] = ()) -> None:
        """Go on with what the person gives; it is kept before anything follows from it.

        Args:
            lines: as typed; they become the draft again when a model cannot be asked.

        Raises:
            MedjudgeError: a model cannot be asked; the examination stands where it stood before.
        """
        saved = self._saved
        saved.inputs.append({"kind": kind, "text": text})
        saved.draft = []
        saved.write()
        try:
            self._go(Command(resume=saved.inputs[-1]))
        except MedjudgeError:
            saved.inputs.pop()
            saved.draft = [line for line in lines if line.strip()]
            saved.write()
            raise
        saved.status = self.state["status"]
        saved.write()

    def undo(self) -> bool:
        """Fork the checkpoint before the last input; False if there is none."""
        if not self._saved.inputs:
            return False
        self._points.pop()
        # a copy without what was written after it: resuming the checkpoint itself would give the old input again
        self._runner.run(self._graph.aupdate_state(self._points[-1].config, None, as_node="__copy__"))
        self._saved.inputs.pop()
        self._saved.undone += 1
        self._saved.write()
        return True

    def _go(self, given: Any) -> None:
        """One stretch of the machine, up to where the person is asked next."""
        self._points.append(self._runner.run(self._stretch(given)))

    async def _stretch(self, given: Any) -> Point:
        config = _THREAD | {"recursion_limit": recursion_limit(self.context.rules.max_turns)}
        await self._graph.ainvoke(given, config, context=self.context)
        snapshot = await self._graph.aget_state(_THREAD)
        state = dict(snapshot.values)
        if _not_asked(state):
            raise CallFailed(f"{state['status']}: {state['detail']}", reason=state["status"])
        asks = snapshot.interrupts[0].value["asks"] if snapshot.interrupts else ""
        return Point(snapshot.config, state, asks)


def _not_asked(state: Mapping[str, Any]) -> bool:
    """Whether a call that failed ended it: a run counts the case as unscored, a person tries again."""
    status, turns = state["status"], state["turns"]
    heard = turns and turns[-1].get("unscored") and turns[-1]["unscored"]["reason"] == status
    return status == EXAMINER_FAILED or (status in ERROR_REASONS and not heard)
