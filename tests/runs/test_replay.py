"""A recording gives the same report without a server, or says what is different."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.runs.synthetic import DATA, IDS, Answer, answering, numbers, resume_arguments, run_arguments
from tests.server import ModelServer, error, says

ANSWERS: dict[int, Answer] = {
    2: "A, B",
    3: [says("Je ne sais pas."), "B"],
    4: says("Réponse : A\u2028, C, E\x85"),  # line ends that are none in JSON Lines
    5: error(400, "bad question"),
    6: says("Réponse : A", finish_reason="length"),
}


@dataclass
class Recorded:
    file: Path
    report: dict[str, Any]


@pytest.fixture(scope="module")
def recorded(cli: Command, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A recording whose server is gone."""
    folder = tmp_path_factory.mktemp("recorded")
    file = folder / "recording.jsonl"
    with ModelServer(answering(ANSWERS)) as server:
        ran = cli(*run_arguments(server.spec, folder / "run", "--record", file, "--temperature", 0, "--json"))
    assert ran.code == 1
    return Recorded(file, ran.json)


def replay_arguments(file: Path, out: Path, *more: object) -> list[object]:
    return ["run", "caremedeval", "--replay", file, "--data", DATA, "--context", "none", "--out", out, *more]


def test_a_replay_gives_the_same_numbers_without_a_server(cli: Command, recorded: Recorded, tmp_path: Path) -> None:
    ran = cli(*replay_arguments(recorded.file, tmp_path / "run", "--temperature", 0, "--json"))
    assert ran.code == 1  # the recorded failure fails again
    assert numbers(ran.json) == numbers(recorded.report)
    assert ran.json["model"] == recorded.report["model"]
    assert {row["source"] for row in ran.json["tokens"]} == {"replay"}


def test_a_recording_can_be_named_as_the_model(cli: Command, recorded: Recorded, tmp_path: Path) -> None:
    arguments = run_arguments(f"replay:{recorded.file}", tmp_path / "run", "--temperature", 0, "--json")
    assert numbers(cli(*arguments).json) == numbers(recorded.report)
    again = cli(*resume_arguments(tmp_path / "run", "--model", f"replay:{recorded.file}", "--json"))
    assert numbers(again.json) == numbers(recorded.report)


def test_a_recording_named_twice_is_refused(cli: Command, recorded: Recorded, tmp_path: Path) -> None:
    arguments = replay_arguments(recorded.file, tmp_path / "run", "--model", f"replay:{recorded.file}")
    ran = cli(*arguments)
    assert ran.code == 2
    assert "not both" in ran.sentence


def test_the_fixture_s_recording_replays_to_the_answers_its_readme_lists(cli: Command, tmp_path: Path) -> None:
    file = DATA / "demo.recording.jsonl"
    ran = cli(*replay_arguments(file, tmp_path / "run", "--context", "full", "--json"))
    assert ran.code == 0
    units = cli("show", tmp_path / "run", "--json").json["units"]
    exact = {
        setting: [n for n, case in IDS.items() for unit in units
                  if unit["case"] == case and unit["setting"] == setting and unit["scores"]["emr"] == 1.0]
        for setting in ("full", "none")
    }  # fmt: skip
    assert exact == {"full": [1, 2, 3, 4, 5, 7, 8], "none": [7, 8]}
    none = next(setting for setting in ran.json["settings"] if setting["setting"] == "none")
    assert none["statuses"]["truncated"] == 1
    assert none["statuses"]["answered"] == 6


@pytest.mark.parametrize(
    ("more", "changed"),
    [
        (["--temperature", "0.5"], "temperature: 0.0 -> 0.5"),
        ([], "temperature: 0.0 -> "),
        (["--temperature", "0", "--max-tokens", "5"], "max_tokens: "),
        (["--temperature", "0", "--prompts", "PROMPTS"], "messages[0].content"),
        (["--temperature", "0", "--language", "en"], "messages[0].content"),
    ],
)
def test_another_request_under_a_recorded_address_is_refused(
    cli: Command, recorded: Recorded, tmp_path: Path, more: list[str], changed: str
) -> None:
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "doctor.without_article.fr.v1.md").write_text("{{question}} {{options}}", encoding="utf-8")
    given = [part.replace("PROMPTS", str(prompts)) for part in more]
    ran = cli(*replay_arguments(recorded.file, tmp_path / "run", *given))
    assert (ran.code, ran.out) == (2, "")
    assert "what changed:" in ran.err
    assert changed in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("connections", [1, 16])
