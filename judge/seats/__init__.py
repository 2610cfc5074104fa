"""A person in a model's place: a terminal to sit at, sessions that can be left and taken up again.

Nothing here knows a benchmark. One in which a person can take part has a method ``simulator()`` that gives a
`Simulator`; `medjudge simulate` lists those that have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from judge.benchmark import Benchmark, Option
    from judge.seats.terminal import Terminal


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user asked for.

    Attributes:
        case: id of the case; may be left out when a session is taken up again.
        data: folder of the data set; likewise.
        options: the simulator's own options by name.
        doctor: SPEC of the model that is to be followed turn by turn; None for a person.
        root: sessions are kept in ``sessions`` below this folder.
        resume: id or folder of a saved session.
        given: names of the options that the user gave explicitly.
    """

    case: str | None
    data: Path | None
    options: Mapping[str, Any]
    doctor: str | None = None
    root: Path = Path()
    resume: str | None = None
    given: frozenset[str] = frozenset()


class Simulator(Protocol):
    """Puts a person into a model's place."""

    options: tuple[Option, ...]

    def play(self, wanted: Wanted, terminal: Terminal) -> int:
        """Play one session until it ends or the person leaves; the exit code.

        Raises:
            UserError: something the user gave cannot be used; no session is begun.
        """


def simulator_of(benchmark: Benchmark) -> Simulator | None:
    """The benchmark's simulator, if a person can take part in it."""
    make = getattr(benchmark, "simulator", None)
    return make() if make is not None else None
