"""The runs, judges and scores that a sensitivity report is made from; read once, never written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from judge.benchmark import Benchmark, Case, JudgedBenchmark
from judge.errors import RunError, SpecError
from judge.judgements import UnitJudgements
from judge.metrics.reasoning import NOT_JUDGED, REASONING
from judge.metrics.signature import Metric
from judge.outcome import Outcome, Scored, Unscored
from judge.runs.annotating import PERSON
from judge.runs.comparable import Refused, other_texts, refusals
from judge.runs.judged import signed, splitters_of
from judge.runs.paneling import PANEL, outdated
from judge.runs.scoring import judged
from judge.runs.store import RunStore, StoredUnit, benchmark_of, open_run
from judge.sensitivity.settings import SAME, axis, differing
from judge.settings import JudgeSpec, RunSpec

#: Of the draws for intervals, and how many.
SEED, RESAMPLES = 20251130, 2000

JudgeKind = Literal["model", "person", "panel", "imported"]


@dataclass(frozen=True, slots=True)
class Judge:
    """A judge, the same in every run in which it has this name here.

    Attributes:
        name: as shown; a judge with other settings under the same name has another one.
        kind: where its labels are from; of imported ones it is not known whether a person gave them.
        spec: its settings; None where there are none.
        members: of a panel.
    """

    name: str
    kind: JudgeKind
    spec: JudgeSpec | None = None
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """One run: a model under test, and what judges said of its outputs.

    Attributes:
        name: of the model, with the folder where several runs are of models with the same name.
        said: judge -> unit key -> what it said.
        facts: judge -> what the run knows of it.
        outdated: panels whose judges have said something else since.
    """

    name: str
    folder: Path
    spec: RunSpec
    benchmark: JudgedBenchmark
    cases: Mapping[str, Case]
    units: tuple[StoredUnit, ...]
    said: Mapping[str, Mapping[str, UnitJudgements]]
    facts: Mapping[str, Mapping[str, Any]]
    outdated: tuple[str, ...] = ()

    @cached_property
    def clusters(self) -> dict[str, str]:
        """Unit key -> cluster."""
        return {stored.unit.key: self.cases[stored.unit.case].cluster for stored in self.units}

    @cached_property
    def cluster_of_case(self) -> dict[str, str]:
        """Case id -> cluster."""
        return {case.id: case.cluster for case in self.cases.values()}

    def within(self, setting: str) -> list[StoredUnit]:
        """The units of a setting."""
        return [stored for stored in self.units if stored.unit.setting == setting]

    def metrics(self, setting: str) -> tuple[Metric, ...]:
        """The judged metrics of a setting, not signed by any judge."""
        return self.benchmark.judged_metrics(setting, self.spec.options)

    def signed(self, metric: Metric, judge: str) -> Metric:
        return signed(metric, self.facts[judge], splitters_of(self.said[judge]))

    @cached_property
    def outcomes(self) -> dict[str, dict[str, Mapping[str, Outcome]]]:
        """Judge -> unit key -> metric -> outcome, for every unit; without metrics that are not defined for its case."""
        return {
            judge: {stored.unit.key: self.outcome(stored, said.get(stored.unit.key)) for stored in self.units}
            for judge, said in self.said.items()
        }

    def outcome(self, stored: StoredUnit, said: UnitJudgements | None) -> Mapping[str, Outcome]:
        """What one unit gets by what is said of it; metrics that are not defined for its case are left out."""
        record, setting = self.cases[stored.unit.case].record, stored.unit.setting
        found = self.benchmark.score_judged(record, setting, self.spec.options, said or UnitJudgements())
        return found if said is not None else {metric: Unscored(NOT_JUDGED) for metric in found}

    def about(self, setting: str, metric: str, judge: str) -> dict[str, Outcome]:
        """Unit key -> outcome by a judge, for the units of a setting that the metric is defined for."""
        found = ((stored.unit.key, self.outcomes[judge][stored.unit.key].get(metric))
                 for stored in self.within(setting))  # fmt: skip
        return {unit: outcome for unit, outcome in found if outcome is not None}

    def rated(self, setting: str, metric: str, judge: str) -> dict[str, Outcome]:
        """As `about`, for the units in which the judge was asked for what the metric needs."""
        found = self.about(setting, metric, judge).items()
        return {unit: out for unit, out in found if not isinstance(out, Unscored) or out.reason != NOT_JUDGED}

    def values(self, setting: str, metric: str, judge: str) -> dict[str, float]:
        """Unit key -> value, for the units that have one."""
        found = self.about(setting, metric, judge).items()
        return {unit: outcome.value for unit, outcome in found if isinstance(outcome, Scored)}

    def by_case(self, values: Mapping[str, float]) -> dict[str, float]:
        """Case id -> mean of its units' values."""
        sums: dict[str, list[float]] = {}
        for unit, value in values.items():
            sums.setdefault(self.case_of[unit], []).append(value)
        return {case: sum(of_case) / len(of_case) for case, of_case in sums.items()}

    @cached_property
    def case_of(self) -> dict[str, str]:
        """Unit key -> case id."""
        return {stored.unit.key: stored.unit.case for stored in self.units}

    @cached_property
    def refused(self) -> dict[tuple[str, frozenset[str]], str]:
        """Metric and pair of judges -> why the metric is not compared between them, where it is not."""
        every = [*refusals(self.said), *other_texts(self.facts), *self._other_sources()]
        return {(one.metric, frozenset(one.judges)): one.why for one in every}

    def _other_sources(self) -> Iterator[Refused]:
        """As `other_texts`, by what is known of the units: panels have no settings of their own."""
        sources = {judge: {one.facts["source"] for one in of.values() if "source" in one.facts}
                   for judge, of in self.said.items()}  # fmt: skip
        for a, b in combinations(sources, 2):
            if sources[a] and sources[b] and sources[a] != sources[b]:
                told = " and ".join(", ".join(sorted(sources[judge])) for judge in (a, b))
                yield from (Refused(metric.name, (a, b), f"they judged {told}") for metric in REASONING)


