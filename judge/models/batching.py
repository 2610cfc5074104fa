"""Questions that arrive one by one as coroutines, answered several at a time in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Question = TypeVar("Question")
Result = TypeVar("Result")

#: Seconds that a question waits for company.
WAIT = 0.02


@dataclass(frozen=True, slots=True)
class _Waiting(Generic[Question, Result]):
    question: Question
    result: asyncio.Future[Result]


class Batcher(Generic[Question, Result]):
    """Collects what is asked at about the same time and runs it together, questions of like length in one batch.

    Args:
        run: answers a batch, in order; called in a thread, never twice at once.
        size: most questions of a batch.
        length: by which questions are put together.
    """

    def __init__(
        self, run: Callable[[Sequence[Question]], Sequence[Result]], *, size: int, length: Callable[[Question], int]
    ) -> None:
        self._run = run
        self._size = size
        self._length = length
        self._waiting: list[_Waiting[Question, Result]] = []
        self._worker: asyncio.Task[None] | None = None

    async def ask(self, question: Question) -> Result:
        """The result for one question, or what `run` raises for it alone."""
        waiting: _Waiting[Question, Result] = _Waiting(question, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await waiting.result

    async def _work(self) -> None:
        while self._waiting:
            if len(self._waiting) < self._size:
                await asyncio.sleep(WAIT)
            together = sorted(self._waiting, key=lambda waiting: self._length(waiting.question))
            self._waiting = []
            for start in range(0, len(together), self._size):
                await self._answer([one for one in together[start : start + self._size] if not one.result.done()])

    async def _answer(self, batch: Sequence[_Waiting[Question, Result]]) -> None:
        """A batch that fails is asked one by one, so that a fault, or too little memory, takes only whom it must."""
        if not batch:  # everyone has given up
            return
        try:
            results = await asyncio.to_thread(self._run, [one.question for one in batch])
        except Exception as error:
            if len(batch) > 1:
                for one in batch:
                    await self._answer([one])
            elif not batch[0].result.done():
                batch[0].result.set_exception(error)
            return
        for one, result in zip(batch, results, strict=True):
            if not one.result.done():
                one.result.set_result(result)
