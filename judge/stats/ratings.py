"""Labels of several raters on the same items as one table of codes; a label that is missing stays missing."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Rating = str | bool | int | float
"""A label: texts, truth values or numbers, of one kind throughout; numbers are finite."""

ItemKey = TypeVar("ItemKey", bound=Hashable)

#: More labels than this are scores, not categories.
MAX_LABELS = 50

_MISSING = -1


@dataclass(frozen=True, slots=True)
class Ratings:
    """Who gave which label to what.

    Attributes:
        raters: their names.
        labels: the categories in order; codes are positions in it.
        ordered: whether their order has a meaning.
        codes: shape (items, raters), -1 where a rater gave no label.
        clusters: shape (items,), codes 0..G-1.
        n_clusters: G.
    """

    raters: tuple[str, ...]
    labels: tuple[Rating, ...]
    ordered: bool
    codes: NDArray[np.intp]
    clusters: NDArray[np.intp]
    n_clusters: int

    @property
    def n_items(self) -> int:
        """Number of items, whether or not they can be compared."""
        return len(self.codes)

    @property
    def n_missing(self) -> dict[str, int]:
        """Rater -> number of items without a label by this rater."""
        missing = (self.codes == _MISSING).sum(axis=0)
        return {rater: int(n) for rater, n in zip(self.raters, missing, strict=True)}

    @property
    def values(self) -> tuple[float, ...]:
        """The numbers that the labels are; empty if they are none."""
        return tuple(float(label) for label in self.labels) if all(map(_is_number, self.labels)) else ()

    def of(self, *raters: int) -> Ratings:
        """The same items by some of the raters only."""
        return replace(self, raters=tuple(self.raters[rater] for rater in raters), codes=self.codes[:, list(raters)])

    def compared(self) -> Ratings:
        """The items that at least two raters labelled; of labels without an order those that occur among them."""
        kept = (self.codes != _MISSING).sum(axis=1) >= 2
        codes, labels = self.codes[kept], self.labels
        if not self.ordered:
            used = np.unique(codes[codes != _MISSING])
            codes = np.where(codes == _MISSING, _MISSING, np.searchsorted(used, codes))
            labels = tuple(labels[code] for code in used)
        found, clusters = np.unique(self.clusters[kept], return_inverse=True)
        return Ratings(self.raters, labels, self.ordered, codes, clusters.astype(np.intp), len(found))

    def counts(self) -> NDArray[np.intp]:
        """How many raters gave each label, shape (items, labels)."""
        return np.stack([(self.codes == code).sum(axis=1) for code in range(len(self.labels))], axis=1)


def read_ratings(
    labels_by_rater: Mapping[str, Mapping[ItemKey, Rating | None]],
    cluster_of: Callable[[ItemKey], Hashable],
    ordinal: Sequence[Rating] | None = None,
) -> Ratings:
    """The table over all items that any rater has, in the order of their first appearance.

    Args:
        labels_by_rater: rater -> item -> label; an item that is not there, or has None, is missing for this rater.
        cluster_of: the cluster of an item, e.g. its case.
        ordinal: all categories in their order; without it the labels that occur, sorted.

    Raises:
        ValueError: fewer than two raters; labels of different kinds, not finite, not among ``ordinal``, more than
            `MAX_LABELS`, or alike but for case and spaces.
    """
    if len(labels_by_rater) < 2:
        raise ValueError(f"agreement needs at least two raters, got {', '.join(labels_by_rater) or 'none'}")
    row_of: dict[ItemKey, int] = {}
    for given in labels_by_rater.values():
        for item in given:
            row_of.setdefault(item, len(row_of))
    code_of = {label: code for code, label in enumerate(_categories(labels_by_rater, ordinal))}
    codes = np.full((len(row_of), len(labels_by_rater)), _MISSING, dtype=np.intp)
    for column, given in enumerate(labels_by_rater.values()):
        for item, label in given.items():
            if label is not None:
                codes[row_of[item], column] = code_of[label]
    clusters, n_clusters = cluster_codes(map(cluster_of, row_of))
    return Ratings(tuple(labels_by_rater), tuple(code_of), ordinal is not None, codes, clusters, n_clusters)


def cluster_codes(clusters: Iterable[Hashable]) -> tuple[NDArray[np.intp], int]:
    """Clusters as codes 0..G-1 in the order of their first appearance, and G."""
    code_of: dict[Hashable, int] = {}
    codes = [code_of.setdefault(cluster, len(code_of)) for cluster in clusters]
    return np.array(codes, dtype=np.intp), len(code_of)


def _categories(
    labels_by_rater: Mapping[str, Mapping[Any, Rating | None]], ordinal: Sequence[Rating] | None
) -> list[Rating]:
    kind = "" if ordinal is None else _check_ordinal(ordinal)
    found: dict[Rating, None] = {}
    for rater, given in labels_by_rater.items():
        for item, label in given.items():
            if label is None:
                continue
            where = f"the label {label!r} of {rater} for {item!r}"
            kind = _check_kind(label, kind, where)
            if ordinal is not None and label not in ordinal:
                raise ValueError(f"{where} is none of {', '.join(map(repr, ordinal))}")
            found.setdefault(label)
    _check_names(found)
    return list(ordinal) if ordinal is not None else sorted(found)


def _check_kind(label: Rating, expected: str, where: str) -> str:
    """The kind of a label; Python holds True and 1 for equal, so kinds are never mixed."""
    kind = _kind(label)
    if not kind:
        raise ValueError(f"{where} is neither a text, a truth value nor a finite number")
    if expected and kind != expected:
        raise ValueError(f"{where} is a {kind}, where other labels are a {expected}; use one kind")
    return kind


def _kind(label: Rating) -> str:
    if isinstance(label, str):
        return "text"
    if isinstance(label, bool):
        return "truth value"
    return "number" if _is_number(label) and math.isfinite(label) else ""


def _is_number(label: object) -> bool:
    return isinstance(label, int | float) and not isinstance(label, bool)


def _check_ordinal(ordinal: Sequence[Rating]) -> str:
    kind = ""
    for label in ordinal:
        kind = _check_kind(label, kind, f"the ordinal label {label!r}")
    if len(set(ordinal)) != len(ordinal) or len(ordinal) < 2:
        raise ValueError(f"ordinal labels are at least two, each once, got {list(ordinal)!r}")
    if kind == "number" and list(ordinal) not in (sorted(ordinal), sorted(ordinal, reverse=True)):
        raise ValueError(f"ordinal labels that are numbers must rise or fall throughout, got {list(ordinal)!r}")
    _check_names(ordinal)
    return kind


def _check_names(labels: Iterable[Rating]) -> None:
    """Refuse texts that a reader would take for the same label, and scores posing as categories."""
    seen: dict[object, Rating] = {}
    for label in labels:
        folded = label.strip().casefold() if isinstance(label, str) else label
        other = seen.setdefault(folded, label)
        if other is not label:
            raise ValueError(f"the labels {other!r} and {label!r} differ in case or spaces only; write them alike")
    if len(seen) > MAX_LABELS:
        raise ValueError(f"{len(seen)} different labels are more than {MAX_LABELS}; use a correlation for scores")
