"""Runs to export, made by the production path from the synthetic fixtures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from tests.conftest import CHECKOUT, Command
from tests.medrbench.synthetic_judge import SyntheticJudge
from tests.runs.synthetic import DATA, answering, right, run_arguments
from tests.server import ModelServer, Reply, error, malformed, says

MEDRBENCH = CHECKOUT / "fixtures/medrbench"

KEY = "key-4f1c09d2a7be53"

#: Two outputs for three cases.
OUTPUTS = {
    "SYN0000001": "### Reasoning:\n<step 1> Alpha.\n<step 2> Beta.\n### Answer:\nGout",
    "SYN0000002": "### Reasoning:\n<step 1> =Epsilon.\n### Answer:\nPurpura",
}

LONE = "\ud83d"
MEGABYTE = "mot " * 250_000

#: Number of a question -> a reply that is readable, and hostile to some reader of files.
HOSTILE: Mapping[int, Reply] = {
    1: says("=HYPERLINK(1)\u2028ligne\u2029fin\u0085\nRéponse : B"),
    2: says("\x00\x00\nRéponse : B\x00"),
    3: malformed(
        json.dumps(
            {"model": "m", "choices": [{"index": 0, "finish_reason": "stop",
                                        "message": {"role": "assistant", "content": f"{LONE}\nRéponse : B"}}]}
        ).encode("ascii")
    ),
    4: says(f"{MEGABYTE}\nRéponse : B"),
    5: says(f"the key is {KEY}\nRéponse : B"),
}  # fmt: skip


def demo(cli: Command, folder: Path) -> Path:
    """Two settings; of ``none``, two of eight units are unscored, see fixtures/README.md."""
    recording = f"replay:{DATA / 'demo.recording.jsonl'}"
    ran = cli(*run_arguments(recording, folder, context=("none", "full")))
    assert ran.code == 0, ran.err
    return folder


def hostile(cli: Command, folder: Path) -> Path:
    """Five units in two epochs whose replies are hostile."""
    with ModelServer(answering(HOSTILE), chat_key=KEY) as server:
        ran = cli(*run_arguments(server.spec, folder, "--limit", 5, "--epochs", 2))
    assert ran.code == 0, ran.err
    return folder


def unfinished(cli: Command, folder: Path) -> Path:
    """Three of eight units; then the server refuses."""
    with ModelServer(lambda request: right(request) if request.n <= 3 else error(401, "no")) as server:
        ran = cli(*run_arguments(server.spec, folder, "--connections", 1))
    assert ran.code == 1, ran.err
    return folder


def judged(cli: Command, folder: Path) -> Path:
    """Two judges: ``one`` judges all, ``two`` never gives a valid verdict on the step "Beta".

    Three units, one of them without a prediction.
    """
    folder.parent.mkdir(exist_ok=True)
    file = folder.parent / "outputs.json"
    file.write_text(json.dumps(OUTPUTS), encoding="utf-8")
    ran = cli("import", "medrbench", "--setting", "oracle", "--predictions", file, "--data", MEDRBENCH,
              "--out", folder)  # fmt: skip
    assert ran.code == 0, ran.err
    scripts = {"one": SyntheticJudge(), "two": SyntheticJudge({"effectiveness": {"Beta": "no such label"}})}
    for name, script in scripts.items():
        with ModelServer(script, models=["judge-model"]) as server:
            ran = cli("judge", folder, "--judge", f"{server.url}#judge-model", "--judge-name", name)
        assert ran.code == 0, ran.err
    return folder


def lines(file: Path) -> list[dict[str, Any]]:
    """A file of JSON Lines, split at line feeds alone, as JSON in the strict sense."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    text = file.read_bytes().decode("utf-8")
    assert text.endswith("\n") or not text
    return [json.loads(line, parse_constant=refuse) for line in text.split("\n")[:-1]]


def mean_over_cases(rows: Sequence[Mapping[str, Any]]) -> float | None:
    """The mean of the means of cases over their epochs, of what has a value."""
    cases = dict.fromkeys(row["case"] for row in rows if row["value"] is not None)
    means = [fmean(row["value"] for row in rows if row["case"] == case and row["value"] is not None) for case in cases]
    return fmean(means) if means else None
