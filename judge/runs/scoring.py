"""From stored transcripts to a report: scores, means with intervals, breakdowns. Pure; calls no model."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judge.benchmark import PENDING, Benchmark, Case, JudgedBenchmark, SummarisedBenchmark, Transcript, Unit
from judge.errors import RunError, SpecError
from judge.judgements import UnitJudgements
from judge.metrics.signature import Metric
from judge.outcome import ERROR_REASONS, Outcome, Scored, Unscored
from judge.runs.groups import in_order, summarised
from judge.runs.judged import judge_warnings, shown_facts, signed, splitters_of
from judge.runs.measuring import Measured, measured_in
from judge.runs.paneling import outdated_notes
from judge.runs.repeats import repeats
from judge.runs.store import RunStore, StoredUnit
from judge.stats import FEW_CLUSTERS, clustered_mean, mean_interval


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """One metric over one group of units.

    Attributes:
        mean: over the scored cases, each the mean of its epochs; None when nothing is scored.
        se: standard error clustered as the benchmark says; None when it cannot be had.
        interval: 95 %, by `judge.stats.mean_interval`: Student's t over clusters, on the logit of the mean where the
            metric has a range; mid-p for single cases right or wrong; None with one cluster, or where clusters do
            not vary.
        bounds: the mean if every unscored unit had got the lowest, or the highest, value.
        maximum: best mean that any answers could reach on all cases of the group.
        n_scored, n_unscored: units.
        n_empty: those of the scored units whose value is the convention for an empty denominator.
        unscored: reason -> units.
    """

    metric: str
    title: str
    signature: str
    mean: float | None
    se: float | None
    interval: tuple[float, float] | None
    bounds: tuple[float, float] | None
    maximum: float | None
    n_scored: int
    n_unscored: int
    n_cases: int
    n_clusters: int
    n_empty: int
    unscored: dict[str, int]


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """All metrics over one group, e.g. label ``design`` of setting ``full``."""

    group: str
    n_units: int
    metrics: dict[str, MetricSummary]


@dataclass(frozen=True, slots=True)
class SettingSummary:
    """Everything about one setting.

    Attributes:
        summaries: where a benchmark reports means of group means: these, and the plain means under a name of their own.
        asides: metric -> what stands apart from all other numbers.
        epochs: what asking each case several times shows, a row a metric, as `judge.runs.repeats.repeats`.
    """

    setting: str
    n_cases: int
    n_units: int
    statuses: dict[str, int]
    flags: dict[str, int]
    metrics: dict[str, MetricSummary]
    by: dict[str, list[GroupSummary]] = field(default_factory=dict)
    summaries: dict[str, MetricSummary] = field(default_factory=dict)
    asides: dict[str, MetricSummary] = field(default_factory=dict)
    epochs: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Scorer:
    """What scores a run's units: the benchmark's own metrics, and those that rest on one judge's judgements.

    Attributes:
        options: of the run; they sign the metrics.
        judge: whose judgements count; None for metrics without a judge only.
        facts: what is known of the judge.
        said: unit key -> what that judge said, for every unit that it judged.
        measured: what the explanations got that were compared with references.
        epochs: how often the run asks each case.
    """

    benchmark: Benchmark
    options: Mapping[str, Any]
    judge: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    said: Mapping[str, UnitJudgements] = field(default_factory=dict)
    measured: Measured = field(default_factory=Measured)
    epochs: int = 1

    def metrics_in(self, setting: str) -> tuple[Metric, ...]:
        """All metrics of a setting, in report order."""
        own = (*self.benchmark.metrics_in(setting, self.options), *self.measured.shown_metrics())
        return own if self.judge is None else (*own, *self._judged_metrics(setting))

    def _judged_metrics(self, setting: str) -> tuple[Metric, ...]:
        metrics = judged(self.benchmark).judged_metrics(setting, self.options)
        splitters = splitters_of(self.said)
        return tuple(signed(metric, self.facts, splitters) for metric in metrics)

    def outcomes(self, case: Case, stored: StoredUnit) -> dict[str, Outcome]:
        """Metric -> outcome of one unit; whatever is not to be scored is unscored with its reason.

        A metric may be absent where it is not defined for the unit.
        """
        own = self._own(case, stored)
        return own | self.measured.outcomes(stored.unit.key, own) | self._judged(case, stored)

    def _own(self, case: Case, stored: StoredUnit) -> dict[str, Outcome]:
        metrics = self.benchmark.metrics_in(stored.unit.setting, self.options)
        if stored.status in self.benchmark.scored_statuses and stored.transcript is not None:
            outcomes = self.benchmark.score(case.record, stored.transcript)
            return {metric.name: outcomes[metric.name] for metric in metrics}
        reason = "not_run" if stored.status == PENDING else stored.status
        return {metric.name: Unscored(reason, stored.detail) for metric in metrics}

    def _judged(self, case: Case, stored: StoredUnit) -> dict[str, Outcome]:
        """What a judge said counts however the unit ended: reasoning can be judged where no answer was read."""
        if self.judge is None:
            return {}
        said = self.said.get(stored.unit.key)
        source, setting = judged(self.benchmark), stored.unit.setting
        outcomes = source.score_judged(case.record, setting, self.options, said or UnitJudgements())
        if said is None:
            return {name: Unscored("not_judged", f"{self.judge} did not judge it") for name in outcomes}
        return dict(outcomes)


def scorer_of(store: RunStore, benchmark: Benchmark, judge: str | None = None) -> Scorer:
    """The scorer of a run.

    Raises:
        RunError: the run has no judge of this name.
    """
    spec, measured = store.spec(), measured_in(store)
    if judge is None:
        return Scorer(benchmark, spec.options, measured=measured, epochs=spec.epochs)
    if judge not in (judges := store.judging.judges()):
        there_are = ", ".join(judges) or "none"
        raise RunError(f"{store.folder} has no judgements by {judge!r}; there are: {there_are}")
    said = store.judging.judged(judge)
    return Scorer(benchmark, spec.options, judge, judges[judge], said, measured, spec.epochs)


def judged(benchmark: Benchmark) -> JudgedBenchmark:
    """The benchmark as one that has judged metrics.

    Raises:
        SpecError: it has none.
    """
    if not isinstance(benchmark, JudgedBenchmark):
        raise SpecError(f"{benchmark.name} has no metrics that rest on a judge")
    return benchmark


def score_units(
    scorer: Scorer, cases: Mapping[str, Case], units: Iterable[StoredUnit]
) -> dict[str, dict[str, Outcome]]:
    """Unit key -> metric -> outcome, for every unit."""
    return {stored.unit.key: scorer.outcomes(cases[stored.unit.case], stored) for stored in units}


def summarise(
    scorer: Scorer,
    cases: Mapping[str, Case],
    units: Sequence[StoredUnit],
    scores: Mapping[str, Mapping[str, Outcome]],
) -> list[SettingSummary]:
    """One summary a setting, in the order of the run; settings are never pooled."""
    by_setting: dict[str, list[StoredUnit]] = defaultdict(list)
    for stored in units:
        by_setting[stored.unit.setting].append(stored)
    best = {case_id: scorer.benchmark.best(case.record) for case_id, case in cases.items()}
    return [_setting(scorer, cases, setting, group, scores, best) for setting, group in by_setting.items()]


def _setting(
    scorer: Scorer,
    cases: Mapping[str, Case],
    setting: str,
    units: Sequence[StoredUnit],
    scores: Mapping[str, Mapping[str, Outcome]],
    best: Mapping[str, Mapping[str, float]],
) -> SettingSummary:
    benchmark, metrics = scorer.benchmark, scorer.metrics_in(setting)
    ids = {stored.unit.case for stored in units}

    def summary_of(group: Sequence[StoredUnit]) -> dict[str, MetricSummary]:
        in_group = {stored.unit.case for stored in group}
        maxima = mean_best(best[case] for case in in_group)
        return {m.name: metric_summary(m, cases, [s.unit for s in group], scores, maxima.get(m.name)) for m in metrics}

    whole = summary_of(units)
    by = {
        breakdown: [GroupSummary(name, len(group), summary_of(group)) for name, group in groups.items()]
        for breakdown, groups in _grouped(benchmark, cases, units).items()
    }
    return SettingSummary(
        setting=setting,
        n_cases=len(ids),
        n_units=len(units),
        statuses=dict(Counter(s.status for s in units).most_common()),
        flags=dict(Counter(flag for s in units for flag in s.flags).most_common()),
        metrics=whole,
        by=by,
        summaries=summarised(
            benchmark, metrics, whole, {name: {g.group: g.metrics for g in groups} for name, groups in by.items()}
        ),
        asides=_asides(scorer, cases, units),
        epochs=repeats(metrics, cases, units, scores, scorer.epochs),
    )


def _asides(scorer: Scorer, cases: Mapping[str, Case], units: Sequence[StoredUnit]) -> dict[str, MetricSummary]:
    """What stands apart, each over the units that it is about."""
    benchmark = scorer.benchmark
    if not isinstance(benchmark, SummarisedBenchmark):
        return {}
    about: dict[Metric, dict[Unit, Outcome]] = defaultdict(dict)
    for stored in units:
        status = "not_run" if stored.status == PENDING else stored.status
        transcript = stored.transcript or Transcript(status, stored.detail)
        for metric, outcome in benchmark.asides(cases[stored.unit.case].record, transcript, scorer.options).items():
            about[metric][stored.unit] = outcome
    return {
        metric.name: metric_summary(
            metric, cases, list(found), {unit.key: {metric.name: outcome} for unit, outcome in found.items()}
        )
        for metric, found in about.items()
    }


def mean_best(best: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Per metric, the best mean that any answers could reach, from the best score of each case."""
    rows = list(best)
    names = rows[0] if rows else ()
    return {name: fmean(row[name] for row in rows) for name in names}


