"""What scoring a case can end in: a number, or a named reason why there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Scored:
    """A finite score, usually in [0, 1].

    Attributes:
        empty: whether the denominator was empty, so that the value is a convention; reports count these.
    """

    value: float
    empty: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ValueError(f"a score must be finite, got {self.value!r}")


@dataclass(frozen=True, slots=True)
class Unscored:
    """No score, and why.

    Attributes:
        reason: a short stable word, e.g. ``"no_answer"`` or ``"truncated"``; counted in reports.
        detail: one sentence for a person, may be empty.
    """

    reason: str
    detail: str = ""


Outcome = Scored | Unscored
"""There is no third thing and no default score."""

#: Reasons why a call got no reply, whatever the model would have said.
CALL_REASONS = frozenset(
    {
        "call_failed",
        "context_exceeded",
        "server_error",
        "timeout",
        "rate_limited",
        "connection_error",
        "bad_request",
        "malformed_response",
    }
)

#: Reasons that lie with the endpoint, the network or the run, not with what the model said.
#: A run that ends with any of these exits with code 1.
ERROR_REASONS = frozenset(
    {
        *CALL_REASONS,
        *(f"judge_{reason}" for reason in CALL_REASONS),
        "internal_error",
        "examiner_failed",
        "loop_check_failed",
        "evidence_failed",
    }
)
