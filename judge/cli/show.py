"""medjudge show RUN_DIR [CASE_ID]"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.groups import DIRECTORY, json_option, print_json
from judge.errors import SpecError

if TYPE_CHECKING:
    from judge.benchmark import Benchmark
    from judge.runs.store import RunStore


def _show(run_dir: Path, case_id: str | None, as_json: bool) -> None:
    from judge.report.tables import print_report
    from judge.runs.scoring import score_run
    from judge.runs.store import benchmark_of, open_run

    store = open_run(run_dir, write=False)
    try:
        benchmark = benchmark_of(store)
        if case_id is None:
            report = score_run(store, benchmark)
            print_json(report) if as_json else print_report(report, breakdowns=True)
        else:
            entries = _case(store, benchmark, case_id)
            print_json(entries) if as_json else _print_case(entries)
    finally:
        store.close()


def _case(store: RunStore, benchmark: Benchmark, wanted: str) -> list[dict[str, Any]]:
    """Every unit of a case; an unambiguous beginning of its id is enough."""
    from judge.benchmark import Transcript
    from judge.outcome import Scored
    from judge.runs.scoring import score_units

    cases = store.cases()
    found = [case for case in cases if case == wanted] or [case for case in cases if case.startswith(wanted)]
    if len(found) != 1:
        problem = "no case has an id that begins so" if not found else f"{len(found)} cases have an id that begins so"
        raise SpecError(f"{wanted}: {problem}; see the ids with: medjudge show {store.folder} --json")
    units = [stored for stored in store.units() if stored.unit.case == found[0]]
    scores = score_units(benchmark, cases, units)
    entries = []
    for stored in units:
        transcript = stored.transcript or Transcript(stored.status, stored.detail)
        outcomes = scores[stored.unit.key]
        entries.append(
            {
                "unit": stored.unit.key,
                "status": stored.status,
                "detail": stored.detail,
                "flags": list(stored.flags),
                "scores": {
                    name: outcome.value if isinstance(outcome, Scored) else {"unscored": outcome.reason}
                    for name, outcome in outcomes.items()
                },
                "text": benchmark.describe(cases[found[0]].record, transcript),
                "case": dict(cases[found[0]].record),
                "transcript": dict(transcript.data),
                "exchanges": [_brief(exchange) for exchange in store.exchanges(stored.unit)],
            }
        )
    return entries


def _brief(exchange: Any) -> dict[str, Any]:
    """An exchange without its texts, which the transcript has."""
    kept = ("address", "attempt", "role", "model", "endpoint", "status", "error", "tries", "seconds", "source")
    return {name: getattr(exchange, name) for name in kept} | {"usage": asdict(exchange.usage)}


def _print_case(entries: list[dict[str, Any]]) -> None:
    from judge.report.tables import number

    for entry in entries:
        click.secho(f"=== {entry['unit']}: {entry['status']} ===", bold=True)
        if entry["detail"]:
            click.echo(entry["detail"])
        for heading, text in entry["text"]:
            click.secho(f"--- {heading}", bold=True)
            click.echo(text)
        click.secho("--- scores", bold=True)
        for name, value in entry["scores"].items():
            shown = f"unscored ({value['unscored']})" if isinstance(value, dict) else number(value)
            click.echo(f"{name:16} {shown}")
        for exchange in entry["exchanges"]:
            failure = f", failed: {exchange['error']}" if exchange["error"] else ""
            click.echo(
                f"{exchange['address']} attempt {exchange['attempt']}: HTTP {exchange['status']} from "
                f"{exchange['source']} in {exchange['seconds']:.1f} s, {exchange['tries']} tries{failure}"
            )
        click.echo()


show = click.Command(
    "show",
    callback=_show,
    params=[
        click.Argument(["run_dir"], type=DIRECTORY),
        click.Argument(["case_id"], required=False),
        json_option(),
    ],
    help="A run's tables, or one case with its whole transcript.",
)
