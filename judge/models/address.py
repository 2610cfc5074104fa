"""Where in a run a call stands: the address under which its exchange is stored and found again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from judge.errors import MedjudgeError

if TYPE_CHECKING:
    from judge.models.exchange import Exchange


@dataclass(frozen=True, slots=True)
class Address:
    """Names one question to one model, the same in every attempt and on every resume.

    Attributes:
        benchmark, setting, case, epoch: the unit of work the call belongs to; epochs count from 1.
        role: who is asked: ``doctor``, ``examiner`` or ``judge``.
        step: turn, or chain and index, e.g. ``turn1`` or ``effectiveness/3``.
        ask: counts the validation re-asks within one step, from 1.
    """

    benchmark: str
    setting: str
    case: str
    epoch: int
    role: str
    step: str
    ask: int = 1

    @property
    def unit(self) -> str:
        """The unit of work, e.g. ``caremedeval/full/ab12/1``; parts are percent-encoded."""
        return "/".join(quote(part, safe="") for part in (self.benchmark, self.setting, self.case, str(self.epoch)))

    @property
    def question(self) -> str:
        """The address without the number of the ask: all asks of one question share it."""
        return f"{self.unit}/{quote(self.role, safe='')}/{quote(self.step, safe='')}"

    def __str__(self) -> str:
        return f"{self.question}/{self.ask}"


@dataclass(slots=True)
class Call:
    """One step's dealings with the door: where it stands, and what came of it.

    The door counts `asks` up with each exchange, so a client that asks again gets the next address.
    """

    address: Address
    asks: int = 0
    exchanges: list[Exchange] = field(default_factory=list)

    def next_address(self) -> Address:
        """The address of the next request sent within this call."""
        self.asks += 1
        return replace(self.address, ask=self.asks)


_current: ContextVar[Call] = ContextVar("current call")


@contextmanager
def calling(address: Address) -> Iterator[Call]:
    """Within this context, requests that reach the door belong to `address`; the first one is its `ask`."""
    call = Call(address, address.ask - 1)
    token = _current.set(call)
    try:
        yield call
    finally:
        _current.reset(token)


def current_call() -> Call:
    """The call in whose context we are.

    Raises:
        MedjudgeError: a request reached the door outside of any call; nothing may be asked without an address.
    """
    try:
        return _current.get()
    except LookupError:
        raise MedjudgeError("a request was sent without an address; wrap it in `calling(address)`") from None
