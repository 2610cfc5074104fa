"""Scores of one multi-answer question: chosen letters against correct letters.

Every function takes ``predicted``, ``gold`` and ``options`` (sets of option labels) and returns a number in [0, 1],
larger is better. All raise ValueError when ``options`` is empty or a label is not one of them: a reply is read before
it is scored.
"""

from __future__ import annotations

from collections.abc import Callable

from judge.metrics.signature import Metric

Labels = frozenset[str]
MultilabelScore = Callable[[Labels, Labels, Labels], float]

_EMPTY_IS_ZERO = (("empty", "0"),)
_TEXTBOOK = "Tsoumakas & Katakis 2007, Multi-label classification: an overview, section 4"


def check_labels(predicted: Labels, gold: Labels, options: Labels) -> None:
    """Raise ValueError unless there are options and all labels are among them."""
    if not options:
        raise ValueError("a question needs at least one option")
    for name, labels in (("predicted", predicted), ("gold", gold)):
        if not labels <= options:
            raise ValueError(f"{name} labels {sorted(labels - options)} are not among the options {sorted(options)}")


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def exact_match(predicted: Labels, gold: Labels, options: Labels) -> float:
    """1 if exactly the correct labels were chosen, else 0."""
    check_labels(predicted, gold, options)
    return float(predicted == gold)


def f1(predicted: Labels, gold: Labels, options: Labels) -> float:
    """Harmonic mean of precision and recall, ``2|P∩G| / (|P|+|G|)``; 0 without overlap."""
    check_labels(predicted, gold, options)
    return _ratio(2 * len(predicted & gold), len(predicted) + len(gold))


def precision(predicted: Labels, gold: Labels, options: Labels) -> float:
    """Share of the chosen labels that are correct; 0 if nothing was chosen."""
    check_labels(predicted, gold, options)
    return _ratio(len(predicted & gold), len(predicted))


def recall(predicted: Labels, gold: Labels, options: Labels) -> float:
    """Share of the correct labels that were chosen; 0 if no label is correct."""
    check_labels(predicted, gold, options)
    return _ratio(len(predicted & gold), len(gold))


def hamming(predicted: Labels, gold: Labels, options: Labels) -> float:
    """Share of the option labels judged right, chosen or left out: ``1 - |P△G| / |O|``."""
    check_labels(predicted, gold, options)
    return 1.0 - len(predicted ^ gold) / len(options)


def jaccard(predicted: Labels, gold: Labels, options: Labels) -> float:
    """Overlap ``|P∩G| / |P∪G|``; 1 if both are empty.

    Published code exists that calls this number Hamming; it is not `hamming`.
    """
    check_labels(predicted, gold, options)
    union = predicted | gold
    return len(predicted & gold) / len(union) if union else 1.0


EMR = Metric("emr", "EMR", source=_TEXTBOOK)
F1 = Metric("f1", "F1", _EMPTY_IS_ZERO, source=_TEXTBOOK)
HAMMING = Metric("hamming", "Hamming (labels right)", source=_TEXTBOOK)
JACCARD = Metric("jaccard", 'Jaccard (published as "Hamming")', (("empty", "1"),), source=_TEXTBOOK)
PRECISION = Metric("precision", "Precision", _EMPTY_IS_ZERO, source=_TEXTBOOK)
RECALL = Metric("recall", "Recall", _EMPTY_IS_ZERO, source=_TEXTBOOK)

#: Every metric of this family with the function that computes it.
MULTILABEL: tuple[tuple[Metric, MultilabelScore], ...] = (
    (EMR, exact_match),
    (F1, f1),
    (HAMMING, hamming),
    (JACCARD, jaccard),
    (PRECISION, precision),
    (RECALL, recall),
)
