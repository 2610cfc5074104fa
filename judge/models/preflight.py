"""Before a run: is the server there, does it take the key, does it know the model? Costs no tokens."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import httpx2

from judge.errors import Refused, Unreachable
from judge.models.door import Answer
from judge.models.exchange import redact_error
from judge.models.retry import Retryable, error_message
from judge.models.transport import bare_transport, send_once

#: Seconds that listing its models may take a server.
PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class Preflight:
    """What a server says about itself.

    Attributes:
        models: names it lists; empty where it lists none (not every server does).
        window: tokens its context holds, where it says so.
        notes: sentences the user should read.
    """

    models: tuple[str, ...]
    window: int | None
    notes: tuple[str, ...]


async def preflight(url: str, name: str, key: str, *, patience: float = PATIENCE) -> Preflight:
    """List the server's models.

    Args:
        patience: seconds that the answer may take.

    Raises:
        Unreachable: no connection, or no answer in time.
        Refused: it rejects the key.
    """
    answer = await _get(f"{url}/models", key, patience)
    if answer is not None and answer.status == 401:
        shown = error_message(redact_error(answer.text, [key]))
        raise Refused(f"{url} refuses the key (HTTP {answer.status}: {shown})")
    # 403 is no refusal: keys may be allowed to chat but not to list
    entries = _entries(answer) if answer is not None and answer.status == 200 else []
    models = tuple(str(entry.get("id", "")) for entry in entries)
    mine = next((entry for entry in entries if entry.get("id") == name), entries[0] if len(entries) == 1 else {})
    notes: tuple[str, ...] = ()
    if models and not {name, f"{name}:latest"} & {*models}:  # Ollama's default tag
        shown = ", ".join(models[:5]) + (", …" if len(models) > 5 else "")
        notes = (f"{url} does not list a model named {name!r}; it lists {shown}",)
    return Preflight(models, _window(mine), notes)


async def _get(url: str, key: str, patience: float) -> Answer | None:
    """The answer, or None where there was one that is no JSON."""
    headers = {"authorization": f"Bearer {key}"} if key else {}
    transport = bare_transport()
    try:
        async with asyncio.timeout(patience):
            return await send_once(transport, httpx2.Request("GET", url, headers=headers))
    except TimeoutError:
        raise Unreachable(f"{url} did not answer within {patience:g} s") from None
    except Retryable as failure:
        if failure.reason != "connection_error":
            return None
        raise Unreachable(f"{url} cannot be reached ({failure})") from None
    finally:
        await transport.aclose()


def _entries(answer: Answer) -> list[dict[str, Any]]:
    parsed = json.loads(answer.text)
    data = parsed.get("data") if isinstance(parsed, dict) else None
    return [entry for entry in data if isinstance(entry, dict)] if isinstance(data, list) else []


def _window(entry: dict[str, Any]) -> int | None:
    """Context length as vLLM (max_model_len), llama.cpp (meta.n_ctx) and gateways (context_length) tell it."""
    meta = entry.get("meta")
    found = (
        entry.get("max_model_len"),
        entry.get("context_length"),
        meta.get("n_ctx") if isinstance(meta, dict) else None,
    )
    return next((value for value in found if type(value) is int and value > 0), None)
