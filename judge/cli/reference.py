"""medjudge reference BENCHMARK"""

from __future__ import annotations

import shlex
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.groups import (
    BenchmarkGroup,
    FiniteRange,
    about_data,
    benchmark_options,
    by_name,
    data_option,
    json_option,
    print_json,
)
from judge.cli.traffic import traffic_of, traffic_params
from judge.errors import SpecError

if TYPE_CHECKING:
    from judge.benchmark import Benchmark, Case, Option
    from judge.references import ReferencedBenchmark, References
    from judge.runs.referencing import SplitResult

RULES = "rules"


def _build(benchmark: Benchmark) -> click.Command:
    def callback(**values: Any) -> int:
        return _reference(benchmark, values)

    return click.Command(
        benchmark.name,
        callback=callback,
        params=[*_params(benchmark), *_model_params(), json_option()],
        help=f"Split the reference of every case of {benchmark.title} into steps, once, and pin them in a file that "
        "judges of any run can be given with --reference.",
        short_help=f"Pin the reference steps of {benchmark.title}.",
    )


def _options(benchmark: Benchmark) -> list[Option]:
    """Of the benchmark's options those that say which cases are read."""
    return [*(option for option in benchmark.options if option.setting), *about_data(benchmark)]


def _params(benchmark: Benchmark) -> list[click.Parameter]:
    file = click.Path(path_type=Path, dir_okay=False)
    return [
        data_option(required=True),
        *benchmark_options(_options(benchmark), required=True),
        click.Option(["--splitter"], default=RULES, show_default=True, metavar="rules|SPEC|person:NAME",
                     help="Who splits: rules, without a model; a model; or, with --edited, the person who edited."),
        click.Option(["--edited"], type=file, metavar="FILE",
                     help="Pin the steps of this file, which a person changed, under --splitter person:NAME."),
        click.Option(["--out"], type=file, required=True, metavar="FILE", help="Where to write the steps, as JSON."),
        click.Option(["--limit"], type=click.IntRange(min=1), metavar="N", help="Only the first N cases."),
        click.Option(["--case", "cases"], multiple=True, metavar="ID", help="Only this case; may be repeated."),
    ]  # fmt: skip


def _model_params() -> list[click.Parameter]:
    return [
        click.Option(["--temperature"], type=FiniteRange(0, 2), metavar="T", help="Of a model; sent only if given."),
        click.Option(["--max-tokens"], type=click.IntRange(min=1), metavar="N",
                     help="Longest reply of a model in tokens; sent only if given."),
        click.Option(["--api-key-env"], metavar="NAME", help="Environment variable that holds a model's key."),
        click.Option(["--retry"], is_flag=True,
                     help="Ask a model again where its recorded answers could not be used."),
        click.Option(["--allow-missing"], is_flag=True,
                     help="Write the file even if a model could not split every case."),
        *traffic_params(),
    ]  # fmt: skip


reference_group = BenchmarkGroup(
    "reference", build=_build, method="references", help="Split reference solutions into steps, once for all."
)


def _reference(benchmark: Benchmark, values: dict[str, Any]) -> int:
    from judge.references import PERSON

    splitter, person = values["splitter"], values["splitter"].startswith(PERSON)
    if person != (values["edited"] is not None):
        raise SpecError(f"--edited FILE and --splitter {PERSON}NAME go together")
    if person and not splitter.removeprefix(PERSON).strip():
        raise SpecError(f"--splitter {splitter}: give the name of the person, e.g. {PERSON}smith")
    cases = _chosen(benchmark, values)
    if splitter != RULES and not person:
        return _by_model(benchmark, cases, values)
    made = _source(benchmark).references(cases)
    references = _edited(benchmark, cases, made, values) if person else made
    _write(references, values["out"])
    return _report(references, values, {})


def _source(benchmark: Benchmark) -> ReferencedBenchmark:
    from judge.references import ReferencedBenchmark

    if not isinstance(benchmark, ReferencedBenchmark):
        raise SpecError(f"{benchmark.name} has no reference texts that could be split")
    return benchmark


