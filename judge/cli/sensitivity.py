"""medjudge sensitivity RUN_DIR [RUN_DIR ...]"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.groups import DIRECTORY, json_option, names, print_json

if TYPE_CHECKING:
    from judge.report.paper import Paper


def _sensitivity(
    run_dirs: tuple[Path, ...],
    judges: str | None,
    people: str | None,
    families: tuple[str, ...],
    top: int,
    confusion: bool,
    force: bool,
    html: Path | None,
    as_json: bool,
) -> None:
    from judge.report.sensitivity_summary import summary
    from judge.report.sensitivity_tables import print_sensitivity, section
    from judge.sensitivity import load, sensitivity

    kin = [names("--family", family) for family in families]
    material = load(run_dirs, names("--judges", judges), names("--people", people), force=force, families=kin)
    report = sensitivity(material, top=top)
    sentences = summary(report)
    shown = section(report, sentences)
    paper = _paper(report, run_dirs) if html is not None or as_json else None
    if html is not None and paper is not None:
        from judge.report.compared_figures import draw_judges
        from judge.report.html import write_html
        from judge.report.page import page

        write_html(
            page(f"{report['title']}: how much of the result is the judge?", shown, paper, draw_judges(report)), html
        )
    if as_json and paper is not None:
        print_json({**report, "summary": sentences, "section": shown, **paper.facts()})
        return
    print_sensitivity(report, sentences, confusion=confusion)
    if html is not None:
        click.echo(html)


def _paper(report: Mapping[str, Any], run_dirs: tuple[Path, ...]) -> Paper:
    from judge.report.paper import sensitivity_paper
    from judge.report.provenance import provenance

    return sensitivity_paper(report, provenance(run_dirs, [judge["name"] for judge in report["judges"]]))


_FILE: Any = click.Path(path_type=Path, dir_okay=False)

sensitivity = click.Command(
    "sensitivity",
    callback=_sensitivity,
    params=[
        click.Argument(["run_dirs"], type=DIRECTORY, nargs=-1, required=True, metavar="RUN_DIR [RUN_DIR ...]"),
        click.Option(["--judges"], metavar="A,B,C", help="Only these.  [default: all that judged any of the runs]"),
        click.Option(["--people"], metavar="A,B", help="Imported labels that are people's."),
        click.Option(["--family", "families"], multiple=True, metavar="A,B",
                     help="Models, candidates and judges of one family; may be given several times.  "
                          "[default: those of models with the same name]"),
        click.Option(["--top"], type=click.IntRange(min=0), default=20, show_default=True,
                     help="How many of the steps and answers on which judges split are told."),
        click.Option(["--confusion"], is_flag=True,
                     help="Who gave which label where another gave which, for kinds with more than three labels too."),
        click.Option(["--force"], is_flag=True,
                     help="Compare even what was measured against other reference steps, or on other data."),
        click.Option(["--html"], type=_FILE, metavar="FILE", help="Also as one HTML page."),
        json_option(),
    ],
    help="How much of a result is the judge: scores, ranks and labels of the same outputs under several judges.",
)  # fmt: skip
