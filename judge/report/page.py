"""Tables, figures and what a paper must state as one HTML page; it fetches nothing and runs no script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from judge.report.figures import Figure, themed
from judge.report.html import TEMPLATES
from judge.report.inert import inert
from judge.report.methods import flat
from judge.report.paper import Paper
from judge.report.sensitivity import sensitivity_section


def page(title: str, data: Mapping[str, Any], paper: Paper, figures: Sequence[Figure] = ()) -> str:
    """The whole file.

    Args:
        data: as `judge.report.sensitivity.sensitivity_section` takes it.
        figures: they come first.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    facts = inert(paper.facts())
    return environment.get_template("page.html.j2").render(
        title=inert(title),
        sensitivity=sensitivity_section(inert(data)),
        figures=[{"caption": inert(figure.caption), "svg": themed(figure)} for figure in figures],
        methods=facts["methods"],
        manifest={section: flat(rows) for section, rows in facts["manifest"].items()},
        version=facts["manifest"]["software of this report"]["medjudge"],
        licence=inert(paper.licence),
        style=(TEMPLATES / "report.css").read_text(encoding="utf-8"),
    )