def _chosen(benchmark: Benchmark, values: Mapping[str, Any]) -> list[Case]:
    given = by_name(_options(benchmark), values)
    for option in _options(benchmark):
        if option.required and not given[option.name]:
            raise SpecError(f"--{option.name} is missing: one of {', '.join(option.choices)}")
    options = {option.name: option.default for option in benchmark.options} | given
    cases, wanted = benchmark.load(values["data"], options).cases, set(values["cases"])
    if unknown := [case_id for case_id in values["cases"] if case_id not in {case.id for case in cases}]:
        raise SpecError(f"--case {unknown[0]}: {values['data']} has no case of that id")
    chosen = [case for case in cases if case.id in wanted] if wanted else list(cases)
    return chosen[: values["limit"]] if values["limit"] is not None else chosen


def _edited(benchmark: Benchmark, cases: Sequence[Case], made: References, values: Mapping[str, Any]) -> References:
    from judge.references import pin_edited

    texts = _source(benchmark).reference_texts(cases)
    return pin_edited(values["edited"], values["splitter"], texts).checked_against(made)


def _write(references: References, out: Path) -> None:
    from judge.references import check_replaces, write_references

    check_replaces(out, references)
    write_references(references, out)


def _by_model(benchmark: Benchmark, cases: Sequence[Case], values: Mapping[str, Any]) -> int:
    import asyncio

    from judge.runs.progress import watcher_for
    from judge.runs.referencing import SplitRequest, split_by_model
    from judge.settings import Generation, parse_model

    source = _source(benchmark)
    request = SplitRequest(
        benchmark=source,
        kind=source.references(cases[:1]).kind,
        cases=cases,
        model=parse_model(values["splitter"], key_variable=values["api_key_env"]),
        out=values["out"],
        generation=Generation(temperature=values["temperature"], max_tokens=values["max_tokens"]),
        traffic=traffic_of(values),
        retry=values["retry"],
    )
    result = asyncio.run(split_by_model(request, watcher_for(sys.stderr)))
    for note in result.notes:
        click.echo(f"Note: {note}", err=True)
    return _report_model(result, values)


def _report_model(result: SplitResult, values: Mapping[str, Any]) -> int:
    from judge.report.text import one_line
    from judge.runs.referencing import calls_file

    out, ending = values["out"], result.ending
    for case_id, reason in result.failed.items():
        click.echo(f"{case_id}: {one_line(reason)}", err=True)
    if ending.error is not None:
        click.echo(f"medjudge: {one_line(str(ending.error))}", err=True)
    if not result.open and result.references.cases and (not result.failed or values["allow_missing"]):
        _write(result.references, out)
        return _report(result.references, values, result.failed)
    click.echo(
        f"{out} was not written: {len(result.failed)} cases could not be split, {result.open} were not reached. "
        f"All answers are in {calls_file(out)}. Continue with the same command; it asks nothing twice. Add --retry to "
        "ask again where an answer could not be used, or --allow-missing to leave those cases out.",
        err=True,
    )
    return 130 if ending.interrupted and ending.error is None else 1


def _report(references: References, values: Mapping[str, Any], failed: Mapping[str, str]) -> int:
    counts = [len(found.steps) for found in references.cases.values()]
    summary = {
        "benchmark": references.benchmark,
        "kind": references.kind,
        "splitter": references.splitter,
        "cases": len(counts),
        "steps": {"min": min(counts), "median": statistics.median(counts), "max": max(counts)},
        "hash": references.hash,
        "missing": dict(failed),
        "file": str(values["out"]),
    }
    if values["as_json"]:
        print_json(summary)
        return 0
    click.echo(f"{len(counts)} {references.benchmark} cases ({references.kind}), split by {references.splitter}")
    click.echo(f"Steps per case: {min(counts)} to {max(counts)}, median {statistics.median(counts):g}")
    click.echo(f"Hash: {references.hash}")
    if failed:
        click.echo(f"Without steps: {len(failed)} cases; they are not measured against a reference")
    click.echo(f"Written: {values['out']}")
    click.echo(f"Next: medjudge judge RUN_DIR --judge SPEC --reference {shlex.quote(str(values['out']))}")
    return 0
