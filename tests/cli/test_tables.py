"""What a person sees: no number is cut, whatever the width, and names are names and no markup."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from judge.benchmark import registry
from judge.report.tables import baseline_tables, breakdown_tables, metric_tables
from judge.report.text import one_line, printable
from tests.conftest import Command
from tests.runs.synthetic import DATA, answering, run_arguments
from tests.server import ModelServer


@pytest.fixture(scope="module")
def report(cli: Command, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with ModelServer(answering({2: "A", 3: ""})) as server:
        document: dict[str, Any] = cli(*run_arguments(server.spec, tmp_path_factory.mktemp("t") / "run", "--json")).json
    return document


def drawn(tables: list[Table], out: Console) -> str:
    for table in tables:
        out.print(table)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def terminal(width: int) -> Console:
    return Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False)


@pytest.mark.parametrize(("width", "tables"), [(80, 2), (119, 1), (200, 1)])
def test_every_number_of_a_setting_is_whole_at_any_usual_width(report: dict[str, Any], width: int, tables: int) -> None:
    out = terminal(width)
    made = metric_tables(report["settings"][0], out)
    assert len(made) == tables
    text = drawn(made, out)
    assert "…" not in text
    assert all(len(line) <= width for line in text.splitlines())
    for metric in report["settings"][0]["metrics"].values():
        for value in (metric["mean"], metric["se"], *metric["interval"], *metric["bounds"], metric["maximum"]):
            assert f"{value:.3f}" in text


@pytest.mark.parametrize("width", [80, 100, 120])
def test_breakdowns_are_spread_over_as_many_tables_as_they_need(report: dict[str, Any], width: int) -> None:
    setting = report["settings"][0]
    for name, groups in setting["by"].items():
        out = terminal(width)
        text = drawn(breakdown_tables(setting, name, groups, out), out)
        assert "…" not in text
        assert all(len(line) <= width for line in text.splitlines())
        for group in groups:
            assert group["group"] in text
            assert f"{group['metrics']['lca']['n_scored']} / {group['n_units']}" in text
        shown = re.findall(r"\d\.\d{3} ±|- ±", text)
        assert len(shown) == len(groups) * len(setting["metrics"])


@pytest.mark.parametrize("width", [80, 120])
def test_baselines_are_whole_and_explained(cli: Command, width: int) -> None:
    document = cli("baselines", "caremedeval", "--data", DATA, "--json").json
    metrics = registry()["caremedeval"].metrics()
    rows = document["baselines"]
    out = terminal(width)
    text = drawn(baseline_tables("title", metrics, rows, out), out)
    assert "…" not in text
    for row in rows:
        assert all(f"{row['metrics'][metric.name]:.4f}" in text for metric in metrics)
    shown = cli("baselines", "caremedeval", "--data", DATA).out
    for number, row in enumerate(rows, start=1):
        assert f"({number}) {row['description']}" in shown


def test_a_list_of_benchmarks(cli: Command) -> None:
    text, document = cli("list"), cli("list", "--json")
    assert text.code == document.code == 0
    (found,) = [item for item in document.json["benchmarks"] if item["name"] == "caremedeval"]
    for metric in found["metrics"]:
        assert metric["signature"] in text.out
    assert "--context none|abstract|medium|full|all" in text.out


@pytest.mark.parametrize(
    "arguments", [["--help"], ["run", "--help"], ["run", "caremedeval", "--help"], ["import", "-h"]]
)
def test_help_is_no_mistake(cli: Command, arguments: list[str]) -> None:
    ran = cli(*arguments)
    assert ran.code == 0
    assert "Usage:" in ran.out


def test_without_a_command_the_help_is_shown(cli: Command) -> None:
    ran = cli()
    assert ran.code == 2
    assert "Commands" in ran.err


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("\x1b[31m\x07\x9b", r"\x1b[31m\x07\x9b"),
        ("\u202eabc\u2066", r"\u202eabc\u2066"),
        ("\ud800", r"\ud800"),
        ("é 漢 😀", "é 漢 😀"),
    ],
)
def test_what_a_terminal_would_act_on_is_made_visible(raw: str, shown: str) -> None:
    assert printable(raw) == shown


def test_one_line_is_one_line() -> None:
    assert one_line("a\r\n\x1b b\n\n c") == r"a \x1b b c"


def test_output_that_nobody_reads_any_more_is_no_traceback(tmp_path: Path) -> None:
    import subprocess
    import sys

    from tests.conftest import CHECKOUT

    ended = subprocess.run(
        f"{sys.executable} -m medjudge list | true",
        shell=True,
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in ended.stderr
    assert "BrokenPipe" not in ended.stderr


def test_json_is_written_where_the_terminal_is_not_utf_8(command: Command) -> None:
    ran = command("list", "--json", PYTHONIOENCODING="ascii")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["benchmarks"]
