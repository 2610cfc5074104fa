"""A headless Chromium for tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def headless_chromium() -> Iterator[Any]:
    """A browser; skips the test where Playwright or Chromium is not installed."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install '.[test]'")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_api.sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"], timeout=60_000)
        except sync_api.Error as error:
            pytest.skip(f"needs Chromium (apt-get install chromium): {str(error).splitlines()[0]}")
        yield browser
        browser.close()
