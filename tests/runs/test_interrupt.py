"""Ctrl-C: what is in flight is waited for and kept; a second one does not wait."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from tests.conftest import Command
from tests.runs.processes import started, stored, wait_until
from tests.runs.synthetic import numbers, resume_arguments, run_arguments
from tests.server import ModelServer, error, letters

EPOCHS = 8
UNITS = 8 * EPOCHS
ENOUGH = ["--epochs", EPOCHS, "--connections", 4]


def test_once_finishes_what_is_in_flight_and_says_how_to_go_on(cli: Command, tmp_path: Path) -> None:
    run = tmp_path / "a run"  # the command it prints must work in a shell
    with ModelServer(letters, latency=0.2) as server:
        with started(*run_arguments(server.spec, run, *ENOUGH, "--json")) as process:
            server.wait_for_calls(10, timeout=30)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        assert process.returncode == 130, err
        assert f"medjudge run caremedeval --resume '{run}'" in err
        assert "Traceback" not in err
        assert '"interrupted": true' in out
        assert 10 <= server.chat_count < UNITS
        assert sum(stored(run).values()) == server.chat_count  # nothing that was paid for is lost
        kept = server.chat_count
        server.latency = 0
        server.reset()
        resumed = cli(*resume_arguments(run, "--json"))
        assert resumed.code == 0
        assert server.chat_count == UNITS - kept
        undisturbed = cli(*run_arguments(server.spec, tmp_path / "other", *ENOUGH, "--json"))
    assert numbers(resumed.json) == numbers(undisturbed.json)


def test_twice_ends_at_once(cli: Command, tmp_path: Path) -> None:
    with ModelServer(letters, latency=60) as server:
        with started(*run_arguments(server.spec, tmp_path / "run")) as process:
            server.wait_for_calls(8, timeout=30)
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
            assert process.poll() is None, "the first waits"
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=10)
        assert process.returncode == 130
        assert "Traceback" not in err
        server.latency = 0
        server.reset()
        assert cli(*resume_arguments(tmp_path / "run")).code == 0
        assert server.chat_count == 8


def test_waits_for_a_retry_are_broken_off(tmp_path: Path) -> None:
    with (
        ModelServer(error(429, "later", retry_after=300)) as server,
        started(*run_arguments(server.spec, tmp_path / "run")) as process,
    ):
        server.wait_for_calls(1, timeout=30)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=10)
        assert process.returncode == 130


def test_before_the_first_call_nothing_is_left(tmp_path: Path) -> None:
    with (
        ModelServer(letters, models_endpoint="hangs") as server,
        started(*run_arguments(server.spec, tmp_path / "run")) as process,
    ):
        wait_until(lambda: server.models_count == 1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert not (tmp_path / "run").exists()
