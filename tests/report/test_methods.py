"""The paragraph for a paper says what was done and nothing else; the manifest holds every hash."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, get_args

import pytest

from graphs.medrbench import BENCHMARK
from judge.report.document import Document
from judge.report.methods import INTERVALS, flat, methods, policies
from judge.report.served import served_models
from judge.runs.store import open_run
from judge.stats.intervals import Method
from tests.conftest import CHECKOUT, Command
from tests.medrbench.examinations import DATA
from tests.report.runs import JUDGE


def hash_of(prompt: str) -> str:
    """SHA-256 of a prompt as it is asked: without the file's last line feed."""
    text = (CHECKOUT / f"prompts/medrbench/{prompt}.md").read_text(encoding="utf-8")
    return hashlib.sha256(text.removesuffix("\n").encode()).hexdigest()


def report(cli: Command, run: Path) -> dict[str, Any]:
    found: dict[str, Any] = cli("show", run, "--json").json
    return found


def test_it_states_model_benchmark_data_settings_and_generation(demo_document: Document) -> None:
    text = demo_document.facts["methods"][0]
    for part in (
        "synthetic-doctor",
        "MedR-Bench",
        "arXiv 2503.04691",
        "CC BY-SA",
        "the settings oracle, one_turn and free_turn",
        "the server's default temperature and the server's default reply length",
        "The examiner was http://127.0.0.1:8000/v1#synthetic-examiner.",
        "max-turns 5, on-loop record, loop-check names, final-turn warn",
        "free_turn: 3 cases, 3 units",
        "Of 9 units 1 came to none that can be scored (truncated 1).",
    ):
        assert part in text


def test_it_states_protocol_mode_evidence_reference_and_prompts_of_each_judge(demo_document: Document) -> None:
    text = demo_document.facts["methods"][1]
    for part in (
        f"{JUDGE} judged 9 units",
        "protocol batched",
        "structured output by TOOLS",
        "Nothing was looked up.",
        "reference steps are by rules.v1",
        "outcome.diagnosis.v1 (",
    ):
        assert part in text
    prompts = demo_document.facts["manifest"][f"judge {JUDGE}"]["spec"]["prompts"]
    assert prompts["outcome.diagnosis.v1"] == hash_of("outcome.diagnosis.v1")


def test_it_names_every_kind_of_interval_that_a_mean_can_have(demo_document: Document) -> None:
    assert set(INTERVALS) == set(get_args(Method)) - {""}
    assert all(words in demo_document.facts["methods"][-1] for words in INTERVALS.values())


@pytest.mark.parametrize(
    ("generation", "words"),
    [
        ({"temperature": 0.0}, "temperature 0 and the server's default reply length"),
        ({"temperature": 0.7, "max_tokens": 2048}, "temperature 0.7 and at most 2,048 tokens a reply"),
        ({"extra_body": {"top_p": 0.9}}, "and the further request fields {'top_p': 0.9}"),
    ],
)
def test_what_was_sent_is_stated_and_what_was_not_is_named_as_default(
    cli: Command, demo: Path, generation: dict[str, Any], words: str
) -> None:
    found = report(cli, demo)
    found["spec"]["generation"] |= generation
    assert f"It was asked with {words if 'temperature' in generation else ''}" in methods(BENCHMARK, found, [])[0]
    assert words in methods(BENCHMARK, found, [])[0]


def test_it_states_epochs_chosen_cases_and_replaced_prompts(cli: Command, demo: Path) -> None:
    found = report(cli, demo)
    found["spec"] |= {"epochs": 3, "cases": ["a"], "limit": 2, "replaced_prompts": ["doctor.oracle.v1"]}
    (text, _) = methods(BENCHMARK, found, [])
    assert "each case was asked 3 times" in text
    assert "Only chosen cases were used." in text
    assert "Only the first 2 cases were used." in text
    assert "The prompts doctor.oracle.v1 were replaced by the authors' own." in text


def test_outputs_made_elsewhere_are_not_said_to_be_asked_for(hostile_document: Document) -> None:
    text = hostile_document.facts["methods"][0]
    assert "made elsewhere, were scored on" in text
    assert "asked" not in text
    assert "were made elsewhere. They are from the file true.csv (SHA-256 " in hostile_document.facts["methods"][1]


def test_the_manifest_holds_hashes_signatures_policies_and_versions(demo_document: Document) -> None:
    manifest = demo_document.facts["manifest"]
    (file,) = DATA.glob("diagnosis_*.json")
    assert manifest["run"][f"file {file.name}, SHA-256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert manifest["prompts, SHA-256"]["doctor.oracle.v1"] == hash_of("doctor.oracle.v1")
    assert manifest["policies"]["on-loop"] == "record"
    assert manifest["policies"]["examiner"] == "http://127.0.0.1:8000/v1#synthetic-examiner"
    assert manifest["signatures"]["free_turn, Looped"].startswith("looped|")
    assert "protocol:batched" in manifest["signatures"][f"oracle, Completeness, {JUDGE}"]
    assert f"oracle, Exact answer, {JUDGE}" not in manifest["signatures"]  # no judge's
    assert manifest["software of the run"]["langgraph"]
    assert {"medjudge", "numpy", "krippendorff", "matplotlib", "python"} <= manifest["software of this report"].keys()


def test_a_role_without_a_model_has_none_among_the_policies() -> None:
    options = {"examiner": "records", "loop-judge": None, "max-turns": 5}
    spec = {"options": options, "others": {"loop_judge": {"text": "openai:judge"}}}
    assert policies(spec) == {"examiner": "records", "loop-judge": "openai:judge", "max-turns": 5}
    assert policies({"options": options, "others": {}})["loop-judge"] is None


def test_names_of_files_stand_in_a_manifest_as_they_are() -> None:
    rows = {"data_hash": "0a", "file my_cases.json, SHA-256": "1b", "prompts": {"a_b.v1": "2c"}, "limit": None}
    assert flat(rows) == [("data hash", "0a"), ("file my_cases.json, SHA-256", "1b"), ("prompts a_b.v1", "2c")]


def test_models_and_fingerprints_are_those_that_servers_report(demo: Path) -> None:
    store = open_run(demo, write=False)
    try:
        found = {row["role"]: row for row in served_models(store)}
    finally:
        store.close()
    header, *lines = (DATA / "demo.recording.jsonl").read_text(encoding="utf-8").splitlines()
    roles = [json.loads(line)["role"] for line in lines]
    assert json.loads(header)
    assert found["doctor"]["answers"] == roles.count("doctor")
    assert found["examiner"]["served_model"] == "synthetic-examiner"
