"""The rule for answers given as JSON."""

from __future__ import annotations

from dataclasses import replace

from judge.replies.normalise import clean
from judge.replies.reading import Reading, Reply
from judge.replies.structured import Found, answer_of, json_values, verdicts_of


def by_json(reply: Reply) -> Reading | None:
    """The last JSON value that holds an answer or a verdict on each option."""
    values = json_values(reply.text)
    for value in reversed(values):
        reading = _json_reading(reply, value)
        if reading is not None:
            return reading
    return None


def _json_reading(reply: Reply, value: Found) -> Reading | None:
    has_answer, content = answer_of(value)
    if not has_answer:
        verdicts = verdicts_of(value, reply.document.keys)
        if verdicts:
            return reply.choose("json", frozenset(key for key, true in verdicts.items() if true))
        has_answer, content = isinstance(value, list) and all(isinstance(v, str) for v in value), value
    return _json_content(reply, content) if has_answer else None


def _json_content(reply: Reply, content: Found) -> Reading:
    if isinstance(content, list):
        return _json_list(reply, content)
    if isinstance(content, dict):
        named = frozenset(reply.document.keys[name.upper()] for name in content if name.upper() in reply.document.keys)
        verdicts = verdicts_of(content, reply.document.keys)
        if content and not named and not verdicts:
            return _json_list(reply, list(content.values()))
        return reply.choose("json", frozenset(k for k, true in verdicts.items() if true) if verdicts else named)
    if isinstance(content, bool | None) or not isinstance(content, str | int | float):
        return Reading(None, "no_answer")
    reading = _read_field(str(content), reply)
    return replace(reading, how="json", well_formed=False) if reading.chosen is not None else reading


def _json_list(reply: Reply, content: list[Found]) -> Reading:
    verdicts = verdicts_of(content, reply.document.keys)
    if verdicts:
        return reply.choose("json", frozenset(key for key, true in verdicts.items() if true))
    readings = [_read_field(str(element), reply) for element in content[:40]]
    keys = frozenset(key for reading in readings for key in reading.chosen or ())
    stray = frozenset(letter for reading in readings for letter in reading.dropped)
    if content and not keys and not stray:
        return Reading(None, "no_answer")
    return reply.choose("json", keys, stray)


def _read_field(text: str, reply: Reply) -> Reading:
    return reply.read(clean(text).replace("{", " ").replace("[", " "))
