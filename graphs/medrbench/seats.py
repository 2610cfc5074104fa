"""Who answers requests: the record itself, or a model that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphs.medrbench.examiner import answer_from_records, covered_entries
from graphs.medrbench.examiner_flags import names_diagnosis, not_available_requests, numbers_not_in_record
from graphs.medrbench.records import entries_of, from_record
from graphs.medrbench.state import Results
from judge.errors import CallFailed
from judge.models.address import Address
from judge.models.chat import ChatModel
from judge.prompting import Prompts


class RecordsExaminer:
    """Answers from the parsed ancillary tests, verbatim: free of charge and the same every time."""

    async def answer(self, case: dict[str, Any], requests: Sequence[str], address: Address) -> Results:
        found = answer_from_records(requests, entries_of(case))
        unavailable = tuple(answer.request for answer in found.answers if not answer.available)
        return Results(found.text, tuple(sorted(found.positions)), unavailable)


class ModelExaminer:
    """A model with the ancillary tests before it; what is odd in its answers is flagged, not mended.

    What it discloses is taken from what was asked, as the record answers it: a free text does not say which entries it
    quotes.
    """

    def __init__(self, model: ChatModel, prompts: Prompts) -> None:
        self._model = model
        self._prompts = prompts

    async def answer(self, case: dict[str, Any], requests: Sequence[str], address: Address) -> Results:
        asked = "\n".join(f"- {request}" for request in requests)
        prompt = self._prompts["examiner.v1"].fill(tests=case["ancillary_text"], requests=asked)
        reply = await self._model.ask([{"role": "user", "content": prompt}], address)
        if reply.unscored is not None:
            raise CallFailed(reply.unscored.detail, reason=reply.unscored.reason)
        flags, detail = _flags(reply.text, case, asked)
        unavailable = tuple(requests[index] for index in not_available_requests(reply.text, requests))
        told = [request for request in requests if request not in unavailable]
        return Results(
            reply.text, tuple(sorted(covered_entries(told, entries_of(case)))), unavailable, tuple(flags), tuple(detail)
        )


def _flags(text: str, case: dict[str, Any], asked: str) -> tuple[list[str], list[str]]:
    flags, detail = [], []
    if names_diagnosis(text, from_record(case), request_text=asked):
        flags.append("examiner_named_diagnosis")
    if numbers := numbers_not_in_record(text, case["ancillary_text"], request_text=asked):
        flags.append("examiner_invented_numbers")
        detail.append(f"not in the record: {', '.join(numbers)}")
    return flags, detail
