"""Judging a run's stored transcripts with a model: adds judgements, never overwrites, asks nothing twice."""

from __future__ import annotations

import contextlib
import importlib.metadata
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from judge.benchmark import PENDING, Benchmark, Case, ModelJudgedBenchmark, Unit
from judge.chains.tools import JudgeTools, Judging
from judge.errors import CallFailed, DataError, MedjudgeError, RunError, SpecError
from judge.evidence import Evidence, open_evidence
from judge.judgements import UnitJudgements
from judge.models.door import Door
from judge.models.preflight import preflight
from judge.models.recording import Header, Recorder, Recording, load_recording
from judge.models.retry import RetryPolicy
from judge.models.structured import Probed, judge_generation, open_judge
from judge.outcome import ERROR_REASONS
from judge.prompting import Prompts, load_prompts
from judge.references import References, read_references
from judge.runs.judge_names import check_judge_name
from judge.runs.judge_store import FAILED_CALLS
from judge.runs.launch import Watcher, fill_recording
from judge.runs.runner import Ending, Workers
from judge.runs.scoring import rescore_run, score_run
from judge.runs.store import ERRORS, RunStore, StoredUnit, benchmark_of, open_run
from judge.settings import (
    Frozen,
    Generation,
    JudgeProtocol,
    JudgeSpec,
    ModelSpec,
    ReasoningSource,
    StepSplitter,
    Traffic,
    differences_between,
    parse_model,
)

#: Status of a judged unit for the progress display; any other is the reason why a label is missing.
JUDGED = "judged"

#: Beginnings of a SPEC that names a recording, of evidence in a folder, and of a judge's role.
REPLAY, CORPUS, JUDGE = "replay:", "corpus:", "judge:"


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """What the user asked for.

    Attributes:
        model: SPEC of the judge, or ``replay:FILE``.
        name: under which the run keeps the judgements; None makes one from the model and the protocol.
        only: tasks; empty for all that the benchmark has.
        reference: file of pinned reference steps; None for those of the deterministic splitter.
    """

    model: str
    name: str | None = None
    generation: Generation = field(default_factory=Generation)
    traffic: Traffic = field(default_factory=Traffic)
    protocol: JudgeProtocol = "per-step"
    only: tuple[str, ...] = ()
    evidence: str = "none"
    reasoning_source: ReasoningSource = "answer"
    step_splitter: StepSplitter = "auto"
    reference: Path | None = None
    prompts: Path | None = None
    record: Path | None = None
    key_variable: str | None = None

    def to_row(self) -> dict[str, Any]:
        """In JSON types; files as absolute paths, so that it means the same from another working directory."""
        row = {name: _plain(getattr(self, name)) for name in self.__slots__}
        for name, start in (("model", REPLAY), ("evidence", CORPUS)):
            if row[name].startswith(start):
                row[name] = f"{start}{Path(row[name].removeprefix(start)).expanduser().absolute()}"
        return row

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> JudgeRequest:
        """The inverse of `to_row`."""
        files = {
            name: Path(row[name]) if row[name] is not None else None for name in ("reference", "prompts", "record")
        }
        settings = {"generation": Generation(**row["generation"]), "traffic": Traffic(**row["traffic"])}
        return cls(**{**row, **files, **settings, "only": tuple(row["only"])})


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value.absolute())
    if isinstance(value, Frozen):
        return value.model_dump(mode="json")
    return list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True)
class Judged:
    """A run after judging.

    Attributes:
        name: of the judge.
        report: as `judge.runs.scoring.report_of` gives it, with the judge's metrics.
        faults: sentences on units that could not be judged through a fault of ours; they stay open.
        error_units: units of which labels are missing for a reason that lies with the endpoint or the network.
    """

    folder: Path
    name: str
    report: dict[str, Any]
    ending: Ending
    faults: tuple[str, ...]
    error_units: int


