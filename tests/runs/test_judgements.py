"""Another judge's labels, brought into a run through the command line."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.conftest import CHECKOUT, Command
from tests.data import real_data

FIXTURES = CHECKOUT / "fixtures"

CASES = ("SYN0000001", "SYN0000002", "SYN0000003")


def record(case: str, steps: list[tuple[str, bool | None]], hits: list[bool]) -> dict[str, Any]:
    """One record in the published judged layout."""
    return {
        "case_id": case,
        "model": "m",
        "judge": "j",
        "steps": [
            {"step": f"step {n}", "efficiency": label, "factulity": correct, "judgment_path": []}
            for n, (label, correct) in enumerate(steps)
        ],
        "gt_steps": [{"step": f"reference {n}", "hit": hit} for n, hit in enumerate(hits)],
        "efficiency": 0.0,
        "factulity": 0.0,
        "recall": 0.0,
    }


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    """Three cases by hand: efficiency 2/4, 1/1, 0/2; factuality 1/2, 1/1, 0/0 -> 0; completeness 1/2, 3/4, 0/1."""
    records = [
        record(
            CASES[0],
            [("Reasoning", True), ("Reasoning", False), ("Citation", None), ("Repetition", None)],
            [True, False],
        ),
        record(CASES[1], [("reasoning.", True)], [True, True, True, False]),
        record(CASES[2], [("Redundancy", None), ("Citation", None)], [False]),
    ]
    file = tmp_path / "labels.jsonl"
    file.write_text("".join(json.dumps(entry) + "\n" for entry in records), encoding="utf-8")
    return file


def steps_only(cli: Command, labels: Path, out: Path, *more: str) -> Any:
    return cli("import-judgements", out, "--labels", labels, "--judge-name", "qwen", "--benchmark", "medrbench",
               "--data", FIXTURES / "medrbench", "--setting", "oracle", "--json", *more)  # fmt: skip


def means(report: dict[str, Any]) -> dict[str, Any]:
    return {name: metric["mean"] for name, metric in report["settings"][0]["metrics"].items()}


def test_labels_alone_make_a_run_with_the_means_worked_out_by_hand(cli: Command, labels: Path, tmp_path: Path) -> None:
    ran = steps_only(cli, labels, tmp_path / "run")
    assert ran.code == 0, ran.err
    found = means(json.loads(ran.out))
    assert found["efficiency"] == pytest.approx((2 / 4 + 1 + 0) / 3)
    assert found["factuality"] == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert found["completeness"] == pytest.approx((1 / 2 + 3 / 4 + 0) / 3)
    assert found["exact"] is None
    assert found["accuracy"] is None


def test_scores_by_a_judge_are_recomputed_from_what_is_stored(cli: Command, labels: Path, tmp_path: Path) -> None:
    first = json.loads(steps_only(cli, labels, tmp_path / "run").out)
    labels.unlink()
    again = cli("score", tmp_path / "run", "--judge", "qwen", "--json")
    assert json.loads(again.out)["settings"] == first["settings"]
    without = json.loads(cli("score", tmp_path / "run", "--json").out)
    assert "efficiency" not in without["settings"][0]["metrics"]
    assert without["judges"] == ["qwen"]


def test_judgements_are_added_and_never_overwritten(cli: Command, labels: Path, tmp_path: Path) -> None:
    steps_only(cli, labels, tmp_path / "run")
    again = cli("import-judgements", tmp_path / "run", "--labels", labels, "--judge-name", "qwen")
    assert again.code == 2
    assert "has judgements by 'qwen' already" in again.err
    other = cli("import-judgements", tmp_path / "run", "--labels", labels, "--judge-name", "second", "--json")
    assert json.loads(other.out)["judges"] == ["qwen", "second"]


def test_an_unknown_judge_or_label_or_case_is_one_sentence(cli: Command, labels: Path, tmp_path: Path) -> None:
    steps_only(cli, labels, tmp_path / "run")
    unknown = cli("score", tmp_path / "run", "--judge", "nobody")
    assert (unknown.code, "there are: qwen" in unknown.err) == (2, True)
    text = labels.read_text(encoding="utf-8")
    labels.write_text(text.replace("Redundancy", "Sensible"), encoding="utf-8")
    bad = steps_only(cli, labels, tmp_path / "other")
    assert (bad.code, (tmp_path / "other").exists()) == (2, False)
    assert CASES[2] in bad.err
    labels.write_text(text.replace(CASES[0], "PMC1"), encoding="utf-8")
    strange = steps_only(cli, labels, tmp_path / "other")
    assert (strange.code, (tmp_path / "other").exists()) == (2, False)
    assert "PMC1" in strange.err


@pytest.mark.data
@pytest.mark.parametrize(
    "name", ["reasoning_gemini2-ft_gpt-4o-websearch_34.jsonl", "reasoning_gemini2-ft_qwen2.5-7b_35.jsonl"]
)
def test_published_labels_alone_give_the_stored_values(cli: Command, tmp_path: Path, name: str) -> None:
    data = real_data("medrbench")
    ran = cli("import-judgements", tmp_path / "run", "--labels", data / "judged" / name, "--judge-name", "published",
              "--benchmark", "medrbench", "--data", data, "--setting", "oracle", "--json")  # fmt: skip
    assert means(json.loads(ran.out)).items() >= stored_means(data / "judged" / name).items()


@pytest.mark.data
def test_published_outputs_and_labels_give_the_stored_values(cli: Command, tmp_path: Path) -> None:
    data, out = real_data("medrbench"), tmp_path / "run"
    file = data / "judged" / "reasoning_deepseek-r1_qwen2.5-7b_957.jsonl"
    imported = cli("import", "medrbench", "--setting", "oracle", "--predictions", data / "oracle_diagnosis.json",
                   "--model-key", "deepseek-r1", "--data", data, "--out", out, "--json")  # fmt: skip
    assert imported.code == 0, imported.err
    ran = cli("import-judgements", out, "--labels", file, "--judge-name", "qwen2.5-7b", "--json")
    report = json.loads(ran.out)
    assert means(report).items() >= stored_means(file).items()
    assert report["judge"]["other_steps"] == 0, "the steps that were labelled are those that we read"


def stored_means(file: Path) -> dict[str, float]:
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
    keys = {"efficiency": "efficiency", "factuality": "factulity", "completeness": "recall"}
    return {name: fmean(entry[key] for entry in records) for name, key in keys.items()}
