"""Which failures of a call are worth another try, and how long to wait for it."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from tenacity import RetryCallState

from judge.errors import CallFailed, ContextExceeded, MedjudgeError, Refused
from judge.models.exchange import clean

#: Reasons of failures that may pass.
RETRIED = frozenset({"rate_limited", "server_error", "timeout", "connection_error", "malformed_response"})


class Retryable(Exception):
    """A failure that may pass: rate limit, server error, lost connection, time-out, a garbled body.

    Attributes:
        reason: the unscored reason if no further try helps; one of `RETRIED`.
        wait: seconds the server asked us to wait, if it did.
        status: HTTP status, 0 when there was no response.
    """

    def __init__(self, reason: str, message: str, *, wait: float | None = None, status: int = 0) -> None:
        super().__init__(message)
        self.reason = reason
        self.wait = wait
        self.status = status


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Bounds on trying again.

    Attributes:
        tries: requests sent at most, the first included.
        first_wait: seconds before the second try where the server names none; doubles each time, with jitter.
        longest_wait: seconds any one such wait may last.
        total_wait: seconds all waits of one call may add up to, waits that the server asks for included.
    """

    tries: int = 6
    first_wait: float = 1.0
    longest_wait: float = 60.0
    total_wait: float = 600.0

    def wait(self, state: RetryCallState) -> float:
        """Seconds before the next try: what the server asked for, else exponential with full jitter."""
        failure = _failure(state)
        if failure.wait is not None:
            # a little spread, so that the calls of a whole run do not come back in the same instant
            return failure.wait + random.uniform(0, 0.1 * min(failure.wait, 10.0) + 0.01)
        ceiling = min(self.longest_wait, self.first_wait * 2.0 ** min(state.attempt_number - 1, 60))
        return random.uniform(ceiling / 2, ceiling)

    def exhausted(self, state: RetryCallState, paused: float = 0.0) -> bool:
        """Whether the next wait would break a bound; a wait longer than what is left is not begun.

        Args:
            paused: seconds this call has waited between its tries because of what others were told.
        """
        waited = state.idle_for + paused
        return state.attempt_number >= self.tries or waited + state.upcoming_sleep > self.total_wait


def _failure(state: RetryCallState) -> Retryable:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, Retryable), error
    return error


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds named by a Retry-After header, given in seconds or as a date (RFC 9110, 10.2.3), or by its variants."""
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "").strip()
    if (seconds := _number(value)) is not None:
        return seconds
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


#: How servers that send no such header say it in their message.
_HINT = re.compile(r"\b(?:retry|try again) in (\d+(?:\.\d+)?) ?(ms|s)\b", re.IGNORECASE)


def wait_named(headers: Mapping[str, str], text: str) -> float | None:
    """Seconds the server asks us to wait, in a header or else in its message."""
    named = retry_after(headers)
    if named is not None or (hint := _HINT.search(text[:4000])) is None:
        return named
    return float(hint[1]) / (1000 if hint[2].lower() == "ms" else 1)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


RETRYABLE_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})

_CONTEXT_MARKS = (
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "available context size",
    "context window",
    "prompt is too long",
    "input is too long",
    "max_model_len",
    "longer than the maximum model length",
)
_QUOTA_MARKS = ("insufficient_quota", "billing_hard_limit", "insufficient credits")
#: No credit left, or, where the server says when to come back, too many calls a minute.
_QUOTA_OR_RATE = "exceeded your current quota"
_MODEL_MARKS = re.compile(
    r"model_not_found|(?:unknown|invalid|no such) model|model\b[^.]{0,100}?\b(?:not found|not exist)", re.IGNORECASE
)

#: Statuses that concern every call unless one has been answered: a wrong key, address or model.
_REFUSING = frozenset({301, 302, 303, 307, 308, 403, 404, 405})


def failure_of(status: int, headers: Mapping[str, str], text: str, *, any_success: bool) -> Retryable | MedjudgeError:
    """What an HTTP error response means for the call.

    Args:
        any_success: whether this endpoint has answered any call before; if it has, a 403 or 404 concerns one call,
            if not, all of them, as do a redirect and a 405, which an address with a wrong path gets.
    """
    lower = text[:4000].lower()
    message = f"HTTP {status}: {error_message(text)}"
    if status == 413 or (status != 429 and any(mark in lower for mark in _CONTEXT_MARKS)):
        return ContextExceeded(f"the prompt does not fit the model's context window ({message})")
    wait = wait_named(headers, text)
    if status == 402 or any(mark in lower for mark in _QUOTA_MARKS) or (_QUOTA_OR_RATE in lower and wait is None):
        return Refused(f"the account has no credit left ({message})")
    if status in RETRYABLE_STATUS or status >= 500:
        reason = "rate_limited" if status == 429 else "server_error"
        return Retryable(reason, message, wait=wait if status in (429, 503) else retry_after(headers), status=status)
    if status == 401:
        return Refused(f"the server refuses the key ({message})")
    if status in _REFUSING and not any_success:
        return Refused(f"the server refuses the call ({message})")
    if status == 400 and not any_success and _MODEL_MARKS.search(message):
        return Refused(f"the server does not know the model ({message})")
    return CallFailed(message, reason="bad_request")


def error_message(text: str) -> str:
    """The human part of an error body, at most 300 characters on one line."""
    try:
        parsed: Any = json.loads(text)
        error = parsed.get("error", parsed) if isinstance(parsed, dict) else parsed
        message = error.get("message", error) if isinstance(error, dict) else error
        shown = message if isinstance(message, str) else json.dumps(message)
    except (ValueError, RecursionError):
        shown = text
    return clean(" ".join(shown.split())[:300]) or "(empty body)"
