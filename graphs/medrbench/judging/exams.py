"""Did the doctor ask for the tests that were done? A judge's labels of requests and of tests.

Two kinds of judgement. ``exam_precision``: of each distinct request, whether it asks for a test that was done.
``exam_recall``: of each test that was done, whether it was asked for, by which requests and from which turn on.

A test is what `graphs.medrbench.examiner.done_tests` counts as one: an entry of the record, or all entries below one
laboratory heading of one patient. What asks for what is said in the prompts, and follows
`graphs.medrbench.examiner_records.matches`: "abdominal CT" asks for "CT abdomen with contrast", another organ or kind
of image is another test, a panel asks for its values and a value for a panel that holds it. So one value asked for is
enough for a whole laboratory list, where the score by names gives each value of the list its share of one test.

Where the rules could read no request in a section for requests, the judge takes it apart (``exam_list``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, Field, StrictInt

from graphs.medrbench.entries import Entry
from graphs.medrbench.examiner import done_tests
from graphs.medrbench.examiner_records import quote
from graphs.medrbench.judged import ASKED_NOTHING, EXAM_KINDS, EXAM_PRECISION, EXAM_RECALL, NO_TESTS
from graphs.medrbench.metrics import normalised, turns_that_ask
from graphs.medrbench.policy import UNREADABLE_REQUESTS
from graphs.medrbench.records import entries_of
from graphs.medrbench.requests import is_repeat
from judge.chains.asking import Asker
from judge.chains.fence import Data, numbered
from judge.chains.indexed import Batch, I, Indexed, Question, ask_indexed
from judge.judgements import Judgement
from judge.models.verdict import JudgeFailed, Verdict
from judge.outcome import Unscored
from judge.settings import JudgeProtocol

LIST, REQUEST, TEST = "exam_list.v1", "exam_request.v1", "exam_test.v1"
REQUESTS_BATCH, TESTS_BATCH = "exam_requests.batch.v1", "exam_tests.batch.v1"

#: Reason for labels that the judge left out of an answer to many questions, even when asked again.
LEFT_OUT = "judge_incomplete"

V = TypeVar("V", bound=BaseModel)


class ExamList(Verdict):
    """The single requests of a section."""

    rationale: str = Field(description="one or two sentences")
    requests: list[str] = Field(description="single requests in the words of the section; empty if it asks for nothing")


class RequestVerdict(Verdict):
    """Whether one request asks for a test that was done."""

    rationale: str = Field(description="one or two sentences")
    in_record: bool


class CoverVerdict(Verdict):
    """Whether one test was asked for."""

    rationale: str = Field(description="one or two sentences")
    requests: list[StrictInt] = Field(description="numbers of the requests that ask for it; empty if none does")
    asked_for: bool


class IndexedRequest(RequestVerdict, Indexed):
    """Whether the request of this number asks for a test that was done."""

    index: int = Field(description="number of the request")
    rationale: str = Field(description="one sentence")
    in_record: bool


class IndexedCover(CoverVerdict, Indexed):
    """Whether the test of this number was asked for."""

    index: int = Field(description="number of the test")
    rationale: str = Field(description="one sentence")
    requests: list[StrictInt] = Field(description="numbers of the requests that ask for it; empty if none does")
    asked_for: bool


class RequestVerdicts(Batch[IndexedRequest]):
    """Which requests ask for a test that was done."""


class CoverVerdicts(Batch[IndexedCover]):
    """Which tests were asked for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that no earlier one asks for.

    Attributes:
        turn: in which it was made, counted from 1.
        read_by_judge: whether the judge took it out of a section that the rules could not read.
    """

    text: str
    turn: int
    read_by_judge: bool

    @property
    def path(self) -> tuple[Mapping[str, Any], ...]:
        """What its judgement tells about where it is from."""
        return ({"turn": self.turn} | ({"read_by": "judge"} if self.read_by_judge else {}),)


@dataclass(frozen=True, slots=True)
class _Given(Generic[V]):
    """Verdicts by index, and why those that are not there are not."""

    verdicts: Mapping[int, V]
    failure: Unscored | None = None

    def missing(self, kind: str, count: int) -> dict[str, Unscored]:
        """What to say of a kind with so many items."""
        lacking = count - len(self.verdicts)
        if not lacking:
            return {}
        why = self.failure or Unscored(LEFT_OUT, "the judge left them out even when asked again")
        return {kind: Unscored(why.reason, f"{lacking} of {count} labels are missing: {why.detail}")}


def prompt_names(protocol: JudgeProtocol) -> tuple[str, ...]:
    """The prompts that judging examinations may use."""
    return (LIST, REQUESTS_BATCH, TESTS_BATCH) if protocol == "batched" else (LIST, REQUEST, TEST)


async def judge_exams(
    asker: Asker, protocol: JudgeProtocol, record: Mapping[str, Any], data: Mapping[str, Any]
) -> tuple[list[Judgement], dict[str, Unscored]]:
    """Both kinds of judgement of one examination, and why labels are missing, by kind.

    Where nothing was asked for there is no request to judge, and every test has the label False without a call; its
    path says ``asked_nothing``. Where no test was done every request has the label False without a call, and recall is
    missing, ``no_tests``.

    Args:
        record: of the case, see `graphs.medrbench.records`.
        data: of the transcript, see `graphs.medrbench.play.transcript_of`. Requests beside a conclusion count nowhere.

    Raises:
        EndpointError, ReplayError, Interrupted: pass through. What a single call fails with is a reason in the result.
    """
    tests = [told(test) for test in done_tests(entries_of(record))]
    try:
        asked = await _asked_for(asker, turns_that_ask(data))
    except JudgeFailed as failure:  # without all requests no number would be right, and no later question the same
        unread = Unscored(failure.reason, f"what a turn asks for could not be read: {failure}")
        return [], dict.fromkeys(EXAM_KINDS, unread)
    if not tests:
        return _without_tests(asked)
    if not asked:
        nothing = ({ASKED_NOTHING: True},)
        return [Judgement(EXAM_RECALL, item, test, False, path=nothing) for item, test in enumerate(tests)], {}
    batched = protocol == "batched"
    requests = [request.text for request in asked]
    of_requests = await (_all_requests if batched else _each_request)(asker, requests, tests)
    of_tests = await (_all_tests if batched else _each_test)(asker, requests, tests)
    judgements = [
        *(_precision(item, asked[item], verdict) for item, verdict in of_requests.verdicts.items()),
        *(_recall(item, tests[item], verdict, asked) for item, verdict in of_tests.verdicts.items()),
    ]
    return judgements, of_requests.missing(EXAM_PRECISION, len(asked)) | of_tests.missing(EXAM_RECALL, len(tests))


def _without_tests(asked: Sequence[Asked]) -> tuple[list[Judgement], dict[str, Unscored]]:
    none = Unscored(NO_TESTS, "the record has no test that was done")
    if not asked:
        return [], dict.fromkeys(EXAM_KINDS, none)
    path: tuple[Mapping[str, Any], ...] = ({NO_TESTS: True},)
    labels = [
        Judgement(EXAM_PRECISION, item, request.text, False, path=(*request.path, *path))
        for item, request in enumerate(asked)
    ]
    return labels, {EXAM_RECALL: none}


def _precision(item: int, request: Asked, verdict: RequestVerdict) -> Judgement:
    return Judgement(EXAM_PRECISION, item, request.text, verdict.in_record, verdict.rationale, request.path)


def _recall(item: int, test: str, verdict: CoverVerdict, asked: Sequence[Asked]) -> Judgement:
    by = sorted({number - 1 for number in verdict.requests})
    path = ({"requests": by}, {"turn": min(asked[index].turn for index in by)}) if by else ()
    return Judgement(EXAM_RECALL, item, test, verdict.asked_for, verdict.rationale, path)


def told(test: Sequence[Entry]) -> str:
    """A test that was done, with its headings and what it found, in one line."""
    first = test[0]
    findings = "; ".join(quote(replace(entry, patient="")) for entry in test)
    return " ".join(": ".join(part for part in (first.patient, first.group, findings) if part).split())


# --- what was asked for


async def _asked_for(asker: Asker, turns: Sequence[Mapping[str, Any]]) -> list[Asked]:
    """The distinct requests, in order; JudgeFailed if what a turn asks for cannot be read."""
    asked: list[Asked] = []
    for number, turn in enumerate(turns, start=1):
        by_judge = UNREADABLE_REQUESTS in turn["flags"]
        for request in [*turn["requests"], *(await _listed(asker, turn["field"], number) if by_judge else ())]:
            if request.strip() and not is_repeat(request, [known.text for known in asked]):
                asked.append(Asked(request, number, by_judge))
    return asked


async def _listed(asker: Asker, section: str, turn: int) -> list[str]:
    def check(answer: ExamList) -> str:
        strange = next((request for request in answer.requests if not _stands_in(request, section)), None)
        return "" if strange is None else f"{strange!r} is not in the words of the section"

    answer = await asker.ask(LIST, ExamList, f"exam_list/{turn}", {"section": section}, check=check)
    return answer.requests


def _stands_in(request: str, section: str) -> bool:
    """Whether a request has words, and the section has all of them; without spaces between words, as in Chinese, parts
    of a run of letters are words too."""
    words, known = normalised(request).split(), normalised(section)
    there = set(known.split())
    return bool(words) and all(word in there or (not word.isascii() and word in known) for word in words)


# --- a call for each question


async def _each(count: int, ask: Callable[[int], Awaitable[V]]) -> _Given[V]:
    verdicts: dict[int, V] = {}
    failure: Unscored | None = None
    for index in range(count):
        try:
            verdicts[index] = await ask(index)
        except JudgeFailed as failed:
            failure = failure or failed.unscored()
    return _Given(verdicts, failure)


async def _each_request(asker: Asker, requests: Sequence[str], tests: Sequence[str]) -> _Given[RequestVerdict]:
    def ask(index: int) -> Awaitable[RequestVerdict]:
        data: dict[str, Data] = {"request": requests[index], "tests": numbered(enumerate(tests))}
        return asker.ask(REQUEST, RequestVerdict, f"exam_request/{index}", data)

    return await _each(len(requests), ask)


async def _each_test(asker: Asker, requests: Sequence[str], tests: Sequence[str]) -> _Given[CoverVerdict]:
    def ask(index: int) -> Awaitable[CoverVerdict]:
        data: dict[str, Data] = {"test": tests[index], "requests": numbered(enumerate(requests))}
        check = _naming(len(requests))
        return asker.ask(TEST, CoverVerdict, f"exam_test/{index}", data, check=check)

    return await _each(len(tests), ask)


def _naming(count: int) -> Callable[[CoverVerdict], str]:
    """Whether a verdict names requests that there are, and some exactly if it says that the test was asked for."""

    def check(verdict: CoverVerdict) -> str:
        if strange := [number for number in verdict.requests if not 1 <= number <= count]:
            return f"there is no request {strange[0]}; they have the numbers 1 to {count}"
        if verdict.asked_for and not verdict.requests:
            return "asked_for is true, but requests names none"
        return "asked_for is false, but requests names some" if verdict.requests and not verdict.asked_for else ""

    return check


# --- a call for all of them


async def _at_once(asker: Asker, question: Question[I], count: int) -> _Given[I]:
    try:
        return _Given(await ask_indexed(asker, question, range(count)))
    except JudgeFailed as failed:
        return _Given({}, failed.unscored())


async def _all_requests(asker: Asker, requests: Sequence[str], tests: Sequence[str]) -> _Given[IndexedRequest]:
    def shown(wanted: Sequence[int]) -> Mapping[str, Data]:
        return {"requests": numbered((index, requests[index]) for index in wanted), "tests": numbered(enumerate(tests))}

    return await _at_once(asker, Question(REQUESTS_BATCH, "exam_requests", RequestVerdicts, shown), len(requests))


async def _all_tests(asker: Asker, requests: Sequence[str], tests: Sequence[str]) -> _Given[IndexedCover]:
    def shown(wanted: Sequence[int]) -> Mapping[str, Data]:
        return {"tests": numbered((index, tests[index]) for index in wanted), "requests": numbered(enumerate(requests))}

    check = _naming(len(requests))
    question = Question(TESTS_BATCH, "exam_tests", CoverVerdicts, shown, lambda verdict: not check(verdict))
    return await _at_once(asker, question, len(tests))
