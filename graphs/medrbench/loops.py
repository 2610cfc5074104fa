"""Loop detection by a model, for whoever wants a second opinion on the deterministic one (`--loop-check judge`)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from judge.errors import CallFailed
from judge.models.address import Address
from judge.models.chat import ChatModel
from judge.prompting import Prompts

_LINE = re.compile(r"^\W{0,3}(\d{1,3})\W{1,3}(repeat|new)\W{0,3}$", re.IGNORECASE)


class JudgedLoops:
    """Asks a model which requests of a turn repeat earlier ones."""

    def __init__(self, model: ChatModel, prompts: Prompts) -> None:
        self._model = model
        self._prompts = prompts

    async def repeated(self, requests: Sequence[str], before: Sequence[str], address: Address) -> list[bool]:
        """Per request, whether it repeats an earlier one; nothing is asked where nothing was asked for before.

        Raises:
            CallFailed: the model fails, or its answer is not one verdict for each request; never a default.
        """
        if not requests or not before:
            return [False] * len(requests)
        prompt = self._prompts["loop_check.v1"].fill(earlier=_bullets(before), requests=_numbered(requests))
        reply = await self._model.ask([{"role": "user", "content": prompt}], address)
        if reply.unscored is not None:
            raise CallFailed(reply.unscored.detail, reason=reply.unscored.reason)
        return read_verdicts(reply.text, len(requests))


def read_verdicts(text: str, count: int) -> list[bool]:
    """One verdict for each of `count` requests from lines like ``2. repeat``.

    Raises:
        CallFailed: a request has no verdict, or two, or there is a verdict on a request that there is not.
    """
    found = [(int(match[1]), match[2].casefold() == "repeat") for line in text.splitlines() if (match := _line(line))]
    if sorted(number for number, _ in found) != list(range(1, count + 1)):
        raise CallFailed(f"the loop check gives no single verdict for each of {count} requests", reason="unreadable")
    return [repeats for _, repeats in sorted(found)]


def _line(line: str) -> re.Match[str] | None:
    return _LINE.match(line.strip())


def _bullets(texts: Sequence[str]) -> str:
    return "\n".join(f"- {' '.join(text.split())}" for text in texts)


def _numbered(texts: Sequence[str]) -> str:
    return "\n".join(f"{number}. {' '.join(text.split())}" for number, text in enumerate(texts, start=1))
