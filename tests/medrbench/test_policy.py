"""What follows a doctor's turn, as a table: turns as read and the run's policies in, the next step and status out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graphs.medrbench.policy import Decision, Rules, Turn, decide

FREE = Rules(examines=True, max_turns=3, on_loop="record", final_turn="warn")
ONE = Rules(examines=True, max_turns=2, on_loop="record", final_turn="conclude")
ORACLE = Rules(examines=False, max_turns=1, on_loop="record", final_turn="none")


def turn(requests: int = 0, answer: str | None = None, **changes: Any) -> Turn:
    """A turn as `graphs.medrbench.reading` leaves it."""
    plain = {"kind": "turn", "asks": 1, "requests": ["CBC"] * requests, "answer": answer, "looping": False, "flags": []}
    return plain | {"unscored": None} | changes


def lost(reason: str) -> Turn:
    """A turn without a reply that could be read."""
    return turn(unscored={"reason": reason, "detail": f"it was {reason}"})


ASKS, ASKS_PROVISIONALLY = turn(2), turn(2, "Sepsis")
CONCLUDES, MUTE = turn(0, "Sepsis"), turn()
LOOPS = turn(1, "Sepsis", looping=True)
MUTE_AGAIN = turn(asks=2)
EMPTY = lost("empty_reply")
NO_FIELD = turn(0, "Sepsis", flags=["no_requests_field"])
UNREADABLE = turn(0, "Sepsis", flags=["unreadable_requests"])


def ends(turns: list[Turn], rules: Rules) -> str:
    """The status with which it ends, "" if it goes on."""
    decision = decide(turns, rules)
    assert (decision.next == "end") == bool(decision.status)
    return decision.status


# --- asking and concluding


def test_requests_go_to_the_examiner_with_a_provisional_conclusion_or_without() -> None:
    assert decide([ASKS], FREE) == decide([ASKS_PROVISIONALLY], FREE) == Decision("examine")


def test_a_conclusion_without_requests_ends_it_in_any_turn() -> None:
    for before in ([], [ASKS], [ASKS, ASKS]):
        assert decide([*before, CONCLUDES], FREE) == Decision("end", "concluded")


@pytest.mark.parametrize("final_turn", ["warn", "none"])
def test_requests_in_the_last_turn_end_it_as_max_turns(final_turn: Any) -> None:
    decision = decide([ASKS, ASKS, ASKS_PROVISIONALLY], replace(FREE, final_turn=final_turn))
    assert decision == Decision("end", "max_turns", "it still asked in turn 3, the last")


def test_with_ask_they_are_followed_by_the_demand_to_conclude() -> None:
    assert decide([ASKS, ASKS, ASKS], replace(FREE, final_turn="ask")) == Decision("conclude")


def test_one_turn_is_enough_for_a_cap() -> None:
    assert ends([ASKS], replace(FREE, max_turns=1)) == "max_turns"
    assert decide([ASKS], replace(FREE, max_turns=1, final_turn="ask")) == Decision("conclude")


@pytest.mark.parametrize(
    ("last", "status"),
    [
        (turn(0, "Sepsis", kind="conclusion"), "concluded"),
        (turn(2, "Sepsis", kind="conclusion"), "concluded"),  # it asks too, but concludes as demanded
        (turn(2, None, kind="conclusion"), "max_turns"),
        (turn(0, "Sepsis", kind="conclusion", flags=["unreadable_requests"]), "concluded"),
        (turn(kind="conclusion", asks=2), "parse_failed"),
        (lost("refused") | {"kind": "conclusion"}, "refused"),
        (EMPTY | {"kind": "conclusion"}, "empty"),  # the cap is reached
    ],
)
def test_after_the_demand_to_conclude(last: Turn, status: str) -> None:
    assert ends([ASKS, ASKS, ASKS, last], replace(FREE, final_turn="ask")) == status


def test_a_conclusion_that_cannot_be_read_is_demanded_once_more() -> None:
    assert decide([ASKS, ASKS, ASKS, turn(kind="conclusion")], replace(FREE, final_turn="ask")) == Decision("reask")


# --- loops


@pytest.mark.parametrize(("on_loop", "next_"), [("record", "examine"), ("nudge", "examine"), ("stop", "end")])
def test_a_looping_turn(on_loop: Any, next_: str) -> None:
    decision = decide([ASKS, LOOPS], replace(FREE, on_loop=on_loop))
    assert decision.next == next_
    assert decision.status == ("loop_stopped" if on_loop == "stop" else "")


def test_a_loop_in_the_last_turn_is_a_stopped_loop_only_where_loops_are_stopped() -> None:
    assert ends([ASKS, ASKS, LOOPS], replace(FREE, on_loop="stop")) == "loop_stopped"
    assert ends([ASKS, ASKS, LOOPS], replace(FREE, on_loop="nudge")) == "max_turns"


# --- what cannot be read


@pytest.mark.parametrize("rules", [FREE, ONE, replace(FREE, final_turn="ask")])
def test_neither_a_request_nor_a_conclusion_is_asked_again_once_then_given_up(rules: Rules) -> None:
    assert decide([MUTE], rules) == Decision("reask")
    assert ends([MUTE_AGAIN], rules) == "parse_failed"


def test_in_the_last_turn_too() -> None:
    assert decide([ASKS, ASKS, MUTE], FREE) == Decision("reask")
    assert ends([ASKS, ASKS, MUTE_AGAIN], FREE) == "parse_failed"


def test_every_turn_has_its_own_re_ask() -> None:
    assert decide([turn(1, asks=2), MUTE], FREE) == Decision("reask")


def test_a_missing_section_for_requests_does_not_end_the_examination() -> None:
    assert decide([NO_FIELD], FREE) == Decision("reask")
    assert ends([NO_FIELD | {"asks": 2}], FREE) == "concluded"  # the sections were named, and it asks for nothing


def test_a_section_for_requests_in_which_none_can_be_read_never_concludes() -> None:
    assert decide([UNREADABLE], FREE) == Decision("reask")
    assert ends([UNREADABLE | {"asks": 2}], FREE) == "parse_failed"


@pytest.mark.parametrize("last", [NO_FIELD, UNREADABLE])
def test_where_nothing_more_can_be_answered_the_conclusion_stands(last: Turn) -> None:
    assert ends([ASKS, ASKS, last], FREE) == "concluded"
    assert ends([ASKS, last | {"kind": "conclusion"}], ONE) == "concluded"


# --- no reply


def test_an_empty_turn_is_asked_for_again_and_counts() -> None:
    assert decide([EMPTY], FREE) == Decision("reask")
    assert decide([ASKS, EMPTY], FREE) == Decision("reask")
    assert ends([ASKS, EMPTY, ASKS], FREE) == "max_turns"


def test_two_empty_turns_in_a_row_or_an_empty_last_turn_end_it() -> None:
    assert ends([EMPTY, EMPTY], FREE) == "empty"
    assert ends([ASKS, ASKS, EMPTY], FREE) == "empty"


def test_empty_turns_apart_are_forgiven_until_the_cap() -> None:
    long = replace(FREE, max_turns=5)
    assert decide([EMPTY, ASKS, EMPTY], long) == Decision("reask")
    assert ends([EMPTY, ASKS, EMPTY, ASKS, EMPTY], long) == "empty"


def test_a_first_empty_reply_is_asked_for_again_even_if_there_is_only_one_turn() -> None:
    assert decide([EMPTY], replace(FREE, max_turns=1)) == Decision("reask")
    assert decide([EMPTY], ORACLE) == Decision("reask")
    assert ends([EMPTY, EMPTY], ORACLE) == "empty"
    assert ends([EMPTY, CONCLUDES], ORACLE) == "concluded"


@pytest.mark.parametrize("reason", ["truncated", "truncated_reasoning", "refused", "content_filter", "null_message"])
@pytest.mark.parametrize(("rules", "before"), [(FREE, [ASKS]), (FREE, []), (ONE, [ASKS]), (ORACLE, [])])
def test_what_asking_again_cannot_mend_is_the_status(reason: str, rules: Rules, before: list[Turn]) -> None:
    assert decide([*before, lost(reason)], rules) == Decision("end", reason, f"it was {reason}")


def test_a_cut_reply_ends_it_whatever_could_be_read_from_it() -> None:
    assert ends([ASKS_PROVISIONALLY | {"unscored": {"reason": "truncated", "detail": ""}}], FREE) == "truncated"


# --- one turn


def test_one_turn_has_one_round() -> None:
    assert decide([ASKS], ONE) == Decision("examine")
    assert ends([ASKS, turn(0, "Sepsis", kind="conclusion")], ONE) == "concluded"
    assert ends([CONCLUDES], ONE) == "concluded"


def test_an_empty_reply_does_not_use_up_the_only_round() -> None:
    assert decide([EMPTY, ASKS], ONE) == Decision("examine")
    assert decide([ASKS, EMPTY | {"kind": "conclusion"}], ONE) == Decision("reask")
    assert ends([ASKS, EMPTY, EMPTY], ONE) == "empty"


# --- oracle and treatment


def test_where_everything_is_shown_only_the_answer_counts() -> None:
    assert decide([turn(0, "Sepsis")], ORACLE) == Decision("end", "concluded")
    assert decide([MUTE], ORACLE) == Decision("reask")
    assert decide([MUTE_AGAIN], ORACLE) == Decision(
        "end", "parse_failed", "no answer could be read, nor after asking once more"
    )


# --- what holds for all


def test_every_end_has_a_status_and_every_loop_an_end() -> None:
    kinds = [ASKS, ASKS_PROVISIONALLY, CONCLUDES, MUTE, MUTE_AGAIN, LOOPS, EMPTY, NO_FIELD, UNREADABLE, lost("refused")]
    policies = [
        replace(FREE, on_loop=on_loop, final_turn=final)  # type: ignore[arg-type]
        for on_loop in ("record", "nudge", "stop")
        for final in ("warn", "ask", "none")
    ]
    for rules in [*policies, ONE, ORACLE]:
        for last in kinds:
            for before in range(4):
                decision = decide([*[ASKS] * before, last], rules)
                assert bool(decision.status) == (decision.next == "end")
                if before >= rules.max_turns:
                    assert decision.next in ("end", "reask", "conclude")
