"""Means of case scores, their standard errors and intervals, when cases come in clusters (questions about one article).

Sources: Cameron & Miller 2015, A Practitioner's Guide to Cluster-Robust Inference, J. Human Resources 50(2), section II
(with the G/(G-1) correction); Miller 2024, Adding Error Bars to Evals, arXiv 2411.00640, section 2.2 (the same sum for
the mean of an evaluation, without the correction); Efron 1987, Better Bootstrap Confidence Intervals, J. Am. Stat.
Assoc. 82(397):171-185 (BCa). The interval that reports show is that of `judge.stats.intervals`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

_CELLS_AT_ONCE = 2_000_000

#: Means that differ by less are the same but for rounding.
SAME = 1e-12


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean and how sure it is.

    Attributes:
        mean: arithmetic mean over items, None without items.
        se: cluster-robust standard error in the units of the mean; None with fewer than two clusters.
        n: number of items.
        n_clusters: number of distinct clusters among them.
    """

    mean: float | None
    se: float | None
    n: int
    n_clusters: int


def clustered_mean(values: ArrayLike, clusters: Sequence[Hashable]) -> Mean:
    """The mean over items with its cluster-robust standard error (CR1).

    ``se = sqrt(G/(G-1) * Σ_g (Σ_{i in g} (x_i - mean))²) / n``. With one item in every cluster this is the classical
    ``s / sqrt(n)``; items that agree within their cluster make it larger.

    Args:
        values: shape (n,), finite.
        clusters: n cluster labels, any hashable values.

    Raises:
        ValueError: lengths differ, ``values`` is not one-dimensional, or a value is not finite.
    """
    scores, codes, n_clusters = prepared(values, clusters)
    n = scores.size
    if n == 0:
        return Mean(None, None, 0, 0)
    mean = math.fsum(scores) / n
    if n_clusters < 2:
        return Mean(mean, None, n, n_clusters)
    residuals = np.bincount(codes, weights=scores - mean, minlength=n_clusters)
    se = math.sqrt(n_clusters / (n_clusters - 1) * float(residuals @ residuals)) / n
    return Mean(mean, se, n, n_clusters)


def bootstrap_interval(
    values: ArrayLike,
    clusters: Sequence[Hashable],
    *,
    seed: int,
    resamples: int = 2000,
    level: float = 0.95,
    method: Literal["percentile", "bca"] = "percentile",
) -> tuple[float, float] | None:
    """Bootstrap interval of the mean, whole clusters drawn with replacement.

    The same arguments give the same interval. Memory stays bounded (about 50 MB) whatever the number of clusters. Both
    methods are too narrow for fewer than about 50 clusters, and for rates near 0 or 1 (`benchmarks.interval_coverage`);
    `judge.stats.intervals.mean_interval` is not.

    Args:
        values: shape (n,), finite.
        clusters: n cluster labels.
        seed: of the random generator (numpy PCG64).
        resamples: how many times to draw.
        level: coverage, between 0 and 1.
        method: ``percentile``, or ``bca``: corrected for bias, and by a jackknife over clusters for skewness.

    Returns:
        Lower and upper end, or None with fewer than two clusters or where every draw has the same mean.

    Raises:
        ValueError: as `clustered_mean`, or ``resamples`` or ``level`` out of range.
    """
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, got {resamples}")
    check_level(level)
    scores, codes, n_clusters = prepared(values, clusters)
    if n_clusters < 2:
        return None
    sums = np.asarray(np.bincount(codes, weights=scores, minlength=n_clusters), dtype=np.float64)
    sizes = np.bincount(codes, minlength=n_clusters)
    means = _resampled_means(sums, sizes, resamples, np.random.default_rng(seed))
    if np.ptp(means) < SAME:
        return None
    tail = (1.0 - level) / 2.0
    tails = (tail, 1.0 - tail) if method == "percentile" else _bca_tails(means, sums, sizes, tail)
    low, high = np.quantile(means, tails)
    return float(low), float(high)


def _bca_tails(
    means: NDArray[np.float64], sums: NDArray[np.float64], sizes: NDArray[np.intp], tail: float
) -> tuple[float, float]:
    """Which quantiles of the draws are the ends of the BCa interval: Efron & Tibshirani 1993, equations 14.9-14.15."""
    normal, resamples = NormalDist(), means.size
    mean = sums.sum() / sizes.sum()
    below = float((means < mean - SAME).mean() + (np.abs(means - mean) <= SAME).mean() / 2.0)
    bias = normal.inv_cdf(min(max(below, 0.5 / resamples), 1.0 - 0.5 / resamples))
    left_out = (sums.sum() - sums) / (sizes.sum() - sizes)
    away = left_out.mean() - left_out
    spread = float(away @ away)
    skewness = float((away**3).sum()) / (6.0 * spread**1.5) if spread > 0.0 else 0.0

    def moved(share: float) -> float:
        z = bias + normal.inv_cdf(share)
        return normal.cdf(bias + z / (1.0 - skewness * z))

    return moved(tail), moved(1.0 - tail)


def _resampled_means(
    sums: NDArray[np.float64], sizes: NDArray[np.intp], resamples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    n_clusters = sums.size
    block = max(1, _CELLS_AT_ONCE // n_clusters)
    means = np.empty(resamples)
    for start in range(0, resamples, block):
        stop = min(start + block, resamples)
        drawn = rng.integers(n_clusters, size=(stop - start, n_clusters))
        means[start:stop] = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    return means


def check_level(level: float) -> None:
    """Raise ValueError unless ``level``, the coverage of an interval, lies between 0 and 1."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, got {level}")


def prepared(values: ArrayLike, clusters: Sequence[Hashable]) -> tuple[NDArray[np.float64], NDArray[np.intp], int]:
    """Scores as floats, clusters as codes 0..G-1 in order of appearance, and G."""
    scores = _finite(values)
    if scores.size != len(clusters):
        raise ValueError(f"{scores.size} values but {len(clusters)} cluster labels")
    code_of: dict[Hashable, int] = {}
    codes = [code_of.setdefault(cluster, len(code_of)) for cluster in clusters]
    return scores, np.array(codes, dtype=np.intp), len(code_of)


def _finite(values: ArrayLike) -> NDArray[np.float64]:
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1:
        raise ValueError(f"values must be one-dimensional, got shape {scores.shape}")
    if not np.isfinite(scores).all():
        raise ValueError("values must be finite: leave unscored cases out")
    return scores
