"""medjudge score RUN_DIR"""

from __future__ import annotations

from pathlib import Path

import click

from judge.cli.groups import DIRECTORY, json_option, print_json


def _score(run_dir: Path, judge: str | None, as_json: bool) -> int:
    from judge.report.tables import print_report
    from judge.runs.scoring import rescore_run
    from judge.runs.store import benchmark_of, open_run

    store = open_run(run_dir, write=True)
    try:
        report = rescore_run(store, benchmark_of(store), judge)
    finally:
        store.close()
    if as_json:
        print_json(report)
    else:
        print_report(report)
    return 1 if report["error_units"] else 0


score = click.Command(
    "score",
    callback=_score,
    params=[
        click.Argument(["run_dir"], type=DIRECTORY),
        click.Option(["--judge"], metavar="NAME", help="Also the metrics that rest on this judge's judgements."),
        json_option(),
    ],
    help="Recompute a run's metrics from what is stored; calls no model.",
)
