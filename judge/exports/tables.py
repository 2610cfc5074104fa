"""The tables of a run: typed columns and their rows, the same for every format and for pandas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote

from judge.benchmark import Unit
from judge.exports.source import ScoredUnit, Source
from judge.judgements import Judgement, UnitJudgements
from judge.models.exchange import Exchange
from judge.outcome import Scored, Unscored

Kind = Literal["text", "int", "float", "bool", "label", "json"]
"""Type of a column; ``label`` is a text or a truth value, ``json`` lists and objects. Any of them may be None."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """One table.

    Attributes:
        type: what one row is, e.g. ``score``.
        columns: name -> type, in order.
        rows: from an open run.
        bulky: columns that hold whole texts, which no spreadsheet should get.
        flat: whether it goes into formats for tables, too.
    """

    name: str
    type: str
    columns: Mapping[str, Kind]
    rows: Callable[[Source], Iterator[Row]]
    bulky: frozenset[str] = frozenset()
    flat: bool = True


_RUN: Mapping[str, Kind] = {"run": "text", "benchmark": "text", "model": "text"}
_UNIT: Mapping[str, Kind] = {**_RUN, "setting": "text", "case": "text", "epoch": "int"}


def _of_run(source: Source) -> dict[str, Any]:
    return {"run": source.name, "benchmark": source.benchmark.name, "model": source.spec.model.text}


def _of_unit(source: Source, unit: Unit) -> dict[str, Any]:
    return _of_run(source) | {"setting": unit.setting, "case": unit.case, "epoch": unit.epoch}


def _metrics(source: Source) -> Iterator[Row]:
    for found in source.summaries():
        numbers = found.numbers
        (low, high), (lowest, highest) = (numbers[name] or (None, None) for name in ("interval", "bounds"))
        yield _of_run(source) | {
            "state": source.reports[None]["state"],
            "setting": found.setting,
            "judge": found.judge,
            "part": found.part,
            "breakdown": found.breakdown,
            "group": found.group,
            "ci95_low": low,
            "ci95_high": high,
            "bound_low": lowest,
            "bound_high": highest,
            **{name: numbers[name] for name in _AS_REPORTED},
        }


def _scores(source: Source) -> Iterator[Row]:
    for score in source.scores:
        unit = score.stored.unit
        yield (
            _of_unit(source, unit)
            | {"cluster": source.cases[unit.case].cluster, "status": score.stored.status}
            | _of_score(score)
        )


def _of_score(score: ScoredUnit) -> dict[str, Any]:
    metric, outcome = score.metric, score.outcome
    return {
        "judge": score.judge,
        "metric": metric.name,
        "title": metric.title,
        "signature": metric.signature,
        "value": outcome.value if isinstance(outcome, Scored) else None,
        "empty": outcome.empty if isinstance(outcome, Scored) else None,
        "reason": outcome.reason if isinstance(outcome, Unscored) else None,
        "detail": outcome.detail if isinstance(outcome, Unscored) else None,
    }


def _units(source: Source) -> Iterator[Row]:
    for stored in source.units:
        yield _of_unit(source, stored.unit) | {
            "cluster": source.cases[stored.unit.case].cluster,
            "status": stored.status,
            "detail": stored.detail,
            "flags": list(stored.flags),
            "transcript": dict(stored.transcript.data) if stored.transcript is not None else None,
        }


def _judgements(source: Source) -> Iterator[Row]:
    for judge in source.judges:
        said = source.said(judge)
        for stored in source.units:
            if (of_unit := said.get(stored.unit.key)) is not None:
                start = _of_unit(source, stored.unit) | {"judge": judge}
                yield from (start | row for row in _said(of_unit))


def _said(said: UnitJudgements) -> Iterator[dict[str, Any]]:
    """Every label, then every kind of which labels are missing, some or all, as a row without item and label."""
    for one in said.judgements:
        yield _label(one)
    for kind, why in said.missing.items():
        yield dict.fromkeys(_JUDGEMENT) | {"kind": kind, "reason": why.reason, "detail": why.detail}


def _label(one: Judgement) -> dict[str, Any]:
    return one.to_row() | {"reason": None, "detail": None}


def _cases(source: Source) -> Iterator[Row]:
    for case in source.cases.values():
        yield _of_run(source) | {"case": case.id, "cluster": case.cluster, "record": dict(case.record)}


def _exchanges(source: Source) -> Iterator[Row]:
    for exchange in source.store.all_exchanges():
        yield _exchange(source, exchange)


def _exchange(source: Source, exchange: Exchange) -> Row:
    benchmark, setting, case, epoch, *_ = map(unquote, exchange.address.split("/"))
    usage = exchange.usage
    return _of_unit(source, Unit(benchmark, setting, case, int(epoch))) | {
        "role": exchange.role,
        "asked_model": exchange.model,
        "endpoint": exchange.endpoint,
        "address": exchange.address,
        "attempt": exchange.attempt,
        "status": exchange.status,
        "error": exchange.error or None,
        "tries": exchange.tries,
        "seconds": exchange.seconds,
        "source": exchange.source,
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "reasoning_tokens": usage.reasoning,
        "cached_tokens": usage.cached,
        "body": dict(exchange.body),
        "response": exchange.response,
    }


#: Of a metric in `METRICS`, what the report calls by the same name.
_AS_REPORTED = ("metric", "title", "signature", "mean", "se", "maximum", "n_scored", "n_unscored", "n_cases",
                "n_clusters", "n_empty", "unscored")  # fmt: skip

_JUDGEMENT: Mapping[str, Kind] = {
    "kind": "text", "item": "int", "text": "text", "label": "label", "rationale": "text", "path": "json",
    "reason": "text", "detail": "text",
}  # fmt: skip

METRICS = Table(
    "metrics",
    "metric",
    {
        **_RUN, "state": "text", "setting": "text", "judge": "text", "part": "text", "breakdown": "text",
        "group": "text", "metric": "text", "title": "text", "signature": "text", "mean": "float", "se": "float",
        "ci95_low": "float", "ci95_high": "float", "bound_low": "float", "bound_high": "float", "maximum": "float",
        "n_scored": "int", "n_unscored": "int", "n_cases": "int", "n_clusters": "int", "n_empty": "int",
        "unscored": "json",
    },
    _metrics,
)  # fmt: skip
"""The numbers of the report, none computed anew; `judge.exports.source.Part` says what ``part`` may be."""

SCORES = Table(
    "scores",
    "score",
    {
        **_UNIT, "cluster": "text", "status": "text", "judge": "text", "metric": "text", "title": "text",
        "signature": "text", "value": "float", "empty": "bool", "reason": "text", "detail": "text",
    },
    _scores,
)  # fmt: skip

UNITS = Table(
    "units",
    "unit",
    {**_UNIT, "cluster": "text", "status": "text", "detail": "text", "flags": "json", "transcript": "json"},
    _units,
    bulky=frozenset({"transcript"}),
)

JUDGEMENTS = Table(
    "judgements", "judgement", {**_UNIT, "judge": "text", **_JUDGEMENT}, _judgements, bulky=frozenset({"path"})
)

CASES = Table(
    "cases", "case", {**_RUN, "case": "text", "cluster": "text", "record": "json"}, _cases, flat=False
)  # fmt: skip

EXCHANGES = Table(
    "exchanges",
    "exchange",
    {
        **_UNIT, "role": "text", "asked_model": "text", "endpoint": "text", "address": "text", "attempt": "int",
        "status": "int", "error": "text", "tries": "int", "seconds": "float", "source": "text",
        "prompt_tokens": "int", "completion_tokens": "int", "reasoning_tokens": "int", "cached_tokens": "int",
        "body": "json", "response": "text",
    },
    _exchanges,
    flat=False,
)  # fmt: skip

TABLES: tuple[Table, ...] = (METRICS, SCORES, UNITS, JUDGEMENTS, CASES, EXCHANGES)

#: Type of a column -> dtype in pandas. Texts are Python objects: others cannot hold every text that a model may send.
DTYPES: Mapping[Kind, str] = {
    "text": "string[python]",
    "int": "Int64",
    "float": "Float64",
    "bool": "boolean",
    "label": "object",
    "json": "object",
}


def frame_of(table: Table, source: Source) -> Any:
    """A table as a ``pandas.DataFrame``; what is missing is ``pandas.NA``, or None in columns of objects."""
    import pandas as pd

    rows = list(table.rows(source))
    return pd.DataFrame({name: _array(pd, rows, name, kind) for name, kind in table.columns.items()})


def _array(pd: Any, rows: Iterable[Row], name: str, kind: Kind) -> Any:
    values = [row[name] for row in rows]
    if DTYPES[kind] == "object":
        return pd.Series(values, dtype="object")
    return pd.array(values, dtype=DTYPES[kind])
