"""medjudge show RUN_DIR [CASE_ID]"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.groups import DIRECTORY, json_option, prices_option, print_json
from judge.errors import SpecError

if TYPE_CHECKING:
    from judge.benchmark import Benchmark
    from judge.judgements import UnitJudgements
    from judge.outcome import Outcome
    from judge.runs.scoring import ScoredRun
    from judge.runs.store import RunStore


def _show(run_dir: Path, case_id: str | None, judge: str | None, prices: Path | None, as_json: bool) -> None:
    from judge.report.agreement import print_agreement
    from judge.report.prices import cost_of, read_prices
    from judge.report.tables import print_report
    from judge.runs.rating_agreement import rating_agreement
    from judge.runs.scoring import scored_run
    from judge.runs.store import benchmark_of, open_run

    if case_id is not None and prices is not None:
        raise SpecError("--prices goes with a whole run, not with one case")
    priced = read_prices(prices) if prices else None
    store = open_run(run_dir, write=False)
    try:
        benchmark = benchmark_of(store)
        if case_id is None:
            scored, agreed = scored_run(store, benchmark, judge), rating_agreement(store, benchmark)
            cost = cost_of(scored.report["tokens"], priced) if priced else None
            if as_json:
                facts = cost.facts() if cost else None
                print_json(scored.report | {"cost": facts, "agreement": agreed, "units": _units(scored)})
            else:
                print_report(scored.report, breakdowns=True, cost=cost)
                print_agreement(agreed)
        else:
            entries = _case(store, benchmark, case_id, judge)
            print_json(entries) if as_json else _print_case(entries)
    finally:
        store.close()


def _units(scored: ScoredRun) -> list[dict[str, Any]]:
    """Every unit in short, with its scores."""
    return [
        {
            "case": stored.unit.case,
            "setting": stored.unit.setting,
            "epoch": stored.unit.epoch,
            "status": stored.status,
            "flags": list(stored.flags),
            "scores": _plain(scored.scores[stored.unit.key]),
        }
        for stored in scored.units
    ]


def _plain(outcomes: Mapping[str, Outcome]) -> dict[str, Any]:
    """Scores as numbers, and why there is none where there is none."""
    from judge.outcome import Scored

    return {
        name: outcome.value if isinstance(outcome, Scored) else {"unscored": outcome.reason}
        for name, outcome in outcomes.items()
    }


def _case(store: RunStore, benchmark: Benchmark, wanted: str, judge: str | None) -> list[dict[str, Any]]:
    """Every unit of a case; an unambiguous beginning of its id is enough."""
    from judge.benchmark import Transcript
    from judge.runs.scoring import score_units, scorer_of

    cases = store.cases()
    found = [case for case in cases if case == wanted] or [case for case in cases if case.startswith(wanted)]
    if len(found) != 1:
        problem = "no case has an id that begins so" if not found else f"{len(found)} cases have an id that begins so"
        example = (found or list(cases))[0]
        raise SpecError(f"{wanted!r}: {problem} (e.g. {example}); all ids: medjudge show {store.folder} --json")
    units = [stored for stored in store.units() if stored.unit.case == found[0]]
    judges = [judge] if judge is not None else list(store.judging.judges())
    scored = {name: score_units(scorer_of(store, benchmark, name), cases, units) for name in judges}
    said = {name: store.judging.judged(name) for name in judges}
    own = score_units(scorer_of(store, benchmark), cases, units)
    entries = []
    for stored in units:
        transcript = stored.transcript or Transcript(stored.status, stored.detail)
        entries.append(
            {
                "unit": stored.unit.key,
                "status": stored.status,
                "detail": stored.detail,
                "flags": list(stored.flags),
                "scores": _plain(own[stored.unit.key]),
                "text": benchmark.describe(cases[found[0]].record, transcript),
                "judges": {
                    name: _by_judge(
                        benchmark,
                        said[name].get(stored.unit.key),
                        {m: o for m, o in scored[name][stored.unit.key].items() if m not in own[stored.unit.key]},
                    )
                    for name in judges
                },
                "case": dict(cases[found[0]].record),
                "transcript": dict(transcript.data),
                "exchanges": [_brief(exchange) for exchange in store.exchanges(stored.unit)],
            }
        )
    return entries


def _by_judge(benchmark: Benchmark, said: UnitJudgements | None, scores: Mapping[str, Outcome]) -> dict[str, Any]:
    """What one judge said of a unit, and the scores that rest on it."""
    from judge.benchmark import ModelJudgedBenchmark

    if said is None:
        return {"scores": _plain(scores), "judgements": [], "missing": {}, "facts": {}, "text": []}
    text = benchmark.describe_judgements(said) if isinstance(benchmark, ModelJudgedBenchmark) else []
    return {
        "scores": _plain(scores),
        "judgements": said.view.to_rows(),
        "missing": {kind: asdict(why) for kind, why in said.missing.items()},
        "facts": dict(said.facts),
        "text": text,
    }


def _brief(exchange: Any) -> dict[str, Any]:
    """An exchange without its texts, which the transcript has."""
    kept = ("address", "attempt", "role", "model", "endpoint", "status", "error", "tries", "seconds", "source")
    return {name: getattr(exchange, name) for name in kept} | {"usage": asdict(exchange.usage)}


def _print_case(entries: list[dict[str, Any]]) -> None:
    from judge.report.text import one_line, printable

    for entry in entries:
        click.secho(f"=== {entry['unit']}: {entry['status']} ===", bold=True)
        if entry["detail"]:
            click.echo(one_line(entry["detail"]))
        for heading, text in entry["text"]:
            click.secho(f"--- {one_line(heading)}", bold=True)
            click.echo(printable(text))
        _print_scores("scores", entry["scores"])
        for name, of_judge in entry["judges"].items():
            for heading, text in of_judge["text"]:
                click.secho(f"--- {one_line(name)}: {one_line(heading)}", bold=True)
                click.echo(printable(text))
            _print_scores(f"scores by {one_line(name)}", of_judge["scores"])
        for exchange in (one for one in entry["exchanges"] if not _of_a_judge(one)):
            click.echo(f"{exchange['address']} attempt {exchange['attempt']}: {one_line(_outcome(exchange))}")
        for line in _judge_calls(entry["exchanges"]):
            click.echo(line)
        click.echo()


def _of_a_judge(exchange: Mapping[str, Any]) -> bool:
    return str(exchange["role"]).startswith(("judge:", "splitter"))


def _judge_calls(exchanges: list[dict[str, Any]]) -> list[str]:
    """One line for each judge: its calls are many, and --json has them all."""
    from judge.report.text import one_line

    by_role: dict[str, list[dict[str, Any]]] = {}
    for exchange in exchanges:
        if _of_a_judge(exchange):
            by_role.setdefault(str(exchange["role"]), []).append(exchange)
    lines = []
    for role, calls in by_role.items():
        failed = sum(bool(call["error"]) for call in calls)
        lines.append(f"{one_line(role)}: {len(calls)} calls" + (f", {failed} of them failed" if failed else ""))
    return lines


def _print_scores(heading: str, scores: Mapping[str, Any]) -> None:
    from judge.report.tables import number

    click.secho(f"--- {heading}", bold=True)
    width = max(map(len, scores), default=0)
    for name, value in scores.items():
        shown = f"unscored ({value['unscored']})" if isinstance(value, dict) else number(value)
        click.echo(f"{name:{width}}  {shown}")


def _outcome(exchange: Mapping[str, Any]) -> str:
    tries = "1 try" if exchange["tries"] == 1 else f"{exchange['tries']} tries"
    if exchange["error"]:
        return f"failed after {tries}: {exchange['error']}"
    took = f" in {exchange['seconds']:.1f} s, {tries}" if exchange["source"] == "server" else ""
    return f"HTTP {exchange['status']} from {exchange['source']}{took}"


show = click.Command(
    "show",
    callback=_show,
    params=[
        click.Argument(["run_dir"], type=DIRECTORY),
        click.Argument(["case_id"], required=False),
        click.Option(["--judge"], metavar="NAME",
                     help="By this judge's judgements.  [default: none in tables, every judge in a case]"),
        prices_option(),
        json_option(),
    ],
    help="A run's tables, or one case with its whole transcript and what judges said of it.",
)  # fmt: skip
