"""A run as logs of Inspect, one for each setting, written without its library.

The layout is that of its log format, version 2 (``inspect_ai.log.EvalLog``), as release 0.3.285 reads it, in a file
``.eval``: a ZIP archive with a member for each sample, of which its viewer reads only what it shows.
"""

from __future__ import annotations

import json
import math
import re
import zipfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from judge.benchmark import PENDING
from judge.exports.inspect_sample import JSONObject, Usages, identifier, sample_of, scorer_name, summary_of, utc
from judge.exports.source import ScoredUnit, Source
from judge.models.exchange import clean
from judge.outcome import ERROR_REASONS
from judge.runs.store import StoredUnit
from judge.settings import Generation, ModelSpec

VERSION = 2


def write_inspect(source: Source, folder: Path) -> list[str]:
    """One log for each setting, so that no reader pools them; every unit of the run is a sample."""
    settings = dict.fromkeys(stored.unit.setting for stored in source.units)
    return [_write_log(source, setting, folder) for setting in settings]


def _write_log(source: Source, setting: str, folder: Path) -> str:
    units = [stored for stored in source.units if stored.unit.setting == setting]
    scores, usage = _scores_by_unit(source, setting), Usages()
    name = _file_name(source, setting)
    with zipfile.ZipFile(folder / name, "w") as archive:
        summaries = []
        for stored in units:
            sample = sample_of(source, stored, scores[stored.unit.key], usage)
            _add(archive, f"samples/{sample['id']}_epoch_{sample['epoch']}.json", sample)
            summaries.append(summary_of(sample))
        start = {"version": VERSION, "eval": _eval(source, setting, units), "plan": _plan(source)}
        _add(archive, "_journal/start.json", start)
        _add(archive, "summaries.json", summaries)
        _add(
            archive,
            "header.json",
            {
                "status": "success" if source.complete else "cancelled",
                **start,
                "results": _results(source, setting, units),
                "stats": _stats(source, units, usage),
            },
        )
    return name


def _add(archive: zipfile.ZipFile, name: str, value: Any) -> None:
    """Add JSON as Inspect reads it: NaN is a number, and a lone surrogate no character; no time of writing is kept."""
    text = clean(json.dumps(value, ensure_ascii=False, default=str))
    archive.writestr(zipfile.ZipInfo(clean(name)), text, zipfile.ZIP_DEFLATED)


# -- what was evaluated ----------------------------------------------------------------------------------------------


def _file_name(source: Source, setting: str) -> str:
    """``<time>_<task>_<id>.eval``: by this form Inspect knows its logs."""
    task = re.sub(r"[^A-Za-z0-9]+", "-", f"{source.benchmark.name}-{setting}").strip("-")
    return f"{utc(source.created).replace(':', '-')}_{task}_{identifier(source, setting)}.eval"


def _eval(source: Source, setting: str, units: Sequence[StoredUnit]) -> JSONObject:
    spec = source.spec
    ids = list(dict.fromkeys(stored.unit.case for stored in units))
    return {
        "eval_id": identifier(source, setting),
        "run_id": identifier(source),
        "created": utc(source.created),
        "task": f"{spec.benchmark}/{setting}",
        "task_id": identifier(source, "task", setting),
        "task_display_name": f"{source.benchmark.title}, {setting}",
        "task_args": {"setting": setting} | {name: spec.options[name] for name in spec.options if name != "setting"},
        "dataset": {"name": spec.benchmark, "samples": len(ids), "sample_ids": ids, "shuffled": False},
        "model": spec.model.text,
        "model_generate_config": _generation(spec.generation),
        "model_base_url": spec.model.base_url or None,
        "model_args": {},
        "model_roles": {role: _model(model) for role, model in spec.others.items()} or None,
        "config": {"limit": spec.limit, "epochs": spec.epochs, "epochs_reducer": ["mean"]},
        "packages": {"medjudge": source.facts().get("versions", {}).get("medjudge", "")},
        "metadata": {
            "run": source.name,
            "setting": setting,
            "spec": source.settings(),
            "facts": source.facts(),
            "judges": source.judge_facts(),
        },
        "scorers": [
            {"name": scorer_name(judge, metric.name), "metadata": {"signature": metric.signature}}
            for judge, metric in source.metrics(setting)
        ],
        "viewer": {"trust_content": False},  # a model's words are shown, never rendered
    }


def _plan(source: Source) -> JSONObject:
    return {"name": "plan", "steps": [], "config": _generation(source.spec.generation)}


def _generation(generation: Generation) -> JSONObject:
    fields = {"temperature": generation.temperature, "max_tokens": generation.max_tokens}
    found: JSONObject = {name: value for name, value in fields.items() if value is not None}
    return found | ({"extra_body": generation.extra_body} if generation.extra_body else {})


def _model(model: ModelSpec) -> JSONObject:
    return {"model": model.text, "config": {}, "base_url": model.base_url or None, "args": {}}


# -- numbers ---------------------------------------------------------------------------------------------------------


def _results(source: Source, setting: str, units: Sequence[StoredUnit]) -> JSONObject:
    reports = {
        judge: next(found for found in report["settings"] if found["setting"] == setting)
        for judge, report in source.reports.items()
    }
    return {
        "total_samples": len(units),
        "completed_samples": sum(stored.status not in (PENDING, *ERROR_REASONS) for stored in units),
        "scores": [
            _result(scorer_name(judge, metric.name), reports[judge]["metrics"][metric.name])
            for judge, metric in source.metrics(setting)
        ],
        "metadata": {
            "warnings": source.warnings(),
            "statuses": reports[None]["statuses"],
            "flags": reports[None]["flags"],
        },
    }


def _result(name: str, summary: Mapping[str, Any]) -> JSONObject:
    """A metric over the setting; what cannot be computed is NaN.

    Every metric has the same fields, since the viewer makes a table of those that do and shows one of the tables.
    """
    low, high = summary["interval"] or (None, None)
    lowest, highest = summary["bounds"] or (None, None)
    values = {
        "mean": summary["mean"],
        "stderr": summary["se"],
        "ci95_low": low,
        "ci95_high": high,
        "bound_low": lowest,
        "bound_high": highest,
    }
    shown = ("title", "signature", "n_cases", "n_clusters", "n_empty", "unscored", "maximum")
    return {
        "name": name,
        "scorer": name,
        "scored_samples": summary["n_scored"],
        "unscored_samples": summary["n_unscored"],
        "params": {},
        "metrics": {key: {"name": key, "value": math.nan if value is None else value} for key, value in values.items()},
        "metadata": {key: summary[key] for key in shown},
    }


def _scores_by_unit(source: Source, setting: str) -> Mapping[str, list[ScoredUnit]]:
    found: dict[str, list[ScoredUnit]] = defaultdict(list)
    for score in source.scores:
        if score.stored.unit.setting == setting:
            found[score.stored.unit.key].append(score)
    return found


def _stats(source: Source, units: Sequence[StoredUnit], usage: Usages) -> JSONObject:
    ends = [end for stored in units if (end := source.finished.get(stored.unit.key)) is not None]
    return {"started_at": utc(source.created), "completed_at": utc(max(ends, default=source.created)),
            "model_usage": usage.of("model"), "role_usage": usage.of("role")}  # fmt: skip
