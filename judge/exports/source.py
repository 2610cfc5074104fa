"""What there is to export of a run: its own scores, and those under each judge, as the reports have them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from judge.benchmark import Benchmark, Case
from judge.judgements import UnitJudgements
from judge.metrics.signature import Metric
from judge.outcome import Outcome
from judge.runs.launch import PLACES
from judge.runs.scoring import Scorer, report_of, score_units, scorer_of, summarise
from judge.runs.store import RunStore, StoredUnit, benchmark_of

#: Facts that are about the machine the run was made on, not about the run.
LOCAL_FACTS = frozenset({*PLACES, "judging", "explanations"})


@dataclass(frozen=True, slots=True)
class ScoredUnit:
    """One score.

    Attributes:
        judge: on whose judgements it rests; None for metrics without a judge.
    """

    stored: StoredUnit
    judge: str | None
    metric: Metric
    outcome: Outcome


Part = Literal["mean", "summary", "aside", "group"]
"""What a metric is over: all cases of a setting; groups of them, as the benchmark publishes it; what stands apart from
all other numbers; one group of a breakdown."""


@dataclass(frozen=True, slots=True)
class Summarised:
    """One metric over one setting, or a group of it, as the report has it.

    Attributes:
        judge: on whose judgements it rests; None for metrics without a judge.
        breakdown, group: for a group, of which breakdown; else None.
        numbers: the fields of `judge.runs.scoring.MetricSummary`.
    """

    setting: str
    judge: str | None
    part: Part
    breakdown: str | None
    group: str | None
    numbers: Mapping[str, Any]

    @property
    def place(self) -> tuple[str | None, ...]:
        """What it is, whoever judged."""
        return self.setting, self.part, self.breakdown, self.group, self.numbers["metric"]


class Source:
    """An open run, read for export.

    Args:
        judges: whose judgements count.

    Raises:
        RunError: the run has no judge of one of these names, or its benchmark is not installed.
    """

    def __init__(self, store: RunStore, judges: Sequence[str]) -> None:
        self.store = store
        self.benchmark: Benchmark = benchmark_of(store)
        self.spec = store.spec()
        self.judges = tuple(dict.fromkeys(judges))
        self.scorers: dict[str | None, Scorer] = {
            judge: scorer_of(store, self.benchmark, judge) for judge in (None, *self.judges)
        }

    @property
    def name(self) -> str:
        """Of the run: the name of its folder, wherever that lies."""
        return self.store.folder.resolve().name

    @cached_property
    def cases(self) -> dict[str, Case]:
        return self.store.cases()

    @cached_property
    def units(self) -> list[StoredUnit]:
        """All units of the run in order, also those that have not been played."""
        return self.store.units()

    @property
    def created(self) -> float:
        """When the run was begun, in seconds since 1970."""
        return float(self.store.meta("created") or 0)

    @cached_property
    def finished(self) -> dict[str, float]:
        """Unit key -> when it was finished, in seconds since 1970, for those that are."""
        query = "SELECT key, finished FROM units WHERE finished IS NOT NULL"
        return self.store.run(lambda db: dict(db.execute(query).fetchall()))

    @cached_property
    def received(self) -> dict[tuple[str, int], float]:
        """Address and attempt of an exchange -> when it was kept, in seconds since 1970."""
        query = "SELECT address, attempt, at FROM exchanges"
        return self.store.run(lambda db: {(address, attempt): at for address, attempt, at in db.execute(query)})

    @cached_property
    def outcomes(self) -> dict[str | None, dict[str, dict[str, Outcome]]]:
        """Judge -> unit key -> metric -> outcome."""
        return {judge: score_units(scorer, self.cases, self.units) for judge, scorer in self.scorers.items()}

    @cached_property
    def reports(self) -> dict[str | None, dict[str, Any]]:
        """Judge -> the report of the run under that judge."""
        return {
            judge: report_of(self.store, scorer, summarise(scorer, self.cases, self.units, self.outcomes[judge]))
            for judge, scorer in self.scorers.items()
        }

    @property
    def complete(self) -> bool:
        """Whether every unit of the run has been played."""
        return bool(self.reports[None]["state"] == "complete")

    def warnings(self) -> list[str]:
        """The sentences that must stand beside the numbers, each once."""
        return list(dict.fromkeys(sentence for report in self.reports.values() for sentence in report["warnings"]))

    def said(self, judge: str) -> Mapping[str, UnitJudgements]:
        """Unit key -> what a judge said."""
        return self.scorers[judge].said

    def metrics(self, setting: str) -> list[tuple[str | None, Metric]]:
        """All metrics of a setting, each once: those without a judge, then every judge's."""
        own = self.scorers[None].metrics_in(setting)
        names = {metric.name for metric in own}
        return [(None, metric) for metric in own] + [
            (judge, metric)
            for judge in self.judges
            for metric in self.scorers[judge].metrics_in(setting)
            if metric.name not in names
        ]

    @cached_property
    def scores(self) -> list[ScoredUnit]:
        """Every score, unit by unit; only metrics of explanations may be absent, where a unit does not take part."""
        metrics = {setting: self.metrics(setting) for setting in {stored.unit.setting for stored in self.units}}
        return [
            ScoredUnit(stored, judge, metric, outcome)
            for stored in self.units
            for judge, metric in metrics[stored.unit.setting]
            if (outcome := self.outcomes[judge][stored.unit.key].get(metric.name)) is not None
        ]

    def summaries(self) -> Iterator[Summarised]:
        """All numbers of the reports, each once: those without a judge, then every judge's."""
        own = {found.place for found in _summaries(None, self.reports[None])}
        for judge, report in self.reports.items():
            yield from (found for found in _summaries(judge, report) if judge is None or found.place not in own)

    def settings(self) -> dict[str, Any]:
        """Everything that can change the run's numbers, in JSON types."""
        row = self.spec.model_dump(mode="json")
        return row | {"data": _named(row["data"])}

    def facts(self) -> dict[str, Any]:
        """What is known of the run, without places on this machine."""
        return _without_places(json.loads(self.store.meta("facts") or "{}"))

    def judge_facts(self) -> dict[str, dict[str, Any]]:
        """Judge -> what is known of it."""
        return {judge: _without_places(self.scorers[judge].facts) for judge in self.judges}


def _summaries(judge: str | None, report: Mapping[str, Any]) -> Iterator[Summarised]:
    for found in report["settings"]:
        parts: tuple[tuple[Part, str], ...] = (("mean", "metrics"), ("summary", "summaries"), ("aside", "asides"))
        for part, key in parts:
            for numbers in found[key].values():
                yield Summarised(found["setting"], judge, part, None, None, numbers)
        for breakdown, groups in found["by"].items():
            for group in groups:
                for numbers in group["metrics"].values():
                    yield Summarised(found["setting"], judge, "group", breakdown, group["group"], numbers)


def _without_places(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _named(value) for name, value in facts.items() if name not in LOCAL_FACTS}


def _named(value: Any) -> Any:
    """Of an absolute path its last part; exports are passed on, and where a file lay here means nothing there."""
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value