@dataclass(frozen=True, slots=True)
class Seat:
    """Who judges: the model, under which name, and the recording that stands in for it, if one does."""

    model: ModelSpec
    name: str
    replay: Recording | None


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that judging needs, checked, before anything is written."""

    spec: JudgeSpec
    prompts: Prompts
    references: References | None
    evidence: Evidence | None
    units: tuple[StoredUnit, ...]


def model_judged(benchmark: Benchmark) -> ModelJudgedBenchmark:
    """The benchmark as one whose transcripts a model can judge.

    Raises:
        SpecError: it is none.
    """
    if not isinstance(benchmark, ModelJudgedBenchmark):
        raise SpecError(f"{benchmark.name} has nothing that a model could judge")
    return benchmark


async def check_judge(benchmark: Benchmark, request: JudgeRequest, settings: Sequence[str]) -> str:
    """Find out, before the doctor is asked anything, whether the judge could be; gives its name.

    Raises:
        UserError, EndpointError: it could not.
    """
    seat = seat_of(request)
    judged = model_judged(benchmark)
    _prompts(benchmark, judged, _draft(request, seat, judged), settings, request.prompts)
    if seat.replay is None:
        open_evidence(request.evidence, None, connections=1)
    if request.reference is not None:
        read_references(request.reference)
    await _preflight(seat)
    return seat.name


async def judge_run(folder: Path, request: JudgeRequest, retry: Sequence[str], watcher: Watcher) -> Judged:
    """Judge the units of a run that this judge has not judged yet.

    Args:
        retry: reasons; units where labels are missing for one of them are judged again. ``errors`` stands for all
            that lie with the endpoint or the network.

    Raises:
        UserError, EndpointError, ReplayError: nothing is left behind of a judge that has said nothing.
    """
    store = open_run(folder, write=True)
    try:
        return await _judge(store, request, retry, watcher)
    finally:
        store.close()


async def _judge(store: RunStore, request: JudgeRequest, retry: Sequence[str], watcher: Watcher) -> Judged:
    seat = seat_of(request)
    _check_nonce(store, seat)
    benchmark = benchmark_of(store)
    async with _opened(store, request, seat) as door:
        plan = _plan(store, benchmark, request, seat, door)
        _check_known(store, plan.spec)
        said = store.judging.judged(plan.spec.name)
        _check_retry(plan.spec, said, retry)
        todo = _todo(plan, said, retry)
        notes = await _preflight(seat) if todo else ()
        new = plan.spec.name not in store.judging.judges()
        if new:
            store.judging.add_judge(plan.spec.name, _facts(plan, notes))
        store.judging.ask_again([said[s.unit.key] for s in todo if s.unit.key in said], _meant(retry))
        try:
            ending, faults = await _work(store, request, plan, model_judged(benchmark), door, todo, watcher)
        except MedjudgeError:
            if new:
                _forget_silent(store, plan.spec)
            raise
        if ending.error is not None and new and _forget_silent(store, plan.spec):
            raise ending.error
    report = (rescore_run if ending.error is None else score_run)(store, benchmark, plan.spec.name)
    errors = _with_errors(store.judging.judged(plan.spec.name))
    return Judged(store.folder, plan.spec.name, report, ending, faults, errors)


# -- before anything is asked ----------------------------------------------------------------------------------------


def seat_of(request: JudgeRequest) -> Seat:
    """Who judges; a recording says it itself.

    Raises:
        UserError: no model of that form, or a recording of no judge or of several.
    """
    if not request.model.startswith(REPLAY):
        model = parse_model(request.model, key_variable=request.key_variable)
        if model.kind == "human":
            raise SpecError("a person judges through medjudge import-judgements RUN_DIR --labels FILE.csv")
        given = default_name(model, request.protocol) if request.name is None else request.name
        check_judge_name("--judge-name", given)
        return Seat(model, given, None)
    recording = load_recording(Path(request.model.removeprefix(REPLAY)))
    models = recording.header.models.items()
    judges = {role.removeprefix(JUDGE): text for role, text in models if role.startswith(JUDGE)}
    name = request.name or (next(iter(judges)) if len(judges) == 1 else None)
    if name is None or name not in judges:
        there_are = ", ".join(judges) or "none"
        raise SpecError(f"{recording.path}: name the recorded judge with --judge-name; there are: {there_are}")
    return Seat(parse_model(judges[name]), name, recording)


def default_name(model: ModelSpec, protocol: JudgeProtocol) -> str:
    """The model's name; with the protocol where it is not the published one."""
    return model.slug if protocol == "per-step" else f"{model.slug}-{protocol}"


def _check_nonce(store: RunStore, seat: Seat) -> None:
    """The fences in a judge's requests derive from the run's nonce, so only that run's recording can answer."""
    if seat.replay is not None and seat.replay.header.nonce != store.spec().nonce:
        raise DataError(f"{seat.replay.path} holds the recording of another run than {store.folder}")


def _draft(request: JudgeRequest, seat: Seat, benchmark: ModelJudgedBenchmark) -> JudgeSpec:
    """The settings as far as the user says them."""
    if unknown := [task for task in request.only if task not in benchmark.judging_tasks]:
        there_are = ", ".join(benchmark.judging_tasks)
        raise SpecError(f"--only {unknown[0]}: there is nothing of that name to judge; there are: {there_are}")
    return JudgeSpec(
        name=seat.name,
        model=seat.model,
        generation=judge_generation(request.generation, seat.model.kind),
        protocol=request.protocol,
        only=tuple(task for task in benchmark.judging_tasks if not request.only or task in request.only),
        evidence=request.evidence,
        reasoning_source=request.reasoning_source,
        step_splitter=request.step_splitter,
    )


