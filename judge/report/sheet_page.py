"""Sentences and tables as one HTML page of their own; it fetches nothing and runs no script."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.report.html import TEMPLATES
from judge.report.inert import inert
from judge.report.sensitivity import sensitivity_section


def page(title: str, data: Mapping[str, Any]) -> str:
    """The whole file.

    Args:
        data: as `judge.report.sensitivity.sensitivity_section` takes it.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("sensitivity_page.html.j2").render(
        title=inert(title),
        sensitivity=sensitivity_section(inert(data)),
        style=(TEMPLATES / "report.css").read_text(encoding="utf-8"),
    )
