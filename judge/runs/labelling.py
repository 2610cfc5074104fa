"""Judgements made elsewhere, by another judge or by people, added to a run; nothing is overwritten."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge.benchmark import PENDING, Benchmark, JudgedBenchmark, ModelJudgedBenchmark, Transcript, Unit
from judge.errors import DataError, RunError, SpecError
from judge.judgements import CaseLabels, Labels, StepCounts, UnitJudgements
from judge.models.tokens import EstimateTokenizer
from judge.runs.explanation_labels import with_rubric
from judge.runs.judge_names import check_judge_name
from judge.runs.scoring import judged
from judge.runs.store import RunStore, StoredUnit, create_run
from judge.settings import ModelSpec, RunSpec


@dataclass(frozen=True, slots=True)
class Imported:
    """What was brought in.

    Attributes:
        units: how many units now have judgements by this judge.
        other_steps: case ids whose labelled steps are not those read from the run's transcript.
        unjudged: units of the run without any.
    """

    units: int
    other_steps: tuple[str, ...]
    unjudged: int


def import_judgements(
    store: RunStore, benchmark: Benchmark, file: Path, name: str, judge: str | None = None
) -> Imported:
    """Add the labels of a file to a run, under the name of a judge.

    Args:
        judge: which judge's labels, where the file has several.

    Raises:
        DataError: the file cannot be read, or labels a case that the run does not have.
        RunError: the run has a judge of this name, or a labelled case has not been played.
        SpecError: the name cannot be one, the benchmark knows no judgements, or the run has several units a case.
    """
    check_judge_name("--judge-name", name)
    labels = judged(benchmark).read_labels(file, judge)
    units = store.units()
    by_case = _one_unit_a_case(units)
    if unknown := [record.case_id for record in labels.records if record.case_id not in by_case]:
        raise DataError(f"{file}: {len(unknown)} labelled cases are not in the run, the first is {unknown[0]!r}")
    if early := [r.case_id for r in labels.records if by_case[r.case_id].status == PENDING]:
        raise RunError(
            f"{store.folder}: {len(early)} labelled cases have not been played, the first is {early[0]!r}; "
            "finish the run before its outputs are labelled"
        )
    other = tuple(record.case_id for record in labels.records if _differ(record, by_case[record.case_id]))
    key = judge or (labels.judges[0] if len(labels.judges) == 1 else None)
    facts = {**_facts(file, labels), "judge_key": key, "other_steps": len(other)}
    references = _reference_counts(store, benchmark)
    cases = store.cases()
    said = (
        (
            by_case[r.case_id].unit,
            UnitJudgements(
                with_rubric(benchmark, cases[r.case_id].record, by_case[r.case_id].transcript, r.judgements),
                _counts(r, by_case[r.case_id], references),
            ),
        )
        for r in labels.records
    )
    store.judging.add_judge(name, facts, said)
    return Imported(len(labels.records), other, len(units) - len(labels.records))


def _reference_counts(store: RunStore, benchmark: Benchmark) -> dict[str, int]:
    """Case id -> how many reference steps the rules make of it; single labels count them by these."""
    if not isinstance(benchmark, ModelJudgedBenchmark):
        return {}
    made = benchmark.references(list(store.cases().values()))
    return {case: len(steps.steps) for case, steps in made.cases.items()} if made is not None else {}


def _counts(record: CaseLabels, stored: StoredUnit, references: Mapping[str, int]) -> StepCounts | None:
    """How many things there were to label: of single labels, as many as the run has, so that none is passed over."""
    counts = record.counts
    if counts is None or record.whole:
        return counts
    steps = stored.transcript.data.get("steps") if stored.transcript is not None else None
    return StepCounts(
        _most(counts.steps, steps), _most(counts.reference_steps, range(references.get(record.case_id, 0)))
    )


def _most(labelled: int | None, there: Sized | None) -> int | None:
    return labelled if labelled is None or there is None else max(labelled, len(there))


def _one_unit_a_case(units: Iterable[StoredUnit]) -> dict[str, StoredUnit]:
    found: dict[str, StoredUnit] = {}
    for stored in units:
        if stored.unit.case in found:
            raise SpecError("labels by case id fit only a run with one setting and one epoch")
        found[stored.unit.case] = stored
    return found


def _differ(record: CaseLabels, stored: StoredUnit) -> bool:
    """Whether the steps that were labelled are others, or another number, than those of the transcript, if it has any.

    A file may give no texts, or leave out the last steps, which then are missing in every denominator.
    """
    steps = stored.transcript.data.get("steps") if stored.transcript is not None else None
    if steps is None or record.counts is None or record.counts.steps is None:
        return False
    return record.counts.steps != len(steps) or (bool(record.steps) and list(record.steps) != list(steps))


def _facts(file: Path, labels: Labels) -> dict[str, Any]:
    return {
        "source": "imported",
        "file": file.name,
        "sha256": labels.sha256,
        "judges": list(labels.judges),
        "models": list(labels.models),
    }


def create_labelled_run(
    benchmark: Benchmark,
    file: Path,
    data: Path,
    out: Path,
    *,
    setting: str,
    options: Mapping[str, Any],
    judge: str | None,
) -> RunStore:
    """A run of the labelled cases only, made from the labels alone: steps without transcripts.

    Raises:
        DataError: the labels or the data cannot be read, or do not belong together.
        RunError: there is a run in `out` already.
    """
    reader = judged(benchmark)
    labels = reader.read_labels(file, judge)
    axis = {option.name: [setting] for option in benchmark.options if option.setting}
    loaded = benchmark.load(data, {**options, **axis})
    cases = {case.id: case for case in loaded.cases}
    if unknown := [record.case_id for record in labels.records if record.case_id not in cases]:
        raise DataError(f"{file}: {len(unknown)} labelled cases are not in {data}, the first is {unknown[0]!r}")
    chosen = [cases[record.case_id] for record in labels.records]
    spec = RunSpec(
        benchmark=benchmark.name,
        model=_model(labels.models),
        settings=(setting,),
        options=dict(options),
        data=str(data),
        data_hash=loaded.data_hash,
        cases=tuple(case.id for case in chosen),
        tokenizer=EstimateTokenizer.name,
        nonce=secrets.token_hex(16),
    )
    facts = {"notes": list(loaded.notes), "labels": str(file), "files": dict(loaded.files)}
    units = [Unit(benchmark.name, setting, case.id, 1) for case in chosen]
    store = create_run(out, spec, chosen, units, facts)
    store.finish_many(_transcripts(reader, units, labels.records, setting))
    return store


def _transcripts(
    reader: JudgedBenchmark, units: Sequence[Unit], records: Sequence[CaseLabels], setting: str
) -> list[tuple[Unit, Transcript]]:
    pairs = zip(units, records, strict=True)
    return [(unit, reader.labelled_transcript(record, setting)) for unit, record in pairs]


def _model(models: Sequence[str]) -> ModelSpec:
    name = models[0] if len(models) == 1 else "several" if models else "unstated"
    return ModelSpec(text=f"imported:{name}", kind="imported", name=name)
