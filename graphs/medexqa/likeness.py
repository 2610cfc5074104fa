"""Questions that ask for the same thing, within and across specialties and between test and dev questions.

Many stems differ in one word ("Which of the following statements about X is correct?"), so the wording of the question
alone says little: options or right answers have to agree as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

from graphs.medexqa.cases import Case
from graphs.medexqa.support import words

#: From this similarity of question and options together, 0 to 100, two questions are near duplicates.
NEAR = 85

#: From this one they are related: much the same options under another question.
RELATED = 75

#: With the same right answer, this similarity of the questions alone makes them related.
RELATED_QUESTION = 60

Kind = Literal["same_question", "near_duplicate", "related"]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two questions that are alike.

    Attributes:
        question: similarity of the questions, 0 to 100.
        whole: similarity of questions and options together, 0 to 100.
        kind: ``same_question`` has the same words in the question, whatever the options; ``near_duplicate`` is alike in
            question and options; ``related`` has much the same options, or the same answer to a similar question.
    """

    first: Case
    second: Case
    question: float
    whole: float
    kind: Kind

    @property
    def across(self) -> bool:
        """Whether they are of different specialties."""
        return self.first.specialty != self.second.specialty


def alike(cases: Sequence[Case]) -> list[Pair]:
    """All pairs that are alike, the most similar first.

    Similarity is rapidfuzz's ``ratio`` of the sorted words, so neither the order of options nor punctuation counts.
    """
    if len(cases) < 2:
        return []
    questions = [_sorted_words(case.question) for case in cases]
    wholes = [_sorted_words(" ".join([case.question, *case.options.values()])) for case in cases]
    answers = [_sorted_words(case.options[case.answer]) for case in cases]
    codes = np.unique(answers, return_inverse=True)[1]
    question = _reaches(questions, RELATED_QUESTION) & (codes[:, None] == codes[None, :])
    found = np.triu(question | _reaches(questions, 100) | _reaches(wholes, RELATED), k=1)
    pairs = [
        _pair(cases[one], cases[two], fuzz.ratio(questions[one], questions[two]), fuzz.ratio(wholes[one], wholes[two]))
        for one, two in np.argwhere(found).tolist()
    ]
    return sorted(pairs, key=lambda pair: (-max(pair.question, pair.whole), pair.first.id, pair.second.id))


def _sorted_words(text: str) -> str:
    return " ".join(sorted(word.casefold() for word in words(text)))


def _reaches(texts: list[str], least: int) -> NDArray[np.bool_]:
    """Whether every two texts are at least so similar; the limit saves most of the work."""
    matrix: Any = process.cdist(texts, texts, scorer=fuzz.ratio, score_cutoff=least, dtype=np.float32)
    return np.asarray(matrix >= least, dtype=np.bool_)


def _pair(first: Case, second: Case, question: float, whole: float) -> Pair:
    kind: Kind = "related"
    if whole >= NEAR:
        kind = "near_duplicate"
    elif question == 100:
        kind = "same_question"
    return Pair(first, second, question, whole, kind)
