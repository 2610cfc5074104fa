"""Runs that reports are made of: the demo, judged, and one whose every text is hostile."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from tests.conftest import Command
from tests.medrbench.examinations import DATA, PURPURA, THYROID
from tests.medrbench.synthetic_judge import SyntheticJudge
from tests.record_demo import JUDGED
from tests.server import ModelServer

SCRIPT = "<script>window.hacked = 1; alert('hacked')</script>"
IMAGE = '<img src="http://127.0.0.1:9/x.png" onerror="window.hacked = 1; alert(1)">'

#: What a page must show as text, and do nothing of.
HOSTILE = (
    f"### Reasoning\n<step 1> {SCRIPT}</textarea></script></script ><!-- <script> {IMAGE} <svg onload=alert(2)> "
    "{{ 7 * 7 }} {% include 'x' %} $HOME ]]> \\u003cscript\\u003e &lt;b&gt;\n"
    "<step 2> \u202eright to left\u202c \u2066isolate\u2069 مرحبا بالعالم שלום\n"
    "<step 3> a\x00b \x1b[31m \ud800 \u2028 \x85\n"
    "### Answer:\nA </script><script>alert(3)</script> disease"
)
HOSTILE_MODEL = '"><script>window.hacked = 1</script>'
#: The judge of the demo.
JUDGE = "synthetic-judge"
HOSTILE_JUDGE = "<img src=x onerror=alert(4)>"

#: Longer than any text that a report keeps whole.
LONG = "### Reasoning\n" + "<step 1> endless " * 70_000 + "\n### Answer:\nsepsis"


def demo_run(cli: Command, folder: Path) -> Path:
    """The demo as `make demo` replays it, judged by what its recording was made with."""
    settings = [part for name in ("oracle", "one_turn", "free_turn") for part in ("--setting", name)]
    ran = cli("run", "medrbench", "--model", f"replay:{DATA / 'demo.recording.jsonl'}", "--data", DATA, *settings,
              "--out", folder)  # fmt: skip
    assert ran.code == 0, ran.err
    with ModelServer(SyntheticJudge(JUDGED), models=[JUDGE]) as server:
        ran = cli("judge", folder, "--judge", f"{server.url}#{JUDGE}", "--judge-name", JUDGE, "--judge-protocol",
                  "batched")  # fmt: skip
    assert ran.code == 0, ran.err
    return folder


def hostile_run(cli: Command, folder: Path) -> Path:
    """Outputs made elsewhere: one hostile, one very long, one missing; labels by two judges that disagree."""
    file = folder / "predictions.json"
    file.write_text(json.dumps({THYROID: HOSTILE, PURPURA: LONG}), encoding="utf-8")
    run = folder / "run"
    ran = cli("import", "medrbench", "--predictions", file, "--data", DATA, "--setting", "oracle", "--model-name",
              HOSTILE_MODEL, "--out", run)  # fmt: skip
    assert ran.code == 0, ran.err
    for name, label in ((HOSTILE_JUDGE, "true"), ("plain", "false")):
        labels = folder / f"{label}.csv"
        with labels.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["case_id", "kind", "item", "label", "text", "rationale"])
            writer.writerow([THYROID, "accuracy", 0, label, f"{SCRIPT} disease", f"because {IMAGE}"])
        ran = cli("import-judgements", run, "--labels", labels, "--judge-name", name)
        assert ran.code == 0, ran.err
    return run
