"""How far judges agree on single labels, with others and with themselves, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from judge.report.sheets import Sheet, estimate, explained, few, named, percent, sheet, word
from judge.report.tables import counted
from judge.sensitivity.labels import JUDGES, PEOPLE, WITH_PERSON
from judge.sensitivity.settings import SAME
from judge.stats import few_clusters

Row = Mapping[str, Any]

#: Heading -> coefficient, for labels without and with an order.
NOMINAL = {
    "Cohen's kappa": "cohen_kappa",
    "AC1": "gwet_ac1",
    "alpha": "krippendorff_alpha_nominal",
    "Fleiss' kappa": "fleiss_kappa",
}
ORDINAL = {
    "kappa (quadratic)": "cohen_kappa_quadratic",
    "AC2 (quadratic)": "gwet_ac2_quadratic",
    "alpha (interval)": "krippendorff_alpha_interval",
    "Fleiss' kappa (no order)": "fleiss_kappa",
}

#: Kinds of at most so many labels have their confusion matrices on the terminal without being asked for.
FEW_LABELS = 3


def measures(ordinal: bool) -> Mapping[str, str]:
    return ORDINAL if ordinal else NOMINAL


def agreement_sheets(report: Row) -> list[Sheet]:
    """Agreement of different raters, that on grades in a table with headings of its own."""
    entries = report["agreement"]
    return [_agreement(report, [e for e in entries if e["ordinal"] == ordinal], ordinal) for ordinal in (False, True)]


def _agreement(report: Row, entries: Sequence[Row], ordinal: bool) -> Sheet:
    compared = [(entry, *found) for entry in entries for found in _compared(entry)]
    rows = (
        (entry["setting"], entry["model"], what(entry), between, names, *_estimates(one, ordinal, several))
        for entry, between, names, one, several in compared
    )
    labels = ["setting", "model", "labels of", "between", "raters"]
    found = [one for _, _, _, one, _ in compared]
    title = f"Agreement on {'grades' if ordinal else 'single labels'} (95 % interval by cluster)"
    together = any(entry["groups"] for entry in entries)
    return sheet(
        title, labels, ("items", "agree", *measures(ordinal)), rows,
        "grades have an order: kappa and AC2 are weighted by squared distance, alpha is for intervals" * ordinal,
        _of_all(report) * together,
        _left_out(entries),
        _warnings(found, ordinal),
    ).without_constant("between").without_empty()  # fmt: skip


def _of_all(report: Row) -> str:
    panels = any(judge["kind"] == "panel" for judge in report["judges"])
    again = any(pair["axis"] == SAME for entry in report["agreement"] for pair in entry["pairs"])
    without = [*["panels"] * panels, *["a judge's repetitions under equal settings"] * again]
    return "several raters together: items that at least two labelled" + (
        f"; without {' and '.join(without)}" if without else ""
    )


def _compared(entry: Row) -> Iterator[tuple[str, str, Row, bool]]:
    """Every pair of judges and then all of them together, pairs of a judge and a person, and the same of people."""
    for between in (JUDGES, WITH_PERSON, PEOPLE):
        for pair in entry["pairs"]:
            if pair["between"] == between:
                yield between, named(pair["raters"]), pair, False
        for group in entry["groups"]:
            if group["who"] == between:
                yield between, f"all {len(group['raters'])} {between}", group, True


def _estimates(one: Row, ordinal: bool, several: bool = False) -> tuple[str, ...]:
    """Items, share of them with the same label, and agreement beyond chance; Fleiss' kappa is of several raters."""
    estimates = one["estimates"]
    raw = estimates["raw_agreement"]
    found = (estimates.get(name) if several or name != "fleiss_kappa" else None for name in measures(ordinal).values())
    return (str(raw["n_items"]), share(raw), *map(estimate, found))


def share(raw: Row) -> str:
    """A share in per cent with its interval, or in a word why there is none."""
    if raw["value"] is None:
        return estimate(raw)
    ends = raw["interval"]
    told = f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f}" if ends else word(raw["interval_reason"])
    return f"{percent(raw['value'])} ({told})"


def what(entry: Row) -> str:
    return entry["kind"] if entry["items"] == "all" else f"{entry['kind']}, only what had to be read"


def _left_out(entries: Iterable[Row]) -> str:
    other = sum(count for entry in entries if entry["items"] == "all" for count in entry["other"].values())
    return f"{counted(other, 'label')} left out: what the others labelled there is, or may be, something else" * bool(
        other
    )


def _warnings(found: Sequence[Row], ordinal: bool) -> str:
    """What a value hides: few clusters, and why numbers are missing."""
    names = ["raw_agreement", *measures(ordinal).values()]
    shown = [one["estimates"][name] for one in found for name in names if name in one["estimates"]]
    missing = (
        of[key] for of in shown for key in ("reason", "interval_reason") if of["value"] is None or key != "reason"
    )
    clusters = few(one["estimates"]["raw_agreement"]["n_clusters"] for one in found)
    return "; ".join(filter(None, [*_notes(shown), clusters, explained(missing)]))


def _notes(estimates: Iterable[Row]) -> Iterable[str]:
    """What a reader of single values must know, but for few clusters, which is said of all at once."""
    parts = (part for of in estimates for part in of["note"].split("; ") if part != few_clusters(of["n_clusters"]))
    return dict.fromkeys(filter(None, parts))


# -- a judge against itself --------------------------------------------------------------------------------------------


