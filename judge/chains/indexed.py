"""One call for many items: each verdict names its item, and what is missing is asked for again.

A judge counts the items from 1, here they are counted from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import Field

from judge.chains.asking import Asker
from judge.chains.fence import Data
from judge.models.verdict import JudgeFailed, Verdict
from judge.outcome import ERROR_REASONS

#: How often what is missing is asked for again.
REPAIRS = 2


class Indexed(Verdict):
    """A verdict on one of many items; subclasses go on with a rationale."""

    index: int = Field(description="number of the item")


I = TypeVar("I", bound=Indexed)  # noqa: E741


class Batch(Verdict, Generic[I]):
    """Verdicts on many items."""

    verdicts: list[I] = Field(description="one for each item asked for")


def _always(_: Indexed) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Question(Generic[I]):
    """What is asked about many items.

    Attributes:
        prompt: its name; its variable ``wanted`` holds the numbers of the items to judge.
        step: of the address; repairs have ``<step>/repair1``, ….
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
            judge itself spoils ends the asking and leaves what there is.
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
    step = f"{question.step}/repair{repair}" if repair else question.step
    words = {"wanted": ", ".join(str(index + 1) for index in wanted)}
    return (await asker.ask(question.prompt, question.schema, step, question.data(wanted), words=words)).verdicts


def _trusted(verdicts: Sequence[I], wanted: Sequence[int], usable: Callable[[I], bool]) -> dict[int, I]:
    """Those verdicts of which it is sure what they are about."""
    given: dict[int, list[I]] = {}
    for verdict in verdicts:
        index = verdict.index - 1
        given.setdefault(index, []).append(verdict.model_copy(update={"index": index}))
    if given.keys() - set(wanted) and set(wanted) - given.keys():
        # one that was not asked for beside one that is missing: the judge counts in another way, so any may be shifted
        return {}
    return {index: same[0] for index in wanted if (same := given.get(index)) and _agree(same) and usable(same[0])}


def _agree(verdicts: Sequence[I]) -> bool:
    return all(verdict == verdicts[0] for verdict in verdicts)
