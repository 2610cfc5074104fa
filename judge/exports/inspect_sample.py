"""A unit as a sample of Inspect: messages, scores, and every call to a model as an event.

What has no score is what `Score.unscored` makes there: the value NaN, which its metrics and reducers skip, and the
reason.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from judge.benchmark import PENDING, Case, ModelJudgedBenchmark, Transcript
from judge.exports.source import ScoredUnit, Source
from judge.models.exchange import Exchange
from judge.models.reply import CUT, Reply, read_completion
from judge.outcome import ERROR_REASONS, Scored
from judge.runs.store import StoredUnit

#: Headings under which benchmarks describe the right answer; see `Benchmark.describe`.
TARGETS = frozenset({"correct", "reference"})

#: Characters of an input in the list of samples.
SHORT = 1_000

JSONObject = dict[str, Any]


def identifier(source: Source, *parts: str) -> str:
    """The same run gives the same ids every time."""
    text = "\n".join((source.spec.nonce, source.name, *parts))
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()[:22]


def utc(seconds: float) -> str:
    """A time in seconds since 1970 as Inspect writes it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def scorer_name(judge: str | None, metric: str) -> str:
    return metric if judge is None else f"{metric}@{judge}"


def sample_of(source: Source, stored: StoredUnit, scores: Sequence[ScoredUnit], usage: Usages) -> JSONObject:
    """One unit; the tokens that it cost are added to `usage`."""
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
    answer = _answer(transcript, described)
    error = f"{stored.status}: {stored.detail}" if stored.status in ERROR_REASONS else None
    return {
        "id": unit.case,
        "epoch": unit.epoch,
        "input": _input(messages) or next((text for _, text in described), ""),
        "target": next((text for heading, text in described if heading in TARGETS), ""),
        "messages": messages,
        "output": _output(last, reply),
        "scores": {scorer_name(score.judge, score.metric.name): _score(score, answer) for score in scores},
        "metadata": _metadata(source, stored, case),
        "store": {},
        "events": _events(source, exchanges),
        "model_usage": own.of("model"),
        "role_usage": own.of("role"),
        **_times(source, stored, exchanges),
        "uuid": identifier(source, unit.key),
        "error": {"message": error, "traceback": "", "traceback_ansi": ""} if error else None,
        "attachments": {},
    }


def summary_of(sample: Mapping[str, Any]) -> JSONObject:
    """What the list of samples shows of one."""
    metadata = sample["metadata"]
    same = ("id", "epoch", "target", "scores", "model_usage", "role_usage", "started_at", "completed_at", "total_time",
            "working_time", "uuid")  # fmt: skip
    return {name: sample[name] for name in same} | {
        "input": _shortened(sample["input"]),
        "metadata": {name: metadata[name] for name in ("status", "detail", "flags", "setting", "cluster")},
        "error": sample["error"]["message"] if sample["error"] else None,
        "completed": metadata["status"] != PENDING,
        "message_count": len(sample["messages"]),
    }


def _shortened(given: str | Sequence[JSONObject]) -> str | list[JSONObject]:
    if isinstance(given, str):
        return given[:SHORT]
    return [message | {"content": message["content"][:SHORT]} for message in given]


def _last_answer(exchanges: Sequence[Exchange]) -> Exchange | None:
    """What the doctor said last."""
    return next((one for one in reversed(exchanges) if one.role == "doctor" and one.completed), None)


def _times(source: Source, stored: StoredUnit, exchanges: Sequence[Exchange]) -> JSONObject:
    """When the unit was played, and how long models took to answer in it; judges come later and do not count."""
    end = source.finished.get(stored.unit.key)
    asked = [one for one in exchanges if not _by_judge(one)]
    if end is None or not asked:
        return dict.fromkeys(("started_at", "completed_at", "total_time", "working_time"))
    start = min(source.received[one.address, one.attempt] - one.seconds for one in asked)
    return {
        "started_at": utc(start),
        "completed_at": utc(end),
        "total_time": max(end - start, 0.0),
        "working_time": sum(one.seconds for one in asked),
    }


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


def _score(score: ScoredUnit, answer: str | None) -> JSONObject:
    outcome, metadata = score.outcome, {"signature": score.metric.signature, "title": score.metric.title}
    if isinstance(outcome, Scored):
        why = score.metric.title + ("; by convention, its denominator is empty" if outcome.empty else "")
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


def _answer(transcript: Transcript, described: Sequence[tuple[str, str]]) -> str | None:
    """The answer as the benchmark shows it to a person, so that it can be held against the target."""
    answer = transcript.data.get("answer")
    if answer is None:
        return None
    shown = next((text for heading, text in described if heading.startswith("answer")), None)
    return shown if shown is not None else json.dumps(answer, ensure_ascii=False)


# -- messages --------------------------------------------------------------------------------------------------------

_ROLES = frozenset({"system", "user", "assistant"})