@dataclass(frozen=True, slots=True)
class Material:
    """Everything that is compared.

    Attributes:
        people: names of the judges that are people, known or said to be.
        force: whether what is not comparable is compared all the same.
        families: names of models, candidates and judges that are said to be of one family.
    """

    benchmark: Benchmark
    candidates: tuple[Candidate, ...]
    judges: Mapping[str, Judge]
    people: frozenset[str]
    force: bool = False
    families: tuple[tuple[str, ...], ...] = ()

    @property
    def voters(self) -> tuple[str, ...]:
        """The judges that are neither people nor panels."""
        return tuple(name for name, one in self.judges.items() if name not in self.people and one.kind != "panel")

    def repeated(self) -> list[tuple[str, ...]]:
        """Names of one judge, for every judge: those with equal settings are one, asked several times."""
        found: list[list[str]] = []
        for name, one in self.judges.items():
            for names in found:
                if all(axis(one.spec, self.judges[other].spec) == SAME for other in names):
                    names.append(name)
                    break
            else:
                found.append([name])
        return [tuple(names) for names in found]

    @property
    def settings(self) -> tuple[str, ...]:
        """Of all runs, in order."""
        return tuple(dict.fromkeys(setting for one in self.candidates for setting in one.spec.settings))

    def within(self, setting: str) -> Iterator[tuple[Candidate, Metric]]:
        """Every metric of a setting, for every run that has it."""
        here = [one for one in self.candidates if setting in one.spec.settings]
        metrics = {metric.name: metric for one in here for metric in one.metrics(setting)}
        for metric in metrics.values():
            yield from ((one, metric) for one in here if metric.name in {own.name for own in one.metrics(setting)})

    def refused(self, candidate: Candidate, metric: str, pair: Iterable[str]) -> str:
        """Why a metric is not compared between two judges; empty where it is."""
        return "" if self.force else candidate.refused.get((metric, frozenset(pair)), "")


