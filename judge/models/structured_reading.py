"""Reading a judge's answer out of a response.

What a client library makes of a response is not used: it would take a draft inside the thinking, the last of several
duplicate keys, or NaN. Nothing is repaired here either: what is no JSON is asked again, not guessed. Nor is it guessed
which of two verdicts is meant, or whether one that also stands in the question is the judge's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Generic

from pydantic import BaseModel, ValidationError

from judge.models.exchange import JSON
from judge.models.reply import CUT, Reply, read_completion
from judge.models.structured_quoting import is_quoted
from judge.models.structured_scan import TooMuch, is_json, json_value, objects, unfenced
from judge.models.verdict import JudgeFailed, V

#: Problems that one message names.
MOST_PROBLEMS = 5

SEVERAL = "it is not one JSON object, but holds several verdicts that differ"
INSIDE = "it is not one JSON object, but holds one inside of something else"
BROKEN = "it is not one JSON object, and holds one that is broken"
QUOTED = "its object is not all that was said and repeats one in the question, so it may be a quotation"
TOO_MUCH = "it is not one JSON object, and holds too many brackets to search for one"


@dataclass(frozen=True, slots=True)
class Said:
    """What a judge said, before its verdict is read.

    Attributes:
        reply: the message, its thinking set apart.
        content: its text as it came, thinking included; empty where that is not known.
        calls: arguments of its tool calls as JSON text, in order.
    """

    reply: Reply
    content: str = ""
    calls: tuple[str, ...] = ()

    @property
    def output(self) -> str:
        """What is shown of it: the first tool call, else the answer."""
        return self.calls[0] if self.calls else self.reply.text


class InvalidVerdict(Exception):
    """The judge said something that is no verdict; it may be asked again.

    Attributes:
        problem: what is wrong, in words that the judge may be shown.
        output: what it said.
    """

    def __init__(self, problem: str, output: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.output = output


def read_response(response: str, *, prompt: str = "") -> Said:
    """Read a response text of the chat protocol.

    Args:
        prompt: the last user message; where a server echoes it before the answer it is taken off.

    Every shape a server may send gives a `Said`; nothing raises.
    """
    message = _message(response)
    content = message.get("content")
    return Said(
        read_completion(response, prompt=prompt),
        content if isinstance(content, str) else "",
        tuple(_arguments(message)),
    )


def _message(response: str) -> Mapping[str, JSON]:
    try:
        message = json.loads(response)["choices"][0]["message"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return {}
    return message if isinstance(message, Mapping) else {}


def _arguments(message: Mapping[str, JSON]) -> Iterator[str]:
    """Arguments of all calls; old servers know one `function_call`, and some give an object in place of its text."""
    calls = message.get("tool_calls")
    functions = [call.get("function") for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
    for function in [*functions, message.get("function_call")]:
        arguments = function.get("arguments") if isinstance(function, Mapping) else None
        if isinstance(arguments, str) and arguments.strip():
            yield arguments
        elif isinstance(arguments, Mapping):
            yield json.dumps(arguments)


def read_verdict(said: Said, schema: type[V], *, prompt: str = "") -> V:
    """The verdict in what a judge said, if there is exactly one and it is the judge's.

    A verdict that is all of a tool call's arguments, or all of the text, is the judge's own; white space and one code
    fence around it do not count. Otherwise every object in the text without its thinking is looked at, in fences, among
    words or inside of others; and, where there is no text, a reasoning field that is all verdict. Two that differ,
    wherever they stand, are none. One that is not all that was said must not be quoted from the prompt, nor stand
    inside of an object or a list, nor beside an object that is broken.

    Args:
        prompt: what the judge was given.

    Raises:
        JudgeFailed: there is none, and asking again would not help.
        InvalidVerdict: there is none, or it is not sure which is meant; it may be asked again.
    """
    if (failure := _failure(said.reply)) is not None:
        raise failure
    trial = _Trial(schema)
    own = list(_own(said, trial))
    try:
        verdicts = [*own, *_others(said, trial, silent=not own)]
    except TooMuch:
        raise InvalidVerdict(TOO_MUCH, said.output) from None
    if not verdicts:
        raise _nothing_found(said, trial.problem())
    if any(verdict != verdicts[0] for verdict in verdicts):
        raise InvalidVerdict(SEVERAL, said.output)
    if not own and (doubt := trial.doubt(verdicts[0], prompt)):
        raise InvalidVerdict(doubt, said.output)
    return verdicts[0]


class _Trial(Generic[V]):
    """Tries texts and values against a schema, and keeps what is wrong with them."""

    def __init__(self, schema: type[V]) -> None:
        self._schema = schema
        self._misfits: list[ValidationError] = []
        self._no_json: list[str] = []
        self._in_scan = ""

    def text(self, text: str) -> Iterator[V]:
        """A JSON text as a verdict, if it is one."""
        try:
            value = json_value(text)
        except ValueError as error:
            self._no_json.append(str(error))
            return
        if isinstance(value, dict):
            yield from self._fitting(value, self._misfits)
        else:
            self._no_json.append("it is not one JSON object")

    def scan(self, text: str) -> Iterator[V]:
        """All verdicts that stand anywhere in a text; that they are all inside of others, or one is broken, is noted.

        Raises:
            TooMuch: there may be more.
        """
        places: list[bool] = []
        for found in objects(text):
            if found.value is None:
                self._in_scan = BROKEN
                continue
            for verdict in self._fitting(found.value, self._misfits if found.outermost else []):
                places.append(found.outermost)
                yield verdict
        if places and not any(places):
            self._in_scan = INSIDE

    def _fitting(self, value: Mapping[str, JSON], misfits: list[ValidationError]) -> Iterator[V]:
        try:
            yield self._schema.model_validate(value)
        except ValidationError as error:
            misfits.append(error)

    def doubt(self, verdict: V, prompt: str) -> str:
        """Why the only verdict, not all that was said, may not be the judge's; empty if it must be."""
        return self._in_scan or (QUOTED if is_quoted(verdict, prompt) else "")

    def problem(self) -> str:
        """Of an object that does not fit the schema, else of what is no JSON."""
        if self._misfits:
            return _problem(self._misfits[0])
        return self._no_json[0] if self._no_json else "it holds no JSON object"


