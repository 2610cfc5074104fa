"""All JSON objects in a text are found, or the text is given up: none that comes late is missed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.models.structured_reading import InvalidVerdict, read_response, read_verdict
from judge.models.structured_scan import MOST_STARTS, TooMuch, objects
from tests.models.helpers import completion
from tests.models.judges import Step, answer

RIGHT, WRONG = answer("correct"), answer("wrong")


def found(text: str) -> list[tuple[object, bool]]:
    return [(one.value, one.outermost) for one in objects(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('a {"b": 1} c', [({"b": 1}, True)]),
        ('{"b": {"c": [{"d": 1}]}}', [({"b": {"c": [{"d": 1}]}}, True), ({"c": [{"d": 1}]}, False), ({"d": 1}, False)]),
        ('[1, {"b": 1}] {"c": 2}', [({"b": 1}, False), ({"c": 2}, True)]),
        ('[1, {"b": 1} {"c": 2}', [({"b": 1}, True), ({"c": 2}, True)]),  # a bracket of prose hides nothing
        ('{x} { that {"b": 1}', [({"b": 1}, True)]),
        ('{"a": {"b": 1},} {"c": 2}', [(None, True), ({"b": 1}, False), ({"c": 2}, True)]),
        ('{"a": {"b": 1}, {"c": 2}', [(None, True), ({"b": 1}, False), ({"c": 2}, False)]),  # never closed
        ("{'a': 1} {\n \"b\": 1}", [(None, True), ({"b": 1}, True)]),
        ('{"a": 1, "a": 2}', [(None, True)]),
        ('{"a": "{\\"b\\": 1}"}', [({"a": '{"b": 1}'}, True)]),
        ('{"a": "\\ud83d"}', [({"a": "\ufffd"}, True)]),
        ("{} [] none", []),
    ],
)
def test_given_objects_in_a_text_when_they_are_looked_for_then_each_is_told_with_whether_it_is_outermost(
    text: str, expected: list[tuple[object, bool]]
) -> None:
    assert found(text) == expected


@given(st.lists(st.sampled_from(["{", "}", "[", "]", '"', "\\", ",", ":", "a", " ", '{"', RIGHT]), max_size=30))
def test_given_any_text_when_objects_are_looked_for_then_none_that_could_be_parsed_is_missed(parts: list[str]) -> None:
    text = "".join(parts)
    expected = []
    for at in (n for n, char in enumerate(text) if char == "{"):
        try:
            value, _ = json.JSONDecoder(strict=False).raw_decode(text, at)
        except ValueError:
            continue
        if value and len(value) > 1:  # keys given twice in the text would be one
            expected.append(value)
    assert [value for value, _ in found(text) if value and len(value) > 1] == expected


#: Texts of about 100,000 characters.
LONG = {
    "objects": '{"a": 1}' * 12_000,
    "open objects": '{"a":' * 20_000,
    "open lists": "[" * 100_000,
    "lists within": "[" * 900 + "]" * 100 + "[1," * 30_000,
    "quotes": '{"' * 50_000,
    "nested": ('{"a":' * 400 + "1" + "}" * 400) * 40,
    "repeated keys": '{"a":1,"a":2}' * 8_000,
    "open strings": '{"a": "x\\" ' * 9_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_given_a_text_of_brackets_when_a_verdict_stands_at_each_end_then_none_of_them_is_taken(text: str) -> None:
    for content in (f"{text}\n{WRONG}", f"{WRONG}\n{text}\n{RIGHT}", f"{WRONG}\n{text}"):
        with pytest.raises(InvalidVerdict):
            read_verdict(read_response(completion(content)), Step)


def test_given_a_long_reply_of_prose_when_the_verdict_stands_at_its_end_then_it_is_found() -> None:
    prose = "As in [1], {x, y} and f(x) = {0 if x else [2, 3]} show. " * 1_800
    assert len(prose) > 100_000
    assert read_verdict(read_response(completion(f"{prose}\n{WRONG}")), Step).verdict == "wrong"


def test_given_more_brackets_than_a_reply_holds_when_objects_are_looked_for_then_they_are_given_up() -> None:
    assert len(list(objects('{"a": 1}' * MOST_STARTS))) == MOST_STARTS
    with pytest.raises(TooMuch):
        list(objects('{"a": 1}' * (MOST_STARTS + 1)))
