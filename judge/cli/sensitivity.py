"""medjudge sensitivity RUN_DIR [RUN_DIR ...]"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from judge.cli.groups import DIRECTORY, json_option, print_json
from judge.errors import SpecError


def names(option: str, text: str | None) -> tuple[str, ...]:
    """The names in a list separated by commas, each once; empty where the option was not given.

    Raises:
        SpecError: it was given and names nothing.
    """
    found = tuple(dict.fromkeys(part.strip() for part in (text or "").split(",") if part.strip()))
    if text is not None and not found:
        raise SpecError(f"{option} names nothing; separate names by commas")
    return found


def _sensitivity(
    run_dirs: tuple[Path, ...],
    judges: str | None,
    people: str | None,
    top: int,
    force: bool,
    html: Path | None,
    as_json: bool,
) -> None:
    from judge.report.sensitivity_summary import summary
    from judge.report.sensitivity_tables import print_sensitivity, section
    from judge.sensitivity import load, sensitivity

    material = load(run_dirs, names("--judges", judges), names("--people", people), force=force)
    report = sensitivity(material, top=top)
    sentences = summary(report)
    shown = section(report, sentences)
    if html is not None:
        from judge.report.html import write_html
        from judge.report.sheet_page import page

        write_html(page(f"{report['title']}: how much of the result is the judge?", shown), html)
    if as_json:
        print_json({**report, "summary": sentences, "section": shown})
        return
    print_sensitivity(report, sentences)
    if html is not None:
        click.echo(html)


_FILE: Any = click.Path(path_type=Path, dir_okay=False)

sensitivity = click.Command(
    "sensitivity",
    callback=_sensitivity,
    params=[
        click.Argument(["run_dirs"], type=DIRECTORY, nargs=-1, required=True, metavar="RUN_DIR [RUN_DIR ...]"),
        click.Option(["--judges"], metavar="A,B,C", help="Only these.  [default: all that judged any of the runs]"),
        click.Option(["--people"], metavar="A,B", help="Imported labels that are people's."),
        click.Option(["--top"], type=click.IntRange(min=0), default=20, show_default=True,
                     help="How many of the steps and answers on which judges split are told."),
        click.Option(["--force"], is_flag=True,
                     help="Compare even what was measured against other reference steps, or on other data."),
        click.Option(["--html"], type=_FILE, metavar="FILE", help="Also as one HTML page."),
        json_option(),
    ],
    help="How much of a result is the judge: scores, ranks and labels of the same outputs under several judges.",
)  # fmt: skip
