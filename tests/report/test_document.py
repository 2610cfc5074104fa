"""The document's numbers are those of the tables, and it says what else must be known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judge.errors import RunError
from judge.report.document import Document, Wanted
from judge.report.sensitivity import sensitivity_section
from tests.conftest import Command
from tests.medrbench.examinations import ENDOCARDITIS, PURPURA, THYROID
from tests.report.conftest import document_of
from tests.report.runs import HOSTILE_JUDGE, JUDGE
from tests.runs.synthetic import DATA, IDS


def shown_rows(document: Document) -> dict[tuple[str, str, str], dict[str, Any]]:
    """(setting, judge, metric) -> row of a table."""
    return {
        (setting["setting"], block["judge"], row["metric"]): row
        for setting in document.facts["settings"]
        for block in setting["blocks"]
        for rows in block["tables"].values()
        for row in rows
    }


@pytest.mark.parametrize("judge", ["", JUDGE])
def test_every_number_is_that_of_medjudge_show(cli: Command, demo: Path, demo_document: Document, judge: str) -> None:
    report = cli("show", demo, "--json", *(["--judge", judge] if judge else [])).json
    found, own = shown_rows(demo_document), {key[::2] for key in shown_rows(demo_document) if not key[1]}
    compared = 0
    for setting in report["settings"]:
        for name, metric in setting["metrics"].items():
            if judge and (setting["setting"], name) in own:
                continue
            row = found[setting["setting"], judge, name]
            assert {key: row[key] for key in metric} == metric
            compared += 1
    assert compared >= (14 if judge else 20)


def test_breakdowns_are_those_of_medjudge_show(cli: Command, demo: Path, demo_document: Document) -> None:
    report = cli("show", demo, "--json", "--judge", JUDGE).json
    for setting, ours in zip(report["settings"], demo_document.facts["settings"], strict=True):
        block = next(block for block in ours["blocks"] if block["judge"] == JUDGE)
        for breakdown in block["breakdowns"]:
            for group, other in zip(breakdown["groups"], setting["by"][breakdown["name"]], strict=True):
                assert group["group"] == other["group"]
                assert group["metrics"] == {name: other["metrics"][name] for name in group["metrics"]}


def test_scores_in_the_case_browser_average_to_the_mean_in_the_table(demo_document: Document) -> None:
    index = demo_document.cases.index
    for place, column in enumerate(index["columns"]):
        for (setting, judge, metric), row in shown_rows(demo_document).items():
            if (judge, metric) == (column["judge"], column["metric"]) and row["mean"] is not None:
                scores = [unit["scores"][place] for unit in index["units"] if unit["setting"] == setting]
                values = [score for score in scores if isinstance(score, int | float)]
                assert sum(values) / len(values) == pytest.approx(row["mean"], abs=1e-6)
                assert len(values) == row["n_scored"]


def test_all_judges_are_shown_unless_some_are_named(hostile: Path, hostile_document: Document) -> None:
    assert [judge["name"] for judge in hostile_document.facts["judges"]] == [HOSTILE_JUDGE, "plain"]
    named = document_of(hostile, Wanted(judges=("plain",)))
    assert [judge["name"] for judge in named.facts["judges"]] == ["plain"]


def test_a_judge_that_the_run_does_not_have_is_refused(demo: Path) -> None:
    with pytest.raises(RunError, match=f"no judgements by 'nobody'; there are: {JUDGE}"):
        document_of(demo, Wanted(judges=("nobody",)))


def test_a_judge_s_notes_say_whose_numbers_they_are_about(demo_document: Document) -> None:
    notes = {(note["text"].split(" without")[0], note["judge"]) for note in demo_document.facts["warnings"]}
    assert ("oracle: Accuracy (judged)", JUDGE) in notes


def test_the_tiles_show_judged_accuracy_where_there_is_any(demo_document: Document) -> None:
    found = {tile["setting"]: (tile["row"]["metric"], tile["row"]["mean"]) for tile in demo_document.facts["headlines"]}
    # fixtures/README.md: of the answers that were judged, 1 of 2, 1 of 2 and 2 of 3 are right
    assert found == {
        "oracle": ("accuracy", 0.5),
        "one_turn": ("accuracy", 0.5),
        "free_turn": ("accuracy", pytest.approx(2 / 3)),
    }


def test_results_before_and_after_a_day_are_those_of_the_cases_on_that_side(
    cli: Command, demo: Path, demo_document: Document
) -> None:
    cutoff = demo_document.facts["cutoff"]
    assert cutoff["counts"] == {"before": 1, "after": 2, "undated": 0}
    units = [unit for unit in cli("show", demo, "--json").json["units"] if unit["setting"] == "free_turn"]
    recall = {unit["case"]: unit["scores"]["exam_recall"] for unit in units}
    (table,) = [table for table in cutoff["tables"] if (table["setting"], table["judge"]) == ("free_turn", "")]
    (row,) = [row for row in table["rows"] if row["title"] == "Exam recall (names)"]
    assert row["sides"]["before"]["mean"] == pytest.approx(recall[THYROID])
    assert row["sides"]["after"]["mean"] == pytest.approx((recall[PURPURA] + recall[ENDOCARDITIS]) / 2)


def test_the_document_can_be_printed_as_json(demo_document: Document) -> None:
    assert json.loads(json.dumps(demo_document.facts, allow_nan=False))


def test_a_cut_off_for_cases_without_dates_is_refused_in_one_sentence(cli: Command, tmp_path: Path) -> None:
    file = tmp_path / "predictions.json"
    file.write_text(json.dumps({IDS[1]: ["A"]}), encoding="utf-8")
    ran = cli("import", "caremedeval", "--predictions", file, "--data", DATA, "--out", tmp_path / "run")
    assert ran.code == 0, ran.err
    ran = cli("report", tmp_path / "run", "--json", "--cutoff", "2024-01-01")
    assert ran.code == 2
    assert "the cases of caremedeval have no dates" in ran.sentence


# -- the section that others fill ------------------------------------------------------------------------------------


def test_there_is_no_sensitivity_section_without_data() -> None:
    assert sensitivity_section(None) is None
    assert sensitivity_section({}) is None


def test_a_sensitivity_section_shows_sentences_and_tables() -> None:
    section = sensitivity_section(
        {
            "sentences": ["It moves."],
            "tables": [{"title": "t", "columns": ["a", "b"], "rows": [["x", 0.25], ["y", None]]}],
        }
    )
    assert section is not None
    assert section.sentences == ("It moves.",)
    assert section.tables[0].rows == (("x", "0.250"), ("y", "-"))


def test_a_sensitivity_table_with_a_missing_cell_is_refused() -> None:
    with pytest.raises(ValueError, match="other lengths"):
        sensitivity_section({"tables": [{"title": "t", "columns": ["a", "b"], "rows": [["x"]]}]})
