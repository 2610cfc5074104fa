"""Predictions made elsewhere as a run: read like replies, scored like replies, no model called."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge.benchmark import Benchmark, Case, ExplainedBenchmark, Loaded, Transcript, Unit
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

#: Keys under which data sets hold the right answer, too: beside another key for the prediction they may be either.
GOLD_KEYS = ("answer", "answers")

THINKING_KEYS = ("thinking_process", "thinking", "reasoning_content", "reasoning")


def import_predictions(
    benchmark: Benchmark,
    file: Path,
    data: Path,
    out: Path,
    *,
    setting: str,
    model_name: str,
    model_key: str | None = None,
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
    axis = {option.name: [setting] for option in benchmark.options if option.setting}
    loaded = benchmark.load(data, {**options, **axis})
    parts = benchmark.prediction_parts if isinstance(benchmark, ExplainedBenchmark) else ()
    predictions = read_predictions(file, model_key, parts)
    if not predictions:
        raise DataError(f"{file}: holds no predictions")
    ids = {case.id for case in loaded.cases}
    if unknown := [case for case in predictions if case not in ids]:
        raise DataError(f"{file}: {len(unknown)} ids are not in {data}, the first is {unknown[0]!r}")
    transcripts = [
        (Unit(benchmark.name, setting, case.id, 1), _transcript(benchmark, file, case, predictions, setting))
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


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a file says of one case: the prediction, and thinking that it keeps apart."""

    value: Any
    thinking: str = ""


def _transcript(
    benchmark: Benchmark, file: Path, case: Case, predictions: Mapping[str, Prediction], setting: str
) -> Transcript:
    if case.id not in predictions:
        return Transcript("not_predicted", "the file of predictions does not name this case")
    given = predictions[case.id]
    try:
        return benchmark.read_prediction(case.record, given.value, thinking=given.thinking, setting=setting)
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


def read_predictions(file: Path, model_key: str | None = None, parts: Sequence[str] = ()) -> dict[str, Prediction]:
    """Case id -> prediction, from a JSON object, a JSON list of objects, or JSON Lines.

    Args:
        model_key: where the file has an object of several models' predictions for each case, which of them to take;
            cases that this model has none for are left out.
        parts: keys of what may stand beside the answer of a prediction and belongs to it.

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
    except RecursionError:
        raise DataError(f"{file}: is nested too deeply to be read") from None
    except ValueError as error:
        return _collect(file, _lines(file, text, str(error)), model_key, parts)
    if isinstance(whole, list):
        return _collect(file, ((f"index {index}", item) for index, item in enumerate(whole)), model_key, parts)
    if isinstance(whole, dict) and not _is_entry(whole):
        of_model = _of_model(file, whole, model_key) if model_key is not None else whole
        return {str(case): _unwrapped(file, str(case), value, parts) for case, value in of_model.items()}
    return _collect(file, iter([("line 1", whole)]), model_key, parts)


def _lines(file: Path, text: str, as_json: str) -> Iterator[tuple[str, Any]]:
    lines = text.split("\n")  # on \n only: U+2028 and U+0085 occur inside records
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield f"line {number}", json.loads(line, object_pairs_hook=lambda pairs: _unique(file, pairs))
        except (ValueError, RecursionError) as error:
            whole = f", and the file as a whole is not either ({as_json})" if number == 1 else ""
            raise DataError(f"{file}: line {number} is not JSON ({error}){whole}") from None


def _unique(file: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys must differ: JSON itself would silently keep the last of two."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise DataError(f"{file}: names {twice} a second time")
    return found


def _collect(
    file: Path, entries: Iterator[tuple[str, Any]], model_key: str | None, parts: Sequence[str]
) -> dict[str, Prediction]:
    if model_key is not None:
        raise DataError(f"{file}: has one prediction for each case, not one of {model_key!r}; leave --model-key out")
    found: dict[str, Prediction] = {}
    for place, entry in entries:
        if not isinstance(entry, dict) or not _is_entry(entry):
            raise DataError(f'{file}: {place} has no id and prediction; write {{"id": …, "prediction": …}}')
        case = next(entry[key] for key in ID_KEYS if key in entry)
        if not isinstance(case, str):
            raise DataError(f"{file}: {place} has an id that is no text: {case!r}")
        if case in found:
            raise DataError(f"{file}: {place} names {case} a second time")
        found[case] = _unwrapped(file, place, entry, parts)
    return found


def _is_entry(value: Mapping[str, Any]) -> bool:
    return any(key in value for key in ID_KEYS) and any(key in value for key in PREDICTION_KEYS)


def _of_model(file: Path, whole: Mapping[str, Any], model_key: str) -> dict[str, Any]:
    found = {case: by[model_key] for case, by in whole.items() if isinstance(by, Mapping) and model_key in by}
    if not found:
        names = sorted({key for by in whole.values() if isinstance(by, Mapping) for key in by})
        there_are = ", ".join(names[:8]) or "none"
        raise DataError(f"{file}: has no predictions of {model_key!r}; it has those of {there_are}")
    return found


def _unwrapped(file: Path, place: str, value: Any, parts: Sequence[str]) -> Prediction:
    """The prediction, and the thinking beside it, inside an object that has one; anything else as it is."""
    if not isinstance(value, Mapping):
        return Prediction(value)
    first, *others = [key for key in PREDICTION_KEYS if key in value] or [""]
    if first in GOLD_KEYS and (other := next((key for key in others if key not in GOLD_KEYS), "")):
        raise DataError(
            f"{file}: {place} has {first!r} and {other!r}, and {first!r} may be the right answer; "
            'call the one that is the prediction "prediction"'
        )
    inside = value[first] if first else value
    thinking = next((value[key] for key in THINKING_KEYS if isinstance(value.get(key), str)), "")
    if first and (beside := {key: value[key] for key in parts if key in value and key != first}):
        inside = {"answer": inside, **beside}
    return Prediction(inside, thinking)