def load(
    folders: Sequence[Path],
    judges: Sequence[str],
    people: Sequence[str],
    *,
    force: bool = False,
    families: Sequence[Sequence[str]] = (),
) -> Material:
    """Read runs and what judges said of them.

    Args:
        judges: names; empty for all.
        people: names of judges that are people, besides those known to be.
        families: names of models, candidates and judges that are of one family.

    Raises:
        RunError: a folder is no run, the runs are not of the same cases, or there is nothing to compare.
        SpecError: a name is not there, or the benchmark has no judged metrics.
    """
    stores = opened(folders)
    try:
        benchmark = benchmark_of(stores[0])
        check_same_data(stores, force=force)
        known = [store.judging.judges() for store in stores]
        cases = [store.cases() for store in stores]
        names = _names(known, [store.folder for store in stores], [frozenset(of_run) for of_run in cases])
        chosen = _chosen(names, judges)
        models = model_names([store.spec() for store in stores], [store.folder for store in stores])
        candidates = [
            _candidate(
                store, judged(benchmark), model, of_run, {own: shown for own, shown in named.items() if shown in chosen}
            )
            for store, model, of_run, named in zip(stores, models, cases, names, strict=True)
        ]
    finally:
        for store in stores:
            store.close()
    found = {shown: _judge(shown, of_run[own]) for of_run, named in zip(known, names, strict=True)
             for own, shown in named.items() if shown in chosen}  # fmt: skip
    kin = _families(found, candidates, families)
    return Material(benchmark, tuple(candidates), found, _people(found, people), force, kin)


def opened(folders: Sequence[Path]) -> list[RunStore]:
    """The runs, each once; the folder that was given twice is named."""
    twice = [folder for folder, count in Counter(folder.resolve() for folder in folders).items() if count > 1]
    if twice:
        raise SpecError(f"{twice[0]} was given twice; name each run once")
    stores: list[RunStore] = []
    try:
        for folder in folders:
            stores.append(open_run(folder, write=False))
    except RunError:
        for store in stores:
            store.close()
        raise
    return stores


def check_same_data(stores: Sequence[RunStore], *, force: bool = False) -> None:
    """Refuse runs that are not of the same cases.

    Args:
        force: let other data of the same benchmark pass.

    Raises:
        RunError: the first of them that differs, and in what.
    """
    first = stores[0].spec()
    for store in stores[1:]:
        spec = store.spec()
        if spec.benchmark != first.benchmark:
            raise RunError(
                f"{stores[0].folder} is a run of {first.benchmark}, {store.folder} one of {spec.benchmark}; "
                "name runs of one benchmark"
            )
        if spec.data_hash != first.data_hash and not force:
            raise RunError(
                f"{stores[0].folder} and {store.folder} were made from other data files of {first.benchmark} "
                f"(hash {first.data_hash[:8]} and {spec.data_hash[:8]}), so that the same id may be another case; "
                "--force compares them all the same"
            )


def model_names(specs: Sequence[RunSpec], folders: Sequence[Path]) -> list[str]:
    """Names of the models under test, no two alike: with as much of the folder's path as tells them apart."""
    return _told_apart([spec.model.name for spec in specs], folders)


def _told_apart(plain: Sequence[str], folders: Sequence[Path], taken: Collection[str] = ()) -> list[str]:
    """Names, no two alike: with as much of the folder's path as tells them apart.

    Args:
        taken: names that are none of these.
    """
    named = list(plain)
    for depth in (1, 2, max(len(folder.resolve().parts) for folder in folders)):
        named = [
            f"{name} ({'/'.join(folder.resolve().parts[-depth:])})" if named.count(shown) > 1 or shown in taken
            else shown
            for name, shown, folder in zip(plain, named, folders, strict=True)
        ]  # fmt: skip
    return named


def _candidate(
    store: RunStore, benchmark: JudgedBenchmark, name: str, cases: Mapping[str, Case], judges: Mapping[str, str]
) -> Candidate:
    facts, spec = store.judging.judges(), store.spec()
    return Candidate(
        name=name,
        folder=store.folder,
        spec=spec,
        benchmark=benchmark,
        cases=cases,
        units=tuple(store.units(with_transcripts=spec.epochs > 1)),
        said={shown: store.judging.judged(own) for own, shown in judges.items()},
        facts={shown: facts[own] for own, shown in judges.items()},
        outdated=tuple(shown for own, shown in judges.items() if outdated(store, own)),
    )


# -- who judges --------------------------------------------------------------------------------------------------------


