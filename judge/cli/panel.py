"""medjudge panel RUN_DIR"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from judge.cli.groups import DIRECTORY, json_option, names, print_json


def _panel(run_dir: Path, judges: str, rule: Any, name: str, as_json: bool) -> None:
    from judge.report.tables import print_report
    from judge.report.text import one_line
    from judge.runs.paneling import make_panel
    from judge.runs.scoring import rescore_run
    from judge.runs.store import benchmark_of, open_run

    store = open_run(run_dir, write=True)
    try:
        made = make_panel(store, name, names("--judges", judges), rule)
        report = rescore_run(store, benchmark_of(store), made.name)
    finally:
        store.close()
    if as_json:
        print_json({**report, "panel": asdict(made)})
        return
    print_report(report)
    click.echo(f"{made.units} units judged by the panel {one_line(made.name)}.")
    for kind, reasons in made.missing.items():
        told = ", ".join(f"{reason} {count}" for reason, count in reasons.items())
        click.echo(f"Units in which labels of {kind} are missing: {told}.")


panel = click.Command(
    "panel",
    callback=_panel,
    params=[
        click.Argument(["run_dir"], type=DIRECTORY),
        click.Option(["--judges"], required=True, metavar="A,B,C", help="Who is on the panel."),
        click.Option(["--rule"], required=True, type=click.Choice(["majority", "unanimous", "median"]),
                     help="More than half of them, all of them, or the label in the middle (labels with an order)."),
        click.Option(["--name"], required=True, metavar="NAME", help="Under which the run keeps the panel's labels."),
        json_option(),
    ],
    help="Make several judges of a run one judge more, from their stored labels; calls no model.",
)  # fmt: skip
