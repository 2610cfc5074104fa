"""Reading a judge's answer out of a response.

What a client library makes of a response is not used: it would take a draft inside the thinking, the last of several
duplicate keys, or NaN. Nothing is repaired here either: what is no JSON is asked again, not guessed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pydantic import BaseModel, ValidationError

from judge.models.exchange import JSON, clean
from judge.models.reply import CUT, Reply, read_completion
from judge.models.verdict import JudgeFailed, V

#: Brackets at which an object is looked for within one text; a reply holds a few.
MOST_STARTS = 200

#: Problems that one message names.
MOST_PROBLEMS = 5


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
    """The verdict in what a judge said.

    Looked at in this order: tool calls; the whole text; the text without its thinking; code fences in it, then objects
    anywhere in it, the last valid one of each; and, where there is no text, a reasoning field that is all verdict.

    Args:
        prompt: what the judge was given: an object that is quoted from it is no verdict.

    Raises:
        JudgeFailed: there is none, and asking again would not help.
        InvalidVerdict: there is none, and it may be asked again.
    """
    if (failure := _failure(said.reply)) is not None:
        raise failure
    misfits: list[str] = []
    others: list[str] = []
    for text in _candidates(said, prompt):
        try:
            return validated(text, schema)
        except ValidationError as error:
            misfits.append(_problem(error))
        except ValueError as error:
            others.append(str(error))
    raise _nothing_found(said, [*misfits, *others])


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


def _nothing_found(said: Said, problems: Sequence[str]) -> JudgeFailed | InvalidVerdict:
    unscored = said.reply.unscored
    if not said.calls and unscored is not None:
        reason = "judge_truncated" if unscored.reason == "truncated_reasoning" else "judge_empty"
        return JudgeFailed(unscored.detail, reason=reason)
    return InvalidVerdict(problems[0] if problems else "it holds no JSON object", said.output)


def _candidates(said: Said, prompt: str) -> Iterator[str]:
    """JSON texts that may be the verdict, the most trusted first."""
    yield from said.calls
    if whole := _unfenced(said.content):  # before thinking is looked for: a rationale may speak of <think>
        yield whole
    reply = said.reply
    if reply.unscored is not None:
        if reply.unscored.reason == "empty_reply" and reply.reasoning_key:
            yield reply.thinking
        return
    text = _unfenced(reply.text)
    if text != whole:
        yield text
    if not _is_json(text):  # a list of verdicts is none
        yield from _embedded(reply.text, prompt)


def _embedded(text: str, prompt: str) -> Iterator[str]:
    found = [*reversed(_fenced(text)), *reversed(list(objects(text)))]
    given = [_value(source) for source in objects(prompt)] if found else []
    for source in found:
        if source not in prompt and _value(source) not in given:
            yield source


_FENCE = re.compile(r"^[ \t>]*(?:`{3,}|~{3,})[^\n`]*$", re.MULTILINE)


def _unfenced(text: str) -> str:
    """A text without white space and one code fence around all of it."""
    text = text.strip()
    opening = _FENCE.match(text)
    if opening is None or not text.endswith(text[:3]):
        return text
    return text[opening.end() :].rstrip(text[0]).strip()


def _fenced(text: str) -> list[str]:
    """What stands between neighbouring fence lines and is one JSON object, in order; so nested fences do no harm."""
    marks = [(mark.start(), mark.end()) for mark in _FENCE.finditer(text)] + [(len(text), len(text))]
    parts = (text[end:start].strip() for (_, end), (start, _) in pairwise(marks))
    return [part for part in parts if part.startswith("{") and _is_json(part)]


_START = re.compile(r"[\[{]")
_STRING_OR_BRACE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
_BEGINS_LIKE_OBJECT = re.compile(r"""\{\s*["']""")


def objects(text: str) -> Iterator[str]:
    """The outermost JSON objects anywhere in a text, in order.

    Brackets within strings do not count. What begins like an object and is none hides all that is inside it.
    """
    position = 0
    for _ in range(MOST_STARTS):
        start = _START.search(text, position)
        if start is None:
            return
        try:
            _, position = _DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            position = _after_broken(text, start.start())
        else:
            if start[0] == "{":
                yield text[start.start() : position]


def _after_broken(text: str, start: int) -> int:
    """Where to look on after a bracket that opens no JSON: next to one of prose, behind an object that is none."""
    if not _BEGINS_LIKE_OBJECT.match(text, start):
        return start + 1
    depth = 0
    for found in _STRING_OR_BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    return len(text)


def validated(text: str, schema: type[V]) -> V:
    """A JSON text as an object of the schema.

    Raises:
        ValueError: it is no JSON object, or not in the strict sense (duplicate keys, NaN).
        ValidationError: it is one, of another schema.
    """
    value = _value(text)
    if not isinstance(value, dict):
        raise ValueError("it is not one JSON object")
    return schema.model_validate(value)


def _value(text: str) -> JSON:
    """The value of a JSON text, without lone surrogates, which nothing could store."""
    text = text.strip()
    try:
        value, end = _DECODER.raw_decode(text)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not one JSON object ({error.msg} at character {error.pos})") from None
    if end != len(text):
        raise ValueError("there is text after its JSON object")
    return json.loads(clean(json.dumps(value, ensure_ascii=False))) if "\\u" in text else value


def _is_json(text: str) -> bool:
    try:
        _value(text)
    except ValueError:
        return False
    return True


def _unique(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} is given twice")
    return found


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text[:40]} is no finite number")
    return value


#: Strict but for line breaks inside strings, which models write and which mean only themselves.
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite)


def _problem(error: ValidationError) -> str:
    """What does not fit the schema, without what the judge wrote there."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    parts = [f"{'.'.join(map(str, entry['loc'])) or 'the object'}: {entry['msg']}" for entry in found[:MOST_PROBLEMS]]
    more = len(found) - len(parts)
    return "; ".join(parts) + (f"; and {more} more" if more else "")


def schema_text(schema: type[BaseModel]) -> str:
    """A schema as a judge is shown it."""
    return json.dumps(schema.model_json_schema(), ensure_ascii=False, indent=1)
