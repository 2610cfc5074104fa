"""What a paper must state of a comparison: what was done, with its source, and nothing that was not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from judge.report.compared_figures import draw_differences, draw_judges
from judge.report.figures import themed
from judge.report.page import page
from judge.report.paper import Paper, sensitivity_paper
from judge.report.provenance import provenance
from judge.report.statistics_told import moved_by_judges
from judge.sensitivity import load, sensitivity
from tests.runs.in_memory import candidate, material
from tests.runs.labelled import accuracy, cases, data_of, people

N = 24


def paper_of(folders: Sequence[Path], judges: Sequence[str], persons: Sequence[str] = ()) -> Paper:
    report = sensitivity(load(folders, judges, persons))
    return sensitivity_paper(report, provenance(folders, judges))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two models, judged by two judges; a person labelled every second case of the first."""
    folder = tmp_path_factory.mktemp("judged")
    data = data_of(folder / "data", N)
    for model, step in (("alpha", 2), ("beta", 3)):
        said = {judge: {case: n % (step + more) > 0 for n, case in enumerate(cases(N))} for judge, more in
                (("strict", 0), ("mild", 1))}  # fmt: skip
        accuracy(folder / model, data, model, said)
    people(folder / "alpha", data, "dr", {case: n % 4 > 0 for n, case in enumerate(cases(N)) if n % 2})
    return [folder / "alpha", folder / "beta"]


def test_judges_of_two_models_have_tests_agreement_and_orders(folders: list[Path]) -> None:
    text = " ".join(paper_of(folders, ["strict", "mild"]).methods)
    for part in (
        "Outputs of alpha and beta were compared on cases of MedR-Bench",
        "The labels by strict (48 units) were made elsewhere.",
        "Means are over scored cases",
        "(24 cases in 24 clusters)",
        "2,000 draws of whole clusters with replacement (seed 20251130)",
        "Holm 1979, Scand. J. Stat. 6(2):65-70): 2 tests.",
        "Cohen's kappa (Cohen 1960",
        "Gwet's AC1 (Gwet 2008",
        "Krippendorff's alpha for nominal labels",
        "jackknife over clusters (MacKinnon, Nielsen & Webb 2023",
        "Kendall 1945",
    ):
        assert part in text


def test_what_a_report_does_not_have_is_not_told(folders: list[Path]) -> None:
    text = " ".join(paper_of(folders[:1], ["strict", "mild"]).methods)
    assert "Outputs of alpha were judged on cases" in text
    for absent in ("Kendall", "prediction-powered", "a person's", "Fleiss", "quadratic", "AC2", "Self-preference",
                   "more than once", "error rates", "group means", "ounds say"):  # fmt: skip
        assert absent not in text


def test_judges_that_have_no_case_in_common_are_not_said_to_be_compared() -> None:
    said = {"x": dict.fromkeys(cases(N)[:9], True), "y": dict.fromkeys(cases(N)[9:], True)}
    assert moved_by_judges(sensitivity(material([candidate("alpha", said, cases(N))]))) == []


def test_judges_that_say_the_same_of_everything_agree_by_no_coefficient() -> None:
    yes = dict.fromkeys(cases(N), True)
    *_, last = moved_by_judges(sensitivity(material([candidate("alpha", {"x": yes, "y": yes}, cases(N))])))
    assert last == "Agreement on single labels is the share of equal labels, with the interval of a mean."


def test_people_and_the_correction_by_their_labels_are_told(folders: list[Path]) -> None:
    text = " ".join(paper_of(folders, ["strict", "mild", "dr"], ["dr"]).methods)
    assert "The labels by dr (12 units) are a person's." in text
    assert "prediction-powered inference with tuned weight (Angelopoulos et al. 2023" in text
    assert "a random part of all" in text


def test_the_part_for_a_report_of_one_run_is_about_judges_alone(folders: list[Path]) -> None:
    first, *_ = moved_by_judges(sensitivity(load(folders[:1], ["strict", "mild"], [])))
    assert first.startswith("Judges are compared on the units that both scored")


