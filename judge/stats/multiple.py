"""Several tests at once.

Source: Holm 1979, A Simple Sequentially Rejective Multiple Test Procedure, Scand. J. Stat. 6(2):65-70.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Holm:
    """P values corrected for how many tests there are.

    Attributes:
        p: as given; None for a test that could not be made.
        adjusted: in the same order; a test is significant at α with all others considered if this is at most α.
        n: tests that could be made.
    """

    p: tuple[float | None, ...]
    adjusted: tuple[float | None, ...]
    n: int


def holm(p_values: Sequence[float | None]) -> Holm:
    """Holm's step-down correction, which holds whatever the dependence between the tests.

    The i-th smallest of n becomes ``max over j <= i of min(1, (n - j + 1) p_j)``. Tests that could not be made (None)
    do not count among n.

    Raises:
        ValueError: a p value is not between 0 and 1.
    """
    if wrong := [p for p in p_values if p is not None and not 0.0 <= p <= 1.0]:
        raise ValueError(f"p values lie between 0 and 1, got {wrong[0]}")
    made = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for step, (p, place) in enumerate(made):
        largest = max(largest, min(1.0, (len(made) - step) * p))
        adjusted[place] = largest
    return Holm(tuple(p_values), tuple(adjusted), len(made))
