"""Reading a chat completion: every shape gives a reply, and why it cannot be read where it cannot."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.models.exchange import Usage, read_usage
from judge.models.reply import REASONING_KEYS, read_completion
from tests.models.helpers import at, chat_on, completion, user
from tests.server import ModelServer, Reply, says


def reason(response: str) -> str | None:
    unscored = read_completion(response).unscored
    return unscored.reason if unscored else None


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (says("B"), None),
        (Reply(content=None), "empty_reply"),
        (Reply(content=""), "empty_reply"),
        (Reply(content=" \n\t"), "empty_reply"),
        (Reply(content=None, reasoning="B, since …"), "empty_reply"),
        (Reply(content="", reasoning="B, since …", reasoning_field="reasoning"), "empty_reply"),
        (Reply(content=None, reasoning="so …", finish_reason="length"), "truncated"),
        (Reply(content="The answer is", finish_reason="length"), "truncated"),
        (Reply(content="The answer is", finish_reason="max_tokens"), "truncated"),
        (Reply(content="The answer is", finish_reason="MAX_TOKENS"), "truncated"),
        (Reply(choices_empty=True), "empty_choices"),
        (Reply(no_choices_key=True), "malformed_response"),
        (Reply(message_null=True), "null_message"),
        (Reply(content=None, refusal="I cannot help with that."), "refused"),
        (Reply(content="B", refusal="I cannot help with that."), "refused"),
        (Reply(content="B", finish_reason="content_filter"), "content_filter"),
        (says("<think>B or C, maybe"), "truncated_reasoning"),
        (says("<think>B or C, maybe", finish_reason="length"), "truncated_reasoning"),
        (says("<think>B or C</think>"), "empty_reply"),
        (says("<think>B or C</think>C", finish_reason="length"), "truncated"),
        (says("B", finish_reason=None), None),
    ],
)
async def test_given_what_a_server_sends_when_it_is_read_then_the_reason_says_why_not(
    reply: Reply, why: str | None
) -> None:
    with ModelServer(reply) as server:
        async with chat_on(server) as chat:
            said = await chat.ask(user(), at())
        assert len(server.calls) == 1

    assert (said.unscored.reason if said.unscored else None) == why


@pytest.mark.parametrize(
    ("response", "why"),
    [
        ("", "malformed_response"),
        ("null", "malformed_response"),
        ("[]", "malformed_response"),
        ('"choices"', "malformed_response"),
        ('{"choices": null}', "empty_choices"),
        ('{"choices": {}}', "empty_choices"),
        ('{"choices": [null]}', "null_message"),
        ('{"choices": [{}]}', "null_message"),
        ('{"choices": [{"message": "text"}]}', "null_message"),
        ('{"choices": [{"message": {}}]}', "empty_reply"),
        ('{"choices": [{"message": {"content": 5}}]}', "empty_reply"),
        ('{"choices": [{"message": {"content": {"text": "B"}}}]}', "empty_reply"),
        ("[" * 100_000, "malformed_response"),
    ],
    ids=range(13),
)
def test_given_an_odd_response_when_it_is_read_then_it_is_unscored(response: str, why: str) -> None:
    assert reason(response) == why


@pytest.mark.parametrize(
    ("content", "text", "thinking"),
    [
        ("B", "B", ""),
        ("<think>hm</think>B", "B", "hm"),
        ("<think>\n\n</think>\n\nB", "B", ""),
        ("hm, A</think>\nB", "B", "hm, A"),
        ("<think>A</think> no <think>C</think> B", "no\n\nB", "A\n\nC"),
        ([{"type": "text", "text": "B"}], "B", ""),
        ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "B"}], "B", "hm"),
        (
            [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "B"}],
            "B",
            "hm",
        ),
        (
            [{"type": "reasoning_content", "reasoning_content": {"text": "hm"}}, {"type": "text", "text": "B"}],
            "B",
            "hm",
        ),
        ([{"type": "redacted_thinking", "data": "xyz"}, "A, ", {"text": "B"}, None, 3], "A, B", ""),
        ([{"type": "image_url", "image_url": {"url": "x"}}], "", ""),
    ],
    ids=range(11),
)
def test_given_content_of_any_form_when_it_is_read_then_answer_and_thinking_are_apart(
    content: Any, text: str, thinking: str
) -> None:
    reply = read_completion(completion(content))
    assert (reply.text, reply.thinking) == (text, thinking)


@pytest.mark.parametrize("key", REASONING_KEYS)
@pytest.mark.parametrize(
    "value",
    [
        "hm",
        [{"type": "reasoning.text", "text": "hm"}],
        {"content": "hm"},
        [{"type": "summary", "summary": [{"text": "hm"}]}],
    ],
    ids=range(4),
)
def test_given_reasoning_in_any_field_and_form_when_it_is_read_then_text_and_value_are_kept(
    key: str, value: Any
) -> None:
    reply = read_completion(completion("B", **{key: value}))
    assert (reply.text, reply.thinking, reply.reasoning_key, reply.reasoning_value) == ("B", "hm", key, value)
    assert reply.message(send_reasoning=True) == {"role": "assistant", "content": "B", key: value}
    assert reply.message(send_reasoning=False) == {"role": "assistant", "content": "B"}


def test_given_empty_reasoning_fields_when_they_are_read_then_the_first_with_text_counts() -> None:
    fields = {
        "reasoning_content": None,
        "reasoning": "",
        "reasoning_details": [{"type": "x", "data": "1"}],
        "thinking": "hm",
    }
    assert read_completion(completion("B", **fields)).reasoning_key == "thinking"


PROMPT = "Which of these options is right? A. one B. two C. three D. four"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (f"{PROMPT}\nB", "B"),
        (f"\n {PROMPT}B", "B"),
        (f"You asked: {PROMPT}\nB", f"You asked: {PROMPT}\nB"),
        (PROMPT[:30], PROMPT[:30]),
    ],
)
def test_given_an_echo_of_the_prompt_when_it_is_read_then_it_is_taken_off_the_head(content: str, text: str) -> None:
    assert read_completion(completion(content), prompt=f"{PROMPT}\n").text == text


def test_given_a_short_prompt_when_the_answer_begins_with_it_then_it_stays() -> None:
    assert read_completion(completion("B or C? B"), prompt="B or C?").text == "B or C? B"


def test_given_lone_surrogates_anywhere_when_it_is_read_then_all_of_it_can_be_stored() -> None:
    lone, pair = "\ud83d", "\ud83d\ude00"
    fields = {"reasoning_content": lone, "refusal": lone}
    body = json.loads(completion(f"{lone} {pair}", **fields)) | {"model": lone, "system_fingerprint": lone}
    body["choices"][0] |= {"finish_reason": lone, "logprobs": {"content": [{"token": lone}]}}
    for response in (json.dumps(body), json.dumps(body, ensure_ascii=False)):
        reply = read_completion(response)
        assert reply.text == "\ufffd 😀"
        repr_of_all = [reply.text, reply.thinking, reply.reasoning_value, reply.finish_reason, reply.served_model,
                       reply.fingerprint, reply.logprobs, reply.unscored and reply.unscored.detail]  # fmt: skip
        json.dumps(repr_of_all, ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        (None, Usage()),
        ([], Usage()),
        ("12", Usage()),
        ({}, Usage()),
        ({"prompt_tokens": 3, "completion_tokens": 2}, Usage(3, 2)),
        ({"prompt_tokens": "3", "completion_tokens": 2.0}, Usage()),
        ({"prompt_tokens": -1, "completion_tokens": True}, Usage()),
        ({"prompt_tokens": 10**30, "completion_tokens": 2}, Usage(None, 2)),
        ({"prompt_tokens": 3, "completion_tokens": 2, "completion_tokens_details": []}, Usage(3, 2)),
        ({"prompt_tokens": 3, "completion_tokens_details": "x", "prompt_tokens_details": 1}, Usage(3)),
        ({"prompt_tokens": 3, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 7},
          "prompt_tokens_details": {"cached_tokens": 1}}, Usage(3, 9, 7, 1)),
    ],
    ids=range(11),
)  # fmt: skip
def test_given_usage_of_any_type_when_it_is_read_then_only_counts_are_taken(usage: Any, read: Usage) -> None:
    response = json.dumps(json.loads(completion()) | {"usage": usage})
    assert read_usage(response) == read
    assert read_completion(response).usage == read


KEYS = st.sampled_from(
    ["choices", "message", "content", "finish_reason", "refusal", "usage", "type", "text", "model", "logprobs",
     "prompt_tokens", "completion_tokens_details", *REASONING_KEYS]
)  # fmt: skip
CHARACTERS = st.text(st.characters(exclude_categories=()), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | CHARACTERS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
MESSAGES = st.dictionaries(KEYS, VALUES, max_size=6)
CHOICES = st.fixed_dictionaries({"message": MESSAGES}, optional={"finish_reason": VALUES, "logprobs": VALUES})
BODIES = st.fixed_dictionaries(
    {"choices": st.lists(CHOICES, min_size=1, max_size=2) | VALUES}, optional={"usage": VALUES, "model": VALUES}
)


@given(st.text() | VALUES.map(json.dumps) | BODIES.map(json.dumps), st.text())
def test_given_any_text_or_structure_when_it_is_read_then_nothing_raises(response: str, prompt: str) -> None:
    reply = read_completion(response, prompt=prompt)
    reply.text.encode("utf-8")
    reply.thinking.encode("utf-8")
    assert reply.unscored is not None or reply.text
