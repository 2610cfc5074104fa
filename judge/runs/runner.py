"""Works through the open units of a run, concurrently, until done or asked to stop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
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
    """How the work ended.

    Attributes:
        played: units finished now.
        interrupted: whether units are left because the user asked to stop.
        error: what ended the run early, if anything did.
    """

    played: int
    interrupted: bool
    error: MedjudgeError | None


class Workers:
    """Many units at once, each done by one coroutine that keeps what came of it.

    Args:
        do: does a unit and stores it; what it raises ends the work, see `work`.
        connections: how many requests may be under way.
    """

    def __init__(self, door: Door, do: Callable[[Unit], Awaitable[None]], *, connections: int) -> None:
        self._door = door
        self._do = do
        self._workers = connections + SPARE_WORKERS
        self._done = 0
        self._error: MedjudgeError | None = None
        self._fault: Exception | None = None
        self._interrupted = False

    async def work(self, units: Sequence[Unit]) -> Ending:
        """Do the units; what is finished is stored whatever happens to the others.

        A fault of ours outside of any case is raised only when what was in flight has been stored.
        """
        queue = iter(units)
        with self._interruptible():
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._workers, len(units))):
                    group.create_task(self._work(queue))
        if self._fault is not None:
            raise self._fault
        return Ending(self._done, self._interrupted, self._error)

    async def _work(self, queue: Iterator[Unit]) -> None:
        for unit in queue:
            if self._door.stopping:
                return
            try:
                await self._do(unit)
                self._done += 1
            except Interrupted:
                return
            except MedjudgeError as error:  # the endpoint, the replay, the store or a prompt: no unit can be done
                self._error = self._error or error
                self._door.stop()
                return
            except Exception as fault:
                self._fault = self._fault or fault
                self._door.stop()
                return

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


@dataclass(frozen=True, slots=True)
class Playing:
    """Plays one unit and keeps its transcript.

    Attributes:
        on_finish: told of every finished unit and its status, for the progress display.
    """

    store: RunStore
    player: Player
    models: Mapping[str, ChatModel]
    cases: Mapping[str, Case]
    on_finish: Callable[[Unit, str], None]

    async def __call__(self, unit: Unit) -> None:
        transcript = await self._played(unit)
        await self.store.finish(unit, transcript)
        self.on_finish(unit, transcript.status)

    async def _played(self, unit: Unit) -> Transcript:
        """A fault of ours in one case must not take the others with it; it is a status like any other."""
        try:
            return await self.player.play(self.cases[unit.case], unit, self.models)
        except CallFailed as failure:
            return Transcript(failure.reason, str(failure))
        except MedjudgeError:
            raise
        except Exception as error:
            return Transcript("internal_error", f"{type(error).__name__}: {error}")
