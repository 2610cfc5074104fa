"""Loop detection by a model, where it is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphs.medrbench.loops import read_verdicts
from judge.errors import CallFailed
from tests.conftest import Command
from tests.medrbench.examinations import DOCTOR, THYROID, asks, concludes, run_arguments, serving, shown
from tests.server import Reply, Request

JUDGE = "judge-model"


@pytest.mark.parametrize(
    ("text", "verdicts"),
    [
        ("1. repeat\n2. new", [True, False]),
        ("2) New.\n1) Repeat.", [True, False]),
        ("Verdicts:\n\n**1. repeat**\n- 2: NEW", [True, False]),
    ],
)
def test_one_verdict_for_each_request_is_read(text: str, verdicts: list[bool]) -> None:
    assert read_verdicts(text, 2) == verdicts


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1. repeat",
        "1. repeat\n2. new\n2. repeat",
        "1. new\n2. new\n3. new",
        "repeat, new",
        "1. not a repeat\n2. new",
    ],
)
def test_anything_else_is_a_failed_call_and_no_default(text: str) -> None:
    with pytest.raises(CallFailed, match="no single verdict"):
        read_verdicts(text, 2)


def script(verdict: str) -> object:
    doctors_turns = [asks("CBC"), asks("blood picture"), concludes("Hashimoto thyroiditis")]

    def answer(request: Request) -> Reply:
        if request.body["model"] == DOCTOR:
            turn = sum(message["role"] == "user" for message in request.messages) - 1
            return Reply(content=doctors_turns[turn])
        assert "- CBC" in request.text
        assert "1. blood picture" in request.text
        return Reply(content=verdict)

    return answer


@pytest.mark.parametrize(("verdict", "status"), [("1. repeat", "loop_stopped"), ("1. new", "concluded")])
def test_the_models_verdict_decides(cli: Command, tmp_path: Path, verdict: str, status: str) -> None:
    with serving(script(verdict)) as server:  # type: ignore[arg-type]
        ran = cli(*run_arguments(server, tmp_path / "run", "--examiner", "records", "--on-loop", "stop",
                                 "--loop-check", "judge", "--loop-judge", f"{server.url}#{JUDGE}", "--case", THYROID,
                                 "--json"))  # fmt: skip
    assert ran.code == 0, ran.err
    assert ran.json["statuses"] == {status: 1}
    assert "loop-check:judge" in ran.json["settings"][0]["metrics"]["looped"]["signature"]
    assert shown(cli, tmp_path / "run")["exchanges"][2]["role"] == "loop-judge"


def test_a_verdict_that_cannot_be_read_is_a_status_of_the_case(cli: Command, tmp_path: Path) -> None:
    with serving(script("They look alike.")) as server:  # type: ignore[arg-type]
        ran = cli(*run_arguments(server, tmp_path / "run", "--examiner", "records", "--loop-check", "judge",
                                 "--loop-judge", f"{server.url}#{JUDGE}", "--case", THYROID, "--json"))  # fmt: skip
    assert ran.code == 1
    assert ran.json["statuses"] == {"loop_check_failed": 1}


def test_the_judge_must_be_named(cli: Command, tmp_path: Path) -> None:
    with serving(script("")) as server:  # type: ignore[arg-type]
        ran = cli(*run_arguments(server, tmp_path / "run", "--examiner", "records", "--loop-check", "judge"))
    assert ran.code == 2
    assert "--loop-judge is missing" in ran.sentence


def test_a_truncated_reply_is_not_sent_to_the_check(cli: Command, tmp_path: Path) -> None:
    def answer(request: Request) -> Reply:
        assert request.body["model"] == DOCTOR, "nobody may be paid to judge what was cut off"
        first = len(request.messages) == 1
        return Reply(content=asks("CBC")) if first else Reply(content=asks("blood"), finish_reason="length")

    with serving(answer) as server:
        ran = cli(*run_arguments(server, tmp_path / "run", "--examiner", "records", "--loop-check", "judge",
                                 "--loop-judge", f"{server.url}#{JUDGE}", "--case", THYROID, "--json"))  # fmt: skip
    assert ran.json["statuses"] == {"truncated": 1}
