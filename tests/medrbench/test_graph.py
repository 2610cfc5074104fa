"""The examination over HTTP: what each seat is sent, in which order, under which address, and what remains of it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from judge.prompting import load_prompts
from tests.medrbench.examinations import (
    ENDOCARDITIS,
    KETOACIDOSIS,
    PURPURA,
    UNREADABLE,
    Memory,
    Played,
    Seats,
    asks,
    concludes,
    iter_texts,
    loaded,
    play,
    roles_of,
    says,
)
from tests.server import Reply, error

ORACLE = "### Reasoning:\n<step 1> Clear.\n\n### Answer:\nHashimoto thyroiditis"

THYROID_RESULTS = "TSH: Thyroid-Stimulating Hormone: 48.6 mIU/L (reference 0.4-4.0)."


def prompt(name: str, **values: str) -> str:
    return load_prompts("medrbench", (name,))[name].fill(**values)


def record(case: str, setting: str = "free_turn") -> dict[str, Any]:
    return dict(next(found for found in loaded(setting).cases if found.id == case).record)


# --- prompts, turn by turn


def test_the_doctor_is_sent_exactly_these_messages() -> None:
    first, second = asks("TSH"), asks("Ferritin")
    played = play(Seats([first, second, concludes("Hashimoto thyroiditis")]), max_turns=3)
    assert played.doctor[0] == [
        {
            "role": "user",
            "content": prompt("doctor.free_turn.v1", case=record("SYN0000001")["history"], max_turns="3"),
        }
    ]
    assert played.doctor[1] == [
        *played.doctor[0],
        {"role": "assistant", "content": first},
        {"role": "user", "content": prompt("results.v1", results=THYROID_RESULTS)},
    ]
    assert played.doctor[2] == [
        *played.doctor[1],
        {"role": "assistant", "content": second},
        {"role": "user", "content": prompt("results.last.v1", results="Ferritin: not available")},
    ]
    assert len(played.doctor) == 3
    assert (played.status, played.transcript.data["answer"]) == ("concluded", "Hashimoto thyroiditis")


def test_the_examiner_is_sent_the_tests_and_the_requests_and_nothing_of_the_dialogue() -> None:
    seats = Seats(
        [asks("TSH", "CBC"), asks("Ferritin"), concludes("X")], ["TSH: 48.6 mIU/L", "Ferritin: not available"]
    )
    played = play(seats, examiner="model")
    tests = record("SYN0000001")["ancillary_text"]
    assert played.examiner == [
        [{"role": "user", "content": prompt("examiner.v1", tests=tests, requests="- TSH\n- CBC")}],
        [{"role": "user", "content": prompt("examiner.v1", tests=tests, requests="- Ferritin")}],
    ]
    assert "48.6 mIU/L" in played.doctor[1][-1]["content"]


def test_in_one_turn_the_results_come_with_the_demand_to_conclude() -> None:
    played = play(Seats([asks("TSH"), says(None, "Hashimoto thyroiditis")]), setting="one_turn")
    assert played.doctor[0][0]["content"] == prompt("doctor.one_turn.v1", case=record("SYN0000001")["history"])
    assert played.doctor[1][-1]["content"] == prompt("conclude.one_turn.v1", results=THYROID_RESULTS)
    assert played.status == "concluded"
    assert played.transcript.flags == ()  # two sections were demanded, so none is missing


@pytest.mark.parametrize(
    ("setting", "case", "reply"), [("oracle", PURPURA, ORACLE), ("treatment", KETOACIDOSIS, ORACLE)]
)
def test_oracle_and_treatment_show_everything_and_ask_once(setting: str, case: str, reply: str) -> None:
    played = play(Seats([reply]), setting=setting, case=case)
    shown = record(case, setting)["summary"]
    assert played.doctor == [[{"role": "user", "content": prompt(f"doctor.{setting}.v1", case=shown)}]]
    assert (played.status, played.steps) == ("concluded", ["doctor/turn1"])


def last_prompts(played: Played) -> list[str]:
    """The newest user message of every call to the doctor, by the prompt it opens with."""
    ending = {"Go on in the same three sections": "results", "Your next turn is the last": "last",
              "No turn is left": "conclude", "These requests have been answered before": "nudge",
              "Your reply could not be read": "reask", "You have up to": "doctor"}  # fmt: skip
    return ["+".join(name for text, name in ending.items() if text in calls[-1]["content"]) for calls in played.doctor]


@pytest.mark.parametrize(
    ("final_turn", "expected", "status"),
    [
        ("warn", ["doctor", "results", "last"], "max_turns"),
        ("none", ["doctor", "results", "results"], "max_turns"),
        ("ask", ["doctor", "results", "results", "conclude"], "concluded"),
    ],
)
def test_only_warn_says_that_a_turn_is_the_last(final_turn: str, expected: list[str], status: str) -> None:
    replies = [asks("TSH"), asks("CBC"), asks("Free T4", conclusion="Provisional: goiter"), concludes("Hashimoto")]
    played = play(Seats(replies), max_turns=3, final_turn=final_turn)
    assert last_prompts(played) == expected
    assert played.status == status
    assert ("provisional_answer" in played.transcript.flags) == (status == "max_turns")
    assert played.transcript.data["answer"] == ("Hashimoto" if status == "concluded" else "Provisional: goiter")


LOOPING = [asks("Complete blood count"), asks("CBC"), asks("TSH"), concludes("X")]


@pytest.mark.parametrize(
    ("on_loop", "expected", "status"),
    [
        ("record", ["doctor", "results", "results", "results"], "concluded"),
        ("nudge", ["doctor", "results", "results+nudge", "results"], "concluded"),
        ("stop", ["doctor", "results"], "loop_stopped"),
    ],
)
def test_only_nudge_speaks_of_a_loop(on_loop: str, expected: list[str], status: str) -> None:
    played = play(Seats(LOOPING), on_loop=on_loop)
    assert last_prompts(played) == expected
    assert played.status == status
    assert played.transcript.data["first_looping_turn"] == 2
    assert "looped" in played.transcript.flags
    if on_loop == "nudge":
        assert played.doctor[2][-1]["content"].endswith(prompt("nudge.v1", repeated="- CBC"))


def test_a_nudge_before_the_last_turn_comes_with_the_warning() -> None:
    played = play(Seats(LOOPING), on_loop="nudge", max_turns=3)
    assert last_prompts(played) == ["doctor", "results", "last+nudge"]


def test_a_turn_with_something_new_is_no_loop() -> None:
    played = play(Seats([asks("CBC"), asks("Full blood count", "TSH"), concludes("X")]), on_loop="stop")
    assert played.status == "concluded"
    assert [turn["repeats"] for turn in played.turns] == [[False], [True, False], []]


# --- messages


def test_roles_alternate_and_no_message_is_sent_twice() -> None:
    replies: list[Any] = [UNREADABLE, asks("TSH"), Reply(content=""), asks("CBC"), UNREADABLE, concludes("X")]
    played = play(Seats(replies), max_turns=9)
    assert played.status == "concluded"
    for messages in played.doctor:
        assert roles_of(messages) == ["user", "assistant"] * (len(messages) // 2) + ["user"]
        texts = "\n".join(iter_texts(messages))
        for reply in replies:
            if isinstance(reply, str) and reply != UNREADABLE:
                assert texts.count(reply) <= 1
        assert texts.count("TSH: Thyroid-Stimulating Hormone") <= 1
    # what was sent earlier is never changed, except that a demand follows an empty reply in the same message
    for before, after in zip(played.doctor, played.doctor[1:], strict=False):
        assert after[: len(before) - 1] == before[:-1]
        assert after[len(before) - 1]["content"].startswith(before[-1]["content"])


def test_after_an_empty_reply_the_demand_joins_the_question() -> None:
    played = play(Seats([Reply(content=""), concludes("X")]))
    (message,) = played.doctor[1]
    assert message["content"] == f"{played.doctor[0][0]['content']}\n\n{prompt('reask.v1')}"


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "reasoning_details"])
def test_reasoning_goes_back_under_the_key_that_the_server_used(key: Any) -> None:
    thought = f"Could stop.\n\n{concludes('Graves disease')}"
    first = Reply(content=asks("TSH"), reasoning=thought, reasoning_field=key)
    played = play(Seats([first, concludes("X")]))
    sent = played.doctor[1][1]
    assert set(sent) == {"role", "content", key}
    assert sent[key] == ([{"type": "reasoning.text", "text": thought, "index": 0}] if "details" in key else thought)
    assert sent["content"] == asks("TSH")
    # the draft in the thinking was no conclusion
    assert (played.turns[0]["thinking"], played.transcript.data["answer"]) == (thought, "X")


def test_inline_thinking_is_not_sent_back() -> None:
    played = play(Seats([f"<think>{concludes('Graves')}</think>{asks('TSH')}", concludes("X")]))
    assert played.doctor[1][1]["content"] == asks("TSH")
    assert "Graves" in played.turns[0]["thinking"]


@pytest.mark.parametrize("braces", ["{}", "{case}", "{{case}}", "{{results}}", "{{ tests }}", "%s {0} $x \\1"])
def test_braces_in_what_a_model_says_stay_what_they_are(braces: str) -> None:
    seats = Seats(
        [asks(f"Serum {braces} level"), asks("TSH"), concludes(f"Disease {braces}")], [f"{braces}: 3", f"TSH {braces}"]
    )
    played = play(seats, examiner="model", on_loop="nudge")
    assert f"- Serum {braces} level" in played.examiner[0][0]["content"]
    assert played.examiner[0][0]["content"].count(record("SYN0000001")["ancillary_text"]) == 1
    assert played.doctor[1][-1]["content"] == prompt("results.v1", results=f"{braces}: 3")
    assert played.transcript.data["answer"] == f"Disease {braces}"


# --- addresses


def test_every_call_has_an_address_of_its_own_in_the_order_of_the_dialogue() -> None:
    seats = Seats([UNREADABLE, asks("TSH"), asks("CBC"), concludes("X")], ["TSH: high", "CBC: normal"])
    played = play(seats, examiner="model")
    assert played.steps == ["doctor/turn1", "doctor/turn2", "examiner/turn1", "doctor/turn3", "examiner/turn2",
                            "doctor/turn4"]  # fmt: skip


def test_a_second_time_through_nobody_is_asked() -> None:
    memory = Memory()
    seats = Seats([UNREADABLE, asks("TSH"), concludes("X")], ["TSH: high"])
    first = play(seats, examiner="model", memory=memory)
    again = play(Seats([]), examiner="model", memory=memory)  # on another port, with the exchanges of the first
    assert (again.doctor, again.examiner) == ([], [])
    assert again.transcript == first.transcript


# --- reading the doctor


def test_a_re_ask_belongs_to_its_turn() -> None:
    replies = [UNREADABLE, asks("TSH"), UNREADABLE, asks("CBC"), UNREADABLE, concludes("X")]
    played = play(Seats(replies), max_turns=3)
    assert played.status == "concluded"
    assert [turn["asks"] for turn in played.turns] == [2, 2, 2]
    assert [turn["unread"] for turn in played.turns] == [UNREADABLE] * 3
    assert "re_asked" in played.transcript.flags
    assert [messages[-1]["content"] for messages in played.doctor[1::2]] == [prompt("reask.v1")] * 3


def test_unreadable_twice_is_parse_failed() -> None:
    played = play(Seats([asks("TSH"), UNREADABLE, UNREADABLE]))
    assert played.status == "parse_failed"
    assert len(played.turns) == 2
    assert played.turns[0]["results"] == THYROID_RESULTS


def test_the_answer_alone_is_asked_for_again_where_nothing_is_examined() -> None:
    played = play(Seats([UNREADABLE, ORACLE]), setting="oracle")
    assert played.doctor[1][-1]["content"] == prompt("reask.answer.v1")
    assert (played.status, played.transcript.flags) == ("concluded", ("re_asked",))


NOTHING = ["Not required.", "**Not required.**", "None", "N/A", "- Not required", "not required"]


@pytest.mark.parametrize("field", NOTHING)
def test_the_whole_field_says_that_nothing_is_required(field: str) -> None:
    played = play(Seats([says(field, "Hashimoto thyroiditis")]))
    assert (played.status, len(played.turns)) == ("concluded", 1)
    assert "asked_nothing" in played.transcript.flags


@pytest.mark.parametrize(
    ("field", "requests"),
    [
        ("Lumbar puncture: not required if CT is negative. Please provide the CT of the head.", ["CT of the head"]),
        ("Not required if the TSH is normal. Otherwise: free T4", ["Otherwise: free T4"]),
        ("CT of the chest. A biopsy is not required.", ["CT of the chest"]),
        ("Not required.\n- Ferritin", ["Ferritin"]),
    ],
)
def test_not_required_within_a_request_ends_nothing(field: str, requests: list[str]) -> None:
    played = play(Seats([says(field, "Provisional: X"), concludes("Y")]), case=ENDOCARDITIS)
    assert (played.status, len(played.turns)) == ("concluded", 2)
    assert [request for request in played.turns[0]["requests"] if "equired" not in request] == requests
    assert played.transcript.data["answer"] == "Y"


@pytest.mark.parametrize(
    "field", ["Not required for the diagnosis, but consider an MRI", "TSH, which is not required if ..."]
)
def test_nor_does_a_condition_in_which_no_request_can_be_read(field: str) -> None:
    played = play(Seats([says(field, "Provisional: X"), concludes("Y")]))
    assert played.transcript.data["answer"] == "Y"


SECTIONS = {
    "bold": "**Chain of Thought:**\n<step 1> a\n\n**Additional Information Required:**\n- TSH\n\n**Conclusion:**\nP",
    "other order": "### Conclusion:\nP\n### Additional Information Required:\n- TSH\n### Chain of Thought:\nStep 1: a",
    "no colon": "### Chain of Thought\na\n\n### Additional Information Required\n- TSH\n\n### Conclusion\nP",
    "numbered": "### 1. Chain of Thought\na\n### 2. Additional Information Required\n- TSH\n### 3. Conclusion\nP",
    "misspelled": "### Chain of Though:\na\n### Aditional Information Requird:\n- TSH\n### Conclusions:\nP",
    "capitals": "CHAIN OF THOUGHT:\na\n\nADDITIONAL INFORMATION REQUIRED:\n- TSH\n\nCONCLUSION:\nP",
}


@pytest.mark.parametrize("style", SECTIONS)
def test_sections_in_another_style_are_understood_without_asking_again(style: str) -> None:
    played = play(Seats([SECTIONS[style], concludes("Y")]))
    assert played.turns[0]["requests"] == ["TSH"]
    assert played.turns[0]["answer"] == "P"
    assert len(played.doctor) == 2


def test_a_missing_section_for_requests_is_asked_for_once() -> None:
    played = play(Seats([says(None, "Provisional: X"), asks("TSH"), concludes("Y")]))
    assert (played.status, [turn["asks"] for turn in played.turns]) == ("concluded", [2, 1])
    insists = play(Seats([says(None, "X"), says(None, "X")]))
    assert (insists.status, insists.transcript.data["answer"]) == ("concluded", "X")
    assert "no_requests_field" in insists.transcript.flags


def test_requests_that_cannot_be_read_do_not_conclude() -> None:
    played = play(Seats([says("???", "Provisional: X"), asks("TSH"), concludes("Y")]))
    assert (played.status, played.transcript.data["answer"]) == ("concluded", "Y")
    assert play(Seats([says("???", "X"), says("???", "X")])).status == "parse_failed"


@pytest.mark.parametrize(
    "label", ["**Most likely diagnosis:** Graves", "**Final Diagnosis:** Graves", "Diagnosis: Graves"]
)
def test_a_diagnosis_in_the_reasoning_is_not_the_conclusion(label: str) -> None:
    reply = says("Not required.", "Hashimoto thyroiditis", steps=f"<step 1> First thought.\n{label}\n<step 2> But no.")
    assert play(Seats([reply])).transcript.data["answer"] == "Hashimoto thyroiditis"


def test_a_label_within_the_conclusion_is_left_out() -> None:
    played = play(Seats([concludes("**Final diagnosis:** Hashimoto thyroiditis")]))
    assert played.transcript.data["answer"] == "Hashimoto thyroiditis"


def test_a_doctor_who_plays_the_examiner_is_flagged() -> None:
    reply = f"{asks('TSH')}\n\nExaminer: TSH 0.01, suppressed.\n\n{concludes('Graves disease')}"
    played = play(Seats([reply, concludes("X")]))
    assert "wrote_examiner" in played.transcript.flags


# --- no reply


def cut(text: str) -> Reply:
    return Reply(content=text, finish_reason="length")


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (cut(concludes("Graves disease")), "truncated"),
        (Reply(content="<think>Let me see"), "truncated_reasoning"),
        (Reply(content=None, refusal="I cannot help with that."), "refused"),
        (Reply(content="", finish_reason="content_filter"), "content_filter"),
        (error(500, "broken"), "server_error"),
        (error(400, "bad"), "bad_request"),
        (Reply(message_null=True), "null_message"),
    ],
)
@pytest.mark.parametrize("setting", ["free_turn", "one_turn"])
def test_a_call_without_answer_in_the_middle_keeps_what_was_said(reply: Reply, status: str, setting: str) -> None:
    played = play(Seats([asks("TSH", conclusion="Provisional: goiter"), reply]), setting=setting)
    assert played.status == status
    assert played.transcript.detail
    assert played.transcript.data["answer"] is None
    first = played.turns[0]
    assert (first["requests"], first["results"]) == (["TSH"], THYROID_RESULTS)
    assert [message["role"] for message in played.transcript.data["messages"][:3]] == ["user", "assistant", "user"]


def test_an_empty_turn_counts_towards_the_cap() -> None:
    played = play(Seats([Reply(content=""), asks("TSH"), asks("CBC")]), max_turns=3)
    assert (played.status, len(played.turns)) == ("max_turns", 3)
    assert last_prompts(played) == ["doctor", "reask+doctor", "last"]


def test_two_empty_turns_end_the_case() -> None:
    played = play(Seats([asks("TSH"), Reply(content=""), Reply(content=None)]))
    assert (played.status, len(played.turns)) == ("empty", 3)


def test_an_empty_reply_does_not_cost_one_turn_its_only_round() -> None:
    played = play(Seats([Reply(content=""), asks("TSH"), Reply(content=""), concludes("X")]), setting="one_turn")
    assert (played.status, played.transcript.data["answer"]) == ("concluded", "X")
    assert [turn["kind"] for turn in played.turns] == ["turn", "turn", "conclusion", "conclusion"]


# --- the examiner


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (error(500, "broken"), "server_error"),
        (Reply(content=""), "empty_reply"),
        (cut("TSH: 48"), "truncated"),
        (Reply(content="<think>hm"), "truncated_reasoning"),
        (Reply(content=None, refusal="No."), "refused"),
    ],
)
def test_a_failing_examiner_is_a_status_and_never_an_answer(answer: Reply, reason: str) -> None:
    played = play(Seats([asks("CBC"), asks("TSH")], ["CBC: normal", answer]), examiner="model")
    assert played.status == "examiner_failed"
    assert played.transcript.detail.startswith(f"{reason}: ")
    assert len(played.doctor) == 2
    assert [turn.get("results") for turn in played.turns] == ["CBC: normal", None]
    assert not any("not available" in str(message["content"]) for message in played.transcript.data["messages"][1:])


def test_an_examiner_who_says_the_diagnosis_or_invents_numbers_is_flagged() -> None:
    answers = ["TSH: 48.6 mIU/L, typical of Hashimoto thyroiditis", "Free T4: 6.3 pmol/L", "CBC: hemoglobin 11.4 g/dL"]
    played = play(Seats([asks("TSH"), asks("Free T4"), asks("CBC"), concludes("X")], answers), examiner="model")
    flags = [turn["flags"] for turn in played.turns]
    assert flags == [["examiner_named_diagnosis"], ["examiner_invented_numbers"], [], []]
    assert played.turns[1]["flag_details"] == ["not in the record: 6.3 pmol/L"]
    assert {"examiner_named_diagnosis", "examiner_invented_numbers"} <= set(played.transcript.flags)


def test_what_is_learned_counts_once() -> None:
    played = play(Seats([asks("TSH", "Ferritin"), asks("Thyrotropin", "Free T4"), concludes("X")]))
    assert [turn.get("learned") for turn in played.turns] == [[0], [1], None]
    assert [turn.get("disclosed") for turn in played.turns] == [[0], [0, 1], None]
    assert [turn.get("unavailable") for turn in played.turns] == [["Ferritin"], [], None]


# --- nothing withheld is shown before it is asked for


@pytest.mark.parametrize("setting", ["free_turn", "one_turn"])
@pytest.mark.parametrize("case", ["SYN0000001", PURPURA, ENDOCARDITIS])
def test_no_finding_reaches_the_doctor_before_it_is_asked_for(setting: str, case: str) -> None:
    chosen = record(case)
    entries = chosen["ancillary"]
    played = play(Seats([asks(entries[0]["name"]), concludes("X")]), setting=setting, case=case)
    disclosed = set(played.turns[0]["disclosed"])
    assert disclosed == {0}
    before, after = ("\n".join(iter_texts(messages)) for messages in played.doctor)
    for entry in entries:
        assert entry["finding"] not in before
        assert (entry["finding"] in after) == (entry["position"] in disclosed)
    for line in chosen["other"].splitlines():
        assert line.strip() not in after
    assert chosen["diagnosis_results"].rstrip(".").lower() not in after.lower()
    assert re.search(r"<case>\n(.*)\n</case>", before, re.DOTALL)[1] == chosen["history"]  # type: ignore[index]
