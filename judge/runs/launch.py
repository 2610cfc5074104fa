"""Starting, continuing and finishing a run: from what the user asked for to stored scores."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import platform
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence, Set
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from typing import Any

from judge.benchmark import PENDING, Benchmark, Loaded, Unit
from judge.errors import EndpointError, MedjudgeError, ReplayError, RunError, SpecError, UserError
from judge.models.cache import FileCache
from judge.models.chat import ChatModel, open_chat
from judge.models.door import Door
from judge.models.preflight import preflight
from judge.models.recording import Header, Recorder, Recording, load_recording
from judge.models.retry import RetryPolicy
from judge.models.tokens import EstimateTokenizer, FileTokenizer, Tokenizer
from judge.outcome import ERROR_REASONS
from judge.prompting import Prompts, load_prompts
from judge.runs.runner import Ending, Playing, Workers
from judge.runs.scoring import rescore_run, score_run
from judge.runs.store import ERRORS, FILE, RunStore, create_run, delete_run, open_run
from judge.settings import Generation, ModelSpec, RunSpec, Traffic, differences_between, filled, parse_model

#: What a run remembers as absolute paths, so that it can be continued from another working directory.
PLACES = ("data", "replay", "prompts", "tokenizer")


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for. On resuming, only what is given again is compared with the run's own settings.

    Attributes:
        model: SPEC of the doctor; None takes it from the replayed recording, or from the resumed run.
        options: the benchmark's own options.
        judging: how the run is to be judged when it is done, as `judge.runs.judging.JudgeRequest.to_row` gives it;
            kept with the run, so that continuing it continues that.
        judge_roles: role -> SPEC of that judge, for the recording.
        explanations: how explanations are compared when the run is done, as `judge.runs.measuring.TextRequest.to_row`
            gives it; kept likewise.
        given: names of the settings that the user gave explicitly.
    """

    benchmark: Benchmark
    model: str | None
    data: Path | None
    options: Mapping[str, Any]
    generation: Generation = field(default_factory=Generation)
    traffic: Traffic = field(default_factory=Traffic)
    limit: int | None = None
    cases: tuple[str, ...] = ()
    epochs: int = 1
    out: Path | None = None
    record: Path | None = None
    replay: Path | None = None
    cache: Path | None = None
    prompts: Path | None = None
    tokenizer: Path | None = None
    key_variable: str | None = None
    judging: Mapping[str, Any] | None = None
    judge_roles: Mapping[str, str] = field(default_factory=dict)
    explanations: Mapping[str, Any] | None = None
    given: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything a run needs, checked, before anything is written."""

    spec: RunSpec
    loaded: Loaded
    prompts: Prompts
    tokenizer: Tokenizer
    replay: Recording | None
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class Finished:
    """A run after playing.

    Attributes:
        report: as `judge.runs.scoring.report_of` gives it.
        ending: how playing ended.
    """

    folder: Path
    report: dict[str, Any]
    ending: Ending


class Watcher:
    """Told of a run's progress; this one ignores it. See `judge.runs.progress`."""

    def begin(self, total: int, done: int, door: Door, scored: Set[str]) -> None: ...

    def finished(self, unit: Unit, status: str) -> None: ...

    def end(self) -> None: ...


def plan_run(request: Request) -> Plan:
    """Load and check everything a new run needs.

    Raises:
        UserError: whatever the user gave that cannot be used.
    """
    if request.data is None:
        raise SpecError("--data is missing: name the folder that holds the data set")
    model, replay = _model_and_replay(request)
    loaded = request.benchmark.load(request.data, request.options)
    return _plan(request, model, replay, loaded, secrets.token_hex(16))


def plan_resume(request: Request, store: RunStore) -> Plan:
    """Like `plan_run`, for a run that exists: what the user does not give again comes from the run.

    Raises:
        RunError: a setting given, the data or a prompt differs from the run's; all differences are named.
    """
    stored = store.spec()
    facts = json.loads(store.meta("facts"))
    wanted = _with_stored(request, stored, facts)
    model, replay = _model_and_replay(wanted)
    assert wanted.data is not None
    loaded = wanted.benchmark.load(wanted.data, wanted.options)
    plan = _plan(wanted, model, replay, loaded, stored.nonce)
    if differences := differences_between(stored, plan.spec):
        raise RunError(f"{store.folder} cannot be continued with other settings: {'; '.join(differences)}")
    return plan


