"""The demo's recordings replay without a model and end as fixtures/README.md says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.medrbench.examinations import DATA, DOCTOR, ENDOCARDITIS, EXAMINER, PURPURA, THYROID, serving
from tests.record_demo import medrbench, read_json
from tests.runs.synthetic import means, setting_of
from tests.server import Reply, Request

#: (setting, case) -> status and number of turns.
EXPECTED = {
    ("oracle", THYROID): ("concluded", 1),
    ("oracle", PURPURA): ("concluded", 1),
    ("oracle", ENDOCARDITIS): ("concluded", 1),
    ("one_turn", THYROID): ("concluded", 2),
    ("one_turn", PURPURA): ("truncated", 2),
    ("one_turn", ENDOCARDITIS): ("concluded", 1),
    ("free_turn", THYROID): ("concluded", 2),
    ("free_turn", PURPURA): ("concluded", 4),
    ("free_turn", ENDOCARDITIS): ("max_turns", 5),
}
SETTINGS = ["--setting", "oracle", "--setting", "one_turn", "--setting", "free_turn"]


@pytest.fixture(scope="module")
def run(cli: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo as `make demo` replays it; the recording says which examiner it was."""
    folder = tmp_path_factory.mktemp("demo") / "run"
    ran = cli("run", "medrbench", "--model", f"replay:{DATA / 'demo.recording.jsonl'}", "--data", DATA, *SETTINGS,
              "--out", folder)  # fmt: skip
    assert ran.code == 0, ran.err
    return folder