def _grouped(
    benchmark: Benchmark, cases: Mapping[str, Case], units: Iterable[StoredUnit]
) -> dict[str, dict[str, list[StoredUnit]]]:
    grouped: dict[str, dict[str, list[StoredUnit]]] = {}
    for stored in units:
        for breakdown, names in benchmark.groups(cases[stored.unit.case].record).items():
            for name in names:
                grouped.setdefault(breakdown, {}).setdefault(name, []).append(stored)
    return {breakdown: in_order(benchmark, breakdown, groups) for breakdown, groups in grouped.items()}


def metric_summary(
    metric: Metric,
    cases: Mapping[str, Case],
    units: Sequence[Unit],
    scores: Mapping[str, Mapping[str, Outcome]],
    maximum: float | None = None,
) -> MetricSummary:
    """One metric over some units, each case counting once by the mean of its epochs."""
    outcomes = [(unit.case, found) for unit in units if (found := scores[unit.key].get(metric.name)) is not None]
    by_case: dict[str, list[float]] = defaultdict(list)
    for case, outcome in outcomes:
        if isinstance(outcome, Scored):
            by_case[case].append(outcome.value)
    values = np.array([fmean(of_case) for of_case in by_case.values()])
    clusters = [cases[case].cluster for case in by_case]
    mean = clustered_mean(values, clusters)
    scored = [outcome.value for _, outcome in outcomes if isinstance(outcome, Scored)]
    return MetricSummary(
        metric=metric.name,
        title=metric.title,
        signature=metric.signature,
        mean=mean.mean,
        se=mean.se,
        interval=_interval(metric, values, clusters),
        bounds=_bounds(metric, outcomes),
        maximum=maximum,
        n_scored=len(scored),
        n_unscored=len(outcomes) - len(scored),
        n_cases=len(by_case),
        n_clusters=mean.n_clusters,
        n_empty=sum(isinstance(outcome, Scored) and outcome.empty for _, outcome in outcomes),
        unscored=dict(Counter(o.reason for _, o in outcomes if isinstance(o, Unscored)).most_common()),
    )


