"""medjudge compare RUN_DIR RUN_DIR [...]"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from judge.cli.groups import DIRECTORY, json_option, print_json


def _compare(
    run_dirs: tuple[Path, ...],
    judge: str | None,
    metrics: tuple[str, ...],
    force: bool,
    html: Path | None,
    as_json: bool,
) -> None:
    from judge.report.comparison_tables import print_comparison, section
    from judge.runs.comparing import compare_runs

    report = compare_runs(run_dirs, judge, metrics, force=force)
    if html is not None:
        from judge.report.html import write_html
        from judge.report.sheet_page import page

        title = f"{report['title']}: {' against '.join(one['model'] for one in report['models'])}"
        write_html(page(title, section(report)), html)
    if as_json:
        print_json(report)
        return
    print_comparison(report)
    if html is not None:
        click.echo(html)


_FILE: Any = click.Path(path_type=Path, dir_okay=False)

compare = click.Command(
    "compare",
    callback=_compare,
    params=[
        click.Argument(["run_dirs"], type=DIRECTORY, nargs=-1, required=True, metavar="RUN_DIR RUN_DIR [RUN_DIR ...]"),
        click.Option(["--judge"], metavar="NAME", help="Also the metrics that rest on this judge's judgements."),
        click.Option(["--metric", "metrics"], multiple=True, metavar="NAME",
                     help="Only this metric; may be given several times.  [default: all, corrected for their number]"),
        click.Option(["--force"], is_flag=True,
                     help="Compare even where signatures, the judge's settings or the data differ."),
        click.Option(["--html"], type=_FILE, metavar="FILE", help="Also as one HTML page."),
        json_option(),
    ],
    help="Models on the same cases: paired differences, tests, win rates, and what each left unscored.",
)  # fmt: skip
