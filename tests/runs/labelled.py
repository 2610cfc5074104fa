"""Runs made from labels alone, and the folders of invented cases that they are of."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.conftest import invoke
from tests.medrbench.synthetic import record, write_data


def data_of(folder: Path, n: int) -> Path:
    """A data folder with ``n`` invented cases, C00, C01, …"""
    return write_data(folder, {case: record() for case in cases(n)})


def cases(n: int) -> list[str]:
    return [f"C{number:02}" for number in range(n)]


def labelled(run: Path, data: Path, judge: str, rows: Iterable[Mapping[str, Any]], key: str | None = None) -> None:
    """Add the labels of a file in the published layout to a run, which they make if there is none."""
    run.parent.mkdir(exist_ok=True)
    file = run.parent / f"{run.name}-{judge}.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    _imported(run, data, file, judge, key)


def accuracy(run: Path, data: Path, model: str, said: Mapping[str, Mapping[str, bool]]) -> None:
    """Labels of whole answers: judge -> case -> label; the first judge's cases are those of the run."""
    for judge, labels in said.items():
        rows = [{"case_id": case, "model": model, "prediction": f"Answer to {case}.", "labels": {judge: label}}
                for case, label in labels.items()]  # fmt: skip
        labelled(run, data, judge, rows, judge)


def people(run: Path, data: Path, name: str, labels: Mapping[str, bool]) -> None:
    """A person's labels of whole answers, as a CSV."""
    file = run.parent / f"{run.name}-{name}.csv"
    with file.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["case_id", "kind", "item", "label"])
        writer.writerows([case, "accuracy", 0, str(label).lower()] for case, label in labels.items())
    _imported(run, data, file, name, None)


def steps(case: str, model: str, labels: Mapping[str, str], hits: Mapping[str, bool]) -> dict[str, Any]:
    """One record: text of a step -> label, text of a reference step -> whether it was found."""
    return {
        "case_id": case, "model": model, "judge": "j",
        "steps": [{"step": text, "efficiency": label, "factulity": label == "Reasoning" or None}
                  for text, label in labels.items()],
        "gt_steps": [{"step": text, "hit": hit} for text, hit in hits.items()],
    }  # fmt: skip


def _imported(run: Path, data: Path, file: Path, judge: str, key: str | None) -> None:
    new = [] if (run / "run.sqlite").exists() else ["--benchmark", "medrbench", "--data", data, "--setting", "oracle"]
    keyed = ["--judge-key", key] if key else []
    ran = invoke("import-judgements", run, "--labels", file, "--judge-name", judge, *keyed, *new)
    assert ran.code == 0, ran.err