def _interval(metric: Metric, values: NDArray[np.float64], clusters: Sequence[str]) -> tuple[float, float] | None:
    ends = mean_interval(values, clusters, metric.range).ends
    return ends if ends is None or metric.least is None else (max(ends[0], metric.least), ends[1])


def _bounds(metric: Metric, outcomes: Sequence[tuple[str, Outcome]]) -> tuple[float, float] | None:
    """The mean if every unscored unit had got the lowest, or the highest, value; cases count once here as well."""
    if not outcomes or metric.range is None:
        return None
    ends = []
    for end in metric.range:
        by_case: dict[str, list[float]] = defaultdict(list)
        for case, outcome in outcomes:
            by_case[case].append(outcome.value if isinstance(outcome, Scored) else end)
        ends.append(fmean(fmean(of_case) for of_case in by_case.values()))
    return ends[0], ends[1]


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """A run's scores, and the report on them as `report_of` makes it.

    Attributes:
        scores: unit key -> metric -> outcome.
    """

    units: Sequence[StoredUnit]
    scores: Mapping[str, Mapping[str, Outcome]]
    report: dict[str, Any]


def scored_run(store: RunStore, benchmark: Benchmark, judge: str | None = None) -> ScoredRun:
    """Compute every score from what is stored.

    Args:
        judge: also the metrics that rest on this judge's judgements.

    Raises:
        RunError: the run has no judge of this name.
    """
    scorer, cases, units = scorer_of(store, benchmark, judge), store.cases(), store.units()
    scores = score_units(scorer, cases, units)
    return ScoredRun(units, scores, report_of(store, scorer, summarise(scorer, cases, units, scores)))


