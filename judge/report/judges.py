"""Several judges of one run side by side, in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table

from judge.report.tables import console, counted, number, spread
from judge.report.text import one_line


def print_judges(comparison: Mapping[str, Any]) -> None:
    """The tables of a comparison as `judge.runs.judge_comparison.compare_judges` makes it."""
    out = console()
    for setting in comparison["settings"]:
        for table in spread(comparison["judges"], lambda some, setting=setting: _table(setting, some), out):  # type: ignore[misc]
            out.print(table)
    for note in [*(refused["sentence"] for refused in comparison["not_comparable"]), *comparison["notes"]]:
        out.print(f"Note: {one_line(note)}.")


def _table(setting: Mapping[str, Any], judges: Sequence[str]) -> Table:
    title = f"{setting['setting']}: {counted(setting['n_units'], 'unit')}, mean (units scored) by judge"
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    table.add_column("metric", no_wrap=True)
    for judge in judges:
        table.add_column(one_line(judge), justify="right", no_wrap=True)
    for row in setting["metrics"]:
        table.add_row(row["title"], *(_cell(row["by_judge"][judge]) for judge in judges))
    return table


def _cell(summary: Mapping[str, Any] | None) -> str:
    return "not comparable" if summary is None else f"{number(summary['mean'])} ({summary['n_scored']})"