@pytest.fixture(scope="module")
def entries(cli: Command, run: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """(setting, case) -> what `medjudge show` tells of it."""
    found = [entry for case in (THYROID, PURPURA, ENDOCARDITIS) for entry in cli("show", run, case, "--json").json]
    return {(entry["transcript"]["setting"], entry["unit"].split("/")[2]): entry for entry in found}


def test_every_case_ends_as_promised(entries: dict[tuple[str, str], dict[str, Any]]) -> None:
    found = {unit: (entry["status"], len(entry["transcript"]["turns"])) for unit, entry in entries.items()}
    assert found == EXPECTED


def test_every_exchange_of_the_recording_is_used(entries: dict[tuple[str, str], dict[str, Any]]) -> None:
    lines = (DATA / "demo.recording.jsonl").read_text(encoding="utf-8").splitlines()[1:]
    recorded = {json.loads(line)["address"] for line in lines}
    assert {exchange["address"] for entry in entries.values() for exchange in entry["exchanges"]} == recorded


def test_the_doctor_that_loops(entries: dict[tuple[str, str], dict[str, Any]]) -> None:
    transcript = entries["free_turn", PURPURA]["transcript"]
    assert transcript["first_looping_turn"] == 2
    assert [sum(turn["repeats"]) for turn in transcript["turns"]] == [0, 3, 1, 0]
    scores = entries["free_turn", PURPURA]["scores"]
    assert (scores["requests"], scores["distinct_requests"], scores["repeat_rate"]) == (11, 7, 4 / 11)
    assert set(entries["free_turn", PURPURA]["flags"]) == {"looped", "examiner_invented_numbers"}
    assert transcript["turns"][1]["flag_details"] == ["not in the record: 1,480 U/L"]


def test_the_doctor_that_never_concludes(entries: dict[tuple[str, str], dict[str, Any]]) -> None:
    entry = entries["free_turn", ENDOCARDITIS]
    assert set(entry["flags"]) == {"re_asked", "provisional_answer", "examiner_named_diagnosis"}
    assert (entry["scores"]["requests"], entry["scores"]["repeat_rate"]) == (11, 0)
    assert entry["transcript"]["turns"][2]["requests"] == ["CT of the head"]
    assert [len(turn.get("unavailable", ())) for turn in entry["transcript"]["turns"]] == [0, 2, 0, 0, 0]
    assert entry["transcript"]["turns"][3]["flags"] == ["examiner_named_diagnosis"]


def test_a_draft_in_the_thinking_is_not_read(entries: dict[tuple[str, str], dict[str, Any]]) -> None:
    first = entries["free_turn", THYROID]["transcript"]["turns"][0]
    assert len(first["requests"]) == 4
    assert "Not required." in first["thinking"]
    assert entries["oracle", PURPURA]["transcript"]["answer"] == "Atypical hemolytic uremic syndrome"


def test_asking_for_nothing_is_flagged(entries: dict[tuple[str, str], dict[str, Any]]) -> None:
    assert entries["one_turn", ENDOCARDITIS]["flags"] == ["asked_nothing"]


def test_scores_by_hand(cli: Command, run: Path) -> None:
    report = cli("score", run, "--json").json
    assert report["state"] == "complete"
    # "Hashimoto thyroiditis" is the one answer in the reference's words
    assert means(report, "oracle")["exact"] == pytest.approx(1 / 3)
    assert means(report, "free_turn")["exact"] == pytest.approx(1 / 3)
    assert setting_of(report, "one_turn")["metrics"]["exact"]["n_scored"] == 2
    assert means(report, "free_turn")["turns"] == pytest.approx((2 + 4 + 5) / 3)
    assert means(report, "free_turn")["repeat_rate"] == pytest.approx(4 / 11 / 3)


def test_the_treatment_recording(cli: Command, tmp_path: Path) -> None:
    ran = cli("run", "medrbench", "--model", f"replay:{DATA / 'treatment.recording.jsonl'}", "--data", DATA,
              "--setting", "treatment", "--out", tmp_path / "run", "--json")  # fmt: skip
    assert ran.code == 0, ran.err
    assert ran.json["statuses"] == {"concluded": 2}
    assert setting_of(ran.json, "treatment")["flags"] == {"re_asked": 1}


# --- other policies, with the replies of the demo


@pytest.mark.parametrize(
    ("policy", "statuses", "purpura_turns"),
    [
        (["--on-loop", "stop"], {"concluded": 1, "loop_stopped": 1, "max_turns": 1}, 2),
        (["--on-loop", "nudge"], {"concluded": 2, "max_turns": 1}, 4),
        (["--final-turn", "ask"], {"concluded": 3}, 4),
        (["--final-turn", "none"], {"concluded": 2, "max_turns": 1}, 4),
    ],
)
def test_other_policies_end_as_promised(
    cli: Command, tmp_path: Path, policy: list[str], statuses: dict[str, int], purpura_turns: int
) -> None:
    script = medrbench(["oracle", "one_turn", "free_turn"])

    def named(request: Request) -> Reply:
        model = {DOCTOR: "synthetic-doctor", EXAMINER: "synthetic-examiner"}[request.body["model"]]
        return script(Request({**request.body, "model": model}, request.headers, request.n, request.seen))

    with serving(named) as server:
        ran = cli("run", "medrbench", "--model", f"{server.url}#{DOCTOR}", "--data", DATA, "--setting", "free_turn",
                  "--examiner", f"{server.url}#{EXAMINER}", *policy, "--out", tmp_path / "run", "--json")  # fmt: skip
    assert ran.code == 0, ran.err
    assert ran.json["statuses"] == statuses
    entry = cli("show", tmp_path / "run", PURPURA, "--json").json[0]
    assert len(entry["transcript"]["turns"]) == purpura_turns


def test_replies_are_synthetic_and_all_used_by_some_policy() -> None:
    replies = read_json(DATA / "replies.json")
    used = {(setting, case): turns for (setting, case), (_, turns) in EXPECTED.items()}
    for (setting, case), turns in used.items():
        unreadable = 1 if (setting, case) == ("free_turn", ENDOCARDITIS) else 0
        conclusion = 1 if (setting, case) == ("free_turn", ENDOCARDITIS) else 0  # only with --final-turn ask
        assert len(replies[setting][case]) == turns + unreadable + conclusion


def test_the_judge_of_the_demo_leaves_one_answer_unscored_and_says_so(cli: Command, run: Path, tmp_path: Path) -> None:
    ran = cli("judge", run, "--judge", f"replay:{DATA / 'judge.recording.jsonl'}", "--judge-protocol", "batched",
              "--json")  # fmt: skip
    assert ran.code == 0, ran.err
    judged = {setting["setting"]: setting["metrics"] for setting in ran.json["settings"]}
    assert judged["oracle"]["accuracy"]["unscored"] == {"judge_truncated": 1}
    # of the other two, Hashimoto thyroiditis is right and atypical hemolytic uremic syndrome is not
    assert judged["oracle"]["accuracy"]["mean"] == 1 / 2
    # 5 of the 6 steps of the first case are effective, the last repeats; all 5 of the second, and of the third
    assert judged["oracle"]["efficiency"]["mean"] == pytest.approx((5 / 6 + 5 / 5 + 5 / 5) / 3)
    # the second case's last two steps are wrong
    assert judged["oracle"]["factuality"]["mean"] == pytest.approx((5 / 5 + 3 / 5 + 5 / 5) / 3)
    assert judged["one_turn"]["accuracy"]["unscored"] == {"truncated": 1}
    assert any("judge_truncated" in warning for warning in ran.json["warnings"])
    recorded = (DATA / "judge.recording.jsonl").read_text(encoding="utf-8").splitlines()[1:]
    (tokens,) = [row for row in ran.json["tokens"] if row["role"] == "judge:synthetic-judge"]
    assert (tokens["calls"], tokens["source"]) == (len(recorded), "replay")


def numbers(metric: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in metric.items() if name != "signature"}


def test_a_panel_of_judges_with_the_same_labels_of_examinations_has_their_numbers(cli: Command, run: Path) -> None:
    """Also where nothing was asked for, which is precision 0, and by turn: labels alone tell neither."""
    judges = {"synthetic-judge": "judge", "synthetic-strict-judge": "strict-judge"}
    for file in judges.values():
        ran = cli("judge", run, "--judge", f"replay:{DATA / f'{file}.recording.jsonl'}", "--judge-protocol", "batched")
        assert ran.code == 0, ran.err
    ran = cli("panel", run, "--judges", ",".join(judges), "--rule", "unanimous", "--name", "jury", "--json")
    assert ran.code == 0, ran.err
    alone = cli("score", run, "--judge", "synthetic-judge", "--json").json
    for ours, theirs in zip(ran.json["settings"], alone["settings"], strict=True):
        exams = [name for name in theirs["metrics"] if name.startswith("exam_") and name.endswith("_judged")]
        for name in exams:
            assert numbers(ours["metrics"][name]) == numbers(theirs["metrics"][name])
    assert ran.json["settings"][1]["metrics"]["exam_precision_judged"]["mean"] == pytest.approx((4 / 5 + 0) / 2)
