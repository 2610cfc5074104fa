"""What the tests of the structured judge share: a schema, its verdicts as text, and a judge on the test server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

from pydantic import Field

from judge.models.address import Address
from judge.models.door import Door
from judge.models.structured import MODES, TEXT, OpenedJudge, Probed, open_judge
from judge.models.structured_asking import Judge, TextSpeaker
from judge.models.verdict import StructuredModel, Verdict
from judge.settings import Generation, parse_model
from tests.models.helpers import FAST, at, chat_on
from tests.server import ModelServer

ROLE, BENCHMARK = "judge:j", "bench"

#: Every way in which a judge is asked.
WAYS = (*(mode.name for mode in MODES), TEXT)


class Step(Verdict):
    """Whether a step is right."""

    rationale: str = Field(description="one sentence")
    verdict: Literal["correct", "wrong"]


def answer(verdict: str = "correct", rationale: str = "it follows") -> str:
    """A reply of the schema as JSON text."""
    return json.dumps({"rationale": rationale, "verdict": verdict})


#: What the probe takes for an answer.
BLUE = json.dumps({"rationale": "It scatters blue light.", "verdict": "blue"})


def place(step: str = "effectiveness/1", **parts: Any) -> Address:
    return at(role=ROLE, step=step, **parts)


@asynccontextmanager
async def opened_on(
    server: ModelServer | str,
    known: Probed | None = None,
    door: Door | None = None,
    generation: Generation | None = None,
) -> AsyncIterator[OpenedJudge]:
    """A judge on this server, or under this SPEC; probed where nothing is known."""
    spec = parse_model(server if isinstance(server, str) else server.spec)
    door = door or Door(retry=FAST)
    async with open_judge(
        spec, generation or Generation(), door, connections=8, role=ROLE, benchmark=BENCHMARK, known=known
    ) as opened:
        yield opened


@asynccontextmanager
async def judge_on(
    server: ModelServer, way: str, door: Door | None = None, generation: Generation | None = None
) -> AsyncIterator[StructuredModel]:
    """A judge on this server that is asked in this way."""
    if way == TEXT:
        async with chat_on(server, door, generation) as chat:
            yield Judge(TextSpeaker(chat))
    else:
        async with opened_on(server, Probed(way), door, generation) as opened:
            yield opened.model
