"""Intervals and p values from draws of whole clusters, made as wide as few clusters need.

A bootstrap of G clusters has a spread too small by ``sqrt((G-1)/G)`` and tails of the normal distribution, not of
Student's t. The *expanded* percentile interval takes quantiles further out to make up for both: Hesterberg 2015, What
Teachers Should Know About the Bootstrap, Am. Stat. 69(4):371-386, section 5.2 and equation 5.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from judge.stats.distributions import t_cdf, t_quantile
from judge.stats.means import SAME

_NORMAL = NormalDist()


def expanded_interval(
    draws: NDArray[np.float64], n_clusters: int, level: float
) -> tuple[tuple[float, float] | None, str]:
    """The expanded percentile interval over the draws that are not NaN, or why there is none (a key of `REASONS`)."""
    if n_clusters < 2:
        return None, "one_cluster"
    defined = draws[~np.isnan(draws)]
    if not defined.size:
        return None, "undefined_draws"
    if np.ptp(defined) < SAME:
        return None, "no_variation"
    reach = math.sqrt(n_clusters / (n_clusters - 1)) * t_quantile((1.0 + level) / 2.0, n_clusters - 1)
    tail = _NORMAL.cdf(-reach)
    if tail * (defined.size + 1) < 1.0:  # the quantile would be the outermost draw, wherever the true end is
        return None, "too_few_clusters"
    low, high = np.quantile(defined, [tail, 1.0 - tail])
    return (float(low), float(high)), ""


def two_sided_p(draws: NDArray[np.float64], n_clusters: int) -> float:
    """The p value at which the expanded interval of a difference just excludes 0.

    ``(1 + draws on the side of 0 that has fewer) / (1 + draws)`` is the tail, so that no p is 0 (Davison & Hinkley
    1997, Bootstrap Methods and their Application, section 4.2); a draw of exactly 0 counts on both sides.

    Args:
        draws: of the difference, none of them NaN.
        n_clusters: at least 2.
    """
    beyond = min(int((draws <= SAME).sum()), int((draws >= -SAME).sum()))
    tail = (1 + beyond) / (1 + draws.size)
    if tail >= 0.5:
        return 1.0
    return 2.0 * t_cdf(_NORMAL.inv_cdf(tail) * math.sqrt((n_clusters - 1) / n_clusters), n_clusters - 1)
