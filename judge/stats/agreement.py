"""How far raters, models or people, agree on the same items: coefficients with intervals clustered by case.

Definitions and sources are those of `judge.stats.coefficients`. Intervals are percentiles over draws of whole clusters
with replacement: Field & Welsh 2007, Bootstrapping clustered data, J. R. Stat. Soc. B 69(3):369-390.
"""

from __future__ import annotations

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
    linear_weights,
    quadratic_weights,
    raw_agreement,
)
from judge.stats.estimates import Drawing, Estimate
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
    seed: int,
    resamples: int = 2000,
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
        seed: of the draws; the same arguments in the same order give the same intervals.
        resamples: how many times to draw.
        level: coverage of the intervals, between 0 and 1.

    Raises:
        ValueError: labels that `judge.stats.ratings.read_ratings` refuses; ``resamples`` or ``level`` out of range.
    """
    drawing = Drawing(seed, resamples, level)
    ratings = read_ratings(labels_by_rater, cluster_of, ordinal)
    pairs = combinations(range(len(ratings.raters)), 2)
    return AgreementReport(
        ratings.raters,
        ratings.labels,
        ratings.n_items,
        ratings.n_clusters,
        ratings.n_missing,
        tuple(_compare(ratings.of(*pair), drawing) for pair in pairs),
        _compare(ratings, drawing),
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
    """A coefficient.

    Attributes:
        of: its values for many tables, NaN where it is undefined.
        beyond_chance: whether it is undefined where all labels are the same, or there is but one item.
        own_labels: whether chance is from each rater's own labels, so that it is 0 if either gives one label only.
        level: of an alpha, whose value over all items is by its library.
    """

    name: str
    of: Callable[[_Sums], Array]
    beyond_chance: bool = True
    own_labels: bool = False
    level: Level | None = None


def _measures(ratings: Ratings) -> Iterator[_Measure]:
    """Which coefficients there are for these raters and labels."""
    pair = len(ratings.raters) == 2
    yield _Measure("raw_agreement", lambda sums: raw_agreement(sums.pairs), beyond_chance=False)
    if pair:
        yield _Measure("cohen_kappa", lambda sums: cohen_kappa(sums.confusion), own_labels=True)
    yield _Measure("fleiss_kappa", lambda sums: fleiss_kappa(sums.pairs))
    yield _Measure("gwet_ac1", lambda sums: gwet_ac(sums.pairs))
    yield _alpha("nominal", ratings)
    if ratings.ordered:
        yield from _weighted("linear", linear_weights(len(ratings.labels)), pair)
        yield from _weighted("quadratic", quadratic_weights(len(ratings.labels)), pair)
        yield _alpha("ordinal", ratings)
    if ratings.ordered and ratings.values:
        yield _alpha("interval", ratings)


def _weighted(name: str, weights: Array, pair: bool) -> Iterator[_Measure]:
    if pair:
        yield _Measure(f"cohen_kappa_{name}", lambda sums: cohen_kappa(sums.confusion, weights), own_labels=True)
    yield _Measure(f"gwet_ac2_{name}", lambda sums: gwet_ac(sums.pairs, weights))


def _alpha(level: Level, ratings: Ratings) -> _Measure:
    def of(sums: _Sums) -> Array:
        return alpha_of_coincidences(sums.coincidences, level, ratings.values)

    return _Measure(f"krippendorff_alpha_{level}", of, level=level)


# --- over items and over draws ------------------------------------------------------------------------------------


def _compare(ratings: Ratings, drawing: Drawing) -> Comparison:
    compared = ratings.compared()
    measures = list(_measures(compared))
    sums = _sums(compared)
    draws = _draws(sums, measures, drawing)
    estimates = {
        measure.name: _estimate(measure, compared, sums, ratings.n_missing, drawing, found)
        for measure, found in zip(measures, draws, strict=True)
    }
    return Comparison(ratings.raters, estimates, _confusion(compared, sums) if len(ratings.raters) == 2 else None)


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


def _draws(sums: _Sums, measures: Sequence[_Measure], drawing: Drawing) -> Array:
    """Every coefficient in every draw, shape (measures, draws); no draws with fewer than two clusters."""
    n_clusters, k, _ = sums.pairs.shape
    if n_clusters < 2:
        return np.empty((len(measures), 0))
    flat = np.concatenate([table.reshape(n_clusters, k * k) for table in sums], axis=1)
    found = []
    for weights in drawing.weights(n_clusters, width=flat.shape[1]):
        drawn = _Sums(*np.moveaxis((weights @ flat).reshape(len(weights), len(sums), k, k), 1, 0))
        found.append(np.stack([measure.of(drawn) for measure in measures]))
    return np.concatenate(found, axis=1)


def _estimate(
    measure: _Measure, ratings: Ratings, sums: _Sums, n_missing: Mapping[str, int], drawing: Drawing, draws: Array
) -> Estimate:
    reason = _reason(measure, ratings)
    if reason:
        return Estimate(measure.name, None, None, ratings.n_items, ratings.n_clusters, n_missing, reason, "no_value")
    interval, interval_reason = drawing.interval(draws) if draws.size else (None, "one_cluster")
    return Estimate(
        measure.name,
        _value(measure, ratings, sums),
        interval,
        ratings.n_items,
        ratings.n_clusters,
        n_missing,
        interval_reason=interval_reason,
        n_undefined=int(np.isnan(draws).sum()),
        resamples=draws.size,
        note=_note(ratings) if measure.own_labels else "",
    )


def _value(measure: _Measure, ratings: Ratings, sums: _Sums) -> float:
    if measure.level is not None:
        return krippendorff_alpha(ratings.counts(), measure.level, ratings.values)
    return float(measure.of(_Sums(*(table.sum(axis=0) for table in sums))))


def _reason(measure: _Measure, ratings: Ratings) -> str:
    """Why a coefficient has no value over these items; empty if it has one."""
    if ratings.n_items == 0:
        return "no_overlap"
    if measure.beyond_chance and ratings.n_items == 1:
        return "one_item"
    used = ratings.counts().any(axis=0).sum()
    return "one_label" if measure.beyond_chance and used < 2 else ""


def _note(ratings: Ratings) -> str:
    constant = [rater for rater, codes in zip(ratings.raters, ratings.codes.T, strict=True) if np.ptp(codes) == 0]
    if not constant:
        return ""
    return f"{constant[0]} gave one label only: this coefficient is then 0, whatever the other rater says"


def _confusion(ratings: Ratings, sums: _Sums) -> Confusion:
    rows, columns = ratings.raters
    counts = sums.confusion.sum(axis=0).astype(int).tolist()
    return Confusion(ratings.labels, rows, columns, tuple(map(tuple, counts)))
