"""Goldens: oracles on the real files, and means of group means by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from graphs.medexqa.cases import load_cases, to_record
from graphs.medexqa.reading import explanation_of, read_answer
from graphs.medexqa.shift import corrected_labels
from graphs.medexqa.support import supported_option
from tests.conftest import Command
from tests.data import real_data
from tests.medexqa.synthetic import BE, SLP, fields, quiz, write
from tests.runs.synthetic import setting_of

CP = "clinical_psychologist"
COLUMNS = ["BE", "CP", "SLP", "OT", "CLS"]


def imported(cli: Command, data: Path, folder: Path, predictions: Mapping[str, Any], *more: object) -> dict[str, Any]:
    file = folder / "predictions.json"
    file.write_text(json.dumps(predictions), encoding="utf-8")
    ran = cli("import", "medexqa", "--predictions", file, "--data", data, "--out", folder / "run",
              "--explanations", "none", *more, "--json")  # fmt: skip
    assert ran.code == 0, ran.err
    document: dict[str, Any] = ran.json
    return document


def means_by_specialty(setting: Mapping[str, Any]) -> dict[str, float]:
    return {group["group"]: group["metrics"]["accuracy"]["mean"] for group in setting["by"]["specialty"]}


# The real files


@pytest.mark.data
def test_the_published_letters_score_1_on_all_940_rows(cli: Command, tmp_path: Path) -> None:
    data = real_data("medexqa")
    setting = setting_of(imported(cli, data, tmp_path, {case.id: case.answer for case in load_cases(data)}), "unstated")
    assert (setting["metrics"]["accuracy"]["mean"], setting["metrics"]["accuracy"]["n_scored"]) == (1.0, 940)
    assert {name: row["mean"] for name, row in setting["summaries"].items()} == {
        "accuracy_macro": 1.0, "accuracy_macro_without_SLP": 1.0, "accuracy_micro": 1.0
    }  # fmt: skip
    assert means_by_specialty(setting) == dict.fromkeys(COLUMNS, 1.0)
    assert list(means_by_specialty(setting)) == COLUMNS
    assert [group["n_units"] for group in setting["by"]["specialty"]] == [143, 106, 130, 189, 372]
    # the published letters, judged by those one row further down
    assert setting["asides"]["accuracy_slp_audited"]["mean"] == pytest.approx(43 / 129)


@pytest.mark.data
def test_perfect_knowledge_scores_about_a_third_where_the_letters_are_shifted(cli: Command, tmp_path: Path) -> None:
    """43 of 129 rows have the letter of the row below: the counts of `cut -f8 FILE | uniq -c`, each less one, added."""
    data = real_data("medexqa")
    known = corrected_labels(to_record(case) for case in load_cases(data))
    report = imported(cli, data, tmp_path, {name: letter for name, letter in known.items() if letter})
    setting = setting_of(report, "unstated")
    slp = next(group for group in setting["by"]["specialty"] if group["group"] == "SLP")["metrics"]["accuracy"]
    assert (slp["mean"], slp["n_scored"], slp["unscored"]) == (pytest.approx(43 / 129), 129, {"not_predicted": 1})
    assert setting["summaries"]["accuracy_macro"]["mean"] == pytest.approx((4 + 43 / 129) / 5)
    assert setting["summaries"]["accuracy_macro_without_SLP"]["mean"] == 1.0
    assert setting["summaries"]["accuracy_micro"]["mean"] == pytest.approx((810 + 43) / 939)
    aside = setting["asides"]["accuracy_slp_audited"]
    assert (aside["mean"], aside["n_scored"]) == (1.0, 129)
    assert aside["signature"] == "accuracy_slp_audited|labels:audit:row+1|specialty:SLP|by:text|v:1"
    assert any("perfect knowledge would score about 33% there" in warning for warning in report["warnings"])


@pytest.mark.data
def test_an_oracle_that_reads_the_explanations_is_right_except_where_the_letters_are_shifted(
    cli: Command, tmp_path: Path
) -> None:
    data = real_data("medexqa")
    read = {case.id: supported_option(to_record(case)) for case in load_cases(data)}
    found = means_by_specialty(setting_of(imported(cli, data, tmp_path, read), "unstated"))
    assert found["SLP"] < 0.3
    assert all(mean > 0.85 for code, mean in found.items() if code != "SLP")


@pytest.mark.data
def test_real_explanations_below_a_letter_never_make_it_another() -> None:
    """One row of 940 has an explanation that says in so many words that another choice is right."""
    forms = ("{letter}\n{why}", "Answer: {letter}\n\nExplanation: {why}", "{letter}. {text}\n\n{why}")
    wrong = []
    for case in load_cases(real_data("medexqa")):
        for why in case.explanations:
            form = forms[case.row % len(forms)]
            reply = form.format(letter=case.answer, text=case.options[case.answer], why=why)
            if read_answer(reply, case.options).letter != case.answer:
                wrong.append(case.id)
            assert explanation_of(reply, case.options) == "\n".join(why.strip().splitlines())
    assert wrong == ["speech_pathologist-test-010"]


@pytest.mark.data
def test_baselines_on_the_real_files(cli: Command) -> None:
    """Letters counted with `cut -f8 | sort | uniq -c`: 344 of 940 are D."""
    rows = {row["name"]: row["metrics"]["accuracy"] for row in
            cli("baselines", "medexqa", "--data", real_data("medexqa"), "--json").json["baselines"]}  # fmt: skip
    assert rows["random"] == 0.25
    assert rows["always_d"] == pytest.approx(344 / 940)
    assert math.fsum(rows[f"always_{letter}"] for letter in "abcd") == pytest.approx(1)


# Synthetic files


@pytest.fixture
def unequal(tmp_path: Path) -> Path:
    """Four questions of one specialty, two of another, one of a third; B is right everywhere."""
    for name, size in ((BE, 4), (CP, 2), (SLP, 1)):
        write(tmp_path / "data", [fields(number) for number in range(size)], name)
    return tmp_path / "data"


def test_macro_and_micro_are_the_numbers_that_hand_arithmetic_gives(
    cli: Command, tmp_path: Path, unequal: Path
) -> None:
    letters = {f"{BE}-test-000": "B", f"{BE}-test-001": "B", f"{BE}-test-002": "B", f"{BE}-test-003": "A",
               f"{CP}-test-000": "B", f"{CP}-test-001": None, f"{SLP}-test-000": "D"}  # fmt: skip
    setting = setting_of(imported(cli, unequal, tmp_path, letters), "unstated")
    found = setting["summaries"]
    assert list(found) == ["accuracy_macro", "accuracy_macro_without_SLP", "accuracy_micro"]
    macro = found["accuracy_macro"]
    assert macro["mean"] == pytest.approx((3 / 4 + 1 / 1 + 0 / 1) / 3)
    assert (macro["n_scored"], macro["n_unscored"], macro["unscored"]) == (6, 1, {"no_answer": 1})
    assert macro["bounds"] == pytest.approx([(3 / 4 + 1 / 2 + 0) / 3, (3 / 4 + 2 / 2 + 0) / 3])
    assert macro["signature"] == "accuracy_macro|over:BE,CP,SLP|mean:macro:specialty|by:text|v:1"
    assert macro["se"] is None  # of one answer there is none
    assert found["accuracy_macro_without_SLP"]["mean"] == pytest.approx((3 / 4 + 1) / 2)
    assert found["accuracy_micro"]["mean"] == pytest.approx(4 / 6)
    assert found["accuracy_micro"]["mean"] == setting["metrics"]["accuracy"]["mean"]


def test_the_standard_error_of_a_macro_mean_adds_the_variances_of_its_groups(cli: Command, tmp_path: Path) -> None:
    for name in (BE, CP):
        write(tmp_path / "data", [fields(number) for number in range(4)], name)
    letters = {
        f"{name}-test-00{row}": "B" if row < right else "A" for name, right in ((BE, 2), (CP, 1)) for row in range(4)
    }
    found = setting_of(imported(cli, tmp_path / "data", tmp_path, letters), "unstated")["summaries"]
    # s²/n with n - 1: of 2 in 4, (1/3)/4; of 1 in 4, (1/4)/4
    assert found["accuracy_macro"]["se"] == pytest.approx(math.sqrt(1 / 12 + 1 / 16) / 2)
    assert "accuracy_macro_without_SLP" not in found  # there is none that could be left out


def test_labels_found_shifted_are_an_aside_also_in_a_run_over_few_cases(cli: Command, tmp_path: Path) -> None:
    rows = quiz(130, seed=3, slip=1)
    write(tmp_path / "data", rows, SLP)
    first = {f"{SLP}-test-000": rows[1][-1], f"{SLP}-test-001": rows[2][-1]}
    setting = setting_of(imported(cli, tmp_path / "data", tmp_path, first, "--specialty", "slp"), "unstated")
    aside = setting["asides"]["accuracy_slp_audited"]
    assert (aside["mean"], aside["n_scored"]) == (1.0, 2)
    assert aside["unscored"] == {"not_predicted": 128}
    shown = cli("show", tmp_path / "run", f"{SLP}-test-000").out
    assert f"as published; by the data audit {rows[1][-1]}, the letter of row +1" in shown


# Predictions made elsewhere


@pytest.mark.parametrize(
    ("prediction", "answer", "explanation"),
    [
        ("B", "B", ""),
        ("B\nSo it is.", "B", "So it is."),
        ("<think>A? No.</think>\nB\nSo it is.", "B", "So it is."),
        ({"answer": "B", "explanation": "So it is."}, "B", "So it is."),
        ({"answer": "right 0", "explanation": "So it is."}, "B", "So it is."),
        ({"prediction": "Answer: B", "explanation": None}, "B", ""),
        ({"answer": "B", "explanation": "<think>hm</think>So it is."}, "B", "So it is."),
    ],
)
def test_predictions_are_texts_or_answers_with_explanations(
    cli: Command, tmp_path: Path, prediction: Any, answer: str, explanation: str
) -> None:
    write(tmp_path / "data", [fields(0)])
    imported(cli, tmp_path / "data", tmp_path, {f"{BE}-test-000": prediction})
    transcript = cli("show", tmp_path / "run", f"{BE}-test-000", "--json").json[0]["transcript"]
    assert (transcript["answer"], transcript["how"]) == (answer, "text")
    assert transcript["explanation"]["text"] == explanation
    assert bool(transcript["explanation"]["reason"]) is not bool(explanation)


@pytest.mark.parametrize(
    ("prediction", "status"),
    [(None, "no_answer"), ("", "no_answer"), ("None of the above", "no_answer"), ("<think>B", "truncated_reasoning"),
     ({"answer": None, "explanation": "So it is."}, "no_answer")],
)  # fmt: skip
def test_a_prediction_without_an_answer_is_unscored_and_not_wrong(
    cli: Command, tmp_path: Path, prediction: Any, status: str
) -> None:
    write(tmp_path / "data", [fields(0)])
    report = imported(cli, tmp_path / "data", tmp_path, {f"{BE}-test-000": prediction})
    assert report["statuses"] == {status: 1}
    metric = setting_of(report, "unstated")["metrics"]["accuracy"]
    assert (metric["mean"], metric["unscored"]) == (None, {status: 1})


@pytest.mark.parametrize("prediction", [["B"], 2, {"answer": ["B"], "explanation": "x"}])
def test_a_prediction_of_another_type_is_refused(cli: Command, tmp_path: Path, prediction: Any) -> None:
    write(tmp_path / "data", [fields(0)])
    file = tmp_path / "predictions.json"
    file.write_text(json.dumps({f"{BE}-test-000": prediction}), encoding="utf-8")
    ran = cli("import", "medexqa", "--predictions", file, "--data", tmp_path / "data", "--out", tmp_path / "run")
    assert ran.code == 2
    assert f"the prediction for {BE}-test-000 is" in ran.sentence
