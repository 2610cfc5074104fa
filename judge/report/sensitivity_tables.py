"""How much of a result is the judge, as tables for the terminal and for the HTML report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from judge.report.sheets import (
    Sheet,
    estimate,
    named,
    percent,
    print_sheets,
    sheet,
    signed,
    signed_span,
)
from judge.report.tables import console, counted, number, span
from judge.report.text import one_line, printable
from judge.sensitivity.settings import SAME

Row = Mapping[str, Any]

#: Characters of a judged text and of a rationale on the terminal.
_TEXT = 400

NOT_COMPARABLE = "not comparable"

#: Heading -> coefficient, for labels without and with an order.
_NOMINAL = {"Cohen's kappa": "cohen_kappa", "AC1": "gwet_ac1", "alpha": "krippendorff_alpha_nominal"}
_ORDINAL = {
    "Cohen's kappa": "cohen_kappa_quadratic",
    "AC1": "gwet_ac2_quadratic",
    "alpha": "krippendorff_alpha_interval",
}


def print_sensitivity(report: Row, sentences: Sequence[str]) -> None:
    """The whole report on the terminal, the summary first."""
    out = console()
    out.print(f"{report['title']}: how much of the result is the judge?\n")
    for sentence in sentences:
        out.print(printable(sentence))
    out.print()
    print_sheets(sheets(report), out)
    for block in split_blocks(report["splits"]):
        out.print(printable(block))
    for line in [*report["not_comparable"], *report["notes"]]:
        out.print(f"Note: {one_line(line)}.")
    if report["forced"] and report["not_comparable"]:
        out.print("Note: --force: what is not comparable is compared all the same.")


def section(report: Row, sentences: Sequence[str]) -> dict[str, Any]:
    """What `judge.report.sensitivity.sensitivity_section` takes."""
    tables = [*sheets(report), _split_sheet(report["splits"])]
    told = [*sentences, *(f"{note[:1].upper()}{note[1:]}." for note in (*report["not_comparable"], *report["notes"]))]
    return {"sentences": told, "tables": [table.data() for table in tables if table.rows]}


def sheets(report: Row) -> list[Sheet]:
    """Every table but that of the items on which judges split."""
    found = [
        _runs(report),
        *(_scores(report, setting) for setting in report["settings"]),
        *(_differences(report, setting) for setting in report["settings"]),
        _agreement(report),
        _ceiling(report),
        _people(report),
        _orders(report),
        _concordance(report),
        _changes(report),
        _axes(report),
        _label_axes(report),
        _preference(report),
        _reasons(report),
        _unscored(report),
    ]
    return [one.without_constant("model", "setting") for one in found]


def _runs(report: Row) -> Sheet:
    rows = (
        (run["model"], str(run["n_cases"]), str(run["n_units"]), str(run["epochs"]),
         str(sum(run["model"] in judge["runs"] for judge in report["judges"])))
        for run in report["runs"]
    )  # fmt: skip
    return sheet("What is compared", ["model under test"], ["cases", "units", "epochs", "judges"], rows)


def _of(rows: Iterable[Row], setting: str) -> list[Row]:
    return [row for row in rows if row["setting"] == setting]


def _scores(report: Row, setting: str) -> Sheet:
    rows = (
        (
            row["title"],
            row["model"],
            row["judge"],
            NOT_COMPARABLE if row["not_comparable"] else number(row["mean"]),
            span(row["interval"]),
            str(row["n_scored"]),
            str(row["n_unscored"]),
        )
        for row in _of(report["scores"], setting)
    )
    columns = ["mean", "95 % interval", "scored", "unscored"]
    return sheet(f"{setting}: scores under each judge", ["metric", "model", "judge"], columns, rows)


_DIFFERENCE = ("first", "second", "difference", "95 % interval", "units", "scores that differ")


def _differences(report: Row, setting: str) -> Sheet:
    rows = (
        (row["title"], row["model"], named(row["judges"]), *_differing(row))
        for row in _of(report["differences"], setting)
    )
    title = f"{setting}: the first judge less the second, on the units that both scored"
    return sheet(
        title, ["metric", "model", "judges"], _DIFFERENCE, rows, "Units: scored by both, of those scored by any"
    )


def _differing(row: Row) -> tuple[str, ...]:
    units = f"{row['n_units']} of {row['n_units'] + sum(row['n_one_only'].values())}"
    compared, flips = row["compared"], row["flips"]
    if compared is None:
        return ("-", "-", NOT_COMPARABLE, "-", units, "-")
    means = compared["means"] or (None, None)
    return (
        number(means[0]),
        number(means[1]),
        signed(compared["difference"]),
        signed_span(compared["interval"]),
        units,
        _flipped(flips),
    )


def _flipped(flips: Row) -> str:
    """How many scores differ, with the share and its interval."""
    if flips["share"] is None:
        return "-"
    ends = flips["interval"]
    interval = f" ({100 * ends[0]:.1f} to {100 * ends[1]:.1f})" if ends else ""
    return f"{flips['count']}, {percent(flips['share'])}{interval}"


# -- labels ------------------------------------------------------------------------------------------------------------

_AGREEMENT = ("items", "agree", *_NOMINAL)


def _labels(pair: Row, ordinal: bool) -> tuple[str, ...]:
    """Items, share of them with the same label, and agreement beyond chance."""
    estimates = pair["estimates"]
    raw = estimates["raw_agreement"]
    ends = raw["interval"]
    interval = f" ({100 * ends[0]:.1f} to {100 * ends[1]:.1f})" if ends else ""
    share = f"{percent(raw['value'])}{interval}" if raw["value"] is not None else estimate(raw)
    measures = _ORDINAL if ordinal else _NOMINAL
    return (str(raw["n_items"]), share, *(estimate(estimates.get(name)) for name in measures.values()))


def _what(entry: Row) -> str:
    return entry["kind"] if entry["items"] == "all" else f"{entry['kind']}, only what had to be read"


def _agreement(report: Row) -> Sheet:
    rows = (
        (entry["setting"], entry["model"], _what(entry), between, names, *_labels(pair, entry["ordinal"]))
        for entry in report["agreement"]
        for between, names, pair in _compared(entry)
    )
    labels = ["setting", "model", "labels of", "between", "raters"]
    title = "Agreement on single labels (95 % interval by cluster)"
    return sheet(title, labels, _AGREEMENT, rows, _agreement_note(report)).without_constant("between")


def _compared(entry: Row) -> Iterator[tuple[str, str, Row]]:
    """Every pair, and all raters together where they are more."""
    for pair in entry["pairs"]:
        yield pair["between"], named(pair["raters"]), pair
    if len(entry["raters"]) > 2:
        yield "all", f"all {len(entry['raters'])}", entry["together"]


def _agreement_note(report: Row) -> str:
    """Which labels are left out, and which measures those of grades are."""
    entries = report["agreement"]
    other = sum(count for entry in entries if entry["items"] == "all" for count in entry["other"].values())
    ordinal = any(entry["ordinal"] for entry in entries)
    parts = [
        f"{counted(other, 'label')} left out: what the others labelled there is, or may be, something else"
        * bool(other),
        "grades have an order: kappa and AC are quadratic, alpha is for intervals" * ordinal,
    ]
    return "; ".join(filter(None, parts))


def _ceiling(report: Row) -> Sheet:
    rows = (
        (row["setting"], row["model"], _what(row), _how(row), named(row["pair"]["raters"]),
         *_labels(row["pair"], row["ordinal"]))
        for row in report["self_consistency"]
    )  # fmt: skip
    title = "A judge against itself: it cannot agree with others better than so"
    return sheet(title, ["setting", "model", "labels of", "how", "judge"], _AGREEMENT, rows)


def _how(row: Row) -> str:
    if row["how"] == SAME:
        return "asked twice under equal settings"
    return f"{counted(row['n_outputs'], 'output')} that came twice"


def _people(report: Row) -> Sheet:
    rows = (
        (row["setting"], row["title"], row["model"], row["judge"], number(judged["judge_mean"]), str(judged["n"]),
         number(judged["human_mean"]), str(judged["n_labelled"]), *_estimated(judged), *_estimated(rates))
        for row in report["people"]
        for judged, rates in [(row["prediction_powered"], row["misclassification"])]
    )  # fmt: skip
    columns = ["judge's mean", "units", "people's mean", "units", "as people would", "95 % interval", "by error rates",
               "95 % interval"]  # fmt: skip
    note = (
        "As people would score all units: prediction-powered inference (Angelopoulos et al. 2023, PPI++); by the "
        "judge's error rates (Rogan & Gladen 1978) where scores are 0 or 1. Both take for granted that the units that "
        "people labelled are a random part of all; the first is not cut to the range of scores"
    )
    title = "Corrected by people's labels: the judge's error is in the interval"
    return sheet(title, ["setting", "metric", "model", "by"], columns, rows, note)


def _estimated(found: Row) -> tuple[str, str]:
    if found["value"] is None:
        return f"- ({found['reason'].replace('_', ' ')})", "-"
    return number(found["value"]), span(found["interval"])


# -- ranks -------------------------------------------------------------------------------------------------------------


def _ranked(report: Row) -> Iterator[tuple[Row, Row]]:
    for entry in report["ranks"]:
        if entry["ranked"] and not entry["ranked"]["reason"]:
            yield entry, entry["ranked"]


def _orders(report: Row) -> Sheet:
    rows = (
        (
            entry["setting"],
            entry["title"],
            judge,
            model,
            _rank(rank),
            number(of["means"][judge][model]),
            str(of["n"]),
            str(of["n_left_out"]),
        )
        for entry, of in _ranked(report)
        for judge, ranks in of["ranks"].items()
        for model, rank in sorted(ranks.items(), key=lambda item: item[1])
    )
    title = "Models ranked by each judge, on the cases that all judges scored for all models"
    labels = ["setting", "metric", "judge", "model under test"]
    return sheet(title, labels, ["rank", "mean", "cases", "left out"], rows, _left_out(report))


def _rank(rank: float) -> str:
    return f"{rank:g}"


def _left_out(report: Row) -> str:
    gone = dict.fromkeys(
        f"{judge} is not ranked on {entry['title']}: {why}"
        for entry in report["ranks"]
        for judge, why in entry["left_out"].items()
    )
    return "; ".join(gone)


def _concordance(report: Row) -> Sheet:
    rows = (
        (entry["setting"], entry["title"], named(pair["judges"]), _tau(pair), span(pair["interval"]))
        for entry, of in _ranked(report)
        for pair in of["concordances"]
    )
    title = "How alike judges rank the models (Kendall's tau-b)"
    note = "The interval is about other cases, not about other models"
    return sheet(title, ["setting", "metric", "judges"], ["tau-b", "95 % interval"], rows, note)


def _tau(pair: Row) -> str:
    return f"- ({pair['reason']})" if pair["tau_b"] is None else number(pair["tau_b"])


def _changes(report: Row) -> Sheet:
    rows = (
        (entry["setting"], entry["title"], named(change["judges"]), f"{change['above']} > {change['below']}",
         number(change["p_first"]), number(change["p_second"]), number(change["p_change"]), _outside(change))
        for entry, of in _ranked(report)
        for change in of["changes"]
    )  # fmt: skip
    columns = ["first: so", "second: reverse", "both", "outside noise"]
    note = (
        "Shares of draws of the cases in which the first judge has this order, the second the reverse, and both at once"
    )
    return sheet("Models that two judges put in opposite orders", ["setting", "metric", "judges", "by the first"],
                 columns, rows, note)  # fmt: skip


def _outside(change: Row) -> str:
    return {True: "yes", False: "no", None: "unknown"}[change["outside_noise"]]


# -- what else ---------------------------------------------------------------------------------------------------------


def _axes(report: Row) -> Sheet:
    """Pairs that differ in one thing only, so that what changes is due to it."""
    rows = sorted(
        (
            (row["axis"], row["setting"], row["title"], row["model"], named(row["judges"]), *_differing(row)[2:])
            for row in report["differences"]
            if row["axis"]
        ),
        key=lambda row: row[0],
    )
    labels = ["only this differs", "setting", "metric", "model", "judges"]
    return sheet("What changes if only one thing about the judge changes: scores", labels, _DIFFERENCE[2:], rows)


def _label_axes(report: Row) -> Sheet:
    rows = sorted(
        (
            (pair["axis"], entry["setting"], _what(entry), entry["model"], named(pair["raters"]),
             *_labels(pair, entry["ordinal"])[:3])
            for entry in report["agreement"]
            for pair in entry["pairs"]
            if pair["axis"]
        ),
        key=lambda row: row[0],
    )  # fmt: skip
    labels = ["only this differs", "setting", "labels of", "model", "judges"]
    return sheet("What changes if only one thing about the judge changes: labels", labels, _AGREEMENT[:3], rows)


def _preference(report: Row) -> Sheet:
    rows = (
        (row["setting"], row["title"], row["judge"], row["model"], ", ".join(row["others"]), *_preferred(row))
        for row in report["self_preference"]
    )
    labels = ["setting", "metric", "judge", "own model", "other judges"]
    columns = ["own less others", "by other judges", "preference", "95 % interval", "cases"]
    note = (
        "Mean of the judge's own model less that of the other models; preference is the judge's less the other judges'"
    )
    if any(not row["neutral"] for row in report["self_preference"]):
        note += "; models of the other judges are under test too, so that they may prefer their own"
    return sheet("Does a judge prefer outputs of its own model?", labels, columns, rows, note)


def _preferred(row: Row) -> tuple[str, ...]:
    compared = row["compared"]
    if compared is None:
        return ("-", "-", NOT_COMPARABLE, "-", "-")
    means = compared["means"] or (None, None)
    return (signed(means[0]), signed(means[1]), signed(compared["difference"]), signed_span(compared["interval"]),
            str(compared["n"]))  # fmt: skip


def _reasons(report: Row) -> Sheet:
    rows = (
        (row["setting"], row["title"], row["model"], row["judge"], reason, str(count))
        for row in report["scores"]
        for reason, count in row["unscored"].items()
    )
    return sheet("Units without a score, by reason", ["setting", "metric", "model", "judge", "reason"], ["units"], rows)


def _unscored(report: Row) -> Sheet:
    rows = (
        (row["setting"], row["title"], row["model"], named(row["judges"]), *map(percent, row["compared"]["means"]),
         signed(row["compared"]["difference"]), signed_span(row["compared"]["interval"]), str(row["n_units"]))
        for row in report["unscored"]
    )  # fmt: skip
    columns = ["first", "second", "difference", "95 % interval", "units"]
    title = "Share of units without a score: the first judge less the second"
    return sheet(title, ["setting", "metric", "model", "judges"], columns, rows)


# -- items -------------------------------------------------------------------------------------------------------------


def _item(split: Row) -> str:
    epoch = f", epoch {split['epoch']}" if split["epoch"] > 1 else ""
    where = "" if split["whole"] else f" {split['item'] + 1}"
    return f"{split['kind']}{where}{epoch}"


def _effect(split: Row) -> str:
    size = split["effect"]["size"]
    return "-" if size is None else f"{split['effect']['metric']} {number(size)}"


def split_blocks(splits: Row) -> Iterator[str]:
    """The items on which judges split, with what was judged and everyone's reason."""
    if not splits["n"]:
        return
    shown = f"; {len(splits['shown'])} of them, those that tell most first:\n" if splits["shown"] else "."
    yield f"Judges split on {counted(splits['n'], 'item')}{shown}"
    for split in splits["shown"]:
        yield f"{split['model']} · {split['setting']} · {split['case']} · {_item(split)} · moves {_effect(split)}"
        if split["text"]:
            yield f"  {_cut(split['text'])}"
        for judge, said in split["labels"].items():
            reason = f": {_cut(said['rationale'])}" if said["rationale"] else ""
            yield f"    {one_line(judge)} says {_said(said)}{reason}"
        yield ""


def _said(said: Row) -> str:
    """A label as it is imported."""
    return str(said["label"]).lower() if isinstance(said["label"], bool) else str(said["label"])


def _cut(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _TEXT else f"{line[:_TEXT].rstrip()} …"


def _split_sheet(splits: Row) -> Sheet:
    rows = (
        (split["case"], split["model"], split["setting"], _item(split), split["text"],
         "; ".join(f"{judge}: {_said(said)}{' - ' * bool(said['rationale'])}{said['rationale']}"
                   for judge, said in split["labels"].items()), _effect(split))
        for split in splits["shown"]
    )  # fmt: skip
    labels = ["case", "model", "setting", "label of", "text", "what judges said"]
    return sheet(f"Where judges split: {len(splits['shown'])} of {splits['n']} items", labels, ["moves"], rows)
