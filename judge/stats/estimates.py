"""An estimate with its interval, and draws of whole clusters; what has no value says why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from judge.stats.means import check_level

#: Why an estimate, or its interval, is not there.
REASONS: Mapping[str, str] = {
    "no_overlap": "no item has labels of two raters",
    "one_item": "only one item can be compared",
    "too_few_items": "fewer than three items can be compared",
    "one_label": "all labels compared are the same, so that chance alone would make all agree",
    "constant": "a rater gave the same rating to all items compared",
    "one_rank": "a judge puts all models on one rank",
    "no_value": "the estimate itself has no value",
    "one_cluster": "all items compared are of one cluster",
    "one_cluster_decides": "without one of the clusters the estimate would be undefined",
    "undefined_draws": "the estimate is undefined in every draw",
    "no_variation": "all clusters are alike, which says nothing of how sure it is",
    "no_items": "there is nothing to average",
    "too_few_clusters": "there are so few clusters that the ends of the interval lie beyond all draws",
    "few_clusters": "there are fewer than ten clusters",
    "one_case": "only one case was repeated",
    "no_epochs": "no case has two epochs",
    "too_few_epochs": "no case has as many epochs",
    "not_binary": "values are other than 0 and 1",
    "no_discordant": "no case was solved by one of the two only",
    "clustered": "cases come in clusters, and the test takes all cases for independent",
    "too_few_labels": "people labelled too few clusters of items to measure the judge's error",
    "one_class": "people gave too few items one of the two labels to measure the judge's error on it",
    "people_split": "people gave some items as many of one label as of the other, so that the true one is not known",
    "uninformative": "the judge gives the label as often where it is wrong as where it is right",
    "one_model": "only one model can be ranked",
}

_CELLS_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A coefficient and how sure it is.

    Attributes:
        name: of the coefficient, e.g. ``"cohen_kappa"``.
        value: None if it is undefined, never 0 or 1 in place of it.
        interval: lower and upper end, within the coefficient's range; None if there is none.
        n_items: items compared.
        n_clusters: distinct clusters among them.
        n_missing: rater -> items that the rater did not label, of all items that any rater was given.
        reason: why there is no value, a key of `REASONS`; empty if there is one.
        interval_reason: why there is no interval, likewise.
        method: of the interval, ``jackknife_t`` (`judge.stats.jackknife`) or one of `judge.stats.Interval`.
        note: what a reader of the value must know, a sentence; may be empty.
    """

    name: str
    value: float | None
    interval: tuple[float, float] | None
    n_items: int
    n_clusters: int
    n_missing: Mapping[str, int] = field(hash=False)
    reason: str = ""
    interval_reason: str = ""
    method: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if (self.value is None) != bool(self.reason):
            raise ValueError(f"{self.name} needs either a value or a reason")
        if (self.interval is None) != bool(self.interval_reason):
            raise ValueError(f"{self.name} needs either an interval or a reason why there is none")
        if not all(math.isfinite(number) for number in (self.value or 0.0, *(self.interval or ()))):
            raise ValueError(f"{self.name} must be finite, got {self.value!r} and {self.interval!r}")


@dataclass(frozen=True, slots=True)
class Drawing:
    """How whole clusters are drawn.

    Attributes:
        seed: of the random generator (numpy PCG64).
        resamples: how many times whole clusters are drawn with replacement.
        level: coverage, between 0 and 1.
    """

    seed: int
    resamples: int = 2000
    level: float = 0.95

    def __post_init__(self) -> None:
        if self.resamples < 1:
            raise ValueError(f"resamples must be at least 1, got {self.resamples}")
        check_level(self.level)

    def weights(self, n_clusters: int, width: int) -> Iterator[NDArray[np.float64]]:
        """How often each cluster is drawn, shape (draws, clusters), in blocks that keep memory bounded.

        Args:
            n_clusters: at least 1; as many are drawn each time.
            width: how many numbers the caller will hold for each draw.
        """
        rng = np.random.default_rng(self.seed)
        block = max(1, _CELLS_AT_ONCE // max(n_clusters, width))
        for start in range(0, self.resamples, block):
            n = min(block, self.resamples - start)
            drawn = rng.integers(n_clusters, size=(n, n_clusters)) + n_clusters * np.arange(n)[:, None]
            yield np.bincount(drawn.ravel(), minlength=n * n_clusters).reshape(n, n_clusters).astype(np.float64)
