"""Figures are well-formed, escape their labels, and take a page's colours."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from judge.report.document import Document
from judge.report.figures import MARKERS, SERIES, VARIABLES, Figure, draw_figures, themed, write_figures
from tests.report.runs import HOSTILE_JUDGE, JUDGE


@pytest.fixture(scope="module")
def figures(demo_document: Document) -> list[Figure]:
    facts = dict(demo_document.facts)
    facts["settings"] = facts["settings"][1:2]  # one is enough, drawing takes a while
    return draw_figures(facts)


def test_there_are_results_counts_groups_statuses_and_tokens(figures: list[Figure]) -> None:
    names = [figure.name for figure in figures]
    assert len(set(names)) == len(names)
    assert {"results-one-turn", "counts-one-turn", f"body-one-turn-{JUDGE}", "statuses", "tokens"} <= set(names)
    assert {figure.grouped for figure in figures} >= {"", "body", "frequency"}


def test_every_caption_states_the_unit(figures: list[Figure]) -> None:
    units = re.compile(r"share, 0 to 1|counts per case|number of units|thousands")
    assert all(units.search(figure.caption) for figure in figures)


def test_in_a_page_every_colour_is_a_variable_and_every_id_its_own(figures: list[Figure]) -> None:
    seen: set[str] = set()
    for figure in figures:
        svg = themed(figure)
        ElementTree.fromstring(svg)
        assert not re.findall(r"#[0-9a-f]{6}\b(?![^<]*url)", re.sub(r'(href="#|url\(#)[^")]*', "", svg))
        ids = set(re.findall(r'\bid="([^"]+)"', svg))
        assert ids.isdisjoint(seen)
        assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg)) <= ids
        seen |= ids


def test_judges_are_told_apart_by_shape_as_well_as_by_colour() -> None:
    assert len(set(MARKERS)) == len(MARKERS) == len(SERIES) == len(set(SERIES))
    assert set(SERIES) <= set(VARIABLES)


def test_names_of_judges_and_metrics_are_no_markup_and_no_formula(hostile_document: Document) -> None:
    facts: dict[str, Any] = dict(hostile_document.facts)
    for block in facts["settings"][0]["blocks"]:
        for row in block["tables"]["metrics"]:
            row["title"] = "costs $5 & $x_"
    for figure in draw_figures(facts):
        svg = themed(figure)
        ElementTree.fromstring(svg)
        assert HOSTILE_JUDGE not in svg
        assert "/" not in figure.name


def test_figures_are_written_as_svg_and_png(demo_document: Document, tmp_path: Path) -> None:
    facts = dict(demo_document.facts) | {"settings": [], "tokens": demo_document.facts["tokens"]}
    facts["settings"] = [demo_document.facts["settings"][0] | {"blocks": []}]
    paths = write_figures(draw_figures(facts, png=True), tmp_path / "new" / "folder")
    assert {Path(path).name for path in paths} == {"statuses.svg", "statuses.png", "tokens.svg", "tokens.png"}
    assert (tmp_path / "new/folder/statuses.png").read_bytes().startswith(b"\x89PNG")
