"""Figures of comparisons: how far models are apart, and what each judge makes of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from judge.report.figures import (
    BY,
    MUTED,
    SERIES,
    Drawing,
    Figure,
    Row,
    canvas_of,
    finished,
    forest,
    row_labels,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

#: Most rows of one figure; tables have all.
MOST_ROWS = 60


def draw_differences(report: Mapping[str, Any], *, png: bool = False) -> list[Figure]:
    """How far models are apart in each setting: paired differences with intervals about a line at 0.

    Args:
        report: as `judge.runs.comparing.compare_runs`.
        png: also as PNG.
    """
    return finished((drawing for entry in report["settings"] for drawing in _of_tests(entry)), png=png)


def draw_judges(report: Mapping[str, Any], *, png: bool = False) -> list[Figure]:
    """Every model's means under each judge, setting by setting, those of one metric and model below each other.

    Args:
        report: as `judge.sensitivity.sensitivity`.
        png: also as PNG.
    """
    return finished((drawing for setting in report["settings"] for drawing in _of_judges(report, setting)), png=png)


# -- judges ------------------------------------------------------------------------------------------------------------


def _of_judges(report: Mapping[str, Any], setting: str) -> Iterator[Drawing]:
    """One figure for each range that metrics have."""
    names = [judge["name"] for judge in report["judges"]]
    known = [row for row in report["scores"]
             if row["setting"] == setting and not row["not_comparable"] and row["mean"] is not None]  # fmt: skip
    several = len({row["model"] for row in known}) > 1
    for limits in dict.fromkeys(_limits(row) for row in known):
        found = [row for row in known if _limits(row) == limits]
        unit = f"mean (share, {limits[0]:g} to {limits[1]:g})" if limits else "mean (count per case)"
        caption = f"{setting}: means under each judge with 95 % intervals, each over the units that it scored."
        if len(found) > MOST_ROWS:
            caption += f" The first {MOST_ROWS} of {len(found)}; the tables have all."
        rows = [Row(_judged(row, several), row, names.index(row["judge"]) % len(SERIES)) for row in found[:MOST_ROWS]]
        shares = limits == (0.0, 1.0)
        yield forest(f"judges-{setting}-{unit}", setting, caption, rows, limits=limits if shares else None, unit=unit)


def _limits(row: Mapping[str, Any]) -> tuple[float, float] | None:
    return tuple(row["range"]) if row["range"] else None


def _judged(row: Mapping[str, Any], several: bool) -> str:
    model = f", {row['model']}" if several else ""
    return f"{row['title']}{model}{BY}{row['judge']}"


# -- models ------------------------------------------------------------------------------------------------------------


def _of_tests(entry: Mapping[str, Any]) -> Iterator[Drawing]:
    """One figure for each range that metrics have."""
    setting, known = entry["setting"], [test for test in entry["tests"] if test["difference"] is not None]
    for limits in dict.fromkeys(test["range"] for test in known):
        tests = [test for test in known if test["range"] == limits]
        unit = f"share, {limits[0]:g} to {limits[1]:g}" if limits else "count per case"
        caption = (
            f"{setting}: the first model less the second, with 95 % intervals, on the cases that both have a score on "
            f"(difference of means; {unit})."
        )
        hollow = " Hollow: no interval." if any(test["interval"] is None for test in tests) else ""
        canvas = _differences(tests, unit)
        yield Drawing(f"differences-{setting}-{unit}", setting, caption + hollow, canvas)


def _differences(tests: Sequence[Mapping[str, Any]], unit: str) -> Canvas:
    canvas = canvas_of(len(tests))
    axes = canvas.subplots()
    for place, test in enumerate(tests):
        known = test["interval"] is not None
        if known:
            axes.plot(test["interval"], (place, place), color=SERIES[0], linewidth=1.7, marker="|", markersize=6)
        filled = SERIES[0] if known else "none"
        axes.plot(test["difference"], place, color=SERIES[0], marker="o", markersize=4.6, markerfacecolor=filled)
    axes.axvline(0.0, color=MUTED, linewidth=1.1, zorder=1)
    axes.set_ylim(len(tests) - 0.4, -0.6)
    row_labels(axes, [f"{test['title']}{BY}{' less '.join(test['models'])}" for test in tests])
    axes.set_xlabel(f"difference of means ({unit})")
    values = axes.secondary_yaxis("right")
    values.set_yticks(range(len(tests)), [_difference(test) for test in tests], parse_math=False)
    values.tick_params(length=0, pad=9)
    values.spines["right"].set_visible(False)
    return canvas


def _difference(test: Mapping[str, Any]) -> str:
    """The numbers of a row in words."""
    ends = test["interval"]
    shown = f" [{ends[0]:+.3f}, {ends[1]:+.3f}]" if ends else ""
    return f"{test['difference']:+.3f}{shown}  n={test['n']}"
