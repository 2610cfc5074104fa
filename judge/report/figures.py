"""Figures of a report: means with intervals, groups, how units ended, tokens. Drawn with matplotlib, as SVG and PNG.

Colours are those of a light page, told apart by people with any colour vision (Okabe & Ito 2008, darkened to a contrast
of 3 to 1 on white); in an HTML page each becomes a CSS variable. Whatever colour says, a shape or a word says as well.
"""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.errors import RunError
from judge.report.tables import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

INK, MUTED, GRID = "#1c2128", "#5a626c", "#d5dae0"
SERIES = ("#0067a5", "#b54a00", "#00755a", "#9c3f7d", "#7a6200", "#4a4fb5")
MARKERS = ("o", "s", "^", "D", "v", "P")

#: Colour in a figure -> CSS variable in a page.
VARIABLES = {INK: "ink", MUTED: "muted", GRID: "line", **{colour: f"s{n}" for n, colour in enumerate(SERIES)}}

#: Inches: width of a figure, height of a row, and of what stands above and below the rows.
WIDTH, ROW, FRAME = 7.5, 0.31, 0.95

#: Rows by which bounds are drawn below their mean.
_BELOW = 0.24

#: Characters of one line of a label.
_LABEL = 34
#: Stands at metrics that must not be compared between judges.
REFUSED = " †"

#: Between a metric and its judge.
BY = " · "

