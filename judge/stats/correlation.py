"""Rank correlation of two raters' numbers on the same items, with intervals clustered by case.

Sources: Spearman's rho is Pearson's correlation of mean ranks (Kendall & Gibbons 1990, Rank Correlation Methods, 5th
ed., chapter 3 for ties); Kendall's tau-b is of Kendall 1945, The treatment of ties in ranking problems, Biometrika
33(3):239-251. Intervals are by a jackknife over clusters (`judge.stats.jackknife`); `benchmarks.agreement_coverage`
measures how often they cover the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judge.stats.estimates import Estimate
from judge.stats.intervals import few_clusters
from judge.stats.jackknife import jackknife_interval, without_each
from judge.stats.means import check_level
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
    level: float = 0.95,
) -> Correlation:
    """Spearman's rho and Kendall's tau-b of two raters, e.g. a judge and a person.

    Args:
        ratings_by_rater: two raters -> item -> number. An item that is absent, or None, is missing for this rater.
        cluster_of: the cluster of an item, e.g. its case.
        level: coverage of the intervals, between 0 and 1.

    Raises:
        ValueError: not two raters, a rating that is no finite number, or ``level`` out of range.
    """
    check_level(level)
    rated = _read(ratings_by_rater, cluster_of)
    return Correlation(
        rated.raters,
        _estimate("spearman", rated, level, spearman_of_clusters),
        _estimate("kendall_tau_b", rated, level, kendall_of_clusters),
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


Coefficient = Callable[[Array], Array]
"""Weights of clusters, shape (weightings, clusters), to values, shape (weightings,); NaN where undefined."""


def _estimate(
    name: str, rated: _Rated, level: float, measure: Callable[[Array, Array, NDArray[np.intp]], Coefficient]
) -> Estimate:
    n, n_clusters = len(rated.x), rated.n_clusters
    reason = _reason(rated)
    if reason:
        return Estimate(name, None, None, n, n_clusters, rated.n_missing, reason, "no_value")
    of = measure(rated.x, rated.y, rated.clusters)
    value = float(of(np.ones((1, n_clusters)))[0])
    left_out = np.concatenate([of(weights) for weights in without_each(n_clusters, width=n)])
    ends, interval_reason = jackknife_interval(value, left_out, np.bincount(rated.clusters), level=level)
    return Estimate(
        name,
        value,
        ends,
        n,
        n_clusters,
        rated.n_missing,
        interval_reason=interval_reason,
        method="jackknife_t" if ends else "",
        note=few_clusters(n_clusters) if ends else "",
    )


def _reason(rated: _Rated) -> str:
    if len(rated.x) == 0:
        return "no_overlap"
    if len(rated.x) < 3:  # two items always give 1 or -1
        return "too_few_items"
    return "constant" if np.ptp(rated.x) == 0.0 or np.ptp(rated.y) == 0.0 else ""


def spearman_of_clusters(x: Array, y: Array, clusters: NDArray[np.intp]) -> Coefficient:
    """Spearman's rho as a function of how often each cluster counts.

    Args:
        x: ratings by the first, shape (items,).
        y: by the second.
        clusters: of each item, codes 0..G-1.
    """

    def of(weights: Array) -> Array:
        items = weights[:, clusters]
        n = items.sum(axis=1, keepdims=True)
        # the mean of mean ranks is (n + 1) / 2 whatever the ties
        a, b = (_mean_ranks(column, items) - (n + 1.0) / 2.0 for column in (x, y))
        return _over((items * a * b).sum(axis=1), (items * a * a).sum(axis=1), (items * b * b).sum(axis=1))

    return of


def _mean_ranks(values: Array, weights: Array) -> Array:
    """Ranks from 1, ties sharing their mean, where every item occurs as often as its weight; shape of the weights."""
    _, code = np.unique(values, return_inverse=True)
    order = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[order], np.arange(code.max() + 1))
    sizes = np.add.reduceat(weights[:, order], starts, axis=1)
    return np.asarray((np.cumsum(sizes, axis=1) - (sizes - 1.0) / 2.0)[:, code])


def kendall_of_clusters(x: Array, y: Array, clusters: NDArray[np.intp]) -> Coefficient:
    """Kendall's tau-b as a function of how often each cluster counts; arguments as of `spearman_of_clusters`."""
    concordance, untied_x, untied_y = _signs(x, y, clusters)

    def of(weights: Array) -> Array:
        total, a, b = (((weights @ table) * weights).sum(axis=1) for table in (concordance, untied_x, untied_y))
        return _over(total, a, b)

    return of


def _signs(x: Array, y: Array, clusters: NDArray[np.intp]) -> tuple[Array, Array, Array]:
    """Of ordered pairs of items, summed by the clusters of both, shape (clusters, clusters).

    Concordant less discordant pairs, pairs not tied by the first rater, pairs not tied by the second.
    """
    n_clusters = int(clusters.max()) + 1
    concordance, untied_x, untied_y = (np.zeros((n_clusters, n_clusters)) for _ in range(3))
    order = np.argsort(clusters, kind="stable")
    x, y, clusters = x[order], y[order], clusters[order]
    columns = np.searchsorted(clusters, np.arange(n_clusters))
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
    """``product / sqrt(x y)``, NaN where either is 0: a rater gave one rating only."""
    varied = (x > 0.0) & (y > 0.0)
    return np.asarray(np.divide(product, np.sqrt(x) * np.sqrt(y), out=np.full(len(x), np.nan), where=varied))
