"""What the two judge protocols cost on published outputs: calls and prompt tokens a case.

    python -m benchmarks.judge_tokens DATA [--model deepseek-r1] [--cases 50]

DATA is the folder of the MedR-Bench data, with `oracle_diagnosis.json`. The judge is a scripted server on this machine,
so no model is needed; tokens are estimated from everything that is sent, with and without the schema of the answer.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from judge.models.tokens import EstimateTokenizer
from judge.runs.store import open_run
from judge.settings import JudgeProtocol
from tests.medrbench.synthetic_judge import SyntheticJudge
from tests.server import ModelServer

PROTOCOLS: tuple[JudgeProtocol, ...] = ("per-step", "batched")
OUTPUTS = "oracle_diagnosis.json"


@dataclass(frozen=True)
class Cost:
    """Of one protocol, over all cases; `text` counts the prompts alone, `sent` the schemas as well."""

    cases: int
    calls: int
    text: int
    sent: int


def costs(data: Path, model: str, cases: int) -> dict[JudgeProtocol, Cost]:
    """Judge the first outputs of a model under both protocols.

    Returns:
        By protocol; the probes that find out how a judge is asked are left out.
    """
    with tempfile.TemporaryDirectory() as folder, ModelServer(SyntheticJudge(), models=["judge"]) as server:
        run, few = Path(folder) / "run", Path(folder) / "data"
        chosen = _few(data, few, model, cases)
        _medjudge("import", "medrbench", "--setting", "oracle", "--predictions", few / OUTPUTS, "--model-key", model,
                  "--data", few, "--out", run)  # fmt: skip
        for protocol in PROTOCOLS:
            _medjudge("judge", run, "--judge", f"{server.url}#judge", "--judge-protocol", protocol,
                      "--judge-name", protocol)  # fmt: skip
        return {protocol: _cost(run, protocol, chosen) for protocol in PROTOCOLS}


def _few(data: Path, folder: Path, model: str, cases: int) -> int:
    """A folder with the first cases that the model has an output for, and those outputs; how many they are."""
    folder.mkdir()
    outputs = json.loads((data / OUTPUTS).read_text(encoding="utf-8"))
    chosen = [case for case, models in outputs.items() if model in models][:cases]
    (file,) = data.glob("diagnosis_*_cases_*.json")
    for source, target in ((outputs, OUTPUTS), (json.loads(file.read_text(encoding="utf-8")), file.name)):
        few = {case: source[case] for case in chosen}
        (folder / target).write_text(json.dumps(few, ensure_ascii=False), encoding="utf-8")
    return len(chosen)


def _medjudge(*arguments: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "medjudge", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def _cost(run: Path, protocol: str, cases: int) -> Cost:
    count, role = EstimateTokenizer().count, f"judge:{protocol}"
    store = open_run(run, write=False)
    try:
        bodies = [e.body for e in store.all_exchanges() if e.role == role and "/probe" not in e.address]
    finally:
        store.close()
    text = sum(count(str(message["content"])) for body in bodies for message in body["messages"])
    schema = sum(count(json.dumps(body.get("tools", ""), ensure_ascii=False)) for body in bodies)
    return Cost(cases, len(bodies), text, text + schema)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", default="deepseek-r1")
    parser.add_argument("--cases", type=int, default=50)
    options = parser.parse_args(arguments)
    found = costs(options.data, options.model, options.cases)
    for protocol, cost in found.items():
        print(f"{protocol:9} {cost.cases} cases: {cost.calls / cost.cases:5.1f} calls, {cost.text / cost.cases:8,.0f} "
              f"prompt tokens a case, {cost.sent / cost.cases:8,.0f} with schemas")  # fmt: skip
    per_step, batched = found["per-step"], found["batched"]
    print(f"batched / per-step: {batched.text / per_step.text:.3f}, with schemas {batched.sent / per_step.sent:.3f}")


if __name__ == "__main__":
    main()
