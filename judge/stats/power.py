"""How small a difference could be found with so many clusters, and how many clusters a difference needs.

By Student's t with clusters - 1 degrees of freedom, as the interval of a difference has it: Bloom 1995, Minimum
Detectable Effects, Evaluation Review 19(5):547-556.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from numpy.typing import ArrayLike

from judge.stats.distributions import t_quantile
from judge.stats.means import SAME, clustered_mean


@dataclass(frozen=True, slots=True)
class Detectable:
    """The smallest difference that a comparison of this size finds with the given power.

    Attributes:
        difference: in units of the score; None if unknown.
        sd: of the paired differences between clusters.
        n: items.
        n_clusters: distinct clusters among them.
        power: probability that the test finds it.
        alpha: two-sided level of the test.
        reason: why there is none, a key of `judge.stats.REASONS`.
    """

    difference: float | None
    sd: float | None
    n: int
    n_clusters: int
    power: float
    alpha: float
    reason: str = ""


def detectable_difference(
    differences: ArrayLike, clusters: Sequence[Hashable], *, power: float = 0.8, alpha: float = 0.05
) -> Detectable:
    """What two models compared on these cases must differ by to be told apart.

    ``(t(1 - α/2) + t(power)) sd / sqrt(G)``, with G - 1 degrees of freedom, ``sd = se sqrt(G)``, and se the
    cluster-robust standard error of the mean difference.

    Args:
        differences: one model's score less the other's, per item, shape (n,).
        clusters: n cluster labels.
        power: between 0 and 1.
        alpha: between 0 and 1.

    Raises:
        ValueError: as `judge.stats.clustered_mean`, or ``power`` or ``alpha`` out of range.
    """
    _check(power, alpha)
    mean = clustered_mean(differences, clusters)
    if mean.se is None or mean.se <= SAME:
        reason = ("no_items", "one_cluster")[mean.n_clusters] if mean.n_clusters < 2 else "no_variation"
        return Detectable(None, None, mean.n, mean.n_clusters, power, alpha, reason)
    sd = mean.se * math.sqrt(mean.n_clusters)
    return Detectable(_reach(mean.n_clusters, power, alpha) * mean.se, sd, mean.n, mean.n_clusters, power, alpha)


def clusters_needed(difference: float, sd: float, *, power: float = 0.8, alpha: float = 0.05) -> int:
    """How many clusters it takes to find a difference.

    The least G of at least 2 with ``(t(1 - α/2) + t(power)) sd / sqrt(G) <= |difference|``, as `detectable_difference`.

    Args:
        difference: other than 0, in units of the score.
        sd: of the paired differences between clusters, above 0.
        power: between 0 and 1.
        alpha: between 0 and 1.

    Raises:
        ValueError: an argument out of range.
    """
    _check(power, alpha)
    if not (math.isfinite(difference) and difference and math.isfinite(sd) and sd > 0.0):
        raise ValueError(f"a difference other than 0 and an sd above 0 are needed, got {difference} and {sd}")
    normal = NormalDist()
    ratio = sd / abs(difference)
    n_clusters = max(2, math.ceil(((normal.inv_cdf(1.0 - alpha / 2.0) + normal.inv_cdf(power)) * ratio) ** 2))
    while _reach(n_clusters, power, alpha) * ratio > math.sqrt(n_clusters):
        n_clusters += 1
    return n_clusters


def _reach(n_clusters: int, power: float, alpha: float) -> float:
    """By how many standard errors a difference must be off 0."""
    return t_quantile(1.0 - alpha / 2.0, n_clusters - 1) + t_quantile(power, n_clusters - 1)


def _check(power: float, alpha: float) -> None:
    if not (0.0 < alpha < 1.0 and 0.0 < power < 1.0):
        raise ValueError(f"power and alpha must lie between 0 and 1, got {power} and {alpha}")
