"""Two published pairs of judges, through the command line; figures recomputed from the files with scikit-learn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score

from tests.conftest import Command
from tests.data import real_data

pytestmark = pytest.mark.data


def records(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]


def imported(cli: Command, data: Path, run: Path, file: Path, judge: str, *key: str) -> None:
    new = [] if run.exists() else ["--benchmark", "medrbench", "--data", data, "--setting", "oracle"]
    ran = cli("import-judgements", run, "--labels", file, "--judge-name", judge, *key, *new)
    assert ran.code == 0, ran.err


def test_two_judges_of_400_answers_agree_as_documented(cli: Command, tmp_path: Path) -> None:
    """Raw agreement 90.0 %, Cohen's kappa .71."""
    data, run = real_data("medrbench"), tmp_path / "run"
    file = data / "judged/accuracy_o3-mini_two_judges.jsonl"
    rows = records(file)
    first, second = rows[0]["labels"]
    for name in (first, second):
        imported(cli, data, run, file, name, "--judge-key", name)
    report = cli("sensitivity", run, "--json").json
    (entry,) = report["agreement"]
    found = {name: one["value"] for name, one in entry["pairs"][0]["estimates"].items()}
    said = [[row["labels"][name] for row in rows] for name in (first, second)]
    assert len(rows) == entry["pairs"][0]["estimates"]["raw_agreement"]["n_items"] == 400
    assert found["raw_agreement"] == pytest.approx(0.900, abs=5e-4)
    assert found["cohen_kappa"] == pytest.approx(cohen_kappa_score(*said))
    assert found["cohen_kappa"] == pytest.approx(0.71, abs=5e-3)
    (row,) = [row for row in report["differences"] if row["metric"] == "accuracy"]
    assert row["compared"]["means"] == [pytest.approx(sum(labels) / 400) for labels in said]
    assert row["flips"]["count"] == report["splits"]["n"] == sum(a != b for a, b in zip(*said, strict=True))
    printed = " ".join(cli("sensitivity", run).out.split())
    assert f"Among judges, {first} and {second} give the same label in 90.0 % (" in printed
    assert "of 400 labels of accuracy: AC1" in printed
    assert "Cohen's kappa 0.709 (" in printed


def test_of_34_outputs_judged_twice_the_steps_compare_and_the_reference_does_not(cli: Command, tmp_path: Path) -> None:
    data, run = real_data("medrbench"), tmp_path / "run"
    files = {
        "qwen": data / "judged/reasoning_gemini2-ft_qwen2.5-7b_35.jsonl",
        "gpt": data / "judged/reasoning_gemini2-ft_gpt-4o-websearch_34.jsonl",
    }
    for judge, file in files.items():
        imported(cli, data, run, file, judge)
    by_judge = {judge: {row["case_id"]: row["steps"] for row in records(file)} for judge, file in files.items()}
    both = [
        (a["efficiency"].strip(".").casefold(), b["efficiency"].strip(".").casefold())
        for case, steps in by_judge["gpt"].items()
        for a, b in zip(by_judge["qwen"][case], steps, strict=True)
        if " ".join(a["step"].split()) == " ".join(b["step"].split())
    ]
    report = cli("sensitivity", run, "--json").json
    kinds = {entry["kind"]: entry["pairs"][0]["estimates"] for entry in report["agreement"]}
    raw, kappa = (kinds["effectiveness"][name] for name in ("raw_agreement", "cohen_kappa"))
    assert raw["n_items"] == len(both) == 176
    assert raw["value"] == pytest.approx(sum(a == b for a, b in both) / len(both))
    assert raw["value"] == pytest.approx(0.926, abs=5e-4)
    assert kappa["value"] == pytest.approx(cohen_kappa_score(*zip(*both, strict=True)))
    for one in (raw, kappa, kinds["effectiveness"]["gwet_ac1"], kinds["effectiveness"]["krippendorff_alpha_nominal"]):
        assert one["interval"][0] < one["value"] < one["interval"][1]
    assert (kinds["match"]["raw_agreement"]["value"], kinds["match"]["raw_agreement"]["reason"]) == (None, "no_overlap")
    said = "in 34 of 34 units that both judged they had other reference steps"
    assert [said in sentence for sentence in report["not_comparable"]] == [True]
    (row,) = [row for row in report["differences"] if row["metric"] == "completeness"]
    assert (row["compared"], row["n_units"]) == (None, 34)
    refused = cli("panel", run, "--judges", "qwen,gpt", "--rule", "majority", "--name", "both")
    assert (refused.code, "other numbers of reference steps" in refused.sentence) == (2, True)
