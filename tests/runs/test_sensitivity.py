"""How much of a result is the judge, on labels whose every figure can be worked out by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.runs.labelled import accuracy, cases, data_of, labelled, people, steps

N = 40


def right(*ranges: tuple[int, int]) -> dict[str, bool]:
    """Labels of all cases: true for those in the ranges, ends left out."""
    return {case: any(low <= n < high for low, high in ranges) for n, case in enumerate(cases(N))}


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Two models and two judges: by x the first solves 30 of 40 and the second 16, by y it is the other way round."""
    data = data_of(tmp_path / "data", N)
    accuracy(tmp_path / "a", data, "alpha", {"x": right((0, 30)), "y": right((0, 16))})
    accuracy(tmp_path / "b", data, "beta", {"x": right((0, 16)), "y": right((0, 30))})
    return [tmp_path / "a", tmp_path / "b"]


def report(cli: Command, *arguments: object) -> dict[str, Any]:
    ran = cli("sensitivity", *arguments, "--json")
    assert ran.code == 0, ran.err
    return dict(ran.json)


def one(rows: list[dict[str, Any]], **what: Any) -> dict[str, Any]:
    (found,) = [row for row in rows if all(row[key] == value for key, value in what.items())]
    return found


def plain(text: str) -> str:
    return " ".join(text.split())


# -- scores, differences, ranks ----------------------------------------------------------------------------------------


def test_a_score_under_each_judge_is_that_of_score(cli: Command, runs: list[Path]) -> None:
    found = one(report(cli, *runs)["scores"], metric="accuracy", model="alpha", judge="x")
    own = cli("score", runs[0], "--judge", "x", "--json").json["settings"][0]["metrics"]["accuracy"]
    assert (found["mean"], found["n_scored"]) == (30 / 40, 40)
    assert {name: found[name] for name in own} == own


def test_differences_and_flips_by_hand(cli: Command, runs: list[Path]) -> None:
    row = one(report(cli, *runs)["differences"], metric="accuracy", model="alpha")
    assert row["compared"]["difference"] == pytest.approx(14 / 40)
    low, high = row["compared"]["interval"]
    assert 0 < low < 14 / 40 < high
    assert (row["n_units"], row["flips"]["count"], row["flips"]["share"]) == (40, 14, 14 / 40)


def test_a_planted_change_of_ranks_is_found_and_outside_noise(cli: Command, runs: list[Path]) -> None:
    found = report(cli, *runs)
    (entry,) = [entry for entry in found["ranks"] if entry["metric"] == "accuracy"]
    assert {row["judge"]: row["ranks"] for row in entry["judges"]} == {
        "x": {"alpha": 1, "beta": 2},
        "y": {"alpha": 2, "beta": 1},
    }
    (pair,) = entry["pairs"]
    assert (pair["concordance"]["tau_b"], pair["n"]) == (-1, 40)
    (change,) = pair["changes"]
    assert (change["above"], change["below"], change["outside_noise"]) == ("alpha", "beta", True)
    said = (
        "On Accuracy (judged) x puts alpha above beta (0.750, 0.400) and y the reverse (0.400, 0.750) on the 40 cases "
        "that both scored for all models, which is more than noise"
    )
    assert any(sentence.startswith(said) for sentence in found["summary"])


def test_judges_that_rank_alike_change_nothing(cli: Command, tmp_path: Path) -> None:
    data = data_of(tmp_path / "data", N)
    for run, model, n in (("a", "alpha", 30), ("b", "beta", 16)):
        accuracy(tmp_path / run, data, model, {"x": right((0, n)), "y": right((0, n - 2))})
    found = report(cli, tmp_path / "a", tmp_path / "b")
    (entry,) = [entry for entry in found["ranks"] if entry["metric"] == "accuracy"]
    (pair,) = entry["pairs"]
    assert (pair["concordance"]["tau_b"], pair["changes"]) == (1, [])
    said = "No two judges put any two models in opposite orders, on the 40 cases that both scored for all models."
    assert said in found["summary"]


