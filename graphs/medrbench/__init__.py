"""MedR-Bench: examination, diagnosis and treatment of published cases, in one turn or many (arXiv 2503.04691).

This module is imported for every listing and must stay light: what needs langgraph is imported when a run begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphs.medrbench import judged as _judged
from graphs.medrbench import metrics as _metrics
from graphs.medrbench import options as _options
from graphs.medrbench import reference as _reference
from graphs.medrbench.cases import load_cases
from graphs.medrbench.describe import describe_case
from graphs.medrbench.judging.describe import describe_judgements
from graphs.medrbench.judging.tasks import TASKS, judge_prompt_names
from graphs.medrbench.labels import read_labels
from graphs.medrbench.predictions import transcript_of_output
from graphs.medrbench.records import to_record
from judge.audit import AuditReport
from judge.benchmark import Case, Loaded, Option, Player, Transcript
from judge.judgements import CaseLabels, Labels, UnitJudgements
from judge.metrics.signature import Metric
from judge.models.tokens import Tokenizer
from judge.outcome import Outcome
from judge.prompting import Prompts
from judge.references import References
from judge.seats import Simulator

if TYPE_CHECKING:
    from judge.chains.tools import JudgeTools, Judging
    from judge.settings import JudgeSpec


class MedRBench:
    """The benchmark as `judge.benchmark.Benchmark` describes it."""

    name = "medrbench"
    title = "MedR-Bench"
    about = "examination dialogues, diagnosis and treatment on 957 and 496 case reports (arXiv 2503.04691)"
    licence = "data set: CC BY-SA"
    options: tuple[Option, ...] = _options.OPTIONS
    prompt_package = "prompts"
    flags: Mapping[str, str] = {
        "re_asked": "asked once more because its sections could not be read",
        "looped": "a turn whose every request repeats earlier ones",
        "asked_nothing": "no examination was asked for",
        "provisional_answer": "never concluded; its last provisional diagnosis is scored",
        "wrote_examiner": "the doctor wrote the examiner's answer itself",
        "no_requests_field": "a turn without the section for requests",
        "unreadable_requests": "a section for requests in which none could be read",
        "examiner_named_diagnosis": "the examiner said the diagnosis though the record does not",
        "examiner_invented_numbers": "the examiner stated numbers that are not in the record",
    }
    scored_statuses = _metrics.SCORED_STATUSES
    reference_prompt = _reference.PROMPT
    most_reference_steps = _reference.MOST
    judging_tasks: Mapping[str, str] = TASKS

    def metrics(self) -> tuple[Metric, ...]:
        return _metrics.METRICS

    def metrics_in(self, setting: str, options: Mapping[str, Any]) -> tuple[Metric, ...]:
        return _signed(_metrics.metrics_in(setting, _metrics.rounds_in(setting, options)), setting, options)

    def settings(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return _options.settings_of(options)

    def roles(self, options: Mapping[str, Any]) -> Mapping[str, str | None]:
        return _options.roles_of(options)

    def prompt_names(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return _options.prompt_names(options)

    def load(self, data: Path, options: Mapping[str, Any]) -> Loaded:
        loaded = load_cases(data, _options.kind_of(options))
        cases = tuple(Case(case.id, case.id, to_record(case)) for case in loaded)
        return Loaded(cases, loaded.data_hash, {file.path: file.sha256 for file in loaded.files}, private=loaded)

    def player(self, loaded: Loaded, options: Mapping[str, Any], prompts: Prompts, tokenizer: Tokenizer) -> Player:
        from graphs.medrbench.play import ExaminationPlayer

        for setting in self.settings(options):
            _options.rules_of(setting, options)
        return ExaminationPlayer(options, prompts)

    def simulator(self) -> Simulator:
        from graphs.medrbench.simulate import ExaminationSimulator

        return ExaminationSimulator(self)

    def judged_metrics(self, setting: str, options: Mapping[str, Any]) -> tuple[Metric, ...]:
        return _signed(_judged.judged_metrics(setting, _metrics.rounds_in(setting, options)), setting, options)

    def score_judged(
        self, record: Mapping[str, Any], setting: str, options: Mapping[str, Any], said: UnitJudgements
    ) -> Mapping[str, Outcome]:
        rounds = _metrics.rounds_in(setting, options)
        return _judged.score_judged(said.view, said.counts, said.missing, setting, rounds)

    def read_labels(self, file: Path, judge: str | None) -> Labels:
        return read_labels(file, judge)

    def labelled_transcript(self, labels: CaseLabels, setting: str) -> Transcript:
        return _judged.labelled_transcript(labels, setting)

    def judge_prompt_names(self, spec: JudgeSpec, settings: Sequence[str]) -> tuple[str, ...]:
        return judge_prompt_names(spec, settings)

    def judging(self, tools: JudgeTools) -> Judging:
        from graphs.medrbench.judging.evaluate import ReasoningJudging

        return ReasoningJudging(tools)

    def draw_judging(self) -> str:
        from graphs.medrbench.judging.graph import build_graph

        drawn: str = build_graph().get_graph(xray=True).draw_mermaid()
        return drawn

    def describe_judgements(self, said: UnitJudgements) -> list[tuple[str, str]]:
        return describe_judgements(said)

    def references(self, cases: Sequence[Case]) -> References:
        return _reference.references(cases, self.name)

    def reference_texts(self, cases: Sequence[Case]) -> Mapping[str, str]:
        return {case.id: _reference.reference_text(case.record) for case in cases}

    def draw(self, setting: str | None) -> str:
        from graphs.medrbench.graph import build_graph

        drawn: str = build_graph().get_graph().draw_mermaid()
        if setting is None or setting in _options.EXAMINING:
            return drawn
        return f"%% {setting}: everything is shown, so examiner and conclude are never reached\n{drawn}"

    def score(self, record: Mapping[str, Any], transcript: Transcript) -> Mapping[str, Outcome]:
        return _metrics.score(record, transcript)

    def groups(self, record: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
        leaks = {"answer_in_summary", "answer_before_tests", "answer_in_history"} & set(record["flags"])
        return {
            "frequency": ["rare disease" if record["rare_diseases"] else "common"],
            "body": list(dict.fromkeys(record["body_category"])),
            "disorder": list(dict.fromkeys(record["disorder_category"])),
            "answer in the summary": ["yes" if leaks else "no"],
        }

    def best(self, record: Mapping[str, Any]) -> Mapping[str, float]:
        return _metrics.best(record)

    def date_of(self, record: Mapping[str, Any]) -> str:
        return str(record["receive_time"])

    def read_prediction(self, record: Mapping[str, Any], prediction: Any, *, thinking: str, setting: str) -> Transcript:
        return transcript_of_output(record, prediction, thinking, setting)

    def audit(self, data: Path) -> AuditReport:
        from graphs.medrbench.audit import audit

        return audit(data)

    def describe(self, record: Mapping[str, Any], transcript: Transcript) -> list[tuple[str, str]]:
        return describe_case(record, transcript)


def _signed(metrics: Sequence[Metric], setting: str, options: Mapping[str, Any]) -> tuple[Metric, ...]:
    """Metrics with the policies of the setting, which move every number of a run."""
    policies = _options.policies_of(setting, options)
    return tuple(replace(metric, parameters=(*metric.parameters, *policies)) for metric in metrics)


BENCHMARK = MedRBench()
