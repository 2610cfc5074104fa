"""medjudge export RUN_DIR"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from judge.cli.groups import DIRECTORY, json_option, print_json

#: As `judge.exports.FORMATS`; they stand here so that help imports nothing.
FORMATS = ("jsonl", "parquet", "csv", "inspect")


def _export(
    run_dir: Path, to: str, out: Path | None, judges: tuple[str, ...], force: bool, bom: bool, as_json: bool
) -> None:
    from judge.exports import export_run

    done = export_run(run_dir, to, out, judges or None, force=force, bom=bom)
    if as_json:
        print_json(asdict(done) | {"folder": str(done.folder)})
        return
    by = f", judged by {', '.join(done.judges)}" if done.judges else ""
    click.echo(f"{done.folder}: {done.units} units, {done.scores} scores{by}")
    for name in done.files:
        click.echo(f"  {name}")
    if done.state != "complete":
        click.echo("Note: the run is not finished; units that have not been played are unscored (not_run).", err=True)


export = click.Command(
    "export",
    callback=_export,
    params=[
        click.Argument(["run_dir"], type=DIRECTORY),
        click.Option(["--to"], type=click.Choice(FORMATS), required=True,
                     help="jsonl: everything; csv, parquet: metrics (means with intervals and counts, also macro means "
                          "and groups), scores, units and judgements as tables; inspect: a log of Inspect for each "
                          "setting."),
        click.Option(["--out"], type=DIRECTORY, metavar="DIR",
                     help="Folder to make.  [default: exports/FORMAT in RUN_DIR]"),
        click.Option(["--judge", "judges"], multiple=True, metavar="NAME",
                     help="Only this judge's judgements and scores; may be repeated.  [default: every judge's]"),
        click.Option(["--force"], is_flag=True, help="Replace an earlier export in that folder."),
        click.Option(["--bom"], is_flag=True, help="Begin CSV files with a byte order mark, which Excel needs."),
        json_option(),
    ],
    help="Write a run in a format that other tools read; calls no model and leaves the run as it is.",
)  # fmt: skip
