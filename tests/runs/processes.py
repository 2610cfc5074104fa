"""Runs in processes of their own, to be killed and interrupted, and what they had stored by then."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from judge.models.exchange import body_hash
from judge.runs.store import open_run
from tests.conftest import CHECKOUT
from tests.server import ModelServer


@contextmanager
def started(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """`medjudge` in a process of its own, which does not outlive the context."""
    process = subprocess.Popen(
        [sys.executable, "-m", "medjudge", *map(str, arguments)],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def stored(folder: Path) -> Counter[str]:
    """Hash of a request body -> how many completed exchanges with it the run holds."""
    store = open_run(folder, write=False)
    try:
        units = store.units(with_transcripts=False)
        exchanges = [exchange for unit in units for exchange in store.exchanges(unit.unit)]
    finally:
        store.close()
    return Counter(body_hash(exchange.body) for exchange in exchanges if exchange.completed)


def asked(server: ModelServer) -> Counter[str]:
    """Hash of a request body -> how often the server was asked it since its last reset."""
    return Counter(body_hash(call.body) for call in server.calls)


def wait_until(true: Callable[[], bool], seconds: float = 20) -> None:
    """Poll; TimeoutError when it does not come true."""
    import time

    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(f"did not come true within {seconds} s")
        time.sleep(0.01)
