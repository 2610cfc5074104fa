"""A run as logs of Inspect, one for each setting, written without its library.

The layout is that of its log format, version 2 (``inspect_ai.log.EvalLog``), as release 0.3.285 reads it. What has no
score is what `Score.unscored` makes there: the value NaN, which its metrics and reducers skip, and the reason.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from judge.benchmark import PENDING, Case, ModelJudgedBenchmark, Transcript
from judge.exports.source import ScoredUnit, Source
from judge.models.exchange import Exchange, clean
from judge.models.reply import CUT, Reply, read_completion
from judge.outcome import ERROR_REASONS, Scored
from judge.runs.store import StoredUnit
from judge.settings import Generation, ModelSpec

VERSION = 2

#: Headings under which benchmarks describe the right answer; see `Benchmark.describe`.
TARGETS = frozenset({"correct", "reference"})

JSONObject = dict[str, Any]


def write_inspect(source: Source, folder: Path) -> list[str]:
    """One log for each setting, so that no reader pools them; every unit of the run is a sample."""
    settings = dict.fromkeys(stored.unit.setting for stored in source.units)
    return [_write_log(source, setting, folder) for setting in settings]


def _write_log(source: Source, setting: str, folder: Path) -> str:
    units = [stored for stored in source.units if stored.unit.setting == setting]
    scores, usage = _scores_by_unit(source, setting), Usages()
    samples = [_sample(source, stored, scores[stored.unit.key], usage) for stored in units]
    log = {
        "version": VERSION,
        "status": "success" if source.complete else "cancelled",
        "eval": _eval(source, setting, units),
        "plan": {"name": "plan", "steps": [], "config": _generation(source.spec.generation)},
        "results": _results(source, setting, units),
        "stats": _stats(source, usage),
        "samples": samples,  # last: readers that want the head only stop here
    }
    name = _file_name(source, setting)
    (folder / name).write_text(f"{_dump(log)}\n", encoding="utf-8", newline="\n")
    return name


def _dump(value: Any) -> str:
    """JSON as Inspect reads it: NaN is a number, and a lone surrogate no character."""
    return clean(json.dumps(value, ensure_ascii=False, default=str))


# -- what was evaluated ----------------------------------------------------------------------------------------------


def _id(source: Source, *parts: str) -> str:
    """The same run gives the same ids every time."""
    text = "\n".join((source.spec.nonce, source.name, *parts))
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()[:22]


def _created(source: Source) -> time.struct_time:
    return time.gmtime(float(source.store.meta("created") or 0))


def _file_name(source: Source, setting: str) -> str:
    """``<time>_<task>_<id>.json``: by this form Inspect knows its logs."""
    task = re.sub(r"[^A-Za-z0-9]+", "-", f"{source.benchmark.name}-{setting}").strip("-")
    return f"{time.strftime('%Y-%m-%dT%H-%M-%S+00-00', _created(source))}_{task}_{_id(source, setting)}.json"


def _eval(source: Source, setting: str, units: Sequence[StoredUnit]) -> JSONObject:
    spec = source.spec
    ids = list(dict.fromkeys(stored.unit.case for stored in units))
    return {
        "eval_id": _id(source, setting),
        "run_id": _id(source),
        "created": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", _created(source)),
        "task": f"{spec.benchmark}/{setting}",
        "task_id": _id(source, "task", setting),
        "task_display_name": f"{source.benchmark.title}, {setting}",
        "task_args": {"setting": setting, **spec.options},
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
            {"name": _scorer(judge, metric.name), "metadata": {"signature": metric.signature}}
            for judge, metric in source.metrics(setting)
        ],
    }


def _generation(generation: Generation) -> JSONObject:
    fields = {"temperature": generation.temperature, "max_tokens": generation.max_tokens}
    found: JSONObject = {name: value for name, value in fields.items() if value is not None}
    return found | ({"extra_body": generation.extra_body} if generation.extra_body else {})


def _model(model: ModelSpec) -> JSONObject:
    return {"model": model.text, "config": {}, "base_url": model.base_url or None, "args": {}}


def _scorer(judge: str | None, metric: str) -> str:
    return metric if judge is None else f"{metric}@{judge}"


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
            _result(_scorer(judge, metric.name), reports[judge]["metrics"][metric.name])
            for judge, metric in source.metrics(setting)
        ],
        "metadata": {
            "warnings": source.warnings(),
            "statuses": reports[None]["statuses"],
            "flags": reports[None]["flags"],
        },
    }


def _result(name: str, summary: Mapping[str, Any]) -> JSONObject:
    """A metric over the setting; what cannot be computed is left out."""
    lower, upper = summary["interval"] or (None, None)
    lowest, highest = summary["bounds"] or (None, None)
    values = {
        "mean": summary["mean"],
        "stderr": summary["se"],
        "interval_lower": lower,
        "interval_upper": upper,
        "mean_if_unscored_lowest": lowest,
        "mean_if_unscored_highest": highest,
    }
    shown = ("title", "signature", "n_cases", "n_clusters", "n_empty", "unscored", "maximum")
    return {
        "name": name,
        "scorer": name,
        "scored_samples": summary["n_scored"],
        "unscored_samples": summary["n_unscored"],
        "params": {},
        "metrics": {key: {"name": key, "value": value} for key, value in values.items() if value is not None},
        "metadata": {key: summary[key] for key in shown},
    }


def _scores_by_unit(source: Source, setting: str) -> Mapping[str, list[ScoredUnit]]:
    found: dict[str, list[ScoredUnit]] = defaultdict(list)
    for score in source.scores:
        if score.stored.unit.setting == setting:
            found[score.stored.unit.key].append(score)
    return found


def _score(score: ScoredUnit, answer: str | None) -> JSONObject:
    outcome, metadata = score.outcome, {"signature": score.metric.signature, "title": score.metric.title}
    if isinstance(outcome, Scored):
        why = f"{score.metric.title}: {score.metric.signature}"
        where = "" if score.judge is None else f"; labels and reasons by {score.judge} are in the sample's metadata"
        return {"value": outcome.value, "answer": answer, "explanation": why + where,
                "metadata": metadata | {"empty": outcome.empty}}  # fmt: skip
    return {
        "value": float("nan"),
        "answer": answer,
        "explanation": f"not scored: {outcome.reason}" + (f" ({outcome.detail})" if outcome.detail else ""),
        "reason": outcome.reason,
        "metadata": metadata | {"unscored_reason": outcome.reason},
    }


# -- samples ---------------------------------------------------------------------------------------------------------


def _sample(source: Source, stored: StoredUnit, scores: Sequence[ScoredUnit], usage: Usages) -> JSONObject:
    case, unit = source.cases[stored.unit.case], stored.unit
    transcript = stored.transcript or Transcript(stored.status, stored.detail)
    described = source.benchmark.describe(case.record, transcript)
    exchanges = source.store.exchanges(unit)
    own = Usages()
    for exchange in exchanges:
        own.add(exchange)
        usage.add(exchange)
    last = _last_answer(exchanges) if stored.transcript is not None else None
    reply = read_completion(last.response) if last is not None else None
    messages = _messages(transcript, last, reply)
    answer = _answer(transcript)
    error = f"{stored.status}: {stored.detail}" if stored.status in ERROR_REASONS else None
    return {
        "id": unit.case,
        "epoch": unit.epoch,
        "input": _input(messages) or "\n\n".join(f"{heading}\n{text}" for heading, text in described[:1]),
        "target": next((text for heading, text in described if heading in TARGETS), ""),
        "messages": messages,
        "output": _output(last, reply),
        "scores": {_scorer(score.judge, score.metric.name): _score(score, answer) for score in scores},
        "metadata": _metadata(source, stored, case),
        "store": {},
        "events": [],
        "model_usage": own.of("model"),
        "role_usage": own.of("role"),
        "uuid": _id(source, unit.key),
        "error": {"message": error, "traceback": "", "traceback_ansi": ""} if error else None,
        "attachments": {},
    }


def _last_answer(exchanges: Sequence[Exchange]) -> Exchange | None:
    """What the doctor said last."""
    return next((one for one in reversed(exchanges) if one.role == "doctor" and one.completed), None)


def _metadata(source: Source, stored: StoredUnit, case: Case) -> JSONObject:
    return {
        "status": stored.status,
        "detail": stored.detail,
        "flags": list(stored.flags),
        "setting": stored.unit.setting,
        "cluster": case.cluster,
        "case": dict(case.record),
        "judgements": {
            judge: dict(text) for judge in source.judges if (text := _judgements(source, stored, judge)) is not None
        },
    }


def _judgements(source: Source, stored: StoredUnit, judge: str) -> list[tuple[str, str]] | None:
    """What a judge said, for a person; the rows themselves where the benchmark has no words for them."""
    said = source.said(judge).get(stored.unit.key)
    if said is None:
        return None
    if isinstance(source.benchmark, ModelJudgedBenchmark):
        return source.benchmark.describe_judgements(said)
    return [("labels", json.dumps(said.view.to_rows(), ensure_ascii=False))]


def _answer(transcript: Transcript) -> str | None:
    answer = transcript.data.get("answer")
    if answer is None or isinstance(answer, str):
        return answer
    return ", ".join(map(str, answer)) if isinstance(answer, list) else json.dumps(answer, ensure_ascii=False)


_ROLES = frozenset({"system", "user", "assistant"})


def _messages(transcript: Transcript, last: Exchange | None, reply: Reply | None) -> list[JSONObject]:
    """The conversation: the transcript's, else that of the last call; it ends with the doctor's last reply."""
    said = transcript.data.get("messages") or (last.body.get("messages") if last is not None else None)
    messages = [
        {"role": message["role"], "content": content}
        for message in (said if isinstance(said, list) else [])
        if isinstance(message, Mapping) and message.get("role") in _ROLES
        if isinstance(content := message.get("content"), str)
    ]
    if reply is not None and (not messages or messages[-1]["role"] != "assistant"):
        messages.append(_spoken(reply))
    return messages


def _spoken(reply: Reply) -> JSONObject:
    """A reply as a message; thinking stands apart from the answer."""
    if not reply.thinking:
        return {"role": "assistant", "content": reply.text}
    parts = [{"type": "reasoning", "reasoning": reply.thinking}, {"type": "text", "text": reply.text}]
    return {"role": "assistant", "content": parts}


def _input(messages: Sequence[JSONObject]) -> list[JSONObject]:
    """What the doctor was given before it first spoke."""
    first = next((at for at, message in enumerate(messages) if message["role"] == "assistant"), len(messages))
    return list(messages[:first])


def _output(last: Exchange | None, reply: Reply | None) -> JSONObject:
    if last is None or reply is None:
        return {}
    cut = reply.finish_reason.casefold() in CUT
    stop = "max_tokens" if cut else reply.finish_reason
    known = stop in ("stop", "max_tokens", "content_filter")
    choice = {"message": _spoken(reply), "stop_reason": stop if known else "unknown"}
    usage = Usages()
    usage.add(last)
    return {"model": last.model, "choices": [choice], "completion": reply.text, "time": last.seconds,
            "usage": usage.of("model").get(last.model)}  # fmt: skip


# -- tokens ----------------------------------------------------------------------------------------------------------


class Usages:
    """Tokens of exchanges by model and by role, as far as servers reported them."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], JSONObject] = {}

    def add(self, exchange: Exchange) -> None:
        """Count an exchange; one without a report is not counted as one that cost nothing."""
        usage = exchange.usage
        if usage.prompt is None and usage.completion is None:
            return
        prompt, completion, cached = usage.prompt or 0, usage.completion or 0, usage.cached or 0
        counts = {
            "input_tokens": max(prompt - cached, 0),  # there, what came from the server's cache is counted apart
            "output_tokens": completion,
            "total_tokens": prompt + completion,
            "input_tokens_cache_read": usage.cached,
            "reasoning_tokens": usage.reasoning,
        }
        for key in (("model", exchange.model), ("role", exchange.role)):
            sums = self._found.setdefault(key, {})
            for name, count in counts.items():
                if count is not None:
                    sums[name] = sums.get(name, 0) + count

    def of(self, what: str) -> JSONObject:
        """Name -> counts, by ``model`` or by ``role``."""
        return {name: dict(sums) for (kind, name), sums in self._found.items() if kind == what}


def _stats(source: Source, usage: Usages) -> JSONObject:
    created = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", _created(source))
    return {"started_at": created, "completed_at": "", "model_usage": usage.of("model"),
            "role_usage": usage.of("role")}  # fmt: skip
