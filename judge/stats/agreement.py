"""How far raters, models or people, agree on the same items: coefficients with intervals clustered by case.

Definitions and sources are those of `judge.stats.coefficients`. The interval of raw agreement is that of a mean over
items (`judge.stats.intervals`), those of the others are by a jackknife over clusters (`judge.stats.jackknife`);
`benchmarks.agreement_coverage` measures how often they cover the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np

from judge.stats.coefficients import (
    Array,
    Level,
    alpha_of_coincidences,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    least_gwet_ac,
    linear_weights,
    quadratic_weights,
)
from judge.stats.estimates import Estimate
from judge.stats.intervals import few_clusters, mean_interval
from judge.stats.jackknife import jackknife_interval, without_each
from judge.stats.means import SAME, check_level
from judge.stats.ratings import ItemKey, Rating, Ratings, read_ratings


@dataclass(frozen=True, slots=True)
class Confusion:
    """How often one rater gave a label where another gave the same or another one.

    Attributes:
        labels: of rows and columns, in order.
        rows: the rater whose labels are the rows.
        columns: the rater whose labels are the columns.
        counts: items, ``counts[i][j]`` for label i by ``rows`` and label j by ``columns``.
    """

    labels: tuple[Rating, ...]
    rows: str
    columns: str
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two raters, or all of them.

    Attributes:
        raters: their names.
        estimates: name of the coefficient -> estimate.
        confusion: of two raters; None where more are compared.
    """

    raters: tuple[str, ...]
    estimates: Mapping[str, Estimate] = field(hash=False)
    confusion: Confusion | None = None

    def __getitem__(self, name: str) -> Estimate:
        """The estimate of a coefficient by its name; KeyError if it is not computed for these labels."""
        return self.estimates[name]


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """Agreement of every pair of raters, and of all raters together.

    Attributes:
        labels: the categories in order.
        n_items: items that any rater was given.
        n_clusters: distinct clusters among them.
        n_missing: rater -> items without a label by this rater.
        pairs: every pair in the order of raters, each over the items that both labelled.
        together: all raters, over the items that at least two of them labelled.
    """

    raters: tuple[str, ...]
    labels: tuple[Rating, ...]
    n_items: int
    n_clusters: int
    n_missing: Mapping[str, int] = field(hash=False)
    pairs: tuple[Comparison, ...]
    together: Comparison

    def pair(self, first: str, second: str) -> Comparison:
        """The comparison of two raters in either order; KeyError if there is none."""
        for found in self.pairs:
            if set(found.raters) == {first, second}:
                return found
        raise KeyError(f"{first} and {second} are not both among the raters {', '.join(self.raters)}")


def agreement(
    labels_by_rater: Mapping[str, Mapping[ItemKey, Rating | None]],
    cluster_of: Callable[[ItemKey], Hashable],
    *,
    ordinal: Sequence[Rating] | None = None,
    level: float = 0.95,
) -> AgreementReport:
    """Agreement of two or more raters on the same items, missing labels left out and counted.

    Every comparison has ``raw_agreement``, ``fleiss_kappa``, ``gwet_ac1`` and ``krippendorff_alpha_nominal``; of two
    raters there is also ``cohen_kappa``. Ordinal labels add ``gwet_ac2_linear``, ``gwet_ac2_quadratic`` and
    ``krippendorff_alpha_ordinal``, for two raters ``cohen_kappa_linear`` and ``cohen_kappa_quadratic``, and where they
    are numbers ``krippendorff_alpha_interval``. Weights go by position in the order of labels, the interval alpha by
    value. Of two raters, ``together`` is the same as their pair.

    Args:
        labels_by_rater: rater -> item -> label. An item that is absent, or None, is missing for this rater. Items with
            the same key must be the same thing: steps split otherwise need other keys.
        cluster_of: the cluster of an item, e.g. its case.
        ordinal: all labels in their order, those included that nobody gave. Without it the labels are nominal, and
            those that occur in a comparison are all there are; Gwet's coefficients depend on their number.
        level: coverage of the intervals, between 0 and 1.

    Raises:
        ValueError: labels that `judge.stats.ratings.read_ratings` refuses; ``level`` out of range.
    """
    check_level(level)
    ratings = read_ratings(labels_by_rater, cluster_of, ordinal)
    pairs = combinations(range(len(ratings.raters)), 2)
    return AgreementReport(
        ratings.raters,
        ratings.labels,
        ratings.n_items,
        ratings.n_clusters,
        ratings.n_missing,
        tuple(_compare(ratings.of(*pair), level) for pair in pairs),
        _compare(ratings, level),
    )


