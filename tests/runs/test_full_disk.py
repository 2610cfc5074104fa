"""A disk that is full ends the run in one sentence; with more room it is continued."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.conftest import CHECKOUT, Command
from tests.runs.processes import asked, stored
from tests.runs.synthetic import resume_arguments, run_arguments
from tests.server import ModelServer, letters

#: Runs the command line with a limit on the size of the files it writes, which SQLite meets like a full disk.
LIMITED = """
import resource, sys, medjudge
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
sys.argv = ["medjudge", *sys.argv[2:]]
medjudge.main()
"""


def limited(size: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LIMITED, str(size), *map(str, arguments)]
    return subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=60, check=False)


def test_in_the_middle_of_a_run(cli: Command, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with ModelServer(letters) as server:
        ran = limited(400_000, *run_arguments(server.spec, run, "--epochs", 25))
        assert ran.returncode == 1, ran.stderr
        assert "run.sqlite cannot be written" in ran.stderr
        assert f"medjudge run caremedeval --resume {run}" in ran.stderr
        assert "Traceback" not in ran.stderr
        assert "NOT FINISHED" in ran.stdout
        kept = stored(run)
        assert 0 < sum(kept.values()) < 200
        server.reset()
        resumed = cli(*resume_arguments(run, "--json"))
    assert resumed.code == 0
    assert resumed.json["statuses"] == {"answered": 200}
    assert sum((asked(server) + kept).values()) == 200


def test_before_anything_is_stored(tmp_path: Path) -> None:
    with ModelServer(letters) as server:
        ran = limited(50_000, *run_arguments(server.spec, tmp_path / "run"))
    assert ran.returncode == 2
    assert len(ran.stderr.splitlines()) == 1
    assert "run.sqlite" in ran.stderr
    assert "cannot be" in ran.stderr
    assert not (tmp_path / "run").exists()
