"""The HTML file: whole, inert, readable in both themes, and made by the command."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from judge.report.document import Document
from judge.report.html import TEMPLATES, render
from tests.conftest import Command
from tests.report.runs import HOSTILE_JUDGE, HOSTILE_MODEL, JUDGE


class Page(HTMLParser):
    """Tags and attributes of a page, and the text of its blocks of data."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.blocks: dict[str, str] = {}
        self.scripts: list[str] = []
        self._within: dict[str, str | None] | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._within = dict(attrs) if tag == "script" else None

    def handle_endtag(self, tag: str) -> None:
        self._within = None

    def handle_data(self, data: str) -> None:
        if self._within is None:
            return
        if self._within.get("type") == "application/json":
            self.blocks[str(self._within["id"])] = data
        else:
            self.scripts.append(data)

    def attribute(self, name: str) -> list[str]:
        return [str(attributes[name]) for _, attributes in self.tags if name in attributes]


@pytest.fixture(scope="module")
def hostile_text(hostile_document: Document) -> str:
    return render(hostile_document, [])


@pytest.fixture(scope="module")
def demo_text(demo_document: Document) -> str:
    return render(demo_document, [])


def test_the_only_scripts_are_ours_and_the_policy_allows_no_other(hostile_text: str) -> None:
    page = Page(hostile_text)
    (script,) = page.scripts
    assert script == (TEMPLATES / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(str(a["content"]) for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith(f"default-src 'none'; script-src 'sha256-{digest}';")
    assert "unsafe-eval" not in policy
    assert "unsafe-inline" not in policy.split("style-src")[0]


def test_no_element_acts_or_fetches(hostile_text: str) -> None:
    page = Page(hostile_text)
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert not page.attribute("src")
    assert set(page.attribute("href")) <= {"data:,", "#main", "#results", "#endings", "#cases", "#paper"}
    assert not {"iframe", "object", "embed", "img", "base"} & {tag for tag, _ in page.tags}


def test_hostile_names_are_text(hostile_text: str) -> None:
    assert HOSTILE_JUDGE not in hostile_text
    assert HOSTILE_MODEL not in hostile_text
    assert "&lt;img src=x onerror=alert(4)&gt;" in hostile_text
    hostile_text.encode("utf-8")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", hostile_text)


def test_every_block_of_data_is_json(hostile_text: str, hostile_document: Document) -> None:
    blocks = Page(hostile_text).blocks
    assert set(blocks) == {"index", *(f"page-{n}" for n in range(len(hostile_document.cases.pages)))}
    for text in blocks.values():
        json.loads(text)


def test_names_stand_isolated_from_the_direction_of_what_is_around_them(hostile_text: str) -> None:
    assert "<bdi>&lt;img src=x onerror=alert(4)&gt;</bdi>" in hostile_text


def test_the_numbers_in_the_tables_are_those_of_the_document(demo_text: str, demo_document: Document) -> None:
    cells = re.findall(r'<td class="n strong">([^<]*)</td>\s*<td class="n">([^<]*)</td>', demo_text)
    wanted = []
    for setting in demo_document.facts["settings"]:
        for block in setting["blocks"]:
            for rows in block["tables"].values():
                for row in rows:
                    interval = row["interval"]
                    shown = f"{interval[0]:.3f} to {interval[1]:.3f}" if interval else "-"
                    wanted.append(("-" if row["mean"] is None else f"{row['mean']:.3f}", shown))
    assert cells == wanted
    assert len(cells) > 30


def test_every_table_has_a_caption_and_scopes(demo_text: str) -> None:
    tables = re.findall(r"<table.*?</table>", demo_text, flags=re.DOTALL)
    assert len(tables) > 10
    for table in tables:
        assert "<caption" in table
        assert not re.search(r"<th(?![^>]*scope=)[ >]", table)


def test_headings_leave_out_no_level(demo_text: str) -> None:
    levels = [int(level) for level in re.findall(r"<h([1-6])", demo_text)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_tiles_of_other_cases_say_so_and_what_they_have_in_common(demo_text: str) -> None:
    # fixtures/README.md: the judge was cut off at one answer, another answer was cut off itself
    assert demo_text.count(f"on other cases than <bdi>free_turn by {JUDGE}</bdi>") == 2
    assert demo_text.count("on the 1 case that all have") == 3


def test_an_unfinished_run_says_so_first(demo_document: Document) -> None:
    facts = {**demo_document.facts, "state": "incomplete"}
    text = render(Document(facts, demo_document.cases), [])
    assert text.index("Not finished.") < text.index('id="results"')


def test_texts_that_are_cut_are_announced_with_the_command_that_shows_them(hostile_text: str, hostile: Path) -> None:
    assert "In 1 of 3 units, texts longer than 200,000 bytes are cut" in hostile_text
    assert f"medjudge show {hostile} CASE_ID" in hostile_text


def test_a_sensitivity_section_is_there_only_with_data(demo_document: Document, demo_text: str) -> None:
    assert 'id="sensitivity"' not in demo_text
    data = {"sentences": ["It <b>moves</b>."], "tables": [{"title": "t", "columns": ["a"], "rows": [["x"]]}]}
    text = render(Document({**demo_document.facts, "sensitivity": data}, demo_document.cases), [])
    assert "It &lt;b&gt;moves&lt;/b&gt;." in text
    assert '<a href="#sensitivity">' in text


# -- colours ---------------------------------------------------------------------------------------------------------


def luminance(colour: str) -> float:
    """WCAG 2.2, relative luminance."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_black_on_white_where_it_must_be() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("theme", [0, 1])
def test_all_text_has_the_contrast_that_wcag_asks_for_in_both_themes(theme: int) -> None:
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    colours = {name: pair for name, *pair in re.findall(r"--(\w+): light-dark\((#\w{6}), (#\w{6})\)", style)}
    for text in ("ink", "muted", "link", *(f"s{n}" for n in range(6))):
        for ground in ("page", "panel"):
            assert contrast(colours[text][theme], colours[ground][theme]) >= 4.5, (text, ground)
    assert contrast(colours["ink"][theme], colours["alarm"][theme]) >= 4.5
    assert contrast(colours["edge"][theme], colours["page"][theme]) >= 3


# -- the command -----------------------------------------------------------------------------------------------------


def test_the_command_writes_one_file_and_prints_json(cli: Command, hostile: Path, tmp_path: Path) -> None:
    ran = cli("report", hostile, "--judge", "plain", "--html", tmp_path / "r.html", "--json")
    assert ran.code == 0, ran.err
    found: dict[str, Any] = ran.json
    assert found["files"] == [str(tmp_path / "r.html")]
    assert [judge["name"] for judge in found["judges"]] == ["plain"]
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]
    assert "<svg" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_the_command_says_that_texts_were_cut(cli: Command, hostile: Path, tmp_path: Path) -> None:
    ran = cli("report", hostile, "--html", tmp_path / "r.html")
    assert ran.out.splitlines()[-1].startswith("In 1 of 3 units, texts longer than 200,000 bytes are cut")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "nothing to make; give --html FILE, --figures DIR or --json"),
        (["--html", "{folder}/none/r.html"], "cannot be written: No such file or directory"),
        (["--html", f"{Path(__file__)}/r.html"], "cannot be written: Not a directory"),
        (["--json", "--judge", "nobody"], "no judgements by 'nobody'"),
        (["--json", "--cutoff", "yesterday"], "does not match the format '%Y-%m-%d'"),
    ],
)
def test_what_cannot_be_made_is_refused_in_one_sentence(
    cli: Command, hostile: Path, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    ran = cli("report", hostile, *(argument.format(folder=tmp_path) for argument in arguments))
    assert ran.code == 2
    assert sentence in ran.sentence
    assert not list(tmp_path.rglob("*.html*"))


def test_a_report_changes_nothing_in_the_run(cli: Command, hostile: Path) -> None:
    before = (hostile / "run.sqlite").read_bytes()
    assert cli("report", hostile, "--json").code == 0
    assert (hostile / "run.sqlite").read_bytes() == before


def test_judged_numbers_carry_their_judge(demo_text: str) -> None:
    assert f"oracle, judged by {JUDGE}: means over scored cases" in demo_text