def _plan(store: RunStore, benchmark: Benchmark, request: JudgeRequest, seat: Seat, door: Door) -> Plan:
    judged, run = model_judged(benchmark), store.spec()
    draft = _draft(request, seat, judged)
    cases = list(store.cases().values())
    evidence = open_evidence(request.evidence, door, connections=request.traffic.connections)
    references = _references(judged, cases, request.reference)
    prompts = _prompts(benchmark, judged, draft, run.settings, request.prompts)
    spec = draft.model_copy(
        update={
            "evidence": evidence.name if evidence else "none",
            "evidence_version": evidence.version if evidence else "",
            "reference": references.splitter if references else "",
            "reference_hash": references.hash_of([case.id for case in cases]) if references else "",
            "prompts": prompts.hashes(),
            "replaced_prompts": prompts.replaced(),
        }
    )
    units = tuple(stored for stored in store.units() if stored.status != PENDING)
    return Plan(spec, prompts, references, evidence, units)


def _references(benchmark: ModelJudgedBenchmark, cases: Sequence[Case], file: Path | None) -> References | None:
    made = benchmark.references(cases)
    if made is None and file is not None:
        raise SpecError("--reference: nothing is measured against reference steps here")
    return made if made is None or file is None else read_references(file).checked_against(made)


def _prompts(
    benchmark: Benchmark, judged: ModelJudgedBenchmark, spec: JudgeSpec, settings: Sequence[str], folder: Path | None
) -> Prompts:
    names = judged.judge_prompt_names(spec, settings)
    if not names:
        tasks, where = ", ".join(spec.only), ", ".join(settings)
        raise SpecError(f"--only {tasks}: there is nothing of that kind to judge in {where}")
    return load_prompts(benchmark.name, names, folder, package=benchmark.prompt_package, option="--judge-prompts")


def _check_known(store: RunStore, spec: JudgeSpec) -> None:
    """A judge of this name must be the same in everything that can change what it says."""
    known = store.judging.judges().get(spec.name)
    if known is None:
        return
    if "spec" not in known:
        raise RunError(f"{store.folder} has imported labels under the name {spec.name!r}; give another --judge-name")
    if found := _told(differences_between(JudgeSpec.model_validate(known["spec"]), spec)):
        raise RunError(
            f"{store.folder} has judgements by {spec.name!r} made with other settings: {'; '.join(found)}; "
            "give another --judge-name"
        )


def _told(differences: Sequence[str]) -> list[str]:
    """Differences without those that follow from others: another task or protocol means other prompts."""
    others = [difference for difference in differences if not difference.startswith("prompts.")]
    return others or list(differences)


def _check_retry(spec: JudgeSpec, said: Mapping[str, UnitJudgements], retry: Sequence[str]) -> None:
    reasons = {why.reason for of_unit in said.values() for why in of_unit.missing.values()}
    for reason in retry:
        if reason != ERRORS and reason not in reasons:
            there_are = ", ".join(sorted(reasons)) or "none"
            raise SpecError(f"--retry {reason}: no label of {spec.name} is missing for it; there are: {there_are}")


def _meant(retry: Sequence[str]) -> set[str]:
    return {name for reason in retry for name in (ERROR_REASONS if reason == ERRORS else (reason,))}


def _todo(plan: Plan, said: Mapping[str, UnitJudgements], retry: Sequence[str]) -> list[StoredUnit]:
    """The units that are to be judged, or judged again."""
    meant = _meant(retry)
    return [
        stored
        for stored in plan.units
        if stored.unit.key not in said or meant & {why.reason for why in said[stored.unit.key].missing.values()}
    ]


async def _preflight(seat: Seat) -> tuple[str, ...]:
    if seat.replay is not None or seat.model.kind not in ("openai", "http"):
        return ()
    return tuple((await preflight(seat.model.base_url, seat.model.name, seat.model.key())).notes)


def _facts(plan: Plan, notes: Sequence[str]) -> dict[str, Any]:
    """What is worth knowing of a judge; the mode of its structured output is added when it is found."""
    names, references = ("medjudge", "langgraph", "instructor", "openai"), plan.references
    return {
        "source": "model",
        "spec": plan.spec.model_dump(mode="json"),
        "versions": {name: importlib.metadata.version(name) for name in names},
        "references": {"file": Path(references.file).name, "parameters": dict(references.parameters)}
        if references
        else None,
        "notes": [*plan.prompts.omissions(), *notes],
    }


