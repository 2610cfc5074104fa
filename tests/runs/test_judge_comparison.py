"""Several judges of one run side by side, and what may not be set side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CHECKOUT, Command
from tests.data import real_data

DATA = CHECKOUT / "fixtures/medrbench"
CASES = ("SYN0000001", "SYN0000002")


def record(case: str, hits: dict[str, bool]) -> dict[str, Any]:
    steps = [{"step": "One step.", "efficiency": "Reasoning", "factulity": True, "judgment_path": []}]
    reference = [{"step": text, "hit": hit} for text, hit in hits.items()]
    return {"case_id": case, "model": "m", "judge": "j", "steps": steps, "gt_steps": reference}


def labelled(cli: Command, run: Path, name: str, records: list[dict[str, Any]]) -> None:
    file = run.parent / f"{name}.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    new = [] if (run / "run.sqlite").exists() else ["--benchmark", "medrbench", "--data", DATA, "--setting", "oracle"]
    ran = cli("import-judgements", run, "--labels", file, "--judge-name", name, *new)
    assert ran.code == 0, ran.err


@pytest.fixture
def run(cli: Command, tmp_path: Path) -> Path:
    """Judges a and b had the same reference steps, judge c others for the second case."""
    run = tmp_path / "run"
    both = {"It is an infection.": True, "It is  in the valve.": False}
    labelled(cli, run, "a", [record(case, both) for case in CASES])
    labelled(
        cli, run, "b", [record(case, {"It is an infection.": True, "It is in the valve.": True}) for case in CASES]
    )
    labelled(cli, run, "c", [record(CASES[0], both), record(CASES[1], {"It is an infection of the valve.": True})])
    return run


def row(comparison: dict[str, Any], metric: str) -> dict[str, Any]:
    found = next(row for row in comparison["settings"][0]["metrics"] if row["metric"] == metric)
    return {judge: of and of["mean"] for judge, of in found["by_judge"].items()}


def test_judges_of_the_same_reference_steps_stand_side_by_side(cli: Command, run: Path) -> None:
    ran = cli("score", run, "--judge", "a", "--judge", "b", "--json")
    assert row(ran.json, "completeness") == {"a": 0.5, "b": 1.0}
    assert row(ran.json, "efficiency") == {"a": 1.0, "b": 1.0}
    assert ran.json["not_comparable"] == []


def test_completeness_over_other_reference_steps_is_refused_unless_forced(cli: Command, run: Path) -> None:
    ran = cli("score", run, "--judge", "a", "--judge", "c", "--json")
    assert row(ran.json, "completeness") == {"a": None, "c": None}
    assert row(ran.json, "efficiency") == {"a": 1.0, "c": 1.0}
    said = "in 1 of 2 units that both judged they had other reference steps"
    assert said in ran.json["not_comparable"][0]["sentence"]
    printed = cli("score", run, "--judge", "a", "--judge", "c").out
    assert "not comparable" in printed
    assert said in " ".join(printed.split())
    forced = cli("score", run, "--judge", "a", "--judge", "c", "--force", "--json")
    assert row(forced.json, "completeness") == {"a": 0.5, "c": 0.75}
    assert forced.json["forced"]


def test_comparing_needs_judges_that_are_there(cli: Command, run: Path) -> None:
    assert "has no judgements by 'nobody'" in cli("score", run, "--judge", "a", "--judge", "nobody").sentence
    assert "name at least two" in cli("score", run, "--judge", "a", "--force").sentence


@pytest.mark.data
def test_two_published_judges_had_other_reference_steps_in_every_case(cli: Command, tmp_path: Path) -> None:
    data, run = real_data("medrbench"), tmp_path / "run"
    names = {
        "qwen": "reasoning_gemini2-ft_qwen2.5-7b_35.jsonl",
        "gpt": "reasoning_gemini2-ft_gpt-4o-websearch_34.jsonl",
    }
    for name, file in names.items():
        new = [] if run.exists() else ["--benchmark", "medrbench", "--data", data, "--setting", "oracle"]
        ran = cli("import-judgements", run, "--labels", data / "judged" / file, "--judge-name", name, *new)
        assert ran.code == 0, ran.err
    ran = cli("score", run, "--judge", "qwen", "--judge", "gpt", "--json")
    (refused,) = ran.json["not_comparable"]
    assert refused["metric"] == "completeness"
    assert "in 34 of 34 units that both judged they had other reference steps" in refused["sentence"]
