"""The interval of a mean in a report: how far the mean over all such clusters may lie from the one that was seen.

For values with a smallest and a largest possible value, which most scores have, the interval is Student's t about the
logit of the mean, as survey statisticians use it for proportions. It stays within the range, and covers rates near its
ends, where intervals that are symmetric about the mean, and those of the bootstrap, are too narrow
(`benchmarks.interval_coverage` measures both). Values without a range have the plain t interval, and single cases that
are either right or wrong have the mid-p interval, since the distribution of their count is known.

For 30 clusters and more, rates of .1 to .9 and correlations up to .5 within clusters it covers the truth in 93 to 97 of
100 samples; of 30 single cases with scores between the ends it may cover half a point more.
Of fewer clusters it covers more than it says: 94 to 99 for 10 to 20, up to all for 5.

Sources: Korn & Graubard 1999, Analysis of Health Surveys, section 3.3 (logit and t with clusters - 1 degrees of
freedom); Carter, Schnepel & Steigerwald 2017, Rev. Econ. Stat. 99(4):698-709 (clusters of unequal size count for
fewer); Satterthwaite 1946, Biometrics Bull. 2(6):110-114 (degrees of freedom from how variable a variance is);
MacKinnon & White 1985, J. Econometrics 29(3):305-325 (HC3, here with clusters in place of observations); Clopper &
Pearson 1934, Biometrika 26(4):404-413 (all successes); Lancaster 1961, Significance Tests in Discrete Distributions, J.
Am. Stat. Assoc. 56(294):223-234, and Newcombe 1998, Two-sided Confidence Intervals for the Single Proportion, Stat.
Med. 17(8):857-872, method 6 (mid-p).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judge.stats.distributions import mid_p_interval, t_quantile
from judge.stats.means import SAME, check_level, prepared

#: With fewer clusters no interval is to be trusted.
FEW_CLUSTERS = 10

_TOLERANCE = 1e-9

Method = Literal["logit_t", "t", "exact", "mid_p", ""]


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval of a mean.

    Attributes:
        ends: lower and upper; None if there is none.
        method: ``logit_t``; ``t`` without a range; ``mid_p`` where every cluster is one item and has the lowest or the
            highest value; ``exact`` where larger clusters all have the lowest, or all the highest; empty without an
            interval.
        n: items.
        n_clusters: distinct clusters among them.
        reason: why there is none, a key of `judge.stats.REASONS`.
        note: a sentence for its reader; may be empty.
    """

    ends: tuple[float, float] | None
    method: Method
    n: int
    n_clusters: int
    reason: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if (self.ends is None) != bool(self.reason):
            raise ValueError("an interval needs either ends or a reason")
        if not all(map(math.isfinite, self.ends or ())):
            raise ValueError(f"the ends of an interval must be finite, got {self.ends}")


def mean_interval(
    values: ArrayLike,
    clusters: Sequence[Hashable],
    range: tuple[float, float] | None = (0.0, 1.0),
    *,
    level: float = 0.95,
) -> Interval:
    """The interval of the mean over items, when items come in clusters.

    With ``e_g = r_g / (1 - n_g/n)``, r_g being the sum of residuals of a cluster, ``se = sqrt(Σ e_g²) / n``, and q the
    t quantile: ``logit(mean) ± q se / (mean (1 - mean))`` taken back from the logit, in units of the range. Without a
    range, ``mean ± q se``. Degrees of freedom are ``n² / Σ n_g² - 1`` (G - 1 where clusters have one size) or, if
    clusters have several items and this is less, ``3 (Σ e_g²)² / Σ e_g⁴ - 1``, which is about the same for residuals
    that are normal, and less where a few clusters have most of the variance; rounded down, at least 1. Where every
    cluster is one item, and items have the lowest or the highest value, the interval is the mid-p interval of their
    count.

    Where all values of larger clusters are the highest possible, the lower end is ``(α/2)^(1/G)`` and the upper is the
    highest value: a cluster has nothing but highest values with a probability of at most its mean, so G such clusters
    would be rarer if the mean were lower. Likewise where all are the lowest. Clusters that are all alike otherwise have
    no interval, for a width of 0 would say that the mean is known exactly.

    Args:
        values: shape (n,), finite, within ``range``.
        clusters: n cluster labels.
        range: smallest and largest value an item can get; None if there are none.
        level: coverage, between 0 and 1.

    Raises:
        ValueError: as `judge.stats.clustered_mean`, a value out of range, or ``level`` out of range.
    """
    check_level(level)
    scores, codes, n_clusters = prepared(values, clusters)
    reason = "" if n_clusters > 1 else "one_cluster" if n_clusters else "no_items"
    if reason:
        return Interval(None, "", scores.size, n_clusters, reason)
    low, high = (0.0, 1.0) if range is None else range
    scaled = (scores - low) / (high - low) if range is None else _within(scores, low, high)
    method, ends = _ends(scaled, codes, n_clusters, bounded=range is not None, level=level)
    if ends is None:
        return Interval(None, "", scores.size, n_clusters, "no_variation")
    placed = low + ends[0] * (high - low), low + ends[1] * (high - low)
    return Interval(placed, method, scores.size, n_clusters, note=few_clusters(n_clusters))


