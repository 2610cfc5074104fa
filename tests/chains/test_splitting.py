"""Splitting by a judge: steps are verbatim spans, in order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.chains.splitting import split_text
from judge.models.verdict import JudgeFailed
from tests.chains.scripted import SPLIT, Asked, ScriptedJudge, asker_of

TEXT = "1. Fever and\n   neck stiffness suggest meningitis.\n\n2. Fever argues against migraine. So: tap."


def steps(*spans: str) -> dict[str, Any]:
    return {"rationale": "by thought", "steps": list(spans)}


async def split(text: str, *answers: dict[str, Any], most: int | None = None) -> tuple[tuple[str, ...], list[Asked]]:
    judge = ScriptedJudge(answers)
    return await split_text(asker_of(judge), SPLIT, "split", text, most=most), judge.asked


async def test_given_spans_with_other_blanks_when_split_then_the_steps_are_as_in_the_text() -> None:
    found, asked = await split(TEXT, steps("Fever and neck stiffness suggest meningitis.", "Fever  argues", "So: tap."))
    assert found == ("Fever and\n   neck stiffness suggest meningitis.", "Fever argues", "So: tap.")
    assert asked[0].step == "split"
    assert asked[0].inside("text") == TEXT


@pytest.mark.parametrize(
    ("spans", "fault"),
    [
        (["Fever", "neck pain"], "step 2 does not stand in the text"),
        (["So: tap.", "Fever argues"], "step 2 does not stand in the text"),  # order
        (["Fever and neck stiffness", "stiffness suggest"], "step 2 does not stand in the text"),  # overlap
        (["So: tap.", "So: tap."], "step 2 does not stand in the text"),  # once in the text
        (["fever and"], "step 1 does not stand in the text"),  # another case
        (["Fever", " \n"], "step 2 does not stand in the text"),
        (["", "bad"], "step 1 does not stand in the text"),
        ([], "steps is empty"),
        (["Fever", "and", "neck", "stiffness"], "there are 4 steps, at most 3 are allowed"),
    ],
)
async def test_given_steps_that_are_no_spans_when_split_then_the_judge_hears_of_the_first_and_is_asked_again(
    spans: list[str], fault: str
) -> None:
    found, asked = await split(TEXT, steps(*spans), steps("Fever and"), most=3)
    assert found == ("Fever and",)
    assert len(asked) == 2
    assert fault in asked[1].faults[0]


async def test_given_a_judge_that_never_copies_when_split_then_there_is_no_split() -> None:
    with pytest.raises(JudgeFailed, match=r"step 1 does not stand in the text.*'Fièvre'"):
        await split(TEXT, *[steps("Fièvre")] * 3)


@pytest.mark.parametrize("text", ["", " \n\t\u00a0\u3000", "\x00\u200b "])
async def test_given_a_blank_text_when_split_then_there_are_no_steps_and_no_call(text: str) -> None:
    assert await split(text) == ((), [])


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("首先，发热提示感染。其次，颈强直提示脑膜炎。", ["首先，发热提示感染。", "其次，颈强直提示脑膜炎。"]),
        ("D’abord\u202f: fièvre\u00a0; puis « raideur ».", ["D’abord : fièvre ;", "puis « raideur »."]),
        ("a (b) [c] {d} .* \\1 $ ^ a+", ["a (b) [c]", "{d} .* \\1 $ ^", "a+"]),
    ],
)
async def test_given_any_language_or_signs_when_split_then_the_spans_are_found(text: str, spans: list[str]) -> None:
    found, _ = await split(text, steps(*spans))
    assert ["".join(step.split()) for step in found] == ["".join(span.split()) for span in spans]
    assert all(step in text for step in found)


@pytest.mark.parametrize(
    ("text", "read", "copied", "expected"),
    [
        (
            "Fever a\ud800b.\nSo flu.",
            "Fever a\ufffdb.\nSo flu.",
            "Fever a\ufffdb.",
            "Fever a\ufffdb.",
        ),  # cannot be sent
        ("Fever a\x00b.\nSo flu.", "Fever a\x00b.\nSo flu.", "Fever ab.", "Fever a\x00b."),
        (
            "\ufeffFever\u200b.\u200b\nSo flu.",
            "\ufeffFever\u200b.\u200b\nSo flu.",
            "Fever.",
            "\ufeffFever\u200b.\u200b",
        ),
    ],
    ids=["lone surrogate", "NUL", "zero width"],
)
async def test_given_characters_that_cannot_be_copied_when_split_then_the_steps_are_those_of_the_text_as_it_is_read(
    text: str, read: str, copied: str, expected: str
) -> None:
    found, asked = await split(text, steps(copied, "So flu."))
    assert asked[0].inside("text") == read
    assert found == (expected, "So flu.")


async def test_given_a_limit_when_split_then_the_prompt_names_it() -> None:
    _, asked = await split(TEXT, steps("Fever"), most=10)
    assert "Give at most 10." in asked[0].text


@given(st.lists(st.text(st.sampled_from("ab \n\t\u00a0é中.*"), min_size=1).filter(str.strip), min_size=1, max_size=6))
async def test_given_any_text_cut_into_spans_when_split_then_they_come_back_trimmed(spans: list[str]) -> None:
    found, _ = await split("\n".join(spans), steps(*(" ".join(span.split()) for span in spans)))
    assert found == tuple(span.strip() for span in spans)