def test_a_judge_of_one_model_only_is_not_ranked_and_named(cli: Command, runs: list[Path], tmp_path: Path) -> None:
    people(runs[0], tmp_path / "data", "z", right((0, 3)))
    found = report(cli, *runs)
    (entry,) = [entry for entry in found["ranks"] if entry["metric"] == "accuracy"]
    assert [row["judge"] for row in entry["judges"]] == ["x", "y"]
    assert entry["left_out"] == {"z": "judged 1 of 2 models"}
    assert "z did not judge beta" in found["notes"]


def test_what_nobody_asked_a_judge_about_is_not_rated_and_not_unscored(cli: Command, tmp_path: Path) -> None:
    """Given a file of y that leaves out 10 of 40 cases, then means are of 30, and nothing is unscored."""
    data, run = data_of(tmp_path / "data", N), tmp_path / "a"
    few = {case: label for case, label in right((0, 16)).items() if int(case[1:]) < 30}
    accuracy(run, data, "alpha", {"x": right((0, 30)), "y": few})
    found = report(cli, run)
    row = one(found["differences"], metric="accuracy")
    assert (row["n_units"], row["n_one_only"], row["n_neither"]) == (30, {"x": 10, "y": 0}, 0)
    assert row["compared"]["means"] == [1.0, pytest.approx(16 / 30)]
    assert row["n_not_rated"] == {"x": 0, "y": 10}
    assert found["unscored"] == []
    score = one(found["scores"], metric="accuracy", judge="y")
    assert (score["n_scored"], score["n_unscored"], score["unscored"], score["n_not_rated"]) == (30, 0, {}, 10)
    shown = plain(cli("sensitivity", run).out)
    assert "30 of 40" in shown
    assert "not rated: units that nobody asked this judge or person about" in shown
    assert "Units without a score" not in shown


# -- labels ------------------------------------------------------------------------------------------------------------


def test_agreement_on_labels_by_hand(cli: Command, runs: list[Path]) -> None:
    entry = one(report(cli, *runs)["agreement"], model="alpha", kind="accuracy")
    (pair,) = entry["pairs"]
    values = {name: estimate["value"] for name, estimate in pair["estimates"].items()}
    chance = (30 * 16 + 10 * 24) / 40**2  # 16 both true, 14 only by x, 10 both false
    assert values["raw_agreement"] == pytest.approx(26 / 40)
    assert values["cohen_kappa"] == pytest.approx((26 / 40 - chance) / (1 - chance))
    assert pair["flips"]["share"] == pytest.approx(14 / 40)
    assert pair["confusion"]["counts"] == [[10, 0], [14, 16]]
    assert pair["between"] == "judges"


def test_items_on_which_more_judges_are_in_the_minority_come_first(cli: Command, tmp_path: Path) -> None:
    """Given 2:2 on a step of one of two, and 3:1 on one of four, the first comes first though both flip one label."""
    data, run, (one_, two) = data_of(tmp_path / "data", 2), tmp_path / "run", cases(2)
    for judge, (b, d) in {"p": ("Citation", "Citation"), "q": ("Citation", "Reasoning"),
                          "r": ("Reasoning", "Reasoning"), "s": ("Reasoning", "Reasoning")}.items():  # fmt: skip
        labelled(run, data, judge, [
            steps(one_, "m", {"Aa.": "Citation", "Bb.": b, "Cc.": "Citation", "Ee.": "Citation"}, {"R.": True}),
            steps(two, "m", {"Dd.": d, "Ff.": "Citation"}, {"R.": True}),
        ])  # fmt: skip
    found = [split for split in report(cli, run)["splits"]["shown"] if split["kind"] == "effectiveness"]
    assert [(split["case"], split["text"], split["n_against"]) for split in found] == [
        (one_, "Bb.", 2),
        (two, "Dd.", 1),
    ]
    # for r and s the step is one of 4; without it efficiency falls from 1/4 to 0, factuality from 1 to 0 by convention
    assert found[0]["effect"] == {"metric": "factuality", "size": 1.0}
    assert {judge: said["label"] for judge, said in found[1]["labels"].items()} == {
        "p": "citation", "q": "reasoning", "r": "reasoning", "s": "reasoning",
    }  # fmt: skip
    assert report(cli, run, "--top", "1")["splits"]["shown"][0]["case"] == one_
    assert "p says citation" in plain(cli("sensitivity", run).out)


