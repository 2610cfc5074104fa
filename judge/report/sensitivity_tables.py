"""How much of a result is the judge, as tables for the terminal and for the HTML report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from judge.report.sensitivity_labels import (
    FEW_LABELS,
    agreement_sheets,
    axis_sheets,
    confusion_sheets,
    consistency_sheets,
    only_pair,
    said,
    share,
)
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

Row = Mapping[str, Any]

#: Characters of a judged text and of a rationale on the terminal.
_TEXT = 400

NOT_COMPARABLE = "not comparable"


def print_sensitivity(report: Row, sentences: Sequence[str], *, confusion: bool = False) -> None:
    """The whole report on the terminal, the summary first.

    Args:
        confusion: show who gave which label for kinds with many labels too.
    """
    out = console()
    out.print(f"{report['title']}: how much of the result is the judge?\n")
    for sentence in sentences:
        out.print(printable(sentence))
    out.print()
    tables = [*sheets(report), *confusion_sheets(report, most=None if confusion else FEW_LABELS)]
    print_sheets([_plain(one) for one in tables], out)
    for block in split_blocks(report["splits"]):
        out.print(printable(block))
    for line in _notes(report):
        out.print(f"Note: {one_line(line)}.")


def section(report: Row, sentences: Sequence[str]) -> dict[str, Any]:
    """What `judge.report.sensitivity.sensitivity_section` takes."""
    tables = [*sheets(report), *map(_plain, confusion_sheets(report)), _plain(_split_sheet(report["splits"]))]
    return {
        "sentences": list(sentences),
        "tables": [table.data() for table in tables if table.rows],
        "notes": [f"{note[:1].upper()}{note[1:]}." for note in _notes(report)],
    }


def _notes(report: Row) -> list[str]:
    forced = ["--force: what is not comparable is compared all the same"]
    return [
        *report["not_comparable"],
        *report["notes"],
        *(forced if report["forced"] and report["not_comparable"] else []),
    ]


def sheets(report: Row) -> list[Sheet]:
    """Every table but those of who gave which label, and of the items on which judges split."""
    found = [
        _runs(report),
        *(_scores(report, setting) for setting in report["settings"]),
        *(_differences(report, setting) for setting in report["settings"]),
        *agreement_sheets(report),
        *consistency_sheets(report),
        _people(report),
        _orders(report),
        _concordance(report),
        _changes(report),
        *([] if only_pair(report) else [_axes(report)]),
        *axis_sheets(report),
        _preference(report),
        _reasons(report),
        _unscored(report),
    ]
    return list(map(_plain, found))


def _plain(one: Sheet) -> Sheet:
    return one.without_constant("model", "setting").with_constant_in_title("judges", "raters", "first / second")


def _runs(report: Row) -> Sheet:
    rows = (
        (run["model"], str(run["n_cases"]), str(run["n_units"]), str(run["epochs"]),
         str(sum(run["model"] in judge["runs"] for judge in report["judges"] if judge["kind"] != "person")),
         str(sum(run["model"] in judge["runs"] for judge in report["judges"] if judge["kind"] == "person")))
        for run in report["runs"]
    )  # fmt: skip
    columns = ["cases", "units", "epochs", "judges", "people"]
    return sheet("What is compared", ["model under test"], columns, rows, only_pair(report)).without_zero("people")


def _of(rows: Iterable[Row], setting: str) -> list[Row]:
    return [row for row in rows if row["setting"] == setting]


def _scores(report: Row, setting: str) -> Sheet:
    found = _of(report["scores"], setting)
    rows = (
        (
            row["title"],
            row["model"],
            row["judge"],
            NOT_COMPARABLE if row["not_comparable"] else number(row["mean"]),
            span(row["interval"]) if row["interval"] or row["not_comparable"] else because(row["interval_reason"]),
            str(row["n_scored"]),
            str(row["n_unscored"]),
            str(row["n_not_rated"]),
        )
        for row in found
    )
    columns = ["mean", "95 % interval", "scored", "unscored", "not rated"]
    left = any(row["n_not_rated"] for row in found)
    return sheet(
        f"{setting}: scores under each judge", ["metric", "model", "judge"], columns, rows,
        "not rated: units that nobody asked this judge or person about" * left,
        few(row["n_clusters"] for row in found),
        explained(row["interval_reason"] for row in found),
    ).without_zero("not rated")  # fmt: skip


_DIFFERENCE = ("first", "second", "difference", "95 % interval", "p (Holm)", "units", "scores that differ")


def _differences(report: Row, setting: str) -> Sheet:
    found = _of(report["differences"], setting)
    rows = ((row["title"], row["model"], named(row["judges"]), *_differing(row)) for row in found)
    title = f"{setting}: the first judge less the second, on the units that both scored"
    return sheet(title, ["metric", "model", "judges"], _DIFFERENCE, rows,
                 "units: scored by both, of those scored by any", _corrected(report), *_warnings(found))  # fmt: skip


def _corrected(report: Row) -> str:
    """For how many tests p values are corrected, and what they cannot show."""
    tests = report["tests"]
    if not tests["n"]:
        return ""
    unresolved = (
        f", of which {tests['n_unresolved']} may be clear, but {tests['resamples']} draws of so many clusters "
        "cannot show a smaller p" * bool(tests["n_unresolved"])
    )
    return (
        f"p by the bootstrap of clusters, corrected by Holm's method for all {counted(tests['n'], 'paired test')} of "
        f"this report{unresolved}"
    )


def _warnings(found: Iterable[Row]) -> list[str]:
    """What tests of rows hide: few clusters, and why there is no interval."""
    compared = [row["compared"] for row in found if row["compared"]]
    return [few(one["n_clusters"] for one in compared), explained(_why(one) for one in compared)]


def _why(compared: Row) -> str:
    """Why there is no interval; the same for all where there is no value either."""
    return str(compared["reason"] or compared["interval_reason"])


def _differing(row: Row) -> tuple[str, ...]:
    units = f"{row['n_units']} of {row['n_units'] + sum(row['n_one_only'].values())}"
    compared, flips = row["compared"], row["flips"]
    if compared is None:
        return ("-", "-", NOT_COMPARABLE, "-", "-", units, "-")
    means = compared["means"] or (None, None)
    return (
        number(means[0]),
        number(means[1]),
        signed(compared["difference"]),
        signed_span(compared["interval"], _why(compared)),
        p_value(compared["p_holm"]),
        units,
        _flipped(flips),
    )


def _flipped(flips: Row) -> str:
    """How many scores differ, with the share and its interval."""
    if flips["share"] is None:
        return "-"
    return f"{flips['count']}, {share({**flips, 'value': flips['share']})}"


# -- people ------------------------------------------------------------------------------------------------------------


def _people(report: Row) -> Sheet:
    found = report["people"]
    rows = (
        (row["setting"], row["title"], row["model"], row["judge"], number(judged["judge_mean"]), str(judged["n"]),
         number(judged["human_mean"]), str(judged["n_labelled"]), *_estimated(judged),
         *_estimated(row["misclassification"]))
        for row in found
        for judged in [row["prediction_powered"]]
    )  # fmt: skip
    columns = ["judge's mean", "units", "people's mean", "units", "as people would", "95 % interval", "by error rates",
               "95 % interval"]  # fmt: skip
    estimates = [row[name] for row in found for name in ("prediction_powered", "misclassification")]
    split = {(row["setting"], row["metric"], row["model"]): row["n_split"] for row in found}
    notes = [
        "as people would score all units: prediction-powered inference (Angelopoulos et al. 2023, PPI++), where "
        "several scored a unit their mean; by the judge's error rates (Rogan & Gladen 1978) where scores are 0 or 1 "
        "and most of a unit's people gave one of them. Both take for granted that the units that people labelled are a "
        "random part of all; the first is not cut to the range of scores",
        f"people split evenly on {counted(sum(split.values()), 'unit')}: to leave these out would measure the judge on "
        "the easy ones" * bool(sum(split.values())),
        few(row["prediction_powered"]["n_labelled_clusters"] for row in found),
        explained(one["reason"] or one["interval_reason"] for one in estimates),
        *dict.fromkeys(one["note"] for one in estimates),
    ]
    title = "Corrected by people's labels: the judge's error is in the interval"
    return sheet(title, ["setting", "metric", "model", "by"], columns, rows, *notes)


def _estimated(found: Row) -> tuple[str, str]:
    if found["value"] is None:
        return because(found["reason"]), "-"
    return number(found["value"]), span(found["interval"]) if found["interval"] else because(found["interval_reason"])


# -- ranks -------------------------------------------------------------------------------------------------------------


def _orders(report: Row) -> Sheet:
    found = [(entry, one) for entry in report["ranks"] for one in entry["judges"] if one["ranks"]]
    rows = (
        (
            entry["setting"],
            entry["title"],
            f"{one['judge']}{' (person)' * one['person']}",
            model,
            f"{rank:g}",
            NOT_COMPARABLE if one["not_comparable"] else number(one["means"][model]),
            str(one["n"]),
            str(one["n_left_out"]),
        )
        for entry, one in found
        for model, rank in sorted(one["ranks"].items(), key=lambda item: item[1])
    )
    title = "Models ranked by each judge, on the cases that this judge scored for all models"
    return sheet(
        title, ["setting", "metric", "judge", "model under test"], ["rank", "mean", "cases", "left out"], rows,
        "left out: cases that the judge scored for some models only" * any(one["n_left_out"] for _, one in found),
        few(one["n_clusters"] for _, one in found),
        *_left_out(report),
    )  # fmt: skip


def _left_out(report: Row) -> Iterable[str]:
    return dict.fromkeys(
        f"{judge} is not ranked on {entry['title']}: {why}"
        for entry in report["ranks"]
        for judge, why in entry["left_out"].items()
    )


def _pairs(report: Row) -> list[tuple[Row, Row]]:
    return [(entry, pair) for entry in report["ranks"] for pair in entry["pairs"]]


def _concordance(report: Row) -> Sheet:
    found = _pairs(report)
    rows = (
        (entry["setting"], entry["title"], pair["between"], named(pair["judges"]), *_tau(pair))
        for entry, pair in found
    )  # fmt: skip
    reasons = (key for _, pair in found for key in _no_tau(pair))
    return sheet(
        "How alike two judges rank the models (Kendall's tau-b), on the cases that both scored for all of them",
        ["setting", "metric", "between", "judges"], ["tau-b", "95 % interval", "cases"], rows,
        "the interval is about other cases, not about other models",
        few(pair["n_clusters"] for _, pair in found),
        explained(reasons),
    ).without_constant("between")  # fmt: skip


def _no_tau(pair: Row) -> tuple[str, ...]:
    """Why there is no tau, or no interval of it."""
    found = pair["concordance"]
    return (pair["reason"],) if found is None else (found["reason"] or found["interval_reason"],)


def _tau(pair: Row) -> tuple[str, str, str]:
    if pair["not_comparable"]:
        return NOT_COMPARABLE, "-", "-"
    (why,), found, n = _no_tau(pair), pair["concordance"], str(pair["n"])
    if found is None or found["tau_b"] is None:
        return because(why), "-", n
    return number(found["tau_b"]), span(found["interval"]) if found["interval"] else because(why), n


def _changes(report: Row) -> Sheet:
    found = [(entry, pair, change) for entry, pair in _pairs(report) for change in pair["changes"]]
    rows = (
        (entry["setting"], entry["title"], pair["between"], named(pair["judges"]),
         f"{change['above']} > {change['below']}", _apart(pair, change, 0), _apart(pair, change, 1), str(pair["n"]),
         number(change["p_first"]), number(change["p_second"]), number(change["p_change"]), _outside(change))
        for entry, pair, change in found
    )  # fmt: skip
    columns = ["by the first", "by the second", "cases", "first: so", "second: reverse", "both", "outside noise"]
    return sheet(
        "Models that two judges put in opposite orders, on the cases that both scored for all models",
        ["setting", "metric", "between", "judges", "first's order"], columns, rows,
        "by the first, by the second: their means of the two models; then shares of draws of the cases in which the "
        "first judge has this order, the second the reverse, and both at once",
        few(pair["n_clusters"] for _, pair, _ in found),
    ).without_constant("between")  # fmt: skip


def _apart(pair: Row, change: Row, place: int) -> str:
    means = pair["means"][pair["judges"][place]]
    return f"{number(means[change['above']])}, {number(means[change['below']])}"


def _outside(change: Row) -> str:
    return {True: "yes", False: "no", None: "unknown"}[change["outside_noise"]]


# -- what else ---------------------------------------------------------------------------------------------------------


def _axes(report: Row) -> Sheet:
    """Pairs that differ in one thing only, so that what changes is due to it."""
    found = sorted((row for row in report["differences"] if row["axis"]), key=lambda row: row["axis"])
    rows = (
        (row["axis"], row["setting"], row["title"], row["model"], named(row["judges"]), *_differing(row)[2:])
        for row in found
    )
    labels = ["only this differs", "setting", "metric", "model", "judges"]
    title = "What changes if only one thing about the judge changes: scores"
    return sheet(title, labels, _DIFFERENCE[2:], rows, *_warnings(found))


def _preference(report: Row) -> Sheet:
    found = report["self_preference"]
    rows = (
        (row["setting"], row["title"], row["judge"], ", ".join(row["models"]), ", ".join(row["others"]),
         *_preferred(row))
        for row in found
    )  # fmt: skip
    labels = ["setting", "metric", "judge", "own models", "compared with"]
    columns = ["own less others", "by these", "preference", "95 % interval", "p (Holm)", "cases"]
    families = " and ".join(", ".join(names) for names in report["families"])
    notes = [
        "mean of the models of the judge's own family less that of the other models; preference is the judge's less "
        "that of whom it is compared with. Several judges or runs of one model count as one",
        f"of one family: {families}, as said with --family, and what has the same name" if families
        else "of one family: only what has the same name; --family says what else is",
        "models of the other judges are under test too, so that they may prefer their own"
        * any(not row["neutral"] for row in found),
        *_warnings(found),
    ]  # fmt: skip
    return sheet("Does a judge prefer outputs of its own model?", labels, columns, rows, *notes)


def _preferred(row: Row) -> tuple[str, ...]:
    compared = row["compared"]
    if compared is None:
        return ("-", "-", NOT_COMPARABLE, "-", "-", "-")
    means = compared["means"] or (None, None)
    return (signed(means[0]), signed(means[1]), signed(compared["difference"]),
            signed_span(compared["interval"], _why(compared)), p_value(compared["p_holm"]),
            str(compared["n"]))  # fmt: skip


def _reasons(report: Row) -> Sheet:
    rows = (
        (row["setting"], row["title"], row["model"], row["judge"], reason, str(count))
        for row in report["scores"]
        for reason, count in row["unscored"].items()
    )
    return sheet("Units without a score, by reason", ["setting", "metric", "model", "judge", "reason"], ["units"], rows)


def _unscored(report: Row) -> Sheet:
    found = report["unscored"]
    rows = (
        (row["setting"], row["title"], row["model"], named(row["judges"]), *map(percent, row["compared"]["means"]),
         signed(row["compared"]["difference"]), signed_span(row["compared"]["interval"], _why(row["compared"])),
         p_value(row["compared"]["p_holm"]), str(row["n_units"]))
        for row in found
    )  # fmt: skip
    columns = ["first", "second", "difference", "95 % interval", "p (Holm)", "units"]
    title = "Share of units without a score, of those that both judges were asked about: the first less the second"
    return sheet(title, ["setting", "metric", "model", "judges"], columns, rows, *_warnings(found))


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
    yield f"{splits['who'].capitalize()} split on {counted(splits['n'], 'item')}{shown}"
    for split in splits["shown"]:
        yield f"{split['model']} · {split['setting']} · {split['case']} · {_item(split)} · moves {_effect(split)}"
        if split["text"]:
            yield f"  {_cut(split['text'])}"
        for judge, of in split["labels"].items():
            reason = f": {_cut(of['rationale'])}" if of["rationale"] else ""
            yield f"    {one_line(judge)} says {said(of['label'])}{reason}"
        yield ""


def _cut(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _TEXT else f"{line[:_TEXT].rstrip()} …"


def _split_sheet(splits: Row) -> Sheet:
    rows = (
        (split["case"], split["model"], split["setting"], _item(split), split["text"],
         "\n".join(f"{judge}: {said(of['label'])}{' - ' * bool(of['rationale'])}{of['rationale']}"
                   for judge, of in split["labels"].items()), _effect(split))
        for split in splits["shown"]
    )  # fmt: skip
    labels = ["case", "model", "setting", "label of", "text", "what was said"]
    return sheet(
        f"Where {splits['who']} split: {len(splits['shown'])} of {splits['n']} items", labels, ["moves"], rows,
        f"first those on which most {splits['who']} are against the most frequent label, then those that move a score "
        "most; among equals, models and kinds of labels take turns, and so do cases. Panels, and people beside judges, "
        "do not vote",
    )  # fmt: skip
