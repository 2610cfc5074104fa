"""Settings: what each shows, what may be combined, and that policies are part of every signature."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graphs.medrbench import BENCHMARK
from graphs.medrbench.options import rules_of
from graphs.medrbench.policy import Rules
from judge.errors import SpecError
from judge.metrics.signature import Metric
from tests.conftest import Command
from tests.medrbench.examinations import (
    DATA,
    DEFAULTS,
    THYROID,
    asks,
    concludes,
    doctors,
    resume_arguments,
    run_arguments,
    serving,
    shown,
)
from tests.runs.synthetic import setting_of
from tests.server import Reply, Request

ALL_SIGNED = {"exam_precision", "exam_recall", "exam_f1", "turns", "repeat_rate", "exact"}


def doctor(request: Request) -> Reply:
    """Asks once, then concludes; answers at once where everything is shown."""
    first = request.messages[0]["content"]
    if "### Answer:" in first:
        return Reply(content="### Reasoning:\n<step 1> a\n\n### Answer:\nHashimoto thyroiditis")
    return Reply(content=asks("TSH") if len(request.messages) == 1 else concludes("Hashimoto thyroiditis"))


def options(**changes: Any) -> dict[str, Any]:
    return {**DEFAULTS, "setting": ["free_turn"], **{name.replace("_", "-"): value for name, value in changes.items()}}


# --- what the doctor sees


def test_three_settings_in_one_run_are_reported_apart(cli: Command, tmp_path: Path) -> None:
    settings = ["--setting", "one_turn", "--setting", "free_turn", "--examiner", "records"]
    with serving(doctor) as server:
        ran = cli(*run_arguments(server, tmp_path / "run", *settings, "--json", setting="oracle"))
        prompts = [messages[0]["content"] for messages in doctors(server) if len(messages) == 1]
    assert ran.code == 0, ran.err
    assert ran.json["statuses"] == {"concluded": 9}
    assert [found["setting"] for found in ran.json["settings"]] == ["oracle", "one_turn", "free_turn"]
    records = [case.record for case in BENCHMARK.load(DATA, {"setting": ["oracle"]}).cases]
    for record in records:
        seen = [prompt for prompt in prompts if record["history"] in prompt]
        assert len(seen) == 3
        assert sum(record["summary"] in prompt for prompt in seen) == 1
        for entry in record["ancillary"]:
            assert sum(entry["finding"] in prompt for prompt in seen) == 1  # the oracle's alone


def test_the_doctor_s_case_is_told_as_it_saw_it(cli: Command, tmp_path: Path) -> None:
    with serving(doctor) as server:
        settings = ["--setting", "free_turn", "--examiner", "records", "--case", THYROID]
        cli(*run_arguments(server, tmp_path / "run", *settings, setting="oracle"))
    oracle, free = (dict(shown(cli, tmp_path / "run", setting=name)["text"]) for name in ("oracle", "free_turn"))
    assert "48.6 mIU/L" in oracle["case as the doctor saw it"]
    assert "48.6 mIU/L" not in free["case as the doctor saw it"]
    assert "48.6 mIU/L" in free["turn 1, examiner (1 entries of the record learned)"]


# --- combinations


def test_treatment_goes_apart(cli: Command, tmp_path: Path) -> None:
    with serving(doctor) as server:
        refused = cli(*run_arguments(server, tmp_path / "run", "--setting", "treatment", setting="oracle"))
        alone = cli(*run_arguments(server, tmp_path / "other", "--json", setting="treatment"))
    assert (refused.code, alone.code) == (2, 0)
    assert refused.sentence.endswith("--setting treatment has cases of its own; run it apart from the others")
    assert not (tmp_path / "run").exists()
    assert alone.json["statuses"] == {"concluded": 2}
    assert set(setting_of(alone.json, "treatment")["metrics"]) == {"exact"}


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--setting", "free"], "'free' is not one of"),
        (["--setting", "free_turn", "--examiner", "records", "--max-turns", "0"], "--max-turns 0"),
        (["--setting", "oracle", "--max-turns", "-1"], "--max-turns -1"),
        (["--setting", "free_turn", "--examiner", "records", "--on-loop", "shout"], "'shout' is not one of"),
        (["--setting", "free_turn", "--examiner", "records", "--final-turn", "conclude"], "'conclude' is not one of"),
        (["--setting", "free_turn", "--examiner", "Records"], "'Records' is no model name"),
        (["--setting", "free_turn"], "--examiner is missing"),
        (["--setting", "oracle", "--setting", "one_turn"], "--examiner is missing"),
        (["--examiner", "records"], "--setting is missing"),
    ],
)
def test_what_cannot_be_run_is_one_sentence(cli: Command, tmp_path: Path, arguments: list[str], part: str) -> None:
    with serving(doctor) as server:
        ran = cli("run", "medrbench", "--model", server.spec, "--data", DATA, "--out", tmp_path / "run", *arguments)
        calls = server.chat_count
    assert ran.code == 2
    assert part in ran.sentence
    assert (calls, (tmp_path / "run").exists()) == (0, False)


def test_without_examinations_no_examiner_is_needed(cli: Command, tmp_path: Path) -> None:
    with serving(doctor) as server:
        assert cli(*run_arguments(server, tmp_path / "run", "--limit", 1, setting="oracle")).code == 0


def test_an_examiner_that_is_no_server_ends_the_run_before_it_begins(cli: Command, tmp_path: Path) -> None:
    with serving(doctor) as server:
        ran = cli(*run_arguments(server, tmp_path / "run", "--examiner", "http://127.0.0.1:9/v1#nobody"))
        calls = server.chat_count
    assert (ran.code, calls, (tmp_path / "run").exists()) == (1, 0, False) or ran.code == 2
    assert "127.0.0.1:9" in ran.sentence


# --- rules and signatures


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("oracle", Rules(False, 1, "record", "none")),
        ("treatment", Rules(False, 1, "record", "none")),
        ("one_turn", Rules(True, 2, "record", "conclude")),
        ("free_turn", Rules(True, 7, "stop", "ask")),
    ],
)
def test_the_policies_hold_where_there_is_a_dialogue(setting: str, expected: Rules) -> None:
    assert rules_of(setting, options(max_turns=7, on_loop="stop", final_turn="ask")) == expected


def test_fewer_than_one_turn_are_refused() -> None:
    with pytest.raises(SpecError, match="--max-turns 0"):
        rules_of("free_turn", options(max_turns=0))


def signatures(setting: str, **changes: Any) -> dict[str, str]:
    found: tuple[Metric, ...] = BENCHMARK.metrics_in(setting, options(**changes))
    return {metric.name: metric.signature for metric in found}


def test_every_signature_of_an_examination_carries_the_policies() -> None:
    found = signatures("free_turn", max_turns=4, on_loop="nudge", final_turn="ask")
    assert set(found) >= ALL_SIGNED
    for signature in found.values():
        assert "|turns:4|on-loop:nudge|final-turn:ask|examiner:records|v:" in signature
    assert (
        "|turns:2|on-loop:record|final-turn:conclude|examiner:model|v:"
        in signatures("one_turn", max_turns=4, on_loop="nudge", examiner="http://x/v1#y")["exact"]
    )


@pytest.mark.parametrize(
    "changes", [{"max_turns": 4}, {"on_loop": "stop"}, {"final_turn": "none"}, {"examiner": "x:y"}]
)
def test_each_policy_makes_another_signature_in_free_turn_alone(changes: dict[str, Any]) -> None:
    for name, signature in signatures("free_turn", **changes).items():
        assert signature != signatures("free_turn")[name]
    assert signatures("oracle", **changes) == signatures("oracle") == {"exact": "exact|text:words|v:1"}


def test_a_run_is_not_continued_under_another_policy(cli: Command, tmp_path: Path) -> None:
    with serving(doctor) as server:
        cli(*run_arguments(server, tmp_path / "run", "--examiner", "records", "--case", THYROID))
        for given in (["--max-turns", 4], ["--on-loop", "stop"], ["--final-turn", "none"]):
            ran = cli(*resume_arguments(tmp_path / "run", *given))
            assert (ran.code, "cannot be continued with other settings" in ran.sentence) == (2, True)


def test_the_run_s_settings_and_prompts_are_stored(cli: Command, tmp_path: Path) -> None:
    with serving(doctor) as server:
        ran = cli(*run_arguments(server, tmp_path / "run", "--examiner", "records", "--on-loop", "nudge", "--json"))
    spec = ran.json["spec"]
    assert spec["options"] == {"setting": ["free_turn"], "examiner": "records", "max-turns": 5, "on-loop": "nudge",
                               "final-turn": "warn", "loop-check": "names", "loop-judge": None}  # fmt: skip
    assert set(spec["prompts"]) == {"doctor.free_turn.v1", "reask.v1", "results.v1", "results.last.v1", "nudge.v1"}
    assert spec["others"] == {}
    json.dumps(ran.json)
