"""Logs of Inspect: their form here, and read by Inspect itself where an environment with it is given."""

from __future__ import annotations

import json
import math
import os
import subprocess
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.exports.runs import KEY, MEGABYTE, demo, hostile, judged, lines, unfinished
from tests.runs.synthetic import IDS

#: Prints what Inspect sees of each log in a folder, as one JSON document.
READER = """
import json, math, sys
from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries
found = {}
for info in list_eval_logs(sys.argv[1]):
    log, head = read_eval_log(info.name), read_eval_log(info.name, header_only=True)
    found[log.eval.task] = {
        "status": log.status,
        "listed": [[one.id, one.epoch] for one in read_eval_log_sample_summaries(info.name)],
        "samples": {f"{one.id}/{one.epoch}": {
            "scores": {name: "unscored: " + score.reason if math.isnan(score.as_float()) else score.as_float()
                       for name, score in one.scores.items()},
            "roles": [message.role for message in one.messages],
            "completion": len(one.output.completion),
            "target": one.target,
            "error": one.error.message if one.error else None,
            "events": sum(event.event == "model" for event in one.events),
            "tokens": {name: usage.total_tokens for name, usage in one.model_usage.items()},
        } for one in log.samples},
        "results": {one.name: [one.scored_samples, one.unscored_samples,
                               one.metrics["mean"].value if "mean" in one.metrics else None]
                    for one in head.results.scores},
    }
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def judged_run(cli: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged(cli, tmp_path_factory.mktemp("judged") / "run")


def exported(cli: Command, run: Path, *more: object) -> dict[str, dict[str, Any]]:
    """Task -> its log, of all logs in the folder."""
    ran = cli("export", run, "--to", "inspect", "--out", run.parent / "logs", *more)
    assert ran.code == 0, ran.err
    return {log["eval"]["task"]: log for log in map(opened, (run.parent / "logs").glob("*.eval"))}


def opened(file: Path) -> dict[str, Any]:
    """A log with its samples in the order in which they are listed."""
    with zipfile.ZipFile(file) as archive:
        log: dict[str, Any] = json.loads(archive.read("header.json"))
        listed = json.loads(archive.read("summaries.json"))
        names = [f"samples/{one['id']}_epoch_{one['epoch']}.json" for one in listed]
        return log | {"listed": listed, "samples": [json.loads(archive.read(name)) for name in names]}


def inspect_python() -> str:
    """A Python that has inspect-ai; skips where none is named."""
    python = os.environ.get("MEDJUDGE_INSPECT_PYTHON")
    if not python:
        pytest.skip("set MEDJUDGE_INSPECT_PYTHON to a Python that has inspect-ai, in an environment of its own")
    return python


def read_by_inspect(folder: Path) -> dict[str, Any]:
    """What Inspect reads; skips where no environment with it is named."""
    python = inspect_python()
    home = {"HOME": str(folder.parent), "XDG_DATA_HOME": str(folder.parent)}
    done = subprocess.run([python, "-c", READER, str(folder)], cwd=folder.parent, env=os.environ | home,
                          capture_output=True, text=True, timeout=120, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_one_log_for_each_setting_with_every_unit_as_a_sample(cli: Command, tmp_path: Path) -> None:
    logs = exported(cli, demo(cli, tmp_path / "run"))
    assert set(logs) == {"caremedeval/none", "caremedeval/full"}
    for log in logs.values():
        assert (log["version"], log["status"]) == (2, "success")
        assert [(sample["id"], sample["epoch"]) for sample in log["samples"]] == [(IDS[n], 1) for n in range(1, 9)]


def test_what_has_no_score_has_none_and_says_why(cli: Command, tmp_path: Path) -> None:
    log = exported(cli, demo(cli, tmp_path / "run"))["caremedeval/none"]
    samples = {sample["id"]: sample for sample in log["samples"]}
    score = samples[IDS[2]]["scores"]["emr"]
    assert math.isnan(score["value"])
    assert score["reason"] == score["metadata"]["unscored_reason"] == "truncated"
    assert samples[IDS[2]]["output"]["choices"][0]["stop_reason"] == "max_tokens"
    assert samples[IDS[7]]["scores"]["emr"]["value"] == 1.0
    assert samples[IDS[7]]["scores"]["emr"]["answer"] == samples[IDS[7]]["target"] == "A, C, D"
    (emr,) = [one for one in log["results"]["scores"] if one["name"] == "emr"]
    assert (emr["scored_samples"], emr["unscored_samples"]) == (6, 2)
    # exact: 7 and 8 of the six that are scored, see fixtures/README.md
    assert emr["metrics"]["mean"]["value"] == pytest.approx(2 / 6)
    assert emr["metrics"]["bound_low"]["value"] == pytest.approx(2 / 8)


def test_thinking_stands_apart_from_the_answer(cli: Command, tmp_path: Path) -> None:
    log = exported(cli, demo(cli, tmp_path / "run"))["caremedeval/full"]
    sample = next(sample for sample in log["samples"] if sample["id"] == IDS[3])
    parts = sample["output"]["choices"][0]["message"]["content"]
    assert [part["type"] for part in parts] == ["reasoning", "text"]
    assert [message["role"] for message in sample["input"]] == ["user"]


def test_every_judge_s_scores_have_a_name_of_their_own(cli: Command, judged_run: Path) -> None:
    run = judged_run
    (log,) = exported(cli, run, "--force").values()
    names = {one["name"] for one in log["results"]["scores"]}
    assert {"exact", "efficiency@one", "efficiency@two"} <= names
    for judge in ("one", "two"):
        report = cli("show", run, "--judge", judge, "--json").json["settings"][0]["metrics"]
        (found,) = [one for one in log["results"]["scores"] if one["name"] == f"efficiency@{judge}"]
        assert found["metrics"]["mean"]["value"] == report["efficiency"]["mean"]
        assert found["unscored_samples"] == report["efficiency"]["n_unscored"]
    assert "judge, steps" in " ".join(log["samples"][0]["metadata"]["judgements"]["one"])


def test_a_run_that_is_not_finished_is_a_cancelled_log(cli: Command, tmp_path: Path) -> None:
    (log,) = exported(cli, unfinished(cli, tmp_path / "run")).values()
    assert log["status"] == "cancelled"
    assert (log["results"]["total_samples"], log["results"]["completed_samples"]) == (8, 3)
    open_ = [sample for sample in log["samples"] if sample["metadata"]["status"] == "pending"]
    assert len(open_) == 5
    assert all(sample["scores"]["emr"]["reason"] == "not_run" for sample in open_)
    assert all(sample["output"] == {} for sample in open_)
    assert [one["id"] for one in log["listed"] if not one["completed"]] == [sample["id"] for sample in open_]


def test_a_metric_without_a_mean_stands_in_the_same_table_as_the_others(cli: Command, judged_run: Path) -> None:
    (log,) = exported(cli, judged_run, "--force").values()
    metrics = {one["name"]: one["metrics"] for one in log["results"]["scores"]}
    assert len({tuple(of) for of in metrics.values()}) == 1
    report = cli("show", judged_run, "--judge", "two", "--json").json["settings"][0]["metrics"]
    without = [name for name, metric in report.items() if metric["interval"] is None]
    assert without
    assert all(math.isnan(metrics.get(name, metrics.get(f"{name}@two"))["ci95_low"]["value"]) for name in without)


def test_every_call_is_an_event_of_its_sample(cli: Command, judged_run: Path) -> None:
    (log,) = exported(cli, judged_run, "--force").values()
    (sample,) = [sample for sample in log["samples"] if sample["id"] == "SYN0000001"]
    assert [one["name"] for one in sample["events"] if one["event"] == "span_begin"] == ["judge:one", "judge:two"]
    calls = [one for one in sample["events"] if one["event"] == "model"]
    spans = {one["id"]: one["name"] for one in sample["events"] if one["event"] == "span_begin"}
    assert all(spans[one["span_id"]] == one["role"] for one in calls)
    asked = sum(address.startswith("medrbench/oracle/SYN0000001/1/") for address in addresses(cli, judged_run))
    assert len(calls) == asked > 2
    said = calls[0]["output"]["choices"][0]["message"]["tool_calls"][0]["arguments"]
    assert "rationale" in json.dumps(said)


def addresses(cli: Command, run: Path) -> list[str]:
    ran = cli("export", run, "--to", "jsonl", "--out", run.parent / "jsonl", "--force")
    assert ran.code == 0, ran.err
    return [row["address"] for row in lines(run.parent / "jsonl/exchanges.jsonl")]


def test_a_log_names_its_own_setting_and_when_it_was_played(cli: Command, tmp_path: Path) -> None:
    for task, log in exported(cli, demo(cli, tmp_path / "run")).items():
        assert f"caremedeval/{log['eval']['task_args']['setting']}" == task
        begun, ended = (datetime.fromisoformat(log["stats"][name]) for name in ("started_at", "completed_at"))
        assert begun <= ended
        for sample in log["samples"]:
            assert begun <= datetime.fromisoformat(sample["completed_at"]) <= ended
            assert sample["total_time"] >= sample["working_time"] >= 0


def test_a_model_s_words_are_not_rendered(cli: Command, tmp_path: Path) -> None:
    for log in exported(cli, demo(cli, tmp_path / "run")).values():
        assert log["eval"]["viewer"] == {"trust_content": False}


@pytest.mark.inspect
def test_inspect_reads_the_demo_as_it_was_reported(cli: Command, tmp_path: Path) -> None:
    run = demo(cli, tmp_path / "run")
    exported(cli, run)
    found = read_by_inspect(tmp_path / "logs")
    report = cli("score", run, "--json").json
    for setting in report["settings"]:
        log = found[f"caremedeval/{setting['setting']}"]
        assert sorted(log["listed"]) == sorted([IDS[n], 1] for n in range(1, 9))
        for name, metric in setting["metrics"].items():
            assert log["results"][name] == [metric["n_scored"], metric["n_unscored"], metric["mean"]]
    none = found["caremedeval/none"]["samples"]
    assert none[f"{IDS[2]}/1"]["scores"]["emr"] == "unscored: truncated"
    assert none[f"{IDS[7]}/1"]["scores"]["emr"] == 1.0
    assert none[f"{IDS[7]}/1"]["target"] == "A, C, D"


@pytest.mark.inspect
def test_inspect_reads_epochs_and_hostile_texts(cli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDJUDGE_API_KEY", KEY)
    exported(cli, hostile(cli, tmp_path / "run"))
    (log,) = read_by_inspect(tmp_path / "logs").values()
    assert sorted(log["listed"]) == sorted([IDS[n], epoch] for n in range(1, 6) for epoch in (1, 2))
    assert log["samples"][f"{IDS[4]}/2"]["completion"] > len(MEGABYTE)
    assert all(sample["roles"] == ["user", "assistant"] for sample in log["samples"].values())


@pytest.mark.inspect
def test_inspect_reads_judges_and_runs_that_are_not_finished(cli: Command, judged_run: Path, tmp_path: Path) -> None:
    exported(cli, judged_run, "--force")
    (log,) = read_by_inspect(judged_run.parent / "logs").values()
    assert len(log["listed"]) == 3
    assert log["samples"]["SYN0000001/1"]["events"] > 2
    assert log["samples"]["SYN0000001/1"]["scores"]["efficiency@one"] == 1.0
    assert log["samples"]["SYN0000001/1"]["scores"]["efficiency@two"] == "unscored: judge_invalid"
    exported(cli, unfinished(cli, tmp_path / "cut/run"))
    (log,) = read_by_inspect(tmp_path / "cut/logs").values()
    assert (log["status"], len(log["listed"])) == ("cancelled", 8)
