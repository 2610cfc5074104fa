"""Several judges of one run, side by side; numbers that mean different things are not put beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from judge.benchmark import Benchmark
from judge.judgements import UnitJudgements
from judge.runs.comparable import AGAINST_REFERENCE, CaseReference, comparable_cases
from judge.runs.scoring import MetricSummary, SettingSummary, judged, score_units, scorer_of, summarise
from judge.runs.store import RunStore


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a metric of two judges is not compared.

    Attributes:
        differing, both: units with different reference steps, of those that both judged against a reference.
    """

    metric: str
    judges: tuple[str, str]
    differing: int
    both: int

    def __str__(self) -> str:
        return (
            f"{self.metric} by {self.judges[0]} and by {self.judges[1]} is not comparable: in {self.differing} of "
            f"{self.both} units that both judged they had other reference steps (--force shows it all the same)"
        )


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
    refused = refusals(said)
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
        "not_comparable": [{**asdict(one), "sentence": str(one)} for one in refused],
        "forced": force and bool(refused),
    }


def _row(
    name: str, title: str, position: int, summaries: Mapping[str, Sequence[SettingSummary]], hidden: set[str]
) -> dict[str, Any]:
    found: dict[str, MetricSummary] = {judge: of[position].metrics[name] for judge, of in summaries.items()}
    shown = {judge: None if name in hidden else asdict(summary) for judge, summary in found.items()}
    return {"metric": name, "title": title, "by_judge": shown}


def refusals(said: Mapping[str, Mapping[str, UnitJudgements]]) -> list[Refused]:
    """For each pair of judges, the metrics against reference steps in which they are not comparable."""
    references = {name: _references(of_judge) for name, of_judge in said.items()}
    found = []
    for a, b in combinations(said, 2):
        both = [unit for unit in references[a] if unit in references[b]]
        same = set(comparable_cases(references[a], references[b]))
        if differing := sum(unit not in same for unit in both):
            found += [Refused(metric, (a, b), differing, len(both)) for metric in sorted(AGAINST_REFERENCE - {"match"})]
    return found


def _references(said: Mapping[str, UnitJudgements]) -> dict[str, CaseReference]:
    """Unit -> the reference steps that a judge had before it, where it had any."""
    found = {}
    for unit, of_unit in said.items():
        texts = tuple(judgement.text for judgement in of_unit.view.of("match"))
        known = str(of_unit.facts.get("reference") or "")
        if texts or known:
            found[unit] = CaseReference(texts, known)
    return found
