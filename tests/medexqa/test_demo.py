"""The demo's recording replays without a model and ends as fixtures/README.md says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.runs.synthetic import setting_of

DATA = Path(__file__).parents[2] / "fixtures" / "medexqa"
BE, SLP = "biomedical_engineer-test-00", "speech_pathologist-test-00"

#: Case -> status, letter read, number of replies.
EXPECTED: dict[str, tuple[str, str | None, int]] = {
    f"{BE}0": ("answered", "B", 1),
    f"{BE}1": ("answered", "A", 1),
    f"{BE}2": ("answered", "C", 1),
    f"{BE}3": ("answered", "B", 2),
    f"{BE}4": ("answered", "B", 3),
    f"{BE}5": ("truncated", None, 1),
    f"{SLP}0": ("answered", "B", 2),
    f"{SLP}1": ("answered", "A", 1),
    f"{SLP}2": ("answered", "D", 1),
    f"{SLP}3": ("answered", "A", 3),
    f"{SLP}4": ("no_answer", None, 2),
    f"{SLP}5": ("empty_reply", None, 2),
}


@pytest.fixture(scope="module")
def run(cli: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "run"
    ran = cli("run", "medexqa", "--model", f"replay:{DATA / 'demo.recording.jsonl'}", "--data", DATA, "--out", folder)
    assert ran.code == 0, ran.err
    return folder


@pytest.fixture(scope="module")
def entries(cli: Command, run: Path) -> dict[str, dict[str, Any]]:
    """Case -> what `medjudge show` tells of it."""
    return {case: cli("show", run, case, "--json").json[0] for case in EXPECTED}


def test_every_case_ends_as_promised(entries: dict[str, dict[str, Any]]) -> None:
    found = {case: (entry["status"], entry["transcript"]["answer"], len(entry["transcript"]["replies"]))
             for case, entry in entries.items()}  # fmt: skip
    assert found == EXPECTED


def test_every_exchange_of_the_recording_is_used(entries: dict[str, dict[str, Any]]) -> None:
    lines = (DATA / "demo.recording.jsonl").read_text(encoding="utf-8").splitlines()[1:]
    recorded = {json.loads(line)["address"] for line in lines}
    probes = {address for address in recorded if "/probe%2Flogprobs/" in address}
    assert len(probes) == 4  # three refused numbers of alternatives, and the same without
    assert {e["address"] for entry in entries.values() for e in entry["exchanges"]} == recorded - probes


def test_explanations_are_kept_apart_from_answers_and_thinking(entries: dict[str, dict[str, Any]]) -> None:
    explained = {case: entry["transcript"]["explanation"] for case, entry in entries.items()}
    assert explained[f"{BE}1"]["text"].startswith("The smallest change that a display can show")
    assert "First draft" not in explained[f"{BE}1"]["text"]
    assert explained[f"{BE}2"]["text"].startswith("Conductance is current over voltage")
    assert explained[f"{BE}3"] == {"text": "", "reason": "truncated"}
    assert explained[f"{BE}5"] == {"text": "", "reason": "truncated"}
    assert explained[f"{SLP}0"]["text"].startswith("After the first sound")
    assert explained[f"{SLP}1"]["text"].startswith("On the Aster scale")
    assert explained[f"{SLP}4"] == {"text": "", "reason": "no_answer"}


def test_scores_by_hand(cli: Command, run: Path) -> None:
    """BE: right, right, right, wrong, right, unscored = 4/5; SLP: right, right, wrong, wrong, two unscored = 2/4."""
    setting = setting_of(cli("score", run, "--json").json, "choice")
    assert setting["statuses"] == {"answered": 9, "truncated": 1, "no_answer": 1, "empty_reply": 1}
    assert setting["metrics"]["accuracy"]["mean"] == pytest.approx(6 / 9)
    assert setting["metrics"]["accuracy_text"]["mean"] == pytest.approx(6 / 9)
    assert setting["metrics"]["accuracy_scores"]["unscored"] == {
        "no_scores": 9, "truncated": 1, "no_answer": 1, "empty_reply": 1
    }  # fmt: skip
    assert [group["group"] for group in setting["by"]["specialty"]] == ["BE", "SLP"]
    assert setting["summaries"]["accuracy_macro"]["mean"] == pytest.approx((4 / 5 + 2 / 4) / 2)
    assert setting["summaries"]["accuracy_macro_without_SLP"]["mean"] == pytest.approx(4 / 5)
    assert setting["summaries"]["accuracy_micro"]["mean"] == pytest.approx(6 / 9)
    assert setting["asides"] == {}
    flags = {"by_text": 9, "malformed": 7, "re_asked": 4, "explained_when_asked": 4, "no_explanation": 1}
    assert setting["flags"] == flags


def test_the_tables_show_the_macro_means_and_their_signatures(cli: Command, run: Path) -> None:
    shown = cli("show", run).out
    assert "Accuracy, macro by specialty (only BE, SLP)" in shown
    assert "Accuracy, micro" in shown
    assert shown.index("BE") < shown.rindex("SLP")
    assert "only.." not in shown


def test_a_case_is_shown_whole(cli: Command, run: Path) -> None:
    shown = cli("show", run, f"{BE}4").out
    for part in ("prompt 3", "reply 3 (explanation)", "answer (by text)", "explanation as read",
                 "reference explanation 2"):  # fmt: skip
        assert part in shown
