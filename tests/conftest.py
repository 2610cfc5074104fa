"""What every test gets: an environment without keys or proxies, and the command line to run."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).parents[1]

#: Beginnings of environment variables that would lead a test to other machines or change what it prints.
FOREIGN = ("OPENAI_", "MEDJUDGE_API_", "LANGSMITH_", "LANGCHAIN_", "HF_", "HUGGING", "COLUMNS", "FORCE_COLOR",
           "NO_COLOR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")  # fmt: skip


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one JSON document; anything else beside it is a failure of the test."""
        return json.loads(self.out)

    @property
    def sentence(self) -> str:
        """The one line on standard error; click's two lines of usage before it do not count."""
        lines = [line for line in self.err.splitlines() if line.strip() and not line.startswith(("Usage:", "Try "))]
        assert len(lines) == 1, self.err
        return lines[0]


Command = Callable[..., Ran]


@pytest.fixture(autouse=True, scope="session")
def own_environment() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(FOREIGN):
                patch.delenv(name)
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("NO_PROXY", "127.0.0.1,localhost")
        yield


def invoke(*arguments: object) -> Ran:
    """The command line in this process, a fraction of a second instead of several: `invoke("list", "--json")`."""
    from judge.cli.main import run as main

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr(sys, "argv", ["medjudge", *map(str, arguments)])
        with pytest.raises(SystemExit) as ending:
            main()
    code = ending.value.code
    return Ran(code if isinstance(code, int) else 1, _written(out), _written(err))


@pytest.fixture(scope="session")
def cli() -> Command:
    """See `invoke`."""
    return invoke


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8")


@pytest.fixture(scope="session")
def command() -> Command:
    """The command line in a process of its own, from the checkout: `command("list", "--json")`."""

    def run(*arguments: object, timeout: float = 60, **environment: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "medjudge", *map(str, arguments)],
            cwd=CHECKOUT,
            env=os.environ | environment,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

    return run
