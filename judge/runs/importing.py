"""Predictions made elsewhere as a run: read like replies, scored like replies, no model called."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from judge.benchmark import Benchmark, Loaded, Transcript, Unit
from judge.errors import DataError, RunError
from judge.models.tokens import EstimateTokenizer
from judge.runs.scoring import rescore_run
from judge.runs.store import FILE, create_run
from judge.settings import ModelSpec, RunSpec

#: Keys under which a line may hold its case id, and its prediction, in the order in which they are looked for.
ID_KEYS = ("id", "case_id", "question_id")
PREDICTION_KEYS = (
    "prediction", "predictions", "predicted_answers", "predicted_answer", "answer", "answers", "response", "output",
    "text", "content", "raw",
)  # fmt: skip


def import_predictions(
    benchmark: Benchmark,
    file: Path,
    data: Path,
    out: Path,
    *,
    setting: str,
    model_name: str,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Make a run from a file of predictions and score it.

    Every case of the data set is part of the run; one without prediction is unscored as ``not_predicted``.

    Raises:
        DataError: the file cannot be read, or names a case that the data set does not have.
        RunError: there is a run in `out` already.
    """
    if (out / FILE).exists():
        raise RunError(f"{out} holds a run already; name another folder")
    loaded = benchmark.load(data, options)
    predictions = read_predictions(file)
    if not predictions:
        raise DataError(f"{file}: holds no predictions")
    ids = {case.id for case in loaded.cases}
    if unknown := [case for case in predictions if case not in ids]:
        raise DataError(f"{file}: {len(unknown)} ids are not in {data}, the first is {unknown[0]!r}")
    transcripts = [
        (Unit(benchmark.name, setting, case.id, 1), _transcript(benchmark, file, case.record, predictions, case.id))
        for case in loaded.cases
    ]
    spec = _spec(benchmark, data, loaded, setting, model_name, options)
    facts = {"notes": list(loaded.notes), "predictions": str(file), "files": dict(loaded.files)}
    store = create_run(out, spec, loaded.cases, [unit for unit, _ in transcripts], facts)
    try:
        store.finish_many(transcripts)
        return rescore_run(store, benchmark)
    finally:
        store.close()


def _transcript(
    benchmark: Benchmark, file: Path, record: Mapping[str, Any], predictions: Mapping[str, Any], case: str
) -> Transcript:
    if case not in predictions:
        return Transcript("not_predicted", "the file of predictions does not name this case")
    try:
        return benchmark.read_prediction(record, predictions[case])
    except DataError as error:
        raise DataError(f"{file}: {error}") from None


def _spec(
    benchmark: Benchmark, data: Path, loaded: Loaded, setting: str, model_name: str, options: Mapping[str, Any]
) -> RunSpec:
    return RunSpec(
        benchmark=benchmark.name,
        model=ModelSpec(text=f"imported:{model_name}", kind="imported", name=model_name),
        settings=(setting,),
        options=dict(options),
        data=str(data),
        data_hash=loaded.data_hash,
        tokenizer=EstimateTokenizer.name,
        nonce=secrets.token_hex(16),
    )


def read_predictions(file: Path) -> dict[str, Any]:
    """Case id -> prediction, from a JSON object, a JSON list of objects, or JSON Lines.

    Raises:
        DataError: with file and line or index.
    """
    if not file.is_file():
        raise DataError(f"{file}: no such file" if not file.exists() else f"{file}: a folder, not a file")
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{file}: not UTF-8 text (byte {error.start})") from None
    try:
        whole = json.loads(text, object_pairs_hook=lambda pairs: _unique(file, pairs))
    except ValueError as error:
        return _collect(file, _lines(file, text, str(error)))
    if isinstance(whole, list):
        return _collect(file, ((f"index {index}", item) for index, item in enumerate(whole)))
    if isinstance(whole, dict) and not _is_entry(whole):
        return {str(case): _unwrapped(value) for case, value in whole.items()}
    return _collect(file, iter([("line 1", whole)]))


def _lines(file: Path, text: str, as_json: str) -> Iterator[tuple[str, Any]]:
    lines = text.split("\n")  # on \n only: U+2028 and U+0085 occur inside records
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield f"line {number}", json.loads(line, object_pairs_hook=lambda pairs: _unique(file, pairs))
        except ValueError as error:
            whole = f", and the file as a whole is not either ({as_json})" if number == 1 else ""
            raise DataError(f"{file}: line {number} is not JSON ({error}){whole}") from None


def _unique(file: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys must differ: JSON itself would silently keep the last of two."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise DataError(f"{file}: names {twice} a second time")
    return found


def _collect(file: Path, entries: Iterator[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for place, entry in entries:
        if not isinstance(entry, dict) or not _is_entry(entry):
            raise DataError(f'{file}: {place} has no id and prediction; write {{"id": …, "prediction": …}}')
        case = next(entry[key] for key in ID_KEYS if key in entry)
        if not isinstance(case, str):
            raise DataError(f"{file}: {place} has an id that is no text: {case!r}")
        if case in found:
            raise DataError(f"{file}: {place} names {case} a second time")
        found[case] = _unwrapped(entry)
    return found


def _is_entry(value: Mapping[str, Any]) -> bool:
    return any(key in value for key in ID_KEYS) and any(key in value for key in PREDICTION_KEYS)


def _unwrapped(value: Any) -> Any:
    """The prediction inside an object that has one; anything else as it is."""
    if isinstance(value, Mapping):
        return next((value[key] for key in PREDICTION_KEYS if key in value), value)
    return value
