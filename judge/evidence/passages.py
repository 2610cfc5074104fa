"""What a search gives, and what can be searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from judge.models.address import Address


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text that was found.

    Attributes:
        source: where it is from, for a person: a file and line, or a web address.
    """

    text: str
    source: str


class Evidence(Protocol):
    """Something that can be searched.

    Attributes:
        name: as the user gave it, e.g. ``corpus:guidelines``; it stands with every number that rests on it.
        version: what it was searched in: a hash over the files, or the name and version of a tool.
    """

    name: str
    version: str

    async def search(self, query: str, address: Address) -> Sequence[Passage]:
        """The best passages first; empty if nothing fits.

        Args:
            address: of this search within the run; what a remote search found is stored under it.

        Raises:
            CallFailed: the search did not work; that is never the same as finding nothing.
        """