def score_run(store: RunStore, benchmark: Benchmark, judge: str | None = None) -> dict[str, Any]:
    """The report of `scored_run`."""
    return scored_run(store, benchmark, judge).report


def rescore_run(store: RunStore, benchmark: Benchmark, judge: str | None = None) -> dict[str, Any]:
    """Like `score_run`, and keep the scores in the run."""
    found = scored_run(store, benchmark, judge)
    store.write_scores(judge or "", found.scores)
    return found.report


def report_of(store: RunStore, scorer: Scorer, settings: Sequence[SettingSummary]) -> dict[str, Any]:
    """The report as plain data: what `--json` prints and every table is made from."""
    benchmark, spec, judges = scorer.benchmark, store.spec(), store.judging.judges()
    tokens = store.tokens()
    facts = json.loads(store.meta("facts") or "{}")
    statuses: Counter[str] = Counter()
    for setting in settings:
        statuses.update(setting.statuses)
    units = sum(statuses.values())
    return {
        "run": str(store.folder),
        "benchmark": benchmark.name,
        "state": "incomplete" if statuses[PENDING] else "complete",
        "model": spec.model.text,
        "judge": shown_facts(scorer.judge, scorer.facts, scorer.said, tokens) if scorer.judge else None,
        "judges": list(judges),
        "spec": spec.model_dump(mode="json"),
        "facts": facts,
        "statuses": dict(statuses),
        "scored_statuses": sorted(benchmark.scored_statuses),
        "error_units": sum(count for status, count in statuses.items() if status in ERROR_REASONS),
        "settings": [asdict(setting) for setting in settings],
        "explanations": dict(scorer.measured.settings),
        "tokens": [asdict(count) for count in tokens],
        "warnings": [
            *warnings_of(spec.replaced_prompts, settings, facts, benchmark.scored_statuses),
            *scorer.measured.notes(),
            *(judge_warnings(scorer.judge, scorer.facts, spec.model, units, scorer.said) if scorer.judge else ()),
            *(outdated_notes(store, [scorer.judge]) if scorer.judge else ()),
        ],
    }


def warnings_of(
    replaced: Sequence[str], settings: Sequence[SettingSummary], facts: Mapping[str, Any], scored: Set[str]
) -> list[str]:
    """Sentences that must stand beside the numbers."""
    found = [f"the prompts {', '.join(replaced)} were replaced by the user's own"] if replaced else []
    found += list(facts.get("notes", []))
    for setting in settings:
        found += _setting_warnings(setting, scored)
    return found


def _partly_unscored(setting: SettingSummary, scored: Set[str]) -> list[str]:
    """Units that are scored by some metrics and not by others, e.g. a dialogue that ended without a diagnosis."""
    titles: dict[tuple[str, int], list[str]] = {}
    for metric in setting.metrics.values():
        for reason, count in metric.unscored.items():
            of_the_unit = reason == "not_run" or (reason in setting.statuses and reason not in scored)
            if metric.n_scored and not of_the_unit:
                titles.setdefault((reason, count), []).append(metric.title)
    return [
        f"{setting.setting}: {', '.join(named)} without a value in {count} of {setting.n_units} units ({reason}); "
        "the mean is over the others, see the bounds"
        for (reason, count), named in titles.items()
    ]


def _setting_warnings(setting: SettingSummary, scored: Set[str]) -> list[str]:
    found = []
    unscored = sum(count for status, count in setting.statuses.items() if status not in scored)
    if unscored:
        found.append(
            f"{setting.setting}: {unscored} of {setting.n_units} units are unscored; "
            "means are over the others, see the bounds"
        )
    found += _partly_unscored(setting, scored)
    found += [
        f"{setting.setting}: {metric.title} is 0 by convention in {metric.n_empty} units with an empty denominator"
        for metric in setting.metrics.values()
        if metric.n_empty
    ]
    clusters = min((m.n_clusters for m in setting.metrics.values() if m.n_clusters), default=0)
    if 0 < clusters < FEW_CLUSTERS:
        noun = "cluster" if clusters == 1 else "clusters"
        found.append(f"{setting.setting}: only {clusters} {noun}; standard errors and intervals cannot be relied on")
    if suspected := setting.flags.get("prompt_cut_suspected"):
        found.append(
            f"{setting.setting}: in {suspected} units the server counted far fewer prompt tokens than were sent; "
            "it may have cut the prompt silently (check its context size)"
        )
    return found
