"""Reference steps split by a model: every call is recorded beside the result, so that none is paid for twice."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from judge.benchmark import Case, Unit
from judge.chains.asking import Asker
from judge.chains.splitting import split_text
from judge.chains.tools import SPLITTER_ROLE
from judge.errors import BodyMismatch, CallFailed, UserError
from judge.locks import lock_folder
from judge.models.door import Door
from judge.models.exchange import Exchange
from judge.models.preflight import preflight
from judge.models.recording import Header, Recorder, load_recording
from judge.models.retry import RetryPolicy
from judge.models.structured import OpenedJudge, Probed, judge_generation, open_judge
from judge.models.verdict import StructuredModel
from judge.prompting import Prompts, load_prompts
from judge.references import ReferencedBenchmark, References, check_replaces, pin
from judge.runs.launch import Watcher
from judge.runs.runner import Ending, Workers
from judge.settings import Generation, ModelSpec, Traffic

#: Stands in addresses where a run has the name of its setting.
SETTING = "reference"

SPLIT = "split"
"""Status of a case whose reference was split."""


@dataclass(frozen=True, slots=True)
class SplitRequest:
    """What the user asked for.

    Attributes:
        out: the file of steps; the calls are recorded in `calls_file` of it.
        retry: whether to ask again where the answers recorded so far could not be used.
    """

    benchmark: ReferencedBenchmark
    kind: str
    cases: Sequence[Case]
    model: ModelSpec
    out: Path
    generation: Generation = field(default_factory=Generation)
    traffic: Traffic = field(default_factory=Traffic)
    retry: bool = False


@dataclass(frozen=True, slots=True)
class SplitResult:
    """What came of it.

    Attributes:
        references: of the cases that were split.
        failed: case id -> why its answers could not be used, or that there was none.
        open: how many cases were not reached.
    """

    references: References
    failed: Mapping[str, str]
    open: int
    ending: Ending
    notes: tuple[str, ...]


def calls_file(out: Path) -> Path:
    """Where the calls that make a file of steps are recorded."""
    return out.with_name(f"{out.name}.calls.jsonl")


class RecordedCalls:
    """An exchange store that is a recording: what it holds is not asked again.

    Args:
        model: SPEC of the model that is asked.

    Raises:
        UserError: the recording is of another model, or cannot be written.
        DataError: it cannot be read.
    """

    def __init__(self, path: Path, model: str) -> None:
        self.nonce = secrets.token_hex(16)
        self._exchanges: dict[str, Exchange] = {}
        if path.is_file() and path.stat().st_size:
            known = load_recording(path)
            if known.header.models != {SPLITTER_ROLE: model}:
                asked = ", ".join(known.header.models.values())
                raise UserError(f"{path} holds calls to {asked}, not to {model}; name another file after --out")
            self.nonce, self._exchanges = known.header.nonce, dict(known.exchanges)
        self._attempts = {address: found.attempt for address, found in self._exchanges.items()}
        self._recorder = Recorder(path, Header(self.nonce, {SPLITTER_ROLE: model}, {}))
        self._path = path

    async def find(self, address: str) -> Exchange | None:
        return self._exchanges.get(address)

    async def keep(self, exchange: Exchange) -> Exchange:
        attempt = self._attempts.get(exchange.address, 0) + 1
        kept = replace(exchange, attempt=attempt)
        self._recorder.add(kept)
        self._attempts[kept.address] = attempt
        self._exchanges[kept.address] = kept
        return kept

    async def superseded(self, address: str) -> bool:
        return address in self._attempts and address not in self._exchanges

    def answered(self, unit: Unit) -> bool:
        """Whether an answer about a unit is recorded."""
        return any(self._exchanges[address].completed for address in self._of(unit))

    def set_aside(self, unit: Unit) -> None:
        """Have a unit asked about anew, under further attempts."""
        for address in self._of(unit):
            del self._exchanges[address]

    def _of(self, unit: Unit) -> list[str]:
        return [address for address in self._exchanges if address.startswith(f"{unit.key}/")]

    def close(self) -> None:
        """Close the recording; one without any exchange is deleted."""
        self._recorder.close()
        if not self._attempts:
            self._path.unlink(missing_ok=True)


async def split_by_model(request: SplitRequest, watcher: Watcher) -> SplitResult:
    """Have a model split the references of all cases; what is recorded already is not asked again.

    Raises:
        UserError: something given cannot be used, or `out` holds steps that were made in another way.
        EndpointError: the model cannot be asked at all.
    """
    benchmark = request.benchmark
    prompts = load_prompts(benchmark.name, (benchmark.reference_prompt,), package=benchmark.prompt_package)
    texts = benchmark.reference_texts(request.cases)
    notes = await _preflight(request.model)
    async with _same_requests(request.out), _opened(request) as (door, calls, judge):
        parameters = _parameters(request, prompts, judge.probed)
        empty = pin(benchmark.name, request.kind, request.model.text, parameters, texts, {})
        check_replaces(request.out, empty, complete=False)
        splitting = Splitting(request, prompts, calls, judge.model, texts, watcher)
        ending = await splitting.work(door)
        if isinstance(ending.error, BodyMismatch):
            raise ending.error
    steps = {case.id: splitting.steps[case.id] for case in request.cases if case.id in splitting.steps}
    references = pin(benchmark.name, request.kind, request.model.text, parameters, texts, steps)
    left = len(request.cases) - len(steps) - len(splitting.failed)
    return SplitResult(references, splitting.failed, left, ending, notes)


@asynccontextmanager
async def _same_requests(out: Path) -> AsyncIterator[None]:
    try:
        yield
    except BodyMismatch as error:
        raise UserError(
            f"{calls_file(out)} was recorded under other settings, another prompt or other data; name another file "
            f"after --out ({error})"
        ) from None


def _parameters(request: SplitRequest, prompts: Prompts, probed: Probed) -> dict[str, Any]:
    """What decides how the model splits, apart from its name; options that it does not take are not sent."""
    return {
        "most": request.benchmark.most_reference_steps,
        "prompt": prompts[request.benchmark.reference_prompt].sha256,
        "mode": probed.mode,
        "generation": probed.sent(_generation(request)).model_dump(mode="json"),
    }


def _generation(request: SplitRequest) -> Generation:
    return judge_generation(request.generation, request.model.kind)


async def _preflight(model: ModelSpec) -> tuple[str, ...]:
    if model.kind not in ("openai", "http"):
        return ()
    return (await preflight(model.base_url, model.name, model.key())).notes


@asynccontextmanager
async def _opened(request: SplitRequest) -> AsyncIterator[tuple[Door, RecordedCalls, OpenedJudge]]:
    key, traffic, out = request.model.key(), request.traffic, request.out
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{out.parent} cannot be made: {error.strerror}") from None
    with contextlib.ExitStack() as stack:
        lock = lock_folder(out.parent, f".{out.name}.lock", f"is where {out.name} is being made")
        stack.callback(lock.release)
        calls = RecordedCalls(calls_file(out), request.model.text)
        stack.callback(calls.close)
        door = Door(
            store=calls,
            retry=RetryPolicy(tries=traffic.tries, total_wait=traffic.total_wait),
            timeout=traffic.timeout,
            secrets=(key,) if key else (),
        )
        async with open_judge(
            request.model,
            _generation(request),
            door,
            connections=traffic.connections,
            role=SPLITTER_ROLE,
            benchmark=request.benchmark.name,
        ) as opened:
            yield door, calls, opened


class Splitting:
    """Splits one reference after another.

    Attributes:
        steps: case id -> its steps, in the order in which they were made.
        failed: case id -> why there are none.
    """

    def __init__(
        self,
        request: SplitRequest,
        prompts: Prompts,
        calls: RecordedCalls,
        model: StructuredModel,
        texts: Mapping[str, str],
        watcher: Watcher,
    ) -> None:
        self.steps: dict[str, tuple[str, ...]] = {}
        self.failed: dict[str, str] = {}
        self._request = request
        self._prompts = prompts
        self._calls = calls
        self._model = model
        self._texts = texts
        self._watcher = watcher

    async def work(self, door: Door) -> Ending:
        name = self._request.benchmark.name
        units = [Unit(name, SETTING, case.id, 1) for case in self._request.cases]
        self._watcher.begin(len(units), 0, door, frozenset({SPLIT}))
        try:
            return await Workers(door, self._one, connections=self._request.traffic.connections).work(units)
        finally:
            self._watcher.end()

    async def _one(self, unit: Unit) -> None:
        asker = Asker(self._model, self._prompts, self._calls.nonce, unit, SPLITTER_ROLE)
        try:
            self.steps[unit.case] = await self._split(asker)
        except CallFailed as failure:
            self.failed[unit.case] = f"{failure.reason}: {failure}"
            self._watcher.finished(unit, failure.reason)
            return
        self._watcher.finished(unit, SPLIT)

    async def _split(self, asker: Asker) -> tuple[str, ...]:
        """Recorded answers first; with `retry` new ones where those cannot be used."""
        again = self._request.retry and self._calls.answered(asker.unit)
        try:
            return await self._ask(asker)
        except CallFailed:
            if not again:
                raise
        self._calls.set_aside(asker.unit)
        return await self._ask(asker)

    async def _ask(self, asker: Asker) -> tuple[str, ...]:
        benchmark = self._request.benchmark
        return await split_text(
            asker,
            benchmark.reference_prompt,
            "split",
            self._texts[asker.unit.case],
            most=benchmark.most_reference_steps,
        )
