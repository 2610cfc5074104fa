"""Examinations of the synthetic cases, played through the production path against a local HTTP server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphs.medrbench import BENCHMARK
from judge.benchmark import Loaded, Transcript, Unit
from judge.models.chat import open_chat
from judge.models.door import Door
from judge.models.exchange import Exchange
from judge.models.retry import RetryPolicy
from judge.models.tokens import EstimateTokenizer
from judge.prompting import load_prompts
from judge.settings import Generation, parse_model
from tests.conftest import CHECKOUT, Command, Ran
from tests.server import ModelServer, Reply, Request

DATA = CHECKOUT / "fixtures" / "medrbench"
DOCTOR, EXAMINER = "doctor-model", "examiner-model"
THYROID, PURPURA, ENDOCARDITIS, KETOACIDOSIS = "SYN0000001", "SYN0000002", "SYN0000003", "SYN0000004"

Answer = str | Reply
Messages = list[dict[str, Any]]

DEFAULTS = {"examiner": "records", "max-turns": 5, "on-loop": "record", "final-turn": "warn"}


# --- what a doctor says


def says(requests: str | None, conclusion: str | None, steps: str = "<step 1> I think.") -> str:
    """A turn in the demanded form; None leaves a section out."""
    parts = [f"### Chain of Thought:\n{steps}"]
    if requests is not None:
        parts.append(f"### Additional Information Required:\n{requests}")
    if conclusion is not None:
        parts.append(f"### Conclusion:\n{conclusion}")
    return "\n\n".join(parts)


def asks(*requests: str, conclusion: str | None = "Provisional: unclear") -> str:
    return says("\n".join(f"- {request}" for request in requests), conclusion)


def concludes(diagnosis: str) -> str:
    return says("Not required.", diagnosis)


UNREADABLE = "Difficult. I would rather think about it."


# --- who is asked


@dataclass
class Seats:
    """Gives the doctor's and the examiner's replies in order; asking for more than there are fails the test."""

    doctor: Sequence[Answer]
    examiner: Sequence[Answer] = ()
    given: dict[str, int] = field(default_factory=dict)

    def __call__(self, request: Request) -> Reply:
        seat = request.body["model"]
        number = self.given.get(seat, 0)
        self.given[seat] = number + 1
        replies = self.doctor if seat == DOCTOR else self.examiner
        answer = replies[number]
        return answer if isinstance(answer, Reply) else Reply(content=answer)


def serving(script: Callable[[Request], Reply], **settings: Any) -> ModelServer:
    return ModelServer(script, models=[DOCTOR, EXAMINER], **settings)


def doctors(server: ModelServer) -> list[Messages]:
    """The messages of every call to the doctor, in order."""
    return [call.request.messages for call in server.calls if call.body["model"] == DOCTOR]


def examiners(server: ModelServer) -> list[Messages]:
    return [call.request.messages for call in server.calls if call.body["model"] == EXAMINER]


# --- the machine alone


class Memory:
    """Keeps exchanges as a run's store does."""

    def __init__(self) -> None:
        self.exchanges: dict[str, Exchange] = {}

    async def find(self, address: str) -> Exchange | None:
        return self.exchanges.get(address)

    async def keep(self, exchange: Exchange) -> Exchange:
        assert exchange.address not in self.exchanges, f"asked twice at {exchange.address}"
        self.exchanges[exchange.address] = exchange
        return exchange

    async def superseded(self, address: str) -> bool:
        return False

    @property
    def steps(self) -> list[str]:
        """``doctor/turn1`` and so on, in the order of the calls."""
        return ["/".join(address.split("/")[4:6]) for address in self.exchanges]


@dataclass(frozen=True)
class Played:
    """One examination: its transcript, the calls in order, and what each seat was sent."""

    transcript: Transcript
    steps: list[str]
    doctor: list[Messages]
    examiner: list[Messages]

    @property
    def turns(self) -> list[dict[str, Any]]:
        turns: list[dict[str, Any]] = self.transcript.data["turns"]
        return turns

    @property
    def status(self) -> str:
        return self.transcript.status