def _with_stored(request: Request, stored: RunSpec, facts: Mapping[str, Any]) -> Request:
    """The request with everything not given replaced by the run's own."""

    def given(name: str, mine: Any, theirs: Any) -> Any:
        return mine if name in request.given else theirs

    generation = {
        name: given(name, getattr(request.generation, name), getattr(stored.generation, name))
        for name in type(stored.generation).model_fields
    }
    places = {name: Path(facts[name]) if facts.get(name) else None for name in PLACES}
    if request.model is not None and request.model.startswith("replay:"):
        places["replay"] = None  # given again, as the model
    return replace(
        request,
        model=given("model", request.model, stored.model.text),
        key_variable=request.key_variable or stored.model.key_variable or None,
        data=request.data or places["data"] or Path(stored.data),
        options={
            name: given(name.replace("-", "_"), request.options.get(name), value)
            for name, value in stored.options.items()
        },
        generation=Generation(**generation),
        limit=given("limit", request.limit, stored.limit),
        cases=given("cases", request.cases, stored.cases),
        epochs=given("epochs", request.epochs, stored.epochs),
        replay=request.replay or places["replay"],
        prompts=request.prompts or places["prompts"],
        tokenizer=request.tokenizer or places["tokenizer"],
    )


def _model_and_replay(request: Request) -> tuple[ModelSpec, Recording | None]:
    replay = load_recording(request.replay) if request.replay else None
    text = request.model
    if text is not None and text.startswith("replay:"):
        if replay is not None:
            raise SpecError("give either --model replay:FILE or --replay FILE, not both")
        replay, text = load_recording(Path(text.removeprefix("replay:"))), None
    if text is None:
        if replay is None or "doctor" not in replay.header.models:
            raise SpecError("--model is missing: name the model to ask")
        text = replay.header.models["doctor"]
    return parse_model(text, key_variable=request.key_variable), replay


def _plan(request: Request, model: ModelSpec, replay: Recording | None, loaded: Loaded, nonce: str) -> Plan:
    benchmark = request.benchmark
    settings = benchmark.settings(request.options)
    prompts = load_prompts(
        benchmark.name, benchmark.prompt_names(request.options), request.prompts, package=benchmark.prompt_package
    )
    tokenizer = choose_tokenizer(model, request.tokenizer)
    spec = RunSpec(
        benchmark=benchmark.name,
        model=model,
        generation=filled(request.generation, model.kind),
        others=_others(request, replay),
        settings=settings,
        options=dict(request.options),
        data=str(request.data),
        data_hash=loaded.data_hash,
        limit=request.limit,
        cases=request.cases,
        epochs=request.epochs,
        prompts=prompts.hashes(),
        replaced_prompts=prompts.replaced(),
        tokenizer=tokenizer.name,
        nonce=replay.header.nonce if replay else nonce,
    )
    cases = _chosen(loaded, request)
    units = tuple(
        Unit(benchmark.name, setting, case, epoch)
        for setting in settings
        for epoch in range(1, request.epochs + 1)
        for case in cases
    )
    return Plan(spec, loaded, prompts, tokenizer, replay, units)


def _others(request: Request, replay: Recording | None) -> dict[str, ModelSpec]:
    """The models besides the doctor; one that the options do not name may stand in the recording."""
    found = {}
    for role, text in request.benchmark.roles(request.options).items():
        text = text or (replay.header.models.get(role) if replay else None)
        if text is None:
            option = next((option.help for option in request.benchmark.options if option.name == role), "")
            raise SpecError(f"--{role} is missing: {option}")
        found[role] = parse_model(text)
    return found


def _chosen(loaded: Loaded, request: Request) -> list[str]:
    ids = [case.id for case in loaded.cases]
    unknown = [case for case in request.cases if case not in set(ids)]
    if unknown:
        raise SpecError(f"--case {unknown[0]}: {request.data} has no case of that id")
    wanted = set(request.cases)
    chosen = [case for case in ids if case in wanted] if wanted else ids
    return chosen[: request.limit] if request.limit is not None else chosen


