"""How far raters agree, as tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table

from judge.report.tables import console, counted, number
from judge.report.text import one_line

#: Heading -> coefficient, for labels without and with an order.
_NOMINAL = {"raw": "raw_agreement", "Cohen's kappa": "cohen_kappa", "alpha (nominal)": "krippendorff_alpha_nominal",
            "AC1": "gwet_ac1"}  # fmt: skip
_ORDINAL = {"raw": "raw_agreement", "kappa (quadratic)": "cohen_kappa_quadratic",
            "alpha (interval)": "krippendorff_alpha_interval", "AC2 (quadratic)": "gwet_ac2_quadratic"}  # fmt: skip


def print_agreement(found: Mapping[str, Any]) -> None:
    """The tables of `judge.runs.rating_agreement.rating_agreement`; nothing where no two raters can be compared."""
    out = console()
    for entry in found["kinds"]:
        out.print(_agreement_table(entry))
        for line in _notes(entry):
            out.print(f"  {one_line(line)}")
    if found["correlations"]:
        out.print(_correlation_table(found["correlations"]))


def _agreement_table(entry: Mapping[str, Any]) -> Table:
    columns = _ORDINAL if entry["ordinal"] else _NOMINAL
    which = "" if entry["items"] == "all" else ", only what had to be read"
    table = _table(f"{entry['setting']}: agreement on {entry['kind']}{which} (95 % interval by cluster)")
    for heading in ("raters", "items", *columns):
        table.add_column(heading, overflow="fold", justify="left" if heading == "raters" else "right")
    several = [entry["together"]] if len(entry["raters"]) > 2 else []
    for row in (*entry["pairs"], *several):
        named = f"all {len(row['raters'])}" if len(row["raters"]) > 2 else _named(row["raters"])
        estimates = row["estimates"]
        items = str(estimates["raw_agreement"]["n_items"])
        table.add_row(named, items, *(_cell(estimates.get(name)) for name in columns.values()))
    return table


def _correlation_table(rows: Iterable[Mapping[str, Any]]) -> Table:
    table = _table("Rank correlation of raters, by unit (95 % interval by cluster)")
    for heading in ("setting", "metric", "raters", "units", "Spearman's rho", "Kendall's tau-b"):
        numeric = heading in ("units", "Spearman's rho", "Kendall's tau-b")
        table.add_column(heading, overflow="fold", justify="right" if numeric else "left")
    for row in rows:
        table.add_row(row["setting"], row["title"], _named(row["raters"]), str(row["spearman"]["n_items"]),
                      _cell(row["spearman"]), _cell(row["kendall"]))  # fmt: skip
    return table


def _table(title: str) -> Table:
    return Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)


def _named(raters: Sequence[str]) -> str:
    return " / ".join(map(one_line, raters))


def _cell(estimate: Mapping[str, Any] | None) -> str:
    """A value with its interval, or why there is none."""
    if estimate is None:
        return ""
    if estimate["value"] is None:
        return f"- ({estimate['reason'].replace('_', ' ')})"
    value, interval = number(estimate["value"]), estimate["interval"]
    return f"{value} [{', '.join(map(number, interval))}]" if interval else value


def _notes(entry: Mapping[str, Any]) -> Iterable[str]:
    """What is missing, and what a value hides."""
    gone = {rater: n for rater, n in entry["n_missing"].items() if n}
    if gone:
        named = ", ".join(f"{rater} {n}" for rater, n in gone.items())
        yield f"of {counted(entry['n_items'], 'item')} without a label by: {named}"
    for rater, reasons in entry["failed"].items():
        if reasons:
            named = ", ".join(f"{reason} {n}" for reason, n in reasons.items())
            yield f"units in which labels by {rater} are missing: {named}"
    for rater, n in entry["other"].items():
        labels = counted(n, "label")
        yield f"{labels} by {rater} left out: what the others labelled at that place is, or may be, something else"
    if entry["ruled"]:
        items = counted(entry["ruled"], "item")
        yield f"{items} are decided by a rule, e.g. since the answer is wrong, which raises agreement"
    notes = (one["note"] for pair in entry["pairs"] for one in pair["estimates"].values())
    yield from dict.fromkeys(note for note in notes if note)