def test_completeness_over_other_reference_steps_is_refused_unless_forced(cli: Command, tmp_path: Path) -> None:
    data, run, (case,) = data_of(tmp_path / "data", 1), tmp_path / "run", cases(1)
    labelled(run, data, "p", [steps(case, "m", {"A.": "Reasoning"}, {"R.": True, "S.": False})])
    labelled(run, data, "q", [steps(case, "m", {"A.": "Reasoning"}, {"R and S.": True})])
    found = report(cli, run)
    assert one(found["differences"], metric="completeness")["compared"] is None
    assert all(row["mean"] is None for row in found["scores"] if row["metric"] == "completeness")
    assert one(found["differences"], metric="efficiency")["compared"]["difference"] == 0
    said = "in 1 of 1 units that both judged they had other reference steps"
    assert any(said in sentence for sentence in found["not_comparable"])
    assert said in plain(cli("sensitivity", run).out)
    forced = report(cli, run, "--force")
    assert one(forced["differences"], metric="completeness")["compared"]["difference"] == pytest.approx(-0.5)


# -- people ------------------------------------------------------------------------------------------------------------


def test_the_error_against_people_is_in_the_corrected_interval(cli: Command, runs: list[Path], tmp_path: Path) -> None:
    """People labelled every second case, and found 5 right of the 15 that x found right, and none of the others."""
    labels = {case: n < 10 for n, case in enumerate(cases(N)) if n % 2 == 0}
    people(runs[0], tmp_path / "data", "ann", labels)
    people(runs[0], tmp_path / "data", "bob", labels)
    found = report(cli, runs[0], "--people", "ann,bob")
    row = one(found["people"], metric="accuracy", judge="x")
    powered = row["prediction_powered"]
    assert (powered["n"], powered["n_labelled"], powered["human_mean"]) == (40, 20, 5 / 20)
    # x says 15 of 20 labelled and 15 of 20 others are right, so that nothing is moved, whatever the weight
    assert powered["value"] == pytest.approx(5 / 20)
    # sensitivity 5/5, specificity 5/15: (.75 + 1/3 - 1) / (1 + 1/3 - 1)
    assert row["misclassification"]["value"] == pytest.approx((0.75 + 1 / 3 - 1) / (1 / 3))
    pairs = {tuple(p["raters"]): p["between"] for p in one(found["agreement"], kind="accuracy")["pairs"]}
    assert pairs["x", "y"] == "judges"
    assert pairs["x", "ann"] == pairs["y", "bob"] == "judge and person"
    assert pairs["ann", "bob"] == "people"
    assert any(sentence.startswith("Against people, ") for sentence in found["summary"])
    assert "0.750 by x and 0.400 by y on the 40 units" in found["summary"][0], "not the people's"
    shown = plain(cli("sensitivity", runs[0], "--people", "ann,bob").out)
    assert "Angelopoulos et al. 2023" in shown
    assert "random part of all" in shown


def test_imported_labels_are_people_only_where_that_is_said(cli: Command, runs: list[Path]) -> None:
    found = report(cli, *runs)
    assert found["people"] == []
    assert "whether x, y are people is not known; if so, say it with --people" in found["notes"]


# -- the summary -------------------------------------------------------------------------------------------------------


def numbers(texts: Iterator[str]) -> set[str]:
    return {number for text in texts for number in re.findall(r"[+-]?\d+(?:\.\d+)?", text)}


