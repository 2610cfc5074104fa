"""Could this be chance? Exact tails, and the correction for asking many times.

Sources: binomial and sign test, Conover 1999, Practical Nonparametric Statistics, chapter 3; chi-square goodness of
fit, Pearson 1900; correction for several tests, Holm 1979, Scandinavian Journal of Statistics 6(2).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

Key = TypeVar("Key")


def binomial_tail(successes: int, trials: int, chance: float) -> float:
    """Probability of at least so many successes in independent trials; summed exactly.

    Raises:
        ValueError: ``chance`` is not between 0 and 1, or there are more successes than trials.
    """
    if not 0.0 <= chance <= 1.0 or not 0 <= successes <= trials:
        raise ValueError(f"no such experiment: {successes} of {trials} at {chance}")
    if successes == 0 or chance == 1.0:
        return 1.0
    if chance == 0.0:
        return 0.0
    terms = (_binomial(k, trials, chance) for k in range(successes, trials + 1))
    return min(1.0, math.fsum(terms))


def _binomial(k: int, n: int, p: float) -> float:
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(ways + k * math.log(p) + (n - k) * math.log1p(-p))


def sign_test(wins: int, losses: int) -> float:
    """One-sided p that one of two paired labels wins so often (McNemar's test, exact); 1 without any difference."""
    return binomial_tail(wins, wins + losses, 0.5)


def uniform_chi_square(counts: Sequence[int]) -> tuple[float, float]:
    """Pearson's statistic against equal shares of four groups, and its p (chi-square, 3 degrees of freedom).

    The upper tail for 3 degrees is ``erfc(sqrt(x/2)) + sqrt(2x/pi) exp(-x/2)``; good from about five expected a group.

    Raises:
        ValueError: there are not four groups, or nothing in them.
    """
    total = sum(counts)
    if len(counts) != 4 or total == 0:
        raise ValueError(f"four groups with something in them are needed, found {list(counts)}")
    expected = total / 4
    x = math.fsum((count - expected) ** 2 for count in counts) / expected
    tail = math.erfc(math.sqrt(x / 2)) + math.sqrt(2 * x / math.pi) * math.exp(-x / 2)
    return x, min(1.0, tail)


def holm(values: Mapping[Key, float]) -> dict[Key, float]:
    """p values adjusted for their number by Holm's step-down procedure, under the same keys."""
    adjusted: dict[Key, float] = {}
    highest = 0.0
    for rank, (key, p) in enumerate(sorted(values.items(), key=lambda item: item[1])):
        highest = max(highest, min(1.0, p * (len(values) - rank)))
        adjusted[key] = highest
    return {key: adjusted[key] for key in values}


def show_p(p: float) -> str:
    """A p value for a sentence: ``p = 0.012``, or the power of ten that it lies below."""
    if p >= 0.001:
        return f"p = {p:.3f}"
    if p < 1e-300:
        return "p < 1e-300"
    return f"p < 1e{math.floor(math.log10(p)) + 1}"
