"""Answers shared between runs: only what is surely the same answer, and only when a file is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from judge.errors import RunError
from judge.models.cache import FileCache
from judge.models.door import Door
from judge.settings import Generation
from tests.models.helpers import MemoryStore, at, chat_on, user
from tests.server import ModelServer, says

COLD = Generation(temperature=0, max_tokens=50)


async def ask(
    server: ModelServer, cache: FileCache | None, generation: Generation = COLD, times: int = 1, **address: Any
) -> MemoryStore:
    """One run: ask with a new store, in which what came is seen."""
    store = MemoryStore()
    async with chat_on(server, Door(store=store, cache=cache), generation) as chat:
        for _ in range(times):
            await chat.ask(user(), at(**address))
    return store


async def test_given_temperature_0_when_another_run_asks_the_same_then_the_answer_is_shared(tmp_path: Path) -> None:
    cache = FileCache(tmp_path / "made" / "cache.sqlite")
    with ModelServer(says("B")) as server:
        first = await ask(server, cache)
        cache.close()
        cache = FileCache(tmp_path / "made" / "cache.sqlite")
        second = await ask(server, cache, case="another case with the same words")
        assert len(server.calls) == 1
    cache.close()

    assert (first.last.source, second.last.source) == ("server", "cache")
    assert (first.last.response, first.last.status) == (second.last.response, second.last.status)


@pytest.mark.parametrize(
    "generation",
    [Generation(), Generation(max_tokens=50), Generation(temperature=0.7), Generation(temperature=1e-9)],
    ids=repr,
)
async def test_given_any_other_temperature_when_it_is_asked_twice_then_both_are_sent(
    tmp_path: Path, generation: Generation
) -> None:
    cache = FileCache(tmp_path / "cache.sqlite")
    with ModelServer(says("B")) as server:
        for _ in range(2):
            await ask(server, cache, generation)
        assert len(server.calls) == 2
    cache.close()


@pytest.mark.parametrize(
    "change",
    [
        {"epoch": 2},
        {"generation": Generation(temperature=0, max_tokens=51)},
        {"generation": Generation(temperature=0)},
        {"generation": Generation(temperature=0, max_tokens=50, extra_body={"seed": 1})},
    ],
    ids=str,
)
async def test_given_a_shared_answer_when_epoch_or_settings_differ_then_it_is_not_served(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    cache = FileCache(tmp_path / "cache.sqlite")
    with ModelServer(says("B")) as server:
        await ask(server, cache)
        await ask(server, cache, **change)
        assert len(server.calls) == 2
    cache.close()


async def test_given_a_shared_answer_when_another_endpoint_is_asked_then_it_is_not_served(tmp_path: Path) -> None:
    cache = FileCache(tmp_path / "cache.sqlite")
    with ModelServer(says("B")) as server, ModelServer(says("C")) as other:
        await ask(server, cache)
        await ask(other, cache)
        assert (len(server.calls), len(other.calls)) == (1, 1)
    cache.close()


async def test_given_no_cache_file_when_it_is_asked_twice_then_both_are_sent() -> None:
    with ModelServer(says("B")) as server:
        for _ in range(2):
            await ask(server, None)
        assert len(server.calls) == 2


def test_given_a_file_that_is_no_cache_when_it_is_opened_then_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    path.write_text("something else, long enough to be read as a database header" * 20, encoding="utf-8")
    with pytest.raises(RunError, match="cannot be opened"):
        FileCache(path)
