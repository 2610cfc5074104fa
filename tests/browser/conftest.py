"""A headless Chromium that notes whatever a page does beyond being shown, and reports to open in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from judge.report.document import Wanted
from judge.report.figures import draw_figures
from judge.report.html import render, write_html
from tests.chromium import headless_chromium
from tests.conftest import Command
from tests.report.conftest import document_of
from tests.report.runs import demo_run, hostile_run

PHONE = {"width": 375, "height": 812}
DESKTOP = {"width": 1280, "height": 900}

#: Milliseconds after which a step of a test has failed.
PATIENCE = 15_000


@dataclass
class Opened:
    """A page, and what it did: dialogs, errors on the console, requests for anything but itself."""

    page: Any
    deeds: list[str] = field(default_factory=list)

    def texts(self, selector: str) -> list[str]:
        found: list[str] = self.page.locator(selector).all_inner_texts()
        return found


@pytest.fixture(scope="session")
def sync_api() -> Any:
    """Playwright, where it is installed."""
    return pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install '.[test]'")


@pytest.fixture(scope="module")
def chromium(demo_page: Path, hostile_page: Path) -> Iterator[Any]:
    """A browser; the reports are made before, since nothing else can use asyncio in this thread while it runs."""
    with headless_chromium() as browser:
        yield browser


@pytest.fixture
def opened(chromium: Any) -> Iterator[Any]:
    """Opens a file: ``opened(path, viewport=PHONE, color_scheme="dark")``."""
    contexts = []

    def open_(path: Path, fragment: str = "", **settings: Any) -> Opened:
        context = chromium.new_context(**({"viewport": DESKTOP} | settings))
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        found = Opened(context.new_page())
        _watch(found, path)
        found.page.goto(f"{path.as_uri()}{fragment}")
        return found

    yield open_
    for context in contexts:
        context.close()


def _watch(found: Opened, path: Path) -> None:
    def asked(request: Any) -> None:
        if request.url.partition("#")[0] not in (path.as_uri(), "data:,"):
            found.deeds.append(f"request: {request.url}")

    def said(dialog: Any) -> None:
        found.deeds.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    found.page.on("request", asked)
    found.page.on("dialog", said)
    found.page.on("pageerror", lambda error: found.deeds.append(f"error: {error}"))
    found.page.on("console", lambda line: found.deeds.append(f"console: {line.text}"))


def _written(run: Path, path: Path, wanted: Wanted) -> Path:
    document = document_of(run, wanted)
    few = {**document.facts, "settings": document.facts["settings"][:1]}  # drawing takes a while
    write_html(render(document, draw_figures(few)), path)
    return path


@pytest.fixture(scope="session")
def demo_page(sync_api: Any, cli: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    return _written(demo_run(cli, folder / "demo"), folder / "demo.html", Wanted(cutoff=date(2024, 7, 16)))


@pytest.fixture(scope="session")
def hostile_page(sync_api: Any, cli: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile-pages")
    return _written(hostile_run(cli, folder), folder / "hostile.html", Wanted())