def test_every_number_of_the_summary_stands_in_a_table(cli: Command, runs: list[Path], tmp_path: Path) -> None:
    few = {case: label for case, label in right((0, 16)).items() if int(case[1:]) < 30}
    people(runs[1], tmp_path / "data", "ann", few)
    found = report(cli, *runs, "--people", "ann")
    tables = found["section"]["tables"]
    cells = (text for table in tables for text in (*table["columns"], *(cell for row in table["rows"] for cell in row)))
    notes = (table["note"] for table in tables)
    assert 3 <= len(found["summary"]) <= 6
    counted = re.compile(r"\d+ of \d+ differences|of \d+ comparisons of at least \d+ labels")
    told = numbers(counted.sub("", sentence) for sentence in found["summary"])
    assert len(told) > 8
    assert told <= numbers(cells) | numbers(notes)


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_what_cannot_be_compared_is_one_sentence(cli: Command, runs: list[Path], tmp_path: Path) -> None:
    other = data_of(tmp_path / "fewer", N - 1)
    accuracy(tmp_path / "c", other, "gamma", {"x": dict.fromkeys(cases(N - 1), True)})
    assert "made from other data files" in cli("sensitivity", runs[0], tmp_path / "c").sentence
    assert cli("sensitivity", runs[0], tmp_path / "c", "--force").code == 0
    assert "was given twice" in cli("sensitivity", runs[0], runs[0]).sentence
    assert "no judge is named 'nobody'; there are: x, y" in cli("sensitivity", runs[0], "--judges", "nobody").sentence
    assert "no labels by a person named 'w'" in cli("sensitivity", runs[0], "--people", "w").sentence
    assert "--judges names nothing" in cli("sensitivity", runs[0], "--judges", ",").sentence
    unknown = cli("sensitivity", *runs, "--family", "alpha,x", "--family", "beta,w").sentence
    assert "--family: no model or judge is named 'w'; there are: alpha, beta, x, y" in unknown


def test_only_the_judges_that_are_named_are_compared(cli: Command, runs: list[Path], tmp_path: Path) -> None:
    people(runs[0], tmp_path / "data", "z", right((0, 3)))
    found = report(cli, runs[0], "--judges", "z,x")
    assert [judge["name"] for judge in found["judges"]] == ["x", "z"]
    assert {tuple(row["judges"]) for row in found["differences"]} == {("x", "z")}


def test_models_of_one_name_are_told_apart_by_their_folders(cli: Command, tmp_path: Path) -> None:
    data = data_of(tmp_path / "data", N)
    for run in ("a", "b"):
        accuracy(tmp_path / run, data, "alpha", {"x": right((0, 30)), "y": right((0, 16))})
    found = report(cli, tmp_path / "a", tmp_path / "b")
    assert [run["model"] for run in found["runs"]] == ["alpha (a)", "alpha (b)"]
    accuracy(tmp_path / "more" / "b", data, "alpha", {"x": right((0, 30))})
    found = report(cli, tmp_path / "b", tmp_path / "more" / "b")
    assert [run["model"] for run in found["runs"]] == [f"alpha ({tmp_path.name}/b)", "alpha (more/b)"]


@pytest.mark.parametrize("width", [80, 120])
def test_no_number_is_cut_whatever_the_width(
    cli: Command, runs: list[Path], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = cli("sensitivity", *runs).out.splitlines()
    assert max(map(len, lines)) <= width
    assert not any("…" in line and "·" not in line for line in lines)
    shown = plain("\n".join(lines))
    for cell in ("+0.350", "14, 35.0 % (21", "65.0 % (", "0.364 ("):
        assert cell in shown


def test_the_page_holds_the_same_tables_and_no_live_text(cli: Command, tmp_path: Path) -> None:
    data, run = data_of(tmp_path / "data", N), tmp_path / "run"
    accuracy(run, data, "<script>alert(1)</script>", {"x": right((0, 30)), "y": right((0, 16))})
    page = tmp_path / "page.html"
    ran = cli("sensitivity", run, "--html", page, "--json")
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "<details><summary>oracle: confusion matrices of accuracy: x / y</summary>" in text
    assert "Units: scored by both, of those scored by any" in text, "notes stand below their tables"
    assert "whether x, y are people is not known" in text.casefold()
    assert all(table["title"].replace("'", "&#39;").replace("<", "&lt;").replace(">", "&gt;") in text
               for table in ran.json["section"]["tables"])  # fmt: skip
    assert "+0.350" in text
