"""Models on the same cases, as tables for the terminal and for an HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from judge.report.sheets import (
    Sheet,
    because,
    explained,
    few,
    named,
    p_value,
    percent,
    print_sheets,
    sheet,
    signed,
    signed_span,
)
from judge.report.tables import console, counted, number, span
from judge.report.text import one_line, printable
from judge.runs.sides import NOT_ASKED

Row = Mapping[str, Any]

#: What is said where a count of cases that nobody asked for is shown.
_NOT_ASKED = "Not asked: the run, its file of predictions or the judge leaves these cases out, so that nothing is known"


def print_comparison(report: Row) -> None:
    """The whole report on the terminal."""
    out = console()
    out.print(printable(f"{title(report)}\n"))
    print_sheets(sheets(report), out)
    for line in notes(report):
        out.print(f"Note: {one_line(line)}")


def title(report: Row) -> str:
    """Of the page and of what the terminal shows."""
    by = f", judged by {report['judge']}" if report["judge"] else ""
    return f"{report['title']}: {' against '.join(one['model'] for one in report['models'])}{by}"


def section(report: Row) -> dict[str, Any]:
    """What `judge.report.sensitivity.sensitivity_section` takes."""
    tables = [table.data() for table in sheets(report) if table.rows]
    return {"heading": "Comparison", "tables": tables, "notes": notes(report)}


def notes(report: Row) -> list[str]:
    """Sentences that must stand beside the numbers."""
    told = [*report["not_comparable"], *report["notes"], *(note for one in report["settings"] for note in _gone(one))]
    return [f"{note}." for note in told]


def _gone(entry: Row) -> Iterator[str]:
    """Metrics that nobody was asked for."""
    shown = {row["metric"] for row in _asked(entry)}
    titles = dict.fromkeys(row["title"] for row in entry["means"] if row["metric"] not in shown)
    if titles:
        reasons = dict.fromkeys(
            reason for row in entry["means"] if row["metric"] not in shown for reason in row["unscored"]
        )
        yield f"{entry['setting']}: nothing to compare ({', '.join(reasons)}): {', '.join(titles)}"


def _asked(entry: Row) -> list[Row]:
    """Means of the metrics that any model has a score on, or failed to get one."""
    metrics = {row["metric"] for row in entry["means"] if row["n_scored"] + row["n_unscored"] > row["n_not_asked"]}
    return [row for row in entry["means"] if row["metric"] in metrics]


def sheets(report: Row) -> list[Sheet]:
    """Every table, setting by setting."""
    return [
        table.without_empty().with_constant_in_title("models")
        for entry in report["settings"]
        for table in (_tests(entry), _cases(entry), _wins(entry), _detectable(entry), *_alone(entry))
    ]


# -- differences -------------------------------------------------------------------------------------------------------


def _tests(entry: Row) -> Sheet:
    tests = entry["tests"]
    rows = (
        (
            row["title"],
            named(row["models"]),
            *map(number, row["means"] or (None, None)),
            signed(row["difference"]),
            signed_span(row["interval"], row["interval_reason"]),
            p_value(row["p"]),
            p_value(row["p_holm"]),
            str(row["n"]),
            str(row["n_clusters"]) if any(one["n_clusters"] != one["n"] for one in tests) else "",
        )
        for row in tests
    )
    columns = ["first", "second", "difference", "95 % interval", "p", "p (Holm)", "cases", "clusters"]
    return sheet(f"{entry['setting']}: the first model less the second", ["metric", "models"], columns, rows,
                 *_told(entry))  # fmt: skip


def _told(entry: Row) -> Iterator[str]:
    """What the columns of differences mean, and what speaks against them."""
    tests = entry["tests"]
    yield few(row["n_clusters"] for row in tests)
    holm = f"; Holm's is corrected for the {counted(entry['n_tests'], 'test')} of this setting" * bool(entry["n_tests"])
    if entry["n_unresolved"]:
        holm += f", of which {entry['n_unresolved']} may be clear, but so many draws cannot show a smaller p"
    yield f"over the cases that both have a score on; p, the one to report: by the bootstrap of clusters{holm}"
    yield explained(row["interval_reason"] for row in tests)


def _cases(entry: Row) -> Sheet:
    rows = (
        (
            row["title"],
            named(row["models"]),
            str(row["n"]),
            str(row["n_both_asked"]),
            " / ".join(map(str, row["n_unscored"].values())),
            " / ".join(map(str, row["n_not_asked"].values())),
        )
        for row in entry["tests"]
        if any(row["n_unscored"].values()) or any(row["n_not_asked"].values())
    )
    columns = ["compared", "both asked", "unscored", "not asked"]
    note = f"Unscored: asked, without a score. {_NOT_ASKED}, while the other model was asked. First / second model"
    return sheet(f"{entry['setting']}: cases that are compared, and those that are not", ["metric", "models"], columns,
                 rows, note)  # fmt: skip


def _or_reason(shown: str, reason: str) -> str:
    """A number, or a dash with the reason."""
    return because(reason) if shown == "-" else shown


def _detectable(entry: Row) -> Sheet:
    leasts = (row["detectable"] for row in entry["tests"])
    rows = (
        (
            row["title"],
            named(row["models"]),
            signed(row["difference"]),
            str(row["n"]),
            str(row["n_clusters"]),
            number(row["detectable"]["sd"]),
            _or_reason(number(row["detectable"]["difference"]), row["detectable"]["reason"]),
            _needed(row["needed"]),
        )
        for row in entry["tests"]
    )
    size = next((f" (alpha {one['alpha']:g}, power {one['power']:g})" for one in leasts), "")
    detect = next((f"{row['needed']['difference']:g}" for row in entry["tests"] if row["needed"]), "")
    columns = ["difference", "cases", "clusters", "s.d.", "detectable", f"cases to find {detect}"]
    note = (
        "Detectable: what the models must differ by for a two-sided test to find it so often, before correction for "
        "the number of tests; by Student's t. S.d.: of the differences between clusters"
    )
    note += f". Cases to find {detect}: at the same spread, and as many cases in a cluster" if detect else ""
    title = f"{entry['setting']}: the least difference that would be found{size}"
    return sheet(title, ["metric", "models"], columns, rows, note)


def _needed(found: Row | None) -> str:
    if found is None:
        return ""
    if found["n_cases"] is None:
        return _or_reason("-", found["reason"])
    clusters = f" in {found['n_clusters']:,} clusters" if found["n_clusters"] != found["n_cases"] else ""
    return f"{found['n_cases']:,}{clusters}"


def _wins(entry: Row) -> Sheet:
    rows = (
        (
            row["title"],
            named(row["models"]),
            f"{row['wins']} / {row['ties']} / {row['losses']}",
            number(row["win_rate"]),
            _or_reason(span(row["win_interval"]["ends"]), row["win_interval"]["reason"]),
            _mcnemar(row["mcnemar"]),
        )
        for row in entry["tests"]
    )
    columns = ["won / even / lost", "win rate", "95 % interval", "McNemar's exact p"]
    note = (
        "Won: the first has the higher value, whether or not that is better. Win rate: cases won, and half of those "
        "that came out even"
    )
    tables = [row["mcnemar"] for row in entry["tests"] if row["mcnemar"]]
    if any(one["p_exact"] is not None for one in tables):
        note += (
            ". McNemar's test is for scores 0 and 1; its p is not corrected; the one to report is in the table above"
        )
    if clustered := list(dict.fromkeys(one["note"] for one in tables if one["reason"] == "clustered")):
        several = "cases come in clusters, and this test takes all cases for independent"
        why = several if clustered[1:] else clustered[0]
        note += f". McNemar's test is not made: {why}; the p in the table above does not"
    return sheet(f"{entry['setting']}: cases won", ["metric", "models"], columns, rows, note)


def _mcnemar(found: Row | None) -> str:
    if found is None:
        return ""
    p = "not made" if found["reason"] == "clustered" else p_value(found["p_exact"])
    return f"{p} ({found['first_only']} : {found['second_only']})"


# -- each model alone --------------------------------------------------------------------------------------------------


def _alone(entry: Row) -> tuple[Sheet, ...]:
    return _means(entry), _unscored(entry), _reasons(entry)


def _means(entry: Row) -> Sheet:
    means = _asked(entry)
    rows = (
        (row["title"], row["model"], number(row["mean"]), _or_reason(span(row["interval"]), _no_interval(row)),
         str(row["n_scored"]), str(row["n_unscored"] - row["n_not_asked"]), str(row["n_not_asked"] or ""))
        for row in means
    )  # fmt: skip
    title = f"{entry['setting']}: each model over all its scored cases, which need not be the same; counts of units"
    asked = [_NOT_ASKED] if any(row["n_not_asked"] for row in means) else []
    return sheet(title, ["metric", "model"], ["mean", "95 % interval", "scored", "unscored", "not asked"], rows,
                 few(row["n_clusters"] for row in means), *asked, explained(map(_no_interval, means)))  # fmt: skip


def _no_interval(row: Row) -> str:
    """Why a mean has no interval, as `judge.stats.mean_interval` has it; empty if there is one, or no mean."""
    return "" if row["interval"] or not row["n_scored"] else "one_cluster" if row["n_clusters"] < 2 else "no_variation"


def _unscored(entry: Row) -> Sheet:
    rows = (
        (row["title"], named(row["compared"]["models"]), *map(percent, row["compared"]["means"]),
         signed(row["compared"]["difference"]),
         signed_span(row["compared"]["interval"], row["compared"]["interval_reason"]),
         p_value(row["compared"]["p"]), str(row["n_cases"]))
        for row in entry["unscored"]
    )  # fmt: skip
    columns = ["first", "second", "difference", "95 % interval", "p", "cases"]
    title = f"{entry['setting']}: share of cases without a score, of those that both were asked"
    tests = [row["compared"] for row in entry["unscored"]]
    return sheet(title, ["metric", "models"], columns, rows, few(row["n_clusters"] for row in tests),
                 "p is not corrected", explained(row["interval_reason"] for row in tests))  # fmt: skip


def _reasons(entry: Row) -> Sheet:
    rows = (
        (row["title"], row["model"], reason, str(count), "not asked" if reason in NOT_ASKED else "")
        for row in _asked(entry)
        for reason, count in row["unscored"].items()
    )
    return sheet(f"{entry['setting']}: units without a score, by reason", ["metric", "model", "reason"],
                 ["units", "counted as"], rows)  # fmt: skip
