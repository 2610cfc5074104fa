"""CareMedEval: French multi-answer questions about medical articles, graded as in the critical-appraisal exam.

arXiv 2511.03441. This module is imported for every listing and must stay light: what needs langgraph is imported when
a run begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from graphs.caremedeval import explained as _explained
from graphs.caremedeval import metrics as _metrics
from graphs.caremedeval.cases import CaseSet, load_cases
from graphs.caremedeval.contexts import CONTEXTS
from graphs.caremedeval.describe import describe_case
from graphs.caremedeval.explanations import explanation
from graphs.caremedeval.predictions import transcript_of_prediction
from graphs.caremedeval.records import from_record, to_record
from judge.audit import AuditReport
from judge.benchmark import ANSWERED, Case, Explanation, Loaded, Option, Player, Transcript
from judge.errors import SpecError
from judge.explanations import Exhibit, JudgedExplanations
from judge.metrics.signature import Metric
from judge.models.tokens import Tokenizer
from judge.outcome import Outcome, Scored, Unscored
from judge.prompting import Prompts

ALL = "all"


class CareMedEval(JudgedExplanations):
    """The benchmark as `judge.benchmark.Benchmark` describes it."""

    name = "caremedeval"
    title = "CareMedEval"
    about = "534 multi-answer questions on 37 medical articles, exam-style LCA grading (arXiv 2511.03441)"
    licence = "data set: Apache-2.0; its articles keep their own licences"
    options = (
        Option(
            "context",
            "how much of the article the model sees; repeat for several, each is reported apart",
            choices=(*CONTEXTS, ALL),
            multiple=True,
            required=True,
            setting=True,
        ),
        Option(
            "language",
            "of questions and prompts: fr is the original, en a machine translation",
            choices=("fr", "en"),
            default="fr",
        ),
    )
    prompt_package = "prompts"
    explanation_gate: str | None = None
    """Most answers are partly right; which of them an explanation would have to be of is not defined."""
    explanations_by_default = "none"
    flags: Mapping[str, str] = {
        "malformed": "first reply does not end in the demanded line",
        "extracted_from_malformed": "answer read from a reply that does not end in the demanded line",
        "re_asked": "asked once more because no answer could be read",
        "explicit_none": "answered that no option is right",
        "letters_dropped": "named a letter that is no option",
        "context_cut": "the article did not fit its token budget and was shortened",
        "prompt_cut_suspected": "the server counted far fewer prompt tokens than were sent",
    }

    scored_statuses = frozenset({ANSWERED})
    explanation_metric = _explained.METRIC

    def metrics(self) -> tuple[Metric, ...]:
        return _metrics.METRICS

    def metrics_in(self, setting: str, options: Mapping[str, Any]) -> tuple[Metric, ...]:
        return _metrics.METRICS

    def roles(self, options: Mapping[str, Any]) -> Mapping[str, str | None]:
        return {}

    def settings(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        chosen = tuple(dict.fromkeys(options["context"]))
        return tuple(CONTEXTS) if ALL in chosen else chosen

    def prompt_names(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        settings, language = self.settings(options), options["language"]
        names = [f"reask.{language}.v1"]
        if "none" in settings:
            names.append(f"doctor.without_article.{language}.v1")
        if set(settings) - {"none"}:
            names += [f"{name}.{language}.v1" for name in
                      ("doctor.with_article", "note.abstract", "note.ends", "note.whole")]  # fmt: skip
        return tuple(names)

    def load(self, data: Path, options: Mapping[str, Any]) -> Loaded:
        if options["language"] not in ("fr", "en"):
            raise SpecError(f"language {options['language']!r} is not known; choose fr or en")
        loaded = load_cases(data, options["language"])
        cases = tuple(Case(case.id, case.article_id, to_record(case)) for case in loaded)
        return Loaded(cases, loaded.data_hash, {file.path: file.sha256 for file in loaded.files}, private=loaded)

    def player(self, loaded: Loaded, options: Mapping[str, Any], prompts: Prompts, tokenizer: Tokenizer) -> Player:
        from graphs.caremedeval.play import CarePlayer

        cases: CaseSet = loaded.private
        return CarePlayer(cases, prompts, tokenizer)

    def explanation(self, record: Mapping[str, Any], transcript: Transcript | None) -> Explanation | None:
        return explanation(record, transcript)

    def explanation_language(self, options: Mapping[str, Any]) -> str:
        return str(options["language"])

    def draw(self, setting: str | None) -> str:
        from graphs.caremedeval.graph import build_graph

        drawn: str = build_graph().get_graph().draw_mermaid()
        return drawn

    def score(self, record: Mapping[str, Any], transcript: Transcript) -> Mapping[str, Outcome]:
        values = _metrics.score_answer(from_record(record), transcript.data["answer"])
        return {name: Scored(value) for name, value in values.items()}

    def has_reference(self, record: Mapping[str, Any]) -> bool:
        return _explained.has_justification(record)

    def exhibit(self, record: Mapping[str, Any], transcript: Transcript) -> Exhibit | Unscored:
        return _explained.exhibit(record, transcript)

    def groups(self, record: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
        subsets = ["with justification"] if record["justification"].strip() else []
        if record["requires_context"] is not None:
            subsets.append("requires context" if record["requires_context"] else "does not require context")
        return {
            "label": record["labels"],
            "correct answers": [str(len(record["correct"]))],
            "subset": subsets,
        }

    def best(self, record: Mapping[str, Any]) -> Mapping[str, float]:
        return _metrics.best_scores(from_record(record))

    def read_prediction(self, record: Mapping[str, Any], prediction: Any, *, thinking: str, setting: str) -> Transcript:
        return transcript_of_prediction(record, prediction, thinking)

    def baselines(self, loaded: Loaded) -> list[dict[str, Any]]:
        from graphs.caremedeval.baselines import baselines

        return [asdict(row) for row in baselines(loaded.private.cases)]

    def audit(self, data: Path) -> AuditReport:
        from graphs.caremedeval.audit import audit

        return audit(data)

    def describe(self, record: Mapping[str, Any], transcript: Transcript) -> list[tuple[str, str]]:
        return describe_case(record, transcript)


BENCHMARK = CareMedEval()