_LOADED: dict[tuple[Path, str], Loaded] = {}


def loaded(setting: str, data: Path = DATA) -> Loaded:
    kind = "treatment" if setting == "treatment" else "oracle"
    if (data, kind) not in _LOADED:
        _LOADED[data, kind] = BENCHMARK.load(data, {"setting": [kind]})
    return _LOADED[data, kind]


def play(
    seats: Callable[[Request], Reply],
    *,
    setting: str = "free_turn",
    case: str = THYROID,
    data: Path = DATA,
    memory: Memory | None = None,
    **options: Any,
) -> Played:
    """Play one case; options as on the command line, with ``_`` for ``-``; ``examiner="model"`` asks the second one."""
    memory = Memory() if memory is None else memory
    chosen = {**DEFAULTS, "setting": [setting], **{name.replace("_", "-"): value for name, value in options.items()}}
    with serving(seats) as server:
        transcript = asyncio.run(_play(server, setting, case, data, memory, chosen))
        return Played(transcript, memory.steps, doctors(server), examiners(server))


async def _play(
    server: ModelServer, setting: str, case_id: str, data: Path, memory: Memory, options: Mapping[str, Any]
) -> Transcript:
    cases = loaded(setting, data)
    prompts = load_prompts("medrbench", BENCHMARK.prompt_names(options))
    player = BENCHMARK.player(cases, options, prompts, EstimateTokenizer())
    case = next(case for case in cases.cases if case.id == case_id)
    door = Door(store=memory, retry=RetryPolicy(tries=1))
    roles = {"doctor": DOCTOR} | ({"examiner": EXAMINER} if options["examiner"] != "records" else {})
    async with AsyncExitStack() as stack:
        models = {
            role: await stack.enter_async_context(
                open_chat(parse_model(f"{server.url}#{name}"), Generation(), door, connections=2)
            )
            for role, name in roles.items()
        }
        return await player.play(case, Unit("medrbench", setting, case_id, 1), models)


# --- whole runs


def run_arguments(server: ModelServer, out: Path, *more: object, setting: str = "free_turn") -> list[object]:
    """`medjudge run medrbench` on the synthetic cases; ``EXAMINER`` stands for the second served model."""
    given = [f"{server.url}#{EXAMINER}" if item == "EXAMINER" else item for item in more]
    return ["run", "medrbench", "--model", f"{server.url}#{DOCTOR}", "--data", DATA, "--setting", setting,
            "--out", out, *given]  # fmt: skip


def resume_arguments(out: Path, *more: object) -> list[object]:
    return ["run", "medrbench", "--resume", out, *more]


def shown(cli: Command, run: Path, case: str = THYROID, setting: str = "free_turn") -> dict[str, Any]:
    """What `medjudge show --json` tells of a case."""
    ran: Ran = cli("show", run, case, "--json")
    assert ran.code == 0, ran.err
    found: dict[str, Any] = next(entry for entry in ran.json if f"/{setting}/" in entry["unit"])
    return found


def attempts(entry: Mapping[str, Any]) -> list[tuple[str, int, bool]]:
    """(step, attempt, whether it failed) of every exchange of a unit, e.g. ``("doctor/turn1", 1, False)``."""
    return [
        ("/".join(exchange["address"].split("/")[4:6]), exchange["attempt"], bool(exchange["error"]))
        for exchange in entry["exchanges"]
    ]


def with_case(case_id: str, **changes: Any) -> dict[str, Any]:
    """The record of a synthetic case, changed."""
    case = next(case for case in loaded("free_turn").cases if case.id == case_id)
    return {**case.record, **changes}


def roles_of(messages: Messages) -> list[str]:
    return [message["role"] for message in messages]


def iter_texts(messages: Messages) -> Iterator[str]:
    return (str(message["content"]) for message in messages)
