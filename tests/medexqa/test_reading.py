"""Which option a reply names, by its letter or its exact text, and what of the reply is the explanation."""

from __future__ import annotations

import pytest

from graphs.medexqa.reading import explanation_of, has_letter_texts, option_of, read_answer

PUMP = {"A": "the drip sensor", "B": "the pinch clamp", "C": "the bubble trap", "D": "the battery cradle"}
#: Antigens: capital and small letters are different things, and letters are texts.
ANTIGENS = {"A": "D", "B": "e", "C": "C", "D": "E"}
#: A text that is a letter, but of no option.
LEADS = {"A": "aVR", "B": "V3", "C": "I", "D": "aVF"}
WHY = "It closes the line by a spring. The drip sensor only counts drops."


@pytest.mark.parametrize(
    "reply",
    [
        "B",
        f"B\n{WHY}",
        f"B.\n\n{WHY}",
        f"**B**\n{WHY}",
        f"(B)\n{WHY}",
        f"Answer: B\n{WHY}",
        f"**Answer:** B\n\n**Explanation:** {WHY}",
        f"The answer is B.\n{WHY}",
        f"$\\boxed{{B}}$\n{WHY}",
        f"B. the pinch clamp\n{WHY}",
        f"**B) the pinch clamp**\n\n{WHY}",
        f"the pinch clamp (B)\n{WHY}",
        f"the pinch clamp\n\n{WHY}",
        f"The correct answer is B because it closes the line. {WHY}",
        f"{WHY}\n\nAnswer: B",
        f"{WHY}\n\nthe pinch clamp",
        f"{WHY} So the answer is B.",
        "A\nNo, a sensor stops nothing. So the answer is B.",
        f"B\nThe other options are: a drip sensor, which counts drops; a bubble trap. {WHY}",
        f"B\nHence it is a 'pinch clamp'. {WHY}",
    ],
)
def test_given_a_letter_or_a_text_when_it_is_read_then_it_is_that_option(reply: str) -> None:
    assert read_answer(reply, PUMP).letter == "B"


@pytest.mark.parametrize(
    "reply", ["", "None of the above.", "E", "A or B", "I cannot answer this question.", "It depends on the ward.",
              "A patient needs a pump that stops."],
)  # fmt: skip
def test_given_no_single_option_when_it_is_read_then_there_is_no_answer(reply: str) -> None:
    assert read_answer(reply, PUMP).letter is None


@pytest.mark.parametrize(
    ("reply", "well_formed"),
    [
        ("B\nwhy", True),
        ("**B**\nwhy", True),
        ("B", True),
        ("Answer: B\nwhy", False),
        ("why\nB", False),
        ("B. why", False),
    ],
)
def test_well_formed_is_the_letter_alone_on_the_first_line(reply: str, well_formed: bool) -> None:
    assert read_answer(reply, PUMP).well_formed is well_formed


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("e", "B"),
        ("Answer: e", "B"),
        ("E", "D"),
        ("**E**\nIt is dominant.", "D"),
        ("D", "D"),  # a letter of the question, before the text that is that letter
        ("C", "C"),
        ("A. D", "A"),
        ("A (D)", "A"),
        ("Answer: A. D\nIt is the antigen that matters most.", "A"),
        ("The answer is A.", "A"),
        ("The answer is e.", "B"),
        ("e is the weakest of them, so I would say antigen e.", None),
        ("d", None),
    ],
)
def test_given_options_that_differ_in_case_when_a_reply_is_read_then_case_counts(
    reply: str, letter: str | None
) -> None:
    assert read_answer(reply, ANTIGENS).letter == letter


def test_given_a_text_that_is_a_letter_of_no_option_when_it_is_named_then_it_is_that_option() -> None:
    assert not has_letter_texts(LEADS)
    assert read_answer("I\nLead I looks at the side.", LEADS).letter == "C"


def test_none_of_the_above_is_an_answer_only_where_it_is_an_option() -> None:
    assert option_of("None of the above.", {**PUMP, "D": "None of the above"}) == "D"
    assert option_of("none", {**PUMP, "D": "None"}) is None


@pytest.mark.parametrize(
    ("reply", "explanation"),
    [
        (f"B\n{WHY}", WHY),
        (f"B\n\n**Explanation:** {WHY}", WHY),
        (f"**Answer: B. the pinch clamp**\n\nExplanation:\n{WHY}", WHY),
        (f"{WHY}\n\nAnswer: B", WHY),
        ("B\nFirst.\n\nSecond.", "First.\n\nSecond."),
        ("The answer is B because it closes the line.", "The answer is B because it closes the line."),
        ("B", ""),
        ("Answer: B", ""),
        ("B. the pinch clamp", ""),
        ("  \n", ""),
    ],
)
def test_the_explanation_is_what_remains_without_the_lines_that_name_an_option(reply: str, explanation: str) -> None:
    assert explanation_of(reply, PUMP) == explanation
