"""Log-probabilities as servers send them with a reply, written down token by token."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

Said = str | tuple[str, Mapping[str, float]]
"""A token, alone or with the probabilities of what could have stood in its place, itself included."""


def scored(token: str, probability: float, *, with_bytes: bool = True) -> dict[str, Any]:
    raw = list(token.encode()) if with_bytes else None
    return {"token": token, "bytes": raw, "logprob": math.log(probability)}


def logprobs(*said: Said, with_bytes: bool = True) -> dict[str, Any]:
    """A token without alternatives of its own is certain."""
    content = []
    for one in said:
        token, others = (one, {one: 1.0}) if isinstance(one, str) else one
        top = [scored(other, p, with_bytes=with_bytes) for other, p in others.items()]
        content.append({**scored(token, others[token], with_bytes=with_bytes), "top_logprobs": top})
    return {"content": content}


def spelled(said: tuple[Said, ...]) -> str:
    """The text that the tokens are of."""
    return "".join(one if isinstance(one, str) else one[0] for one in said)
