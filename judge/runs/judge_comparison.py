"""Several judges of one run, side by side; numbers that mean different things are not put beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from judge.benchmark import Benchmark
from judge.judgements import UnitJudgements
from judge.runs.comparable import other_texts, refusals
from judge.runs.judged import judge_warnings
from judge.runs.paneling import outdated_notes
from judge.runs.scoring import MetricSummary, SettingSummary, judged, score_units, scorer_of, summarise
from judge.runs.store import RunStore


def compare_judges(
    store: RunStore, benchmark: Benchmark, names: Sequence[str], *, force: bool = False
) -> dict[str, Any]:
    """The judged metrics of a run under each judge, as plain data; scores are kept in the run.

    Args:
        force: show metrics that are not comparable too.

    Raises:
        RunError: the run has no judge of a name.
    """
    cases, units = store.cases(), store.units()
    said = {name: store.judging.judged(name) for name in names}
    summaries: dict[str, list[SettingSummary]] = {}
    for name in names:
        scorer = scorer_of(store, benchmark, name)
        scores = score_units(scorer, cases, units)
        store.write_scores(name, scores)
        summaries[name] = summarise(scorer, cases, units, scores)
    facts = store.judging.judges()
    refused = [*refusals(said), *other_texts({name: facts[name] for name in names})]
    hidden = set() if force else {one.metric for one in refused}
    options = store.spec().options
    return {
        "run": str(store.folder),
        "judges": list(names),
        "settings": [
            {
                "setting": setting.setting,
                "n_units": setting.n_units,
                "metrics": [
                    _row(metric.name, metric.title, position, summaries, hidden)
                    for metric in judged(benchmark).judged_metrics(setting.setting, options)
                ],
            }
            for position, setting in enumerate(summaries[names[0]])
        ],
        "not_comparable": [{"metric": one.metric, "judges": list(one.judges), "sentence": str(one)} for one in refused],
        "notes": [
            *_differences({name: facts[name] for name in names}),
            *_other_units(said),
            *outdated_notes(store, names),
            *(
                note
                for name in names
                for note in judge_warnings(name, facts[name], store.spec().model, len(units), said[name])
            ),
        ],
        "forced": force and bool(refused),
    }


def _row(
    name: str, title: str, position: int, summaries: Mapping[str, Sequence[SettingSummary]], hidden: set[str]
) -> dict[str, Any]:
    found: dict[str, MetricSummary] = {judge: of[position].metrics[name] for judge, of in summaries.items()}
    shown = {judge: None if name in hidden else asdict(summary) for judge, summary in found.items()}
    return {"metric": name, "title": title, "by_judge": shown}


#: Settings of a judge by which numbers may differ though two judges agree.
_TOLD = ("protocol", "evidence", "reasoning_source", "step_splitter", "reference", "only")


def _differences(facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What else than the judge differs between judges; of labels made elsewhere it is not known."""
    specs = {name: found["spec"] for name, found in facts.items() if "spec" in found}
    notes = []
    for field in _TOLD:
        values = {name: spec[field] for name, spec in specs.items()}
        if len({str(value) for value in values.values()}) > 1:
            shown = ", ".join(f"{name}: {_plain(value)}" for name, value in values.items())
            notes.append(f"the judges differ in {field.replace('_', ' ')} as well ({shown})")
    if len({str(sorted(spec["prompts"].items())) for spec in specs.values() if spec["replaced_prompts"]}) > 0:
        notes.append("some of the judges' prompts were replaced by the user's own")
    return notes


def _plain(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _other_units(said: Mapping[str, Mapping[str, UnitJudgements]]) -> list[str]:
    if len({frozenset(of_judge) for of_judge in said.values()}) < 2:
        return []
    counts = ", ".join(f"{name}: {len(of_judge)}" for name, of_judge in said.items())
    return [f"the judges judged other units ({counts}), and each mean is over its own"]
