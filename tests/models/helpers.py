"""What the tests of the door share: addresses, a store in memory, and a chat model on the test server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from judge.models.address import Address
from judge.models.chat import ChatModel, open_chat
from judge.models.door import Door
from judge.models.exchange import Exchange
from judge.models.retry import RetryPolicy
from judge.settings import Generation, parse_model
from tests.server import ModelServer

#: As patient as the default, a hundred times faster.
FAST = RetryPolicy(tries=4, first_wait=0.01, longest_wait=0.05, total_wait=5)
NO_RETRY = RetryPolicy(tries=1)


def at(case: str = "case", **parts: Any) -> Address:
    """An address that differs from the others in what a test cares about."""
    fields = {"benchmark": "bench", "setting": "full", "epoch": 1, "role": "doctor", "step": "turn1"}
    return Address(case=case, **(fields | parts))


def user(text: str = "Which option is right?") -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


def completion(content: Any = "B", **message: Any) -> str:
    """A response text; `message` are more fields of its message."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content, **message}}
    return json.dumps({"model": "m", "choices": [choice]})


class MemoryStore:
    """A run's store without a file: all attempts under an address, the last one counts."""

    def __init__(self) -> None:
        self.kept: dict[str, list[Exchange]] = {}
        self.before_keep: Callable[[Exchange], None] = lambda exchange: None

    async def find(self, address: str) -> Exchange | None:
        attempts = self.kept.get(address)
        return attempts[-1] if attempts else None

    async def keep(self, exchange: Exchange) -> Exchange:
        self.before_keep(exchange)
        await asyncio.sleep(0)
        attempts = self.kept.setdefault(exchange.address, [])
        attempts.append(replace(exchange, attempt=len(attempts) + 1))
        return attempts[-1]

    async def superseded(self, address: str) -> bool:
        return False

    @property
    def last(self) -> Exchange:
        """The last attempt under the address that was kept first."""
        return next(iter(self.kept.values()))[-1]


@asynccontextmanager
async def chat_on(
    server: ModelServer | str,
    door: Door | None = None,
    generation: Generation | None = None,
    *,
    connections: int = 8,
    **spec: Any,
) -> AsyncIterator[ChatModel]:
    """A chat model on this server, or under this SPEC."""
    model = parse_model(server if isinstance(server, str) else server.spec).model_copy(update=spec)
    async with open_chat(model, generation or Generation(), door or Door(retry=FAST), connections=connections) as chat:
        yield chat


async def until(true: Callable[[], bool], patience: float = 5.0) -> None:
    """Wait until something that the event loop brings about has happened."""
    async with asyncio.timeout(patience):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