def few_clusters(n_clusters: int) -> str:
    """A warning for the reader of an interval over few clusters; empty if there are enough."""
    if n_clusters >= FEW_CLUSTERS:
        return ""
    return f"only {n_clusters} clusters: they say little of how others would differ, whatever the interval"


def _within(scores: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    """Scores in units of their range."""
    if scores.min() < low - _TOLERANCE or scores.max() > high + _TOLERANCE:
        raise ValueError(f"scores must lie in [{low}, {high}], got {scores.min()} to {scores.max()}")
    return np.clip((scores - low) / (high - low), 0.0, 1.0)


def _ends(
    scores: NDArray[np.float64], codes: NDArray[np.intp], n_clusters: int, *, bounded: bool, level: float
) -> tuple[Method, tuple[float, float] | None]:
    mean = math.fsum(scores) / scores.size
    if bounded and n_clusters == scores.size and np.isin(scores, (0.0, 1.0)).all():
        return "mid_p", mid_p_interval(round(math.fsum(scores)), n_clusters, level)
    if bounded and min(mean, 1.0 - mean) < SAME:
        least = ((1.0 - level) / 2.0) ** (1.0 / n_clusters)
        return "exact", (0.0, 1.0 - least) if mean < 0.5 else (least, 1.0)
    sizes = np.bincount(codes, minlength=n_clusters)
    residuals = np.bincount(codes, weights=scores - mean, minlength=n_clusters) / (1.0 - sizes / scores.size)
    error = math.sqrt(float(residuals @ residuals)) / scores.size
    if error <= SAME * max(1.0, abs(mean)):
        return "", None
    reach = t_quantile((1.0 + level) / 2.0, _degrees(residuals, sizes)) * error
    if not bounded:
        return "t", (mean - reach, mean + reach)
    return "logit_t", logit_ends(mean, reach)


def _degrees(residuals: NDArray[np.float64], sizes: NDArray[np.intp]) -> int:
    """Those of the sizes of clusters; fewer where a few clusters have most of the variance."""
    known = effective_degrees(sizes)
    if sizes.max() == 1:
        return known
    squares = residuals**2
    seen = 3.0 * float(squares.sum()) ** 2 / float(squares @ squares)
    return max(min(known, int(seen + _TOLERANCE) - 1), 1)


def effective_degrees(sizes: NDArray[np.intp]) -> int:
    """Degrees of freedom of clusters with so many items: effective clusters less one, at least one."""
    return max(int(sizes.sum() ** 2 // (sizes**2).sum()) - 1, 1)


def logit_ends(share: float, reach: float) -> tuple[float, float]:
    """The ends of ``share ± reach`` when the interval is made symmetric about the logit, strictly between 0 and 1."""
    center, reach = math.log(share / (1.0 - share)), reach / (share * (1.0 - share))
    return _from_logit(center - reach), _from_logit(center + reach)


def _from_logit(x: float) -> float:
    """The share of a logit, however large."""
    return 0.5 * (1.0 + math.tanh(x / 2.0))
