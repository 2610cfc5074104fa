"""medjudge baselines BENCHMARK"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.groups import (
    BenchmarkGroup,
    about_data,
    benchmark_options,
    by_name,
    data_option,
    json_option,
    print_json,
)

if TYPE_CHECKING:
    from judge.benchmark import Benchmark


def _build(benchmark: Benchmark) -> click.Command:
    def callback(data: Path, as_json: bool, **values: Any) -> None:
        _baselines(benchmark, data, by_name(options, values), as_json)

    options = about_data(benchmark)
    return click.Command(
        benchmark.name,
        callback=callback,
        params=[data_option(required=True), *benchmark_options(options, required=False), json_option()],
        help=f"Baselines of {benchmark.title}.",
    )


def _baselines(benchmark: Benchmark, data: Path, options: dict[str, Any], as_json: bool) -> None:
    from judge.benchmark import BaselinedBenchmark
    from judge.runs.scoring import mean_best

    loaded = benchmark.load(data, options)
    source: Any = benchmark
    assert isinstance(source, BaselinedBenchmark)  # others have no such command
    rows = source.baselines(loaded)
    metrics = benchmark.metrics()
    maximum = mean_best(benchmark.best(case.record) for case in loaded.cases)
    if as_json:
        signatures = {metric.name: metric.signature for metric in metrics}
        document = {"benchmark": benchmark.name, "n": len(loaded.cases), "data_hash": loaded.data_hash,
                    "signatures": signatures, "baselines": rows, "reachable_maximum": dict(maximum)}  # fmt: skip
        print_json(document)
        return
    from judge.report.tables import baseline_key, baseline_tables, console

    out = console()
    columns = [*rows, {"description": "best that any answers could reach", "metrics": maximum}]
    for table in baseline_tables(f"{benchmark.title}: {len(loaded.cases)} cases", metrics, columns, out):
        out.print(table)
    for line in baseline_key(columns):
        out.print(line)


baselines_group = BenchmarkGroup(
    "baselines", build=_build, method="baselines", help="What answers that never look at the question score."
)
