"""medjudge compare RUN_DIR RUN_DIR [...]"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.groups import DIRECTORY, json_option, print_json
from judge.errors import SpecError

if TYPE_CHECKING:
    from judge.report.paper import Paper


def _compare(
    run_dirs: tuple[Path, ...],
    judge: str | None,
    metrics: tuple[str, ...],
    detect: float | None,
    force: bool,
    html: Path | None,
    as_json: bool,
) -> None:
    from judge.report.comparison_tables import print_comparison
    from judge.runs.comparing import compare_runs

    if detect is not None and not math.isfinite(detect):
        raise SpecError(f"--detect {detect:g}: no such difference can be found; give a number above 0")
    report = compare_runs(run_dirs, judge, metrics, detect=detect, force=force)
    paper = _paper(report, run_dirs) if html is not None or as_json else None
    if html is not None and paper is not None:
        _write(report, paper, html)
    if as_json and paper is not None:
        print_json({**report, **paper.facts()})
        return
    print_comparison(report)
    if html is not None:
        click.echo(html)


def _paper(report: Mapping[str, Any], run_dirs: tuple[Path, ...]) -> Paper:
    from judge.report.paper import comparison_paper
    from judge.report.provenance import provenance

    return comparison_paper(report, provenance(run_dirs, [report["judge"]] if report["judge"] else []))


def _write(report: Mapping[str, Any], paper: Paper, html: Path) -> None:
    from judge.report.compared_figures import draw_differences
    from judge.report.comparison_tables import section, title
    from judge.report.html import write_html
    from judge.report.page import page

    write_html(page(title(report), section(report), paper, draw_differences(report)), html)


_FILE: Any = click.Path(path_type=Path, dir_okay=False)

compare = click.Command(
    "compare",
    callback=_compare,
    params=[
        click.Argument(["run_dirs"], type=DIRECTORY, nargs=-1, required=True, metavar="RUN_DIR RUN_DIR [RUN_DIR ...]"),
        click.Option(["--judge"], metavar="NAME", help="Also the metrics that rest on this judge's judgements."),
        click.Option(["--metric", "metrics"], multiple=True, metavar="NAME",
                     help="Only this metric; may be given several times.  [default: all, corrected for their number]"),
        click.Option(["--detect"], type=click.FloatRange(min=0, min_open=True), metavar="D",
                     help="Also how many cases it would take to find a difference of D, in units of the metric."),
        click.Option(["--force"], is_flag=True,
                     help="Compare even where signatures, the judge's settings or the data differ."),
        click.Option(["--html"], type=_FILE, metavar="FILE", help="Also as one HTML page."),
        json_option(),
    ],
    help="Models on the same cases: paired differences, tests, win rates, and what each left unscored.",
)  # fmt: skip
