"""Explanations compared with reference texts: computed once over a whole run, kept in it, read by every report."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from judge.benchmark import PENDING, Benchmark, Case, Explanation, TextScoredBenchmark
from judge.errors import SpecError
from judge.metrics.gated import GATE_RULES, view, with_gate
from judge.metrics.signature import Metric
from judge.metrics.text import (
    TEXT_METRICS,
    Encoder,
    SynonymSource,
    TextMetricName,
    TextScores,
    TextSettings,
    score_texts,
)
from judge.outcome import Outcome, Scored, Unscored
from judge.runs.store import NOT_MEASURED, NOT_RUN, RunStore, StoredUnit

Which = Literal["none", "lexical", "all"]
"""Which metrics: those that compare words, or those with an encoder as well."""

#: The metrics that need no encoder.
LEXICAL: tuple[TextMetricName, ...] = ("bleu", "rouge_l", "meteor")

#: Language -> the stemmer that goes with synonyms of the user's own.
STEMMERS = {"en": "porter", "fr": "french", "de": "german", "es": "spanish", "it": "italian"}

META = "explanations"


@dataclass(frozen=True, slots=True)
class TextRequest:
    """How explanations are compared.

    Attributes:
        encoder: of BERTScore; None for the one that the metric's definition names.
        layers: after how many of its layers the embeddings are taken.
        references: what scores against several references become.
        synonyms: folder in WordNet's format for METEOR, in the language of the texts.
    """

    which: Which
    encoder: str | None = None
    layers: int | None = None
    references: Literal["best", "mean"] = "best"
    synonyms: Path | None = None

    @property
    def names(self) -> tuple[TextMetricName, ...]:
        return {"none": (), "lexical": LEXICAL, "all": TEXT_METRICS}[self.which]

    def settings(self, language: str) -> TextSettings:
        """For texts in a language; what the user names is meant for that language.

        Raises:
            SpecError: synonyms of a language whose stemmer is not known.
        """
        given: dict[str, Any] = {"references": self.references}
        if self.encoder is not None:
            given["encoders"] = {language: Encoder(self.encoder, self.layers)}
        elif self.layers is not None:
            raise SpecError("--bertscore-layers goes with --bertscore-model")
        if self.synonyms is not None:
            if language not in STEMMERS:
                raise SpecError(f"--meteor-synonyms: no stemmer is known for the language {language!r}")
            given["synonyms"] = {language: SynonymSource(self.synonyms, STEMMERS[language])}
        return TextSettings(**given)

    def to_row(self) -> dict[str, Any]:
        """In JSON types; the folder as an absolute path."""
        return asdict(self) | {"synonyms": str(self.synonyms.absolute()) if self.synonyms else None}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> TextRequest:
        """The inverse of `to_row`."""
        return cls(**{**row, "synonyms": Path(row["synonyms"]) if row["synonyms"] else None})


@dataclass(frozen=True, slots=True)
class Measured:
    """What explanations got in one run.

    Attributes:
        metrics: in report order, signed.
        values: unit key -> metric -> outcome; units that have nothing to be compared with are not there.
        gate: metric of the benchmark that decides whether an explanation counts; None where there is no gate.
        settings: setting -> what is said of it as a whole: BLEU over all texts together, counts, what is not computed;
            under ``not_measured`` how many units were played after that, so that none of it is of the run as it is.
    """

    metrics: tuple[Metric, ...] = ()
    values: Mapping[str, Mapping[str, Outcome]] = field(default_factory=dict)
    gate: str | None = None
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def shown_metrics(self) -> tuple[Metric, ...]:
        """What reports show: each metric gated, ungated and over right answers, or plain where there is no gate."""
        if self.gate is None:
            return self.metrics
        return tuple(with_gate(metric, rule) for metric in self.metrics for rule in GATE_RULES)

    def outcomes(self, unit: str, own: Mapping[str, Outcome]) -> dict[str, Outcome]:
        """The shown metrics of one unit, from its other outcomes; what does not take part is left out."""
        found = self.values.get(unit)
        if found is None:
            return {}
        if self.gate is None:
            return dict(found)
        return dict(self._viewed(found, own[self.gate]))

    def _viewed(self, found: Mapping[str, Outcome], right: Outcome) -> Iterator[tuple[str, Outcome]]:
        for metric in self.metrics:
            for rule in GATE_RULES:
                if (seen := view(rule, found[metric.name], right)) is not None:
                    yield with_gate(metric, rule).name, seen

    def notes(self) -> list[str]:
        """Sentences that must stand beside the numbers."""
        return [note for setting, facts in self.settings.items() for note in _notes(setting, facts)]


def _notes(setting: str, facts: Mapping[str, Any]) -> Iterator[str]:
    if stale := facts.get(NOT_MEASURED):
        yield (
            f"{setting}: {stale} units were asked again or played after explanations were compared, so there is no "
            "score over all texts together, and what is counted in texts is from before; medjudge score --explanations "
            "compares them again"
        )
    for name, reason in facts["not_computed"].items():
        yield f"{setting}: {name} is not computed: {reason}"
    if facts["empty"]:
        yield f"{setting}: {facts['empty']} explanations are empty and score 0"
    for what, cut in (("explanations", facts["cut"]), ("references", facts["cut_references"])):
        for name, count in cut.items():
            yield f"{setting}: {name} read only the beginning of {count} {what}, which are longer than its limit"


def text_scored(benchmark: Benchmark) -> TextScoredBenchmark:
    """The benchmark as one whose explanations can be compared.

    Raises:
        SpecError: it has none.
    """
    if not isinstance(benchmark, TextScoredBenchmark):
        raise SpecError(f"{benchmark.name} has no explanations that could be compared with reference texts")
    return benchmark


def measure(store: RunStore, benchmark: Benchmark, request: TextRequest) -> Measured:
    """Compare every explanation of a run, and keep the values in it; those of before are replaced.

    Raises:
        UserError: a resource that the request names cannot be used; the run keeps what it had.
    """
    source, cases, options = text_scored(benchmark), store.cases(), store.spec().options
    by_setting: dict[str, list[StoredUnit]] = defaultdict(list)
    for stored in store.units():
        by_setting[stored.unit.setting].append(stored)
    scores = {
        setting: _compared(benchmark, source, cases, units, request, options)
        for setting, units in by_setting.items()
        if request.names
    }
    values: dict[str, dict[str, Outcome]] = defaultdict(dict)
    for found in scores.values():
        for name, of_metric in found.values.items():
            for unit, outcome in of_metric.items():
                values[unit][name] = outcome
    metrics = {
        name: metric for found in scores.values() for name, metric in found.metrics.items() if name in found.values
    }
    measured = Measured(
        tuple(metrics.values()),
        values,
        source.explanation_gate,
        {setting: _facts(found) for setting, found in scores.items()},
    )
    _keep(store, measured, request)
    return measured


def _compared(
    benchmark: Benchmark,
    source: TextScoredBenchmark,
    cases: Mapping[str, Case],
    units: Sequence[StoredUnit],
    request: TextRequest,
    options: Mapping[str, Any],
) -> TextScores:
    language = source.explanation_language(options)
    found = {stored.unit.key: _explanation(benchmark, source, cases, stored) for stored in units}
    there = {unit: one for unit, one in found.items() if one is not None}
    scores = score_texts(
        {unit: one.candidate for unit, one in there.items()},
        {unit: one.references for unit, one in there.items()},
        language=language,
        metrics=request.names,
        settings=request.settings(language),
    )
    why = {
        stored.unit.key: Unscored(NOT_RUN if stored.status == PENDING else stored.status, stored.detail)
        for stored in units
    }
    values = {
        name: {unit: _why(outcome, there[unit], why[unit]) for unit, outcome in of_metric.items()}
        for name, of_metric in scores.values.items()
    }
    return replace(scores, values=values)


def _why(outcome: Outcome, explanation: Explanation, ended: Unscored) -> Outcome:
    """A unit that came to no answer says itself why there is no text; empty texts are counted for the setting."""
    if explanation.candidate is None:
        return explanation.missing or ended
    return Scored(outcome.value) if isinstance(outcome, Scored) else outcome


def _explanation(
    benchmark: Benchmark, source: TextScoredBenchmark, cases: Mapping[str, Case], stored: StoredUnit
) -> Explanation | None:
    record = cases[stored.unit.case].record
    ended = stored.status not in benchmark.scored_statuses or stored.transcript is None
    found = source.explanation(record, None if ended else stored.transcript)
    return replace(found, candidate=None, missing=None) if found is not None and ended else found


def _facts(found: TextScores) -> dict[str, Any]:
    return {
        "corpus": {
            name: {
                "title": found.metrics[name].title,
                "signature": found.metrics[name].signature,
                "value": outcome.value if isinstance(outcome, Scored) else None,
                "reason": outcome.reason if isinstance(outcome, Unscored) else "",
            }
            for name, outcome in found.corpus.items()
        },
        "not_computed": {name: why.reason for name, why in found.not_computed.items()},
        "empty": len(found.empty),
        "cut": {name: len(ids) for name, ids in found.cut.items()},
        "cut_references": {name: len(ids) for name, ids in found.cut_references.items()},
        "blank_references": found.blank_references,
    }


# -- in the run's file -----------------------------------------------------------------------------------------------


def _keep(store: RunStore, measured: Measured, request: TextRequest) -> None:
    document = {
        "request": request.to_row(),
        "metrics": [asdict(metric) for metric in measured.metrics],
        "gate": measured.gate,
        "settings": measured.settings,
    }
    rows = [
        (unit, name, *_row(outcome)) for unit, outcomes in measured.values.items() for name, outcome in outcomes.items()
    ]

    def write(db: sqlite3.Connection) -> None:
        db.execute("DELETE FROM measured")
        db.executemany("INSERT INTO measured VALUES (?, ?, ?, ?, ?)", rows)
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (META, json.dumps(document)))

    store.run(write)


def _row(outcome: Outcome) -> tuple[float | None, str, str]:
    if isinstance(outcome, Scored):
        return outcome.value, "", ""
    return None, outcome.reason, outcome.detail


def measured_in(store: RunStore) -> Measured:
    """What was measured in a run; nothing where nothing was.

    A unit that came to its end, or was reopened, after that is `NOT_MEASURED`, or `NOT_RUN` while it is pending; in its
    setting BLEU over all texts together is then of texts that are not those of the run, and is not given.
    """
    text = store.meta(META)
    if not text:
        return Measured()
    document = json.loads(text)
    metrics = tuple(_metric(row) for row in document["metrics"])
    values: dict[str, dict[str, Outcome]] = defaultdict(dict)
    stale: dict[str, set[str]] = defaultdict(set)
    query = """SELECT unit, metric, value, reason, measured.detail, setting, status = ?
        FROM measured JOIN units ON unit = key"""
    for unit, name, value, reason, detail, setting, pending in store.run(
        lambda db: db.execute(query, (PENDING,)).fetchall()
    ):
        if reason == NOT_MEASURED or (reason == NOT_RUN and not pending):
            stale[setting].add(unit)
            reason, detail = (NOT_RUN, "") if pending else (NOT_MEASURED, "compare the explanations again")
        values[unit][name] = Unscored(reason, detail) if value is None else Scored(value)
    settings = {name: _stale(facts, len(stale[name])) for name, facts in document["settings"].items()}
    return Measured(metrics, values, document["gate"], settings)


def _stale(facts: Mapping[str, Any], units: int) -> Mapping[str, Any]:
    """What is said of a setting of which some units' texts are others than those that were compared."""
    if not units:
        return facts
    gone = {"value": None, "reason": NOT_MEASURED}
    return {**facts, "corpus": {name: one | gone for name, one in facts["corpus"].items()}, NOT_MEASURED: units}


def _metric(row: Mapping[str, Any]) -> Metric:
    parameters = tuple((key, value) for key, value in row["parameters"])
    return Metric(**{**row, "parameters": parameters, "range": tuple(row["range"]) if row["range"] else None})


def request_in(store: RunStore) -> TextRequest | None:
    """How explanations were compared last, or are to be once the run is complete."""
    if text := store.meta(META):
        return TextRequest.from_row(json.loads(text)["request"])
    row = json.loads(store.meta("facts") or "{}").get(META)
    return TextRequest.from_row(row) if row else None
