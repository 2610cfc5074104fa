"""Nothing a model writes makes the readers raise or hang."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.replies_doctor.mutations import mutated, published, read_all

_PIECES = st.sampled_from(
    [
        "<step 1>",
        "Step 2:",
        "1.",
        "-",
        "\n",
        " ",
        "### Answer:",
        "**",
        "None",
        "CT",
        ",",
        "and",
        ":",
        "|",
        "```",
        "<think>",
        "步骤1：",
        "(",
    ]
)
_REPEATED = [
    "<step 1> a ",
    "Step 1: a\n",
    "1. a\n",
    "1.\n 1.\n",
    "- a\n",
    "### Answer: ",
    "Reasoning\n",
    "**Conclusion:** ",
    "#",
    " ",
    "*",
    "**a",
    ":",
    "<step",
    "(",
    "[",
    "```\n",
    "| 1 | a |\n",
    "a: b - ",
    "None and ",
    "Labs: ",
    ", ",
    "history of ",
    "no tests and ",
    "please ",
    "\n",
]


@given(st.text() | st.lists(_PIECES | st.text(max_size=5), max_size=60).map("".join))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read(text: str) -> None:
    read_all(text)


@pytest.mark.parametrize("piece", _REPEATED)
def test_a_long_monotonous_text_is_read_to_its_end(piece: str) -> None:
    """A reader that does not run in linear time takes minutes over this."""
    read_all(piece * (100_000 // len(piece)))


@pytest.mark.data
def test_damaged_published_outputs_are_read() -> None:
    texts, chance = list(published()), random.Random(7)

    for _ in range(600):
        read_all(mutated(chance.choice(texts), chance))