# --- what is computed ---------------------------------------------------------------------------------------------


class _Sums(NamedTuple):
    """The tables of `judge.stats.coefficients` for one or many sets of items; each of shape (..., k, k).

    The confusion table has a meaning for two raters only.
    """

    pairs: Array
    coincidences: Array
    confusion: Array


@dataclass(frozen=True, slots=True)
class _Measure:
    """A coefficient beyond chance.

    Attributes:
        of: its values for many tables, NaN where it is undefined.
        weights: how far two labels agree, from 0 to 1; shape (k, k).
        least: the smallest value that it can have; the largest is 1.
        own_labels: whether chance is from each rater's own labels, so that it is 0 if either gives one label only.
        level: of an alpha, whose value over all items is by its library.
    """

    name: str
    of: Callable[[_Sums], Array]
    weights: Array
    least: float = -1.0
    own_labels: bool = False
    level: Level | None = None


def _measures(ratings: Ratings) -> Iterator[_Measure]:
    """Which coefficients there are for these raters and labels, at least two of which occur."""
    k, pair = len(ratings.labels), len(ratings.raters) == 2
    same = np.eye(k)
    if pair:
        yield _Measure("cohen_kappa", lambda sums: cohen_kappa(sums.confusion), same, own_labels=True)
    yield _Measure("fleiss_kappa", lambda sums: fleiss_kappa(sums.pairs), same)
    yield _Measure("gwet_ac1", lambda sums: gwet_ac(sums.pairs), same, least_gwet_ac(same))
    yield _alpha("nominal", ratings, same)
    if ratings.ordered:
        yield from _weighted("linear", linear_weights(k), pair)
        yield from _weighted("quadratic", quadratic_weights(k), pair)
        yield _alpha("ordinal", ratings, quadratic_weights(k))
    if ratings.ordered and ratings.values:
        yield _alpha("interval", ratings, quadratic_weights(k))


def _weighted(name: str, weights: Array, pair: bool) -> Iterator[_Measure]:
    if pair:
        yield _Measure(
            f"cohen_kappa_{name}", lambda sums: cohen_kappa(sums.confusion, weights), weights, own_labels=True
        )
    yield _Measure(f"gwet_ac2_{name}", lambda sums: gwet_ac(sums.pairs, weights), weights, least_gwet_ac(weights))


def _alpha(level: Level, ratings: Ratings, weights: Array) -> _Measure:
    def of(sums: _Sums) -> Array:
        return alpha_of_coincidences(sums.coincidences, level, ratings.values)

    return _Measure(f"krippendorff_alpha_{level}", of, weights, level=level)


# --- over items and without each cluster --------------------------------------------------------------------------


def _compare(ratings: Ratings, level: float) -> Comparison:
    compared = ratings.compared()
    sums, measures = _sums(compared), list(_measures(compared))
    estimates = [_raw_agreement(compared, ratings.n_missing, level)]
    for measure, left_out in zip(measures, _without_each(sums, measures), strict=True):
        estimates.append(_beyond_chance(measure, compared, sums, left_out, ratings.n_missing, level))
    confusion = _confusion(compared, sums) if len(ratings.raters) == 2 else None
    return Comparison(ratings.raters, {found.name: found for found in estimates}, confusion)


def _sums(ratings: Ratings) -> _Sums:
    """The tables of every cluster, shape (clusters, k, k)."""
    codes, k = ratings.codes, len(ratings.labels)
    shape = ratings.n_clusters, k, k
    given = (codes >= 0).sum(axis=1)
    sums = _Sums(np.zeros(shape), np.zeros(shape), np.zeros(shape))
    for first, second in permutations(range(len(ratings.raters)), 2):
        both = np.flatnonzero((codes[:, first] >= 0) & (codes[:, second] >= 0))
        cells = ratings.clusters[both], codes[both, first], codes[both, second]
        np.add.at(sums.pairs, cells, 1.0 / (given[both] * (given[both] - 1.0)))
        np.add.at(sums.coincidences, cells, 1.0 / (given[both] - 1.0))
        if first < second:
            np.add.at(sums.confusion, cells, 1.0)
    return sums


