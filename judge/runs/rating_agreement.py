"""How far a run's judges, models and people, agree: on single labels by kind, and in rank of units by metric.

Labels are compared only where they are about the same thing: steps, requests and tests with the same text at the same
place, and steps of a reference where all of them are the same. Settings are never pooled. Several raters are taken
together only if they are of one sort: models, people, or makers of imported labels. A panel is in none of these, as its
labels are made of the others'.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from types import MappingProxyType
from typing import Any

from judge.benchmark import Benchmark, Case, JudgedBenchmark
from judge.explanations import GRADES, KIND, RUBRIC, RULE
from judge.judgements import Judgement, Label, UnitJudgements
from judge.outcome import Scored
from judge.runs.comparable import (
    AGAINST_REFERENCE,
    CaseReference,
    comparable_cases,
    references_before,
    same_reference,
)
from judge.runs.store import RunStore, StoredUnit
from judge.stats import Comparison, agreement, correlation

#: Source of raters -> what they are called together, and from how many on there is more to say than for their pairs.
_SORTS: Mapping[str, tuple[str, int]] = MappingProxyType(
    {"model": ("judges", 3), "person": ("people", 2), "imported": ("imported", 3)}
)

#: Kinds that are about a whole answer, whatever text is stored beside the label.
WHOLE = frozenset({"accuracy", KIND})

#: Kinds whose labels are numbers, with all of them in order.
ORDINAL: Mapping[str, tuple[float, ...]] = MappingProxyType({KIND: tuple(map(float, GRADES))})

Said = Mapping[str, Mapping[str, UnitJudgements]]
"""Rater -> unit key -> what was said."""

Place = tuple[str, int]
"""Unit key and item."""

Item = tuple[str, int, str]
"""A place, and which of several things it is that raters had there."""


@dataclass
class Labelled:
    """The labels of one kind in one setting.

    Attributes:
        labels: rater -> item -> label.
        other: rater -> labels left out, since what the others labelled at the place is, or may be, something else.
        ruled: items of which a rater's label follows from a rule.
    """

    labels: dict[str, dict[Item, float | Label]] = field(default_factory=dict)
    other: dict[str, int] = field(default_factory=dict)
    ruled: set[Item] = field(default_factory=set)

    def read(self) -> dict[str, dict[Item, float | Label]]:
        """Without the items that a rule decides."""
        return {
            rater: {item: label for item, label in given.items() if item not in self.ruled}
            for rater, given in self.labels.items()
        }


def rating_agreement(store: RunStore, benchmark: Benchmark) -> dict[str, Any]:
    """Agreement of all raters that labelled the same things, as plain data; empty lists where there are not two."""
    facts = store.judging.judges()
    if len(facts) < 2 or not isinstance(benchmark, JudgedBenchmark):
        return {"kinds": [], "correlations": []}
    said = {rater: store.judging.judged(rater) for rater in facts}
    cases, units = store.cases(), store.units()
    sources = {rater: str(known.get("source", "")) for rater, known in facts.items()}
    by_setting: dict[str, list[StoredUnit]] = {}
    for stored in units:
        by_setting.setdefault(stored.unit.setting, []).append(stored)
    options = store.spec().options
    kinds: list[dict[str, Any]] = []
    correlations: list[dict[str, Any]] = []
    for setting, group in by_setting.items():
        clusters = {stored.unit.key: cases[stored.unit.case].cluster for stored in group}
        kinds += _kinds(setting, said, sources, clusters)
        values = _values(benchmark, setting, options, cases, group, said)
        titles = {metric.name: metric.title for metric in benchmark.judged_metrics(setting, options)}
        correlations += _correlations(setting, titles, values, said, clusters)
    return {"kinds": kinds, "correlations": correlations}


# -- single labels -----------------------------------------------------------------------------------------------------


def _kinds(
    setting: str, said: Said, sources: Mapping[str, str], clusters: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    every = (one.kind for of in said.values() for unit, judged in of.items() if unit in clusters
             for one in judged.judgements)  # fmt: skip
    for kind in dict.fromkeys(every):
        found = labelled(kind, said, list(clusters))
        if len(found.labels) < 2:
            continue
        about = {"setting": setting, "kind": kind, "other": found.other, "sources": sources,
                 "failed": _failed(kind, said, list(found.labels), clusters)}  # fmt: skip
        yield _compared({**about, "items": "all", "ruled": len(found.ruled)}, kind, found.labels, clusters)
        if found.ruled:
            yield _compared({**about, "items": "read", "ruled": 0}, kind, found.read(), clusters)


def _compared(
    about: Mapping[str, Any],
    kind: str,
    labels: Mapping[str, Mapping[Item, float | Label]],
    clusters: Mapping[str, str],
) -> dict[str, Any]:
    report = agreement(labels, lambda item: clusters[item[0]], ordinal=ORDINAL.get(kind))
    sources = {rater: about["sources"][rater] for rater in labels}
    found = {key: value for key, value in asdict(report).items() if key != "together"}
    return {**about, "sources": sources, "ordinal": kind in ORDINAL, **found,
            "groups": list(_groups(kind, labels, sources, clusters))}  # fmt: skip


def _groups(
    kind: str,
    labels: Mapping[str, Mapping[Item, float | Label]],
    sources: Mapping[str, str],
    clusters: Mapping[str, str],
) -> Iterator[dict[str, Any]]:
    """All raters of one sort together, where they are enough."""
    for source, (who, least) in _SORTS.items():
        chosen = {rater: of for rater, of in labels.items() if sources[rater] == source}
        if len(chosen) >= least:
            yield {"who": who, **asdict(together(kind, chosen, clusters))}


def together(kind: str, labels: Mapping[str, Mapping[Item, float | Label]], clusters: Mapping[str, str]) -> Comparison:
    """Agreement of several raters, over the items that at least two of them labelled."""
    return agreement(labels, lambda item: clusters[item[0]], ordinal=ORDINAL.get(kind)).together


def _failed(kind: str, said: Said, raters: Sequence[str], clusters: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Rater -> reason -> units in which labels of the kind are missing for it."""
    found: dict[str, dict[str, int]] = {}
    for rater in raters:
        counts = found.setdefault(rater, {})
        for unit, judged in said[rater].items():
            if unit in clusters and (why := judged.missing.get(kind)):
                counts[why.reason] = counts.get(why.reason, 0) + 1
    return found


