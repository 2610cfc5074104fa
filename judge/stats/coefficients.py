"""Coefficients of agreement as functions of tables of counts, many tables at a time; NaN where one is undefined.

Three tables, each of shape (..., k, k) for k labels, hold all that the coefficients need:

- a *confusion* table of two raters: rows are labels of the first, columns of the second;
- *pairs*: over items i and their ordered pairs of raters, ``Σ_i pairs_i(k, l) / (r_i (r_i - 1))``, r_i being the
  number of labels of the item, so that every item weighs 1;
- *coincidences*: the same with ``1 / (r_i - 1)``, so that every label weighs 1 (Krippendorff).

Only items with two labels or more enter any of them. Weights are 1 on the diagonal, shape (k, k).

Sources: Cohen 1960, Educ. Psychol. Meas. 20(1):37-46, and 1968, Psychol. Bull. 70(4):213-220 (weights); Fleiss 1971,
Psychol. Bull. 76(5):378-382, with the item-wise form of Gwet 2014, Handbook of Inter-Rater Reliability, 4th ed., for
items with unequal numbers of labels; Gwet 2008, Br. J. Math. Stat. Psychol. 61(1):29-48 (AC1) and 2014 (AC2);
Krippendorff 2011, Computing Krippendorff's Alpha-Reliability. Gwet's handbook lets items with a single label count in
the prevalence of labels; here they do not, so that every coefficient is about the same items.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import krippendorff
import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Level = Literal["nominal", "ordinal", "interval"]


def linear_weights(k: int) -> Array:
    """``1 - |i - j| / (k - 1)`` over positions in the order of labels."""
    return 1.0 - _steps(k) / (k - 1)


def quadratic_weights(k: int) -> Array:
    """``1 - ((i - j) / (k - 1))²`` over positions in the order of labels."""
    return np.asarray(1.0 - (_steps(k) / (k - 1)) ** 2)


def raw_agreement(pairs: ArrayLike) -> Array:
    """The share of agreeing pairs of raters, averaged over items; for two raters the share of items they agree on."""
    table = _table(pairs)
    return _ratio(np.trace(table, axis1=-2, axis2=-1), table.sum(axis=(-2, -1)))


def cohen_kappa(confusion: ArrayLike, weights: Array | None = None) -> Array:
    """Cohen's kappa from confusion tables, weighted if there are weights; chance is from each rater's own labels."""
    table = _table(confusion)
    rows, columns = _shares(table.sum(axis=-1)), _shares(table.sum(axis=-2))
    agreement = _identity(table) if weights is None else weights
    expected = np.einsum("...i,ij,...j->...", rows, agreement, columns)
    return _beyond(table, agreement, expected)


def fleiss_kappa(pairs: ArrayLike) -> Array:
    """Fleiss' kappa; chance is from the labels of all raters together, so that of two raters it is Scott's pi."""
    table = _table(pairs)
    shares = _shares(table.sum(axis=-1))
    return _beyond(table, _identity(table), (shares**2).sum(axis=-1))


def gwet_ac(pairs: ArrayLike, weights: Array | None = None) -> Array:
    """Gwet's AC1, or AC2 if there are weights; k counts the labels that could be given, not those of a draw."""
    table = _table(pairs)
    k = table.shape[-1]
    shares = _shares(table.sum(axis=-1))
    agreement = _identity(table) if weights is None else weights
    expected = agreement.sum() * (shares * (1.0 - shares)).sum(axis=-1) / (k * max(k - 1, 1))
    return _beyond(table, agreement, expected)


def least_gwet_ac(weights: Array) -> float:
    """The smallest value that `gwet_ac` can have, if agreement is 0 where chance is highest: all labels as frequent.

    -1 with two labels, and with a single one, which have no coefficient.
    """
    k = len(weights)
    highest = float(weights.sum()) / max(k * k, 1)
    return -highest / (1.0 - highest) if k > 1 else -1.0


def alpha_of_coincidences(coincidences: ArrayLike, level: Level, values: Sequence[float] = ()) -> Array:
    """Krippendorff's alpha, ``1 - (n - 1) Σ o d / Σ n_k n_l d``, for many tables at once.

    Args:
        coincidences: shape (..., k, k).
        level: which distance d; ordinal uses the order of the labels, interval their values.
        values: k numbers, for interval.
    """
    table = _table(coincidences)
    totals = table.sum(axis=-1)
    distance = _distances(totals, level, values)
    observed = (table * distance).sum(axis=(-2, -1))
    expected = (totals[..., :, None] * totals[..., None, :] * distance).sum(axis=(-2, -1))
    return _where_two_labels(table, 1.0 - _ratio((totals.sum(axis=-1) - 1.0) * observed, expected))


def krippendorff_alpha(counts: NDArray[np.intp], level: Level, values: Sequence[float] = ()) -> float:
    """Krippendorff's alpha of one set of items by the library of that name.

    Args:
        counts: how many raters gave each label, shape (items, k); at least two labels occur.
        level: as in `alpha_of_coincidences`.
        values: k numbers, for interval.
    """
    domain = np.asarray(values, dtype=np.float64) if level == "interval" else np.arange(counts.shape[1])
    return float(krippendorff.alpha(value_counts=counts, value_domain=domain, level_of_measurement=level))


def _steps(k: int) -> Array:
    position = np.arange(k, dtype=np.float64)
    return np.abs(position[:, None] - position)


def _distances(totals: Array, level: Level, values: Sequence[float]) -> Array:
    """Squared distances between labels, shape (k, k) or (..., k, k)."""
    if level == "nominal":
        return 1.0 - np.eye(totals.shape[-1])
    # ordinal: half of both labels and all between them, which is the distance of their mean ranks
    place = np.asarray(values, dtype=np.float64) if level == "interval" else np.cumsum(totals, axis=-1) - totals / 2.0
    return np.asarray((place[..., :, None] - place[..., None, :]) ** 2)


def _beyond(table: Array, weights: Array, expected: Array) -> Array:
    """``(observed - expected) / (1 - expected)``."""
    observed = _ratio((table * weights).sum(axis=(-2, -1)), table.sum(axis=(-2, -1)))
    return _where_two_labels(table, _ratio(observed - expected, 1.0 - expected))


def _where_two_labels(table: Array, values: Array) -> Array:
    """With one label only, chance alone makes all agree: nothing can be said."""
    used = (table.sum(axis=-1) + table.sum(axis=-2) > 0.0).sum(axis=-1)
    return np.where(used >= 2, values, np.nan)


def _table(table: ArrayLike) -> Array:
    found = np.asarray(table, dtype=np.float64)
    if found.ndim < 2 or found.shape[-1] != found.shape[-2]:
        raise ValueError(f"a table of labels by labels is square, got shape {found.shape}")
    return found


def _identity(table: Array) -> Array:
    return np.eye(table.shape[-1])


def _shares(totals: Array) -> Array:
    return _ratio(totals, totals.sum(axis=-1, keepdims=True))


def _ratio(top: Array, bottom: Array) -> Array:
    """NaN where the denominator is 0."""
    top, bottom = np.broadcast_arrays(top, bottom)
    return np.asarray(np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom != 0.0))
