"""The few distributions that intervals and tests need: Student's t, chi-square with one degree of freedom, binomial."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

_NORMAL = NormalDist()

#: Above this the quantile is by its expansion about the normal one, whose error is then below 1e-10.
_MANY = 1000


def t_cdf(t: float, df: int) -> float:
    """P(T <= t) of Student's t with whole degrees of freedom.

    By the finite sums of Abramowitz & Stegun 1964, Handbook of Mathematical Functions, 26.7.3 and 26.7.4; the absolute
    error is below 1e-12.

    Raises:
        ValueError: ``df`` is less than 1.
    """
    if df < 1:
        raise ValueError(f"degrees of freedom must be at least 1, got {df}")
    angle = math.atan2(t, math.sqrt(df))
    inside = _odd(angle, df) if df % 2 else _even(angle, df)
    return 0.5 + inside / 2.0


def _odd(angle: float, df: int) -> float:
    if df == 1:
        return 2.0 / math.pi * angle
    steps = np.arange(2, df - 2, 2)
    terms = np.concatenate([[1.0], np.cumprod(steps / (steps + 1.0) * math.cos(angle) ** 2)])
    return 2.0 / math.pi * (angle + math.sin(angle) * math.cos(angle) * float(terms.sum()))


def _even(angle: float, df: int) -> float:
    steps = np.arange(1, df - 2, 2)
    terms = np.concatenate([[1.0], np.cumprod(steps / (steps + 1.0) * math.cos(angle) ** 2)])
    return math.sin(angle) * float(terms.sum())


@lru_cache(maxsize=4096)
def t_quantile(p: float, df: int) -> float:
    """The t below which Student's t lies with probability p.

    Up to 1000 degrees of freedom by halving an interval around the root of `t_cdf`, above by Abramowitz & Stegun
    26.7.5. Good to 1e-8 relative for tails of 1e-4 and more.

    Raises:
        ValueError: ``p`` is not strictly between 0 and 1, or ``df`` is less than 1.
    """
    if not 0.0 < p < 1.0:
        raise ValueError(f"p must lie between 0 and 1, got {p}")
    if p < 0.5:
        return -t_quantile(1.0 - p, df)
    if df > _MANY:
        return _expanded(_NORMAL.inv_cdf(p), df)
    low, high = 0.0, 1.0
    while t_cdf(high, df) < p:
        high *= 2.0
    for _ in range(80):
        middle = (low + high) / 2.0
        low, high = (middle, high) if t_cdf(middle, df) < p else (low, middle)
    return (low + high) / 2.0


def _expanded(z: float, df: int) -> float:
    first = (z**3 + z) / 4.0
    second = (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0
    third = (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / 384.0
    return z + first / df + second / df**2 + third / df**3


def chi_square_tail(statistic: float) -> float:
    """P(X >= statistic) of a chi-square with one degree of freedom."""
    return math.erfc(math.sqrt(statistic / 2.0))


def sign_test(first: int, second: int) -> float:
    """Two-sided exact p of so many in one and in the other direction, if both were as likely; 1 if there are none."""
    n = first + second
    ways = tail = 1
    for k in range(1, min(first, second) + 1):
        ways = ways * (n - k + 1) // k
        tail += ways
    return min(1.0, 2 * tail / (1 << n))  # whole numbers, which divide without loss however large


@lru_cache(maxsize=4096)
def mid_p_interval(right: int, n: int, level: float) -> tuple[float, float]:
    """The mid-p interval of a probability from ``right`` of ``n`` independent successes.

    Its ends are the probabilities at which more successes, and fewer, with half of the probability of exactly so many,
    have a probability of ``(1 - level) / 2``; found by halving, to 1e-12. Without a success the lower end is 0, without
    a failure the upper is 1.

    Raises:
        ValueError: ``right`` does not lie between 0 and n.
    """
    if not 0 <= right <= n:
        raise ValueError(f"{right} of {n}")
    tail = (1.0 - level) / 2.0
    low = _root(lambda p: _mid_tail(right, n, p) < tail) if right else 0.0
    high = _root(lambda p: 1.0 - _mid_tail(right, n, p) > tail) if right < n else 1.0
    return low, high


def _root(below: Callable[[float], bool]) -> float:
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if below(middle) else (low, middle)
    return (low + high) / 2.0


def _mid_tail(right: int, n: int, p: float) -> float:
    """P(X > right) + P(X = right) / 2 of a binomial X."""
    counts = np.arange(right, n + 1)
    logs = _log_ways(n)[right:] + counts * math.log(p) + (n - counts) * math.log1p(-p)
    chances = np.exp(logs)
    return float(chances.sum() - chances[0] / 2.0)


@lru_cache(maxsize=64)
def _log_ways(n: int) -> NDArray[np.float64]:
    """Logarithms of the numbers of ways to choose 0 to n of n."""
    logs = np.cumsum(np.log(np.arange(1, n + 1)))
    factorials = np.concatenate([[0.0], logs])
    return np.asarray(factorials[-1] - factorials - factorials[::-1])