def choose_tokenizer(model: ModelSpec, path: Path | None) -> Tokenizer:
    """The tokenizer the user names, a local model's own, or an estimate; its name is recorded with the run."""
    if path is not None:
        return FileTokenizer(path)
    if model.kind == "hf" and (Path(model.name) / "tokenizer.json").is_file():
        return FileTokenizer(Path(model.name))
    return EstimateTokenizer()


async def run_new(request: Request, watcher: Watcher) -> Finished:
    """Make a run and play it to its end.

    Raises:
        UserError, EndpointError, ReplayError: nothing is left behind.
    """
    plan = plan_run(request)
    folder = request.out or default_folder(plan.spec)
    if (folder / FILE).exists():
        raise RunError(f"{folder} holds a run already; continue it with --resume {folder}, or name another folder")
    notes = await _preflight(plan)
    chosen = {unit.case for unit in plan.units}
    cases = [case for case in plan.loaded.cases if case.id in chosen]
    new_recording = request.record is not None and not request.record.exists()
    store = create_run(folder, plan.spec, cases, plan.units, facts_of(request, plan, notes))
    try:
        finished = await _play(store, request, plan, plan.units, watcher)
        if finished.ending.error is not None and _is_void(finished.ending.error, store):
            raise finished.ending.error
        return finished
    except (UserError, EndpointError, ReplayError) as error:
        if _is_void(error, store):
            delete_run(store)
            if new_recording and request.record is not None:
                request.record.unlink(missing_ok=True)
        raise
    finally:
        store.close()


async def run_resumed(folder: Path, request: Request, retry: Sequence[str], watcher: Watcher) -> Finished:
    """Continue a run; asks only what has no answer yet, plus the units whose status is in `retry`.

    Raises:
        UserError, EndpointError: the run is as it was.
    """
    plan, known = _read_plan(folder, request)
    _check_retry(retry, known)
    store = open_run(folder, write=True)
    try:
        due = _meant(retry) | {PENDING}
        if known & due:
            await _preflight(plan)
        units = [stored.unit for stored in store.units(with_transcripts=False) if stored.status in due]
        return await _play(store, request, plan, units, watcher, retry)
    finally:
        store.close()


def _read_plan(folder: Path, request: Request) -> tuple[Plan, set[str]]:
    """The plan of a run and the statuses in it, read without touching the run."""
    store = open_run(folder, write=False)
    try:
        if (name := store.meta("benchmark")) != request.benchmark.name:
            raise RunError(f"{folder} is a run of {name}; continue it with: medjudge run {name} --resume {folder}")
        if store.spec().model.kind == "imported":
            raise RunError(f"{folder} was made from predictions; it has no model that could be asked")
        return plan_resume(request, store), {stored.status for stored in store.units(with_transcripts=False)}
    finally:
        store.close()


def _check_retry(retry: Sequence[str], known: set[str]) -> None:
    for status in retry:
        if status != ERRORS and status not in known:
            raise SpecError(f"--retry {status}: no unit has this status; there are: {', '.join(sorted(known))}")


def _meant(retry: Sequence[str]) -> set[str]:
    return {name for status in retry for name in (ERROR_REASONS if status == ERRORS else (status,))}


def _is_void(error: MedjudgeError, store: RunStore) -> bool:
    """Whether a new run ended by this error holds nothing that was worth a call."""
    return isinstance(error, UserError | EndpointError | ReplayError) and not store.has_answers()


async def _preflight(plan: Plan) -> tuple[str, ...]:
    if plan.replay is not None:
        return ()
    notes: list[str] = []
    for model in plan.spec.models().values():
        if model.kind in ("openai", "http"):
            notes += (await preflight(model.base_url, model.name, model.key())).notes
    return tuple(dict.fromkeys(notes))


