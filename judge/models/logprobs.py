"""How many alternatives to each token an endpoint lists: found out once, by asking it, and kept like any exchange."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from judge.errors import CallFailed, EndpointError
from judge.models.address import Address
from judge.models.answer_token import lists_alternatives
from judge.models.exchange import JSON
from judge.models.reply import Reply

PROMPT = "Which comes first in the alphabet? A: the letter A. B: the letter B. Reply with A or B only."
#: What is asked for, the most first: servers allow up to 20, 8 or 5.
TOPS = (20, 8, 5)

#: Reasons of failures that tell of the request; the others tell of the server's state, and another time may differ.
_REFUSING = frozenset({"bad_request", "server_error", "malformed_response"})

Ask = Callable[[dict[str, JSON], Address], Awaitable[Reply]]
"""Asks `PROMPT` with further fields of the body, at an address."""


def logprobs_fields(top: int | None) -> dict[str, JSON]:
    """What a request must say to get `top` alternatives to each token; nothing for None."""
    return {} if top is None else {"logprobs": True, "top_logprobs": top}


def logprobs_address(address: Address) -> Address:
    """Where the probes are kept for a run's calls such as `address`: in a unit that no case has."""
    return Address(address.benchmark, "-", "-", 1, address.role, "probe/logprobs")


async def find_top_logprobs(ask: Ask, at: Address, endpoint: str) -> int | None:
    """The largest number of `TOPS` that is not refused; None where log-probabilities are refused or ignored.

    Before it is believed that they are what is refused, the same is asked without them.

    Raises:
        EndpointError: the endpoint refuses that as well, or does not answer now.
    """
    for count, top in enumerate((*TOPS, None), start=1):
        try:
            reply = await ask(logprobs_fields(top), replace(at, ask=count))
        except CallFailed as failure:
            if failure.reason in _REFUSING and top is not None:
                continue
            raise EndpointError(f"{endpoint} cannot be asked for log-probabilities: {failure}") from None
        return top if lists_alternatives(reply.logprobs) else None
    raise AssertionError("the last one returns or raises")
