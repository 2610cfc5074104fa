"""How far raters agree, as tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from judge.report.sheets import Sheet, estimate, explained, named, print_sheets, sheet
from judge.report.tables import console, counted
from judge.report.text import one_line

#: Heading -> coefficient, for labels without and with an order.
_NOMINAL = {"raw": "raw_agreement", "Cohen's kappa": "cohen_kappa", "alpha (nominal)": "krippendorff_alpha_nominal",
            "AC1": "gwet_ac1"}  # fmt: skip
_ORDINAL = {"raw": "raw_agreement", "kappa (quadratic)": "cohen_kappa_quadratic",
            "alpha (interval)": "krippendorff_alpha_interval", "AC2 (quadratic)": "gwet_ac2_quadratic"}  # fmt: skip

#: Of several raters, where there is such a row; it takes labels to have no order.
_OF_SEVERAL = {"Fleiss' kappa": "fleiss_kappa"}
_GRADES_OF_SEVERAL = {"Fleiss' kappa (no order)": "fleiss_kappa"}


def print_agreement(found: Mapping[str, Any]) -> None:
    """The tables of `judge.runs.rating_agreement.rating_agreement`; nothing where no two raters can be compared."""
    out = console()
    for entry in found["kinds"]:
        print_sheets([_agreement(entry)], out)
        for line in _notes(entry):
            out.print(f"  {one_line(line)}")
    if found["correlations"]:
        print_sheets([_correlations(found["correlations"])], out)


def _agreement(entry: Mapping[str, Any]) -> Sheet:
    columns = _ORDINAL | _GRADES_OF_SEVERAL if entry["ordinal"] else _NOMINAL | _OF_SEVERAL
    which = "" if entry["items"] == "all" else ", only what had to be read"
    pairs = [(named(pair["raters"]), pair, False) for pair in entry["pairs"]]
    groups = [(f"all {len(group['raters'])} {group['who']}", group, True) for group in entry["groups"]]
    rows = (
        (called, *_cells(row["estimates"], columns.values(), several)) for called, row, several in (*pairs, *groups)
    )
    title = f"{entry['setting']}: agreement on {entry['kind']}{which} (95 % interval by cluster)"
    return sheet(title, ["raters"], ["items", *columns], rows).without_empty()


def _cells(estimates: Mapping[str, Any], names: Iterable[str], several: bool) -> Iterator[str]:
    """Items, and every coefficient with its interval; Fleiss' kappa is of several raters."""
    yield str(estimates["raw_agreement"]["n_items"])
    yield from (estimate(estimates.get(name) if several or name != "fleiss_kappa" else None) for name in names)


def _correlations(rows: Iterable[Mapping[str, Any]]) -> Sheet:
    cells = ((row["setting"], row["title"], named(row["raters"]), str(row["spearman"]["n_items"]),
              estimate(row["spearman"]), estimate(row["kendall"])) for row in rows)  # fmt: skip
    title = "Rank correlation of raters, by unit (95 % interval by cluster)"
    return sheet(title, ["setting", "metric", "raters"], ["units", "Spearman's rho", "Kendall's tau-b"], cells)


def _notes(entry: Mapping[str, Any]) -> Iterable[str]:
    """What is missing, and what a value hides."""
    gone = {rater: n for rater, n in entry["n_missing"].items() if n}
    if gone:
        told = ", ".join(f"{rater} {n}" for rater, n in gone.items())
        yield f"of {counted(entry['n_items'], 'item')} without a label by: {told}"
    for rater, reasons in entry["failed"].items():
        if reasons:
            told = ", ".join(f"{reason} {n}" for reason, n in reasons.items())
            yield f"units in which labels by {rater} are missing: {told}"
    for rater, n in entry["other"].items():
        labels = counted(n, "label")
        yield f"{labels} by {rater} left out: what the others labelled at that place is, or may be, something else"
    if entry["ruled"]:
        items = counted(entry["ruled"], "item")
        yield f"{items} are decided by a rule, e.g. since the answer is wrong, which raises agreement"
    found = [*entry["pairs"], *entry["groups"]]
    estimates = [one for row in found for one in row["estimates"].values()]
    missing = (one[key] for one in estimates for key in ("reason", "interval_reason"))
    yield from dict.fromkeys(note for note in (*(one["note"] for one in estimates), explained(missing)) if note)
