"""Every exception medjudge raises on purpose.

::

    MedjudgeError
    ├── UserError            what the user gave cannot be used: one sentence, exit code 2
    │   ├── DataError        a file of data, predictions or labels: names file, place and id
    │   ├── SpecError        a model name, setting or option
    │   └── RunError         a run directory: missing, locked, other settings, not a run
    ├── EndpointError        the model's server cannot be used for any call: ends the run
    │   ├── Unreachable      no connection at all
    │   └── Refused          wrong key, unknown model
    ├── CallFailed           one call got no usable reply: the case becomes unscored
    │   ├── ContextExceeded  the prompt does not fit the model's window
    │   └── RetriesExhausted retryable failures (429, 5xx, resets, time-outs) until the cap
    ├── ReplayError          replay or resume met a call it cannot serve
    │   ├── ReplayMiss       no exchange is recorded for the address
    │   └── BodyMismatch     the address is known, but another request was sent under it
    └── Interrupted          the user asked the run to stop; what is stored stays

Retryable failures never leave the transport as such: they end as a reply or as `RetriesExhausted`.
"""

from __future__ import annotations


class MedjudgeError(Exception):
    """Base of all exceptions raised on purpose; its text is one sentence for the user."""


class UserError(MedjudgeError):
    """Something the user gave cannot be used."""


class DataError(UserError):
    """A data, predictions or labels file is missing, malformed or inconsistent."""


class SpecError(UserError):
    """A model name, setting or option is not understood."""


class RunError(UserError):
    """A run directory cannot be read, written or continued."""


class EndpointError(MedjudgeError):
    """The model's server cannot be used for any call."""


class Unreachable(EndpointError):
    """No connection to the server."""


class Refused(EndpointError):
    """The server refuses every call: wrong key, unknown model."""


class CallFailed(MedjudgeError):
    """One call got no usable reply.

    Attributes:
        reason: the unscored reason this becomes, e.g. ``"server_error"``.
        attempts: how many requests were sent.
    """

    reason = "call_failed"

    def __init__(self, message: str, *, reason: str | None = None, attempts: int = 1) -> None:
        super().__init__(message)
        self.attempts = attempts
        if reason is not None:
            self.reason = reason


class ContextExceeded(CallFailed):
    """The prompt does not fit the model's context window."""

    reason = "context_exceeded"


class RetriesExhausted(CallFailed):
    """Retryable failures until the cap on tries or on time was reached."""

    reason = "server_error"


class ReplayError(MedjudgeError):
    """Stored exchanges cannot serve a call."""


class ReplayMiss(ReplayError):
    """Nothing is recorded under this address."""


class BodyMismatch(ReplayError):
    """Something else was asked under this address."""


class Interrupted(MedjudgeError):
    """The run was asked to stop before this call was sent."""
