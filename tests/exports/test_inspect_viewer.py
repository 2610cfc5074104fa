"""Inspect's own viewer opens an exported log in a browser, lists every sample, and shows its scores."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.chromium import headless_chromium
from tests.conftest import Command
from tests.exports.runs import demo
from tests.exports.test_inspect_log import exported, inspect_python
from tests.runs.synthetic import IDS

pytestmark = pytest.mark.inspect

#: Seconds after which a step has failed.
PATIENCE = 60

#: What every viewer of this release asks for and does not find where no flow was written.
NOT_OURS = "/api/flow"


@contextmanager
def viewer(logs: Path) -> Iterator[str]:
    """The address of a viewer of a folder of logs, which ends with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = {"HOME": str(logs.parent), "XDG_DATA_HOME": str(logs.parent)}
    command = [inspect_python(), "-m", "inspect_ai", "view", "start", "--log-dir", str(logs), "--host", "127.0.0.1",
               "--port", str(port)]  # fmt: skip
    with (logs.parent / "viewer.txt").open("w") as said:
        process = subprocess.Popen(command, cwd=logs.parent, env=os.environ | home, stdout=said, stderr=said)
        try:
            address = f"http://127.0.0.1:{port}/"
            _wait_for(address, process)
            yield address
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert process.poll() is None, "the viewer ended"
        try:
            with urlopen(address, timeout=PATIENCE):
                return
        except URLError:
            time.sleep(0.1)
    raise AssertionError("the viewer does not answer")


@contextmanager
def page() -> Iterator[Any]:
    """A page tall enough to show a whole list; skips without a browser."""
    with headless_chromium() as browser:
        found = browser.new_page(viewport={"width": 2400, "height": 1600})
        found.set_default_timeout(PATIENCE * 1000)
        yield found


def cells(page: Any, column: str) -> list[str]:
    return [text.strip() for text in page.locator(f"[role=gridcell][data-col-id={column}]").all_inner_texts()]


def test_the_viewer_lists_every_sample_with_its_score_and_shows_every_call(cli: Command, tmp_path: Path) -> None:
    inspect_python()
    exported(cli, demo(cli, tmp_path / "run"))
    (file,) = [path for path in (tmp_path / "logs").glob("*.eval") if "caremedeval-none" in path.name]
    wrong: list[str] = []

    def watch(response: Any) -> None:
        if response.status >= 400 and NOT_OURS not in response.url:
            wrong.append(response.url)

    with viewer(tmp_path / "logs") as address, page() as opened:
        opened.on("pageerror", lambda error: wrong.append(str(error)))
        opened.on("response", watch)
        opened.goto(f"{address}#/tasks/{file.name.replace('+', '%2B')}")
        opened.locator("[role=gridcell][data-col-id=sampleId]").nth(7).wait_for()
        ids = cells(opened, "sampleId")
        assert sorted(ids) == sorted(IDS[n] for n in range(1, 9))
        scores = dict(zip(ids, cells(opened, "score__emr__emr"), strict=True))
        # exact: 7 and 8; unscored: 2 and 6; see fixtures/README.md
        assert [scores[IDS[n]] for n in range(1, 9)] == ["0", "", "0", "0", "0", "", "1", "1"]
        assert dict(zip(ids, cells(opened, "answer"), strict=True))[IDS[7]] == "A, C, D"
        assert opened.get_by_text("(6/8)").first.is_visible()

        opened.get_by_text(IDS[2]).first.click()
        opened.get_by_role("tab", name="Transcript").click()
        opened.get_by_text("Model Call (doctor)").first.wait_for()
        opened.get_by_role("tab", name="Scoring").click()
        opened.get_by_text("not scored: truncated").first.wait_for()
    assert wrong == []