async def _play(
    store: RunStore, request: Request, plan: Plan, units: Sequence[Unit], watcher: Watcher, retry: Sequence[str] = ()
) -> Finished:
    if not units:
        if request.record:
            _recorder(request.record, store, plan.spec, request.judge_roles).close()
        return Finished(store.folder, rescore_run(store, request.benchmark), Ending(0, False, None))
    player = request.benchmark.player(plan.loaded, plan.spec.options, plan.prompts, plan.tokenizer)
    async with _opened(store, request, plan) as (door, models):
        store.reopen(retry)  # not before everything that the user named could be opened: it sets paid answers aside
        cases = {case.id: case for case in plan.loaded.cases}
        playing = Playing(store, player, models, cases, watcher.finished)
        workers = Workers(door, playing, connections=request.traffic.connections)
        watcher.begin(len(plan.units), len(plan.units) - len(units), door, request.benchmark.scored_statuses)
        try:
            ending = await workers.work(units)
        finally:
            watcher.end()
    # what ended the run early may be the disk: then nothing more is written
    report = rescore_run if ending.error is None else score_run
    return Finished(store.folder, report(store, request.benchmark), ending)


@asynccontextmanager
async def _opened(store: RunStore, request: Request, plan: Plan) -> AsyncIterator[tuple[Door, dict[str, ChatModel]]]:
    """The door and the models behind it; all files and connections are closed at the end."""
    spec, traffic = plan.spec, request.traffic
    keys = () if plan.replay else tuple(key for model in spec.models().values() if (key := model.key()))
    async with contextlib.AsyncExitStack() as stack:
        recorder = None
        if request.record:
            recorder = _recorder(request.record, store, spec, request.judge_roles)
            stack.callback(recorder.close)
        cache = None
        if request.cache:
            cache = FileCache(request.cache)
            stack.callback(cache.close)
        door = Door(
            store=store,
            replay=plan.replay,
            recorder=recorder,
            cache=cache,
            retry=RetryPolicy(tries=traffic.tries, total_wait=traffic.total_wait),
            timeout=traffic.timeout,
            secrets=keys,
        )
        models = {}
        for role, model in spec.models().items():
            asked = spec.generation if role == "doctor" else filled(Generation(), model.kind)
            opened = open_chat(model, asked, door, connections=traffic.connections)
            models[role] = await stack.enter_async_context(opened)
        yield door, models


def _recorder(file: Path, store: RunStore, spec: RunSpec, judge: Mapping[str, str]) -> Recorder:
    """An open recording that already holds all that the run holds, even after a kill or when begun on resuming.

    Args:
        judge: role -> SPEC of the judge that will be recorded into it later, if one will.
    """
    models = {role: model.text for role, model in spec.models().items()}
    recorder = Recorder(file, Header(spec.nonce, models | dict(judge), {}))
    fill_recording(recorder, file, store, lambda role: True)
    return recorder


def fill_recording(recorder: Recorder, file: Path, store: RunStore, wanted: Callable[[str], bool]) -> None:
    """Add the stored exchanges of the roles that are wanted, as far as they are not in the recording."""
    known = {address: exchange.attempt for address, exchange in load_recording(file).exchanges.items()}
    for exchange in store.all_exchanges():
        if wanted(exchange.role) and exchange.attempt > known.get(exchange.address, 0):
            recorder.add(exchange)


def default_folder(spec: RunSpec) -> Path:
    """``runs/<benchmark>-<model>-<time>`` below the working directory; numbered when there is one of that name."""
    name = f"{spec.benchmark}-{spec.model.slug}-{time.strftime('%Y%m%d-%H%M%S')}"
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(folder for folder in map(Path("runs").joinpath, names) if not folder.exists())


def facts_of(request: Request, plan: Plan, notes: Sequence[str]) -> dict[str, Any]:
    """What is worth knowing of a run besides its settings."""
    versions = {
        name: importlib.metadata.version(name) for name in ("medjudge", "langgraph", "langchain-openai", "openai")
    }
    return {
        "versions": versions | {"python": platform.python_version()},
        "licence": request.benchmark.licence,
        "files": dict(plan.loaded.files),
        "notes": [*plan.loaded.notes, *plan.prompts.omissions(), *notes],
        "data": str(request.data.absolute()) if request.data else None,
        "replay": str(plan.replay.path.absolute()) if plan.replay else None,
        "prompts": str(request.prompts.absolute()) if request.prompts else None,
        "tokenizer": str(request.tokenizer.absolute()) if request.tokenizer else None,
        "judging": dict(request.judging) if request.judging is not None else None,
        "explanations": dict(request.explanations) if request.explanations is not None else None,
    }
