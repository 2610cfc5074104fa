"""Rank correlation of two raters' numbers on the same items, with intervals clustered by case.

Sources: Spearman's rho is Pearson's correlation of mean ranks (Kendall & Gibbons 1990, Rank Correlation Methods, 5th
ed., chapter 3 for ties); Kendall's tau-b is of Kendall 1945, The treatment of ties in ranking problems, Biometrika
33(3):239-251.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judge.stats.estimates import Drawing, Estimate
from judge.stats.ratings import ItemKey, cluster_codes

Array = NDArray[np.float64]

_ROWS_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Correlation:
    """Two raters' rank correlations over the items that both rated."""

    raters: tuple[str, str]
    spearman: Estimate
    kendall: Estimate


def correlation(
    ratings_by_rater: Mapping[str, Mapping[ItemKey, float | None]],
    cluster_of: Callable[[ItemKey], Hashable],
    *,
    seed: int,
    resamples: int = 2000,
    level: float = 0.95,
) -> Correlation:
    """Spearman's rho and Kendall's tau-b of two raters, e.g. a judge and a person.

    Args:
        ratings_by_rater: two raters -> item -> number. An item that is absent, or None, is missing for this rater.
        cluster_of: the cluster of an item, e.g. its case.
        seed: of the draws; the same arguments in the same order give the same intervals.
        resamples: how many times to draw.
        level: coverage of the intervals, between 0 and 1.

    Raises:
        ValueError: not two raters, a rating that is no finite number, or ``resamples`` or ``level`` out of range.
    """
    drawing = Drawing(seed, resamples, level)
    rated = _read(ratings_by_rater, cluster_of)
    return Correlation(
        rated.raters,
        _estimate("spearman", rated, drawing, _spearman(rated)),
        _estimate("kendall_tau_b", rated, drawing, _kendall(rated)),
    )


class _Rated(NamedTuple):
    """The items that both rated: shape (items,) each."""

    raters: tuple[str, str]
    x: Array
    y: Array
    clusters: NDArray[np.intp]
    n_clusters: int
    n_missing: Mapping[str, int]


def _read(
    ratings_by_rater: Mapping[str, Mapping[ItemKey, float | None]], cluster_of: Callable[[ItemKey], Hashable]
) -> _Rated:
    if len(ratings_by_rater) != 2:
        raise ValueError(f"a correlation is of two raters, got {', '.join(ratings_by_rater) or 'none'}")
    given = {rater: _numbers(rater, ratings) for rater, ratings in ratings_by_rater.items()}
    items = dict.fromkeys(item for ratings in ratings_by_rater.values() for item in ratings)
    (first, xs), (second, ys) = given.items()
    both = [item for item in items if item in xs and item in ys]
    clusters, n_clusters = cluster_codes(map(cluster_of, both))
    x, y = (np.array([numbers[item] for item in both], dtype=np.float64) for numbers in (xs, ys))
    n_missing = {rater: len(items) - len(numbers) for rater, numbers in given.items()}
    return _Rated((first, second), x, y, clusters, n_clusters, n_missing)


def _numbers(rater: str, ratings: Mapping[ItemKey, float | None]) -> dict[ItemKey, float]:
    found: dict[ItemKey, float] = {}
    for item, rating in ratings.items():
        if rating is None:
            continue
        if isinstance(rating, bool) or not isinstance(rating, int | float) or not math.isfinite(rating):
            raise ValueError(f"the rating {rating!r} of {rater} for {item!r} is no finite number")
        found[item] = float(rating)
    return found


_Coefficient = Callable[[Array], Array]
"""Weights of clusters, shape (draws, clusters), to values, shape (draws,); NaN where undefined."""


