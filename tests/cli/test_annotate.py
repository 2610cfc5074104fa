"""A person rates explanations: over a pipe, by a sheet, and what is taken back."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from judge.runs.store import open_run
from tests.conftest import CHECKOUT, Command, Ran, invoke
from tests.explained import BE, MODEL, SLP, caremedeval_run, grader, medexqa_run
from tests.runs.synthetic import IDS
from tests.server import ModelServer


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return medexqa_run(tmp_path)


def rate(run: Path, typed: str, *more: object, rater: str = "ann") -> Ran:
    """`medjudge annotate` in this process, with `typed` on its standard input."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.encode()), encoding="utf-8"))
        return invoke("annotate", run, "--rater", rater, *more)


def kept(run: Path, rater: str = "ann") -> dict[str, tuple[str, str]]:
    """Case -> rating and note."""
    store = open_run(run, write=False)
    try:
        said = store.judging.judged(rater)
        cases = {stored.unit.key: stored.unit.case for stored in store.units()}
    finally:
        store.close()
    return {
        cases[key]: (str(one.label), one.rationale) for key, of in said.items() for one in of.view.of("explanation")
    }


def facts(run: Path) -> dict[str, Any]:
    store = open_run(run, write=False)
    try:
        return store.judging.judges()
    finally:
        store.close()


def rows(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8-sig"), newline="")))


def fill(file: Path, ratings: dict[str, str], *, separator: str = ",") -> Path:
    """The sheet as a spreadsheet saves it after somebody has filled it in."""
    table = rows(file)
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(table[0]), delimiter=separator)
    writer.writeheader()
    writer.writerows(row | {"rating": ratings.get(row["case_id"], "")} for row in table)
    filled = file.with_name(f"filled-{file.name}")
    filled.write_text(out.getvalue(), encoding="utf-8-sig", newline="")
    return filled


# -- at the terminal ---------------------------------------------------------------------------------------------------


def test_a_person_rates_over_a_pipe_and_goes_on_later(run: Path, cli: Command) -> None:
    first = rate(run, "1\nn a bit short\n.5\n0,5\nq\n")
    assert (first.code, first.err) == (0, "")
    assert "3 rated, 8 to go." in first.out
    assert "1 more have nothing to rate" in first.out
    early = kept(run)
    assert sorted(grade for grade, _ in early.values()) == ["0.5", "0.5", "1"]
    assert [note for _, note in early.values() if note] == ["a bit short"]
    second = rate(run, "1\n" * 20)
    assert (second.code, "11 rated, 0 to go." in second.out) == (0, True)
    assert second.out.count("--- Question") == 8  # nothing is asked twice
    late = kept(run)
    assert len(late) == 11
    assert {case: late[case] for case in early} == early
    assert rate(run, "").out.count("--- Question") == 0


def test_it_shows_what_the_rubric_needs_and_nothing_about_whose_it_is(run: Path, cli: Command) -> None:
    with ModelServer(grader, models=["judge-model"]) as server:
        assert cli("judge", run, "--judge", f"{server.url}#judge-model").code == 0
    rate(run, "0.5\n" * 11, rater="bob")
    ran = rate(run, "?\n" + "1\n" * 11)
    for part in ("Which part of the invented Orsel infusion pump", "B. the pinch clamp", "Reference explanation 2",
                 "GOOD: the pinch clamp shuts the line.", "B. the pinch clamp (right)"):  # fmt: skip
        assert part in ran.out
    assert MODEL not in ran.out + ran.err
    for word in ("bob", "judge-model", "By its first word", str(run)):
        assert word not in ran.out
    assert "\x1b" not in ran.out


def test_the_order_comes_from_the_seed_and_not_from_the_file(run: Path) -> None:
    def order(seed: int, rater: str) -> list[str]:
        shown = rate(run, "1\n" * 11, "--seed", seed, rater=rater).out
        return [part.partition("\n")[0] for part in shown.split("--- Question\n")[1:]]

    one, other = order(1, "ann"), order(2, "bob")
    assert sorted(one) == sorted(other)
    assert one != other
    assert one == order(1, "eve")


