"""An exchange: what was asked, what came back; and its line in a recording."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

JSON = Any
"""What `json.loads` gives."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one exchange as the server reported them; None where it did not."""

    prompt: int | None = None
    completion: int | None = None
    reasoning: int | None = None
    cached: int | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its final outcome.

    Attributes:
        address: as text, see `judge.models.address.Address`.
        attempt: 1, 2, … for the same address; a later one replaces an earlier one.
        role, model, endpoint: who was asked, under which name, where.
        body: the request's JSON body.
        status: HTTP status of the last response, 0 when there was none.
        response: the response's text, as received; empty when there was none.
        error: for a call that failed: ``"reason: message"``; empty for a completed one.
        tries: requests sent, retries included.
        seconds: time from sending the last request to its full response.
        source: ``server``, ``cache``, or ``replay``.
    """

    address: str
    attempt: int
    role: str
    model: str
    endpoint: str
    body: Mapping[str, JSON]
    status: int
    response: str
    error: str = ""
    tries: int = 1
    seconds: float = 0.0
    source: str = "server"

    @property
    def completed(self) -> bool:
        """Whether the server answered: such an exchange is never paid for twice."""
        return not self.error

    @property
    def usage(self) -> Usage:
        return read_usage(self.response)


def body_hash(body: Mapping[str, JSON]) -> str:
    """SHA-256 of the body in canonical JSON, as hexadecimal digits."""
    canonical = json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return hashlib.sha256(canonical.encode("utf-8", errors="surrogatepass")).hexdigest()


def read_usage(response: str) -> Usage:
    """The token counts of a response text; servers leave out any of them."""
    try:
        usage = _object(_object(json.loads(response)).get("usage"))
    except (ValueError, RecursionError):
        return Usage()
    return Usage(
        _whole(usage.get("prompt_tokens")),
        _whole(usage.get("completion_tokens")),
        _whole(_object(usage.get("completion_tokens_details")).get("reasoning_tokens")),
        _whole(_object(usage.get("prompt_tokens_details")).get("cached_tokens")),
    )


def _object(value: JSON) -> Mapping[str, JSON]:
    return value if isinstance(value, Mapping) else {}


def _whole(value: JSON) -> int | None:
    """A count; what no database could hold is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def encodable_json(value: JSON) -> str:
    """`value` as JSON, readable where it can be: a lone surrogate, which no file can hold, becomes an escape."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, default=str)
    return text


def clean(text: str) -> str:
    """Text that can be encoded: a lone surrogate, which servers do send, becomes U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", errors="surrogatepass").decode("utf-16", errors="replace")
    return text


_SECRET_SHAPES = re.compile(r"(?i)\b(?:bearer\s+[\w.~+/=-]{8,}|(?:sk|gsk|hf|xai|pk)[-_][\w*-]{8,}|AIza[\w-]{20,})")

#: What people give as a key to servers that want none ("none", "test", "EMPTY", "not-needed", "1234"): no secrets,
#: and words that a model may use.
_PLACEHOLDER = re.compile(r"(?=.{1,19}$)(?:[A-Za-z]+(?:[-_ ][A-Za-z]+)*|\d{1,8}|.{1,3})")


def redact(text: str, secrets: Iterable[str]) -> str:
    """`text` without the keys in `secrets`.

    Only known keys are searched for: a model's words must be stored as they came.
    """
    for secret in secrets:
        if secret and not _PLACEHOLDER.fullmatch(secret):
            text = text.replace(secret, "[redacted]")
    return text


def redact_error(text: str, secrets: Iterable[str]) -> str:
    """Like `redact`, and anything shaped like a key too: servers quote keys in their error messages."""
    return _SECRET_SHAPES.sub("[redacted]", redact(text, secrets))


def what_changed(stored: Mapping[str, JSON], asked: Mapping[str, JSON]) -> str:
    """The first few places in which two bodies differ, for a person."""
    places = list(_differences(stored, asked, ""))
    shown = "; ".join(places[:3])
    return shown + (f"; and {len(places) - 3} more" if len(places) > 3 else "")


def _differences(stored: JSON, asked: JSON, place: str) -> Iterable[str]:
    if stored == asked:
        return
    if isinstance(stored, Mapping) and isinstance(asked, Mapping):
        for key in sorted({*stored, *asked}, key=str):
            old, new = stored.get(key, _ABSENT), asked.get(key, _ABSENT)
            yield from _differences(old, new, f"{place}.{key}" if place else str(key))
    elif isinstance(stored, list) and isinstance(asked, list) and len(stored) == len(asked):
        for index, (old, new) in enumerate(zip(stored, asked, strict=True)):
            yield from _differences(old, new, f"{place}[{index}]")
    else:
        old, new = _brief_pair(stored, asked)
        yield f"{place}: {old} -> {new}"


_ABSENT = object()


def _brief_pair(stored: JSON, asked: JSON) -> tuple[str, str]:
    """Both values, long ones cut to the neighbourhood of their first difference."""
    old, new = ("not sent" if value is _ABSENT else encodable_json(value) for value in (stored, asked))
    start = max(0, next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0) - 15)
    return _cut(old, start), _cut(new, start)


def _cut(text: str, start: int, width: int = 50) -> str:
    end = start + width
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
