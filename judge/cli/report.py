"""medjudge report RUN_DIR"""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.groups import DIRECTORY, json_option, names, prices_option, print_json
from judge.errors import SpecError

if TYPE_CHECKING:
    from judge.report.corrections import Labelled
    from judge.report.document import Document, Wanted

#: Megabytes of the cases' texts unless the user says otherwise.
MEGABYTES = 24


def _report(
    run_dir: Path,
    judges: tuple[str, ...],
    people: str | None,
    html: Path | None,
    figures: Path | None,
    cutoff: datetime | None,
    prices: Path | None,
    megabytes: int,
    as_json: bool,
) -> None:
    from judge.report.document import Wanted
    from judge.report.prices import read_prices

    if html is None and figures is None and not as_json:
        raise SpecError("nothing to make; give --html FILE, --figures DIR or --json")
    wanted = Wanted(judges, _day(cutoff), read_prices(prices) if prices else None, megabytes * 1_000_000)
    document = _document(run_dir, wanted, names("--people", people))
    written = _written(document, html, figures)
    if as_json:
        print_json({**document.facts, "files": written})
        return
    for path in written:
        click.echo(path)
    if html is not None and document.cases.limit is not None:
        click.echo(
            f"In {document.cases.n_cut} of {document.facts['n_units']} units, texts longer than "
            f"{document.cases.limit:,} bytes are cut; --case-texts gives them more room."
        )


def _day(cutoff: datetime | None) -> date | None:
    return cutoff.date() if cutoff is not None else None


def _document(run_dir: Path, wanted: Wanted, people: tuple[str, ...]) -> Document:
    from judge.report.document import build_document
    from judge.runs.store import benchmark_of, open_run

    store = open_run(run_dir, write=False)
    try:
        judges = [name for name in store.judging.judges() if not wanted.judges or name in wanted.judges]
        if len(judges) < 2 and not people:
            return build_document(store, benchmark_of(store), wanted)
        moved, labelled = _sensitivity(run_dir, tuple(judges), people)
        return build_document(store, benchmark_of(store), wanted, sensitivity=moved, labelled=labelled)
    finally:
        store.close()


def _sensitivity(
    run_dir: Path, judges: tuple[str, ...], people: tuple[str, ...]
) -> tuple[dict[str, Any] | None, Labelled]:
    """How much of the results is the judge, where there are several, and what people's labels say."""
    from judge.report.corrections import Labelled
    from judge.report.sensitivity_summary import summary
    from judge.report.sensitivity_tables import section
    from judge.report.statistics_told import moved_by_judges
    from judge.sensitivity import load, sensitivity

    found = sensitivity(load((run_dir,), judges, people, force=False))
    persons = tuple(judge["name"] for judge in found["judges"] if judge["kind"] == "person")
    told = {"methods": moved_by_judges(found)}
    shown = section(found, summary(found)) | told if len(judges) > 1 else None
    return shown, Labelled(persons, found["people"])


def _written(document: Document, html: Path | None, folder: Path | None) -> list[str]:
    """Paths of what was written."""
    from judge.report.figures import draw_figures, write_figures
    from judge.report.html import render, write_html

    if html is None and folder is None:
        return []
    drawn = draw_figures(document.facts, png=folder is not None)
    written: list[str] = []
    if html is not None:
        write_html(render(document, drawn), html)
        written.append(str(html))
    return written + (write_figures(drawn, folder) if folder is not None else [])


_FILE: Any = click.Path(path_type=Path, dir_okay=False)

report = click.Command(
    "report",
    callback=_report,
    params=[
        click.Argument(["run_dir"], type=DIRECTORY),
        click.Option(["--judge", "judges"], multiple=True, metavar="NAME",
                     help="Only by this judge's judgements; may be given several times.  [default: all judges]"),
        click.Option(["--people"], metavar="A,B", help="Imported labels that are people's."),
        click.Option(["--html"], type=_FILE, metavar="FILE", help="One file that needs no network."),
        click.Option(["--figures"], type=DIRECTORY, metavar="DIR", help="Each figure as PNG and SVG."),
        click.Option(["--cutoff"], type=click.DateTime(["%Y-%m-%d"]), metavar="YYYY-MM-DD",
                     help="Also results on cases from before, and from on or after, this day."),
        prices_option(),
        click.Option(["--case-texts", "megabytes"], type=click.IntRange(1, 500), default=MEGABYTES, show_default=True,
                     metavar="MB", help="Room for the texts of all cases; the longest are cut, visibly, to fit."),
        json_option(),
    ],
    help="A run as one HTML file: results, figures, every case, and what a paper must state of it.",
)  # fmt: skip