def test_undo_takes_the_last_rating_back_also_of_an_earlier_sitting(run: Path, cli: Command) -> None:
    rate(run, "1\n.5\nq\n")
    before = kept(run)
    ran = rate(run, "u\nu\nu\nq\n")
    assert ran.code == 0
    assert ran.out.count("Taken back") == 2
    assert "no rating to take back" in ran.out
    assert facts(run) == {}, "nothing of a rater without ratings stays"
    again = rate(run, "1\n1\nu\n.5\nq\n")
    assert again.code == 0
    assert sorted(grade for grade, _ in kept(run).values()) == ["0.5", "1"]
    assert set(kept(run)) == set(before), "what was taken back comes first again"


def test_an_undone_rating_is_nowhere_in_the_file(run: Path) -> None:
    rate(run, "n UNIQUENOTE\n1\nq\n")
    assert rate(run, "", "--undo", "last").code == 0
    with contextlib.closing(sqlite3.connect(run / "run.sqlite")) as db:
        tables = {name: db.execute(f"SELECT count(*) FROM {name} WHERE judge = 'ann'").fetchone()[0]
                  for name in ("judged", "judgements", "scores")}  # fmt: skip
    assert tables == {"judged": 0, "judgements": 0, "scores": 0}


def test_a_rating_of_one_case_can_be_taken_back_by_its_id(run: Path) -> None:
    rate(run, "1\n" * 11)
    assert rate(run, "", "--undo", f"{SLP}-004").code == 0
    assert f"{SLP}-004" not in kept(run)
    assert len(kept(run)) == 10
    assert "there is no rating of this case by ann" in rate(run, "", "--undo", f"{SLP}-004").sentence
    assert "there is no rating by eve" in rate(run, "", "--undo", "last", rater="eve").sentence


def test_skipped_ones_come_back_in_another_sitting(run: Path) -> None:
    ran = rate(run, "s\n" * 10 + "1\n")
    assert "1 rated, 10 to go." in ran.out
    assert rate(run, "").out.count("--- Question") == 1


def test_what_is_typed_wrong_changes_nothing(run: Path) -> None:
    ran = rate(run, "2\n1.5\nyes\n\nn\n0.55\n10\n\x1b[A\nq\n")
    assert ran.code == 0
    assert ran.out.count("Type 0, .5 or 1") == 7
    assert facts(run) == {}


def test_a_rating_against_the_rubric_is_kept_and_pointed_out(run: Path) -> None:
    ran = rate(run, "1\n" * 11)
    assert ran.out.count("the answer is not the right one, which is 0 by the rubric and counts as that; u takes") == 2
    assert (
        ran.out.count("nothing explains the right answer, which is 0.5 by the rubric and counts as that; u takes") == 1
    )
    assert kept(run)[f"{BE}-002"][0] == "1"


def test_a_wrong_answer_counts_0_whatever_its_rating_which_stays_for_agreement(run: Path, cli: Command) -> None:
    """Given .5 for all 11, of which 9 are right, when scored, then the score is at most what right answers can get."""
    rate(run, ".5\n" * 11)
    report = cli("score", run, "--judge", "ann", "--json").json
    metrics = report["settings"][0]["metrics"]
    assert metrics["explanation_score"]["mean"] == pytest.approx(9 * 0.5 / 11)
    assert "gate:wrong=0" in metrics["explanation_score"]["signature"]
    assert any("2 labels by ann are not what the rubric says" in warning for warning in report["warnings"])
    assert kept(run)[f"{BE}-002"][0] == "0.5"
    assert "0.5 (counts as 0 by the rubric)" in cli("show", run, f"{BE}-002").out


