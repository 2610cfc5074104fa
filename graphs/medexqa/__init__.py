"""MedExQA: four-option questions with two reference explanations each, from five health specialties.

arXiv 2406.06331. This module is imported for every listing and must stay light: what needs langgraph is imported when
a run begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from graphs.medexqa import explained as _explained
from graphs.medexqa import metrics as _metrics
from graphs.medexqa import options as _options
from graphs.medexqa.cases import SPECIALTIES, CaseSet, load_cases
from graphs.medexqa.describe import describe_case
from graphs.medexqa.explanations import explanation
from graphs.medexqa.predictions import PARTS, transcript_of_prediction
from graphs.medexqa.records import records_of, shift_notes
from graphs.medexqa.transcripts import FLAGS
from judge.audit import AuditReport
from judge.benchmark import ANSWERED, Case, Explanation, Loaded, Macro, Option, Player, Transcript
from judge.explanations import Exhibit, JudgedExplanations
from judge.metrics.signature import Metric
from judge.models.tokens import Tokenizer
from judge.outcome import Outcome, Unscored
from judge.prompting import Prompts


class MedExQA(JudgedExplanations):
    """The benchmark as `judge.benchmark.Benchmark` describes it."""

    name = "medexqa"
    title = "MedExQA"
    about = "940 four-option questions from five health specialties, with explanations (arXiv 2406.06331)"
    licence = "data set: CC BY-NC-SA 4.0"
    options: tuple[Option, ...] = _options.OPTIONS
    prompt_package = "prompts"
    flags: Mapping[str, str] = FLAGS
    scored_statuses = frozenset({ANSWERED})
    prediction_parts = PARTS
    group_order: Mapping[str, Sequence[str]] = {_metrics.BREAKDOWN: _metrics.CODES}
    macros: tuple[Macro, ...] = _metrics.MACROS
    explanation_metric = _explained.METRIC
    explanation_gate: str | None = _metrics.ACCURACY.name
    explanations_by_default = "lexical"

    def metrics(self) -> tuple[Metric, ...]:
        return _metrics.METRICS

    def metrics_in(self, setting: str, options: Mapping[str, Any]) -> tuple[Metric, ...]:
        return _metrics.metrics_in(options)

    def roles(self, options: Mapping[str, Any]) -> Mapping[str, str | None]:
        return {}

    def settings(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return (_options.SETTING,)

    def prompt_names(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return _options.prompt_names()

    def load(self, data: Path, options: Mapping[str, Any]) -> Loaded:
        loaded = load_cases(data, _options.specialties_of(options))
        for specialty in loaded.specialties if "shots" in options else ():
            loaded.examples(specialty.name, _options.shots_of(options))
        cases = tuple(Case(record["id"], record["id"], record) for record in records_of(loaded))
        files = {f"{file.path}": file.sha256 for file in loaded.files}
        return Loaded(cases, loaded.data_hash, files, tuple(_notes(loaded, options)), private=loaded)

    def player(self, loaded: Loaded, options: Mapping[str, Any], prompts: Prompts, tokenizer: Tokenizer) -> Player:
        from graphs.medexqa.play import ExamPlayer

        return ExamPlayer(loaded.private, options, prompts, tokenizer)

    def explanation(self, record: Mapping[str, Any], transcript: Transcript | None) -> Explanation | None:
        return explanation(record, transcript)

    def explanation_language(self, options: Mapping[str, Any]) -> str:
        return "en"

    def draw(self, setting: str | None) -> str:
        from graphs.medexqa.graph import build_graph

        drawn: str = build_graph().get_graph().draw_mermaid()
        return drawn

    def score(self, record: Mapping[str, Any], transcript: Transcript) -> Mapping[str, Outcome]:
        return _metrics.score(record, transcript)

    def asides(
        self, record: Mapping[str, Any], transcript: Transcript, options: Mapping[str, Any]
    ) -> Mapping[Metric, Outcome]:
        return _metrics.asides(record, transcript, options)

    def has_reference(self, record: Mapping[str, Any]) -> bool:
        return any(text.strip() for text in record["explanations"])

    def exhibit(self, record: Mapping[str, Any], transcript: Transcript) -> Exhibit | Unscored:
        return _explained.exhibit(record, transcript)

    def groups(self, record: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
        return {_metrics.BREAKDOWN: [record["code"]]}

    def best(self, record: Mapping[str, Any]) -> Mapping[str, float]:
        return _metrics.best()

    def read_prediction(self, record: Mapping[str, Any], prediction: Any, *, thinking: str, setting: str) -> Transcript:
        return transcript_of_prediction(record, prediction, thinking)

    def baselines(self, loaded: Loaded) -> list[dict[str, Any]]:
        from graphs.medexqa.baselines import baselines

        return baselines(loaded.private.cases)

    def audit(self, data: Path) -> AuditReport:
        from graphs.medexqa.audit import audit

        return audit(data)

    def describe(self, record: Mapping[str, Any], transcript: Transcript) -> list[tuple[str, str]]:
        return describe_case(record, transcript)


def _notes(loaded: CaseSet, options: Mapping[str, Any]) -> Iterator[str]:
    yield from loaded.notes
    if _options.specialties_of(options) and len(loaded.specialties) < len(SPECIALTIES):
        chosen = ", ".join(specialty.code for specialty in loaded.specialties)
        yield f"Only {chosen} of the {len(SPECIALTIES)} specialties were asked for"
    yield from shift_notes(loaded)


BENCHMARK = MedExQA()
