"""A run as one document of plain data: what the HTML report shows and `medjudge report --json` prints."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from judge.benchmark import Benchmark, Case
from judge.errors import RunError
from judge.judgements import UnitJudgements
from judge.outcome import Outcome
from judge.report.casedata import BUDGET, Browsed, Column, Material, browsed
from judge.report.corrections import Key, Labelled, correction_of, people_facts
from judge.report.cutoff import SIDES, by_side, sides
from judge.report.headlines import deciding, headlines, leading
from judge.report.inert import inert
from judge.report.methods import manifest, methods
from judge.report.prices import Prices, cost_of
from judge.report.served import served_models
from judge.report.tables import heading, judge_cost, unjudged
from judge.runs.comparable import Refused, other_texts, refusals
from judge.runs.scoring import Scorer, report_of, score_units, scorer_of, summarise
from judge.runs.store import RunStore, StoredUnit

#: Section of a setting's report -> heading of its table.
SECTIONS: Mapping[str, str] = {
    "summaries": "means of group means, and over scored cases",
    "metrics": "means over scored cases",
    "asides": "apart from all other numbers",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user asked for.

    Attributes:
        judges: names; empty for all that the run has.
        cutoff: results are also given before and after this day.
        prices: calls are also given as money.
        budget: bytes of the texts of all cases.
    """

    judges: tuple[str, ...] = ()
    cutoff: date | None = None
    prices: Prices | None = None
    budget: int = BUDGET


@dataclass(frozen=True, slots=True)
class View:
    """A run as scored by one judge, or without one (`judge` empty)."""

    judge: str
    scorer: Scorer
    scores: Mapping[str, Mapping[str, Outcome]]
    report: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Document:
    """Everything that a report shows.

    Attributes:
        facts: in JSON types, texts printable.
        cases: the case browser's data.
    """

    facts: dict[str, Any]
    cases: Browsed


def build_document(
    store: RunStore,
    benchmark: Benchmark,
    wanted: Wanted,
    *,
    sensitivity: Mapping[str, Any] | None = None,
    labelled: Labelled | None = None,
) -> Document:
    """Score a run by its judges and gather what a report shows; writes nothing.

    Args:
        sensitivity: as `judge.report.sensitivity.sensitivity_section` takes it.
        labelled: people's labels; they correct the means of the other judges.

    Raises:
        RunError: the run has no judge of a name.
        SpecError: a cut-off for cases without dates.
    """
    cases, units = store.cases(), store.units()
    found = sides(benchmark, cases, wanted.cutoff) if wanted.cutoff else {}
    views = [_view(store, benchmark, name, cases, units) for name in ("", *_judges(store, wanted.judges))]
    settings = [_setting(views, position) for position in range(len(views[0].report["settings"]))]
    _correct(settings, labelled or Labelled())
    said = {view.judge: view.scorer.said for view in views if view.judge}
    scores = {view.judge: view.scores for view in views}
    columns = [Column(row["judge"], row["metric"], row["title"]) for row in _columns(settings)]
    decided = deciding(columns, scores)
    material = Material(
        benchmark, cases, units, said, scores, columns, decided, leading(columns, decided, scores), found
    )
    facts = {
        **_head(store, benchmark, views),
        "headlines": headlines(settings, decided, units, scores, labelled.people if labelled else ()),
        "settings": settings,
        "people": people_facts(labelled or Labelled(), store.judging.judges(), list(said)),
        "not_comparable": [_refused(one) for one in _refusals(store, said)],
        "cutoff": _cutoff(views, cases, units, found, wanted.cutoff),
        "cost": cost_of(views[0].report["tokens"], wanted.prices).facts() if wanted.prices else None,
        "served": (served := served_models(store)),
        "methods": [
            *methods(benchmark, views[0].report, [view.report["judge"] for view in views[1:]]),
            *(sensitivity["methods"] if sensitivity else ()),
        ],
        "manifest": manifest(benchmark, [view.report for view in views], served),
        "deciding": [asdict(column) for column in decided],
        "sensitivity": sensitivity,
    }
    cases_shown = browsed(material, budget=wanted.budget)
    return Document(inert(facts), cases_shown)


