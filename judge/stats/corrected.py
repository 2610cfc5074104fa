"""What a judge's verdicts say of all items, corrected by the labels that people gave some of them.

The items that people labelled must be a random part of all items, or clusters of them. Then the judge's error on them
is its error on the others, and its size and uncertainty both enter the result. Sources: Angelopoulos et al. 2023,
Prediction-Powered Inference, Science 382:669-674, and Angelopoulos, Duchi & Zrnic 2023, PPI++, arXiv 2311.01453,
section 6 (power tuning), here with cluster-robust variances; Rogan & Gladen 1978, Estimating Prevalence from the
Results of a Screening Test, Am. J. Epidemiol. 107(1):71-76.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judge.stats.distributions import t_quantile
from judge.stats.draws import expanded_interval
from judge.stats.estimates import Drawing
from judge.stats.intervals import FEW_CLUSTERS, few_clusters
from judge.stats.means import SAME, check_level
from judge.stats.paired import Scores, scored
from judge.stats.ratings import ItemKey, cluster_codes

Array = NDArray[np.float64]

#: Fewer items of either human label do not tell how often the judge is wrong about it.
FEW_OF_A_LABEL = 5


@dataclass(frozen=True, slots=True)
class Corrected:
    """An estimate of what people would have said of all items.

    Attributes:
        value: None if it cannot be had.
        interval: None likewise.
        se: cluster-robust; None for the estimate whose interval is from draws.
        weight: how much the judge's verdicts count, between 0 (not at all) and 1; None where that has no meaning.
        judge_mean: of the judge's verdicts on all items, uncorrected.
        human_mean: of the human labels alone.
        n: items that the judge scored, with or without a human label.
        n_labelled: those with one; items that people labelled but the judge did not score are in neither.
        n_unjudged: items that people labelled but the judge did not score.
        n_clusters: distinct clusters among all items.
        n_labelled_clusters: among the labelled.
        n_undefined: draws in which the estimate is undefined.
        reason: why there is no value, a key of `judge.stats.REASONS`.
        interval_reason: why there is no interval, likewise.
        note: a sentence for its reader; may be empty.
    """

    value: float | None
    interval: tuple[float, float] | None
    se: float | None
    weight: float | None
    judge_mean: float | None
    human_mean: float | None
    n: int
    n_labelled: int
    n_unjudged: int
    n_clusters: int
    n_labelled_clusters: int
    n_undefined: int = 0
    reason: str = ""
    interval_reason: str = ""
    note: str = ""


def prediction_powered(
    judge: Scores[ItemKey],
    human: Scores[ItemKey],
    cluster_of: Callable[[ItemKey], Hashable],
    *,
    weight: float | None = None,
    level: float = 0.95,
) -> Corrected:
    """The mean that people would have given all items: prediction-powered inference.

    ``mean of y over labelled + w (mean of f over unlabelled - mean of f over labelled)``, y by people and f by the
    judge. Its variance is the sum over clusters of the squared linear contributions of their items, with residuals as
    in `judge.stats.mean_interval` (HC3), so that labelled and unlabelled items of one cluster may depend on each other.
    The interval is of Student's t with one degree of freedom less than there are clusters of labelled, or of
    unlabelled, items, whichever are fewer, and one less again for a weight chosen from the data; it is not cut to the
    range of scores.

    Args:
        judge: item -> score; an item that is absent, or None, is not judged and left out.
        human: item -> label in the same units, for a random part of the items.
        cluster_of: the cluster of an item.
        weight: w; 1 is the first paper's. Without it, the one that makes the variance least, within 0 and 1 (PPI++).
        level: coverage, between 0 and 1.

    Raises:
        ValueError: a score is no finite number; ``weight`` or ``level`` out of range.
    """
    check_level(level)
    if weight is not None and not 0.0 <= weight <= 1.0:
        raise ValueError(f"weight must lie between 0 and 1, got {weight}")
    items = _items(judge, human, cluster_of)
    if items.n_labelled_clusters < FEW_CLUSTERS:
        return _without(items, "too_few_labels")
    unlabelled = ~items.labelled
    people = _contributions(items, items.labelled, items.human)
    judged = _contributions(items, items.labelled, items.judge)
    others = _contributions(items, unlabelled, items.judge) if unlabelled.any() else judged
    apart = others - judged
    chosen = weight is None
    weight = _least(people, apart) if weight is None else weight
    value = items.human_mean + weight * (_mean(items.judge, unlabelled) - _mean(items.judge, items.labelled))
    total = people + weight * apart
    se = math.sqrt(float(total @ total))
    fewest = min(items.n_labelled_clusters, items.clusters_among(unlabelled) or items.n_labelled_clusters)
    if fewest < 3 or se <= SAME:
        reason = "one_cluster" if fewest < 2 else "few_clusters" if fewest < 3 else "no_variation"
        return _made(items, value, None, se=None, weight=weight, interval_reason=reason)
    reach = t_quantile((1.0 + level) / 2.0, fewest - 1 - chosen) * se
    notes = [_never_wrong(items), few_clusters(fewest)]
    if not unlabelled.any():
        notes = ["people labelled every judged item, so that the judge adds nothing"]
    note = "; ".join(filter(None, notes))
    return _made(items, value, (value - reach, value + reach), se=se, weight=weight, note=note)


def rogan_gladen(apparent: float, sensitivity: float, specificity: float) -> float | None:
    """The true share from the share that a fallible judge finds: ``(apparent + sp - 1) / (se + sp - 1)``, cut to 0
    and 1.

    None where ``se + sp <= 1``: the judge then says no more than chance.

    Raises:
        ValueError: an argument is not between 0 and 1.
    """
    if not all(0.0 <= share <= 1.0 for share in (apparent, sensitivity, specificity)):
        raise ValueError(f"shares lie between 0 and 1, got {apparent}, {sensitivity} and {specificity}")
    found = float(_rogan_gladen(*(np.array([share]) for share in (apparent, sensitivity, specificity)))[0])
    return None if math.isnan(found) else min(max(found, 0.0), 1.0)


def misclassification_corrected(
    judge: Scores[ItemKey],
    human: Scores[ItemKey],
    cluster_of: Callable[[ItemKey], Hashable],
    *,
    seed: int,
    resamples: int = 2000,
    level: float = 0.95,
) -> Corrected:
    """The share of items with label 1 that people would have found: Rogan & Gladen, errors measured on labelled items.

    The judge's share is over all judged items. The interval is from draws of whole clusters, in each of which share,
    sensitivity and specificity are computed anew.

    Args:
        judge: item -> 0 or 1; an item that is absent, or None, is not judged and left out.
        human: item -> 0 or 1, for a random part of the items.
        cluster_of: the cluster of an item.
        seed: of the draws; the same arguments in the same order give the same interval.
        resamples: how many times to draw.
        level: coverage, between 0 and 1.

    Raises:
        ValueError: a label is no finite number; ``resamples`` or ``level`` out of range.
    """
    drawing = Drawing(seed, resamples, level)
    items = _items(judge, human, cluster_of)
    if reason := _no_errors_known(items):
        return _without(items, reason)
    tables = _tables(items)
    raw = float(_of_tables(tables.sum(axis=0, keepdims=True))[0])
    if math.isnan(raw):
        return _without(items, "uninformative")
    blocks = drawing.weights(items.n_clusters, width=items.n_clusters)
    draws = np.clip(np.concatenate([_of_tables(weights @ tables) for weights in blocks]), 0.0, 1.0)
    interval, reason = expanded_interval(draws, items.n_labelled_clusters, level)
    value = min(max(raw, 0.0), 1.0)
    cut = "" if raw == value else f"the estimate {raw:.3f} is cut: measured errors explain more than the judge's share"
    note = "; ".join(filter(None, (cut, _never_wrong(items))))
    undefined = int(np.isnan(draws).sum())
    return _made(items, value, interval, n_undefined=undefined, interval_reason=reason, note=note)


class _Items(NamedTuple):
    """The judged items, shape (items,) each; ``human`` is 0 where there is no label."""

    judge: Array
    human: Array
    labelled: NDArray[np.bool_]
    codes: NDArray[np.intp]
    n_clusters: int
    n_unjudged: int

    def clusters_among(self, some: NDArray[np.bool_]) -> int:
        return len(np.unique(self.codes[some]))

    @property
    def n_labelled_clusters(self) -> int:
        return self.clusters_among(self.labelled)

    @property
    def human_mean(self) -> float:
        return _mean(self.human, self.labelled)


def _items(judge: Scores[ItemKey], human: Scores[ItemKey], cluster_of: Callable[[ItemKey], Hashable]) -> _Items:
    judged, labels = scored("the judge", judge), scored("people", human)
    codes, n_clusters = cluster_codes(map(cluster_of, judged))
    return _Items(
        np.array(list(judged.values()), dtype=np.float64),
        np.array([labels.get(item, 0.0) for item in judged], dtype=np.float64),
        np.array([item in labels for item in judged], dtype=bool),
        codes,
        n_clusters,
        sum(item not in judged for item in labels),
    )


def _mean(values: Array, among: NDArray[np.bool_]) -> float:
    """The mean of some values; of none, where there is nothing to correct, of all."""
    kept = values[among] if among.any() else values
    return math.fsum(kept) / len(kept)


def _contributions(items: _Items, among: NDArray[np.bool_], values: Array) -> Array:
    """What each cluster adds to the error of a mean over some items, shape (clusters,); squares sum to its variance."""
    residuals = np.where(among, values - _mean(values, among), 0.0)
    sums = np.bincount(items.codes, weights=residuals, minlength=items.n_clusters)
    shares = np.bincount(items.codes, weights=among, minlength=items.n_clusters) / among.sum()
    # a cluster that is all there is has no residual, and no known spread
    return np.asarray(sums / among.sum() / np.where(shares < 1.0, 1.0 - shares, 1.0))


def _least(people: Array, apart: Array) -> float:
    """The weight that makes the variance of ``people + weight * apart`` least."""
    square = float(apart @ apart)
    return min(max(-float(people @ apart) / square, 0.0), 1.0) if square > SAME**2 else 0.0


def _never_wrong(items: _Items) -> str:
    """A warning where no error was seen: the interval then knows of none, however few labels there are."""
    right = np.abs(items.judge - items.human)[items.labelled] <= SAME
    return f"the judge was right on all {len(right)} labelled items; the interval is too narrow" if right.all() else ""


def _no_errors_known(items: _Items) -> str:
    """Why the judge's errors cannot be measured; empty if they can."""
    labels = items.human[items.labelled]
    if not np.isin(np.concatenate([items.judge, labels]), (0.0, 1.0)).all():
        return "not_binary"
    if items.n_labelled_clusters < FEW_CLUSTERS:
        return "too_few_labels"
    return "one_class" if min((labels == 0.0).sum(), (labels == 1.0).sum()) < FEW_OF_A_LABEL else ""


