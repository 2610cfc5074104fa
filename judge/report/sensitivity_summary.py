"""How much of a result is the judge, in at most six sentences whose every number stands in a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from judge.report.sheets import percent, signed, signed_span
from judge.report.tables import counted, number
from judge.sensitivity.labels import JUDGES, PEOPLE, WITH_PERSON
from judge.sensitivity.settings import SAME

Row = Mapping[str, Any]

MOST = 6


def summary(report: Row) -> list[str]:
    """The sentences, what matters most first."""
    found = [
        _largest(report),
        _orders(report),
        _least_agreement(report),
        _ceiling(report) or _people(report),
        _refused(report),
        _missing(report),
    ]
    return [sentence for sentence in found if sentence][:MOST]


def _where(report: Row, row: Row) -> str:
    """Model and setting of a row, as far as there are several."""
    model = f" of {row['model']}" if len(report["runs"]) > 1 else ""
    return model + (f" in {row['setting']}" if len(report["settings"]) > 1 else "")


def _largest(report: Row) -> str:
    """The largest difference between two judges; not between one and itself, nor with a person, see `_people`."""
    rows = [row for row in report["differences"] if row["axis"] != SAME and not _with_person(report, row)
            and row["compared"] and row["compared"]["difference"] is not None]  # fmt: skip
    if not rows:
        return ""
    clear = [row for row in rows if _excludes_zero(row["compared"]["interval"])]
    row = max(clear or rows, key=lambda row: abs(row["compared"]["difference"]))
    compared, flips = row["compared"], row["flips"]
    (first, second), (a, b) = row["judges"], compared["means"]
    ends = compared["interval"]
    lead = "The judge matters most for" if clear else "No difference between judges is clear; the largest is in"
    if ends is None:
        lead = "Judges differ most in" if compared["difference"] else "No two judges' means differ, e.g. in"
    interval = f", 95 % interval {signed_span(ends)}" if ends else ", without an interval"
    return (
        f"{lead} {row['title']}{_where(report, row)}: {number(a)} by {first} and {number(b)} by {second} on the "
        f"{counted(row['n_units'], 'unit')} that both scored ({signed(compared['difference'])}{interval}); "
        f"{counted(flips['count'], 'score')} differ{'s' * (flips['count'] == 1)}, {percent(flips['share'])}."
    )


def _with_person(report: Row, row: Row) -> bool:
    people = {judge["name"] for judge in report["judges"] if judge["kind"] == "person"}
    return bool(people & set(row["judges"]))


def _excludes_zero(ends: tuple[float, float] | None) -> bool:
    return ends is not None and (ends[0] > 0.0 or ends[1] < 0.0)


def _orders(report: Row) -> str:
    """Whether the order of the models hangs on the judge."""
    ranked = [
        (entry, entry["ranked"]) for entry in report["ranks"] if entry["ranked"] and not entry["ranked"]["reason"]
    ]
    several = [(entry, of) for entry, of in ranked if len(of["judges"]) > 1]
    if not several:
        return ""
    changes = [(entry, change) for entry, of in several for change in of["changes"]]
    if not changes:
        return "No two judges put any two models in opposite orders."
    entry, change = max(changes, key=lambda found: found[1]["p_change"] or 0.0)
    first, second = change["judges"]
    verdict = {
        True: "which is more than noise: both orders hold together in a share of",
        False: "which may be noise: both orders hold together in a share of",
        None: "of which it cannot be said whether it is noise; the share in which both hold together is",
    }[change["outside_noise"]]
    return (
        f"On {entry['title']} {first} puts {change['above']} above {change['below']} and {second} the reverse, "
        f"{verdict} {number(change['p_change'])} of draws of the cases."
    )


def _pairs(report: Row, between: str) -> Iterator[tuple[Row, Row]]:
    """Pairs with a value, over all items of a kind, none of them one judge twice."""
    for entry in report["agreement"]:
        if entry["items"] == "all":
            yield from ((entry, pair) for pair in entry["pairs"]
                        if pair["between"] == between and pair["axis"] != SAME and _raw(pair) is not None)  # fmt: skip


def _raw(pair: Row) -> float | None:
    value: float | None = pair["estimates"]["raw_agreement"]["value"]
    return value


def _beyond(entry: Row, pair: Row) -> str:
    """Agreement beyond chance, as far as there is a value."""
    ordinal = entry["ordinal"]
    measures = {
        "Cohen's kappa": "cohen_kappa_quadratic" if ordinal else "cohen_kappa",
        "AC2" if ordinal else "AC1": "gwet_ac2_quadratic" if ordinal else "gwet_ac1",
    }
    values = {called: pair["estimates"][name]["value"] for called, name in measures.items()}
    told = [f"{called} {number(value)}" for called, value in values.items() if value is not None]
    return ", ".join(told) or "nothing beyond chance can be said"


def _least(found: Iterable[tuple[Row, Row]]) -> tuple[Row, Row] | None:
    """The pair with most labels that differ; a kappa may be low where nearly all labels are the same."""
    return min(found, key=lambda one: _raw(one[1]) or 0.0, default=None)


def _agree(report: Row, entry: Row, pair: Row) -> str:
    n = pair["estimates"]["raw_agreement"]["n_items"]
    return (
        f"{' and '.join(pair['raters'])} agree on {percent(_raw(pair))} of {counted(n, 'label')} of "
        f"{entry['kind']}{_where(report, entry)} ({_beyond(entry, pair)})"
    )


def _least_agreement(report: Row) -> str:
    least = _least(_pairs(report, JUDGES))
    return f"Where judges agree least, {_agree(report, *least)}." if least else ""


def _ceiling(report: Row) -> str:
    rows = [row for row in report["self_consistency"] if row["items"] == "all" and _raw(row["pair"]) is not None]
    if not rows:
        return ""
    row = min(rows, key=lambda row: _raw(row["pair"]) or 0.0)
    told = _agree(report, row, row["pair"])
    return f"Of one judge asked twice, {told}: no other can be expected to agree with it better."


def _people(report: Row) -> str:
    with_person, people = (_least(_pairs(report, between)) for between in (WITH_PERSON, PEOPLE))
    if not with_person:
        return ""
    own = f"; of people, {_agree(report, *people)}" if people else ""
    return f"Against people, {_agree(report, *with_person)}{own}."


def _refused(report: Row) -> str:
    rows = [row for row in report["differences"] if row["not_comparable"]]
    if not rows:
        return ""
    titles = ", ".join(dict.fromkeys(row["title"] for row in rows))
    row = rows[0]
    more = ", nor of other pairs" if len({tuple(row["judges"]) for row in rows}) > 1 else ""
    return f"{titles} by {' and by '.join(row['judges'])}{more} is not compared; the notes say why."


def _missing(report: Row) -> str:
    """The largest difference in what judges left unscored; people may have been asked about some units only."""
    rows = [row for row in report["unscored"] if row["compared"]["difference"] and not _with_person(report, row)]
    if not rows:
        return ""
    row = max(rows, key=lambda row: abs(row["compared"]["difference"]))
    (first, second), (a, b) = row["judges"], row["compared"]["means"]
    return (
        f"{row['title']}{_where(report, row)} has no score in {percent(a)} of {counted(row['n_units'], 'unit')} "
        f"by {first} and in {percent(b)} by {second}, and such units are in no comparison."
    )