def _judges(store: RunStore, names: Sequence[str]) -> list[str]:
    """The judges to show; RunError if there is none of a name."""
    there = list(store.judging.judges())
    for name in names:
        if name not in there:
            raise RunError(f"{store.folder} has no judgements by {name!r}; there are: {', '.join(there) or 'none'}")
    return list(dict.fromkeys(names)) or there


def _view(
    store: RunStore, benchmark: Benchmark, judge: str, cases: Mapping[str, Case], units: Sequence[StoredUnit]
) -> View:
    scorer = scorer_of(store, benchmark, judge or None)
    scores = score_units(scorer, cases, units)
    return View(judge, scorer, scores, report_of(store, scorer, summarise(scorer, cases, units, scores)))


def _head(store: RunStore, benchmark: Benchmark, views: Sequence[View]) -> dict[str, Any]:
    own = views[0].report
    return {
        "run": str(store.folder),
        "show": f"medjudge show {shlex.quote(str(store.folder))}",
        "benchmark": {key: getattr(benchmark, key) for key in ("name", "title", "about", "licence")},
        "flags": dict(benchmark.flags),
        "model": own["model"],
        "model_name": own["spec"]["model"]["name"],
        "state": own["state"],
        "heading": heading(own)[1:],
        "judges": [
            {"name": view.judge, "heading": heading(view.report)[2], "cost": judge_cost(view.report["judge"])}
            for view in views[1:]
        ],
        "warnings": list(_notes(views)),
        "tokens": own["tokens"],
        "n_units": sum(setting["n_units"] for setting in own["settings"]),
        "explanations": own["explanations"],
    }


def _notes(views: Sequence[View]) -> Iterator[dict[str, str]]:
    """What must stand beside the numbers; with a judge's name where that says nothing of whose numbers."""
    own = views[0].report["warnings"]
    yield from ({"text": note, "judge": ""} for note in own)
    for view in views[1:]:
        for note in view.report["warnings"]:
            if note not in own:
                yield {"text": note, "judge": "" if view.judge in note else view.judge}


def _refusals(store: RunStore, said: Mapping[str, Mapping[str, UnitJudgements]]) -> list[Refused]:
    judges = store.judging.judges()
    return [*refusals(said), *other_texts({name: judges[name] for name in said})]


def _refused(one: Refused) -> dict[str, Any]:
    sentence = f"{one.metric} by {one.judges[0]} and by {one.judges[1]} is not comparable: {one.why}"
    return {"metric": one.metric, "judges": list(one.judges), "sentence": sentence}


# -- results ---------------------------------------------------------------------------------------------------------


def _setting(views: Sequence[View], position: int) -> dict[str, Any]:
    """One setting: what counts without a judge, then what each judge adds."""
    own = views[0].report["settings"][position]
    scored = set(views[0].report["scored_statuses"])
    return {
        "setting": own["setting"],
        "n_cases": own["n_cases"],
        "n_units": own["n_units"],
        "statuses": [
            {"status": status, "count": count, "scored": status in scored} for status, count in own["statuses"].items()
        ],
        "flags": own["flags"],
        "blocks": [_block(view, view.report["settings"][position], own) for view in views],
        "epochs": [
            {"judge": view.judge, **row}
            for view in views
            for row in view.report["settings"][position]["epochs"]
            if not view.judge or row["metric"] not in own["metrics"]
        ],
    }


def _correct(settings: Sequence[Mapping[str, Any]], labelled: Labelled) -> None:
    """Put what people's labels make of it beside every judged mean."""
    rows: dict[Key, dict[str, Any]] = {
        (setting["setting"], row["metric"], row["judge"]): row
        for setting in settings
        for block in setting["blocks"]
        for row in block["tables"]["metrics"]
    }
    values = {key: row["n_scored"] for key, row in rows.items()}
    for key, row in rows.items():
        row["corrected"] = correction_of(key, labelled, values)


