"""What remains of an examination: flags of the whole, cases that cannot be examined, and how a case is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphs.medrbench.describe import describe_case
from graphs.medrbench.play import flags_of
from judge.benchmark import Transcript
from tests.conftest import Command
from tests.medrbench.examinations import DOCTOR, THYROID, UNREADABLE, Seats, asks, concludes, play, serving, with_case
from tests.medrbench.synthetic import SUMMARY, record, write_data
from tests.runs.synthetic import setting_of
from tests.server import Reply

UNTESTED = SUMMARY.partition("- **Ancillary Tests:**")[0]


# --- cases without tests


def test_a_case_without_tests_is_never_examined_and_stays_accounted_for(cli: Command, tmp_path: Path) -> None:
    data = write_data(tmp_path / "data", {"PMC1": record(UNTESTED), "PMC2": record()})
    oracle = "### Reasoning:\n<step 1> a\n\n### Answer:\nOtomycosis"

    def script(request: object) -> Reply:
        prompt = request.messages[0]["content"]  # type: ignore[attr-defined]
        return Reply(content=oracle if "### Answer:" in prompt else concludes("Otomycosis"))

    with serving(script) as server:
        ran = cli("run", "medrbench", "--model", f"{server.url}#{DOCTOR}", "--data", data, "--setting", "free_turn",
                  "--setting", "oracle", "--examiner", "records", "--out", tmp_path / "run", "--json")  # fmt: skip
        assert server.chat_count == 3
    assert ran.code == 0, ran.err
    found = setting_of(ran.json, "free_turn")
    assert found["statuses"] == {"no_ancillary_tests": 1, "concluded": 1}
    assert (found["metrics"]["exam_recall"]["n_scored"], found["metrics"]["exam_recall"]["n_unscored"]) == (1, 1)
    assert setting_of(ran.json, "oracle")["statuses"] == {"concluded": 2}
    assert cli("show", tmp_path / "run", "PMC1").code == 0


# --- flags of the whole


def test_flags_of_the_turns_stand_once() -> None:
    turns = [{"asks": 1, "flags": ["no_requests_field"], "requests": ["CBC"]}] * 2
    assert flags_of("free_turn", "concluded", turns, "X") == ["no_requests_field"]


@pytest.mark.parametrize(
    ("status", "answer", "expected"),
    [("max_turns", "X", True), ("loop_stopped", "X", True), ("max_turns", None, False), ("concluded", "X", False)],
)
def test_a_provisional_answer(status: str, answer: str | None, expected: bool) -> None:
    turns = [{"asks": 1, "requests": ["CBC"]}]
    assert ("provisional_answer" in flags_of("free_turn", status, turns, answer)) == expected


def test_asked_nothing_explains_a_precision_of_zero_and_so_only_where_there_is_one() -> None:
    assert play(Seats([concludes("X")])).transcript.flags == ("asked_nothing",)
    assert "asked_nothing" not in play(Seats([UNREADABLE, UNREADABLE])).transcript.flags
    assert "asked_nothing" not in play(Seats([Reply(content="", refusal="No.")])).transcript.flags
    assert flags_of("oracle", "concluded", [{"asks": 1, "requests": []}], "X") == []


def test_a_looping_turn_is_named_by_its_number() -> None:
    turns = [asks("CBC"), asks("TSH"), asks("Full blood count", "Thyrotropin"), concludes("X")]
    assert play(Seats(turns)).transcript.data["first_looping_turn"] == 3
    assert play(Seats([asks("CBC"), concludes("X")])).transcript.data["first_looping_turn"] is None


# --- for a person


def test_a_case_is_shown_with_every_turn() -> None:
    replies = [UNREADABLE, asks("CBC", "Ferritin"), asks("Complete blood count"), concludes("Hashimoto thyroiditis")]
    played = play(Seats(replies))
    shown = describe_case(with_case(THYROID), played.transcript)
    assert [heading for heading, _ in shown] == [
        "case as the doctor saw it",
        "turn 1, doctor, not readable",
        "turn 1, doctor",
        "turn 1, requests as read",
        "turn 1, examiner (1 entries of the record learned)",
        "turn 2, doctor",
        "turn 2, requests as read",
        "turn 2, examiner (0 entries of the record learned)",
        "turn 3, doctor",
        "answer read",
        "reference",
    ]
    texts = dict(shown)
    assert texts["case as the doctor saw it"] == with_case(THYROID)["history"]
    assert "(repeats an earlier one)" in texts["turn 2, requests as read"]
    assert texts["turn 2, requests as read"].endswith("all of them repeat earlier ones: a loop")
    assert (texts["answer read"], texts["reference"]) == ("Hashimoto thyroiditis", "Hashimoto thyroiditis.")


def test_a_case_that_nobody_saw_is_not_said_to_have_been_seen() -> None:
    assert [heading for heading, _ in describe_case(with_case(THYROID), Transcript("pending"))] == ["case", "reference"]
