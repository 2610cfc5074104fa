"""A run's report as tables in the terminal; every number stands beside its n, its bounds and its signature."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from judge.benchmark import PENDING, registry
from judge.metrics.signature import Metric
from judge.report.prices import Cost
from judge.report.text import one_line, printable

T = TypeVar("T")

#: A longer table of signatures is shown only where everything is.
MOST_SIGNATURES = 12

#: Width of tables where neither a terminal nor COLUMNS says one.
PIPE_WIDTH = 120


def console() -> Console:
    """Standard output; wide enough for the tables when it is a pipe. Brackets in names are no markup."""
    plain = Console(highlight=False, markup=False, emoji=False)
    if plain.is_terminal:
        return plain
    width = shutil.get_terminal_size((PIPE_WIDTH, 0)).columns  # COLUMNS, if it is set
    return Console(highlight=False, markup=False, emoji=False, width=width)


def print_report(report: Mapping[str, Any], *, breakdowns: bool = False, cost: Cost | None = None) -> None:
    """The tables of a report as `judge.runs.scoring.report_of` makes it.

    Args:
        cost: of the report's tokens, where the user gave prices.
    """
    out = console()
    for line in heading(report):
        out.print(printable(line))
    out.print(overview(report["settings"]))
    for setting in report["settings"]:
        _print_setting(report, setting, out, breakdowns=breakdowns)
    out.print(signatures(report, everything=breakdowns))
    if report["tokens"]:
        out.print(token_table(report["tokens"], cost))
    for line in [*([f"{cost.sentence()}."] if cost else []), *closing_lines(report)]:
        out.print(line)


def _print_setting(report: Mapping[str, Any], setting: Mapping[str, Any], out: Console, *, breakdowns: bool) -> None:
    for table in [*summary_tables(setting, out), *metric_tables(setting, out)]:
        out.print(table)
    lines = status_lines(report["benchmark"], setting, report["scored_statuses"])
    for line in [*(f"  {line}" for line in lines), *([""] if lines else [])]:
        out.print(line)
    if setting["epochs"]:
        out.print(epoch_table(setting))
    for name, groups in setting["by"].items() if breakdowns else ():
        for table in breakdown_tables(setting, name, groups, out):
            out.print(table)


def closing_lines(report: Mapping[str, Any]) -> list[str]:
    """What a judge cost, and what must stand beside the numbers."""
    cost = judge_cost(report["judge"]) if report["judge"] else ""
    corpus = [
        f"{setting}: {of['title']} {number(of['value'])}  ({of['signature']})"
        for setting, facts in report["explanations"].items()
        for of in facts["corpus"].values()
    ]
    return [
        *corpus,
        *([f"Judge: {one_line(cost)}."] if cost else []),
        *(f"Note: {one_line(note)}." for note in _notes(report)),
    ]


def _notes(report: Mapping[str, Any]) -> list[str]:
    """What must stand beside the numbers, and which numbers are not shown."""
    unshown = report["judges"] if report["judge"] is None else []
    stored = f"judgements by {', '.join(unshown)} are stored; medjudge score RUN_DIR --judge NAME scores by them"
    return [*report["warnings"], *([stored] if unshown else [])]


def heading(report: Mapping[str, Any]) -> list[str]:
    spec = report["spec"]
    settings = f"{report['benchmark']} · {report['model']}"
    judged = [_judged(report["judge"])] if report["judge"] else []
    if spec["model"]["kind"] == "imported":
        return [settings, " · ".join([*_chosen(spec), "predictions made elsewhere"]), *judged]
    asked = [f"{key} {value}" for key, value in spec["generation"].items() if value not in (None, {})]
    epochs = [f"epochs {spec['epochs']}"] if spec["epochs"] > 1 else []
    unasked = "a person" if spec["model"]["kind"] == "human" else "temperature and reply length: the server's defaults"
    rest = [*_chosen(spec), *(asked or [unasked]), *epochs]
    state = [] if report["state"] == "complete" else ["NOT FINISHED: what is missing counts as unscored (not_run)"]
    return [settings, " · ".join(rest), *judged, *state]


def _judged(judge: Mapping[str, Any]) -> str:
    """Whose judgements the judged metrics rest on."""
    parts = [f"judged by {judge['name']}", *(["a person"] if judge.get("source") == "person" else [])]
    if judge.get("source") == "panel":
        parts.append(f"{judge['rule']} of {', '.join(judge['judges'])}")
    if judge.get("file"):
        named = f" (it holds labels by {', '.join(judge['judges'])})" if judge.get("judges") else ""
        parts.append(f"labels imported from {judge['file']}{named}")
    if judge.get("spec"):
        parts += _judge_settings(judge)
    return one_line(" · ".join(parts))


def _judge_settings(judge: Mapping[str, Any]) -> list[str]:
    spec = judge["spec"]
    asked = [f"{key} {value}" for key, value in spec["generation"].items() if value not in (None, {})]
    return [
        spec["model"]["text"],
        f"{spec['protocol']} ({judge.get('mode', 'not asked yet')})",
        *asked,
        f"evidence {spec['evidence']}",
        *_reasoning_settings(judge),
    ]


def _reasoning_settings(judge: Mapping[str, Any]) -> list[str]:
    """Where steps are from, for benchmarks that have any."""
    spec, references = judge["spec"], judge["references"]
    if references is None:
        return []
    pinned = f" from {references['file']}" if references["file"] else ""
    return [
        f"reasoning in the {spec['reasoning_source']}, split by {_splitters(judge, spec['step_splitter'])}",
        f"reference steps {spec['reference']}{pinned}",
    ]


def _split_calls(cost: Mapping[str, Any]) -> str:
    """Splits belong to the transcripts: whichever judge came first paid for them."""
    return f"; {counted(cost['split_calls'], 'call')} to split reasoning, for all judges" * bool(cost["split_calls"])


def _splitters(judge: Mapping[str, Any], wanted: str) -> str:
    """Who split how many units; `auto` alone would not say it."""
    found = [f"{name} {count}" for name, count in judge["splitters"].items()]
    return f"{wanted} ({', '.join(found)})" if found else wanted


def judge_cost(judge: Mapping[str, Any]) -> str:
    """Calls and tokens of a judge for each unit; empty where nothing was asked."""
    cost, units = judge.get("cost"), judge.get("units")
    if not cost or not units:
        return ""
    unreported = f", {cost['calls_without_a_report']:,} calls without a report" * bool(cost["calls_without_a_report"])
    return (
        f"{judge['name']} ({judge['protocol']}): {cost['calls'] / units:.1f} calls, "
        f"{cost['prompt_tokens'] / units:,.0f} prompt and {cost['completion_tokens'] / units:,.0f} completion tokens "
        f"a unit, over {counted(units, 'unit')}{unreported}{_split_calls(cost)}"
    )


def _chosen(spec: Mapping[str, Any]) -> list[str]:
    """The benchmark's options, and which cases when not all."""
    options = [f"{key} {value}" for key, value in spec["options"].items() if isinstance(value, str | int)]
    few = ["chosen cases only"] if spec["cases"] else []
    first = [f"first {spec['limit']} cases only"] if spec["limit"] is not None else []
    return [*options, *few, *first]