_PNG_DPI = 200


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure.

    Attributes:
        name: safe as a file name, unique in a report.
        place: what of the report it belongs to: a setting, or a part by name.
        caption: what it shows, with units; also what is read out in place of it.
        grouped: the breakdown it shows; empty for others.
        png: None where it was not asked for.
    """

    name: str
    place: str
    caption: str
    grouped: str
    svg: str
    png: bytes | None


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure before it is written; see `Figure`."""

    name: str
    place: str
    caption: str
    canvas: Canvas
    grouped: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One mean in a figure; `series` is its place among those that colours tell apart."""

    label: str
    summary: Mapping[str, Any]
    series: int = 0


def draw_figures(facts: Mapping[str, Any], *, png: bool = False) -> list[Figure]:
    """All figures of a document's facts (`judge.report.document.Document`).

    Args:
        png: also as PNG.
    """
    of_settings = (drawing for setting in facts["settings"] for drawing in _of_setting(facts, setting))
    return finished(chain(of_settings, _statuses(facts), _tokens(facts)), png=png)


def write_figures(figures: Sequence[Figure], folder: Path) -> list[str]:
    """Write each as PNG and SVG; the paths.

    Raises:
        RunError: the folder cannot be written.
    """
    paths: list[str] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for figure in figures:
            for ending, data in (("svg", figure.svg.encode()), ("png", figure.png)):
                if data is not None:
                    path = folder / f"{figure.name}.{ending}"
                    path.write_bytes(data)
                    paths.append(str(path))
    except OSError as error:
        raise RunError(f"{folder} cannot be written: {error.strerror}") from None
    return paths


def themed(figure: Figure) -> str:
    """The figure as an element of a page: colours as CSS variables, its ids its own."""
    svg = figure.svg[figure.svg.index("<svg") :]
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, f"var(--{variable})")
    svg = re.sub(r'\bid="', f'id="{figure.name}-', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\g<1>{figure.name}-", svg)
    return svg.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)


# -- which figures ---------------------------------------------------------------------------------------------------


def _of_setting(facts: Mapping[str, Any], setting: Mapping[str, Any]) -> Iterator[Drawing]:
    name, judges = setting["setting"], [judge["name"] for judge in facts["judges"]]
    refused = {one["metric"] for one in facts["not_comparable"]}
    rows = list(_result_rows(setting, judges, refused))
    shares = [row for row in rows if row.summary["range"] == [0.0, 1.0]]
    counts = [row for row in rows if row.summary["range"] is None]
    if shares:
        caption = f"{name}: means with 95 % intervals (share, 0 to 1)."
        yield forest(f"results-{name}", name, caption, shares, limits=(0.0, 1.0), unit="mean (share, 0 to 1)")
    if counts:
        caption = f"{name}: mean counts per case with 95 % intervals."
        yield forest(f"counts-{name}", name, caption, counts, limits=None, unit="mean (count per case)")
    for block in setting["blocks"]:
        for breakdown in block["breakdowns"]:
            yield from _groups(name, block, breakdown, judges)


def _result_rows(setting: Mapping[str, Any], judges: Sequence[str], refused: Collection[str]) -> Iterator[Row]:
    """Metric by metric, the judges of one metric below each other, with a mark where they are not comparable."""
    rows = [
        row for block in setting["blocks"] for section in ("summaries", "metrics") for row in block["tables"][section]
    ]
    first: dict[str, int] = {}
    for place, row in enumerate(rows):
        first.setdefault(row["metric"], place)
    for row in sorted(rows, key=lambda row: first[row["metric"]]):
        by = f"{BY}{row['judge']}" if row["judge"] else ""
        mark = REFUSED if row["judge"] and row["metric"] in refused else ""
        yield Row(f"{row['title']}{mark}{by}", row, _series(row["judge"], judges))


def _series(judge: str, judges: Sequence[str]) -> int:
    """0 without a judge, then one for each."""
    return (judges.index(judge) + 1 if judge else 0) % len(SERIES)


#: Most metrics side by side in a figure of groups.
_PANELS = 4


def _groups(
    setting: str, block: Mapping[str, Any], breakdown: Mapping[str, Any], judges: Sequence[str]
) -> Iterator[Drawing]:
    """The first metrics of a block by group, side by side."""
    shares = {row["metric"] for row in block["tables"]["metrics"] if row["range"] == [0.0, 1.0] and row["n_scored"]}
    metrics = [name for name in breakdown["titles"] if name in shares][:_PANELS]
    if not metrics or len(breakdown["groups"]) < 2:
        return
    by = f", {block['judge']}" if block["judge"] else ""
    caption = f"{setting} by {breakdown['name']}{by}: means with 95 % intervals (share, 0 to 1)."
    canvas = canvas_of(len(breakdown["groups"]))
    panels = canvas.subplots(1, len(metrics), sharey=True, squeeze=False)[0]
    labels = [f"{group['group']} ({group['n_units']})" for group in breakdown["groups"]]
    for axes, metric in zip(panels, metrics, strict=True):
        rows = [Row("", group["metrics"][metric], _series(block["judge"], judges)) for group in breakdown["groups"]]
        _draw_rows(axes, rows)
        _share_axis(axes)
        axes.set_title(textwrap.fill(breakdown["titles"][metric], 20), fontsize=8.5, parse_math=False)
    row_labels(panels[0], labels)
    canvas.supxlabel("mean (share, 0 to 1); number of units in brackets", fontsize=8.5, color=MUTED)
    yield Drawing(
        f"{breakdown['name']}-{setting}-{block['judge'] or 'own'}", setting, caption, canvas, breakdown["name"]
    )


def _statuses(facts: Mapping[str, Any]) -> Iterator[Drawing]:
    """How units ended, setting by setting."""
    bars = [
        (f"{setting['setting']} · {row['status'].replace('pending', 'not_run')}", row["count"], row["scored"])
        for setting in facts["settings"]
        for row in setting["statuses"]
    ]
    canvas = canvas_of(len(bars))
    axes = canvas.subplots()
    for place, (_, count, scored) in enumerate(bars):
        _bar(axes, place, count, SERIES[0] if scored else SERIES[1], hatch="" if scored else "////")
        axes.annotate(f"{count:,}", (count, place), xytext=(4, 0), textcoords="offset points", va="center")
    row_labels(axes, [label for label, _, _ in bars])
    _count_axis(axes, "units")
    _legend(axes, [("can be scored", SERIES[0], ""), ("unscored", SERIES[1], "////")])
    yield Drawing("statuses", "statuses", "How units ended, by setting (number of units).", canvas)


def _tokens(facts: Mapping[str, Any]) -> Iterator[Drawing]:
    """Tokens by role; nothing where no server reported any."""
    rows = [row for row in facts["tokens"] if row["prompt"] or row["completion"]]
    if not rows:
        return
    canvas = canvas_of(len(rows))
    axes = canvas.subplots()
    for place, row in enumerate(rows):
        _bar(axes, place, row["prompt"] / 1000, SERIES[0])
        _bar(axes, place, row["completion"] / 1000, SERIES[1], hatch="////", left=row["prompt"] / 1000)
    row_labels(axes, [f"{row['role']} · {row['source']}" for row in rows])
    _count_axis(axes, "tokens (thousands)", whole=False)
    _legend(axes, [("prompt", SERIES[0], ""), ("completion", SERIES[1], "////")])
    yield Drawing("tokens", "tokens", "Tokens by role as the servers reported them (thousands).", canvas)


# -- drawing ---------------------------------------------------------------------------------------------------------


def _style() -> Any:
    """matplotlib's settings; outlines instead of fonts, so that a figure looks alike everywhere."""
    return {
        "font.family": "DejaVu Sans", "font.size": 8.5, "text.color": INK, "axes.edgecolor": MUTED,
        "axes.labelcolor": MUTED, "xtick.color": MUTED, "ytick.color": INK, "axes.spines.top": False,
        "axes.spines.right": False, "axes.spines.left": False, "ytick.major.size": 0, "ytick.major.pad": 9,
        "axes.grid": True, "axes.grid.axis": "x", "grid.color": GRID, "grid.linewidth": 0.7, "axes.axisbelow": True,
        "hatch.linewidth": 0.8, "svg.fonttype": "path", "svg.hashsalt": "medjudge",
    }  # fmt: skip


