"""medjudge import-judgements RUN_DIR"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.cli.groups import DIRECTORY, about_data, json_option, print_json
from judge.errors import SpecError

if TYPE_CHECKING:
    from judge.benchmark import Benchmark
    from judge.runs.store import RunStore


def _import(
    run_dir: Path,
    labels: Path,
    judge_name: str,
    judge_key: str | None,
    benchmark_name: str | None,
    data: Path | None,
    setting: str | None,
    as_json: bool,
) -> None:
    from judge.report.tables import print_report
    from judge.runs.labelling import import_judgements
    from judge.runs.scoring import rescore_run
    from judge.runs.store import FILE, benchmark_of, delete_run, open_run

    new = not (run_dir / FILE).exists()
    if new:
        store, benchmark = _created(run_dir, labels, judge_key, benchmark_name, data, setting)
    else:
        store = open_run(run_dir, write=True)
        benchmark = benchmark_of(store)
    try:
        imported = import_judgements(store, benchmark, labels, judge_name, judge_key)
        report = rescore_run(store, benchmark, judge_name)
    except Exception:
        if new:
            delete_run(store)
        raise
    finally:
        store.close()
    if as_json:
        print_json(report)
        return
    print_report(report)
    click.echo(f"{imported.units} units judged by {judge_name}, {imported.unjudged} not.")
    if imported.other_steps:
        shown = ", ".join(imported.other_steps[:3])
        click.echo(f"In {len(imported.other_steps)} the labelled steps are not those read from the run, e.g. {shown}.")
    click.echo(f"Run: {run_dir}")


def _created(
    run_dir: Path, labels: Path, judge: str | None, name: str | None, data: Path | None, setting: str | None
) -> tuple[RunStore, Benchmark]:
    from judge.benchmark import registry
    from judge.runs.labelling import create_labelled_run

    if name is None or data is None or setting is None:
        raise SpecError(
            f"{run_dir} is no run; to make one from the labels alone give --benchmark, --data and --setting"
        )
    benchmark = registry().get(name)
    if benchmark is None:
        raise SpecError(f"--benchmark {name}: there are {', '.join(registry())}")
    options = {option.name: option.default for option in about_data(benchmark)}
    store = create_labelled_run(benchmark, labels, data, run_dir, setting=setting, options=options, judge=judge)
    return store, benchmark


import_judgements_command = click.Command(
    "import-judgements",
    callback=_import,
    params=[
        click.Argument(["run_dir"], type=DIRECTORY),
        click.Option(["--labels"], type=click.Path(path_type=Path), required=True, metavar="FILE",
                     help="Labels: the published judged layout (JSON Lines or a folder of JSON files) or a CSV."),
        click.Option(["--judge-name"], required=True, metavar="NAME", help="Name under which the run keeps them."),
        click.Option(["--judge-key"], metavar="NAME", help="Which judge's, where the file has several."),
        click.Option(["--benchmark", "benchmark_name"], metavar="NAME", help="To make a run from the labels alone."),
        click.Option(["--data"], type=DIRECTORY, metavar="DIR", help="To make a run from the labels alone."),
        click.Option(["--setting"], metavar="NAME", help="To make a run from the labels alone."),
        json_option(),
    ],
    help="Add another judge's, or a person's, labels to a run, and score it by them; adds, never overwrites.",
)  # fmt: skip
