"""A run as JSON Lines, CSV and Parquet: nothing lost, nothing invented, and the numbers of the report."""

from __future__ import annotations

import csv
import importlib.util
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from judge.exports.writers import json_line, safe_cell
from tests.conftest import CHECKOUT, Command
from tests.exports.runs import HOSTILE, KEY, LONE, MEGABYTE, demo, hostile, judged, lines, mean_over_cases, unfinished
from tests.runs.synthetic import IDS

Row = dict[str, Any]


@pytest.fixture(scope="module")
def demo_run(cli: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo(cli, tmp_path_factory.mktemp("demo") / "run")


@pytest.fixture(scope="module")
def hostile_run(cli: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEDJUDGE_API_KEY", KEY)
        return hostile(cli, tmp_path_factory.mktemp("hostile") / "run")


@pytest.fixture(scope="module")
def judged_run(cli: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged(cli, tmp_path_factory.mktemp("judged") / "run")


def exported(cli: Command, run: Path, to: str, out: Path, *more: object) -> Path:
    ran = cli("export", run, "--to", to, "--out", out, *more)
    assert ran.code == 0, ran.err
    return out


def cells(file: Path, encoding: str = "utf-8") -> list[dict[str, str]]:
    csv.field_size_limit(2_000_000)
    with file.open(encoding=encoding, newline="") as stream:
        return list(csv.DictReader(stream))


def assert_as_reported(report: Row, rows: list[Row], judge: str | None) -> None:
    """Counts, reasons and means of every metric of a judge are those of the report."""
    for setting in report["settings"]:
        for name, metric in setting["metrics"].items():
            own = [row for row in rows if row["setting"] == setting["setting"] and row["metric"] == name
                   and row["judge"] in (None, judge)]  # fmt: skip
            assert {row["signature"] for row in own} == {metric["signature"]}
            assert sum(row["value"] is not None for row in own) == metric["n_scored"]
            reasons = [row["reason"] for row in own if row["value"] is None]
            assert {reason: reasons.count(reason) for reason in reasons} == metric["unscored"]
            mean = mean_over_cases(own)
            assert mean == (None if metric["mean"] is None else pytest.approx(metric["mean"], abs=1e-12))


# -- JSON Lines ------------------------------------------------------------------------------------------------------


def test_scores_of_the_demo_are_those_that_its_readme_promises(cli: Command, demo_run: Path, tmp_path: Path) -> None:
    rows = lines(exported(cli, demo_run, "jsonl", tmp_path / "out") / "scores.jsonl")
    emr = {(row["setting"], row["case"]): row for row in rows if row["metric"] == "emr"}
    # exact in the full text: all but question 6; without a text: 7 and 8; 2 and 6 are unscored
    assert [emr["full", IDS[n]]["value"] for n in range(1, 9)] == [1, 1, 1, 1, 1, 0, 1, 1]
    assert [emr["none", IDS[n]]["value"] for n in range(1, 9)] == [0, None, 0, 0, 0, None, 1, 1]
    assert emr["none", IDS[2]]["reason"] == "truncated"
    assert all((row["value"] is None) == (row["reason"] is not None) for row in rows)


@pytest.mark.parametrize("fixture", ["demo_run", "hostile_run"])
def test_numbers_are_those_of_the_report(
    cli: Command, fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    run = request.getfixturevalue(fixture)
    rows = lines(exported(cli, run, "jsonl", tmp_path / "out") / "scores.jsonl")
    assert_as_reported(cli("score", run, "--json").json, rows, None)


def test_every_judge_s_numbers_are_those_of_its_report(cli: Command, judged_run: Path, tmp_path: Path) -> None:
    rows = lines(exported(cli, judged_run, "jsonl", tmp_path / "out") / "scores.jsonl")
    assert {row["judge"] for row in rows} == {None, "one", "two"}
    for judge in ("one", "two"):
        assert_as_reported(cli("show", judged_run, "--judge", judge, "--json").json, rows, judge)
    efficiency = {(row["judge"], row["case"]): row for row in rows if row["metric"] == "efficiency"}
    assert efficiency["one", "SYN0000001"]["value"] == 1.0
    assert efficiency["two", "SYN0000001"]["value"] is None
    assert efficiency["two", "SYN0000001"]["reason"] == "judge_invalid"
    # a metric without a judge stands there once, not once for each judge
    assert len([row for row in rows if row["metric"] == "exact"]) == 3


def test_labels_and_what_is_missing_of_them(cli: Command, judged_run: Path, tmp_path: Path) -> None:
    rows = lines(exported(cli, judged_run, "jsonl", tmp_path / "out") / "judgements.jsonl")
    steps = [row for row in rows if row["judge"] == "one" and row["kind"] == "effectiveness"]
    texts = {(row["case"], row["item"]): (row["text"], row["label"]) for row in steps if row["label"] is not None}
    assert texts["SYN0000001", 1] == ("Beta.", "reasoning")
    assert texts["SYN0000002", 0] == ("=Epsilon.", "reasoning")
    missing = [row for row in rows if row["judge"] == "two" and row["reason"] == "judge_invalid"]
    assert {(row["case"], row["kind"]) for row in missing} >= {("SYN0000001", "effectiveness")}
    assert all(row["item"] is None and row["label"] is None for row in missing)


def test_only_the_judges_that_are_named(cli: Command, judged_run: Path, tmp_path: Path) -> None:
    out = exported(cli, judged_run, "jsonl", tmp_path / "out", "--judge", "two")
    assert {row["judge"] for row in lines(out / "judgements.jsonl")} == {"two"}
    assert list(lines(out / "run.jsonl")[0]["judges"]) == ["two"]
    ran = cli("export", judged_run, "--to", "jsonl", "--out", tmp_path / "other", "--judge", "three")
    assert ran.code == 2
    assert "no judgements by 'three'; there are: one, two" in ran.sentence
    assert not (tmp_path / "other").exists()


def test_the_header_says_what_the_numbers_are(cli: Command, judged_run: Path, tmp_path: Path) -> None:
    out = exported(cli, judged_run, "jsonl", tmp_path / "out")
    (header,) = lines(out / "run.jsonl")
    report = cli("show", judged_run, "--judge", "one", "--json").json
    assert header["spec"] == report["spec"] | {"data": "medrbench"}
    assert header["state"] == "complete"
    signatures = {metric["metric"]: metric["signature"] for metric in header["metrics"] if metric["judge"] != "two"}
    assert signatures == {name: metric["signature"] for name, metric in report["settings"][0]["metrics"].items()}
    assert set(header["judges"]) == {"one", "two"}
    assert set(report["warnings"]) <= set(header["warnings"])
    assert set(header["files"]) == {path.name for path in out.iterdir()}
    assert str(judged_run.parent) not in json.dumps(header)


def test_every_record_says_what_it_is_and_of_which_unit(cli: Command, judged_run: Path, tmp_path: Path) -> None:
    out = exported(cli, judged_run, "jsonl", tmp_path / "out")
    records = {"scores": "score", "units": "unit", "judgements": "judgement", "exchanges": "exchange", "cases": "case"}
    columns = lines(out / "run.jsonl")[0]["tables"]
    for table, record in records.items():
        rows = lines(out / f"{table}.jsonl")
        assert rows
        for row in rows:
            assert (row["type"], row["benchmark"]) == (record, "medrbench")
            assert list(row) == ["type", *columns[table]]
            assert row["case"]


def test_hostile_replies_are_there_word_for_word(cli: Command, hostile_run: Path, tmp_path: Path) -> None:
    out = exported(cli, hostile_run, "jsonl", tmp_path / "out")
    units = {(row["case"], row["epoch"]): row for row in lines(out / "units.jsonl")}
    assert set(units) == {(IDS[n], epoch) for n in range(1, 6) for epoch in (1, 2)}
    said = {n: units[IDS[n], 2]["transcript"]["replies"][-1]["text"] for n in range(1, 6)}
    for n in (1, 2, 4):
        assert said[n] == HOSTILE[n].content.strip()  # type: ignore[union-attr]
    assert len(said[4]) > len(MEGABYTE)
    responses = [row["response"] for row in lines(out / "exchanges.jsonl")]
    assert any(LONE in json.loads(response)["choices"][0]["message"]["content"] for response in responses)


def test_no_reader_takes_a_text_for_two_lines(cli: Command, hostile_run: Path, tmp_path: Path) -> None:
    out = exported(cli, hostile_run, "jsonl", tmp_path / "out")
    for file in out.glob("*.jsonl"):
        text = file.read_text(encoding="utf-8")
        assert len(text.splitlines()) == text.count("\n")


def test_no_key_is_exported(cli: Command, hostile_run: Path, tmp_path: Path) -> None:
    for to in ("jsonl", "csv", "inspect"):
        for file in exported(cli, hostile_run, to, tmp_path / to).iterdir():
            assert all(KEY.encode() not in content for content in contents(file)), file


def contents(file: Path) -> Iterator[bytes]:
    """What is in a file, or in each member of an archive."""
    if not zipfile.is_zipfile(file):
        yield file.read_bytes()
        return
    with zipfile.ZipFile(file) as archive:
        yield from map(archive.read, archive.namelist())


def test_a_number_that_json_does_not_know_becomes_a_text() -> None:
    line = json_line({"a": [float("nan"), {"b": float("-inf")}], "c": 0.5, "d": None})
    assert json.loads(line) == {"a": ["nan", {"b": "-inf"}], "c": 0.5, "d": None}


# -- metrics ---------------------------------------------------------------------------------------------------------


def place(row: Row) -> tuple[Any, ...]:
    return row["setting"], row["part"], row["breakdown"], row["group"], row["metric"]


def assert_same_numbers(row: Row, numbers: Row) -> None:
    """A row of the table has the report's numbers, to the last digit."""
    low, high = numbers["interval"] or (None, None)
    lowest, highest = numbers["bounds"] or (None, None)
    assert (row["ci95_low"], row["ci95_high"], row["bound_low"], row["bound_high"]) == (low, high, lowest, highest)
    for name in ("mean", "se", "maximum", "n_scored", "n_unscored", "n_cases", "n_clusters", "n_empty", "unscored",
                 "title", "signature"):  # fmt: skip
        assert row[name] == numbers[name]


def reported(report: Row) -> dict[tuple[Any, ...], Row]:
    """Every number of a report by its place in the table."""
    found = {}
    for setting in report["settings"]:
        name = setting["setting"]
        for part, key in (("mean", "metrics"), ("summary", "summaries"), ("aside", "asides")):
            found |= {(name, part, None, None, metric): numbers for metric, numbers in setting[key].items()}
        for by, groups in setting["by"].items():
            for group in groups:
                found |= {(name, "group", by, group["group"], metric): of for metric, of in group["metrics"].items()}
    return found


def test_metrics_are_the_report_s_macro_means_and_groups_included(cli: Command, tmp_path: Path) -> None:
    run, folder = tmp_path / "run", CHECKOUT / "fixtures/medexqa"
    ran = cli("run", "medexqa", "--model", f"replay:{folder / 'demo.recording.jsonl'}", "--data", folder, "--out", run)
    assert ran.code == 0, ran.err
    rows = {place(row): row for row in lines(exported(cli, run, "jsonl", tmp_path / "out") / "metrics.jsonl")}
    expected = reported(cli("score", run, "--json").json)
    assert rows.keys() == expected.keys()
    assert {row["part"] for row in rows.values()} >= {"mean", "summary", "group"}
    assert any(row["metric"] == "accuracy_macro" for row in rows.values())
    for where, row in rows.items():
        assert_same_numbers(row, expected[where])


def test_metrics_of_every_judge_and_those_without_a_judge_once(cli: Command, judged_run: Path, tmp_path: Path) -> None:
    rows = lines(exported(cli, judged_run, "jsonl", tmp_path / "out") / "metrics.jsonl")
    assert len({(row["judge"], *place(row)) for row in rows}) == len(rows)
    assert {row["metric"] for row in rows if row["judge"] is None} == {"exact"}
    for judge in ("one", "two"):
        expected = reported(cli("show", judged_run, "--judge", judge, "--json").json)
        own = {place(row): row for row in rows if row["judge"] in (None, judge)}
        assert own.keys() == expected.keys()
        for where, row in own.items():
            assert_same_numbers(row, expected[where])


def test_metrics_in_csv_have_empty_cells_where_there_is_no_number(
    cli: Command, judged_run: Path, tmp_path: Path
) -> None:
    rows = lines(exported(cli, judged_run, "jsonl", tmp_path / "jsonl") / "metrics.jsonl")
    table = cells(exported(cli, judged_run, "csv", tmp_path / "csv") / "metrics.csv")
    for cell, row in zip(table, rows, strict=True):
        for name in ("mean", "se", "ci95_low", "ci95_high", "bound_low"):
            assert (float(cell[name]) if cell[name] else None) == row[name]
    assert any(row["ci95_low"] is None for row in rows)


def test_metrics_of_a_run_that_is_not_finished_say_so(cli: Command, tmp_path: Path) -> None:
    rows = lines(exported(cli, unfinished(cli, tmp_path / "run"), "jsonl", tmp_path / "out") / "metrics.jsonl")
    assert {row["state"] for row in rows} == {"incomplete"}
    (emr,) = [row for row in rows if row["part"] == "mean" and row["metric"] == "emr"]
    assert (emr["n_scored"], emr["n_unscored"], emr["unscored"]) == (3, 5, {"not_run": 5})


# -- runs that are not finished --------------------------------------------------------------------------------------


def test_of_a_run_that_is_not_finished_the_rest_is_unscored(cli: Command, tmp_path: Path) -> None:
    run = unfinished(cli, tmp_path / "run")
    ran = cli("export", run, "--to", "jsonl")
    assert ran.code == 0
    assert "the run is not finished" in ran.err
    out = run / "exports/jsonl"
    (header,), rows = lines(out / "run.jsonl"), lines(out / "scores.jsonl")
    assert header["state"] == "incomplete"
    emr = [row for row in rows if row["metric"] == "emr"]
    assert len(emr) == 8
    assert sum(row["value"] == 1.0 for row in emr) == 3
    assert sum(row["reason"] == "not_run" for row in emr) == 5
    assert_as_reported(cli("show", run, "--json").json, rows, None)
    pending = [row for row in lines(out / "units.jsonl") if row["status"] == "pending"]
    assert len(pending) == 5
    assert all(row["transcript"] is None for row in pending)


# -- CSV -------------------------------------------------------------------------------------------------------------


def test_csv_has_the_same_scores(cli: Command, judged_run: Path, tmp_path: Path) -> None:
    rows = lines(exported(cli, judged_run, "jsonl", tmp_path / "jsonl") / "scores.jsonl")
    table = cells(exported(cli, judged_run, "csv", tmp_path / "csv") / "scores.csv")
    assert len(table) == len(rows)
    for cell, row in zip(table, rows, strict=True):
        assert (float(cell["value"]) if cell["value"] else None) == row["value"]
        assert cell["empty"] == {True: "true", False: "false", None: ""}[row["empty"]]
        for name in ("case", "metric", "judge", "signature", "reason"):
            assert cell[name] == (row[name] or "")


def test_a_text_that_begins_like_a_formula_is_no_formula(cli: Command, judged_run: Path, tmp_path: Path) -> None:
    out = exported(cli, judged_run, "csv", tmp_path / "csv")
    texts = {cell["text"] for cell in cells(out / "judgements.csv")}
    assert "'=Epsilon." in texts
    for file in out.glob("*.csv"):
        for row in cells(file):
            assert not any(cell.startswith(("=", "+", "@", "\t", "\r", "\n")) for cell in row.values())


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1"])
def test_cells_that_spreadsheets_compute_are_quoted(text: str) -> None:
    assert safe_cell(text) == f"'{text}"


def test_other_cells_stay_and_what_no_csv_file_can_hold_is_marked() -> None:
    assert safe_cell("a = 1; -2") == "a = 1; -2"
    assert safe_cell(f"\x00{LONE}x") == "\ufffd\ufffdx"


def test_labels_are_written_as_import_judgements_reads_them(cli: Command, judged_run: Path, tmp_path: Path) -> None:
    out = exported(cli, judged_run, "csv", tmp_path / "csv")
    labels = {cell["label"] for cell in cells(out / "judgements.csv") if cell["kind"] == "match"}
    assert labels <= {"true", "false", ""}
    assert labels & {"true", "false"}


def test_hostile_runs_make_csv_files_that_can_be_read(cli: Command, hostile_run: Path, tmp_path: Path) -> None:
    out = exported(cli, hostile_run, "csv", tmp_path / "csv")
    assert len(cells(out / "units.csv")) == 10
    assert "transcript" not in cells(out / "units.csv")[0]


def test_a_byte_order_mark_only_where_it_is_wanted(cli: Command, demo_run: Path, tmp_path: Path) -> None:
    plain, marked = (exported(cli, demo_run, "csv", tmp_path / name, *more) / "scores.csv"
                     for name, more in (("plain", ()), ("marked", ("--bom",))))  # fmt: skip
    assert plain.read_bytes().startswith(b"run,")
    assert marked.read_bytes() == b"\xef\xbb\xbf" + plain.read_bytes()
    assert cli("export", demo_run, "--to", "jsonl", "--bom", "--out", tmp_path / "x").code == 2


# -- Parquet ---------------------------------------------------------------------------------------------------------


def test_parquet_without_its_library_is_one_sentence(
    cli: Command, demo_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)  # as if it were not installed
    ran = cli("export", demo_run, "--to", "parquet", "--out", tmp_path / "out")
    assert ran.code == 2
    assert "needs pyarrow" in ran.sentence
    assert "medjudge[export]" in ran.sentence
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is None, reason="pyarrow is not installed (extra: export)")
def test_parquet_has_the_same_scores(cli: Command, judged_run: Path, hostile_run: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    rows = lines(exported(cli, judged_run, "jsonl", tmp_path / "jsonl") / "scores.jsonl")
    table = pq.read_table(exported(cli, judged_run, "parquet", tmp_path / "parquet") / "scores.parquet").to_pylist()
    assert [{"type": "score", **row} for row in table] == rows
    units = pq.read_table(exported(cli, hostile_run, "parquet", tmp_path / "hostile") / "units.parquet").to_pylist()
    assert any(MEGABYTE.strip() in json.loads(row["transcript"])["replies"][-1]["text"] for row in units)


# -- nothing is overwritten ------------------------------------------------------------------------------------------


def test_an_export_is_replaced_only_by_force(cli: Command, demo_run: Path, tmp_path: Path) -> None:
    out = exported(cli, demo_run, "csv", tmp_path / "out")
    (out / "mine.txt").write_text("mine", encoding="utf-8")
    refused = cli("export", demo_run, "--to", "jsonl", "--out", out)
    assert refused.code == 2
    assert "is there already" in refused.sentence
    exported(cli, demo_run, "jsonl", out, "--force")
    assert {path.name for path in out.iterdir()} == {
        "run.jsonl", "metrics.jsonl", "scores.jsonl", "units.jsonl", "judgements.jsonl", "cases.jsonl",
        "exchanges.jsonl", "mine.txt",
    }  # fmt: skip


def test_what_is_no_export_is_not_even_replaced_by_force(cli: Command, demo_run: Path, tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text('{"files": ["x"]}\n', encoding="utf-8")
    ran = cli("export", demo_run, "--to", "csv", "--out", tmp_path, "--force")
    assert ran.code == 2
    assert "is no export of medjudge" in ran.sentence
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    assert "is a file" in cli("export", demo_run, "--to", "csv", "--out", file, "--force").sentence


def test_an_export_of_no_run(cli: Command, tmp_path: Path) -> None:
    ran = cli("export", tmp_path, "--to", "csv")
    assert ran.code == 2
    assert "is no run" in ran.sentence
    assert not list(tmp_path.iterdir())


def test_the_run_stays_as_it_is(cli: Command, demo_run: Path, tmp_path: Path) -> None:
    before = (demo_run / "run.sqlite").read_bytes()
    for to in ("jsonl", "csv", "inspect"):
        exported(cli, demo_run, to, tmp_path / to)
    assert (demo_run / "run.sqlite").read_bytes() == before
