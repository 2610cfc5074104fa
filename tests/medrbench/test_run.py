"""Whole runs: a failing examiner and its retry, every case accounted for, kill -9 and resume on the real cases."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judge.runs.store import open_run
from tests.conftest import Command
from tests.data import real_data
from tests.medrbench.examinations import (
    DOCTOR,
    EXAMINER,
    THYROID,
    Answer,
    Seats,
    asks,
    attempts,
    concludes,
    doctors,
    examiners,
    resume_arguments,
    run_arguments,
    serving,
    shown,
)
from tests.medrbench.physician import physician
from tests.runs.processes import asked, started, stored, wait_until
from tests.runs.synthetic import numbers, setting_of
from tests.server import ModelServer, Reply, Request, error

# --- the examiner fails

DIALOGUE: list[Answer] = [
    asks("CBC"),
    asks("TSH", conclusion="Provisional: goiter"),
    concludes("Hashimoto thyroiditis"),
]
FAILURES = {
    "server error": error(500, "broken"),
    "empty": Reply(content=""),
    "truncated": Reply(content="TSH: 48", finish_reason="length"),
}


def examiner_option(server: ModelServer) -> list[object]:
    return ["--examiner", f"{server.url}#{EXAMINER}", "--case", THYROID, "--tries", 1]


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("retry", ["examiner_failed", "errors"])
def test_a_failed_examiner_is_asked_again_and_the_doctor_is_not(
    cli: Command, tmp_path: Path, failure: str, retry: str
) -> None:
    run = tmp_path / "run"
    seats = Seats(DIALOGUE, ["CBC: normal", FAILURES[failure], "TSH: 48.6 mIU/L"])
    with serving(seats) as server:
        ran = cli(*run_arguments(server, run, *examiner_option(server), "--json"))
        assert ran.json["statuses"] == {"examiner_failed": 1}
        assert setting_of(ran.json, "free_turn")["metrics"]["turns"]["n_scored"] == 0
        partial = shown(cli, run)
        assert [turn["requests"] for turn in partial["transcript"]["turns"]] == [["CBC"], ["TSH"]]
        assert partial["transcript"]["turns"][0]["results"] == "CBC: normal"
        assert (len(doctors(server)), len(examiners(server))) == (2, 2)
        assert ran.code == 1
        assert "1 units are unscored through errors" in ran.err
        server.reset()
        again = cli(*resume_arguments(run, "--retry", retry, "--json"))
        assert (len(doctors(server)), len(examiners(server))) == (1, 1)
    assert again.code == 0, again.err
    assert again.json["statuses"] == {"concluded": 1}
    assert attempts(shown(cli, run))[-3:] == [
        ("examiner/turn2", 1, failure == "server error"),
        ("examiner/turn2", 2, False),
        ("doctor/turn3", 1, False),
    ]


def test_an_examiner_that_fails_in_another_way_when_asked_again_is_asked_a_third_time(
    cli: Command, tmp_path: Path
) -> None:
    answers: list[Answer] = ["CBC: normal", FAILURES["server error"], FAILURES["empty"], "TSH: 48.6 mIU/L"]
    with serving(Seats(DIALOGUE, answers)) as server:
        cli(*run_arguments(server, tmp_path / "run", *examiner_option(server)))
        second = cli(*resume_arguments(tmp_path / "run", "--retry", "examiner_failed", "--tries", 1, "--json"))
        assert second.json["statuses"] == {"examiner_failed": 1}
        third = cli(*resume_arguments(tmp_path / "run", "--retry", "examiner_failed", "--json"))
        assert third.json["statuses"] == {"concluded": 1}
        assert (len(doctors(server)), len(examiners(server))) == (3, 4)


def test_a_failed_doctor_is_asked_again_and_the_examiner_is_not(cli: Command, tmp_path: Path) -> None:
    replies = [DIALOGUE[0], error(500, "broken"), *DIALOGUE[1:]]
    with serving(Seats(replies, ["CBC: normal", "TSH: 48.6 mIU/L"])) as server:
        ran = cli(*run_arguments(server, tmp_path / "run", *examiner_option(server), "--json"))
        assert (ran.code, ran.json["statuses"]) == (1, {"server_error": 1})
        again = cli(*resume_arguments(tmp_path / "run", "--retry", "errors", "--json"))
        assert (again.code, again.json["statuses"]) == (0, {"concluded": 1})
        assert (len(doctors(server)), len(examiners(server))) == (4, 2)


def test_what_could_not_be_read_is_asked_again_from_the_first_turn(cli: Command, tmp_path: Path) -> None:
    replies: list[Answer] = [asks("CBC"), "Hm.", "Hm.", *DIALOGUE]
    with serving(Seats(replies)) as server:
        ran = cli(*run_arguments(server, tmp_path / "run", "--examiner", "records", "--case", THYROID, "--json"))
        assert (ran.code, ran.json["statuses"]) == (0, {"parse_failed": 1})
        again = cli(*resume_arguments(tmp_path / "run", "--retry", "parse_failed", "--json"))
        assert again.json["statuses"] == {"concluded": 1}
        assert len(doctors(server)) == 6


# --- every unit is accounted for


def test_whatever_happens_every_unit_has_a_status_and_scores_or_a_reason(cli: Command, tmp_path: Path) -> None:
    endings: dict[str, Callable[[Request], Reply]] = {
        "SYN0000001": lambda request: Reply(content=asks("TSH")),
        "SYN0000002": lambda request: error(400, "no") if len(request.messages) > 1 else Reply(content=asks("CBC")),
        "SYN0000003": lambda request: Reply(content="Hm."),
    }
    signs = {"schoolteacher": "SYN0000001", "florist": "SYN0000002", "carpenter": "SYN0000003"}

    def script(request: Request) -> Reply:
        return endings[next(case for word, case in signs.items() if word in request.messages[0]["content"])](request)

    with serving(script) as server:
        ran = cli(*run_arguments(server, tmp_path / "run", "--examiner", "records", "--json"))
    found = setting_of(ran.json, "free_turn")
    assert ran.code == 1
    assert found["statuses"] == {"max_turns": 1, "bad_request": 1, "parse_failed": 1}
    for metric in found["metrics"].values():
        assert (metric["n_scored"], metric["n_unscored"]) == (1, 2)
    units = cli("show", tmp_path / "run", "--json").json["units"]
    for unit in units:
        reasons = {score["unscored"] for score in unit["scores"].values() if isinstance(score, dict)}
        assert reasons == (set() if unit["status"] == "max_turns" else {unit["status"]})
    assert cli("show", tmp_path / "run").code == 0
    for case in endings:
        assert cli("show", tmp_path / "run", case).code == 0


# --- the real cases

CASES = 30
CONNECTIONS = 16


def real_arguments(server: ModelServer, out: Path, *more: object) -> list[object]:
    return ["run", "medrbench", "--model", f"{server.url}#{DOCTOR}", "--data", real_data("medrbench"),
            "--setting", "free_turn", "--examiner", "records", "--limit", CASES, "--connections", CONNECTIONS,
            "--out", out, *more]  # fmt: skip


@pytest.mark.data
def test_killed_in_the_middle_and_continued_it_asks_nothing_twice_and_scores_the_same(
    cli: Command, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    with serving(physician, latency=0.1) as server:
        undisturbed = cli(*real_arguments(server, tmp_path / "other", "--json"))
        needed = asked(server)
        assert server.max_in_flight > CONNECTIONS / 4
        server.reset()
        with started(*real_arguments(server, run)) as process:
            server.wait_for_calls(sum(needed.values()) // 2, timeout=60)
            time.sleep(0.05)
            process.kill()
        wait_until(lambda: server.in_flight == 0)
        kept = stored(run)
        server.reset()
        finished = cli(*resume_arguments(run, "--connections", CONNECTIONS, "--json"))
        asked_after = asked(server)
    assert finished.code == 0, finished.err
    assert sum(kept.values()) > 0
    # every exchange of the undisturbed run once: kept before the kill, or asked after it
    assert kept + asked_after == needed
    assert needed == Counter(dict.fromkeys(needed, 1))
    assert numbers(finished.json) == numbers(undisturbed.json)
    check_all_accounted_for(finished.json)
    check_nothing_is_told_unasked(run)


def check_all_accounted_for(report: dict[str, Any]) -> None:
    found = setting_of(report, "free_turn")
    assert sum(found["statuses"].values()) == found["n_units"] == CASES
    assert set(found["statuses"]) <= {"concluded", "max_turns", "empty", "parse_failed"}
    assert found["statuses"]["concluded"] > CASES / 2
    for metric in found["metrics"].values():
        assert metric["n_scored"] + metric["n_unscored"] == CASES
    assert {"looped", "re_asked", "provisional_answer"} <= set(found["flags"])


def check_nothing_is_told_unasked(run: Path) -> None:
    """No finding stands in a message to the doctor unless an entry told by then, or the history, says the same."""
    store = open_run(run, write=False)
    try:
        cases, units = store.cases(), store.units()
    finally:
        store.close()
    checked = 0
    for unit in units:
        assert unit.transcript is not None
        record, data = cases[unit.unit.case].record, unit.transcript.data
        told = plain(record["history"])
        answered = iter([turn for turn in data["turns"] if turn.get("results") is not None])
        disclosed: set[int] = set()
        for message in (message for message in data["messages"] if message["role"] == "user"):
            if "The examiner answers" in message["content"]:
                disclosed |= set(next(answered)["disclosed"])
            told += "".join(plain(record["ancillary"][position]["finding"]) for position in disclosed)
            for entry in record["ancillary"]:
                finding = plain(entry["finding"])
                if entry["position"] not in disclosed and len(finding) >= 20 and finding not in told:
                    checked += 1
                    assert finding not in plain(message["content"]), (unit.unit.case, entry["position"])
    assert checked > 10 * CASES


def plain(text: str) -> str:
    """The words alone, with a space at either end, so that only whole words are found."""
    words = re.findall(r"[^\W_]+", text.lower())
    return f" {' '.join(words)} "


def test_dialogues_that_ended_without_a_diagnosis_are_said_beside_the_mean(cli: Command, tmp_path: Path) -> None:
    def script(request: Request) -> Reply:
        first = "schoolteacher" in str(request.messages[0]["content"])
        return Reply(content=concludes("Gout") if first else asks("TSH", conclusion=None))

    with serving(script) as server:
        ran = cli(*run_arguments(server, tmp_path / "run", "--examiner", "records", "--max-turns", 2, "--json"))
    assert ran.json["statuses"] == {"max_turns": 2, "concluded": 1}
    said = "free_turn: Exact answer without a value in 2 of 3 units (max_turns)"
    assert f"{said}; the mean is over the others, see the bounds" in ran.json["warnings"]