def _tables(items: _Items) -> Array:
    """Per cluster: items, judged 1, labelled 1, of these judged 1, labelled 0, of these judged 0; (clusters, 6)."""
    one, zero = items.labelled & (items.human == 1.0), items.labelled & (items.human == 0.0)
    columns = [np.ones(len(items.judge)), items.judge, one, one * items.judge, zero, zero * (1.0 - items.judge)]
    return np.stack([np.bincount(items.codes, weights=c, minlength=items.n_clusters) for c in columns], axis=1)


def _of_tables(tables: Array) -> Array:
    n, found, ones, hits, zeros, rejections = tables.T
    known = (ones > 0.0) & (zeros > 0.0)
    sensitivity, specificity = (
        np.divide(part, whole, out=np.full(len(n), np.nan), where=known)
        for part, whole in ((hits, ones), (rejections, zeros))
    )
    return _rogan_gladen(found / n, sensitivity, specificity)


def _rogan_gladen(apparent: Array, sensitivity: Array, specificity: Array) -> Array:
    """Not cut to 0 and 1; NaN where the judge is no better than chance."""
    gain = sensitivity + specificity - 1.0
    return np.asarray(np.divide(apparent + specificity - 1.0, gain, out=np.full(len(gain), np.nan), where=gain > SAME))


def _without(items: _Items, reason: str) -> Corrected:
    return _made(items, None, None, reason=reason, interval_reason="no_value")


def _made(
    items: _Items,
    value: float | None,
    interval: tuple[float, float] | None,
    *,
    se: float | None = None,
    weight: float | None = None,
    n_undefined: int = 0,
    reason: str = "",
    interval_reason: str = "",
    note: str = "",
) -> Corrected:
    n, n_labelled = len(items.judge), int(items.labelled.sum())
    return Corrected(
        value=value,
        interval=interval,
        se=se,
        weight=weight,
        judge_mean=math.fsum(items.judge) / n if n else None,
        human_mean=items.human_mean if n_labelled else None,
        n=n,
        n_labelled=n_labelled,
        n_unjudged=items.n_unjudged,
        n_clusters=items.n_clusters,
        n_labelled_clusters=items.n_labelled_clusters,
        n_undefined=n_undefined,
        reason=reason,
        interval_reason=interval_reason,
        note=note,
    )