def _block(view: View, setting: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of one judge, or of none, without what stands in the block of none."""
    new = setting["metrics"] if not view.judge else _new(setting["metrics"], own["metrics"])
    shown = {name: row for name, row in new.items() if not unjudged(setting, name)}
    return {
        "judge": view.judge,
        "tables": {section: _rows(view, setting, own, section, shown) for section in SECTIONS},
        "not_judged": [row["title"] for name, row in new.items() if name not in shown],
        "breakdowns": [_breakdown(name, groups, shown) for name, groups in setting["by"].items()] if shown else [],
    }


def _new(rows: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row for name, row in rows.items() if name not in own}


def _rows(
    view: View, setting: Mapping[str, Any], own: Mapping[str, Any], section: str, shown: Mapping[str, Any]
) -> list[dict[str, Any]]:
    if section == "metrics":
        rows = dict(shown)
    else:
        rows = _new(setting[section], own[section]) if view.judge else dict(setting[section])
    ranges = {metric.name: metric.range for metric in view.scorer.metrics_in(setting["setting"])}
    return [
        {**row, "judge": view.judge, "range": _range(ranges, name, row), "n_units": row["n_scored"] + row["n_unscored"]}
        for name, row in rows.items()
    ]


def _range(ranges: Mapping[str, Any], name: str, row: Mapping[str, Any]) -> list[float] | None:
    """The range of a metric; a mean of group means has that of what it is a mean of, and shows it by its bounds."""
    found = ranges[name] if name in ranges else (0.0, 1.0) if row["bounds"] else None
    return list(found) if found else None


def _breakdown(
    name: str, groups: Sequence[Mapping[str, Any]], shown: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    return {
        "name": name,
        "titles": {metric: row["title"] for metric, row in shown.items()},
        "groups": [
            {
                "group": group["group"],
                "n_units": group["n_units"],
                "metrics": {metric: group["metrics"][metric] for metric in shown},
            }
            for group in groups
        ],
    }


def _columns(settings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every score that a unit may have, once, judge by judge and in report order."""
    rows = {
        (row["judge"], row["metric"]): row
        for setting in settings
        for block in setting["blocks"]
        for row in block["tables"]["metrics"]
    }
    judges = list(dict.fromkeys(["", *(judge for judge, _ in rows)]))
    return [row for _, row in sorted(rows.items(), key=lambda item: judges.index(item[0][0]))]


# -- before and after ------------------------------------------------------------------------------------------------


def _cutoff(
    views: Sequence[View],
    cases: Mapping[str, Case],
    units: Sequence[StoredUnit],
    found: Mapping[str, Any],
    cutoff: date | None,
) -> dict[str, Any] | None:
    if cutoff is None:
        return None
    counts = {side: sum(of == side for of in found.values()) for side in SIDES}
    tables = []
    for view in views:
        for setting, of_side in by_side(view.scorer, cases, units, view.scores, found).items():
            own = {metric.name for metric in views[0].scorer.metrics_in(setting)} if view.judge else set()
            tables.append({"judge": view.judge, "setting": setting, "rows": _side_rows(of_side, own)})
    return {
        "day": cutoff.isoformat(),
        "counts": counts,
        "words": dict(SIDES),
        "tables": [table for table in tables if table["rows"]],
    }


def _side_rows(of_side: Mapping[str, Mapping[str, Any]], own: set[str]) -> list[dict[str, Any]]:
    """One row a metric, its summaries by side; what no side has a value of is left out."""
    rows: dict[str, dict[str, Any]] = {}
    for side, summary in of_side.items():
        for name, metric in summary["metrics"].items():
            if name not in own:
                rows.setdefault(name, {"title": metric["title"], "sides": {}})["sides"][side] = metric
    return [row for row in rows.values() if any(metric["n_scored"] for metric in row["sides"].values())]
