"""Units that errors ended can be asked again, and only they."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.runs.synthetic import (
    IDS,
    Answer,
    answering,
    asks_of,
    number_of,
    numbers,
    resume_arguments,
    right,
    run_arguments,
)
from tests.server import ModelServer, error, says

BROKEN: dict[int, Answer] = {
    2: error(400, "bad question"),
    5: error(500, "broken"),
    7: says("Réponse : A", finish_reason="length"),
    8: [says("Je ne sais pas."), error(500, "broken")],  # the re-ask fails
}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(answering(BROKEN)) as running:
        yield running


@pytest.fixture
def run(cli: Command, server: ModelServer, tmp_path: Path) -> Path:
    ran = cli(*run_arguments(server.spec, tmp_path / "run", "--tries", 1, "--json"))
    assert ran.code == 1
    assert ran.json["statuses"] == {"answered": 4, "server_error": 2, "bad_request": 1, "truncated": 1}
    assert "3 units are unscored through errors. Ask them again with: medjudge run caremedeval" in ran.err
    assert f"--resume {tmp_path}/run --retry errors" in ran.err
    server.script = right
    server.reset()
    return tmp_path / "run"


def asked(server: ModelServer) -> list[tuple[int, int]]:
    """(question, ask) of every call."""
    return sorted((number_of(call.request), asks_of(call.request)) for call in server.calls)


def attempts(cli: Command, run: Path, number: int) -> list[tuple[str, int, bool]]:
    """(turn, attempt, whether it failed) of the exchanges of a question."""
    (entry,) = json.loads(cli("show", run, IDS[number], "--json").out)
    return [(e["address"].split("/")[5], e["attempt"], bool(e["error"])) for e in entry["exchanges"]]


def test_errors_are_asked_again_with_the_next_attempt(cli: Command, server: ModelServer, run: Path) -> None:
    ran = cli(*resume_arguments(run, "--retry", "errors", "--json"))
    assert ran.code == 0
    assert ran.json["statuses"] == {"answered": 7, "truncated": 1}
    # of question 8 the first reply stands; only the failed re-ask is asked again
    assert asked(server) == [(2, 1), (5, 1), (8, 2)]
    assert attempts(cli, run, 2) == [("turn1", 1, True), ("turn1", 2, False)]
    assert attempts(cli, run, 8) == [("turn1", 1, False), ("turn2", 1, True), ("turn2", 2, False)]


def test_a_status_is_asked_again_from_its_first_turn(cli: Command, server: ModelServer, run: Path) -> None:
    ran = cli(*resume_arguments(run, "--retry", "truncated", "--json"))
    assert ran.code == 1  # the errors are still there
    assert ran.json["statuses"] == {"answered": 5, "server_error": 2, "bad_request": 1}
    assert asked(server) == [(7, 1)]
    assert attempts(cli, run, 7) == [("turn1", 1, False), ("turn1", 2, False)]


def test_several_statuses_at_once_give_the_scores_of_an_undisturbed_run(
    cli: Command, server: ModelServer, run: Path, tmp_path: Path
) -> None:
    ran = cli(*resume_arguments(run, "--retry", "errors", "--retry", "truncated", "--json"))
    assert ran.code == 0
    assert ran.json["settings"][0]["metrics"]["emr"]["mean"] == 1.0
    assert len(server.calls) == 4
    undisturbed = cli(*run_arguments(server.spec, tmp_path / "other", "--json")).json
    # question 8 was readable only when re-asked: that stays on its transcript
    assert ran.json["settings"][0]["metrics"] == undisturbed["settings"][0]["metrics"]


def test_answers_can_be_asked_again(cli: Command, server: ModelServer, run: Path) -> None:
    ran = cli(*resume_arguments(run, "--retry", "answered", "--json"))
    assert ran.json["statuses"]["answered"] == 4
    assert asked(server) == [(1, 1), (3, 1), (4, 1), (6, 1)]


def test_a_retry_that_fails_again_keeps_the_error(cli: Command, server: ModelServer, run: Path) -> None:
    server.script = answering(BROKEN)
    before = cli("score", run, "--json")
    ran = cli(*resume_arguments(run, "--retry", "errors", "--tries", 1, "--json"))
    assert (before.code, ran.code) == (1, 1)
    assert numbers(ran.json) == numbers(before.json)
    assert attempts(cli, run, 2) == [("turn1", 1, True), ("turn1", 2, True)]


def test_without_retry_errors_stay_and_nobody_is_asked(cli: Command, server: ModelServer, run: Path) -> None:
    assert cli(*resume_arguments(run)).code == 1
    assert server.calls == []


@pytest.mark.parametrize("status", ["no_such_thing", "pending", "Truncated"])
def test_a_status_that_no_unit_has_is_refused(cli: Command, server: ModelServer, run: Path, status: str) -> None:
    ran = cli(*resume_arguments(run, "--retry", status))
    assert ran.code == 2
    assert f"--retry {status}: no unit has this status; there are: answered, bad_request" in ran.sentence
    assert server.calls == []


def test_errors_of_which_there_are_none_are_no_mistake(cli: Command, server: ModelServer, run: Path) -> None:
    cli(*resume_arguments(run, "--retry", "errors"))
    server.reset()
    assert cli(*resume_arguments(run, "--retry", "errors")).code == 0
    assert server.calls == []


def test_a_retry_against_a_server_that_is_gone_changes_nothing(cli: Command, server: ModelServer, run: Path) -> None:
    before = cli("show", run, "--json").out
    server.close()
    assert cli(*resume_arguments(run, "--retry", "errors")).code == 2
    assert cli("show", run, "--json").out == before


@pytest.mark.parametrize("option", ["--record", "--cache"])
def test_a_file_that_cannot_be_used_sets_no_answer_aside(
    cli: Command, server: ModelServer, run: Path, tmp_path: Path, option: str
) -> None:
    (tmp_path / "notes.txt").write_text("neither a recording nor a cache\n" * 50, encoding="utf-8")
    before = cli("show", run, "--json").out
    ran = cli(*resume_arguments(run, "--retry", "answered", option, tmp_path / "notes.txt"))
    assert (ran.code, server.calls) == (2, [])
    assert cli("show", run, "--json").out == before


def test_a_unit_that_waits_to_be_asked_again_has_no_flags(cli: Command, server: ModelServer, run: Path) -> None:
    assert cli("score", run, "--json").json["settings"][0]["flags"] == {"malformed": 2, "re_asked": 1}  # 7 and 8
    server.script = error(401, "no")
    ran = cli(*resume_arguments(run, "--retry", "truncated", "--json"))
    assert ran.code == 1
    assert ran.json["statuses"]["pending"] == 1
    assert ran.json["settings"][0]["flags"] == {"malformed": 1, "re_asked": 1}
    assert "unscored: server_error 2, bad_request 1, not_run 1" in cli("show", run).out
