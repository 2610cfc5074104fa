"""How judges rank the same models, how alike their rankings are, and which changes of rank are more than noise.

All judges are compared over the cases on which every judge has a score of every model, and over the same draws of whole
clusters. Tau-b: Kendall 1945, Biometrika 33(3):239-251.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from judge.stats.draws import expanded_interval
from judge.stats.estimates import Drawing
from judge.stats.intervals import FEW_CLUSTERS, few_clusters
from judge.stats.means import SAME
from judge.stats.paired import Scores, scored
from judge.stats.ratings import ItemKey, cluster_codes

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Concordance:
    """Two judges' rankings of the models.

    Attributes:
        judges: both.
        tau_b: Kendall's, over pairs of models; None where a judge puts all models on one rank.
        interval: from draws of whole clusters; it is about other cases, not about other models.
        n_undefined: draws without a tau.
        reason: why there is no tau, a key of `judge.stats.REASONS`.
        interval_reason: why there is no interval, likewise.
    """

    judges: tuple[str, str]
    tau_b: float | None
    interval: tuple[float, float] | None
    n_undefined: int = 0
    reason: str = ""
    interval_reason: str = ""


@dataclass(frozen=True, slots=True)
class Order:
    """Two models under one judge.

    Attributes:
        difference: mean of the first less that of the second.
        p_above: share of draws in which the first ranks above the second, ties counting half; None with one cluster.
    """

    judge: str
    models: tuple[str, str]
    difference: float
    p_above: float | None


@dataclass(frozen=True, slots=True)
class RankChange:
    """Two models that two judges put in opposite orders.

    Attributes:
        above: the model that the first judge ranks higher.
        below: the model that the second judge ranks higher.
        p_first: share of draws in which the first judge has this order, ties counting half.
        p_second: share in which the second has the opposite.
        p_change: share in which both have, in the same draw.
        outside_noise: whether ``p_change`` is at least the level; None where it is unknown.
        reason: why it is unknown, a key of `judge.stats.REASONS`.
    """

    judges: tuple[str, str]
    above: str
    below: str
    p_first: float | None
    p_second: float | None
    p_change: float | None
    outside_noise: bool | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Rankings:
    """Models under several judges.

    Attributes:
        means: judge -> model -> mean over the shared cases.
        ranks: judge -> model -> rank from 1, the highest mean; models with the same mean share their mean rank.
        orders: every pair of models under every judge.
        concordances: every pair of judges.
        changes: every pair of models that two judges put in opposite orders.
        n: cases that all judges share.
        n_clusters: distinct clusters among them.
        n_left_out: cases that any judge has for any model, but not all for all.
        reason: why nothing is ranked, a key of `judge.stats.REASONS`.
        note: a sentence for its reader; may be empty.
    """

    judges: tuple[str, ...]
    models: tuple[str, ...]
    means: Mapping[str, Mapping[str, float]] = field(hash=False)
    ranks: Mapping[str, Mapping[str, float]] = field(hash=False)
    orders: tuple[Order, ...]
    concordances: tuple[Concordance, ...]
    changes: tuple[RankChange, ...]
    n: int
    n_clusters: int
    n_left_out: int
    reason: str = ""
    note: str = ""

    def order(self, judge: str, first: str, second: str) -> Order:
        """Two models under a judge, as they are listed; KeyError if there is none."""
        for found in self.orders:
            if (found.judge, found.models) == (judge, (first, second)):
                return found
        raise KeyError(f"no order of {first} and {second} under {judge}")


def rankings(
    scores_by_judge: Mapping[str, Mapping[str, Scores[ItemKey]]],
    cluster_of: Callable[[ItemKey], Hashable],
    *,
    seed: int,
    resamples: int = 2000,
    level: float = 0.95,
) -> Rankings:
    """Rank models by their means under each judge, over the cases that all judges share.

    Args:
        scores_by_judge: judge -> model -> case -> score, higher being better. A case that is absent, or None, is
            unscored. Every judge has the same models.
        cluster_of: the cluster of a case.
        seed: of the draws; the same arguments in the same order give the same result.
        resamples: how many times to draw.
        level: coverage of intervals, and the share of draws from which a change of rank is outside noise.

    Raises:
        ValueError: no judge, judges with different models, a score that is no finite number, or ``resamples`` or
            ``level`` out of range.
    """
    drawing = Drawing(seed, resamples, level)
    judges, models = _names(scores_by_judge)
    given = {
        (judge, model): scored(f"{model} by {judge}", scores_by_judge[judge][model])
        for judge in judges
        for model in models
    }
    cases = dict.fromkeys(case for scores in given.values() for case in scores)
    shared = [case for case in cases if all(case in scores for scores in given.values())]
    codes, n_clusters = cluster_codes(map(cluster_of, shared))
    reason = "no_overlap" if not shared else "one_model" if len(models) < 2 else ""
    if reason:
        return Rankings(judges, models, {}, {}, (), (), (), len(shared), n_clusters, len(cases) - len(shared), reason)
    table = np.array([[scores[case] for case in shared] for scores in given.values()], dtype=np.float64)
    ranked = _Ranked(judges, models, table.reshape(len(judges), len(models), -1), codes, n_clusters, drawing)
    return Rankings(
        judges,
        models,
        ranked.by_name(ranked.means),
        ranked.by_name(_ranks(ranked.means)),
        tuple(ranked.orders()),
        tuple(ranked.concordance(pair) for pair in combinations(range(len(judges)), 2)),
        tuple(ranked.changes()),
        len(shared),
        n_clusters,
        len(cases) - len(shared),
        note=few_clusters(n_clusters),
    )


def _names(scores_by_judge: Mapping[str, Mapping[str, object]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not scores_by_judge:
        raise ValueError("a ranking needs at least one judge, got none")
    models = tuple(next(iter(scores_by_judge.values())))
    for judge, scores in scores_by_judge.items():
        if set(scores) != set(models):
            raise ValueError(f"{judge} has scores of {', '.join(scores)}, other judges of {', '.join(models)}")
    return tuple(scores_by_judge), models


class _Ranked:
    """The shared scores, shape (judges, models, cases), and the order of models in every draw."""

    def __init__(
        self,
        judges: Sequence[str],
        models: Sequence[str],
        scores: Array,
        codes: NDArray[np.intp],
        n_clusters: int,
        drawing: Drawing,
    ) -> None:
        self.judges, self.models, self.n_clusters, self.level = judges, models, n_clusters, drawing.level
        self.means: Array = scores.mean(axis=2)
        self.signs = _signs(self.means)
        self.drawn = self._draw(scores, codes, drawing) if n_clusters > 1 else None

    def _draw(self, scores: Array, codes: NDArray[np.intp], drawing: Drawing) -> NDArray[np.int8]:
        """Signs of differences in every draw, shape (draws, judges, models, models)."""
        n_judges, n_models, n = scores.shape
        flat = scores.reshape(-1, n)
        sums = np.stack([np.bincount(codes, weights=row, minlength=self.n_clusters) for row in flat], axis=1)
        sizes = np.bincount(codes, minlength=self.n_clusters)
        width = n_judges * n_models * n_models
        blocks = [w @ sums / (w @ sizes)[:, None] for w in drawing.weights(self.n_clusters, width)]
        return np.concatenate([_signs(block.reshape(-1, n_judges, n_models)) for block in blocks])

    def by_name(self, values: Array) -> dict[str, dict[str, float]]:
        return {
            judge: dict(zip(self.models, map(float, row), strict=True))
            for judge, row in zip(self.judges, values, strict=True)
        }

    def above(self, judge: int, first: int, second: int) -> float | None:
        """The share of draws in which one model ranks above another, ties counting half."""
        return None if self.drawn is None else float((self.drawn[:, judge, first, second] + 1.0).mean() / 2.0)

    def orders(self) -> list[Order]:
        return [
            Order(
                name,
                (self.models[first], self.models[second]),
                float(self.means[judge, first] - self.means[judge, second]),
                self.above(judge, first, second),
            )
            for judge, name in enumerate(self.judges)
            for first, second in combinations(range(len(self.models)), 2)
        ]

    def concordance(self, pair: tuple[int, int]) -> Concordance:
        names = self.judges[pair[0]], self.judges[pair[1]]
        tau = float(_tau_b(self.signs[None, pair[0]], self.signs[None, pair[1]])[0])
        if np.isnan(tau):
            return Concordance(names, None, None, reason="one_rank", interval_reason="no_value")
        if self.drawn is None:
            return Concordance(names, tau, None, interval_reason="one_cluster")
        draws = _tau_b(self.drawn[:, pair[0]], self.drawn[:, pair[1]])
        interval, reason = expanded_interval(draws, self.n_clusters, self.level)
        return Concordance(names, tau, interval, int(np.isnan(draws).sum()), interval_reason=reason)

    def changes(self) -> list[RankChange]:
        found = []
        for a, b in combinations(range(len(self.judges)), 2):
            opposite = self.signs[a] * self.signs[b] < 0
            for first, second in zip(*np.nonzero(opposite & (self.signs[a] > 0)), strict=True):
                found.append(self._change((a, b), int(first), int(second)))
        return found

    def _change(self, pair: tuple[int, int], first: int, second: int) -> RankChange:
        names = self.judges[pair[0]], self.judges[pair[1]]
        above, below = self.models[first], self.models[second]
        if self.drawn is None:
            return RankChange(names, above, below, None, None, None, None, "one_cluster")
        enough = self.n_clusters >= FEW_CLUSTERS
        one, other = self.drawn[:, pair[0], first, second], self.drawn[:, pair[1], first, second]
        both = float(((one > 0) & (other < 0)).mean())
        return RankChange(
            judges=names,
            above=above,
            below=below,
            p_first=self.above(pair[0], first, second),
            p_second=self.above(pair[1], second, first),
            p_change=both,
            outside_noise=both >= self.level if enough else None,
            reason="" if enough else "few_clusters",
        )


def _signs(means: Array) -> NDArray[np.int8]:
    """Whether each model's mean is higher (1), the same (0) or lower (-1) than each other's; adds an axis of models."""
    apart = means[..., :, None] - means[..., None, :]
    return (apart > SAME).astype(np.int8) - (apart < -SAME).astype(np.int8)


def _ranks(means: Array) -> Array:
    """Ranks from 1 for the highest; models with the same mean share the mean of their ranks."""
    signs = _signs(means)
    return np.asarray((signs < 0).sum(axis=-1) + ((signs == 0).sum(axis=-1) + 1.0) / 2.0)


def _tau_b(first: NDArray[np.int8], second: NDArray[np.int8]) -> Array:
    """Tau-b of rankings given as signs, shape (..., models, models); NaN where one has all models on one rank."""
    one, other = first.astype(np.float64), second.astype(np.float64)
    squares = (one**2).sum(axis=(-2, -1)) * (other**2).sum(axis=(-2, -1))
    concordance = (one * other).sum(axis=(-2, -1))
    return np.asarray(np.divide(concordance, np.sqrt(squares), out=np.full(squares.shape, np.nan), where=squares > 0.0))