def test_the_gate_shuts_for_imported_labels_too(run: Path, tmp_path: Path, cli: Command) -> None:
    file = tmp_path / "labels.csv"
    file.write_text(f"case_id,kind,item,label\n{BE}-000,explanation,0,1\n{BE}-002,explanation,0,0.5\n")
    ran = cli("import-judgements", run, "--labels", file, "--judge-name", "elsewhere", "--json")
    assert ran.json["settings"][0]["metrics"]["explanation_score"]["mean"] == (1 + 0) / 2


def test_ctrl_c_keeps_what_is_there(run: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "medjudge", "annotate", str(run), "--rater", "ann"], cwd=CHECKOUT, env=os.environ,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write("1\n.5\n")
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(_rated_so_far(run)) < 2:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "2 rated, 9 to go." in out
    assert len(kept(run)) == 2


def _rated_so_far(run: Path) -> dict[str, tuple[str, str]]:
    try:
        return kept(run)
    except Exception:  # the other process has the file for a moment
        return {}


# -- whose ratings, and which ------------------------------------------------------------------------------------------


def test_a_sample_takes_so_many_of_each_specialty_and_is_kept_with_the_rater(run: Path) -> None:
    ran = rate(run, "1\n" * 20, "--sample", 2, "--seed", 7)
    assert ran.code == 0
    cases = list(kept(run))
    unanswered = 4 - len(cases)  # one that was drawn may have no answer: it is missing with its reason, not replaced
    assert unanswered in (0, 1)
    assert {case.rpartition("-")[0] for case in cases} == {BE, SLP}
    assert facts(run)["ann"] == {"source": "person", "rater": "ann", "seed": 7, "sample": 2, "by": "specialty"}
    assert "0 to go" in rate(run, "").out, "the sample need not be named again"
    assert "ann has begun with --sample 2, not 3" in rate(run, "", "--sample", 3).sentence
    assert "ann has begun with --seed 7, not 8" in rate(run, "", "--seed", 8).sentence
    rate(run, "1\n" * 20, "--sample", 3, "--seed", 7, rater="bob")
    assert set(cases) < set(kept(run, "bob")), "a bigger sample holds a smaller one"


