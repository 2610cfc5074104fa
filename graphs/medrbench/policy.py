"""What happens after a doctor's turn: a pure decision over what was read and the run's policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

OnLoop = Literal["record", "nudge", "stop"]
FinalTurn = Literal["warn", "ask", "none", "conclude"]
Next = Literal["examine", "reask", "conclude", "end"]

#: Statuses of an examination; every other status is an error of a call.
CONCLUDED, MAX_TURNS, LOOP_STOPPED = "concluded", "max_turns", "loop_stopped"
PARSE_FAILED, EMPTY, EXAMINER_FAILED = "parse_failed", "empty", "examiner_failed"
LOOP_CHECK_FAILED = "loop_check_failed"

#: Replies without answer that asking again can help; of others (truncated, refused) it cannot.
ASKED_AGAIN = frozenset({"empty_reply"})

#: Flags of a turn that matter here, see `graphs.medrbench.reading`.
NO_REQUESTS_FIELD, UNREADABLE_REQUESTS = "no_requests_field", "unreadable_requests"


@dataclass(frozen=True, slots=True)
class Rules:
    """How an examination runs.

    Attributes:
        examines: whether the doctor may ask for examinations (``one_turn``, ``free_turn``) or answers at once.
        max_turns: turns of the doctor; in ``one_turn`` two, one that asks and one that concludes.
        on_loop: what to do when all requests of a turn repeat earlier ones.
        final_turn: whether the doctor is warned before its last turn, asked to conclude after it, or neither. In
            ``one_turn`` ``conclude``: the results of the only round come with the demand to conclude.
    """

    examines: bool
    max_turns: int
    on_loop: OnLoop
    final_turn: FinalTurn

    @property
    def rounds(self) -> int:
        """In how many of the turns examinations can be asked for; what a conclusion asks for is in none."""
        return self.max_turns - (self.final_turn == "conclude")


@dataclass(frozen=True, slots=True)
class Decision:
    """What comes next, and how the case ended if that is ``end``."""

    next: Next
    status: str = ""
    detail: str = ""


Turn = dict[str, Any]
"""One turn of the doctor, see `graphs.medrbench.state`."""


def decide(turns: list[Turn], rules: Rules) -> Decision:
    """After the last of `turns`, which has been read."""
    turn = turns[-1]
    if turn["unscored"]:
        return _without_reply(turns, rules)
    if not rules.examines:
        return Decision("end", CONCLUDED) if turn["answer"] else _unread(turn, "no answer")
    if turn["requests"]:
        return _after_requests(turns, rules)
    if not turn["answer"]:
        return _unread(turn, "neither a request nor a conclusion")
    if _may_have_asked(turns, rules):
        return _unread(turn, "the section for requests was there, but no request")
    return Decision("end", CONCLUDED)


def _may_have_asked(turns: list[Turn], rules: Rules) -> bool:
    """Whether a turn that concludes may have asked for something that was not read, which could still be answered.

    A section for requests that is missing ends nothing by itself; missing again after the re-ask, it says "nothing".
    """
    turn = turns[-1]
    if turn["kind"] == "conclusion" or not _is_turn_left(turns, rules):
        return False
    missing = NO_REQUESTS_FIELD in turn["flags"] and turn["asks"] == 1
    return missing or UNREADABLE_REQUESTS in turn["flags"]


def _is_turn_left(turns: list[Turn], rules: Rules) -> bool:
    """An empty turn counts, but it does not use up the only round of ``one_turn``."""
    used = [turn for turn in turns if not turn["unscored"]] if rules.final_turn == "conclude" else turns
    return len(used) < rules.max_turns


def _after_requests(turns: list[Turn], rules: Rules) -> Decision:
    turn = turns[-1]
    if turn["kind"] == "conclusion":
        return Decision("end", CONCLUDED) if turn["answer"] else Decision("end", MAX_TURNS, "it went on asking")
    if turn["looping"] and rules.on_loop == "stop":
        return Decision("end", LOOP_STOPPED, "every request of a turn repeats an earlier one")
    if _is_turn_left(turns, rules):
        return Decision("examine")
    if rules.final_turn == "ask":
        return Decision("conclude")
    return Decision("end", MAX_TURNS, f"it still asked in turn {len(turns)}, the last")


def _without_reply(turns: list[Turn], rules: Rules) -> Decision:
    """An empty turn counts, and is asked for again while there are turns; any other failure ends the case."""
    reason, detail = turns[-1]["unscored"]["reason"], turns[-1]["unscored"]["detail"]
    if reason not in ASKED_AGAIN:
        return Decision("end", reason, detail)
    empty_before = len(turns) > 1 and turns[-2]["unscored"] is not None
    if not empty_before and (_is_turn_left(turns, rules) or len(turns) == 1):
        return Decision("reask")
    return Decision("end", EMPTY, detail)


def _unread(turn: Turn, what: str) -> Decision:
    """One re-ask that names the sections, within the same turn; then it is given up."""
    if turn["asks"] == 1:
        return Decision("reask")
    return Decision("end", PARSE_FAILED, f"{what} could be read, nor after asking once more")
