"""How the published outputs beside the data are read: answers found, steps and their styles, agreement with labels.

Only where those files are there: ``oracle_diagnosis.json``, ``treatment_planning.json`` and the folder ``judged``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from judge.audit import Finding
from judge.errors import DataError
from judge.replies.sections import answer_text
from judge.replies.steps import split_steps, split_steps_with_style

FILES = ("oracle_diagnosis.json", "treatment_planning.json")


def outputs_beside(folder: Path) -> dict[str, dict[str, dict[str, str]]]:
    """File name -> model -> case id -> output text, for the files that are there.

    Raises:
        DataError: a file that is there is not in the published layout.
    """
    return {name: _read(folder / name) for name in FILES if (folder / name).is_file()}


def _read(file: Path) -> dict[str, dict[str, str]]:
    by_model: dict[str, dict[str, str]] = {}
    try:
        for case, models in json.loads(file.read_text(encoding="utf-8-sig")).items():
            for model, output in models.items():
                by_model.setdefault(model, {})[case] = str(output["content"] or "")
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise DataError(f"{file}: is not {{case: {{model: {{content: …}}}}}} ({error!r})") from None
    return by_model


def counts_of(outputs: Mapping[str, Mapping[str, Mapping[str, str]]]) -> dict[str, Any]:
    """Per file and model: outputs, those with an answer, those with two or more steps, and the styles of steps."""
    return {f"{name}/{model}": _counts(texts) for name, by in outputs.items() for model, texts in by.items()}


def _counts(texts: Mapping[str, str]) -> dict[str, Any]:
    split = [split_steps_with_style(text) for text in texts.values()]
    return {
        "outputs": len(texts),
        "with_answer": sum(answer_text(text) is not None for text in texts.values()),
        "with_two_or_more_steps": sum(len(found.steps) > 1 for found in split),
        "step_styles": dict(Counter(str(found.style) for found in split).most_common()),
    }


def findings_of(
    folder: Path, outputs: Mapping[str, Mapping[str, Mapping[str, str]]], counts: Mapping[str, Any]
) -> Iterator[Finding]:
    """One finding a model and file, and one a file of labels whose outputs are there."""
    for name, found in counts.items():
        total, styles = found["outputs"], found["step_styles"]
        yield Finding(
            f"outputs_{name}",
            "info",
            total,
            f"{name}: an answer is read in {found['with_answer']} of {total} outputs, two or more steps in "
            f"{found['with_two_or_more_steps']}; styles of steps: "
            f"{', '.join(f'{style} {count}' for style, count in styles.items())}.",
        )
    yield from _labelled(folder, outputs.get(FILES[0], {}))


def _labelled(folder: Path, outputs: Mapping[str, Mapping[str, str]]) -> Iterator[Finding]:
    for file in sorted((folder / "judged").glob("reasoning_*.jsonl")):
        records = _records(file)
        known = [(r, outputs[r["model"]][r["case_id"]]) for r in records if r["case_id"] in outputs.get(r["model"], {})]
        if not known:
            continue
        other = [record["case_id"] for record, text in known if split_steps(text) != _steps(record)]
        yield Finding(
            f"labelled_{file.stem}",
            "warning" if other else "info",
            len(known) - len(other),
            f"{file.name}: the steps read from the outputs equal the labelled ones in {len(known) - len(other)} of "
            f"{len(known)} cases.",
            tuple(other[:10]),
        )


def _records(file: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line.strip()]
    except ValueError as error:
        raise DataError(f"{file}: is not JSON Lines ({error})") from None


def _steps(record: Mapping[str, Any]) -> Sequence[str]:
    return [step["step"] for step in record["steps"]]