def test_a_sample_is_of_the_same_cases_whoever_s_outputs_they_are(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    second = medexqa_run(other, {f"{name}-00{n}": ("B", f"Other words {n}.") for name in (BE, SLP) for n in range(6)})
    drawn = []
    for folder in (run, second):
        rate(folder, "1\n" * 9, "--sample", 3)
        drawn.append(set(kept(folder)))
    assert drawn[0] - drawn[1] == set()
    assert drawn[1] - drawn[0] <= {f"{BE}-005"}  # the one that has no answer in the first run


def test_a_drawn_unit_without_an_answer_is_missing_with_its_reason(run: Path, cli: Command) -> None:
    rate(run, "1\n" * 20)
    shown = cli("show", run, f"{BE}-005", "--json").json[0]["judges"]["ann"]
    assert shown["missing"]["explanation"]["reason"] == "no_answer"
    assert shown["scores"]["explanation_score"] == {"unscored": "no_answer"}


def test_caremedeval_asks_only_about_justified_questions_that_were_explained(tmp_path: Path, cli: Command) -> None:
    run = caremedeval_run(tmp_path)
    ran = rate(run, "1\n0\n.5\n1\n1\n")
    assert ran.out.count("--- Question") == 3
    assert set(kept(run)) == {IDS[3], IDS[4], IDS[7]}
    report = cli("show", run, "--judge", "ann", "--json").json
    score = report["settings"][0]["metrics"]["explanation_score"]
    rated = {case: float(grade) for case, (grade, _) in kept(run).items()}
    assert sorted(rated.values()) == [0, 0.5, 1]
    # the answer to 4 lacks a letter, so it counts as 0
    assert (score["n_scored"], score["mean"]) == (3, pytest.approx((rated[IDS[3]] + 0 + rated[IDS[7]]) / 3))
    assert "judged by ann · a person" in cli("show", run, "--judge", "ann").out


def test_the_human_score_and_the_judge_s_have_one_name(run: Path, cli: Command) -> None:
    rate(run, "1\n" * 11)
    score = cli("score", run, "--judge", "ann", "--json").json["settings"][0]["metrics"]["explanation_score"]
    assert score["mean"] == pytest.approx((8 * 1 + 0.5 + 2 * 0) / 11), "eight explained, one bare, two wrong answers"
    assert score["unscored"] == {"no_answer": 1}


def test_names_that_are_taken_and_options_that_do_not_go_together_are_refused(run: Path, cli: Command) -> None:
    with ModelServer(grader, models=["judge-model"]) as server:
        cli("judge", run, "--judge", f"{server.url}#judge-model", "--judge-name", "j")
    assert "has labels by 'j' that no person gave here" in rate(run, "1\n", rater="j").sentence
    assert "--by goes with --sample" in rate(run, "", "--by", "specialty").sentence
    assert "there is no such breakdown; there are: specialty" in rate(run, "", "--sample", 1, "--by", "x").sentence
    assert "two different things" in rate(run, "", "--undo", "last", "--csv", "x.csv").sentence
    assert "no spaces around them" in rate(run, "", rater=" ").sentence


def test_a_benchmark_without_explanations_says_so(tmp_path: Path, cli: Command) -> None:
    file = tmp_path / "outputs.json"
    file.write_text(json.dumps({"SYN0000001": "### Answer:\nGout"}), encoding="utf-8")
    cli("import", "medrbench", "--setting", "oracle", "--predictions", file, "--data", CHECKOUT / "fixtures/medrbench",
        "--out", tmp_path / "run")  # fmt: skip
    assert rate(tmp_path / "run", "").sentence.endswith("medrbench has no explanations that a person could rate")


# -- sheets ------------------------------------------------------------------------------------------------------------


def test_a_sheet_goes_out_blind_and_comes_back_filled(run: Path, tmp_path: Path, cli: Command) -> None:
    sheet = tmp_path / "sheet.csv"
    ran = rate(run, "", "--export", sheet)
    assert (ran.code, "11 explanations to be rated" in ran.out) == (0, True)
    assert facts(run) == {}
    table = rows(sheet)
    assert len(table) == 11
    assert MODEL not in sheet.read_text(encoding="utf-8-sig")
    assert {row["rating"] for row in table} == {""}
    formula = next(row for row in table if row["case_id"] == f"{SLP}-004")
    assert formula["explanation"] == "'=SUM(A1) GOOD"
    assert "\x1b" not in next(row for row in table if row["case_id"] == f"{BE}-004")["explanation"]
    filled = fill(sheet, {f"{BE}-000": "1", f"{BE}-001": "0.5", f"{SLP}-004": "1.0", f"{BE}-002": "1"})
    back = rate(run, "", "--csv", filled)
    assert back.code == 0, back.err
    assert "4 ratings added, 0 were there already, 7 rows have none." in back.out
    assert "1 of them are not what the rubric says" in back.out
    assert {case: grade for case, (grade, _) in kept(run).items()} == {
        f"{BE}-000": "1", f"{BE}-001": "0.5", f"{SLP}-004": "1", f"{BE}-002": "1",
    }  # fmt: skip
    assert facts(run)["ann"]["sheets"][0]["file"] == filled.name
    assert "0 ratings added, 4 were there already" in rate(run, "", "--csv", filled).out
    assert rate(run, "").out.count("--- Question") == 1, "the terminal goes on where the sheet ended"


def test_semicolons_and_decimal_commas_are_read(run: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    rate(run, "", "--export", sheet)
    filled = fill(sheet, {f"{BE}-000": "0,5", f"{BE}-001": "0"}, separator=";")
    assert rate(run, "", "--csv", filled).code == 0
    assert {case: grade for case, (grade, _) in kept(run).items()} == {f"{BE}-000": "0.5", f"{BE}-001": "0"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("case_id\nx\n", "line 1: there is no column rating"),
        ("", "line 1: there is no column case_id"),
        ("case_id,rating\n", "there is no row below"),
        ("case_id,rating\nnobody,1\n", "line 2, column case_id: no explanation of a case 'nobody'"),
        (f"case_id,rating\n{BE}-000,1\n{BE}-001,5\n", "line 3, column rating: '5' is none of 0, 0.5, 1"),
        (f"case_id,rating\n{BE}-000,1\n{BE}-000,1\n", "is rated at line 2 already"),
        (f"case_id,rating\n{BE}-000,1,2\n", "line 2: 3 cells under 2 columns"),
        (f"case_id,rating,rating\n{BE}-000,1,2\n", "the column rating is there twice"),
        (f"case_id,rating,key\n{BE}-000,1,abc\n", "'abc' is not the output that this run has for the case"),
        (f"case_id,rating\n{BE}-005,1\n", "no explanation of a case"),
        (f'case_id,rating\n{BE}-000,"1\n', "line 2: not usable CSV"),
        (b"case_id,rating\n\xff,1\n", "not UTF-8"),
    ],
)
def test_a_sheet_with_a_fault_changes_nothing(run: Path, tmp_path: Path, text: str | bytes, problem: str) -> None:
    file = tmp_path / "bad.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    ran = rate(run, "", "--csv", file)
    assert ran.code == 2
    assert str(file) in ran.sentence
    assert problem in ran.sentence
    assert facts(run) == {}


def test_a_sheet_of_another_run_is_refused(run: Path, tmp_path: Path) -> None:
    """Given two runs of one data set, when the sheet of one is read into the other, then no rating changes hands."""
    other = tmp_path / "other"
    other.mkdir()
    sheet = tmp_path / "sheet.csv"
    rate(medexqa_run(other), "", "--export", sheet)
    ran = rate(run, "", "--csv", fill(sheet, {f"{BE}-000": "1"}))
    assert (ran.code, "is not the output that this run has" in ran.sentence) == (2, True)


def test_a_sheet_that_contradicts_a_rating_is_refused_and_an_export_overwrites_nothing(
    run: Path, tmp_path: Path
) -> None:
    sheet = tmp_path / "sheet.csv"
    rate(run, "", "--export", sheet)
    assert "is there already and may hold somebody's work" in rate(run, "", "--export", sheet).sentence
    rate(run, "", "--csv", fill(sheet, {f"{BE}-000": "1"}))
    refused = rate(run, "", "--csv", fill(sheet, {f"{BE}-000": "0.5", f"{BE}-001": "1"})).sentence
    assert "ann has rated it 1, not 0.5" in refused
    assert list(kept(run)) == [f"{BE}-000"]
    assert "cannot be read" in rate(run, "", "--csv", tmp_path / "none.csv").sentence


def test_labels_by_kind_can_be_imported_as_for_other_benchmarks(run: Path, tmp_path: Path, cli: Command) -> None:
    file = tmp_path / "labels.csv"
    file.write_text(f"case_id,kind,item,label\n{BE}-000,explanation,0,1\n{BE}-001,explanation,0,0.5\n")
    ran = cli("import-judgements", run, "--labels", file, "--judge-name", "elsewhere", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["settings"][0]["metrics"]["explanation_score"]["mean"] == 0.75
    for line, problem in (
        (f"{BE}-000,explanation,1,1", "graded as a whole, item 0, found '1'"),
        (f"{BE}-000,accuracy,0,1", "'accuracy' is not explanation"),
        (f"{BE}-000,explanation,0,", "line 2, column label: it is empty"),
    ):
        file.write_text(f"case_id,kind,item,label\n{line}\n")
        ran = cli("import-judgements", run, "--labels", file, "--judge-name", "other")
        assert problem in ran.sentence
