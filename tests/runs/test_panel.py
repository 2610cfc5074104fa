"""Several judges as one: what the rules make of labels by hand, and what is missing or refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CHECKOUT, Command
from tests.explained import BE, medexqa_run
from tests.runs.labelled import accuracy, cases, data_of, labelled, people, steps
from tests.server import ModelServer, Reply

#: Four answers by three judges; q has no label of the last one.
SAID = {
    "p": dict(zip(cases(4), (True, True, False, True), strict=True)),
    "q": dict(zip(cases(4)[:3], (True, False, False), strict=True)),
    "r": dict(zip(cases(4), (True, False, True, True), strict=True)),
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    accuracy(tmp_path / "run", data_of(tmp_path / "data", 4), "m", SAID)
    return tmp_path / "run"


def panel(cli: Command, run: Path, judges: str, rule: str = "majority", name: str = "panel1") -> dict[str, Any]:
    ran = cli("panel", run, "--judges", judges, "--rule", rule, "--name", name, "--json")
    assert ran.code == 0, ran.err
    return dict(ran.json)


def labels(cli: Command, run: Path, case: str, kind: str, name: str = "panel1") -> dict[int, Any]:
    (entry,) = cli("show", run, case, "--json", "--judge", name).json
    return {one["item"]: one["label"] for one in entry["judges"][name]["judgements"] if one["kind"] == kind}


def metric(report: dict[str, Any], name: str) -> dict[str, Any]:
    return dict(report["settings"][0]["metrics"][name])


@pytest.mark.parametrize(
    ("judges", "rule", "mean", "unscored"),
    [
        ("p,q,r", "majority", 1 / 3, {"panel_incomplete": 1}),
        ("p,r", "majority", 2 / 2, {"panel_tie": 2}),
        ("p,q,r", "unanimous", 1 / 1, {"panel_tie": 2, "panel_incomplete": 1}),
        ("p,q", "unanimous", 1 / 2, {"panel_tie": 1, "panel_incomplete": 1}),
        ("p,q,r", "median", 1 / 3, {"panel_incomplete": 1}),
        ("p,r", "median", 2 / 2, {"panel_tie": 2}),
    ],
)
def test_whole_answers_by_hand(
    cli: Command, run: Path, judges: str, rule: str, mean: float, unscored: dict[str, int]
) -> None:
    made = metric(panel(cli, run, judges, rule), "accuracy")
    assert (made["mean"], made["unscored"]) == (pytest.approx(mean), unscored)
    scored = cli("score", run, "--judge", "panel1", "--json").json
    assert metric(scored, "accuracy") == made
    assert {key: scored["judge"][key] for key in ("source", "rule", "judges")} == {
        "source": "panel", "rule": rule, "judges": judges.split(","),
    }  # fmt: skip


def test_a_label_says_who_said_what(cli: Command, run: Path) -> None:
    panel(cli, run, "p,q,r")
    (entry,) = cli("show", run, "C01", "--json", "--judge", "panel1").json
    (one,) = entry["judges"]["panel1"]["judgements"]
    assert (one["label"], one["path"]) == (False, [{"labels": {"p": True, "q": False, "r": False}}])


def judged_steps(tmp_path: Path, **by_judge: list[tuple[str, bool | None]]) -> Path:
    """One case whose steps judges labelled: judge -> (label, whether it is true) of each step."""
    data, run = data_of(tmp_path / "data", 1), tmp_path / "run"
    for judge, given in by_judge.items():
        row = steps("C00", "m", {f"Step {n}.": label for n, (label, _) in enumerate(given)}, {"R.": True})
        for step, (_, true) in zip(row["steps"], given, strict=True):
            step["factulity"] = true
        labelled(run, data, judge, [row])
    return run


R, C = "Reasoning", "Citation"


def test_factuality_is_decided_by_those_that_found_the_step_effective(cli: Command, tmp_path: Path) -> None:
    """Step 0 is effective by all, false by two; step 1 by two that hold it true; step 2 by one, so nothing follows."""
    run = judged_steps(
        tmp_path,
        p=[(R, False), (R, True), (R, False)],
        q=[(R, False), (R, True), (C, None)],
        r=[(R, True), (C, None), (C, None)],
    )
    made = panel(cli, run, "p,q,r")
    assert labels(cli, run, "C00", "effectiveness") == {0: "reasoning", 1: "reasoning", 2: "citation"}
    assert labels(cli, run, "C00", "factuality") == {0: False, 1: True}
    assert metric(made, "efficiency")["mean"] == pytest.approx(2 / 3)
    assert metric(made, "factuality")["mean"] == pytest.approx(1 / 2)
    assert metric(made, "completeness")["mean"] == 1


def test_a_tie_on_one_step_keeps_the_other_labels_and_unscores_what_needs_it(cli: Command, tmp_path: Path) -> None:
    run = judged_steps(tmp_path, p=[(R, True), (R, True)], q=[(R, True), (C, None)])
    made = panel(cli, run, "p,q")
    assert labels(cli, run, "C00", "effectiveness") == {0: "reasoning"}
    for name in ("efficiency", "factuality"):
        assert metric(made, name)["unscored"] == {"panel_tie": 1}
    assert metric(made, "completeness")["mean"] == 1


def test_a_fact_that_one_of_two_left_open_is_incomplete(cli: Command, tmp_path: Path) -> None:
    run = judged_steps(tmp_path, p=[(R, True)], q=[(R, None)])
    made = panel(cli, run, "p,q")
    assert metric(made, "factuality")["unscored"] == {"panel_incomplete": 1}
    assert metric(made, "efficiency")["mean"] == 1


def test_steps_with_other_texts_are_not_the_same_item(cli: Command, tmp_path: Path) -> None:
    data, run = data_of(tmp_path / "data", 1), tmp_path / "run"
    for judge, text in (("p", "One."), ("q", "Another.")):
        labelled(run, data, judge, [steps("C00", "m", {text: R}, {"R.": True})])
    made = panel(cli, run, "p,q")
    assert metric(made, "efficiency")["unscored"] == {"panel_incomplete": 1}
    assert made["panel"]["missing"]["effectiveness"] == {"panel_incomplete": 1}
    assert metric(made, "completeness")["mean"] == 1


def test_judges_of_other_steps_are_no_panel(cli: Command, tmp_path: Path) -> None:
    data, run = data_of(tmp_path / "data", 1), tmp_path / "run"
    for judge, texts in {"p": ["R."], "q": ["R.", "S."], "s": ["S."]}.items():
        labelled(run, data, judge, [steps("C00", "m", {"One.": R}, dict.fromkeys(texts, True))])

    def refused(judges: str) -> str:
        ran = cli("panel", run, "--judges", judges, "--rule", "majority", "--name", "panel1")
        assert ran.code == 2
        return ran.sentence

    assert "other numbers of reference steps before them (p 1, q 2)" in refused("p,q")
    assert "p and s had other reference steps before them" in refused("p,s")
    assert list(cli("score", run, "--json").json["judges"]) == ["p", "q", "s"]


def test_the_grade_in_the_middle(cli: Command, tmp_path: Path) -> None:
    """Given grades 0, .5 and 1 of one explanation, and 0, 1, 1 of another, then .5 and 1."""
    run = medexqa_run(tmp_path)
    for name, grades in {"a": ("0", "0"), "b": ("0.5", "1"), "c": ("1", "1")}.items():
        file = tmp_path / f"{name}.csv"
        with file.open("w", encoding="utf-8", newline="") as handle:
            writer = csv.writer(handle)
            writer.writerow(["case_id", "kind", "item", "label"])
            writer.writerows([f"{BE}-00{n}", "explanation", 0, grade] for n, grade in enumerate(grades))
        assert cli("import-judgements", run, "--labels", file, "--judge-name", name).code == 0
    panel(cli, run, "a,b,c", "median", "middle")
    panel(cli, run, "a,b,c", "majority", "most")
    assert labels(cli, run, f"{BE}-000", "explanation", "middle") == {0: "0.5"}
    assert labels(cli, run, f"{BE}-001", "explanation", "middle") == {0: "1"}
    assert labels(cli, run, f"{BE}-000", "explanation", "most") == {}
    assert labels(cli, run, f"{BE}-001", "explanation", "most") == {0: "1"}


def test_labels_without_an_order_have_no_middle(cli: Command, tmp_path: Path) -> None:
    run = judged_steps(tmp_path, p=[(R, True)], q=[(R, True)])
    ran = cli("panel", run, "--judges", "p,q", "--rule", "median", "--name", "panel1")
    assert (ran.code, "the labels of effectiveness have no order" in ran.sentence) == (2, True)


def test_names_that_make_no_panel_are_one_sentence(cli: Command, run: Path) -> None:
    def sentence(judges: str, name: str = "panel1", rule: str = "majority") -> str:
        ran = cli("panel", run, "--judges", judges, "--rule", rule, "--name", name)
        assert ran.code == 2
        return ran.sentence

    assert "at least two judges" in sentence("p")
    assert "has no judgements by 'nobody'; there are: p, q, r" in sentence("p,nobody")
    assert "has judgements by 'r' already" in sentence("p,q", "r")
    assert "no comma" in sentence("p,q", "a,b")
    panel(cli, run, "p,q")
    assert "'panel1' is a panel itself" in sentence("panel1,r", "panel2")
    assert "has judgements by 'panel1' already" in sentence("p,q,r")
    assert "has judgements by 'panel1' already" in sentence("p,q", rule="unanimous")


def test_a_panel_whose_judges_said_more_is_pointed_out_and_made_again(cli: Command, tmp_path: Path) -> None:
    """Given a run whose second case is answered again and labelled anew, then the panel's label went with the old one,
    and comes back when it is made again."""
    fixtures = CHECKOUT / "fixtures/medrbench"
    first, second, _ = names = ("SYN0000001", "SYN0000002", "SYN0000003")
    texts = json.loads((fixtures / "diagnosis_3_cases_with_rare_disease_1.json").read_text(encoding="utf-8"))
    cut = {second: Reply(content="### Answer:", finish_reason="length")}

    def script(request: Any) -> Reply:
        case = next(c for c in names if texts[c]["generate_case"]["case_summary"][:80] in request.text)
        return cut.get(case, Reply(content="### Answer:\nGout"))

    run = tmp_path / "run"
    with ModelServer(script) as server:
        played = cli(
            "run", "medrbench", "--model", server.spec, "--data", fixtures, "--setting", "oracle", "--out", run
        )
        for judge in ("p", "q"):
            people(run, fixtures, judge, {first: True, second: True})
        assert metric(panel(cli, run, "p,q"), "accuracy")["n_scored"] == 2, played.err
        cut.clear()
        cli("run", "medrbench", "--resume", run, "--retry", "truncated")
    scored = metric(cli("score", run, "--judge", "panel1", "--json").json, "accuracy")
    assert (scored["n_scored"], scored["unscored"]) == (1, {"not_judged": 2})
    said = "panel1 was made before its judges said what they say now; make it again with medjudge panel"
    assert said not in cli("sensitivity", run, "--json").json["notes"], "its judges' labels are gone as well"
    again = panel(cli, run, "p,q")
    assert (again["panel"]["again"], again["panel"]["units"]) == (True, 1)
    forget(run, "p", first)
    assert said in cli("sensitivity", run, "--json").json["notes"]
    for command in ("score", "show"):
        assert said in cli(command, run, "--judge", "panel1", "--json").json["warnings"]
    assert said in cli("score", run, "--judge", "panel1", "--judge", "p", "--json").json["notes"]
    assert {"text": said, "judge": ""} in cli("report", run, "--judge", "panel1", "--json").json["warnings"]
    assert metric(panel(cli, run, "p,q"), "accuracy")["unscored"]["panel_incomplete"] == 1
    assert said not in cli("sensitivity", run, "--json").json["notes"]


def forget(run: Path, judge: str, case: str) -> None:
    """Take back what a judge said of a case, as a person may."""
    from judge.runs.store import open_run

    store = open_run(run, write=True)
    try:
        store.judging.take_back(judge, next(s.unit.key for s in store.units() if s.unit.case == case))
    finally:
        store.close()


def test_a_panel_beside_its_judges_is_said_to_be_made_of_them(cli: Command, run: Path) -> None:
    panel(cli, run, "p,q,r")
    notes = cli("sensitivity", run, "--json").json["notes"]
    assert "panel1 is made of labels by p, q, r, so that it agrees with them more than others would" in notes
