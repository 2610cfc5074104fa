"""What a sensitivity report takes together, corrects, counts apart and warns of; on labels counted by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from judge.errors import SpecError
from judge.report.sensitivity_summary import summary
from judge.report.sensitivity_tables import print_sensitivity, section
from judge.sensitivity import sensitivity
from judge.sensitivity.material import _families
from tests.runs.in_memory import Labels, candidate, judge_of, material, panel

CASES = [f"C{n:02}" for n in range(40)]


def first(n: int, of: int = 40) -> Labels:
    """Labels of the first cases, true for the first of them."""
    return {case: place < n for place, case in enumerate(CASES[:of])}


def table(report: dict[str, Any], title: str) -> dict[str, Any]:
    (found,) = [one for one in section(report, [])["tables"] if title in one["title"]]
    return dict(found)


def accuracy(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["metric"] == "accuracy"]


# -- who is taken together ---------------------------------------------------------------------------------------------


def test_panels_people_and_repetitions_do_not_make_all_judges_agree_better() -> None:
    said = {"j": first(30), "j again": first(30), "k": first(20), "l": first(10), "jury": first(20),
            "ann": first(20), "bob": first(20)}  # fmt: skip
    judges = [judge_of("j", "m"), judge_of("j again", "m"), panel("jury", "j", "k", "l")]
    report = sensitivity(material([candidate("alpha", said, CASES)], judges, ["ann", "bob"]))
    (entry,) = report["agreement"]
    assert {group["who"]: group["raters"] for group in entry["groups"]} == {
        "judges": ("j", "k", "l"),
        "people": ("ann", "bob"),
    }
    shown = table(report, "Agreement on single labels")
    (row,) = [dict(zip(shown["columns"], row, strict=True)) for row in shown["rows"] if "all 3 judges" in row]
    # 10 cases all true, 10 all false, of 20 two pairs of three differ: (20 + 20 / 3) / 40; half of all labels are true
    assert row["agree"].startswith("66.7 % (")
    assert row["Fleiss' kappa"].startswith("0.333 (")
    assert row["Cohen's kappa"] == ""
    assert "without panels and a judge's repetitions under equal settings" in shown["note"]


def test_all_repetitions_of_a_judge_give_one_value() -> None:
    """Given one judge under three names that says 30, 30 and 20 of 40 are right, of one model, and 40 of another."""
    said = {"j": first(30), "j2": first(30), "j3": first(20)}
    judges = [judge_of(name, "m") for name in said]
    runs = [candidate("alpha", said, CASES), candidate("beta", {name: first(40) for name in said}, CASES)]
    report = sensitivity(material(runs, judges))
    (row,) = report["self_consistency"]["pooled"]
    assert (row["judges"], row["models"], row["most_times"], row["n_outputs"]) == (
        ["j", "j2", "j3"], ["alpha", "beta"], 3, 80,
    )  # fmt: skip
    raw = row["compared"]["estimates"]["raw_agreement"]
    assert (raw["n_items"], raw["n_clusters"]) == (80, 40), "outputs of two models about one case are no two cases"
    assert raw["value"] == pytest.approx((70 + 10 / 3) / 80)
    assert raw["interval"] is not None
    assert len(report["self_consistency"]["pairs"]) == 6


# -- tests -------------------------------------------------------------------------------------------------------------


def test_p_values_are_corrected_for_all_tests_of_the_report() -> None:
    said = {"x": first(30), "y": first(24), "z": {**first(28), "C39": None}}
    report = sensitivity(material([candidate(name, said, CASES) for name in ("alpha", "beta")]))
    rows = [*report["differences"], *report["unscored"], *report["self_preference"]]
    found = sorted(
        (row["compared"]["p"], row["compared"]["p_holm"]) for row in rows if row["compared"]["p"] is not None
    )
    assert report["tests"]["n"] == len(found) == 6 + 4
    largest = 0.0
    for step, (p, corrected) in enumerate(found):
        largest = max(largest, min(1.0, (len(found) - step) * p))
        assert corrected == pytest.approx(largest)
    assert "for all 10 paired tests of this report" in table(report, "first judge less the second, on")["note"]


def test_many_tests_are_made_with_as_many_draws_as_their_correction_needs() -> None:
    """Given 28 tests of clear differences, whose least p in 2,000 draws times 28 is above .05 with 40 cases."""
    said = {f"j{n}": first(5 * n, 40) for n in range(8)}
    report = sensitivity(material([candidate("alpha", said, CASES)]))
    assert report["tests"]["n"] == 28
    assert report["tests"]["resamples"] > 2000
    (row,) = [row for row in report["differences"] if row["judges"] == ["j0", "j7"]]
    assert row["compared"]["p_holm"] < 0.05


def test_few_clusters_and_missing_intervals_are_told_beside_the_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    said = {"x": first(30), "y": first(10)}
    clusters = {case: f"K{n % 3}" for n, case in enumerate(CASES)}
    report = sensitivity(material([candidate("alpha", said, CASES, clusters)]))
    for title in ("scores under each judge", "first judge less the second, on", "Agreement on single labels"):
        assert "only 3 clusters of cases" in table(report, title)["note"]
    shown = table(report, "first judge less the second, on")
    assert "- (too few clusters)" in shown["rows"][0]
    assert "too few clusters: there are so few clusters that" in shown["note"]
    print_sensitivity(report, summary(report))
    printed = " ".join(capsys.readouterr().out.split())
    assert "only 3 clusters of cases" in printed
    assert "no interval: there are so few clusters that" in printed


def test_grades_have_headings_of_their_own() -> None:
    from judge.report.sensitivity_labels import measures

    assert {"kappa (quadratic)", "AC2 (quadratic)", "alpha (interval)"} <= set(measures(ordinal=True))
    assert {"Cohen's kappa", "AC1", "alpha"} <= set(measures(ordinal=False))


# -- who said what -----------------------------------------------------------------------------------------------------


def test_confusion_matrices_name_who_said_what(capsys: pytest.CaptureFixture[str]) -> None:
    report = sensitivity(material([candidate("alpha", {"x": first(30), "y": first(16)}, CASES)]))
    shown = table(report, "confusion matrices of accuracy: x / y")
    assert shown["columns"][-2:] == ["second says false", "second says true"]
    assert [row[-3:] for row in shown["rows"]] == [["first says false", "10", "0"], ["first says true", "14", "16"]]
    assert shown["folded"]
    print_sensitivity(report, [])
    assert "confusion matrices of accuracy" in capsys.readouterr().out, "there are two labels only"


# -- people ------------------------------------------------------------------------------------------------------------


def rates(people: dict[str, Labels]) -> dict[str, Any]:
    report = sensitivity(material([candidate("alpha", {"x": first(30), **people}, CASES)], people=list(people)))
    (row,) = accuracy(report["people"])
    return dict(row)


def test_error_rates_need_a_truth_that_most_people_share() -> None:
    """Given people who disagree on 6 of 40 answers, then two leave the truth open, and three do not."""
    two = rates({"ann": first(20), "bob": first(26)})
    assert (two["n_split"], two["misclassification"]["value"], two["misclassification"]["reason"]) == (
        6, None, "people_split",
    )  # fmt: skip
    assert two["prediction_powered"]["value"] == pytest.approx(23 / 40)
    three = rates({"ann": first(20), "bob": first(26), "eve": first(20)})
    assert three["n_split"] == 0
    # truth 20 of 40; x is right on all of these and on 10 of the other 20: (3/4 + 1/2 - 1) / (1 + 1/2 - 1)
    assert three["misclassification"]["value"] == pytest.approx(1 / 2)


def test_what_people_split_on_is_told_beside_the_corrected_estimates() -> None:
    said = {"x": first(30), "ann": first(20), "bob": first(26)}
    report = sensitivity(material([candidate("alpha", said, CASES)], people=["ann", "bob"]))
    shown = table(report, "Corrected by people's labels")
    assert "- (people split)" in shown["rows"][0]
    assert "people split evenly on 6 units" in shown["note"]


# -- own models --------------------------------------------------------------------------------------------------------


def preference(
    names: dict[str, str], runs: Sequence[tuple[str, str, dict[str, int]]], **more: Any
) -> list[dict[str, Any]]:
    """Rows of self-preference.

    Args:
        names: judge -> its model.
        runs: model, how the run is called, and by judge how many of 40 cases it solves.
    """
    candidates = [candidate(model, {judge: first(n) for judge, n in of.items()}, CASES, called=called)
                  for model, called, of in runs]  # fmt: skip
    judges = [judge_of(name, model, protocol="batched" if "batched" in name else "per-step")
              for name, model in names.items()]  # fmt: skip
    return accuracy(sensitivity(material(candidates, judges, **more))["self_preference"])


def test_several_judges_of_one_model_count_as_one() -> None:
    """Given other judges n and n batched of one model with a gap of 8 cases, and k with 2, then their mean is 5."""
    names = {"own": "m", "n": "other", "n batched": "other", "k": "third"}
    mine, theirs = {"own": 30, "n": 18, "n batched": 18, "k": 12}, dict.fromkeys(names, 10)
    (row,) = preference(names, [("m", "m", mine), ("beta", "beta", theirs)])
    assert row["others"] == ["n", "n batched", "k"]
    assert row["compared"]["means"] == (pytest.approx(20 / 40), pytest.approx(5 / 40))


def test_several_runs_of_the_own_model_are_averaged() -> None:
    names = {"own": "m", "k": "third"}
    runs = [("m", "m (a)", {"own": 30, "k": 10}), ("m", "m (b)", {"own": 20, "k": 10}),
            ("beta", "beta", {"own": 10, "k": 10})]  # fmt: skip
    (row,) = preference(names, runs)
    assert row["models"] == ["m (a)", "m (b)"]
    assert row["compared"]["means"] == (pytest.approx(15 / 40), pytest.approx(0))


def test_a_family_is_what_a_user_says_and_otherwise_one_name() -> None:
    names = {"own": "m-large", "k": "third"}
    runs = [("m-small", "m-small", {"own": 30, "k": 10}), ("beta", "beta", {"own": 10, "k": 10})]
    assert preference(names, runs) == []
    (row,) = preference(names, runs, families=[("m-large", "M-Small")])
    assert (row["judge"], row["models"], row["compared"]["difference"]) == ("own", ["m-small"], pytest.approx(20 / 40))
    (named,) = preference(names, runs, families=[("own", "m-small")])
    assert named["compared"] == row["compared"]
    assert preference(names, runs, families=[("own", "m-small", "beta")]) == [], "there is no other model"


def test_people_are_compared_with_apart_and_shrink_nothing() -> None:
    names = {"own": "m", "k": "third"}
    candidates = [candidate(model, {"own": first(n), "k": first(10), "ann": first(5, 5)}, CASES)
                  for model, n in (("m", 30), ("beta", 10))]  # fmt: skip
    judges = [judge_of(name, model) for name, model in names.items()]
    rows = accuracy(sensitivity(material(candidates, judges, people=["ann"]))["self_preference"])
    assert [(row["others"], row["people"], row["compared"]["n"]) for row in rows] == [
        (["k"], False, 40),
        (["ann"], True, 5),
    ]


def test_a_family_of_unknown_names_is_refused() -> None:
    found = material([candidate("alpha", {"x": first(30)}, CASES)])
    with pytest.raises(SpecError, match="--family: no model or judge is named 'who'; there are: alpha, x"):
        _families(found.judges, found.candidates, [("alpha", "who")])
    with pytest.raises(SpecError, match="at least two names"):
        _families(found.judges, found.candidates, [("alpha",)])


# -- where judges split ------------------------------------------------------------------------------------------------


def test_people_and_panels_do_not_vote_on_where_judges_split() -> None:
    said = {"x": first(20), "y": first(22), "jury": first(20), "ann": first(30)}
    report = sensitivity(material([candidate("alpha", said, CASES)], [panel("jury", "x", "y")], ["ann"]))
    found = report["splits"]
    assert (found["n"], found["who"], [split["case"] for split in found["shown"]]) == (2, "judges", ["C20", "C21"])
    assert all(split["n_against"] == 1 for split in found["shown"])
    assert found["shown"][0]["labels"]["ann"] == {"label": True, "rationale": "", "votes": False}


def test_among_splits_that_tell_as_much_models_take_turns() -> None:
    said = {"x": first(20), "y": first(23)}
    report = sensitivity(material([candidate(name, said, CASES) for name in ("alpha", "beta")]), top=4)
    assert [(split["model"], split["case"]) for split in report["splits"]["shown"]] == [
        ("alpha", "C20"), ("beta", "C20"), ("alpha", "C21"), ("beta", "C21"),
    ]  # fmt: skip


def test_where_there_are_no_judges_people_split() -> None:
    said = {"ann": first(20), "bob": first(22)}
    found = sensitivity(material([candidate("alpha", said, CASES)], people=["ann", "bob"]))["splits"]
    assert (found["n"], found["who"]) == (2, "people")
