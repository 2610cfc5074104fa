"""medjudge run BENCHMARK: new runs and continued ones."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from judge.cli.explanations import (
    check_explanations,
    compare_explanations,
    explanation_params,
    explanation_request,
)
from judge.cli.groups import (
    DIRECTORY,
    BenchmarkGroup,
    FiniteRange,
    benchmark_options,
    by_name,
    data_option,
    json_object,
    json_option,
    print_json,
)
from judge.cli.judging import judge_params, judge_request, report_judged
from judge.cli.traffic import traffic_of, traffic_params
from judge.errors import SpecError

if TYPE_CHECKING:
    from judge.benchmark import Benchmark
    from judge.runs.judging import JudgeRequest
    from judge.runs.launch import Finished, Request, Watcher
    from judge.runs.measuring import TextRequest


def _build(benchmark: Benchmark) -> click.Command:
    def callback(**values: Any) -> int:
        return _run(benchmark, values)

    return click.Command(
        benchmark.name,
        callback=callback,
        params=[
            *_model_params(),
            *benchmark_options(benchmark.options, required=True),
            *(explanation_params(_default(benchmark)) if hasattr(benchmark, "explanation") else []),
            *(judge_params(required=False) if hasattr(benchmark, "judging") else []),
            *_run_params(),
            json_option(),
        ],
        help=f"{benchmark.title}: {benchmark.about}.",
        short_help=f"Run {benchmark.title}, or continue a run of it.",
    )


def _default(benchmark: Benchmark) -> str | None:
    """What is compared of explanations if the user does not say it; None for a benchmark without any."""
    return getattr(benchmark, "explanations_by_default", None)


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
        *traffic_params(),
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

    resume, retry = values["resume"], values["retry"]
    request = request_of(benchmark, values)
    if retry and resume is None:
        raise SpecError("--retry goes with --resume RUN_DIR")
    if resume is not None and request.out is not None:
        raise SpecError("--out names a new run; --resume continues one; give only one of them")
    return asyncio.run(_play(benchmark, request, values))


async def _play(benchmark: Benchmark, request: Request, values: Mapping[str, Any]) -> int:
    """Play, then judge where that is wanted."""
    from judge.runs.launch import run_new, run_resumed
    from judge.runs.progress import watcher_for

    resume, as_json = values["resume"], values["as_json"]
    request, judging = await with_judge(benchmark, request, values)
    request, comparing = with_explanations(benchmark, request, values)
    watcher: Watcher = watcher_for(sys.stderr)
    job = run_new(request, watcher) if resume is None else run_resumed(resume, request, values["retry"], watcher)
    finished = await job
    if values["cache"] is not None and finished.report["spec"]["generation"]["temperature"] != 0:
        click.echo("Note: --cache was not used: it shares answers at --temperature 0 only.", err=True)
    if finished.report["state"] == "complete":
        finished = replace(finished, report=compare_explanations(finished.folder, comparing, finished.report))
    if judging is None or finished.report["state"] != "complete":
        return _report(finished, as_json=as_json)
    return await _judged(finished, judging, as_json=as_json)


async def with_judge(
    benchmark: Benchmark, request: Request, values: Mapping[str, Any]
) -> tuple[Request, JudgeRequest | None]:
    """The request with its judge, made sure of before the doctor is asked anything; on resuming, the run's own."""
    judging = judge_request(values) if "judge" in values else None
    if judging is None and values["resume"] is not None:
        judging = _judging_of(values["resume"])
    if judging is None:
        return request, None
    from judge.runs.judging import check_judge, seat_of

    if values["resume"] is None:
        await check_judge(benchmark, judging, benchmark.settings(request.options))
    seat = seat_of(judging)
    roles = {f"judge:{seat.name}": seat.model.text}
    return replace(request, judging=judging.to_row(), judge_roles=roles), judging


def with_explanations(
    benchmark: Benchmark, request: Request, values: Mapping[str, Any]
) -> tuple[Request, TextRequest | None]:
    """The request with how explanations are compared; on resuming, as the run was begun if the user does not say."""
    if not hasattr(benchmark, "explanation"):
        return request, None
    resume = values["resume"]
    if resume is not None:
        before = _comparing_of(resume)
        return request, explanation_request(values, None, before) or before
    comparing = explanation_request(values, _default(benchmark))
    assert comparing is not None, "a new run has a default"
    check_explanations(benchmark, comparing, request.options)
    return replace(request, explanations=comparing.to_row()), comparing


def _comparing_of(run_dir: Path) -> TextRequest | None:
    from judge.runs.measuring import request_in
    from judge.runs.store import open_run

    store = open_run(run_dir, write=False)
    try:
        return request_in(store)
    finally:
        store.close()


def _judging_of(run_dir: Path) -> JudgeRequest | None:
    """How a run is to be judged, if it was begun so."""
    from judge.runs.judging import JudgeRequest
    from judge.runs.store import open_run

    store = open_run(run_dir, write=False)
    try:
        row = json.loads(store.meta("facts") or "{}").get("judging")
    finally:
        store.close()
    return JudgeRequest.from_row(row) if row else None


async def _judged(finished: Finished, judging: JudgeRequest, *, as_json: bool) -> int:
    from judge.runs.judging import judge_run
    from judge.runs.progress import watcher_for

    judged = await judge_run(finished.folder, judging, (), watcher_for(sys.stderr))
    return report_judged(judged, as_json=as_json)


def request_of(benchmark: Benchmark, values: dict[str, Any]) -> Request:
    from judge.runs.launch import Request
    from judge.settings import Generation

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
            extra_body=json_object("--extra-body", values["extra_body"]),
        ),
        traffic=traffic_of(values),
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
    _next(finished, _sayer(quiet=as_json))
    return 1 if report["error_units"] else 0


def _next(finished: Finished, say: Any) -> None:
    """What can be done with the run."""
    folder = shlex.quote(str(finished.folder))
    say(f"Run: {finished.folder}")
    say(f"Next: medjudge show {folder}            tables with breakdowns")
    say(f"      medjudge show {folder} CASE_ID    one case, whole transcript")
    say(f"      medjudge score {folder} --json    every number as JSON")


def _sayer(*, quiet: bool) -> Any:
    return (lambda text: None) if quiet else click.echo
