"""Two models on the same cases: the difference of their means, McNemar's test, wins and losses.

Sources: McNemar 1947, Note on the Sampling Error of the Difference Between Correlated Proportions, Psychometrika
12(2):153-157; Edwards 1948, Psychometrika 13(3):185-187 (continuity correction); Fagerland, Lydersen & Laake 2013, The
McNemar Test for Binary Matched-Pairs Data, BMC Med. Res. Methodol. 13:91 (exact test). Draws of whole clusters:
`judge.stats.draws`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from judge.stats.distributions import chi_square_tail, sign_test
from judge.stats.draws import expanded_interval, two_sided_p
from judge.stats.estimates import Drawing
from judge.stats.intervals import Interval, few_clusters, mean_interval
from judge.stats.means import SAME
from judge.stats.multiple import holm
from judge.stats.ratings import ItemKey, cluster_codes

Scores = Mapping[ItemKey, float | None]


@dataclass(frozen=True, slots=True)
class McNemar:
    """Two models that each solve a case or do not.

    The test takes all cases for independent, so that it is not made of cases in clusters, of which there are only the
    counts.

    Attributes:
        both, first_only, second_only, neither: cases solved.
        chi_square: without continuity correction; None where no case was solved by one of the two only.
        p: of it.
        chi_square_corrected: with continuity correction.
        p_corrected: of it.
        p_exact: two-sided binomial; the one to use; None only where the test is not made.
        n: cases.
        reason: why there is no chi-square, a key of `judge.stats.REASONS`.
        note: a sentence for its reader; may be empty.
    """

    both: int
    first_only: int
    second_only: int
    neither: int
    chi_square: float | None
    p: float | None
    chi_square_corrected: float | None
    p_corrected: float | None
    p_exact: float | None
    n: int
    reason: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Paired:
    """Two models over the cases that both have a score on.

    Attributes:
        models: first and second.
        means: of each over these cases; None without any.
        difference: mean of the first less that of the second.
        interval: of the difference, from draws of whole clusters, expanded for few clusters.
        p: two-sided, that the difference is 0; the one to report, since it knows of clusters and agrees with the
            interval. Where all clusters differ by the same, so that draws tell nothing, that of the exact sign test
            over clusters (McNemar's where each case is one).
        p_holm: p corrected for all pairs compared with it; equal to p for a pair alone.
        n: cases compared.
        n_clusters: distinct clusters among them.
        n_missing: model -> cases without its score, of all cases that either was given.
        wins, ties, losses: cases in which the first scored more, the same, less.
        win_rate: ``(wins + ties / 2) / n``.
        win_interval: of it.
        mcnemar: where all scores are 0 or 1.
        reason: why there is no difference, a key of `judge.stats.REASONS`.
        interval_reason: why there is no interval, likewise; there is no p then either, but for the sign test's.
        note: a sentence for its reader; may be empty.
    """

    models: tuple[str, str]
    means: tuple[float, float] | None
    difference: float | None
    interval: tuple[float, float] | None
    p: float | None
    p_holm: float | None
    n: int
    n_clusters: int
    n_missing: Mapping[str, int] = field(hash=False)
    wins: int
    ties: int
    losses: int
    win_rate: float | None
    win_interval: Interval
    mcnemar: McNemar | None
    reason: str = ""
    interval_reason: str = ""
    note: str = ""


def paired(
    scores_by_model: Mapping[str, Scores[ItemKey]],
    cluster_of: Callable[[ItemKey], Hashable],
    *,
    seed: int,
    resamples: int = 2000,
    level: float = 0.95,
) -> Paired:
    """Compare two models over the cases that both have a score on; the others are counted apart.

    Args:
        scores_by_model: two models -> case -> score. A case that is absent, or None, is unscored for this model.
        cluster_of: the cluster of a case.
        seed: of the draws; the same arguments in the same order give the same result.
        resamples: how many times to draw.
        level: coverage of the intervals, between 0 and 1.

    Raises:
        ValueError: not two models, a score that is no finite number, or ``resamples`` or ``level`` out of range.
    """
    if len(scores_by_model) != 2:
        raise ValueError(f"a paired comparison is of two models, got {', '.join(scores_by_model) or 'none'}")
    drawing = Drawing(seed, resamples, level)
    (first, xs), (second, ys) = ((model, scored(model, scores)) for model, scores in scores_by_model.items())
    cases = dict.fromkeys(case for scores in scores_by_model.values() for case in scores)
    both = [case for case in cases if case in xs and case in ys]
    n_missing = {first: len(cases) - len(xs), second: len(cases) - len(ys)}
    x, y = (np.array([of[case] for case in both], dtype=np.float64) for of in (xs, ys))
    return _paired((first, second), x, y, [cluster_of(case) for case in both], n_missing, drawing)


def pairwise(
    scores_by_model: Mapping[str, Scores[ItemKey]],
    cluster_of: Callable[[ItemKey], Hashable],
    *,
    seed: int,
    resamples: int = 2000,
    level: float = 0.95,
) -> tuple[Paired, ...]:
    """Every pair of models as by `paired`, with p values also corrected for their number by Holm.

    Intervals are those of each pair alone.

    Raises:
        ValueError: as `paired`, or fewer than two models.
    """
    if len(scores_by_model) < 2:
        raise ValueError(f"a comparison needs at least two models, got {', '.join(scores_by_model) or 'none'}")
    found = [
        paired({a: scores_by_model[a], b: scores_by_model[b]}, cluster_of, seed=seed, resamples=resamples, level=level)
        for a, b in combinations(scores_by_model, 2)
    ]
    corrected = holm([pair.p for pair in found]).adjusted
    return tuple(replace(pair, p_holm=p) for pair, p in zip(found, corrected, strict=True))


def mcnemar(both: int, first_only: int, second_only: int, neither: int) -> McNemar:
    """McNemar's test from counts of cases: solved by both, by one only, by neither.

    Raises:
        ValueError: a count is negative.
    """
    counts = (both, first_only, second_only, neither)
    if min(counts) < 0:
        raise ValueError(f"counts must not be negative, got {counts}")
    discordant, apart = first_only + second_only, abs(first_only - second_only)
    exact = sign_test(first_only, second_only)
    if not discordant:
        return McNemar(*counts, None, None, None, None, exact, sum(counts), "no_discordant")
    plain, corrected = apart**2 / discordant, max(apart - 1, 0) ** 2 / discordant
    return McNemar(*counts, plain, chi_square_tail(plain), corrected, chi_square_tail(corrected), exact, n=sum(counts))


def scored(name: str, scores: Scores[ItemKey]) -> dict[ItemKey, float]:
    """The items that have a score, each a finite number.

    Raises:
        ValueError: a score is no finite number.
    """
    found: dict[ItemKey, float] = {}
    for item, score in scores.items():
        if score is None:
            continue
        if not isinstance(score, int | float) or not math.isfinite(score):
            raise ValueError(f"the score {score!r} of {name} for {item!r} is no finite number")
        found[item] = float(score)
    return found


def _paired(
    models: tuple[str, str],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    clusters: list[Hashable],
    n_missing: Mapping[str, int],
    drawing: Drawing,
) -> Paired:
    differences = np.where(np.abs(x - y) <= SAME, 0.0, x - y)
    codes, n_clusters = cluster_codes(clusters)
    wins, losses = int((differences > 0.0).sum()), int((differences < 0.0).sum())
    points = (np.sign(differences) + 1.0) / 2.0
    n = len(x)
    interval, reason, p = _difference(differences, codes, n_clusters, drawing)
    return Paired(
        models=models,
        means=(math.fsum(x) / n, math.fsum(y) / n) if n else None,
        difference=math.fsum(differences) / n if n else None,
        interval=interval,
        p=p,
        p_holm=p,
        n=n,
        n_clusters=n_clusters,
        n_missing=n_missing,
        wins=wins,
        ties=n - wins - losses,
        losses=losses,
        win_rate=math.fsum(points) / n if n else None,
        win_interval=mean_interval(points, clusters, level=drawing.level),
        mcnemar=_mcnemar(x, y, n_clusters),
        reason="" if n else "no_overlap",
        interval_reason=reason,
        note=few_clusters(n_clusters) if n_clusters > 1 else "",
    )


def _difference(
    differences: NDArray[np.float64], codes: NDArray[np.intp], n_clusters: int, drawing: Drawing
) -> tuple[tuple[float, float] | None, str, float | None]:
    """Interval, why there is none, and p."""
    if not differences.size:
        return None, "no_value", None
    sums = np.bincount(codes, weights=differences, minlength=n_clusters)
    sizes = np.bincount(codes, minlength=n_clusters)
    draws = np.concatenate([w @ sums / (w @ sizes) for w in drawing.weights(n_clusters, width=n_clusters)])
    interval, reason = expanded_interval(draws, n_clusters, drawing.level)
    if interval is not None:
        return interval, reason, two_sided_p(draws, n_clusters)
    constant = reason == "no_variation" and abs(draws[0]) > SAME
    return None, reason, sign_test(n_clusters, 0) if constant else None


def _mcnemar(x: NDArray[np.float64], y: NDArray[np.float64], n_clusters: int) -> McNemar | None:
    """McNemar's test if all scores are 0 or 1; only its counts if a cluster has more than one case."""
    if not x.size or not np.isin([x, y], (0.0, 1.0)).all():
        return None
    counts = np.bincount((2 * (1 - x) + (1 - y)).astype(np.intp), minlength=4)
    if n_clusters == x.size:
        return mcnemar(*(int(count) for count in counts))
    both, first_only, second_only, neither = (int(count) for count in counts)
    note = f"{x.size} cases come in {n_clusters} clusters, and this test takes all cases for independent"
    return McNemar(both, first_only, second_only, neither, None, None, None, None, None, x.size, "clustered", note)
