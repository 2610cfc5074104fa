"""medjudge judge RUN_DIR, and the options by which a run is judged when it is done."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.groups import DIRECTORY, FiniteRange, json_object, json_option, print_json, refuse_alone
from judge.cli.traffic import traffic_of, traffic_params
from judge.errors import SpecError

if TYPE_CHECKING:
    from judge.runs.judging import Judged, JudgeRequest

#: Options that mean something only beside --judge.
OF_A_JUDGE = (
    "judge_name", "judge_protocol", "evidence", "reasoning_source", "step_splitter", "reference", "judge_temperature",
    "judge_max_tokens", "judge_extra_body", "judge_key", "judge_prompts",
)  # fmt: skip


def judge_params(*, required: bool) -> list[click.Parameter]:
    """The options that say who judges and how."""
    file = click.Path(path_type=Path, dir_okay=False)
    return [
        click.Option(["--judge"], required=required, metavar="SPEC",
                     help="The model that judges, or replay:FILE for one that was recorded."),
        click.Option(["--judge-name"], metavar="NAME",
                     help="Under which the run keeps the judgements.  [default: from the model and the protocol]"),
        click.Option(["--judge-protocol"], type=click.Choice(["per-step", "batched"]), default="per-step",
                     show_default=True, help="One call a question, as published, or one for all steps together."),
        click.Option(["--evidence"], default="none", show_default=True, metavar="none|corpus:DIR|web:NAME",
                     help="Where the judge may look facts up: nowhere, in your files, or by a LangChain search tool."),
        click.Option(["--reasoning-source"], type=click.Choice(["answer", "thinking"]), default="answer",
                     show_default=True, help="Which text of a reasoning model is judged."),
        click.Option(["--step-splitter"], type=click.Choice(["auto", "rules", "judge"]), default="auto",
                     show_default=True, help="Who splits reasoning into steps; auto: rules where it labels them."),
        click.Option(["--reference"], type=file, metavar="FILE",
                     help="Pinned reference steps, see medjudge reference.  [default: split by rules]"),
        click.Option(["--judge-temperature"], type=FiniteRange(0, 2), metavar="T", help="Sent only if given."),
        click.Option(["--judge-max-tokens"], type=click.IntRange(min=1), metavar="N", help="Sent only if given."),
        click.Option(["--judge-extra-body"], metavar="JSON", help="More fields for the judge's request body."),
        click.Option(["--judge-api-key-env", "judge_key"], metavar="NAME",
                     help="Environment variable that holds the judge's key."),
        click.Option(["--judge-prompts"], type=DIRECTORY, metavar="DIR",
                     help="Your own judge prompts, replacing ours by name."),
    ]  # fmt: skip


def judge_request(values: Mapping[str, Any], *, only: tuple[str, ...] = ()) -> JudgeRequest | None:
    """What the options say; None without a judge.

    Raises:
        SpecError: an option about a judge whom nobody named.
    """
    from judge.runs.judging import JudgeRequest
    from judge.settings import Generation

    if values["judge"] is None:
        refuse_alone(OF_A_JUDGE, "--judge SPEC")
        return None
    return JudgeRequest(
        model=values["judge"],
        name=values["judge_name"],
        generation=Generation(
            temperature=values["judge_temperature"],
            max_tokens=values["judge_max_tokens"],
            extra_body=json_object("--judge-extra-body", values["judge_extra_body"]),
        ),
        traffic=traffic_of(values),
        protocol=values["judge_protocol"],
        only=only,
        evidence=values["evidence"],
        reasoning_source=values["reasoning_source"],
        step_splitter=values["step_splitter"],
        reference=values["reference"],
        prompts=values["judge_prompts"],
        record=values["record"],
        key_variable=values["judge_key"],
    )


def _judge(run_dir: Path, only: str | None, retry: tuple[str, ...], as_json: bool, **values: Any) -> int:
    import asyncio

    from judge.runs.judging import judge_run
    from judge.runs.progress import watcher_for

    tasks = tuple(part.strip() for part in only.split(",") if part.strip()) if only is not None else ()
    if only is not None and not tasks:
        raise SpecError("--only names nothing; separate tasks by commas, e.g. accuracy,reasoning")
    request = judge_request(values, only=tasks)
    assert request is not None, "the option is required"
    return report_judged(asyncio.run(judge_run(run_dir, request, retry, watcher_for(sys.stderr))), as_json=as_json)


def report_judged(judged: Judged, *, as_json: bool) -> int:
    """Print the report, then what to do next on standard error; the exit code."""
    from judge.report.tables import print_report
    from judge.report.text import one_line

    ending, error = judged.ending, judged.ending.error
    if as_json:
        print_json(
            judged.report
            | {
                "interrupted": ending.interrupted,
                "error": str(error) if error else None,
                "judge_faults": list(judged.faults),
                "judge_error_units": judged.error_units,
            }
        )
    else:
        print_report(judged.report)
    again = f"medjudge judge {shlex.quote(str(judged.folder))} --judge SPEC --judge-name {shlex.quote(judged.name)}"
    for sentence in [*judged.faults[:3], *([str(error)] if error else [])]:
        click.echo(f"medjudge: {one_line(sentence)}", err=True)
    if error is not None or ending.interrupted or judged.faults:
        click.echo(f"Not finished. Continue with the same options: {again}", err=True)
        return 130 if ending.interrupted and error is None else 1
    if judged.error_units:
        click.echo(f"In {judged.error_units} units labels are missing through errors. "
                   f"Ask again with the same options and: {again} --retry errors", err=True)  # fmt: skip
        return 1
    if not as_json:
        say_next(judged.folder, judged.name)
    return 1 if judged.report["error_units"] else 0


def say_next(folder: Path, name: str) -> None:
    """What can be done with a judged run."""
    run, judge = shlex.quote(str(folder)), shlex.quote(name)
    click.echo(f"Run: {folder}")
    click.echo(f"Next: medjudge show {run} --judge {judge}    tables with breakdowns")
    click.echo(f"      medjudge show {run} CASE_ID    one case, its transcript and every judge's labels")
    click.echo(f"      medjudge score {run} --judge {judge} --judge OTHER    judges side by side")


judge_command = click.Command(
    "judge",
    callback=_judge,
    params=[
        click.Argument(["run_dir"], type=DIRECTORY),
        *judge_params(required=True),
        click.Option(["--only"], metavar="TASKS", help="Only these, e.g. accuracy,reasoning,exams."),
        *traffic_params(),
        click.Option(["--retry"], multiple=True, metavar="REASON",
                     help="Judge again where labels are missing for this reason, or 'errors'; may be repeated."),
        click.Option(["--record"], type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
                     help="Also write every exchange to this JSONL file."),
        json_option(),
    ],
    help="Judge a run's stored transcripts with a model, or continue doing so; adds, never overwrites.",
)  # fmt: skip