def _without_each(sums: _Sums, measures: Sequence[_Measure]) -> Array:
    """Every coefficient without each cluster, shape (measures, clusters)."""
    n_clusters, k, _ = sums.pairs.shape
    flat = np.concatenate([table.reshape(n_clusters, k * k) for table in sums], axis=1)
    found = [np.empty((len(measures), 0))]
    for weights in without_each(n_clusters, width=flat.shape[1]):
        left = _Sums(*np.moveaxis((weights @ flat).reshape(len(weights), len(sums), k, k), 1, 0))
        found.append(np.stack([measure.of(left) for measure in measures]))
    return np.concatenate(found, axis=1)


def _raw_agreement(ratings: Ratings, n_missing: Mapping[str, int], level: float) -> Estimate:
    """The mean over items of the share of pairs of raters that agree, with the interval of a mean."""
    name, n, n_clusters = "raw_agreement", ratings.n_items, ratings.n_clusters
    if n == 0:
        return Estimate(name, None, None, n, n_clusters, n_missing, "no_overlap", "no_value")
    counts = ratings.counts()
    given = counts.sum(axis=1)
    shares = (counts * (counts - 1)).sum(axis=1) / (given * (given - 1))
    interval = mean_interval(shares, ratings.clusters.tolist(), level=level)
    return Estimate(
        name,
        math.fsum(shares) / n,
        interval.ends,
        n,
        n_clusters,
        n_missing,
        interval_reason=interval.reason,
        method=interval.method,
        note=interval.note,
    )


def _beyond_chance(
    measure: _Measure, ratings: Ratings, sums: _Sums, left_out: Array, n_missing: Mapping[str, int], level: float
) -> Estimate:
    n, n_clusters = ratings.n_items, ratings.n_clusters
    reason = _reason(ratings)
    if reason:
        return Estimate(measure.name, None, None, n, n_clusters, n_missing, reason, "no_value")
    value = _value(measure, ratings, sums)
    ends, interval_reason = _interval(measure, value, ratings, sums, left_out, level)
    notes = [_one_label(ratings) if measure.own_labels else "", few_clusters(n_clusters) if ends else ""]
    return Estimate(
        measure.name,
        value,
        ends,
        n,
        n_clusters,
        n_missing,
        interval_reason=interval_reason,
        method="jackknife_t" if ends else "",
        note="; ".join(filter(None, notes)),
    )


def _interval(
    measure: _Measure, value: float, ratings: Ratings, sums: _Sums, left_out: Array, level: float
) -> tuple[tuple[float, float] | None, str]:
    """The interval by jackknife; none where raters agree as much in every cluster, though chance may differ."""
    agreeing = (sums.pairs * measure.weights).sum(axis=(1, 2)) / sums.pairs.sum(axis=(1, 2))
    if ratings.n_clusters > 1 and np.ptp(agreeing) < SAME:
        return None, "no_variation"
    sizes = np.bincount(ratings.clusters)
    return jackknife_interval(value, left_out, sizes, least=measure.least, level=level)


def _value(measure: _Measure, ratings: Ratings, sums: _Sums) -> float:
    if measure.level is not None:
        return krippendorff_alpha(ratings.counts(), measure.level, ratings.values)
    return float(measure.of(_Sums(*(table.sum(axis=0) for table in sums))))


def _reason(ratings: Ratings) -> str:
    """Why coefficients beyond chance have no value over these items; empty if they have one."""
    if ratings.n_items < 2:
        return "one_item" if ratings.n_items else "no_overlap"
    return "one_label" if ratings.counts().any(axis=0).sum() < 2 else ""


def _one_label(ratings: Ratings) -> str:
    constant = [rater for rater, codes in zip(ratings.raters, ratings.codes.T, strict=True) if np.ptp(codes) == 0]
    if not constant:
        return ""
    return f"{constant[0]} gave one label only: this coefficient is then 0, whatever the other rater says"


def _confusion(ratings: Ratings, sums: _Sums) -> Confusion:
    rows, columns = ratings.raters
    counts = sums.confusion.sum(axis=0).astype(int).tolist()
    return Confusion(ratings.labels, rows, columns, tuple(map(tuple, counts)))
