"""What a benchmark must provide, and the registry that finds benchmarks.

Built-in ones are found by scanning the package `graphs`: a subpackage that has an attribute ``BENCHMARK``. Others come
from installed distributions through the entry point group ``medjudge.benchmarks``. Nothing heavy may be imported by
either; work that needs langgraph and the like is imported inside the methods.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable
from urllib.parse import quote

from judge.errors import SpecError
from judge.metrics.signature import Metric
from judge.outcome import Outcome, Unscored

if TYPE_CHECKING:
    from judge.audit import AuditReport
    from judge.chains.tools import JudgeTools, Judging
    from judge.judgements import CaseLabels, Labels, UnitJudgements
    from judge.models.chat import ChatModel
    from judge.models.tokens import Tokenizer
    from judge.prompting import Prompts
    from judge.references import References
    from judge.settings import JudgeSpec

GROUP = "medjudge.benchmarks"

ANSWERED = "answered"
"""Status of a unit whose transcript can be scored; every other status is an unscored reason."""

PENDING = "pending"
"""Status of a unit that has not been played to its end."""


@dataclass(frozen=True, slots=True)
class Option:
    """One command-line option of a benchmark.

    Attributes:
        name: without dashes, e.g. ``context``.
        setting: whether its values are the benchmark's settings, which are reported apart.
        run_only: means nothing to predictions made elsewhere.
        required: must be given for a run; an option with neither `required` nor `default` may be left out.
    """

    name: str
    help: str
    choices: tuple[str, ...] = ()
    multiple: bool = False
    default: Any = None
    required: bool = False
    setting: bool = False
    run_only: bool = False
    kind: Literal["text", "int", "path"] = "text"


@dataclass(frozen=True, slots=True)
class Case:
    """One case as plain data.

    Attributes:
        id: unique within the data set.
        cluster: cases of one cluster are not independent; standard errors respect it.
        record: everything that scoring and showing need later, JSON-serialisable; stored with the run.
    """

    id: str
    cluster: str
    record: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A data set in memory.

    Attributes:
        data_hash: over every file read.
        files: path relative to the data folder -> SHA-256.
        notes: sentences the user should read, e.g. about known faults of the data.
        private: whatever the benchmark wants back when it plays.
    """

    cases: tuple[Case, ...]
    data_hash: str
    files: Mapping[str, str]
    notes: tuple[str, ...] = ()
    private: Any = None


@dataclass(frozen=True, slots=True)
class Unit:
    """One piece of work: a case, in a setting, in an epoch (1, 2, …)."""

    benchmark: str
    setting: str
    case: str
    epoch: int

    @property
    def key(self) -> str:
        """Equals `judge.models.address.Address.unit` of the unit's calls."""
        return "/".join(quote(part, safe="") for part in (self.benchmark, self.setting, self.case, str(self.epoch)))


@dataclass(frozen=True, slots=True)
class Transcript:
    """What happened when a unit was played.

    Attributes:
        status: `ANSWERED`, or the unscored reason.
        detail: one sentence for a person; empty when answered.
        flags: short words counted in reports, e.g. ``malformed`` or ``re_asked``.
        data: the benchmark's own plain data: messages, the answer as read, …
    """

    status: str
    detail: str = ""
    flags: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)


class Player(Protocol):
    """Plays units of one run."""

    async def play(self, case: Case, unit: Unit, models: Mapping[str, ChatModel]) -> Transcript:
        """Play one unit.

        Args:
            models: by role; ``doctor`` always, others as `Benchmark.roles` says.

        Raises:
            EndpointError, ReplayError, Interrupted: pass through and end the run; failures of a single call do not
                raise but end the transcript.
        """


