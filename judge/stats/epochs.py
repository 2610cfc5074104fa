"""Cases asked several times: means, how often all or any of k epochs succeed, and where the variance lies.

Sources: Chen et al. 2021, Evaluating Large Language Models Trained on Code, arXiv 2107.03374, equation 1 (any of k);
Yao et al. 2024, τ-bench, arXiv 2406.12045 (all of k); Shrout & Fleiss 1979, Psychol. Bull. 86(2):420-428,
and Searle, Casella & McCulloch 1992, Variance Components, section 3.6 (one-way analysis with unequal numbers).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from judge.stats.intervals import Interval, mean_interval
from judge.stats.means import Mean, clustered_mean
from judge.stats.ratings import ItemKey

Epochs = Mapping[ItemKey, Sequence[float | None]]


@dataclass(frozen=True, slots=True)
class EpochRate:
    """A mean over cases of what their epochs give.

    Attributes:
        value: each case counting the same; None without cases.
        se: cluster-robust.
        interval: as `judge.stats.mean_interval`.
        k: epochs that a case is about; None for all that it has.
        n: cases.
        n_clusters: distinct clusters among them.
        n_short: cases left out because they have fewer scored epochs than are needed.
        reason: why there is no value, a key of `judge.stats.REASONS`.
    """

    value: float | None
    se: float | None
    interval: Interval
    k: int | None
    n: int
    n_clusters: int
    n_short: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Components:
    """Variance of scores between cases and between the epochs of a case.

    Attributes:
        between: variance of the cases' true means; None if unknown.
        within: variance of epochs about the mean of their case.
        icc: ``between / (between + within)``, the correlation of two epochs of one case; None where both are 0.
        mean_square_between, mean_square_within: of the analysis of variance.
        n: scored epochs.
        n_cases: cases with at least one.
        reason: why there is nothing, a key of `judge.stats.REASONS`.
        note: a sentence for its reader; may be empty.
    """

    between: float | None
    within: float | None
    icc: float | None
    mean_square_between: float | None
    mean_square_within: float | None
    n: int
    n_cases: int
    reason: str = ""
    note: str = ""


def mean_of_epochs(
    epochs: Epochs[ItemKey],
    cluster_of: Callable[[ItemKey], Hashable],
    *,
    range: tuple[float, float] | None = (0.0, 1.0),
    level: float = 0.95,
) -> EpochRate:
    """The mean over cases, each the mean of its scored epochs; cases without any are counted apart.

    Args:
        epochs: case -> scores; None is an unscored epoch.
        cluster_of: the cluster of a case.
        range: smallest and largest possible score, None if there are none.
        level: coverage of the interval.

    Raises:
        ValueError: as `judge.stats.mean_interval`.
    """
    means = {case: math.fsum(found) / len(found) for case, found in _scored(epochs).items() if found}
    return _rate(means, len(epochs) - len(means), None, cluster_of, "no_items", range, level)


def all_of(
    epochs: Epochs[ItemKey], cluster_of: Callable[[ItemKey], Hashable], k: int, *, level: float = 0.95
) -> EpochRate:
    """The probability that k epochs of a case all succeed (pass^k): the mean over cases of ``C(c, k) / C(n, k)``.

    n is the number of scored epochs of a case and c of those that succeeded; unbiased for every case.

    Args:
        epochs: case -> scores that are 0 or 1; None is an unscored epoch.
        cluster_of: the cluster of a case.
        k: at least 1; cases with fewer scored epochs are counted apart.
        level: coverage of the interval.

    Raises:
        ValueError: ``k`` is less than 1, or ``level`` out of range.
    """
    return _of_k(epochs, cluster_of, k, lambda n, c: math.comb(c, k) / math.comb(n, k), level)


def any_of(
    epochs: Epochs[ItemKey], cluster_of: Callable[[ItemKey], Hashable], k: int, *, level: float = 0.95
) -> EpochRate:
    """The probability that at least one of k epochs succeeds (pass@k): ``1 - C(n - c, k) / C(n, k)``; see `all_of`."""
    return _of_k(epochs, cluster_of, k, lambda n, c: 1.0 - math.comb(n - c, k) / math.comb(n, k), level)


def variance_components(epochs: Epochs[ItemKey]) -> Components:
    """Variance between and within cases, by a one-way analysis of variance; cases may have unequal numbers of epochs.

    ``within = MSW`` and ``between = (MSB - MSW) / n0`` with ``n0 = (N - Σ n_i² / N) / (cases - 1)``; below 0 it is set
    to 0, and a note says so.

    Args:
        epochs: case -> scores; None is an unscored epoch.

    Raises:
        ValueError: a score is not finite.
    """
    cases = [np.array(found) for found in _scored(epochs).values() if found]
    n, n_cases = sum(map(len, cases)), len(cases)
    reason = "no_items" if not cases else "one_case" if n_cases == 1 else "no_epochs" if n == n_cases else ""
    if reason:
        return Components(None, None, None, None, None, n, n_cases, reason)
    grand = math.fsum(np.concatenate(cases)) / n
    within = math.fsum(float(((case - case.mean()) ** 2).sum()) for case in cases) / (n - n_cases)
    square = math.fsum(len(case) * float(case.mean() - grand) ** 2 for case in cases) / (n_cases - 1)
    size = (n - sum(len(case) ** 2 for case in cases) / n) / (n_cases - 1)
    between = (square - within) / size
    note = "cases differ less than epochs of one case would make them; the variance between cases is set to 0"
    kept = max(between, 0.0)
    icc = kept / (kept + within) if kept + within > 0.0 else None
    return Components(kept, within, icc, square, within, n, n_cases, note=note if between < 0.0 else "")


def _scored(epochs: Epochs[ItemKey]) -> dict[ItemKey, list[float]]:
    found = {case: [float(score) for score in scores if score is not None] for case, scores in epochs.items()}
    for case, scores in found.items():
        if not all(map(math.isfinite, scores)):
            raise ValueError(f"scores must be finite, got {scores} for {case!r}")
    return found


def _of_k(
    epochs: Epochs[ItemKey],
    cluster_of: Callable[[ItemKey], Hashable],
    k: int,
    of: Callable[[int, int], float],
    level: float,
) -> EpochRate:
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    scored = _scored(epochs)
    if any(score not in (0.0, 1.0) for scores in scored.values() for score in scores):
        return _rate({}, 0, k, cluster_of, "not_binary", (0.0, 1.0), level)
    enough = {case: of(len(scores), int(sum(scores))) for case, scores in scored.items() if len(scores) >= k}
    return _rate(enough, len(scored) - len(enough), k, cluster_of, "too_few_epochs", (0.0, 1.0), level)


def _rate(
    values: Mapping[ItemKey, float],
    n_short: int,
    k: int | None,
    cluster_of: Callable[[ItemKey], Hashable],
    if_none: str,
    range: tuple[float, float] | None,
    level: float,
) -> EpochRate:
    clusters = [cluster_of(case) for case in values]
    scores = list(values.values())
    mean: Mean = clustered_mean(scores, clusters)
    interval = mean_interval(scores, clusters, range, level=level)
    reason = "" if values else if_none
    return EpochRate(mean.mean, mean.se, interval, k, mean.n, mean.n_clusters, n_short, reason)