def _names(
    known: Sequence[Mapping[str, Mapping[str, Any]]], folders: Sequence[Path], cases: Sequence[frozenset[str]]
) -> list[dict[str, str]]:
    """For each run, own name of a judge -> the name shown: judges with one name but other settings have several."""
    every = set().union(*known)
    shown: list[dict[str, str]] = [{} for _ in known]
    for own in every:
        runs = [run for run, of_run in enumerate(known) if own in of_run]
        named = [own] * len(runs)
        if not all(
            same_judge(own, known[a], known[b], same_cases=cases[a] == cases[b]) for a, b in combinations(runs, 2)
        ):
            named = _told_apart(named, [folders[run] for run in runs], every)
        for run, name in zip(runs, named, strict=True):
            shown[run][own] = name
    return [{own: names[own] for own in of_run} for names, of_run in zip(shown, known, strict=True)]


def same_judge(
    name: str, known: Mapping[str, Mapping[str, Any]], others: Mapping[str, Mapping[str, Any]], *, same_cases: bool
) -> bool:
    """Whether a judge is the same in two runs; of imported labels only the name is known.

    Panels are the same if their rule is, and all their judges are.

    Args:
        known, others: what either run knows of all its judges, this one among them.
        same_cases: of the runs; if not, hashes over the reference steps of all cases differ anyway.
    """
    a, b = known[name], others[name]
    if ("spec" in a) != ("spec" in b) or a.get("source") != b.get("source"):
        return False
    if a.get("source") == PANEL:
        alike = a["rule"] == b["rule"] and set(a["judges"]) == set(b["judges"])
        return alike and all(same_judge(one, known, others, same_cases=same_cases) for one in a["judges"])
    if "spec" not in a:
        return True
    ours, theirs = JudgeSpec.model_validate(a["spec"]), JudgeSpec.model_validate(b["spec"])
    if not same_cases and ours.reference == theirs.reference:
        theirs = theirs.model_copy(update={"reference_hash": ours.reference_hash})
    return not differing(ours, theirs)


def _judge(name: str, facts: Mapping[str, Any]) -> Judge:
    source = facts.get("source")
    if "spec" in facts:
        return Judge(name, "model", JudgeSpec.model_validate(facts["spec"]))
    if source == PANEL:
        return Judge(name, "panel", members=tuple(facts["judges"]))
    return Judge(name, "person" if source == PERSON else "imported")


def _chosen(names: Sequence[Mapping[str, str]], wanted: Sequence[str]) -> set[str]:
    there = dict.fromkeys(shown for of_run in names for shown in of_run.values())
    if not there:
        raise RunError("none of these runs has been judged; do so with medjudge judge or medjudge import-judgements")
    if not wanted:
        return set(there)
    own = {(own, shown) for of_run in names for own, shown in of_run.items()}
    for name in wanted:
        if not any(name in pair for pair in own):
            raise SpecError(f"--judges: no judge is named {name!r}; there are: {', '.join(there)}")
    return {shown for own_name, shown in own if {own_name, shown} & set(wanted)}


def _people(judges: Mapping[str, Judge], said: Sequence[str]) -> frozenset[str]:
    for name in said:
        if name not in judges or judges[name].kind not in ("person", "imported"):
            there = ", ".join(one.name for one in judges.values() if one.kind in ("person", "imported")) or "none"
            raise SpecError(f"--people: there are no labels by a person named {name!r}; there may be: {there}")
    return frozenset({*said, *(one.name for one in judges.values() if one.kind == "person")})


def _families(
    judges: Mapping[str, Judge], candidates: Sequence[Candidate], said: Sequence[Sequence[str]]
) -> tuple[tuple[str, ...], ...]:
    specs = [*(one.spec for one in candidates), *(one.spec for one in judges.values())]
    models = [spec.model.name for spec in specs if spec is not None]
    there = dict.fromkeys([*models, *(one.name for one in candidates), *judges])
    known = {name.casefold() for name in there}
    for family in said:
        if unknown := [name for name in family if name.casefold() not in known]:
            raise SpecError(f"--family: no model or judge is named {unknown[0]!r}; there are: {', '.join(there)}")
        if len(family) < 2:
            raise SpecError(f"--family {family[0]}: a family has at least two names, separated by commas")
    return tuple(map(tuple, said))