def test_a_call_that_was_not_recorded_is_a_miss_that_names_its_address(
    cli: Command, recorded: Recorded, tmp_path: Path, connections: int
) -> None:
    lines = recorded.file.read_text(encoding="utf-8").split("\n")
    kept = [line for line in lines if f"/{IDS[8]}/" not in line]
    assert len(kept) < len(lines)
    file = tmp_path / "shorter.jsonl"
    file.write_text("\n".join(kept), encoding="utf-8")
    ran = cli(*replay_arguments(file, tmp_path / "run", "--temperature", 0, "--connections", connections))
    assert (ran.code, ran.out) == (2, "")
    assert f"caremedeval/none/{IDS[8]}/1/doctor/turn1/1" in ran.err
    assert not (tmp_path / "run").exists()


def test_a_torn_last_line_is_passed_over_and_cut_off_before_more_is_written(
    cli: Command, recorded: Recorded, tmp_path: Path
) -> None:
    file = tmp_path / "torn.jsonl"
    whole = recorded.file.read_bytes()
    file.write_bytes(whole + b'{"address": "caremedeval/none/x')
    arguments = replay_arguments(file, tmp_path / "run", "--temperature", 0, "--json")
    assert numbers(cli(*arguments).json) == numbers(recorded.report)
    again = replay_arguments(recorded.file, tmp_path / "again", "--temperature", 0, "--record", file)
    assert cli(*again).code == 1
    assert all(json.loads(line) for line in file.read_text(encoding="utf-8").rstrip("\n").split("\n"))


def test_recording_on_while_resuming_keeps_one_complete_recording(cli: Command, tmp_path: Path) -> None:
    file = tmp_path / "recording.jsonl"
    script = answering({5: error(500, "broken")})
    with ModelServer(script) as server:
        arguments = run_arguments(server.spec, tmp_path / "run", "--record", file, "--tries", 1)
        assert cli(*arguments).code == 1
        server.script = answering({})
        resumed = cli(*resume_arguments(tmp_path / "run", "--retry", "errors", "--record", file, "--json"))
    assert resumed.code == 0
    replayed = cli(*replay_arguments(file, tmp_path / "replayed", "--json"))
    assert numbers(replayed.json) == numbers(resumed.json)


def test_a_recording_holds_no_key(cli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDJUDGE_API_KEY", "sk-very-secret-0123456789")
    file = tmp_path / "recording.jsonl"
    script = answering({5: error(400, "not with sk-very-secret-0123456789, please")})
    with ModelServer(script, chat_key="sk-very-secret-0123456789") as server:
        ran = cli(*run_arguments(server.spec, tmp_path / "run", "--record", file, "--json"))
    assert ran.json["statuses"] == {"answered": 7, "bad_request": 1}
    everything = file.read_bytes() + (tmp_path / "run" / "run.sqlite").read_bytes()
    assert b"very-secret" not in everything
    assert "very-secret" not in cli("show", tmp_path / "run", IDS[5]).out


def test_a_recording_that_lost_its_end_to_a_kill_is_completed_on_resuming(cli: Command, tmp_path: Path) -> None:
    file = tmp_path / "recording.jsonl"
    with ModelServer(answering({3: [says("Je ne sais pas."), "B"]})) as server:
        ran = cli(*run_arguments(server.spec, tmp_path / "run", "--record", file, "--json"))
        file.write_bytes(b"\n".join(file.read_bytes().split(b"\n")[:4]) + b'\n{"address": "care')
        calls = server.chat_count
        assert cli(*resume_arguments(tmp_path / "run", "--record", file)).code == 0
        assert server.chat_count == calls
    replayed = cli(*replay_arguments(file, tmp_path / "replayed", "--json"))
    assert replayed.code == 0, replayed.err
    assert numbers(replayed.json) == numbers(ran.json)


def test_a_recording_begun_on_resuming_holds_what_was_asked_before_too(cli: Command, tmp_path: Path) -> None:
    file = tmp_path / "recording.jsonl"
    with ModelServer(answering({5: error(500, "broken")})) as server:
        assert cli(*run_arguments(server.spec, tmp_path / "run", "--tries", 1)).code == 1
        server.script = answering({})
        resumed = cli(*resume_arguments(tmp_path / "run", "--retry", "errors", "--record", file, "--json"))
    replayed = cli(*replay_arguments(file, tmp_path / "replayed", "--json"))
    assert replayed.code == 0, replayed.err
    assert numbers(replayed.json) == numbers(resumed.json)
