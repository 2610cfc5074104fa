"""Models on the same cases, as tables for the terminal and for an HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.report.sheets import Sheet, named, p_value, percent, print_sheets, sheet, signed, signed_span
from judge.report.tables import console, counted, number, span
from judge.report.text import one_line, printable

Row = Mapping[str, Any]


def print_comparison(report: Row) -> None:
    """The whole report on the terminal."""
    out = console()
    by = f", judged by {report['judge']}" if report["judge"] else ""
    out.print(printable(f"{report['title']}: {' against '.join(one['model'] for one in report['models'])}{by}\n"))
    print_sheets(sheets(report), out)
    for line in [*report["not_comparable"], *report["notes"]]:
        out.print(f"Note: {one_line(line)}.")


def section(report: Row) -> dict[str, Any]:
    """What `judge.report.sensitivity.sensitivity_section` takes."""
    told = [f"{note}." for note in (*report["not_comparable"], *report["notes"])]
    return {"sentences": told, "tables": [table.data() for table in sheets(report) if table.rows]}


def sheets(report: Row) -> list[Sheet]:
    """Every table, setting by setting."""
    return [
        table
        for entry in report["settings"]
        for table in (_tests(entry), _wins(entry), _means(entry), _unscored(entry), _reasons(entry))
    ]


def _tests(entry: Row) -> Sheet:
    rows = (
        (
            row["title"],
            named(row["models"]),
            *map(number, row["means"] or (None, None)),
            signed(row["difference"]),
            signed_span(row["interval"]),
            p_value(row["p"]),
            p_value(row["p_holm"]),
            f"{row['n']} of {row['n'] + row['n_either_lacks']}",
            number(row["detectable"]["difference"]),
        )
        for row in entry["tests"]
    )
    columns = ["first", "second", "difference", "95 % interval", "p", "p (Holm)", "cases", "detectable"]
    note = (
        "Over the cases that both have a score on, of those given to either. p by the bootstrap of clusters; Holm's is "
        f"corrected for the {counted(entry['n_tests'], 'test')} of this setting. Detectable: the least difference that "
        "would be found with probability .8"
    )
    title = f"{entry['setting']}: the first model less the second"
    return sheet(title, ["metric", "models"], columns, rows, note)


def _wins(entry: Row) -> Sheet:
    rows = (
        (
            row["title"],
            named(row["models"]),
            f"{row['wins']} / {row['ties']} / {row['losses']}",
            number(row["win_rate"]),
            span(row["win_interval"]["ends"]),
            _mcnemar(row["mcnemar"]),
        )
        for row in entry["tests"]
    )
    columns = ["won / even / lost", "win rate", "95 % interval", "McNemar's exact p"]
    note = (
        "Won: the first has the higher value, whether or not that is better. Win rate: cases won, and half of those "
        "that came out even. McNemar's test is for scores 0 and 1"
    )
    return sheet(f"{entry['setting']}: cases won", ["metric", "models"], columns, rows, note).without_empty()


def _mcnemar(found: Row | None) -> str:
    return "" if found is None else f"{p_value(found['p_exact'])} ({found['first_only']} : {found['second_only']})"


def _means(entry: Row) -> Sheet:
    rows = (
        (row["title"], row["model"], number(row["mean"]), span(row["interval"]), str(row["n_scored"]),
         str(row["n_unscored"]))
        for row in entry["means"]
    )  # fmt: skip
    title = f"{entry['setting']}: each model over all its scored cases, which need not be the same"
    return sheet(title, ["metric", "model"], ["mean", "95 % interval", "scored", "unscored"], rows)


def _unscored(entry: Row) -> Sheet:
    rows = (
        (row["title"], named(row["compared"]["models"]), *map(percent, row["compared"]["means"]),
         signed(row["compared"]["difference"]), signed_span(row["compared"]["interval"]),
         p_value(row["compared"]["p"]), str(row["n_cases"]))
        for row in entry["unscored"]
    )  # fmt: skip
    columns = ["first", "second", "difference", "95 % interval", "p", "cases"]
    title = f"{entry['setting']}: share of cases without a score, of those that both were given"
    return sheet(title, ["metric", "models"], columns, rows)


def _reasons(entry: Row) -> Sheet:
    rows = (
        (row["title"], row["model"], reason, str(count))
        for row in entry["means"]
        for reason, count in row["unscored"].items()
    )
    return sheet(
        f"{entry['setting']}: units without a score, by reason", ["metric", "model", "reason"], ["units"], rows
    )
