"""What answers that never look at the question score: the floor a model has to beat."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from graphs.caremedeval.cases import Case
from graphs.caremedeval.metrics import METRICS, mean_scores, score_answer

_LARGEST_RANDOM = 3
_MOST_FREQUENT = ((1, "the most frequent"), (2, "the two most frequent"), (3, "the three most frequent"))


@dataclass(frozen=True, slots=True)
class Baseline:
    """One strategy and its mean scores.

    Attributes:
        name: short key, e.g. ``"most_frequent_2"``.
        description: one phrase for a table.
        options: the letters always chosen, in order; None when they vary (random).
        metrics: mean over all questions by metric name.
    """

    name: str
    description: str
    options: tuple[str, ...] | None
    metrics: dict[str, float]


def baselines(cases: Sequence[Case]) -> list[Baseline]:
    """Random choice, the first option, and the letters most often correct in these very questions.

    Letters equally often correct are taken in alphabetical order. A letter that a question does not offer is left
    out there.

    Raises:
        ValueError: there are no questions.
    """
    rows = [
        Baseline(
            "random_1_to_3",
            "1 to 3 options at random (exact expectation)",
            None,
            mean_scores([expected_random(case) for case in cases]),
        ),
        _always("first_option", "always the first option", ("a",), cases),
    ]
    frequent = letters_by_frequency(cases)
    for size, words in _MOST_FREQUENT:
        letters = tuple(sorted(frequent[:size]))
        description = f"always {words} in the correct answers ({', '.join(letters)})"
        rows.append(_always(f"most_frequent_{size}", description, letters, cases))
    return rows


def letters_by_frequency(cases: Iterable[Case]) -> list[str]:
    """Option letters, the most often correct first."""
    counts = Counter(letter for case in cases for letter in case.correct)
    return sorted(counts, key=lambda letter: (-counts[letter], letter))


def expected_random(case: Case) -> dict[str, float]:
    """Expected scores of a random answer: 1, 2 or 3 options with equal probability, then any set of that size.

    Enumerated, so it needs no seed. A question with two options allows only sizes 1 and 2.
    """
    letters = sorted(case.letters)
    sizes = range(1, min(_LARGEST_RANDOM, len(letters)) + 1)
    by_size = [mean_scores([score_answer(case, answer) for answer in combinations(letters, size)]) for size in sizes]
    return {metric.name: math.fsum(means[metric.name] for means in by_size) / len(by_size) for metric in METRICS}


def _always(name: str, description: str, letters: tuple[str, ...], cases: Sequence[Case]) -> Baseline:
    scores = [score_answer(case, case.letters.intersection(letters)) for case in cases]
    return Baseline(name, description, letters, mean_scores(scores))
