"""medjudge run BENCHMARK: new runs and continued ones."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from judge.cli.groups import (
    DIRECTORY,
    BenchmarkGroup,
    FiniteRange,
    benchmark_options,
    by_name,
    data_option,
    json_option,
    print_json,
)
from judge.errors import SpecError

if TYPE_CHECKING:
    from judge.benchmark import Benchmark
    from judge.runs.launch import Finished, Request, Watcher


def _build(benchmark: Benchmark) -> click.Command:
    def callback(**values: Any) -> int:
        return _run(benchmark, values)

    return click.Command(
        benchmark.name,
        callback=callback,
        params=[*_model_params(), *benchmark_options(benchmark.options, required=True), *_run_params(), json_option()],
        help=f"{benchmark.title}: {benchmark.about}.",
        short_help=f"Run {benchmark.title}, or continue a run of it.",
    )


def _model_params() -> list[click.Parameter]:
    return [
        click.Option(["--model"], metavar="SPEC", help="The model to ask, e.g. http://127.0.0.1:8000/v1#my-model."),
        data_option(required=False),
        click.Option(["--out"], type=DIRECTORY, metavar="RUN_DIR", help="Folder for the run.  [default: below runs/]"),
        click.Option(["--limit"], type=click.IntRange(min=1), metavar="N", help="Only the first N cases."),
        click.Option(["--case", "cases"], multiple=True, metavar="ID", help="Only this case; may be repeated."),
        click.Option(["--epochs"], type=click.IntRange(min=1), default=1, show_default=True, metavar="K",
                     help="Ask each case K times."),
        click.Option(["--temperature"], type=FiniteRange(0, 2), metavar="T",
                     help="Sent only if given; else the server's default holds (hf: 0)."),
        click.Option(["--max-tokens"], type=click.IntRange(min=1), metavar="N",
                     help="Longest reply in tokens; sent only if given, else the server's default holds (hf: 1024)."),
        click.Option(["--extra-body"], metavar="JSON", help="More fields for the request body, as a JSON object."),
    ]  # fmt: skip


def _run_params() -> list[click.Parameter]:
    file = click.Path(path_type=Path, dir_okay=False)
    return [
        click.Option(["--connections"], type=click.IntRange(1, 4096), default=16, show_default=True, metavar="N",
                     help="Requests under way at once."),
        click.Option(["--timeout"], type=FiniteRange(min=0, min_open=True), default=600.0, show_default=True,
                     metavar="SECONDS", help="Longest time one request may take; waits for a retry do not count."),
        click.Option(["--tries"], type=click.IntRange(min=1), default=6, show_default=True, metavar="N",
                     help="Requests sent per call at most, retries included."),
        click.Option(["--retry-for"], type=FiniteRange(min=0), default=600.0, show_default=True,
                     metavar="SECONDS", help="Longest that one call may wait for retries, all waits together."),
        click.Option(["--resume"], type=DIRECTORY, metavar="RUN_DIR", help="Continue this run; asks nothing twice."),
        click.Option(["--retry"], multiple=True, metavar="STATUS",
                     help="With --resume: ask again the units of this status, or 'errors'; may be repeated."),
        click.Option(["--record"], type=file, metavar="FILE", help="Also write every exchange to this JSONL file."),
        click.Option(["--replay"], type=file, metavar="FILE", help="Take every reply from this recording."),
        click.Option(["--cache"], type=file, metavar="FILE",
                     help="Share answers between runs through this file; temperature 0 only."),
        click.Option(["--prompts"], type=DIRECTORY, metavar="DIR", help="Your own prompts, replacing ours by name."),
        click.Option(["--tokenizer"], type=click.Path(path_type=Path), metavar="PATH",
                     help="tokenizer.json that counts tokens.  [default: the model's own, else an estimate]"),
        click.Option(["--api-key-env"], metavar="NAME", help="Environment variable that holds the key."),
    ]  # fmt: skip


run_group = BenchmarkGroup("run", build=_build, help="Run a benchmark on a model, or continue a run.")


def _run(benchmark: Benchmark, values: dict[str, Any]) -> int:
    import asyncio

    from judge.runs.launch import run_new, run_resumed
    from judge.runs.progress import watcher_for

    resume, retry, as_json = values["resume"], values["retry"], values["as_json"]
    request = _request(benchmark, values)
    if retry and resume is None:
        raise SpecError("--retry goes with --resume RUN_DIR")
    if resume is not None and request.out is not None:
        raise SpecError("--out names a new run; --resume continues one; give only one of them")
    watcher: Watcher = watcher_for(sys.stderr)
    job = run_new(request, watcher) if resume is None else run_resumed(resume, request, retry, watcher)
    finished = asyncio.run(job)
    if values["cache"] is not None and finished.report["spec"]["generation"]["temperature"] != 0:
        click.echo("Note: --cache was not used: it shares answers at --temperature 0 only.", err=True)
    return _report(finished, as_json=as_json)


def _request(benchmark: Benchmark, values: dict[str, Any]) -> Request:
    from judge.runs.launch import Request
    from judge.settings import Generation, Traffic

    context = click.get_current_context()
    given = {name for name in values if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    options = by_name(benchmark.options, values)
    if values["resume"] is None:
        _require(benchmark, options)
    return Request(
        benchmark=benchmark,
        model=values["model"],
        data=values["data"],
        options={name: list(value) if isinstance(value, tuple) else value for name, value in options.items()},
        generation=Generation(
            temperature=values["temperature"],
            max_tokens=values["max_tokens"],
            extra_body=_json_object(values["extra_body"]),
        ),
        traffic=Traffic(
            connections=values["connections"],
            timeout=values["timeout"],
            tries=values["tries"],
            total_wait=values["retry_for"],
        ),
        limit=values["limit"],
        cases=values["cases"],
        epochs=values["epochs"],
        out=values["out"],
        record=values["record"],
        replay=values["replay"],
        cache=values["cache"],
        prompts=values["prompts"],
        tokenizer=values["tokenizer"],
        key_variable=values["api_key_env"],
        given=frozenset(given),
    )


def _require(benchmark: Benchmark, options: dict[str, Any]) -> None:
    for option in benchmark.options:
        if option.required and not options[option.name]:
            choices = f": one of {', '.join(option.choices)}" if option.choices else ""
            raise SpecError(f"--{option.name} is missing{choices}")


def _json_object(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise SpecError(f"--extra-body is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise SpecError('--extra-body must be a JSON object, e.g. {"top_p": 0.9}')
    return value


def _report(finished: Finished, *, as_json: bool) -> int:
    """Print the report, then what to do next on standard error; the exit code."""
    from judge.report.tables import print_report
    from judge.report.text import one_line

    ending, report = finished.ending, finished.report
    name, folder = report["benchmark"], shlex.quote(str(finished.folder))
    document = report | {"interrupted": ending.interrupted, "error": str(ending.error) if ending.error else None}
    if as_json:
        print_json(document)
    else:
        print_report(report)
    say = _sayer(quiet=as_json)
    if ending.error is not None:
        click.echo(f"medjudge: {one_line(str(ending.error))}", err=True)
    if report["state"] != "complete":
        click.echo(f"Not finished. Continue with: medjudge run {name} --resume {folder}", err=True)
        return 130 if ending.interrupted and ending.error is None else 1
    if report["error_units"]:
        click.echo(
            f"{report['error_units']} units are unscored through errors. "
            f"Ask them again with: medjudge run {name} --resume {folder} --retry errors",
            err=True,
        )
    say(f"Run: {finished.folder}")
    say(f"Next: medjudge show {folder}            tables with breakdowns")
    say(f"      medjudge show {folder} CASE_ID    one case, whole transcript")
    say(f"      medjudge score {folder} --json    every number as JSON")
    return 1 if report["error_units"] else 0


def _sayer(*, quiet: bool) -> Any:
    return (lambda text: None) if quiet else click.echo