def _own(said: Said, trial: _Trial[V]) -> Iterator[V]:
    """Verdicts that are all of a tool call, or all of the text."""
    for call in said.calls:
        yield from trial.text(call)
    if whole := _whole(said):
        yield from trial.text(whole)


def _whole(said: Said) -> str:
    """The text before thinking is looked for in it: a rationale may speak of <think>."""
    return unfenced(said.content or ("" if said.reply.thinking else said.reply.text))


def _others(said: Said, trial: _Trial[V], *, silent: bool) -> Iterator[V]:
    """Verdicts in what is left of the text without its thinking; of a judge that is silent, in its reasoning field.

    What is left is not all that was said: where the judge quotes text that ends a thinking, only the quotation is left.
    """
    reply = said.reply
    if is_json(_whole(said)):  # whether it is a verdict or not: a list of verdicts is none
        return
    if reply.unscored is not None:
        if silent and reply.unscored.reason == "empty_reply" and reply.reasoning_key:
            yield from trial.text(reply.thinking)
        return
    text = unfenced(reply.text)
    yield from trial.text(text)
    if not is_json(text):
        yield from trial.scan(reply.text)


#: Reason of a reply that cannot be read -> the judge's failure.
_FAILURES: Mapping[str, str] = {
    "malformed_response": "judge_malformed_response",
    "empty_choices": "judge_empty_choices",
    "null_message": "judge_null_message",
    "refused": "judge_refused",
    "content_filter": "judge_refused",
}


def _failure(reply: Reply) -> JudgeFailed | None:
    """Why nothing in the message may be used, if so."""
    unscored = reply.unscored
    if unscored is not None and unscored.reason in _FAILURES:
        return JudgeFailed(unscored.detail, reason=_FAILURES[unscored.reason])
    if reply.finish_reason.casefold() in CUT:
        return JudgeFailed("the judge's reply reached the token limit", reason="judge_truncated")
    return None


def _nothing_found(said: Said, problem: str) -> JudgeFailed | InvalidVerdict:
    unscored = said.reply.unscored
    if not said.calls and unscored is not None:
        reason = "judge_truncated" if unscored.reason == "truncated_reasoning" else "judge_empty"
        return JudgeFailed(unscored.detail, reason=reason)
    return InvalidVerdict(problem, said.output)


def _problem(error: ValidationError) -> str:
    """What does not fit the schema, without what the judge wrote there."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    parts = [
        f"{'.'.join(map(str, entry['loc'])) or 'the object'}: {entry['msg'].removeprefix('Value error, ')}"
        for entry in found[:MOST_PROBLEMS]
    ]
    more = len(found) - len(parts)
    return "; ".join(parts) + (f"; and {more} more" if more else "")


def schema_text(schema: type[BaseModel]) -> str:
    """A schema as a judge is shown it."""
    return json.dumps(schema.model_json_schema(), ensure_ascii=False, indent=1)
