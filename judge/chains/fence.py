"""Fences around text that is data: what stands between them cannot close them.

The mark derives from the run's nonce, the call's address and the texts themselves, so that it is the same on every
resume and replay, and nobody who writes one of the texts can know it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from judge.models.address import Address

#: Hexadecimal digits of a mark.
MARK_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Items:
    """Several texts in one place of a prompt, each below a line of its own with a label and the mark.

    Attributes:
        pieces: (label, text) pairs in order; the labels are words of our own.
    """

    pieces: tuple[tuple[str, str], ...]


Data = str | Items
"""What a place in a prompt is filled with that is not our own text."""


def numbered(texts: Iterable[tuple[int, str]]) -> Items:
    """Texts by index from 0, labelled with their numbers from 1."""
    return Items(tuple((str(index + 1), text) for index, text in texts))


@dataclass(frozen=True, slots=True)
class Fence:
    """The fence of one call.

    Attributes:
        mark: what both ends of it carry, in no text that stands inside.
    """

    mark: str

    def around(self, name: str, data: Data) -> str:
        """A text, or several, between fences."""
        inside = data if isinstance(data, str) else "\n".join(self._piece(*piece) for piece in data.pieces)
        return f"<<<{name} {self.mark}>>>\n{inside}\n<<<end {self.mark}>>>"

    def _piece(self, label: str, text: str) -> str:
        return f"<<<{label} {self.mark}>>>\n{text}"


def fence_for(nonce: str, address: Address, data: Mapping[str, Data]) -> Fence:
    """The fence of one call for these texts, by name."""
    texts = _texts(data)
    material = "\x00".join([str(address), *texts])
    digest = material.encode("utf-8", errors="surrogatepass")
    while True:  # a second round needs a text that holds the hash of itself
        digest = hmac.digest(nonce.encode(), digest, hashlib.sha256)
        mark = digest.hex()[:MARK_DIGITS]
        if not any(mark in text for text in texts):
            return Fence(mark)


def _texts(data: Mapping[str, Data]) -> list[str]:
    """Every name, label and text, in the order of the names."""
    texts: list[str] = []
    for name, value in sorted(data.items(), key=lambda entry: entry[0]):
        texts += [name, value] if isinstance(value, str) else [name, *(part for pair in value.pieces for part in pair)]
    return texts
