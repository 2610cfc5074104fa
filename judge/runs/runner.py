"""Plays the pending units of a run, concurrently, until done or asked to stop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from judge.benchmark import Case, Player, Transcript, Unit
from judge.errors import CallFailed, Interrupted, MedjudgeError
from judge.models.chat import ChatModel
from judge.models.door import Door
from judge.runs.store import RunStore

#: Units under way beyond the connection limit, so that a connection never idles while a reply is being stored.
SPARE_WORKERS = 8


@dataclass(frozen=True, slots=True)
class Ending:
    """How playing ended.

    Attributes:
        played: units finished now.
        interrupted: whether units are left because the user asked to stop.
        error: what ended the run early, if anything did.
    """

    played: int
    interrupted: bool
    error: MedjudgeError | None


class Runner:
    """See the module's docstring.

    Args:
        on_finish: told of every finished unit, for the progress display.
    """

    def __init__(
        self,
        store: RunStore,
        player: Player,
        door: Door,
        models: Mapping[str, ChatModel],
        cases: Mapping[str, Case],
        *,
        connections: int,
        on_finish: Callable[[Unit, Transcript], None],
    ) -> None:
        self._store = store
        self._player = player
        self._door = door
        self._models = models
        self._cases = cases
        self._workers = connections + SPARE_WORKERS
        self._on_finish = on_finish
        self._played = 0
        self._error: MedjudgeError | None = None
        self._fault: Exception | None = None
        self._interrupted = False

    async def play(self, units: Sequence[Unit]) -> Ending:
        """Play the units; what is finished is stored whatever happens to the others.

        A fault of ours outside of any case is raised only when what was in flight has been stored.
        """
        queue = iter(units)
        with self._interruptible():
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._workers, len(units))):
                    group.create_task(self._work(queue))
        if self._fault is not None:
            raise self._fault
        return Ending(self._played, self._interrupted, self._error)

    async def _work(self, queue: Iterator[Unit]) -> None:
        for unit in queue:
            if self._door.stopping:
                return
            try:
                transcript = await self._play_one(unit)
                await self._store.finish(unit, transcript)
                self._played += 1
                self._on_finish(unit, transcript)
            except Interrupted:
                return
            except MedjudgeError as error:  # the endpoint, the replay, the store or a prompt: no unit can be played
                self._end(error)
                return
            except Exception as fault:
                self._fault = self._fault or fault
                self._door.stop()
                return

    async def _play_one(self, unit: Unit) -> Transcript:
        """A fault of ours in one case must not take the others with it; it is a status like any other."""
        try:
            return await self._player.play(self._cases[unit.case], unit, self._models)
        except CallFailed as failure:
            return Transcript(failure.reason, str(failure))
        except MedjudgeError:
            raise
        except Exception as error:
            return Transcript("internal_error", f"{type(error).__name__}: {error}")

    def _end(self, error: MedjudgeError) -> None:
        self._error = self._error or error
        self._door.stop()

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """First Ctrl-C: finish what is in flight. Second: the usual."""
        loop = asyncio.get_running_loop()
        previous = signal.getsignal(signal.SIGINT)

        def interrupt() -> None:
            self._interrupted = True
            self._door.stop()
            loop.remove_signal_handler(signal.SIGINT)
            signal.signal(signal.SIGINT, signal.default_int_handler)

        try:
            loop.add_signal_handler(signal.SIGINT, interrupt)
        except (NotImplementedError, ValueError, RuntimeError):  # no signals on this platform or in this thread
            yield
            return
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            signal.signal(signal.SIGINT, previous)