def _forget_silent(store: RunStore, spec: JudgeSpec) -> bool:
    """Forget a new judge that has answered nothing; whether it was so. A full disk must not hide what went wrong."""
    try:
        return store.judging.remove_silent(spec.name, spec.role)
    except RunError:
        return False


def _with_errors(said: Mapping[str, UnitJudgements]) -> int:
    return sum(any(why.reason in ERROR_REASONS for why in of_unit.missing.values()) for of_unit in said.values())


# -- asking ----------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _opened(store: RunStore, request: JudgeRequest, seat: Seat) -> AsyncIterator[Door]:
    traffic = request.traffic
    key = "" if seat.replay else seat.model.key()
    with contextlib.ExitStack() as stack:
        recorder = None
        if request.record is not None:
            role, run = f"{JUDGE}{seat.name}", store.spec()
            recorder = Recorder(request.record, Header(run.nonce, {role: seat.model.text}, {}))
            stack.callback(recorder.close)
            fill_recording(recorder, request.record, store, lambda other: other not in run.models())
        yield Door(
            store=store,
            replay=seat.replay,
            recorder=recorder,
            retry=RetryPolicy(tries=traffic.tries, total_wait=traffic.total_wait),
            timeout=traffic.timeout,
            secrets=(key,) if key else (),
        )


async def _work(
    store: RunStore,
    request: JudgeRequest,
    plan: Plan,
    benchmark: ModelJudgedBenchmark,
    door: Door,
    todo: Sequence[StoredUnit],
    watcher: Watcher,
) -> tuple[Ending, tuple[str, ...]]:
    if not todo:
        return Ending(0, False, None), ()
    run, name = store.spec(), plan.spec.name
    facts = store.judging.judges()[name]
    async with open_judge(
        plan.spec.model,
        plan.spec.generation,
        door,
        connections=request.traffic.connections,
        role=plan.spec.role,
        benchmark=run.benchmark,
        known=Probed.from_facts(facts) if "mode" in facts else None,
    ) as opened:
        store.judging.set_facts(name, facts | opened.probed.to_facts())
        tools = JudgeTools(
            plan.spec,
            opened.model,
            plan.prompts,
            run.nonce,
            plan.evidence,
            plan.references.cases if plan.references else {},
            store.judging,
        )
        sitting = Sitting(store, benchmark.judging(tools), tools, store.cases(), todo, watcher.finished)
        watcher.begin(len(plan.units), len(plan.units) - len(todo), door, frozenset({JUDGED}))
        try:
            workers = Workers(door, sitting, connections=request.traffic.connections)
            return await workers.work([stored.unit for stored in todo]), tuple(sitting.faults)
        finally:
            watcher.end()


class Sitting:
    """Judges one unit after another and keeps what was said.

    Attributes:
        faults: sentences on units that a fault of ours kept from being judged; nothing is stored of them.
    """

    def __init__(
        self,
        store: RunStore,
        judging: Judging,
        tools: JudgeTools,
        cases: Mapping[str, Case],
        units: Sequence[StoredUnit],
        on_finish: Callable[[Unit, str], None],
    ) -> None:
        self.faults: list[str] = []
        self._store = store
        self._judging = judging
        self._tools = tools
        self._cases = cases
        self._units = {stored.unit: stored for stored in units}
        self._on_finish = on_finish

    async def __call__(self, unit: Unit) -> None:
        stored = self._units[unit]
        assert stored.transcript is not None, "only what has been played is judged"
        try:
            said = await self._judging.judge(self._cases[unit.case], unit, stored.transcript)
        except MedjudgeError as error:
            if not isinstance(error, CallFailed):
                raise
            said = None
            self.faults.append(f"{unit.key}: {error}")
        except Exception as error:
            said = None
            self.faults.append(f"{unit.key}: {type(error).__name__}: {error}")
        failed = self._failed(unit)
        if said is not None:
            said = replace(said, facts={**said.facts, **({FAILED_CALLS: failed} if failed else {})})
            await self._store.judging.finish(self._tools.spec.name, unit, said)
        self._on_finish(unit, _status(said))

    def _failed(self, unit: Unit) -> list[list[str]]:
        """The questions about a unit without a usable answer; they are taken off the list."""
        found = [call for call in self._tools.failed if call.unit == unit.key]
        self._tools.failed[:] = [call for call in self._tools.failed if call.unit != unit.key]
        return [[call.question, call.reason] for call in found]


def _status(said: UnitJudgements | None) -> str:
    if said is None:
        return "internal_error"
    return next((why.reason for why in said.missing.values()), JUDGED)
