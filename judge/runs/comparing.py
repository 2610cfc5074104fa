"""Models on the same cases: paired tests of every metric, on the cases that both of a pair have a score on.

P values are corrected for the number of tests in a setting, all metrics and pairs of models (Holm 1979).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any

from judge.benchmark import Benchmark
from judge.errors import RunError
from judge.runs.paneling import outdated
from judge.runs.scoring import metric_summary, score_units, scorer_of
from judge.runs.sides import NOT_ASKED, Side
from judge.runs.store import benchmark_of
from judge.sensitivity import over_cases
from judge.sensitivity.material import check_same_data, model_names, opened, same_judge
from judge.sensitivity.settings import differing
from judge.sensitivity.testing import LEVEL, at_floor
from judge.settings import JudgeSpec, differences_between
from judge.stats import Detectable, clusters_needed, detectable_difference, few_clusters, holm, paired

#: Of the draws for intervals and p values, and how many.
SEED, RESAMPLES = 20251201, 5000

#: Settings of a run that are told by the signatures, or that are what is compared.
_NOT_TOLD = ("model.", "settings ", "data_hash ", "limit ", "cases ", "prompts.", "tokenizer ")

#: Why one run may lack a metric that another has.
_HOW = "score all runs in the same way"


def compare_runs(
    folders: Sequence[Path],
    judge: str | None,
    wanted: Sequence[str],
    *,
    detect: float | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """Models on the same cases, as plain data.

    Args:
        judge: by whose judgements the judged metrics are; None leaves them out.
        wanted: names of metrics; empty for all.
        detect: a difference, above 0; also tell how many cases it would take to find it.
        force: compare metrics whose signatures differ, other data and another judge of the same name too.

    Raises:
        RunError: the runs cannot be compared, or nothing in them can.
    """
    if len(folders) < 2:
        raise RunError("one run has nothing to be compared with; name at least two")
    benchmark, sides = _read(folders, judge, force=force)
    settings = [name for name in sides[0].spec.settings if all(name in side.spec.settings for side in sides)]
    if not settings:
        told = "; ".join(f"{side.folder}: {', '.join(side.spec.settings)}" for side in sides)
        raise RunError(f"the runs have no setting in common ({told}), and settings are never compared with each other")
    refused = {} if force else {setting: _other_signatures(sides, setting) for setting in settings}
    _check_wanted(sides, settings, wanted)
    compared = [_setting(sides, setting, wanted, refused.get(setting, {}), detect) for setting in settings]
    if not any(entry["tests"] for entry in compared):
        whys = [f"{why}; --force compares all the same" for of in refused.values() for why in of.values()]
        why = whys[0] if whys else f"no metric is in all of them{_unjudged(judge)}"
        raise RunError(f"nothing in these runs can be compared: {why}")
    return {
        "benchmark": benchmark.name,
        "title": benchmark.title,
        "judge": judge,
        "seed": SEED,
        "resamples": RESAMPLES,
        "detect": detect,
        "models": [{"model": side.name, "folder": str(side.folder), "n_units": len(side.units)} for side in sides],
        "settings": compared,
        "not_comparable": [f"{setting}: {why}" for setting, of in refused.items() for why in of.values()],
        "notes": [*_notes(sides), *_lacking_notes(sides, settings, wanted), *over_cases(benchmark)],
        "forced": force,
    }


def _read(folders: Sequence[Path], judge: str | None, *, force: bool) -> tuple[Benchmark, list[Side]]:
    stores = opened(folders)
    try:
        check_same_data(stores, force=force)
        benchmark = benchmark_of(stores[0])
        names = model_names([store.spec() for store in stores], [store.folder for store in stores])
        sides = []
        for store, name in zip(stores, names, strict=True):
            scorer, cases, units = scorer_of(store, benchmark, judge), store.cases(), store.units()
            scores = score_units(scorer, cases, units)
            old = judge is not None and outdated(store, judge)
            judges = store.judging.judges()
            sides.append(Side(name, store.folder, store.spec(), scorer, cases, tuple(units), scores, judges, old))
    finally:
        for store in stores:
            store.close()
    if judge is not None and not force:
        _check_judge(sides, judge)
    return benchmark, sides


def _check_judge(sides: Sequence[Side], judge: str) -> None:
    """A judge of one name must be the same everywhere."""
    first, *others = sides
    for other in others:
        same_cases = first.cases.keys() == other.cases.keys()
        if not same_judge(judge, first.judges, other.judges, same_cases=same_cases):
            told = _differing(first.scorer.facts, other.scorer.facts)
            raise RunError(
                f"{judge} is not the same judge in {first.folder} and {other.folder} ({told}); "
                "--force compares all the same"
            )


def _differing(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    if "spec" in a and "spec" in b:
        found = differing(JudgeSpec.model_validate(a["spec"]), JudgeSpec.model_validate(b["spec"]))
        return f"other {', '.join(found)}"
    return "a model's judgements and labels from elsewhere, or panels of other judges"


def _other_signatures(sides: Sequence[Side], setting: str) -> dict[str, str]:
    """Metric -> why it is not compared, where its signatures differ."""
    first, *others = sides
    found = {}
    for name, metric in first.metrics(setting).items():
        for other in others:
            theirs = other.metrics(setting).get(name)
            if theirs is not None and theirs.signature != metric.signature:
                found[name] = (
                    f"{metric.title} is {metric.signature} in {first.folder} and {theirs.signature} in {other.folder}, "
                    "which are not the same number"
                )
    return found


def _check_wanted(sides: Sequence[Side], settings: Sequence[str], wanted: Sequence[str]) -> None:
    there = dict.fromkeys(name for setting in settings for name in _lacking(sides, setting))
    if unknown := [name for name in wanted if name not in there]:
        more = _unjudged(sides[0].scorer.judge)
        raise RunError(
            f"--metric {unknown[0]}: there is no such metric in these runs; there are: {', '.join(there)}{more}"
        )
    for name in wanted:
        gone = [lack for setting in settings if (lack := _lacking(sides, setting).get(name)) is not None]
        if all(gone):
            folders = ", ".join(str(side.folder) for side in sides if any(side in lack for lack in gone))
            raise RunError(f"--metric {name}: there is no such metric in {folders}, so it cannot be compared; {_HOW}")


def _unjudged(judge: str | None) -> str:
    return "; judged metrics are compared with --judge NAME only" if judge is None else ""


def _lacking(sides: Sequence[Side], setting: str) -> dict[str, list[Side]]:
    """Metric of any run -> the runs that lack it in this setting."""
    of_side = [side.metrics(setting) for side in sides]
    names = dict.fromkeys(name for metrics in of_side for name in metrics)
    return {name: [side for side, metrics in zip(sides, of_side, strict=True) if name not in metrics] for name in names}


def _lacking_notes(sides: Sequence[Side], settings: Sequence[str], wanted: Sequence[str]) -> Iterator[str]:
    """Which metrics are not compared because some run lacks them."""
    for setting in settings:
        names: dict[str, list[str]] = {}
        for name, gone in _lacking(sides, setting).items():
            if gone and (not wanted or name in wanted):
                names.setdefault(", ".join(side.name for side in gone), []).append(name)
        for models, lacked in names.items():
            yield f"{setting}: not compared, since there is no such metric for {models}: {', '.join(lacked)}; {_HOW}"


def _notes(sides: Sequence[Side]) -> list[str]:
    """What else differs between the runs than the model."""
    first, *others = sides
    notes = [
        f"the panel in {side.folder} was made before its judges said what they say now; make it again"
        for side in sides
        if side.outdated
    ]
    for other in others:
        found = [
            difference.replace(" in the run,", f" for {first.name},").replace(" here", f" for {other.name}")
            for difference in differences_between(first.spec, other.spec)
            if not difference.startswith(_NOT_TOLD)
        ]
        shared = first.spec.prompts.keys() & other.spec.prompts.keys()
        if any(first.spec.prompts[name] != other.spec.prompts[name] for name in shared):
            found.append(f"{first.name} and {other.name} were asked with other prompts")
        notes += found
        if gone := set(first.spec.settings) ^ set(other.spec.settings):
            notes.append(f"settings that not all runs have are left out: {', '.join(sorted(gone))}")
    return list(dict.fromkeys(notes))


# -- one setting -------------------------------------------------------------------------------------------------------


def _setting(
    sides: Sequence[Side], setting: str, wanted: Sequence[str], refused: Mapping[str, str], detect: float | None
) -> dict[str, Any]:
    names = [
        name
        for name, gone in _lacking(sides, setting).items()
        if not gone and name not in refused and (not wanted or name in wanted)
    ]
    tests = [test for name in names for test in _tests(sides, setting, name, detect)]
    adjusted = holm([test["p"] for test in tests])
    for test, p in zip(tests, adjusted.adjusted, strict=True):
        test["p_holm"] = p
    return {
        "setting": setting,
        "means": [_mean(side, setting, name) for name in names for side in sides],
        "tests": tests,
        "n_tests": adjusted.n,
        "n_unresolved": sum(test["p_is_least"] and test["p_holm"] >= LEVEL for test in tests),
        "unscored": [row for name in names for row in _unscored(sides, setting, name)],
    }


def _mean(side: Side, setting: str, name: str) -> dict[str, Any]:
    units = [stored.unit for stored in side.within(setting)]
    found = metric_summary(side.metrics(setting)[name], side.cases, units, side.scores)
    unasked = sum(count for reason, count in found.unscored.items() if reason in NOT_ASKED)
    return {"model": side.name, **asdict(found), "n_not_asked": unasked, "note": _few(found.n_clusters)}


def _few(n_clusters: int) -> str:
    return few_clusters(n_clusters) if n_clusters > 1 else ""


def _tests(sides: Sequence[Side], setting: str, name: str, detect: float | None) -> Iterator[dict[str, Any]]:
    """Every pair of models by one metric; nothing where neither has any score."""
    metric = sides[0].metrics(setting)[name]
    for a, b in combinations(sides, 2):
        given = {side.name: side.given(setting, name) for side in (a, b)}
        if not any(value is not None for of in given.values() for value in of.values()):
            continue
        clusters = {case.id: case.cluster for side in (a, b) for case in side.cases.values()}
        found = paired(given, clusters.__getitem__, seed=SEED, resamples=RESAMPLES)
        both = [(x, y, clusters[case]) for case, x in given[a.name].items()
                if x is not None and (y := given[b.name].get(case)) is not None]  # fmt: skip
        least = detectable_difference([x - y for x, y, _ in both], [cluster for _, _, cluster in both])
        yield {
            "metric": name,
            "title": metric.title,
            "signature": metric.signature,
            "range": metric.range,
            **asdict(found),
            "p_is_least": at_floor(found, RESAMPLES),
            **_without_score((a, b), setting, name, given),
            "detectable": asdict(least),
            "needed": None if detect is None else _needed(detect, least),
        }


def _without_score(
    pair: tuple[Side, Side], setting: str, name: str, given: Mapping[str, Mapping[str, float | None]]
) -> dict[str, Any]:
    """Cases that both were asked; and model -> cases that it left unscored, or was not asked while the other was."""
    first, second = (given[side.name] for side in pair)
    gone = {pair[0].name: second.keys() - first.keys(), pair[1].name: first.keys() - second.keys()}
    return {
        "n_both_asked": len(first.keys() & second.keys()),
        "n_unscored": {side.name: sum(value is None for value in given[side.name].values()) for side in pair},
        "n_not_asked": {side.name: side.not_asked(setting, name, gone[side.name]) for side in pair},
    }


def _needed(difference: float, found: Detectable) -> dict[str, Any]:
    """How many clusters, and cases in clusters of such a size, it takes to find a difference."""
    told = {"difference": difference, "power": found.power, "alpha": found.alpha, "reason": found.reason}
    if found.sd is None:
        return {**told, "n_clusters": None, "n_cases": None}
    clusters = clusters_needed(difference, found.sd, power=found.power, alpha=found.alpha)
    return {**told, "n_clusters": clusters, "n_cases": math.ceil(clusters * found.n / found.n_clusters)}


def _unscored(sides: Sequence[Side], setting: str, name: str) -> Iterator[dict[str, Any]]:
    """Pairs of models of which one left cases unscored that both were asked, compared over these."""
    title = sides[0].metrics(setting)[name].title
    for a, b in combinations(sides, 2):
        given = [side.given(setting, name) for side in (a, b)]
        shared = [case for case in given[0] if case in given[1]]
        gone = {side.name: {case: float(of[case] is None) for case in shared}
                for side, of in zip((a, b), given, strict=True)}  # fmt: skip
        counts = {model: int(sum(of.values())) for model, of in gone.items()}
        if any(counts.values()) and any(count < len(shared) for count in counts.values()):
            clusters = {case.id: case.cluster for case in a.cases.values()}
            compared = asdict(paired(gone, clusters.__getitem__, seed=SEED, resamples=RESAMPLES))
            yield {"metric": name, "title": title, "counts": counts, "n_cases": len(shared), "compared": compared}