class Benchmark(Protocol):
    """One benchmark. Implementations are values with these attributes and methods, see `graphs.caremedeval`."""

    name: str
    title: str
    about: str
    licence: str
    options: tuple[Option, ...]
    prompt_package: str
    """Import package that holds the prompts as ``<name>/<prompt>.md``; ``prompts`` for the built-in benchmarks."""
    flags: Mapping[str, str]
    """Flag -> what it means, for every flag its transcripts may carry."""

    scored_statuses: frozenset[str]
    """Statuses whose transcripts `score` is asked about; every other status is an unscored reason for all metrics."""

    def metrics(self) -> tuple[Metric, ...]:
        """In report order; the first one is the headline."""

    def metrics_in(self, setting: str, options: Mapping[str, Any]) -> tuple[Metric, ...]:
        """Those of them that mean something in this setting, signed with whatever of the options moves them."""

    def roles(self, options: Mapping[str, Any]) -> Mapping[str, str | None]:
        """The models needed besides the doctor: role -> SPEC, or None where the options name none."""

    def settings(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """The settings that a run with these options has, in order."""

    def prompt_names(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Names of all prompts that a run with these options may use, e.g. ``reask.fr.v1``."""

    def load(self, data: Path, options: Mapping[str, Any]) -> Loaded:
        """Read and validate the data.

        Raises:
            DataError: with file, place and id.
        """

    def player(self, loaded: Loaded, options: Mapping[str, Any], prompts: Prompts, tokenizer: Tokenizer) -> Player:
        """What plays the units of a run."""

    def draw(self, setting: str | None) -> str:
        """The state machine as a Mermaid diagram, for one setting or for all."""

    def score(self, record: Mapping[str, Any], transcript: Transcript) -> Mapping[str, Outcome]:
        """Every metric of an answered transcript; pure."""

    def groups(self, record: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
        """Breakdown -> the groups this case is in, e.g. ``{"label": ["design", "methodology"]}``."""

    def best(self, record: Mapping[str, Any]) -> Mapping[str, float]:
        """Per metric, the best score that any answer could get on this case."""

    def read_prediction(self, record: Mapping[str, Any], prediction: Any, *, thinking: str, setting: str) -> Transcript:
        """A transcript from a prediction made elsewhere.

        Args:
            thinking: reasoning that the file keeps apart from the prediction.
            setting: under which it was made, as the user says.

        Raises:
            DataError: the prediction has a type that cannot be read.
        """

    def audit(self, data: Path) -> AuditReport:
        """What is odd in the data.

        Raises:
            DataError: there is nothing that could be audited.
        """

    def describe(self, record: Mapping[str, Any], transcript: Transcript) -> list[tuple[str, str]]:
        """A case and its transcript for a person: (heading, text) pairs."""


@runtime_checkable
class BaselinedBenchmark(Protocol):
    """A benchmark that knows strategies which look at no question; looked up by this method."""

    def baselines(self, loaded: Loaded) -> list[dict[str, Any]]:
        """Rows with ``name``, ``description`` and ``metrics`` (name -> mean)."""


@dataclass(frozen=True, slots=True)
class Macro:
    """A mean of the means of groups, each group counting the same.

    Attributes:
        by: the breakdown that the groups are of, see `Benchmark.groups`.
        without: groups that are left out.
    """

    by: str
    without: tuple[str, ...] = ()


@runtime_checkable
class SummarisedBenchmark(Protocol):
    """A benchmark whose results are published as means of group means; looked up by these attributes and methods."""

    group_order: Mapping[str, Sequence[str]]
    """Breakdown -> all its groups in published order; other breakdowns are sorted by name."""

    macros: tuple[Macro, ...]
    """What is reported of every metric besides its mean over all cases, the headline first."""

    def asides(
        self, record: Mapping[str, Any], transcript: Transcript, options: Mapping[str, Any]
    ) -> Mapping[Metric, Outcome]:
        """What else can be said of a unit that must stand apart and enter no other number; mostly nothing.

        Args:
            transcript: of any status, also of units that have no score.
        """


@runtime_checkable
class ExplainedBenchmark(Protocol):
    """A benchmark whose predictions made elsewhere have parts beside the answer; looked up by this attribute."""

    prediction_parts: tuple[str, ...]
    """Keys of them. Where a file has one, `Benchmark.read_prediction` gets them in an object with ``answer``."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a doctor wrote in explanation of its answer, and what that is compared with.

    Attributes:
        candidate: the text; None where there is none to be had.
        references: texts that a good explanation resembles.
        missing: why the text could not be had, of a unit that came to an answer all the same.
    """

    candidate: str | None
    references: tuple[str, ...]
    missing: Unscored | None = None


@runtime_checkable
class TextScoredBenchmark(Protocol):
    """A benchmark whose doctors explain their answers; looked up by these attributes and methods."""

    explanation_gate: str | None
    """Name of the metric of `Benchmark.score` that is 1 for a right answer; None: every explanation counts."""

    explanations_by_default: str
    """What a run compares if the user does not say it: ``none``, ``lexical`` or ``all``."""

    def explanation(self, record: Mapping[str, Any], transcript: Transcript | None) -> Explanation | None:
        """What there is to compare; None where the case has no reference.

        Args:
            transcript: None for a unit that came to no answer.
        """

    def explanation_language(self, options: Mapping[str, Any]) -> str:
        """Language of the explanations in a run with these options, e.g. ``fr``."""


@runtime_checkable
class DatedBenchmark(Protocol):
    """A benchmark that knows when its cases were written; looked up by this method."""

    def date_of(self, record: Mapping[str, Any]) -> str:
        """Day (``2024-7-3``) or month (``2024-7``); empty where it is not known."""


@runtime_checkable
class JudgedBenchmark(Protocol):
    """A benchmark with metrics that rest on a judge's judgements; looked up by these methods."""

    def judged_metrics(self, setting: str, options: Mapping[str, Any]) -> tuple[Metric, ...]:
        """Those that mean something in this setting."""

    def score_judged(
        self, record: Mapping[str, Any], setting: str, options: Mapping[str, Any], said: UnitJudgements
    ) -> Mapping[str, Outcome]:
        """Every judged metric of one unit; pure. What the judge could not say is unscored with its reason.

        A metric that is not defined for the case is left out, and the unit is in none of its counts.
        """

    def read_labels(self, file: Path, judge: str | None) -> Labels:
        """Another judge's, or a person's, labels from a file.

        Args:
            judge: which judge's, where the file has several.

        Raises:
            DataError: with file, place and id.
        """

    def labelled_transcript(self, labels: CaseLabels, setting: str) -> Transcript:
        """What is known of an output of which only the labelled steps are there."""


@runtime_checkable
class ModelJudgedBenchmark(Protocol):
    """A benchmark whose transcripts a model can judge; looked up by these attributes and methods."""

    judging_tasks: Mapping[str, str]
    """Task -> what is judged, for a person, in the order in which they are done; ``--only`` chooses among them."""

    def judge_prompt_names(self, spec: JudgeSpec, settings: Sequence[str]) -> tuple[str, ...]:
        """Names of all prompts that judging a run of these settings under `spec` may use."""

    def references(self, cases: Sequence[Case]) -> References | None:
        """The reference steps of these cases as the deterministic splitter makes them; None where there are none."""

    def judging(self, tools: JudgeTools) -> Judging:
        """What judges the units of a run."""

    def draw_judging(self) -> str:
        """The judging graph as a Mermaid diagram."""

    def describe_judgements(self, said: UnitJudgements) -> list[tuple[str, str]]:
        """What a judge said of one unit, for a person: (heading, text) pairs."""


def registry() -> dict[str, Benchmark]:
    """All benchmarks by name, built-in ones first.

    Raises:
        SpecError: two benchmarks share a name.
    """
    found: dict[str, Benchmark] = {}
    for benchmark in [*_built_in(), *_plugins()]:
        if benchmark.name in found:
            raise SpecError(f"two benchmarks are named {benchmark.name!r}; uninstall one of the plugins")
        found[benchmark.name] = benchmark
    return found


def _built_in() -> list[Benchmark]:
    package = importlib.import_module("graphs")
    modules = (importlib.import_module(f"graphs.{info.name}") for info in pkgutil.iter_modules(package.__path__))
    return [module.BENCHMARK for module in modules if hasattr(module, "BENCHMARK")]


def _plugins() -> list[Benchmark]:
    found = []
    for entry in importlib.metadata.entry_points(group=GROUP):
        try:
            found.append(entry.load())
        except Exception as error:
            raise SpecError(f"the benchmark plugin {entry.name!r} ({entry.value}) cannot be loaded: {error}") from error
    return found