def consistency_sheets(report: Row) -> list[Sheet]:
    """How far judges agree with themselves: over all their repetitions, and for every two of these."""
    return [_consistency(report, ordinal) for ordinal in (False, True)]


def _consistency(report: Row, ordinal: bool) -> Sheet:
    found = report["self_consistency"]
    pooled = [row for row in found["pooled"] if row["ordinal"] == ordinal]
    pairs = [row for row in found["pairs"] if row["ordinal"] == ordinal]
    several = any(row["most_times"] > 2 for row in pooled)
    rows = [
        *((row["setting"], ", ".join(row["models"]), what(row), named(row["judges"]), _repeated(row),
           *_estimates(row["compared"], ordinal, several=True)) for row in pooled),
        *((row["setting"], row["model"], what(row), named(row["pair"]["raters"]), _how(row),
           *_estimates(row["pair"], ordinal, several=not several)) for row in pairs),
    ]  # fmt: skip
    compared = [*(row["compared"] for row in pooled), *(row["pair"] for row in pairs)]
    title = f"A judge against itself: the same {'grade' if ordinal else 'label'} again?"
    return sheet(
        title, ["setting", "model", "labels of", "judge", "how"], ("items", "agree", *measures(ordinal)), rows,
        "first over all repetitions of a judge, then for every two of them; two judges may agree better than one with "
        "itself",
        _warnings(compared, ordinal),
    ).without_empty()  # fmt: skip


def _repeated(row: Row) -> str:
    times = "twice" if row["most_times"] == 2 else f"up to {row['most_times']} times"
    return f"all: {counted(row['n_outputs'], 'output')} judged {times}"


def _how(row: Row) -> str:
    if row["how"] == SAME:
        return "asked twice under equal settings"
    return f"{counted(row['n_outputs'], 'output')} that came twice"


# -- one setting of a judge --------------------------------------------------------------------------------------------


def only_pair(report: Row) -> str:
    """The two judges where there are no others and they differ in one thing only, which is then said once for all."""
    pairs = {(tuple(row["judges"]), row["axis"]) for row in report["differences"]}
    if len(pairs) != 1:
        return ""
    ((judges, axis),) = pairs
    if axis == SAME:
        return f"{' and '.join(judges)} were asked under equal settings"
    return f"{' and '.join(judges)} differ in one thing only: {axis}" if axis else ""


def axis_sheets(report: Row) -> list[Sheet]:
    """Pairs that differ in one thing only, so that labels that change are due to it; none of the only pair."""
    return [] if only_pair(report) else [_axes(report, ordinal) for ordinal in (False, True)]


def _axes(report: Row, ordinal: bool) -> Sheet:
    found = [(pair["axis"], entry, pair) for entry in report["agreement"] for pair in entry["pairs"]
             if pair["axis"] and entry["ordinal"] == ordinal]  # fmt: skip
    found.sort(key=lambda one: one[0])
    rows = (
        (axis, entry["setting"], what(entry), entry["model"], named(pair["raters"]), *_estimates(pair, ordinal)[:3])
        for axis, entry, pair in found
    )
    title = f"What changes if only one thing about the judge changes: {'grades' if ordinal else 'labels'}"
    labels, numbers = ["only this differs", "setting", "labels of", "model", "judges"], ["items", "agree"]
    first = next(iter(measures(ordinal)))
    return sheet(title, labels, [*numbers, first], rows, _warnings([pair for *_, pair in found], ordinal))


# -- who gave which label where another gave which ---------------------------------------------------------------------


def confusion_sheets(report: Row, *, most: int | None = None) -> list[Sheet]:
    """Counts of labels by pairs of raters, a table for each setting and kind.

    Args:
        most: labels of a kind at most; None for all kinds.
    """
    found: dict[tuple[str, str], list[Row]] = {}
    for entry in report["agreement"]:
        if entry["items"] == "all" and (most is None or len(entry["labels"]) <= most):
            found.setdefault((entry["setting"], entry["kind"]), []).append(entry)
    return [_confusion(setting, kind, entries) for (setting, kind), entries in found.items()]


def _confusion(setting: str, kind: str, entries: Sequence[Row]) -> Sheet:
    ordinal = entries[0]["ordinal"]
    order = [label for entry in entries for label in entry["labels"]]
    labels = list(dict.fromkeys(order)) if ordinal else sorted(dict.fromkeys(order))
    rows = (
        (entry["model"], named(pair["raters"]), f"first says {said(label)}", *map(str, counts))
        for entry in entries
        for pair in entry["pairs"]
        for label, counts in _counts(pair["confusion"], labels)
        if any(counts)
    )
    title = f"{setting}: confusion matrices of {kind}"
    columns = ("model", "first / second", "first", *(f"second says {said(label)}" for label in labels))
    return Sheet(
        title, columns, tuple(rows), 3,
        "items that both labelled; labels that the first gave to none of them are left out", folded=True,
    )  # fmt: skip


def _counts(confusion: Row, labels: Sequence[Any]) -> Iterator[tuple[Any, list[int]]]:
    """Every label of the first with how often the second gave each of the labels."""
    place = {label: at for at, label in enumerate(confusion["labels"])}
    for label in labels:
        if label in place:
            row = confusion["counts"][place[label]]
            yield label, [row[place[other]] if other in place else 0 for other in labels]


def said(label: Any) -> str:
    """A label as it is imported."""
    return str(label).lower() if isinstance(label, bool) else str(label)
