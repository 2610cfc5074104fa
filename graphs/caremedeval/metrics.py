"""The scores of a CareMedEval answer: general multi-answer metrics and three variants of the LCA mark.

LCA (lecture critique d'articles) is the critical-appraisal examination the questions come from. Its mark counts
mismatches: options chosen but not correct, or correct but not chosen. Three variants are in use and always reported
under distinct names: the default here (a quarter mark for two mismatches, rules applied), what the data set's published
code computes (a fifth, rules ignored), and the examination's own rule (a fifth, rules applied).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

from graphs.caremedeval.cases import Case
from judge.metrics.multilabel import (
    EMR,
    F1,
    HAMMING,
    JACCARD,
    MULTILABEL,
    PRECISION,
    RECALL,
    check_labels,
)
from judge.metrics.signature import Metric

_RULES = ("rules", "essential,unacceptable")
_DECREE = "mark of the French critical-appraisal examination, set by decree: 1, .5, .2, then 0"

LCA = Metric("lca", "LCA", (("two", ".25"), _RULES), source="arXiv 2511.03441, with a quarter mark for two mismatches")
LCA_EXAM = Metric("lca_exam", "LCA (official exam rule)", (("two", ".2"), _RULES), source=_DECREE)
LCA_PUBLISHED = Metric(
    "lca_published",
    "LCA (published code, no rules)",
    (("two", ".2"), ("rules", "none")),
    source="arXiv 2511.03441, released evaluation code",
)


def lca(case: Case, chosen: frozenset[str]) -> float:
    """Default LCA: 1, .5, .25, then 0 by mismatches; 0 for no answer or a broken rule."""
    return _mark(case, chosen, two=0.25, rules=True)


def lca_exam(case: Case, chosen: frozenset[str]) -> float:
    """Examination's LCA: 1, .5, .2, then 0 by mismatches; 0 for no answer or a broken rule."""
    return _mark(case, chosen, two=0.2, rules=True)


def lca_published(case: Case, chosen: frozenset[str]) -> float:
    """Published code's LCA: 1, .5, .2, then 0 by mismatches; 0 for no answer; the rules are not applied."""
    return _mark(case, chosen, two=0.2, rules=False)


def breaks_rule(case: Case, chosen: frozenset[str]) -> bool:
    """Whether an essential option is left out or an unacceptable one chosen."""
    return not case.essential <= chosen or bool(case.unacceptable & chosen)


def _mark(case: Case, chosen: frozenset[str], *, two: float, rules: bool) -> float:
    check_labels(chosen, case.correct, case.letters)
    if not chosen or (rules and breaks_rule(case, chosen)):
        return 0.0
    return {0: 1.0, 1: 0.5, 2: two}.get(len(chosen ^ case.correct), 0.0)


_GENERAL = dict(MULTILABEL)
_LCA: dict[Metric, Callable[[Case, frozenset[str]], float]] = {
    LCA: lca,
    LCA_EXAM: lca_exam,
    LCA_PUBLISHED: lca_published,
}

#: In report order: the four default ones, the two other readings of LCA and the published "Hamming", then details.
METRICS: tuple[Metric, ...] = (EMR, F1, HAMMING, LCA, LCA_EXAM, JACCARD, LCA_PUBLISHED, PRECISION, RECALL)


def score_answer(case: Case, chosen: Iterable[str]) -> dict[str, float]:
    """Every metric of one answer, by metric name, in report order.

    Args:
        case: the question.
        chosen: letters of the chosen options; an explicit empty answer is allowed, a missing one is not an answer.

    Raises:
        ValueError: a letter is not one of the question's options.
    """
    answer = frozenset(chosen)
    return {metric.name: _score(metric, case, answer) for metric in METRICS}


def _score(metric: Metric, case: Case, answer: frozenset[str]) -> float:
    if metric in _LCA:
        return _LCA[metric](case, answer)
    return _GENERAL[metric](answer, case.correct, case.letters)


def mean_scores(scores: Sequence[dict[str, float]]) -> dict[str, float]:
    """Mean of every metric over questions.

    Raises:
        ValueError: there are no questions.
    """
    if not scores:
        raise ValueError("a mean needs at least one question")
    return {metric.name: math.fsum(score[metric.name] for score in scores) / len(scores) for metric in METRICS}


def best_scores(case: Case) -> dict[str, float]:
    """The best value of each metric that any choice of options can get.

    All 2^options answers are tried: the correct one can break a rule and score less than another.
    """
    letters = sorted(case.letters)
    answers = (answer for size in range(len(letters) + 1) for answer in combinations(letters, size))
    scores = [score_answer(case, answer) for answer in answers]
    return {metric.name: max(score[metric.name] for score in scores) for metric in METRICS}


def reachable_maximum(cases: Sequence[Case]) -> dict[str, float]:
    """Per metric, the mean of the best score possible on each question: what a flawless model would get.

    Raises:
        ValueError: there are no questions.
    """
    return mean_scores([best_scores(case) for case in cases])
