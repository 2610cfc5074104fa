"""kill -9 at any moment loses at most the calls in flight: the continued run asks nothing twice and scores the same."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from judge.runs.runner import SPARE_WORKERS
from judge.runs.store import FILE
from tests.conftest import Command
from tests.runs.processes import asked, started, stored, wait_until
from tests.runs.synthetic import numbers, resume_arguments, run_arguments
from tests.server import ModelServer, letters

EPOCHS = 20
UNITS = 8 * EPOCHS
LATENCY = 0.03
CONNECTIONS = ["--connections", 6]
ENOUGH = ["--epochs", EPOCHS, *CONNECTIONS]
FEW = ["--epochs", 6, *CONNECTIONS]
AT_ONCE = 6 + SPARE_WORKERS
"""Most calls that are under way or wait for their commit."""


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(letters, latency=LATENCY) as running:
        yield running


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """Printed with a failure, so that it can be repeated."""
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    return random.Random(seed)


def quiet(server: ModelServer) -> None:
    wait_until(lambda: server.in_flight == 0)


def test_killed_while_asking(cli: Command, server: ModelServer, tmp_path: Path, chance: random.Random) -> None:
    run, kept = tmp_path / "run", Counter[str]()
    for kill in range(4):
        arguments = resume_arguments(run, *CONNECTIONS) if kill else run_arguments(server.spec, run, *ENOUGH)
        with started(*arguments) as process:
            server.wait_for_calls(chance.randrange(8, 25), timeout=30)
            time.sleep(chance.uniform(0, 2 * LATENCY))
            process.kill()
        quiet(server)
        already, kept = kept, stored(run)
        assert not already - kept, "an exchange that was stored is gone"
        assert sum(asked(server).values()) - sum((kept - already).values()) <= AT_ONCE
        server.reset()

    finished = cli(*resume_arguments(run, "--json"))
    assert finished.code == 0, finished.err
    # every body has one call an epoch: what was stored before the last kill was not asked again
    assert asked(server) + kept == Counter(dict.fromkeys(asked(server) + kept, EPOCHS))
    assert sum(stored(run).values()) == UNITS

    undisturbed = cli(*run_arguments(server.spec, tmp_path / "other", *ENOUGH, "--json"))
    assert numbers(finished.json) == numbers(undisturbed.json)


def test_killed_while_starting(cli: Command, server: ModelServer, tmp_path: Path, chance: random.Random) -> None:
    begun = 0
    for number, moment in enumerate([0.5, 1.2, 1.8, 2.4]):
        run = tmp_path / str(number)
        arguments = run_arguments(server.spec, run)
        with started(*arguments):
            time.sleep(moment + chance.uniform(0, 0.3))
        quiet(server)
        there = (run / FILE).exists()
        begun += there
        kept = stored(run) if there else Counter[str]()
        server.reset()
        finished = cli(*(resume_arguments(run, "--json") if there else [*arguments, "--json"]))
        assert finished.code == 0, finished.err
        assert finished.json["statuses"] == {"answered": 8}
        assert sum(asked(server).values()) == 8 - sum(kept.values())
    print(f"{begun} of 4 had begun")


def test_killed_while_the_file_is_made(cli: Command, server: ModelServer, tmp_path: Path) -> None:
    """A half-made file under the draft's name stands in nobody's way."""
    run = tmp_path / "run"
    run.mkdir()
    for name in (f"{FILE}.new", f"{FILE}.new-wal", f"{FILE}.new-shm"):
        (run / name).write_bytes(b"half")
    refused = cli(*resume_arguments(run))
    assert refused.code == 2
    assert "is no run" in refused.sentence
    assert cli(*run_arguments(server.spec, run)).code == 0
    assert sorted(path.name for path in run.iterdir()) == [".lock", FILE]


def test_killed_while_scoring(cli: Command, server: ModelServer, tmp_path: Path, chance: random.Random) -> None:
    undisturbed = cli(*run_arguments(server.spec, tmp_path / "other", *FEW, "--json"))
    server.reset()
    run = tmp_path / "run"
    with started(*run_arguments(server.spec, run, *FEW)) as process:
        server.wait_for_calls(8 * 6, timeout=60)
        quiet(server)
        time.sleep(chance.uniform(0, 0.4))
        process.kill()
    kept = stored(run)
    server.reset()
    finished = cli(*resume_arguments(run, "--json"))
    assert finished.code == 0
    assert server.chat_count == 8 * 6 - sum(kept.values()) <= AT_ONCE
    assert numbers(finished.json) == numbers(undisturbed.json)
