"""Questions asked one by one and answered together."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from judge.models.batching import Batcher


class Doubler:
    """Doubles every text of a batch, and remembers the batches."""

    def __init__(self, size: int) -> None:
        self.batches: list[list[str]] = []
        self.refused: set[str] = set()
        self.free = threading.Event()
        self.free.set()
        self.batcher = Batcher(self._run, size=size, length=len)

    def _run(self, batch: Sequence[str]) -> list[str]:
        assert self.free.wait(5)
        self.batches.append(list(batch))
        if self.refused & {*batch}:
            raise ValueError(f"no {batch}")
        return [text * 2 for text in batch]

    async def ask(self, *texts: str) -> list[str | BaseException]:
        return await asyncio.gather(*map(self.batcher.ask, texts), return_exceptions=True)


async def test_given_questions_asked_at_once_when_they_are_answered_then_those_of_like_length_are_together() -> None:
    doubler = Doubler(2)
    answers = await doubler.ask("cccc", "a", "ddddd", "bb", "eeeeee")
    assert answers == ["cccccccc", "aa", "dddddddddd", "bbbb", "eeeeeeeeeeee"]
    assert doubler.batches == [["a", "bb"], ["cccc", "ddddd"], ["eeeeee"]]


async def test_given_a_single_question_when_no_other_comes_then_it_is_answered_alone() -> None:
    doubler = Doubler(8)
    assert [await doubler.ask("a"), await doubler.ask("b")] == [["aa"], ["bb"]]
    assert doubler.batches == [["a"], ["b"]]


async def test_given_a_batch_under_way_when_more_is_asked_then_it_gathers_for_the_next_one() -> None:
    doubler = Doubler(4)
    doubler.free.clear()
    first = asyncio.create_task(doubler.ask("a"))
    await asyncio.sleep(0.05)
    more = asyncio.create_task(doubler.ask("b", "c", "d"))
    await asyncio.sleep(0.05)
    doubler.free.set()
    assert [await first, await more] == [["aa"], ["bb", "cc", "dd"]]
    assert doubler.batches == [["a"], ["b", "c", "d"]]


async def test_given_a_question_that_fails_its_batch_when_it_is_answered_then_the_others_get_theirs() -> None:
    doubler = Doubler(4)
    doubler.refused = {"b"}
    a, b, c = await doubler.ask("a", "b", "c")
    assert (a, c) == ("aa", "cc")
    assert isinstance(b, ValueError)


async def test_given_a_question_that_is_given_up_when_its_batch_comes_then_it_is_left_out() -> None:
    doubler = Doubler(4)
    given_up = asyncio.create_task(doubler.batcher.ask("a"))
    kept = asyncio.create_task(doubler.batcher.ask("b"))
    await asyncio.sleep(0)
    given_up.cancel()
    assert await kept == "bb"
    assert doubler.batches == [["b"]]
    with pytest.raises(asyncio.CancelledError):
        await given_up
