"""Thinking set apart from the answer."""

from __future__ import annotations

import pytest

from judge.replies import Separated, separate_thinking


@pytest.mark.parametrize(
    ("text", "thinking", "answer"),
    [
        ("<think>weigh it</think>B", "weigh it", "B"),
        ("<THINK>weigh it</Think>\n\nB", "weigh it", "B"),
        ("<thinking>weigh it</thinking> B", "weigh it", "B"),
        ("<reasoning>weigh it</reasoning>B", "weigh it", "B"),
        ("<thought>\nweigh it\n</thought>\nB", "weigh it", "B"),
        ("[THINK]weigh it[/THINK]B", "weigh it", "B"),
        ("◁think▷weigh it◁/think▷B", "weigh it", "B"),
        ("<think></think>B", "", "B"),
        ("<think>one</think>A<think>two</think>B", "one\n\ntwo", "A\n\nB"),
        ("<think>one<think>two</think>three</think>B", "one\n\ntwo\n\nthree", "B"),
        ("opened by the template</think>B", "opened by the template", "B"),
        ("it says </think> itself</think>B", "it says\n\nitself", "B"),
        ("<think>it says <think> itself</think>B", "it says\n\nitself", "B"),
        ("<unused94>thought\nweigh it<unused95>B", "weigh it", "B"),
        (
            "<|channel|>analysis<|message|>weigh<|end|><|start|>assistant<|channel|>final<|message|>B<|return|>",
            "weigh",
            "B",
        ),
        (
            "<|channel|>analysis<|message|>weigh<|end|><|channel|>commentary to=x<|message|>look<|end|>"
            "<|channel|>final<|message|>B",
            "weigh\n\nlook",
            "B",
        ),
        ("analysisWe weigh it.assistantfinalB", "We weigh it.", "B"),
        ("> Reasoning\n> weigh it\n>\n> again\n\nB", "weigh it\n\nagain", "B"),
        ("> Reasoning\n**Weighing**\nweigh it\nReasoned for 12 seconds\n\nB", "**Weighing**\nweigh it", "B"),
        ("> Reasoning\nweigh it\nReasoned for a couple of seconds\n\n### Answer:\nB", "weigh it", "### Answer:\nB"),
        ("> **Raisonnement**\n> peser\n\nB", "peser", "B"),
        ("Thought for 5 seconds\n\nB", "", "B"),
    ],
)
def test_thinking_is_set_apart(text: str, thinking: str, answer: str) -> None:
    assert separate_thinking(text) == Separated(thinking, answer, unclosed=False)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>weigh it", ""),
        ("B\n<think>weigh it", "B"),
        ("<think>done</think>B<think>again", "B"),
        ("[THINK]weigh it", ""),
        ("<|channel|>analysis<|message|>weigh it", ""),
        ("analysisWe weigh", ""),
        ("> Reasoning\nweigh it", ""),
        ("> Reasoning\n> weigh it", ""),
    ],
)
def test_thinking_without_an_end_leaves_only_what_stood_before(text: str, answer: str) -> None:
    separated = separate_thinking(text)
    assert (separated.answer, separated.unclosed) == (answer, True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "B",
        " B \n",
        "### Reasoning:\nfirst\n### Answer:\nB",
        "> B",
        "I think B",
        "analysis of the case",
        "a < b > c",
    ],
)
def test_a_text_without_thinking_is_all_answer_unchanged(text: str) -> None:
    assert separate_thinking(text) == Separated("", text, unclosed=False)