def _messages(transcript: Transcript, last: Exchange | None, reply: Reply | None) -> list[JSONObject]:
    """The conversation: the transcript's, else that of the last call; it ends with the doctor's last reply."""
    said = transcript.data.get("messages") or (last.body.get("messages") if last is not None else None)
    messages = _readable(said)
    if reply is not None and (not messages or messages[-1]["role"] != "assistant"):
        messages.append(_spoken(reply))
    return messages


def _readable(said: Any) -> list[JSONObject]:
    """Of messages to a model those that are text."""
    return [
        {"role": message["role"], "content": content}
        for message in (said if isinstance(said, list) else [])
        if isinstance(message, Mapping) and message.get("role") in _ROLES
        if isinstance(content := message.get("content"), str)
    ]


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


def _output(exchange: Exchange | None, reply: Reply | None) -> JSONObject:
    if exchange is None or reply is None:
        return {}
    cut = reply.finish_reason.casefold() in CUT
    stop = "max_tokens" if cut else reply.finish_reason
    known = stop in ("stop", "max_tokens", "tool_calls", "content_filter")
    message = _spoken(reply) | _answered(exchange.response)
    choice = {"message": message, "stop_reason": stop if known else "unknown"}
    usage = Usages()
    usage.add(exchange)
    return {"model": exchange.model, "choices": [choice], "completion": reply.text, "time": exchange.seconds,
            "usage": usage.of("model").get(exchange.model)}  # fmt: skip


def _answered(response: str) -> JSONObject:
    """The calls of tools in a response."""
    try:
        return _called(json.loads(response)["choices"][0]["message"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return {}


def _called(message: Mapping[str, Any]) -> JSONObject:
    """The calls of tools in a message, as which judges give their verdicts on some servers."""
    try:
        return {"tool_calls": [_call(call) for call in message["tool_calls"]]}
    except (LookupError, TypeError, AttributeError):
        return {}


def _call(call: Mapping[str, Any]) -> JSONObject:
    function = call["function"]
    found = {"id": str(call.get("id", "")), "type": "function", "function": str(function["name"])}
    try:
        arguments = json.loads(function["arguments"])
        return found | {"arguments": dict(arguments)}
    except (ValueError, TypeError) as error:
        return found | {"arguments": {"text": function["arguments"]}, "parse_error": str(error)}


# -- events ----------------------------------------------------------------------------------------------------------


def _by_judge(exchange: Exchange) -> bool:
    return exchange.role.startswith("judge")


def _events(source: Source, exchanges: Sequence[Exchange]) -> list[JSONObject]:
    """Every call in the order of the answers: the examination first, then each judge under its name."""
    events: list[JSONObject] = []
    for name, group in groupby(exchanges, lambda one: one.role if _by_judge(one) else "examination"):
        calls = list(group)
        span = identifier(source, name, calls[0].address, str(calls[0].attempt))
        start, end = (utc(source.received[one.address, one.attempt]) for one in (calls[0], calls[-1]))
        events += [
            _event(source, "span_begin", span, start, id=span, name=name),
            *(_model_event(source, span, one) for one in calls),
            _event(source, "span_end", span, end, id=span),
        ]
    return events


def _event(source: Source, kind: str, span: str, timestamp: str, **more: Any) -> JSONObject:
    uuid = identifier(source, kind, span, *map(str, more.values()))
    return {"event": kind, "uuid": uuid, "span_id": span, "timestamp": timestamp, "working_start": 0.0, **more}


def _asked(said: Any) -> list[JSONObject]:
    """What a model was sent, with the verdicts that it was asked to mend."""
    found = []
    for message in (one for one in said if isinstance(one, Mapping)) if isinstance(said, list) else ():
        if (role := message.get("role")) in _ROLES | {"tool"}:
            content = message.get("content")
            text = content if isinstance(content, str) else "" if content is None else json.dumps(content)
            reply_to = {"tool_call_id": message.get("tool_call_id")} if role == "tool" else {}
            found.append({"role": role, "content": text} | _called(message) | reply_to)
    return found


def _model_event(source: Source, span: str, exchange: Exchange) -> JSONObject:
    end = source.received[exchange.address, exchange.attempt]
    return {
        "event": "model",
        "uuid": identifier(source, exchange.address, str(exchange.attempt)),
        "span_id": span,
        "timestamp": utc(end - exchange.seconds),
        "working_start": 0.0,
        "completed": utc(end),
        "working_time": exchange.seconds,
        "model": exchange.model,
        "role": exchange.role,
        "input": _asked(exchange.body.get("messages")),
        "tools": [],
        "tool_choice": "auto",
        "config": {},
        "output": _output(exchange, read_completion(exchange.response)) if exchange.completed else {},
        "retries": exchange.tries - 1,
        "error": exchange.error or None,
        "cache": "read" if exchange.source == "cache" else None,
        "metadata": {"address": exchange.address, "attempt": exchange.attempt, "source": exchange.source},
    }


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
