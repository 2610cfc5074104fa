"""The report as one HTML file: nothing is fetched, no word of a model can act, every number is that of the document."""

from __future__ import annotations

import base64
import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from judge.errors import RunError
from judge.report.document import SECTIONS, Document
from judge.report.figures import Figure, themed
from judge.report.inert import script_json
from judge.report.methods import flat
from judge.report.sensitivity import sensitivity_section
from judge.report.tables import money, number, span
from judge.stats import REASONS

TEMPLATES = Path(__file__).with_name("templates")


def render(document: Document, figures: Sequence[Figure]) -> str:
    """The whole file."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    environment.filters |= {"number": number, "span": span, "percent": _percent, "whole": _whole, "money": money}
    script = _read("report.js")
    facts = document.facts
    return environment.get_template("report.html.j2").render(
        facts=facts,
        cases=document.cases,
        sections=SECTIONS,
        reason_words=REASONS,
        refused={one["metric"] for one in facts["not_comparable"]},
        breakdowns=_breakdowns,
        corpus=_corpus(facts),
        manifest={title: flat(rows) for title, rows in facts["manifest"].items()},
        sensitivity=sensitivity_section(facts["sensitivity"]),
        figures=[{"place": f.place, "caption": f.caption, "grouped": f.grouped, "svg": themed(f)} for f in figures],
        style=_read("report.css"),
        script=script,
        script_hash=f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}",
        index=script_json(_index(document)),
        pages=document.cases.pages,
    )


def write_html(text: str, path: Path) -> None:
    """Write the file, whole or not at all.

    Raises:
        RunError: it cannot be written.
    """
    draft = path.with_name(f"{path.name}.new")
    try:
        draft.write_text(text, encoding="utf-8", newline="\n")
        draft.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise RunError(f"{path} cannot be written: {error.strerror}") from None


def _breakdowns(setting: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Breakdown -> its table without a judge, and one for each judge."""
    found: dict[str, list[dict[str, Any]]] = {}
    for block in setting["blocks"]:
        for breakdown in block["breakdowns"]:
            found.setdefault(breakdown["name"], []).append({**breakdown, "judge": block["judge"]})
    return found


def _corpus(facts: Mapping[str, Any]) -> list[str]:
    """What is said of all explanations of a setting together."""
    return [
        f"{setting}: {of['title']} {number(of['value'])} ({of['signature']})"
        for setting, said in facts["explanations"].items()
        for of in said["corpus"].values()
    ]


def _index(document: Document) -> dict[str, Any]:
    """What the browser's script starts from."""
    facts, cases = document.facts, document.cases
    cutoff = facts["cutoff"]
    sides = dict(cutoff["words"]) if cutoff else {}
    return {
        **cases.index,
        "flags": facts["flags"],
        "sides": sides,
        "show": facts["show"],
        "judged": any(column["judge"] for column in facts["deciding"]),
        "scored": sorted(
            {row["status"] for setting in facts["settings"] for row in setting["statuses"] if row["scored"]}
        ),
    }


def _read(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _whole(count: int) -> str:
    return f"{count:,}"
