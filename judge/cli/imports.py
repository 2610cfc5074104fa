"""medjudge import BENCHMARK: runs made from predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.explanations import (
    check_explanations,
    compare_explanations,
    explanation_params,
    explanation_request,
)
from judge.cli.groups import (
    DIRECTORY,
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
    from judge.runs.measuring import TextRequest

#: Label of what the user does not say.
UNSTATED = "unstated"


def _build(benchmark: Benchmark) -> click.Command:
    def callback(**values: Any) -> int:
        own = by_name(options, values)
        comparing = explanation_request(values, default) if comparing_params else None
        ours = {parameter.name for parameter in comparing_params}
        common = {
            name: value for name, value in values.items() if name.replace("_", "-") not in own and name not in ours
        }
        return _import(benchmark, own, comparing, **common)

    options = about_data(benchmark)
    default = getattr(benchmark, "explanations_by_default", None)
    comparing_params = explanation_params(default) if hasattr(benchmark, "explanation") else []
    return click.Command(
        benchmark.name,
        callback=callback,
        params=[
            click.Option(["--predictions"], type=click.Path(path_type=Path), required=True, metavar="FILE",
                         help="JSON or JSON Lines: case id -> prediction."),
            data_option(required=True),
            click.Option(["--out"], type=DIRECTORY, required=True, metavar="RUN_DIR", help="Folder for the run."),
            click.Option(["--setting"], default=UNSTATED, show_default=True, metavar="NAME",
                         help="Under which setting the predictions were made; only a label."),
            click.Option(["--model-name"], default=UNSTATED, show_default=True, metavar="NAME",
                         help="Which model made them; only a label."),
            click.Option(["--model-key"], metavar="NAME",
                         help="Where the file has several models' predictions for each case: which model's."),
            *benchmark_options(options, required=False),
            *comparing_params,
            json_option(),
        ],
        help=f"Score predictions for {benchmark.title} that were made elsewhere.",
    )  # fmt: skip


def _import(
    benchmark: Benchmark,
    options: dict[str, Any],
    comparing: TextRequest | None,
    predictions: Path,
    data: Path,
    out: Path,
    setting: str,
    model_name: str,
    model_key: str | None,
    as_json: bool,
) -> int:
    from judge.report.tables import print_report
    from judge.runs.importing import import_predictions

    name = model_key if model_key is not None and model_name == UNSTATED else model_name
    if comparing is not None:
        check_explanations(benchmark, comparing, options)
    report = import_predictions(
        benchmark, predictions, data, out, setting=setting, model_name=name, model_key=model_key, options=options
    )
    report = compare_explanations(out, comparing, report)
    if as_json:
        print_json(report)
    else:
        print_report(report)
        click.echo(f"Run: {out}")
    return 0


import_group = BenchmarkGroup("import", build=_build, help="Score predictions made elsewhere.")
