"""The models that take part in a session beside the person."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from judge.errors import SpecError
from judge.models.address import Address
from judge.models.chat import ChatModel, Message, open_chat
from judge.models.door import Door
from judge.models.preflight import preflight
from judge.models.recording import Recording, load_recording
from judge.models.reply import Reply
from judge.models.retry import RetryPolicy
from judge.seats.saved import Exchanges, Seated
from judge.settings import Generation, ModelSpec, filled, parse_model

#: A person waits: less patience than a run has.
RETRY = RetryPolicy(tries=4, total_wait=60.0)


@dataclass(frozen=True, slots=True)
class Seat:
    """A model by its SPEC.

    Attributes:
        text: the SPEC; the path of a recording is absolute, so that it is found from any folder.
        spec: the model, or the recorded one.
        replay: answers in its place.
    """

    text: str
    spec: ModelSpec
    replay: Recording | None = None

    @property
    def generation(self) -> Generation:
        return filled(Generation(), self.spec.kind)


def seat_of(role: str, text: str) -> Seat:
    """Read the SPEC of a role.

    Raises:
        SpecError: it is none, or the recording has no such role.
        DataError: the recording cannot be read.
    """
    if not text.startswith("replay:"):
        spec = parse_model(text)
        if spec.kind == "human":
            raise SpecError(f"--{role} {text}: name a model; the person is the doctor where no model is")
        return Seat(text, spec)
    file = Path(text.removeprefix("replay:"))
    replay = load_recording(file)
    if role not in replay.header.models:
        raise SpecError(f"--{role} {text}: the recording has no {role}")
    return Seat(f"replay:{file.absolute()}", parse_model(replay.header.models[role]), replay)


async def check_seats(seats: Mapping[str, Seat]) -> list[str]:
    """Notes on the servers.

    Raises:
        EndpointError: one is not there or refuses the key.
    """
    notes: list[str] = []
    for seat in seats.values():
        if seat.replay is None and seat.spec.kind in ("openai", "http"):
            notes += (await preflight(seat.spec.base_url, seat.spec.name, seat.spec.key())).notes
    return list(dict.fromkeys(notes))


@asynccontextmanager
async def open_seats(seats: Mapping[str, Seat], exchanges: Exchanges) -> AsyncIterator[dict[str, ChatModel]]:
    """The models by role, each behind a door that keeps its exchanges with the session."""
    async with contextlib.AsyncExitStack() as stack:
        models: dict[str, ChatModel] = {}
        for role, seat in seats.items():
            key = "" if seat.replay else seat.spec.key()
            door = Door(store=exchanges, replay=seat.replay, retry=RETRY, secrets=(key,) if key else ())
            chat = await stack.enter_async_context(open_chat(seat.spec, seat.generation, door, connections=1))
            models[role] = Seated(chat, exchanges)
        yield models


class Nobody:
    """Stands where a model is called for and only a person sits."""

    async def ask(self, messages: Sequence[Message], address: Address) -> Reply:
        """Never called."""
        raise AssertionError(f"there is no model to ask for {address}")
