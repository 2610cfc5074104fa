"""Paired tests of one report, corrected together for how many they are."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from judge.sensitivity.material import RESAMPLES, SEED
from judge.stats import Paired, holm, paired
from judge.stats.draws import two_sided_p

#: A difference is clear if its corrected p is below.
LEVEL = 0.05

#: Draws at most. The least p that draws can show, times the number of tests, may be above `LEVEL` all the same.
MOST_DRAWS = 20_000

Scores = Mapping[str, Mapping[str, float]]
"""Two names -> case -> value."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """A paired test that is to be made."""

    scores: Scores
    cluster_of: Callable[[str], Hashable]

    def made(self, resamples: int) -> Paired:
        return paired(self.scores, self.cluster_of, seed=SEED, resamples=resamples)


@dataclass(frozen=True, slots=True)
class Family:
    """The tests of a report.

    Attributes:
        n: tests that could be made; Holm's correction is for all of them.
        n_clear: those with a corrected p below ``level``.
        n_unresolved: those with no draw beyond 0 whose p is not clear for want of draws: a smaller p cannot be shown.
        resamples: draws of any one of them at most.
        level: from which a corrected p is not clear.
    """

    n: int
    n_clear: int
    n_unresolved: int
    resamples: int
    level: float = LEVEL


def carry_out(tables: Sequence[Sequence[dict[str, Any]]]) -> Family:
    """Put what was found in place of every `PairedTest` under ``compared``, p values corrected for all tables together.

    Tests whose p is the least that their draws can show are made again with more draws where this could tell.
    """
    rows = [row for table in tables for row in table if isinstance(row["compared"], PairedTest)]
    found = [row["compared"].made(RESAMPLES) for row in rows]
    n = sum(one.p is not None for one in found)
    draws = [_needed(one, n) for one in found]
    found = [row["compared"].made(more) if more > RESAMPLES else one
             for row, one, more in zip(rows, found, draws, strict=True)]  # fmt: skip
    adjusted = holm([one.p for one in found]).adjusted
    for row, one, p in zip(rows, found, adjusted, strict=True):
        row["compared"] = asdict(replace(one, p_holm=p))
    unresolved = sum(
        p is not None and p >= LEVEL and at_floor(one, more)
        for one, more, p in zip(found, draws, adjusted, strict=True)
    )
    return Family(n, sum(p is not None and p < LEVEL for p in adjusted), unresolved, max(draws, default=RESAMPLES))


def _floor(n_clusters: int, resamples: int) -> float:
    """The least p that so many draws can show."""
    return two_sided_p(np.ones(resamples), n_clusters)


def at_floor(one: Paired, resamples: int) -> bool:
    """Whether p is the least that so many draws can show."""
    return one.interval is not None and one.p is not None and one.p <= _floor(one.n_clusters, resamples) * (1 + 1e-9)


def _needed(one: Paired, n: int) -> int:
    """Draws with which the least p would be well below `LEVEL` among ``n`` tests, if it is the least that was found."""
    draws = RESAMPLES
    if not at_floor(one, draws):
        return draws
    while draws < MOST_DRAWS and _floor(one.n_clusters, draws) * n >= LEVEL / 5:
        draws = min(2 * draws, MOST_DRAWS)
    return draws