def canvas_of(rows: int) -> Canvas:
    from matplotlib.figure import Figure as Canvas

    return Canvas(figsize=(WIDTH, FRAME + ROW * rows), layout="constrained")


def forest(
    name: str,
    place: str,
    caption: str,
    rows: Sequence[Row],
    *,
    limits: tuple[float, float] | None,
    unit: str,
) -> Drawing:
    """Means with their intervals, a row each, the numbers beside them."""
    canvas = canvas_of(len(rows))
    axes = canvas.subplots()
    _draw_rows(axes, rows)
    row_labels(axes, [row.label for row in rows])
    if limits:
        _share_axis(axes)
    axes.set_xlabel(unit)
    values = axes.secondary_yaxis("right")
    values.set_yticks(range(len(rows)), [_value(row.summary) for row in rows], parse_math=False)
    values.tick_params(length=0, pad=9)
    values.spines["right"].set_visible(False)
    if any(REFUSED in row.label for row in rows):
        caption += f"{REFUSED}: judges are not comparable, see the notes."
    if any(_bounded(row.summary) for row in rows):
        caption += " Thin grey lines: bounds if all unscored units had got the lowest, or the highest, value."
    return Drawing(name, place, caption, canvas)


def _draw_rows(axes: Axes, rows: Sequence[Row]) -> None:
    for place, row in enumerate(rows):
        _draw_row(axes, place, row)
    axes.set_ylim(len(rows) - 0.4, -0.6)


def _draw_row(axes: Axes, place: int, row: Row) -> None:
    summary, colour = row.summary, SERIES[row.series]
    if _bounded(summary):
        below = place + _BELOW
        axes.plot(
            summary["bounds"], (below, below), color=MUTED, linewidth=0.9, marker="|", markersize=4, clip_on=False
        )
    if summary["interval"] is not None:
        axes.plot(
            summary["interval"], (place, place), clip_on=False, color=colour, linewidth=1.7, marker="|", markersize=6
        )
    if summary["mean"] is None:
        axes.text(0.02, place, "no value", color=MUTED, fontsize=7.5, va="center", transform=axes.get_yaxis_transform())
    else:
        axes.plot(summary["mean"], place, color=colour, marker=MARKERS[row.series], markersize=4.6, clip_on=False)