def labelled(kind: str, said: Said, units: Sequence[str]) -> Labelled:
    """The labels of one kind by rater, in the order of ``said``, and item; raters without any are left out."""
    found = Labelled()
    for unit in units:
        here = {rater: judged[unit] for rater, judged in said.items() if unit in judged}
        things = _things(kind, unit, {rater: one for rater, one in here.items() if one.view.of(kind)})
        whole = [next(iter(of.values()))[0] for of in things.values()] if kind in AGAINST_REFERENCE else None
        for place in dict.fromkeys(place for of in things.values() for place in of):
            _take(found, kind, place, {rater: of[place] for rater, of in things.items() if place in of}, whole)
    found.labels = {rater: found.labels[rater] for rater in said if rater in found.labels}
    return found


def _take(
    found: Labelled,
    kind: str,
    place: Place,
    given: Mapping[str, tuple[str, Judgement]],
    whole: Sequence[str] | None,
) -> None:
    """The labels at one place; one that is about another thing than all others are about is left out.

    Args:
        given: rater -> what the thing is called, and the judgement.
        whole: the names that all raters of the unit have for what they labelled; None if only those at the place count.
    """
    names = whole or [name for name, _ in given.values()]
    for rater, (name, one) in given.items():
        labels = found.labels.setdefault(rater, {})
        if len(names) > 1 and names.count(name) == 1:
            found.other[rater] = found.other.get(rater, 0) + 1
            continue
        item = (*place, name)
        label = float(one.label) if kind in ORDINAL else one.label
        labels[item] = label
        if any(RULE in entry or RUBRIC in entry for entry in one.path):
            found.ruled.add(item)


def _things(kind: str, unit: str, here: Mapping[str, UnitJudgements]) -> dict[str, dict[Place, tuple[str, Judgement]]]:
    """Rater -> place -> what the thing labelled there is called, and the judgement; same things have the same name."""
    references = _references(here) if kind in AGAINST_REFERENCE else {}

    def name(rater: str, one: Judgement) -> str:
        if kind in WHOLE:
            return ""
        if kind in AGAINST_REFERENCE:
            return references[rater]
        text = " ".join(one.text.split())
        return text or f"\0{rater}"  # without a text it is not known to be the same

    return {
        rater: {(unit, one.item): (name(rater, one), one) for one in judged.view.of(kind)}
        for rater, judged in here.items()
    }


def _references(here: Mapping[str, UnitJudgements]) -> dict[str, str]:
    """Rater -> a number that those with the same reference steps share."""
    seen: list[CaseReference] = []
    found = {}
    for rater, judged in here.items():
        reference = references_before({"": judged}).get("", CaseReference())
        number = next((n for n, other in enumerate(seen) if same_reference(reference, other)), len(seen))
        if number == len(seen):
            seen.append(reference)
        found[rater] = str(number)
    return found


# -- ranks of units ----------------------------------------------------------------------------------------------------


def _values(
    benchmark: JudgedBenchmark,
    setting: str,
    options: Mapping[str, Any],
    cases: Mapping[str, Case],
    units: Sequence[StoredUnit],
    said: Said,
) -> dict[str, dict[str, dict[str, float]]]:
    """Metric -> rater -> unit key -> value, where there is one."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for rater, of_rater in said.items():
        for stored in units:
            judged = of_rater.get(stored.unit.key)
            if judged is None:
                continue
            outcomes = benchmark.score_judged(cases[stored.unit.case].record, setting, options, judged)
            for metric, outcome in outcomes.items():
                if isinstance(outcome, Scored):
                    found.setdefault(metric, {}).setdefault(rater, {})[stored.unit.key] = outcome.value
    return found


def _correlations(
    setting: str,
    titles: Mapping[str, str],
    values: Mapping[str, Mapping[str, Mapping[str, float]]],
    said: Said,
    clusters: Mapping[str, str],
) -> Iterator[dict[str, Any]]:
    """Each pair of raters with values in units that both judged, and against the same reference where that matters."""
    for metric, title in titles.items():
        for first, second in combinations(values.get(metric, {}), 2):
            both = {rater: values[metric][rater] for rater in (first, second)}
            if metric in AGAINST_REFERENCE:
                same = comparable_cases(references_before(said[first]), references_before(said[second]))
                both = {rater: {unit: of[unit] for unit in same if unit in of} for rater, of in both.items()}
            if not both[first].keys() & both[second].keys():
                continue
            found = correlation(both, lambda unit: clusters[unit])
            yield {"setting": setting, "metric": metric, "title": title, **asdict(found)}