def test_the_manifest_holds_data_seed_judges_signatures_and_software(folders: list[Path]) -> None:
    manifest = paper_of(folders, ["strict", "mild"]).manifest
    whole = manifest["what is compared"]
    assert len(whole["data, SHA-256"]) == 64
    assert (whole["licence"], whole["seed"]) == ("data set: CC BY-SA", 20251130)
    assert manifest["run of beta"]["folder"] == str(folders[1])
    assert {"file alpha-strict.jsonl, SHA-256", "file beta-strict.jsonl, SHA-256"} <= manifest["judge strict"].keys()
    assert manifest["signatures"]["oracle, Accuracy (judged), alpha by mild"].startswith("accuracy|")
    assert manifest["software of this report"]["krippendorff"]


def test_a_page_shows_methods_and_manifest_below_the_tables(folders: list[Path]) -> None:
    table = {"title": "A table", "columns": ["a_b", "n"], "rows": [["x", "1"]]}
    text = page("A title", {"tables": [table]}, paper_of(folders, ["strict", "mild"]))
    assert text.index("A table") < text.index("For the paper") < text.index("Manifest")
    assert "file alpha-strict.jsonl, SHA-256" in text
    assert "Made by medjudge" in text


# -- figures of comparisons -----------------------------------------------------------------------------------------


def difference(title: str, limits: tuple[float, float] | None, ends: tuple[float, float] | None) -> dict[str, Any]:
    return {"title": title, "models": ("<a>", "b"), "range": limits, "difference": 0.25, "interval": ends, "n": 12}


def test_shares_and_counts_are_drawn_apart_with_their_units() -> None:
    tests = [difference("Accuracy", (0.0, 1.0), (0.1, 0.4)), difference("Turns", None, (-1.0, 1.5))]
    figures = draw_differences({"settings": [{"setting": "oracle", "tests": tests}]})
    assert ["share, 0 to 1" in figures[0].caption, "count per case" in figures[1].caption] == [True, True]
    assert len({figure.name for figure in figures}) == 2
    for figure in figures:
        ElementTree.fromstring(themed(figure))
        assert "Hollow" not in figure.caption


def test_a_difference_without_an_interval_is_hollow_and_one_without_a_value_is_not_drawn() -> None:
    tests = [difference("Accuracy", (0.0, 1.0), None), difference("Other", (0.0, 1.0), None) | {"difference": None}]
    (figure,) = draw_differences({"settings": [{"setting": "oracle", "tests": tests}]})
    assert "Hollow: no interval." in figure.caption
    assert draw_differences({"settings": [{"setting": "oracle", "tests": tests[1:]}]}) == []


def mean(model: str, judge: str, **others: Any) -> dict[str, Any]:
    about = {"setting": "oracle", "title": "Accuracy", "model": model, "judge": judge, "not_comparable": ""}
    numbers = {"mean": 0.5, "interval": (0.3, 0.7), "bounds": (0.5, 0.5), "n_scored": 20, "n_unscored": 0}
    return {**about, **numbers, "range": (0.0, 1.0), **others}


def test_every_model_is_drawn_under_each_judge_that_can_be_compared() -> None:
    scores = [mean("<a>", "x"), mean("<a>", "y", mean=None, interval=None, not_comparable="other steps"),
              mean("b", "x"), mean("b", "y")]  # fmt: skip
    report = {"settings": ["oracle"], "judges": [{"name": "x"}, {"name": "y"}], "scores": scores}
    (figure,) = draw_judges(report)
    ElementTree.fromstring(themed(figure))
    assert figure.caption.startswith("oracle: means under each judge")
    assert draw_judges(report | {"scores": scores[1:2]}) == []


def test_a_figure_that_leaves_rows_out_says_so() -> None:
    scores = [mean(f"model {n}", "x") for n in range(70)]
    (figure,) = draw_judges({"settings": ["oracle"], "judges": [{"name": "x"}], "scores": scores})
    assert "The first 60 of 70" in figure.caption
