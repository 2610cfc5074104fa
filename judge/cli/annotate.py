"""medjudge annotate RUN_DIR: a person rates explanations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.cli.groups import DIRECTORY
from judge.errors import SpecError

if TYPE_CHECKING:
    from judge.benchmark import Benchmark
    from judge.runs.annotating import Desk
    from judge.runs.store import RunStore

LAST = "last"


def _annotate(
    run_dir: Path,
    rater: str,
    sample: int | None,
    by: str | None,
    seed: int | None,
    sheet: Path | None,
    export: Path | None,
    undo: str | None,
    plain: bool,
) -> int:
    from judge.runs.annotating import Desk, explained, sampling_for
    from judge.runs.store import benchmark_of, open_run

    _check(rater, sample, by, [("--csv", sheet), ("--export", export), ("--undo", undo)])
    store = open_run(run_dir, write=export is None)
    try:
        benchmark = benchmark_of(store)
        explained(benchmark)
        desk = Desk(store, benchmark, rater, sampling_for(store, benchmark, rater, seed, sample, by))
        if export is not None:
            return _export(desk, export)
        if undo is not None:
            return _undo(store, benchmark, desk, undo)
        if sheet is not None:
            return _import(store, benchmark, desk, sheet)
        return _sit(store, benchmark, desk, plain=plain)
    finally:
        store.close()


def _check(rater: str, sample: int | None, by: str | None, ways: list[tuple[str, object]]) -> None:
    from judge.runs.judge_names import check_judge_name

    check_judge_name("--rater", rater)
    if by is not None and sample is None:
        raise SpecError("--by goes with --sample N: of each of its groups N cases are taken")
    if len(given := [name for name, value in ways if value is not None]) > 1:
        raise SpecError(f"{given[0]} and {given[1]} are two different things; give one of them")


def _export(desk: Desk, file: Path) -> int:
    from judge.runs.annotating import export_sheet

    rows = export_sheet(desk, file)
    to_rate = "1 explanation to be rated is" if rows == 1 else f"{rows} explanations to be rated are"
    click.echo(f"{to_rate} in {file}. Fill in the column rating (0, 0.5 or 1), and note if "
               f"you like; then the same command with --csv instead of --export.")  # fmt: skip
    return 0


def _import(store: RunStore, benchmark: Benchmark, desk: Desk, file: Path) -> int:
    from judge.runs.annotating import import_sheet

    filled = import_sheet(desk, file)
    _rescore(store, benchmark, desk)
    click.echo(f"{filled.added} ratings added, {filled.unchanged} were there already, {filled.empty} rows have none.")
    if filled.contradicting:
        click.echo(f"{filled.contradicting} of them are not what the rubric says: a wrong answer is 0, a right one "
                   "without an explanation 0.5, and both count as that; others are at least 0.5.")  # fmt: skip
    _say_state(desk)
    return 0


def _undo(store: RunStore, benchmark: Benchmark, desk: Desk, what: str) -> int:
    rated = desk.grades()
    keys = [q.unit.key for q in desk.questions if q.unit.key in rated and q.unit.case == what]
    if what != LAST and len(keys) != 1:
        there = f"{len(keys)} ratings" if keys else "no rating"
        raise SpecError(f"--undo {what}: there is {there} of this case by {desk.rater}; give a case with one, or last")
    if what == LAST and not rated:
        raise SpecError(f"--undo last: there is no rating by {desk.rater}")
    desk.undo() if what == LAST else desk.take_back(keys[0])
    _rescore(store, benchmark, desk)
    click.echo("Taken back.")
    _say_state(desk)
    return 0


def _sit(store: RunStore, benchmark: Benchmark, desk: Desk, *, plain: bool) -> int:
    from judge.seats.annotation import Annotation
    from judge.seats.terminal import Terminal

    interrupted = False
    try:
        Annotation(desk, Terminal(plain=plain)).sit()
    except KeyboardInterrupt:
        interrupted = True
        click.echo()
    _rescore(store, benchmark, desk)
    _say_state(desk)
    return 130 if interrupted else 0


def _rescore(store: RunStore, benchmark: Benchmark, desk: Desk) -> None:
    """Bring the stored scores up to date; a rater without ratings is forgotten."""
    from judge.runs.scoring import rescore_run

    desk.leave()
    if desk.rater in store.judging.judges():
        rescore_run(store, benchmark, desk.rater)


def _say_state(desk: Desk) -> None:
    """How far the rater is; nothing about the numbers, and the run's folder, which may name the model, is not said."""
    left = len(desk.open())
    click.echo(f"{len(desk.questions) - left} rated, {left} to go." + (" The same command goes on." if left else ""))
    if desk.unanswered:
        click.echo(f"{desk.unanswered} more have nothing to rate and stay without a rating, with their reason.")


annotate = click.Command(
    "annotate",
    callback=_annotate,
    params=[
        click.Argument(["run_dir"], type=DIRECTORY),
        click.Option(["--rater"], required=True, metavar="NAME", help="Who rates; the run keeps the ratings by it."),
        click.Option(["--sample"], type=click.IntRange(min=1), metavar="N",
                     help="Only N cases of each group, e.g. of each specialty.  [default: all]"),
        click.Option(["--by"], metavar="BREAKDOWN", help="Which groups.  [default: the benchmark's first breakdown]"),
        click.Option(["--seed"], type=int, metavar="N", help="Decides sample and order.  [default: 0]"),
        click.Option(["--export"], type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
                     help="Write a blind sheet to be filled in with a spreadsheet, and rate nothing now."),
        click.Option(["--csv", "sheet"], type=click.Path(path_type=Path), metavar="FILE", help="Read a filled sheet."),
        click.Option(["--undo"], metavar="CASE_ID|last", help="Take a rating back; nothing of it stays."),
        click.Option(["--plain"], is_flag=True, help="No panels and colours; the default where there is no terminal."),
    ],
    help="A person rates explanations 0, 0.5 or 1, without seeing whose they are or what others said; resumable.",
)  # fmt: skip
