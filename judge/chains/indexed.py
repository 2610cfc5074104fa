"""One call for many items: each verdict names its item, and what is missing is asked for again.

A judge counts the items from 1, here they are counted from 0. A reply that names an item nobody asked about is not used
at all: whoever counts in another way may have shifted every label.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import Field, field_validator

from judge.chains.asking import Asker
from judge.chains.fence import Data
from judge.models.verdict import JudgeFailed, Verdict
from judge.outcome import ERROR_REASONS

#: How often what is missing is asked for again.
REPAIRS = 2

#: Characters of an address in which items are named; more items are named by a hash.
_LONGEST_NAME = 40


class Indexed(Verdict):
    """A verdict on one of many items; subclasses go on with a rationale."""

    index: int = Field(description="number of the item")

    @field_validator("index", mode="before")
    @classmethod
    def _is_number(cls, index: Any) -> Any:
        if type(index) is not int:  # true would be read as 1
            raise ValueError("it is no whole number")
        return index


I = TypeVar("I", bound=Indexed)  # noqa: E741


class Batch(Verdict, Generic[I]):
    """Verdicts on many items."""

    verdicts: list[I] = Field(description="one for each item asked for")


def named(indices: Collection[int]) -> str:
    """Items as part of an address, e.g. ``1+4``, so that other items are another question; many of them as a hash."""
    name = "+".join(str(index + 1) for index in sorted(indices))
    return name if len(name) <= _LONGEST_NAME else hashlib.sha256(name.encode()).hexdigest()[:12]


def _always(_: Indexed) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Question(Generic[I]):
    """What is asked about many items.

    Attributes:
        prompt: its name; its variable ``wanted`` holds the numbers of the items to judge.
        step: of the address; repairs have ``<step>/repair1/<items>``, …, see `named`.
        data: what to show for the items that are asked for.
        usable: whether a verdict is complete; one that is not counts as missing.
    """

    prompt: str
    step: str
    schema: type[Batch[I]]
    data: Callable[[Sequence[int]], Mapping[str, Data]]
    usable: Callable[[I], bool] = _always


async def ask_indexed(asker: Asker, question: Question[I], indices: Collection[int]) -> dict[int, I]:
    """Verdicts by index, in order; an item that stays without one after the repairs is not among them.

    Raises:
        JudgeFailed: no usable answer to the first call, or a repair that the endpoint did not answer. A repair that the
            judge itself spoils ends the asking and leaves what there is. An answer with a number that was not asked
            for is none; the judge is told so and asked again, as `judge.models.verdict.Check` says.
    """
    found: dict[int, I] = {}
    for repair in range(REPAIRS + 1):
        wanted = [index for index in indices if index not in found]
        if not wanted:
            break
        try:
            found |= _trusted(await _ask(asker, question, repair, wanted), wanted, question.usable)
        except JudgeFailed as failure:
            if not repair or failure.reason in ERROR_REASONS:
                raise
            break
    return dict(sorted(found.items()))


async def _ask(asker: Asker, question: Question[I], repair: int, wanted: Sequence[int]) -> list[I]:
    step = f"{question.step}/repair{repair}/{named(wanted)}" if repair else question.step
    numbers = ", ".join(str(index + 1) for index in wanted)

    def check(batch: Batch[I]) -> str:
        strange = {verdict.index for verdict in batch.verdicts} - {index + 1 for index in wanted}
        return f"there is an entry for {min(strange)}, but asked for is {numbers}" if strange else ""

    data, words = question.data(wanted), {"wanted": numbers}
    return (await asker.ask(question.prompt, question.schema, step, data, words=words, check=check)).verdicts


def _trusted(verdicts: Sequence[I], wanted: Sequence[int], usable: Callable[[I], bool]) -> dict[int, I]:
    """Those verdicts on which the judge is of one mind."""
    given: dict[int, list[I]] = {}
    for verdict in verdicts:
        index = verdict.index - 1
        given.setdefault(index, []).append(verdict.model_copy(update={"index": index}))
    return {index: same[0] for index in wanted if (same := given.get(index)) and _agree(same) and usable(same[0])}


def _agree(verdicts: Sequence[I]) -> bool:
    return all(verdict == verdicts[0] for verdict in verdicts)