def _estimate(name: str, rated: _Rated, drawing: Drawing, of: _Coefficient) -> Estimate:
    n = len(rated.x)
    reason = _reason(rated)
    if reason:
        return Estimate(name, None, None, n, rated.n_clusters, rated.n_missing, reason, "no_value")
    value = float(of(np.ones((1, rated.n_clusters)))[0])
    if rated.n_clusters < 2:
        return Estimate(name, value, None, n, rated.n_clusters, rated.n_missing, interval_reason="one_cluster")
    draws = np.concatenate([of(weights) for weights in drawing.weights(rated.n_clusters, width=n)])
    interval, interval_reason = drawing.interval(draws)
    return Estimate(
        name,
        value,
        interval,
        n,
        rated.n_clusters,
        rated.n_missing,
        interval_reason=interval_reason,
        n_undefined=int(np.isnan(draws).sum()),
        resamples=draws.size,
    )


def _reason(rated: _Rated) -> str:
    if len(rated.x) == 0:
        return "no_overlap"
    if len(rated.x) < 3:  # two items always give 1 or -1
        return "too_few_items"
    return "constant" if np.ptp(rated.x) == 0.0 or np.ptp(rated.y) == 0.0 else ""


def _spearman(rated: _Rated) -> _Coefficient:
    def of(weights: Array) -> Array:
        items = weights[:, rated.clusters]
        n = items.sum(axis=1, keepdims=True)
        # the mean of mean ranks is (n + 1) / 2 whatever the ties
        x, y = (_mean_ranks(column, items) - (n + 1.0) / 2.0 for column in (rated.x, rated.y))
        return _over((items * x * y).sum(axis=1), (items * x * x).sum(axis=1), (items * y * y).sum(axis=1))

    return of


def _mean_ranks(values: Array, weights: Array) -> Array:
    """Ranks from 1, ties sharing their mean, where every item occurs as often as its weight; shape of the weights."""
    _, code = np.unique(values, return_inverse=True)
    order = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[order], np.arange(code.max() + 1))
    sizes = np.add.reduceat(weights[:, order], starts, axis=1)
    return np.asarray((np.cumsum(sizes, axis=1) - (sizes - 1.0) / 2.0)[:, code])


def _kendall(rated: _Rated) -> _Coefficient:
    concordance, untied_x, untied_y = _signs(rated)

    def of(weights: Array) -> Array:
        total, x, y = (((weights @ table) * weights).sum(axis=1) for table in (concordance, untied_x, untied_y))
        return _over(total, x, y)

    return of


def _signs(rated: _Rated) -> tuple[Array, Array, Array]:
    """Of ordered pairs of items, summed by the clusters of both, shape (clusters, clusters).

    Concordant less discordant pairs, pairs not tied by the first rater, pairs not tied by the second.
    """
    concordance, untied_x, untied_y = (np.zeros((rated.n_clusters, rated.n_clusters)) for _ in range(3))
    order = np.argsort(rated.clusters, kind="stable")
    x, y, clusters = rated.x[order], rated.y[order], rated.clusters[order]
    columns = np.searchsorted(clusters, np.arange(rated.n_clusters))
    for start in range(0, len(x), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        found, firsts = np.unique(clusters[rows], return_index=True)
        by_x, by_y = _sign(x, rows), _sign(y, rows)
        for table, signs in ((concordance, by_x * by_y), (untied_x, np.abs(by_x)), (untied_y, np.abs(by_y))):
            by_cluster = np.add.reduceat(signs, columns, axis=1, dtype=np.int32)
            table[found] += np.add.reduceat(by_cluster, firsts, axis=0)
    return concordance, untied_x, untied_y


def _sign(values: Array, rows: slice) -> NDArray[np.int8]:
    """Whether each of some values is larger (1), equal (0) or smaller (-1) than every value; bytes to save memory."""
    some = values[rows, None]
    return (some > values).view(np.int8) - (some < values).view(np.int8)


def _over(product: Array, x: Array, y: Array) -> Array:
    """``product / sqrt(x y)``, NaN where either is 0: a draw in which a rater gave one rating only."""
    varied = (x > 0.0) & (y > 0.0)
    return np.asarray(np.divide(product, np.sqrt(x) * np.sqrt(y), out=np.full(len(x), np.nan), where=varied))
