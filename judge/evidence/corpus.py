"""The user's own files, searched with BM25."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bm25s
import numpy as np

from judge.evidence.cutting import CHARACTERS, CUTTING, PASSAGES
from judge.evidence.files import read_folder
from judge.evidence.passages import Passage
from judge.evidence.words import TERMS, terms
from judge.models.address import Address

#: The form that Lucene has: idf = ln(1 + (N - n + 0.5) / (n + 0.5)), so that a term in a passage always adds to it.
METHOD, K1, B = "lucene", 1.5, 0.75


class Corpus:
    """A folder of texts.

    Scores are BM25 (Robertson and Zaragoza 2009) in Lucene's form over `judge.evidence.words.terms`. A passage that
    shares no term with the query is never found; equal scores stand in the order of files and lines; the same text
    is given once.

    Raises:
        DataError: the folder, or a file in it, cannot be used.
    """

    def __init__(self, name: str, folder: Path) -> None:
        found = read_folder(folder)
        self.name = name
        self.version = (
            f"{found.sha256}|bm25:{METHOD},{K1:g},{B:g}|terms:{TERMS}|cutting:{CUTTING}|k:{PASSAGES}|chars:{CHARACTERS}"
        )
        self._passages = found.passages
        self._index: Any = None
        self._building = threading.Lock()

    async def search(self, query: str, address: Address) -> Sequence[Passage]:
        """The best passages first; nothing is sent, so nothing is stored under the address."""
        return await asyncio.to_thread(self._best, query)

    def _best(self, query: str) -> list[Passage]:
        with self._building:
            if self._index is None:
                self._index = _indexed(self._passages)
        known = self._index.get_tokens_ids(terms(query))
        if not known:
            return []
        scores = self._index.get_scores_from_ids(known)
        found = np.flatnonzero(scores > 0)
        best: dict[str, Passage] = {}
        for position in found[np.argsort(-scores[found], kind="stable")]:
            passage = self._passages[position]
            best.setdefault(passage.text, passage)
            if len(best) == PASSAGES:
                break
        return list(best.values())


def _indexed(passages: Sequence[Passage]) -> Any:
    """A BM25 index; terms are numbered in the order of their first use, not in that of a set."""
    vocabulary: dict[str, int] = {}
    numbers = [[vocabulary.setdefault(term, len(vocabulary)) for term in terms(found.text)] for found in passages]
    index = bm25s.BM25(k1=K1, b=B, method=METHOD, backend="numpy", csc_backend="numpy")
    index.index((numbers, vocabulary), create_empty_token=False, show_progress=False)
    return index
