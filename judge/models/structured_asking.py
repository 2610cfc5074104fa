"""Judges: they ask for an object of a schema, read the answer strictly, and ask again where it is none."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import instructor
import openai
from instructor import Mode
from tenacity import AsyncRetrying, RetryError, retry_if_exception_type, stop_after_attempt

from judge.errors import CallFailed
from judge.models.address import Address, calling
from judge.models.chat import ChatModel, Message, merge_same_role, own_error
from judge.models.exchange import JSON, Usage, clean
from judge.models.structured_reading import InvalidVerdict, Said, read_response, read_verdict, schema_text
from judge.models.verdict import Check, JudgeFailed, V
from judge.settings import Generation

logging.getLogger("instructor").setLevel(logging.CRITICAL)  # it logs what the caller is told anyway

#: How often one question is asked at most: once, and twice after an answer that is no verdict.
ASKS = 3

#: Characters that a re-ask shows of the last answer and of what is wrong with it, and a failure shows of the answer.
MOST_OUTPUT = 2000
MOST_PROBLEM = 500
MOST_SHOWN = 200

AGAIN = (
    "Your last answer cannot be used: {problem}. "
    "Answer the question above again, with one JSON object of the required schema and nothing else."
)

TEXT_FORM = (
    "Answer with one JSON object and nothing else: no code fence, no words before or after it. "
    "It must be an instance of this JSON schema, not the schema itself:\n{schema}"
)


class Speaker(Protocol):
    """Sends one request for an object of a schema."""

    async def say(self, messages: Sequence[Message], schema: type[V], address: Address) -> Said:
        """One request; failures of the call pass through as the door raises them."""


@dataclass(slots=True)
class _Course:
    """What came of one question so far."""

    asks: int = 0
    last: InvalidVerdict | None = None
    usages: list[Usage] = field(default_factory=list)

    def messages(self, original: Sequence[Message]) -> Sequence[Message]:
        """The question, and only the last answer with its problem: a re-ask does not grow."""
        if self.last is None:
            return original
        problem = AGAIN.format(problem=_short(self.last.problem, MOST_PROBLEM))
        output = {"role": "assistant", "content": _short(self.last.output, MOST_OUTPUT)}
        return merge_same_role([*original, output, {"role": "user", "content": problem}])

    def failure(self) -> JudgeFailed:
        assert self.last is not None
        prompt, completion = (
            sum(getattr(usage, side) or 0 for usage in self.usages) for side in ("prompt", "completion")
        )
        shown = " ".join(_short(self.last.output, MOST_SHOWN).split())
        return JudgeFailed(
            f"no valid verdict in {self.asks} asks ({prompt} prompt and {completion} completion tokens); "
            f"the last problem: {_short(self.last.problem, MOST_PROBLEM)}; the last answer began: {shown!r}",
            reason="judge_invalid",
            attempts=self.asks,
        )


def _short(text: str, most: int) -> str:
    text = clean(text)
    return text if len(text) <= most else text[:most] + " […]"


class Judge:
    """A judge model: `judge.models.verdict.StructuredModel` over whatever sends the requests.

    An answer that is no verdict, or fails the caller's check, is asked again, `ASKS` times in all, each under an
    address of its own. An answer that is empty, cut at the token limit or refused is not: the same would come back.
    """

    def __init__(self, speaker: Speaker) -> None:
        self._speaker = speaker

    async def ask(
        self, messages: Sequence[Message], schema: type[V], address: Address, *, check: Check[V] | None = None
    ) -> V:
        """See `StructuredModel.ask`."""
        original = merge_same_role(
            [{**message, "content": clean(str(message["content"] or ""))} for message in messages]
        )
        course = _Course()
        retrying = AsyncRetrying(
            stop=stop_after_attempt(ASKS), retry=retry_if_exception_type(InvalidVerdict), sleep=_at_once
        )
        try:
            async for attempt in retrying:
                with attempt:
                    return await self._ask_once(original, schema, address, check, course)
        except RetryError:
            raise course.failure() from None
        raise AssertionError("tenacity ends with a result or an error")

    async def _ask_once(
        self, original: Sequence[Message], schema: type[V], address: Address, check: Check[V] | None, course: _Course
    ) -> V:
        course.asks += 1
        said = await self._said(course.messages(original), schema, replace(address, ask=course.asks))
        course.usages.append(said.reply.usage)
        try:
            verdict = read_verdict(said, schema, prompt=_texts(original))
            if check is not None and (problem := check(verdict)):
                raise InvalidVerdict(problem, said.output)
        except InvalidVerdict as invalid:
            course.last = invalid
            raise
        return verdict

    async def _said(self, messages: Sequence[Message], schema: type[V], address: Address) -> Said:
        try:
            return await self._speaker.say(messages, schema, address)
        except CallFailed as failure:
            raise JudgeFailed(str(failure), reason=f"judge_{failure.reason}", attempts=failure.attempts) from failure


async def _at_once(seconds: float) -> None:
    """Nothing is waited for: the server has answered."""


def _texts(messages: Sequence[Message]) -> str:
    return "\n\n".join(str(message["content"]) for message in messages)


class InstructorSpeaker:
    """Requests made and sent by instructor, in one of its modes; their responses are read here.

    Args:
        tokens_key: the field under which a limit on tokens is sent.
    """

    def __init__(
        self, client: openai.AsyncOpenAI, model: str, mode: Mode, generation: Generation, tokens_key: str
    ) -> None:
        self._client = instructor.from_openai(client, mode=mode)
        self._model = model
        self._options = _options(generation, tokens_key)

    async def say(self, messages: Sequence[Message], schema: type[V], address: Address) -> Said:
        handled = sys.exception()
        with calling(address) as call:
            try:
                await self._client.chat.completions.create(
                    model=self._model,
                    messages=[dict(message) for message in messages],  # type: ignore[misc]
                    response_model=schema,
                    max_retries=0,
                    **self._options,
                )
            except Exception as error:
                if (cause := own_error(error, handled)) is not None:
                    raise cause from None
                if not call.exchanges:
                    raise
        exchange = call.exchanges[-1]
        return read_response(exchange.response, prompt=_last_user(exchange.body))


def _options(generation: Generation, tokens_key: str) -> dict[str, Any]:
    sent = {
        "temperature": generation.temperature,
        tokens_key: generation.max_tokens,
        "extra_body": generation.extra_body or None,
    }
    return {name: value for name, value in sent.items() if value is not None}


def _last_user(body: Mapping[str, JSON]) -> str:
    """The last user message as it was sent; a mode may have added to it."""
    users = [message["content"] for message in body["messages"] if message["role"] == "user"]
    return str(users[-1]) if users else ""


class TextSpeaker:
    """Requests to a model that knows no mode of the protocol: the schema is part of the prompt."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat

    async def say(self, messages: Sequence[Message], schema: type[V], address: Address) -> Said:
        form = {"role": "user", "content": TEXT_FORM.format(schema=schema_text(schema))}
        return Said(await self._chat.ask(merge_same_role([*messages, form]), address))
