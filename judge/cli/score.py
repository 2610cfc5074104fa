"""medjudge score RUN_DIR"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.explanations import check_explanations, explanation_params, explanation_request
from judge.cli.groups import DIRECTORY, json_option, print_json
from judge.errors import SpecError

if TYPE_CHECKING:
    from judge.benchmark import Benchmark
    from judge.runs.store import RunStore


def _score(run_dir: Path, judges: tuple[str, ...], force: bool, as_json: bool, **values: Any) -> int:
    from judge.runs.measuring import measure, request_in
    from judge.runs.scoring import scorer_of
    from judge.runs.store import benchmark_of, open_run

    names = tuple(dict.fromkeys(judges))
    if force and len(names) < 2:
        raise SpecError("--force is about comparing judges; name at least two with --judge")
    store = open_run(run_dir, write=True)
    try:
        benchmark, comparing = benchmark_of(store), explanation_request(values, None, request_in(store))
        for name in names:  # before anything is replaced
            scorer_of(store, benchmark, name)
        if comparing is not None:
            check_explanations(benchmark, comparing, store.spec().options)
            measure(store, benchmark, comparing)
        if len(names) > 1:
            return _compared(store, benchmark, names, force=force, as_json=as_json)
        return _scored(store, benchmark, names[0] if names else None, as_json=as_json)
    finally:
        store.close()


def _scored(store: RunStore, benchmark: Benchmark, judge: str | None, *, as_json: bool) -> int:
    from judge.report.tables import print_report
    from judge.runs.scoring import rescore_run

    report = rescore_run(store, benchmark, judge)
    if as_json:
        print_json(report)
    else:
        print_report(report)
    return 1 if report["error_units"] else 0


def _compared(store: RunStore, benchmark: Benchmark, names: tuple[str, ...], *, force: bool, as_json: bool) -> int:
    from judge.report.judges import print_judges
    from judge.runs.judge_comparison import compare_judges

    comparison = compare_judges(store, benchmark, names, force=force)
    if as_json:
        print_json(comparison)
    else:
        print_judges(comparison)
    return 0


score = click.Command(
    "score",
    callback=_score,
    params=[
        click.Argument(["run_dir"], type=DIRECTORY),
        click.Option(["--judge", "judges"], multiple=True, metavar="NAME",
                     help="Also the metrics that rest on this judge's judgements; several are set side by side."),
        click.Option(["--force"], is_flag=True,
                     help="Set beside each other even what was measured against other reference steps."),
        *explanation_params(None),
        json_option(),
    ],
    help="Recompute a run's metrics from what is stored; calls no model.",
)  # fmt: skip