def _bounded(summary: Mapping[str, Any]) -> bool:
    return bool(summary["n_unscored"] and summary["n_scored"] and summary["bounds"])


def _value(summary: Mapping[str, Any]) -> str:
    """The numbers of a row in words."""
    if summary["mean"] is None:
        return ""
    interval = summary["interval"]
    shown = f" [{number(interval[0])}, {number(interval[1])}]" if interval else ""
    return f"{number(summary['mean'])}{shown}  n={summary['n_scored']}"


def row_labels(axes: Axes, labels: Sequence[str]) -> None:
    axes.set_yticks(range(len(labels)), [_label(label) for label in labels], parse_math=False)
    if axes.get_ylim()[0] < axes.get_ylim()[1]:
        axes.set_ylim(len(labels) - 0.4, -0.6)


def _label(text: str) -> str:
    """On at most two lines, since rows have room for two."""
    title, middle, judge = text.partition(BY)
    if middle and len(text) > _LABEL:
        return f"{textwrap.shorten(title, _LABEL, placeholder='…')}\n{judge[:_LABEL]}"
    lines = textwrap.wrap(text, _LABEL, break_on_hyphens=False) or [text]
    return "\n".join(lines if len(lines) < 3 else [lines[0], f"{lines[1][: _LABEL - 1]}…"])


def _share_axis(axes: Axes) -> None:
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])


def _count_axis(axes: Axes, unit: str, *, whole: bool = True) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel(unit)
    axes.margins(x=0.12)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=whole))


def _bar(axes: Axes, place: int, width: float, colour: str, *, hatch: str = "", left: float = 0) -> None:
    filled = "none" if hatch else colour
    axes.barh(place, width, left=left, height=0.6, facecolor=filled, edgecolor=colour, linewidth=1, hatch=hatch)


def _legend(axes: Axes, entries: Sequence[tuple[str, str, str]]) -> None:
    from matplotlib.patches import Patch

    patches = [
        Patch(facecolor="none" if hatch else colour, edgecolor=colour, hatch=hatch, label=label)
        for label, colour, hatch in entries
    ]
    axes.legend(handles=patches, loc="lower right", bbox_to_anchor=(1, 1), ncols=len(patches), frameon=False)


def finished(drawings: Iterable[Drawing], *, png: bool) -> list[Figure]:
    """Drawings as SVG, on request as PNG too, under names of their own.

    Args:
        drawings: not drawn yet, but as they are asked for here, so that all have one style.
    """
    import matplotlib

    with matplotlib.rc_context(_style()), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # in a name; it stands in the tables too
        drawn = list(drawings)
        names = _unique([_file_name(drawing.name) for drawing in drawn])
        return [_finished(drawing, name, png=png) for drawing, name in zip(drawn, names, strict=True)]


def _finished(drawing: Drawing, name: str, *, png: bool) -> Figure:
    svg, image = io.StringIO(), io.BytesIO()
    drawing.canvas.savefig(svg, format="svg", metadata={"Date": None}, transparent=True)
    if png:
        drawing.canvas.savefig(image, format="png", dpi=_PNG_DPI, facecolor="white")
    return Figure(name, drawing.place, drawing.caption, drawing.grouped, svg.getvalue(), image.getvalue() or None)


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()[:80]


def _unique(names: Sequence[str]) -> list[str]:
    """The names; one that stands there before gets a number."""
    found: list[str] = []
    for name in names:
        number_ = 2
        free = name
        while free in found:
            free, number_ = f"{name}-{number_}", number_ + 1
        found.append(free)
    return found