def overview(settings: Sequence[Mapping[str, Any]]) -> Table:
    """Means by setting, for the eye; the details follow."""
    table = Table(title="Means by setting", box=box.SIMPLE_HEAD, title_justify="left")
    table.add_column("metric", no_wrap=True)
    for setting in settings:
        table.add_column(setting["setting"], justify="right")
    for name, title in titles(settings).items():
        table.add_row(title, *(number(_mean_of(setting, name)) for setting in settings))
    table.add_row("scored / units", *(_scored(setting) for setting in settings))
    return table


def _mean_of(setting: Mapping[str, Any], name: str) -> float | None:
    found: Mapping[str, Any] = setting["summaries"].get(name) or setting["metrics"].get(name, {})
    return found.get("mean")


def unjudged(group: Mapping[str, Any], name: str) -> bool:
    """Whether a metric rests on what the judge was not asked in any of the group's units."""
    metric = group["metrics"][name]
    return not metric["n_scored"] and set(metric["unscored"]) == {"not_judged"}


def _shown(group: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The metrics of a group that say something; the others are named in `status_lines`."""
    return {name: metric for name, metric in group["metrics"].items() if not unjudged(group, name)}


def titles(settings: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Metric -> title, for every metric that any of the settings has; means of group means first, if there are any."""
    plain = {name: metric["title"] for setting in settings for name, metric in _shown(setting).items()}
    macros = {name for setting in settings for name in plain if f"{name}_macro" in setting["summaries"]}
    return {
        f"{name}_macro" if name in macros else name: f"{title}, macro" if name in macros else title
        for name, title in plain.items()
    }


def _scored(group: Mapping[str, Any]) -> str:
    """Units scored of all units; they are the same for all metrics of a benchmark unless a metric says otherwise."""
    counts = {metric["n_scored"] for metric in _shown(group).values()}
    shown = str(min(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    return f"{shown} / {group['n_units']}"


#: Column -> its cell; the first four are about the number, the others about what it rests on.
COLUMNS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "mean": lambda metric: number(metric["mean"]),
    "s.e.": lambda metric: number(metric["se"]),
    "95 % interval": lambda metric: span(metric["interval"]),
    "reachable": lambda metric: number(metric["maximum"]),
    "scored": lambda metric: str(metric["n_scored"]),
    "unscored": lambda metric: str(metric["n_unscored"]),
    "bounds": lambda metric: span(metric["bounds"]),
}


def summary_tables(setting: Mapping[str, Any], out: Console) -> list[Table]:
    """Means of group means, and what stands apart; none where the benchmark has no such thing."""
    tables = list(spread(_rules(setting), lambda some: _matrix(setting, some), out)) if setting["summaries"] else []
    asides = list(setting["asides"].values())
    if asides:
        title = f"{setting['setting']}: apart from all other numbers"
        whole = _rows_table(title, asides, list(COLUMNS))
        parts = _halves(list(COLUMNS))
        tables += [whole] if _fits(whole, out) else [_rows_table(title, asides, part) for part in parts]
    return tables


def _rules(setting: Mapping[str, Any]) -> list[str]:
    """Which means there are, e.g. ``macro``, ``macro_without_SLP``, ``micro``, in order."""
    found = (_rule_of(setting, name) for name in setting["summaries"])
    return list(dict.fromkeys(rule for rule in found if rule))


def _rule_of(setting: Mapping[str, Any], name: str) -> str:
    """The rule of a summary: its name is that of a metric and the rule."""
    of = [metric for metric in setting["metrics"] if name.startswith(f"{metric}_m")]
    return name.removeprefix(f"{max(of, key=len)}_") if of else ""


def _matrix(setting: Mapping[str, Any], rules: Sequence[str]) -> Table:
    """A row a metric and a column a rule: mean ± s.e. (units scored)."""
    title = f"{setting['setting']}: means of group means, and over all cases (mean ± s.e., units scored)"
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    table.add_column("metric", overflow="fold")
    for rule in rules:
        table.add_column(f"{rule.replace('_', ' ')}{_partial(setting, rule)}", justify="right", no_wrap=True)
    for name, metric in _shown(setting).items():
        cells = [setting["summaries"].get(f"{name}_{rule}") for rule in rules]
        if any(cells):
            table.add_row(metric["title"], *(_summary_cell(cell) for cell in cells))
    return table


def _partial(setting: Mapping[str, Any], rule: str) -> str:
    """Which groups a mean is over, where these are not all that are published."""
    titles = (row["title"] for name, row in setting["summaries"].items() if name.endswith(f"_{rule}"))
    over = next((title.partition("(only ")[2].partition(")")[0] for title in titles if "(only " in title), "")
    return f" ({over.partition(';')[0]})" if over else ""


def _summary_cell(summary: Mapping[str, Any] | None) -> str:
    if summary is None:
        return "-"
    return f"{number(summary['mean'])} ± {number(summary['se'])} ({summary['n_scored']})"


def _halves(names: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """What is about the number, and what it rests on."""
    return names[:4], names[4:]


def metric_tables(setting: Mapping[str, Any], out: Console) -> list[Table]:
    """One setting in full: one table, or two where the terminal is narrow, since no number may be cut."""
    names = list(COLUMNS)
    whole = metric_table(setting, names)
    return [whole] if _fits(whole, out) else [metric_table(setting, part) for part in _halves(names)]


def metric_table(setting: Mapping[str, Any], columns: Sequence[str]) -> Table:
    most = max((metric["n_clusters"] for metric in setting["metrics"].values()), default=0)
    sizes = f"{counted(setting['n_cases'], 'case')}, {counted(setting['n_units'], 'unit')}"
    scored = f"scored ones in {counted(most, 'cluster')}" if most else "none scored"
    title = f"{setting['setting']}: {sizes}, {scored}"
    return _rows_table(title, _shown(setting).values(), columns)


def _rows_table(title: str, rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Table:
    """One row a metric; a title that is too long for the terminal is wrapped, a number never."""
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    table.add_column("metric", overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for metric in rows:
        table.add_row(metric["title"], *(COLUMNS[column](metric) for column in columns))
    return table


def _fits(table: Table, out: Console) -> bool:
    natural = Measurement.get(out, out.options.update(max_width=10_000), table).maximum
    return natural <= out.width


def epoch_table(setting: Mapping[str, Any]) -> Table:
    """What asking each case of a setting several times shows."""
    rows = setting["epochs"]
    title = f"{setting['setting']}: {rows[0]['k']} epochs a case"
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    table.add_column("metric", overflow="fold")
    for column in ("all are 1", "any is 1", "sd between cases", "sd within", "ICC", "cases", "too few epochs"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        cells = (row["all_of"], row["any_of"], row["sd_between"], row["sd_within"], row["icc"])
        short = "" if row["n_short"] is None else str(row["n_short"])
        table.add_row(row["title"], *map(number, cells), str(row["n_cases"]), short)
    return table


def signatures(report: Mapping[str, Any], *, everything: bool) -> Table | str:
    """What exactly each number is, or where that is said."""
    table = signature_table(report["settings"])
    if everything or table.row_count <= MOST_SIGNATURES:
        return table
    return f"Signatures of all numbers: medjudge show {one_line(report['run'])}, or --json.\n"


def signature_table(settings: Sequence[Mapping[str, Any]]) -> Table:
    """What exactly each number is."""
    table = Table(title="Signatures", box=box.SIMPLE_HEAD, title_justify="left", show_header=False)
    table.add_column("metric", no_wrap=True)
    table.add_column("signature", overflow="fold")
    where: dict[tuple[str, str], list[str]] = {}
    for setting in settings:
        for metric in (row for section in ("summaries", "metrics", "asides") for row in setting[section].values()):
            where.setdefault((metric["title"], metric["signature"]), []).append(setting["setting"])
    for (title, signature), names in where.items():
        only = "" if len(names) == len(settings) else f" ({', '.join(names)})"
        table.add_row(f"{title}{only}", signature)
    return table


def status_lines(benchmark: str, setting: Mapping[str, Any], scored: Sequence[str]) -> list[str]:
    """Why units are unscored, and what else was noticed about the replies."""
    lines = []
    unscored = {status: count for status, count in setting["statuses"].items() if status not in scored}
    if len(setting["statuses"]) > len(unscored) > 0 or len(setting["statuses"]) > 1:
        ended = ((status, count) for status, count in setting["statuses"].items() if status in scored)
        lines.append("scored: " + (", ".join(f"{status} {count}" for status, count in ended) or "none"))
    if unscored:
        named = (("not_run" if status == PENDING else status, count) for status, count in unscored.items())
        lines.append("unscored: " + ", ".join(f"{status} {count}" for status, count in named))
    if left := [metric["title"] for name, metric in setting["metrics"].items() if unjudged(setting, name)]:
        lines.append(f"not judged: {', '.join(left)}")
    found = registry().get(benchmark)
    meanings = found.flags if found else {}
    for flag, count in setting["flags"].items():
        share = 100 * count / setting["n_units"]
        lines.append(f"{flag.replace('_', ' ')}: {count} ({share:.1f} %) - {meanings.get(flag, '')}")
    return lines


def breakdown_tables(
    setting: Mapping[str, Any], name: str, groups: Sequence[Mapping[str, Any]], out: Console
) -> list[Table]:
    return spread(groups, lambda some: breakdown_table(setting, name, some), out)


def spread(items: Sequence[T], table_of: Callable[[Sequence[T]], Table], out: Console) -> list[Table]:
    """Tables with as many of the items side by side as the terminal has room for."""
    for size in range(len(items), 0, -1):
        tables = [table_of(items[start : start + size]) for start in range(0, len(items), size)]
        if size == 1 or all(_fits(table, out) for table in tables):
            return tables
    return []


def baseline_tables(
    title: str, metrics: Sequence[Metric], columns: Sequence[Mapping[str, Any]], out: Console
) -> list[Table]:
    """Baselines by number; `baseline_key` says what they are."""

    def table_of(some: Sequence[tuple[int, Mapping[str, Any]]]) -> Table:
        table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
        table.add_column("metric", no_wrap=True)
        for place, _ in some:
            table.add_column(f"({place})", justify="right", no_wrap=True)
        for metric in metrics:
            table.add_row(metric.title, *(f"{column['metrics'][metric.name]:.4f}" for _, column in some))
        return table

    return spread(list(enumerate(columns, start=1)), table_of, out)


def baseline_key(columns: Sequence[Mapping[str, Any]]) -> list[str]:
    return [f"({place}) {column['description']}" for place, column in enumerate(columns, start=1)]


def breakdown_table(setting: Mapping[str, Any], name: str, groups: Sequence[Mapping[str, Any]]) -> Table:
    title = f"{setting['setting']} by {name} (mean ± s.e.)"
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left")
    table.add_column("metric", no_wrap=True)
    for group in groups:
        table.add_column(group["group"], justify="right", no_wrap=True)
    for key, metric in _shown(setting).items():
        cells = [group["metrics"][key] for group in groups]
        table.add_row(metric["title"], *(f"{number(cell['mean'])} ± {number(cell['se'])}" for cell in cells))
    table.add_row("scored / units", *(_scored(group) for group in groups))
    return table


def token_table(tokens: Iterable[Mapping[str, Any]], cost: Cost | None = None) -> Table:
    table = Table(title="Tokens as the servers reported them", box=box.SIMPLE_HEAD, title_justify="left")
    for column in ("role", "model", "answered by"):
        table.add_column(column, overflow="fold")
    for column in ("calls", "prompt", "completion", "of it reasoning", "calls without a report"):
        table.add_column(column, justify="right")
    if cost is not None:
        table.add_column(f"cost ({cost.currency})", justify="right")
    for place, row in enumerate(tokens):
        counts = [row["calls"], row["prompt"], row["completion"], row["reasoning"], row["unreported"]]
        paid = [] if cost is None else [money(cost.rows[place])]
        table.add_row(row["role"], row["model"], row["source"], *(f"{count:,}" for count in counts), *paid)
    return table


def money(amount: float | None) -> str:
    """Four decimals; a dash for a model without a price."""
    return "-" if amount is None else f"{amount:,.4f}"


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def number(value: float | None) -> str:
    """Three decimals; a dash where there is no number."""
    return "-" if value is None else f"{value:.3f}"


def span(pair: Sequence[float] | None) -> str:
    return "-" if pair is None else f"{pair[0]:.3f} to {pair[1]:.3f}"
