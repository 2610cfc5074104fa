"""Beside each judged mean: what people's labels make of it, or why they make nothing of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from judge.report.corrections import Labelled, correction_of, people_facts
from judge.stats import REASONS
from tests.conftest import Command
from tests.runs.labelled import accuracy, cases, data_of, people

KEY = ("oracle", "accuracy", "j")
KNOWN: dict[str, dict[str, Any]] = {"j": {"spec": {}}, "dr": {"source": "person"}, "file": {"source": "imported"}}
VALUES = {KEY: 9, ("oracle", "accuracy", "dr"): 5}


def row(**found: Any) -> dict[str, Any]:
    estimate = {"value": 0.5, "interval": (0.4, 0.6), "n_labelled": 5, "n_labelled_clusters": 4, "reason": "",
                "interval_reason": "", "note": "", **found}  # fmt: skip
    return {"setting": "oracle", "metric": "accuracy", "judge": "j", "people": ["dr"], "prediction_powered": estimate}


def test_a_corrected_mean_has_its_interval_its_number_of_labels_and_its_method() -> None:
    assert correction_of(KEY, Labelled(("dr",), [row()]), VALUES) == {
        "method": "prediction-powered", "people": ["dr"], "value": 0.5, "interval": [0.4, 0.6], "n_labelled": 5,
        "n_labelled_clusters": 4, "why": "",
    }  # fmt: skip


def test_what_cannot_be_corrected_says_why() -> None:
    few = correction_of(KEY, Labelled(("dr",), [row(value=None, interval=None, reason="too_few_labels")]), VALUES)
    assert few is not None
    assert (few["value"], few["why"]) == (None, REASONS["too_few_labels"])


@pytest.mark.parametrize(
    ("metric", "given", "why"),
    [
        ("accuracy", 0, "no labels by people"),
        ("accuracy", 5, "people labelled none of the units that j scored"),
        ("completeness", 5, "people had other reference steps than j"),
    ],
)
def test_a_mean_without_an_estimate_says_why(metric: str, given: int, why: str) -> None:
    values = {("oracle", metric, "j"): 9, ("oracle", metric, "dr"): given}
    found = correction_of(("oracle", metric, "j"), Labelled(("dr",)), values)
    assert found is not None
    assert (found["value"], found["why"]) == (None, why)


def test_means_of_people_and_of_no_judge_are_not_corrected() -> None:
    labelled = Labelled(("dr",), [row()])
    assert correction_of(("oracle", "accuracy", "dr"), labelled, VALUES) is None
    assert correction_of(("oracle", "exact", ""), labelled, {("oracle", "exact", ""): 9}) is None
    assert correction_of(KEY, Labelled(), VALUES) is None


def test_what_a_corrected_mean_is_and_its_notes_are_said_in_sentences() -> None:
    found = people_facts(Labelled(("dr",), [row(note="few of them")]), KNOWN, ["j", "dr"])
    assert found is not None
    first, note = found["sentences"]
    assert first.startswith(
        "A mean “corrected by people” estimates what dr would have said of all units that the judge"
    )
    assert note == "Few of them."


def test_people_who_were_left_out_are_named() -> None:
    found = people_facts(Labelled(), KNOWN, ["j"])
    assert found is not None
    (sentence,) = found["sentences"]
    assert sentence.startswith("The run has labels by dr as well, who is not among the judges of this report")


def test_labels_of_which_nobody_knows_who_gave_them_are_pointed_out() -> None:
    found = people_facts(Labelled(), {"j": KNOWN["j"], "file": KNOWN["file"]}, ["j", "file"])
    assert found is not None
    assert found["sentences"][0].startswith(
        "Whether labels by file are people's is not known; if so, say it with --people"
    )


def test_without_people_nothing_is_said() -> None:
    assert people_facts(Labelled(), {"j": KNOWN["j"]}, ["j"]) is None


# -- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty answers by a judge that finds every other one right, ten of them with a person's label, half of them 1."""
    folder = tmp_path_factory.mktemp("corrected")
    data, names = data_of(folder / "data", 30), cases(30)
    accuracy(folder / "run", data, "m", {"j": {case: place % 2 == 0 for place, case in enumerate(names)}})
    people(folder / "run", data, "dr", {case: place < 5 for place, case in enumerate(names[:10])})
    return folder / "run"


def test_the_report_shows_what_the_sensitivity_report_computes(cli: Command, run: Path, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    report = cli("report", run, "--people", "dr", "--json", "--html", page).json
    (wanted,) = cli("sensitivity", run, "--people", "dr", "--json").json["people"]
    (shown,) = [tile["row"]["corrected"] for tile in report["headlines"] if tile["row"]["judge"] == "j"]
    assert shown["value"] == wanted["prediction_powered"]["value"]
    assert shown["interval"] == wanted["prediction_powered"]["interval"]
    assert shown["n_labelled"] == 10
    text = page.read_text(encoding="utf-8")
    assert f"{shown['interval'][0]:.3f} to {shown['interval'][1]:.3f}" in text
    assert "n = 10 labelled" in text
    assert "prediction-powered inference" in text


def test_who_is_no_person_here_is_refused_in_one_sentence(cli: Command, run: Path) -> None:
    ran = cli("report", run, "--people", "nobody", "--json")
    assert ran.code == 2
    assert "--people: there are no labels by a person named 'nobody'" in ran.sentence
