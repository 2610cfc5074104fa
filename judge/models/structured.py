"""Structured output: which of instructor's modes an endpoint really supports, found by asking for a known value.

Servers refuse a mode, or accept it and ignore it; only a reply that validates counts.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Literal

import instructor
import openai
from instructor import Mode
from pydantic import BaseModel, Field

from judge.errors import CallFailed, EndpointError, MedjudgeError
from judge.models.address import Address, calling
from judge.models.chat import own_error
from judge.models.reply import read_completion

logging.getLogger("instructor").setLevel(logging.CRITICAL)  # it logs what the caller is told anyway

#: In the order of preference.
MODES: tuple[Mode, ...] = (Mode.TOOLS, Mode.JSON_SCHEMA, Mode.JSON, Mode.MD_JSON)

#: Room for a short reply, or for the thinking of a reasoning model before one.
PROBE_TOKENS = 2048


class Colour(BaseModel):
    """Answer to the probe; a rationale precedes the verdict, as in every schema of ours."""

    rationale: str = Field(description="one short sentence")
    verdict: Literal["blue", "green"]


QUESTION = "Which of blue and green is the colour of a cloudless sky at noon? Give a short rationale and a verdict."


@dataclass(frozen=True, slots=True)
class ModeProbe:
    """How one mode fared.

    Attributes:
        works: a validated object came back.
        detail: why not, or what the reply was like.
    """

    mode: str
    works: bool
    detail: str


async def probe_mode(client: openai.AsyncOpenAI, model: str, mode: Mode, tokens_key: str) -> ModeProbe:
    """Ask once in one mode.

    Raises:
        EndpointError: the endpoint serves no call at all.
    """
    patched = instructor.from_openai(client, mode=mode)
    limit: dict[str, Any] = {tokens_key: PROBE_TOKENS}
    with calling(Address("check", "none", "structured", 1, "judge", mode.value)) as call:
        try:
            answer = await patched.chat.completions.create(
                model=model,
                messages=[{"role": "user", "content": QUESTION}],
                response_model=Colour,
                max_retries=0,
                **limit,
            )
        except Exception as error:
            cause = own_error(error)
            if isinstance(cause, EndpointError):
                raise cause from None
            if cause is not None:
                return ModeProbe(mode.name, False, _refusal(cause))
            reply = read_completion(call.exchanges[-1].response) if call.exchanges else None
            shown = " ".join((reply.text if reply else str(error)).split())[:80]
            return ModeProbe(mode.name, False, f"the reply does not validate: {shown!r}")
    return ModeProbe(mode.name, True, f"verdict {answer.verdict}")


async def find_mode(client: openai.AsyncOpenAI, model: str, tokens_key: str) -> list[ModeProbe]:
    """Probe the modes in order of preference until one works; the last probe is that one, if any works."""
    probes: list[ModeProbe] = []
    for mode in MODES:
        probes.append(await probe_mode(client, model, mode, tokens_key))
        if probes[-1].works:
            break
    return probes


def _refusal(cause: MedjudgeError) -> str:
    return f"refused: {cause}" if isinstance(cause, CallFailed) else str(cause)
