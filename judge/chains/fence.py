"""Fences around text that is data: what stands between them cannot close them.

The mark derives from the run's nonce, the call's address and the texts themselves, so that it is the same on every
resume and replay, and nobody who writes one of the texts can know it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from judge.models.address import Address

#: Hexadecimal digits of a mark.
MARK_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Fence:
    """The fence of one call.

    Attributes:
        mark: what both ends of it carry, in no text that stands inside.
    """

    mark: str

    def around(self, name: str, text: str) -> str:
        """A text between its fences."""
        return f"<<<{name} {self.mark}>>>\n{text}\n<<<end {self.mark}>>>"


def fence_for(nonce: str, address: Address, texts: Mapping[str, str]) -> Fence:
    """The fence of one call for these texts, by name."""
    material = "\x00".join([str(address), *(part for pair in sorted(texts.items()) for part in pair)])
    digest = material.encode("utf-8", errors="surrogatepass")
    while True:  # a second round needs a text that holds the hash of itself
        digest = hmac.digest(nonce.encode(), digest, hashlib.sha256)
        mark = digest.hex()[:MARK_DIGITS]
        if not any(mark in text for text in texts.values()):
            return Fence(mark)
