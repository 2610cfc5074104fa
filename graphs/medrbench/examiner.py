"""The examiner without a model, and the scores of what a doctor asked for.

`answer_from_records` answers requests from the ancillary tests alone and in their own words, so that an exam dialogue
can be played free of charge and with the same result every time. How requests are matched with entries is said in
`graphs.medrbench.examiner_records`; the flags on a model's answers are in `graphs.medrbench.examiner_flags`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from graphs.medrbench.entries import Entry
from graphs.medrbench.examiner_records import Match, matches
from graphs.medrbench.requests import is_repeat

NOT_AVAILABLE = "not available"

Denominator = Literal["groups", "entries"]


@dataclass(frozen=True, slots=True)
class RequestAnswer:
    """What the record says to one request.

    Attributes:
        request: as asked.
        text: the matching entries verbatim, or `NOT_AVAILABLE`.
        positions: of all matching entries.
        partial: those of which one sentence was told only, the entry being about another test.
        available: whether the record has a result; false also where it only says that the test was not done.
    """

    request: str
    text: str
    positions: frozenset[int]
    partial: frozenset[int]
    available: bool


@dataclass(frozen=True, slots=True)
class ExaminerAnswer:
    """The answer to all requests of one turn.

    Attributes:
        text: one line per request.
        answers: per request.
        newly_disclosed: positions of entries told now and not before.
    """

    text: str
    answers: tuple[RequestAnswer, ...]
    newly_disclosed: frozenset[int]

    @property
    def positions(self) -> frozenset[int]:
        """Positions of all entries told, in whole or in part."""
        return frozenset().union(*(answer.positions for answer in self.answers))

    @property
    def not_available(self) -> int:
        """How many requests the record has no result for."""
        return sum(not answer.available for answer in self.answers)


def answer_from_records(
    requests: Sequence[str], entries: Sequence[Entry], *, disclosed: Collection[int] = ()
) -> ExaminerAnswer:
    """Answer every request from the record, verbatim; never with anything that is not in it.

    Args:
        requests: single requests; one that names several tests is answered for all of them.
        entries: the record, `Case.ancillary`.
        disclosed: positions that earlier turns have told.
    """
    answers = tuple(_answer(request, entries) for request in requests)
    text = "\n".join(f"{_one_line(answer.request)}: {answer.text}" for answer in answers)
    told: frozenset[int] = frozenset().union(*(answer.positions for answer in answers))
    return ExaminerAnswer(text, answers, told - frozenset(disclosed))


def _answer(request: str, entries: Sequence[Entry]) -> RequestAnswer:
    found = matches(request, entries)
    return RequestAnswer(
        request=request,
        text=" | ".join(_one_line(match.quote) for match in found) or NOT_AVAILABLE,
        positions=frozenset(match.entry.position for match in found),
        partial=frozenset(match.entry.position for match in found if not match.whole),
        available=any(match.entry.performed for match in found),
    )


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def covered_entries(requests: Sequence[str], entries: Sequence[Entry]) -> frozenset[int]:
    """Positions of the tests done that the requests asked for; a sentence told by the way does not count."""
    found = (match for request in requests for match in matches(request, entries))
    return frozenset(match.entry.position for match in found if _covers(match))


def _covers(match: Match) -> bool:
    return match.whole and match.entry.performed


@dataclass(frozen=True, slots=True)
class ExamScores:
    """How well requests meet the tests that were done.

    Attributes:
        precision: distinct requests that match something in the record / distinct requests; 0 if nothing was asked.
        recall: tests done that were asked for / tests done; 0 if there are none.
        f1: harmonic mean; 0 if both are 0.
        recall_by_turn: recall after each turn.
        requests: number of requests, repeats included.
        distinct: number of requests without repeats.
        matched: distinct requests that match.
        covered: positions of the entries covered.
        asked_nothing: no request at all.
        no_tests: the record has no test that was done.
        denominator: what recall counts, as given.
    """

    precision: float
    recall: float
    f1: float
    recall_by_turn: tuple[float, ...]
    requests: int
    distinct: int
    matched: int
    covered: frozenset[int]
    asked_nothing: bool
    no_tests: bool
    denominator: Denominator


def exam_scores(
    requests_by_turn: Sequence[Sequence[str]], entries: Sequence[Entry], *, denominator: Denominator = "groups"
) -> ExamScores:
    """Exam precision and recall by names, without a judge.

    A record writes "Laboratory: Hb 9 g/dL, CRP 40 mg/L, ..." where a scan is one entry, so that a long list of values
    would outweigh all other tests. With the denominator ``groups`` the entries under one laboratory heading (of one
    patient) count as one test, each with an equal share; with ``entries`` every entry counts as one.

    Args:
        requests_by_turn: the requests of every turn of the doctor, in order.
        entries: the record; what was not done counts nowhere.
        denominator: see above; belongs in the signature of the scores.
    """
    turns = [[request for request in turn if request.strip()] for turn in requests_by_turn]
    distinct = _distinct([request for turn in turns for request in turn])
    matched = sum(any(match.entry.performed for match in matches(request, entries)) for request in distinct)
    weights = _weights(entries, denominator)
    recalls, covered = _recalls(turns, entries, weights)
    precision = matched / len(distinct) if distinct else 0.0
    recall = recalls[-1] if recalls else 0.0
    return ExamScores(
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        recall_by_turn=recalls,
        requests=sum(map(len, turns)),
        distinct=len(distinct),
        matched=matched,
        covered=covered,
        asked_nothing=not distinct,
        no_tests=not weights,
        denominator=denominator,
    )


def _distinct(requests: Sequence[str]) -> list[str]:
    kept: list[str] = []
    for request in requests:
        if not is_repeat(request, kept):
            kept.append(request)
    return kept


def _recalls(
    turns: Sequence[Sequence[str]], entries: Sequence[Entry], weights: dict[int, float]
) -> tuple[tuple[float, ...], frozenset[int]]:
    covered: frozenset[int] = frozenset()
    recalls: list[float] = []
    total = sum(weights.values())
    for turn in turns:
        covered |= covered_entries(turn, entries)
        share = sum(weights[position] for position in sorted(covered)) / total if total else 0.0
        recalls.append(1.0 if weights and len(covered) == len(weights) else share)
    return tuple(recalls), covered


_LABORATORY = re.compile(r"\b(?:lab|blood|biochem|ha?emato|serum|chemi)", re.IGNORECASE)


def done_tests(entries: Sequence[Entry], denominator: Denominator = "groups") -> list[tuple[Entry, ...]]:
    """The tests that were done, each with its entries, in the record's order; what is one is said in `exam_scores`."""
    tests: dict[tuple[str, str] | int, list[Entry]] = {}
    for entry in entries:
        if entry.performed:
            together = denominator == "groups" and _LABORATORY.search(entry.group)
            tests.setdefault((entry.patient, entry.group) if together else entry.position, []).append(entry)
    return [tuple(test) for test in tests.values()]


def _weights(entries: Sequence[Entry], denominator: Denominator) -> dict[int, float]:
    """Position of every test done -> what it counts."""
    shares = {entry.position: 1 / len(test) for test in done_tests(entries, denominator) for entry in test}
    return dict(sorted(shares.items()))
