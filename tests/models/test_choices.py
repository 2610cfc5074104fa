"""The letter that a reply's log-probabilities choose: at which token it is read, and when it is not read at all."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.models.choices import Choice, choice_from_logprobs, choice_from_scores
from judge.models.reply import Reply, read_completion
from tests.models.tokens import Said, logprobs, scored, spelled

#: B is likeliest, D is not among the alternatives.
B_FIRST = {"B": 0.6, "A": 0.3, "C": 0.05, "The": 0.01}
B = ("B", B_FIRST)


def reply_of(content: str | None, given: Any, *, finish: str = "stop", **message: Any) -> Reply:
    choice = {"message": {"content": content, **message}, "finish_reason": finish, "logprobs": given}
    return read_completion(json.dumps({"choices": [choice]}))


def chosen(*said: Said, letters: str = "ABCD", **how: Any) -> Choice:
    """The choice by a reply of these tokens."""
    return choice_from_logprobs(reply_of(spelled(said), logprobs(*said, **how)), letters)


def why(choice: Choice) -> str:
    assert choice.best is None
    assert choice.unscored is not None
    return choice.unscored.reason


def test_given_a_bare_letter_when_it_is_read_then_its_alternatives_are_the_scores() -> None:
    choice = chosen(B)
    expected = {"A": math.log(0.3), "B": math.log(0.6), "C": math.log(0.05), "D": None}
    assert (choice.best, choice.scores, choice.how, choice.ties) == ("B", expected, "logprobs", ())
    assert choice.forms == {"A": "A", "B": "B", "C": "C"}
    assert choice.reply is not None
    assert choice.reply.text == "B"


def test_given_two_forms_of_a_letter_when_it_is_read_then_the_likelier_one_counts() -> None:
    """As sums, A would have .55 and B .45; of the single tokens, B's is the likeliest."""
    choice = chosen(("A", {" B": 0.45, "A": 0.3, " A": 0.25}))
    assert (choice.best, choice.forms["B"], choice.forms["A"]) == ("B", " B", "A")
    assert choice.scores["A"] == pytest.approx(math.log(0.3))


def test_given_alternatives_that_are_markup_or_several_letters_when_it_is_read_then_they_are_no_letters() -> None:
    choice = chosen(("B", {"B": 0.4, "**": 0.2, "AB": 0.15, "\n": 0.1, "D": 0.05, "d": 0.04}))
    assert (choice.best, choice.forms) == ("B", {"B": "B", "D": "D"})


HEADS: list[tuple[Said, ...]] = [
    (("B", B_FIRST), ".", " Because", " of", " A"),
    (" ", "\n", (" B", {" B": 0.6, " A": 0.3})),
    ("**", B, "**", "\n", "Reason"),
    ("**", "Answer", ":", "**", " ", "(", B, ")"),
    (("**B", {"**B": 0.6, "**A": 0.3}), "**"),
    (("(B", {"(B": 0.6, "(A": 0.3}), ")", " apple"),
    ("The", " correct", " answer", " is", (" B", {" B": 0.6, " A": 0.3}), " because", " A", " is", " wrong"),
    ('{"', "answer", '":', ' "', B, '"', ', "', "explanation", '": "', "A", " patient", '"}'),
    ("$\\", "boxed", "{", B, "}$"),
    ("ANSWER", ":", " $", B, "$"),
    (("Ｂ", {"Ｂ": 0.6, "Ａ": 0.3}),),
    (("B", B_FIRST), "\n\n", "A", ".", " wrong", "\n", "B", ".", " right"),
    ("A", " patient", " who", " sleeps", ".", "\n", "Answer", ":", (" B", {" B": 0.6, " A": 0.3})),
    ("A", ".", " stone", "\n", "B", ".", " apple", "\n\n", "**", "Answer", "**:", (" B", {" B": 0.6, " A": 0.3})),
    ("D", " dimer", " is", " high", "; ", "the", " answer", ":", "\n", B),
]


@pytest.mark.parametrize("said", HEADS, ids=[spelled(said) for said in HEADS])
def test_given_a_way_of_answering_when_it_is_read_then_it_is_read_at_the_letter(said: tuple[Said, ...]) -> None:
    choice = chosen(*said)
    assert choice.best == "B"
    assert choice.scores["B"] == pytest.approx(math.log(0.6))
    assert choice.scores["A"] == pytest.approx(math.log(0.3))


UNREAD: list[tuple[str, tuple[Said, ...]]] = [
    ("no_letter_in_logprobs", ("Ap", "ples", " are", " fruit", ".")),
    ("no_letter_in_logprobs", ("A", " patient", " with", " fever")),
    ("no_letter_in_logprobs", ("B", " cells", " make", " antibodies")),
    ("no_letter_in_logprobs", ("B", "-cell", " lymphoma")),
    ("no_letter_in_logprobs", ("A", " or", " B")),
    ("no_letter_in_logprobs", ("AB", " and", " CD")),
    ("no_letter_in_logprobs", ("A", ",", " C")),
    ("no_letter_in_logprobs", ("None", " of", " A", " to", " D")),
    ("no_letter_in_logprobs", ("The", " answer", " is", " not", " A", ".")),
    ("no_letter_in_logprobs", ("A", ".", " stone", "\n", "B", ".", " apple")),
    ("no_letter_in_logprobs", ("Answer: B",)),  # one token: its alternatives are no letters
    ("conflicting_letters", ("B", ".", " No", ":", " the", " answer", " is", " C")),
]


@pytest.mark.parametrize(("reason", "said"), UNREAD, ids=[spelled(said) for _, said in UNREAD])
def test_given_no_single_announced_letter_when_it_is_read_then_there_is_no_choice(
    reason: str, said: tuple[Said, ...]
) -> None:
    assert why(chosen(*said)) == reason


def test_given_the_sampled_letter_is_not_the_likeliest_when_it_is_read_then_the_likeliest_is_chosen() -> None:
    assert chosen(("A", B_FIRST)).best == "B"


@pytest.mark.parametrize("second", [0.4, 0.4 * math.exp(-5e-5)])
def test_given_equal_scores_when_they_are_read_then_there_is_no_choice_and_the_tie_is_named(second: float) -> None:
    choice = chosen(("A", {"A": 0.4, "C": second, "B": 0.1}))
    assert (why(choice), choice.ties) == ("tied_letters", ("A", "C"))
    assert choice.scores["B"] == pytest.approx(math.log(0.1))


def test_given_a_sampled_letter_below_the_listed_tokens_when_it_is_read_then_another_may_be_likelier() -> None:
    token = {**scored("B", 0.01), "top_logprobs": [scored("The", 0.7), scored("It", 0.2)]}
    choice = choice_from_logprobs(reply_of("B", {"content": [token]}), "ABCD")
    assert why(choice) == "letters_below_top"
    assert choice.scores["B"] == pytest.approx(math.log(0.01))


@pytest.mark.parametrize("given", [None, {}, {"content": None}, {"content": []}, "none", {"content": ["x", 3]}])
def test_given_no_log_probabilities_when_they_are_read_then_the_reason_says_so(given: Any) -> None:
    assert why(choice_from_logprobs(reply_of("B", given), "ABCD")) == "no_logprobs"


def test_given_no_alternatives_when_they_are_read_then_one_letter_is_no_comparison() -> None:
    assert why(choice_from_logprobs(reply_of("B", {"content": [scored("B", 0.9)]}), "ABCD")) == "no_alternatives"


@pytest.mark.parametrize("odd", [None, "-0.1", True, float("nan"), float("-inf"), 2.5])
def test_given_scores_that_are_no_log_probabilities_when_they_are_read_then_they_are_none(odd: Any) -> None:
    token = {"token": "B", "logprob": odd, "top_logprobs": [{"token": "B", "logprob": odd}, scored("The", 0.2)]}
    assert why(choice_from_logprobs(reply_of("B", {"content": [token]}), "ABCD")) == "no_letter_in_logprobs"


@pytest.mark.parametrize("mark", ["▁", "Ġ"])
def test_given_tokens_with_word_start_marks_and_without_bytes_when_they_are_read_then_marks_are_spaces(
    mark: str,
) -> None:
    token = (f"{mark}B", {f"{mark}B": 0.6, f"{mark}A": 0.3})
    choice = choice_from_logprobs(reply_of(" B", logprobs(token, with_bytes=False)), "ABCD")
    assert (choice.best, choice.forms["B"]) == ("B", " B")


def test_given_characters_cut_into_several_tokens_when_they_are_read_then_the_answer_is_still_found() -> None:
    """Some servers give half a character as U+FFFD, without its bytes."""
    given = logprobs(B, ":", " 5", " \ufffd", "\ufffd", "g", with_bytes=False)
    assert choice_from_logprobs(reply_of("B: 5 µg", given), "ABCD").best == "B"


def test_given_an_accent_in_a_token_of_its_own_when_it_is_read_then_the_answer_is_still_found() -> None:
    given = logprobs(B, ".", " re", "\u0301", "ponse")
    assert choice_from_logprobs(reply_of("B. réponse", given), "ABCD").best == "B"


# Thinking

THOUGHT: tuple[Said, ...] = ("<think>", ("A", {"A": 0.9, "B": 0.1}), " or", " answer", ":", " A", "</think>", "\n\n")


def test_given_thinking_in_the_text_when_it_is_read_then_its_letters_are_passed_over() -> None:
    assert chosen(*THOUGHT, B).scores["A"] == pytest.approx(math.log(0.3))


def test_given_thinking_in_a_field_of_its_own_when_its_tokens_are_listed_then_they_are_passed_over() -> None:
    reply = reply_of("B", logprobs(*THOUGHT, B, "<|im_end|>"), reasoning_content="A or answer: A")
    assert choice_from_logprobs(reply, "ABCD").scores["A"] == pytest.approx(math.log(0.3))


def test_given_thinking_that_never_ends_when_it_is_read_then_there_is_no_choice() -> None:
    assert why(chosen("<think>", B)) == "truncated_reasoning"


def test_given_tokens_of_another_text_when_they_are_read_then_there_is_no_choice() -> None:
    assert why(choice_from_logprobs(reply_of("B", logprobs("thinking", " only")), "AB")) == "answer_not_in_logprobs"


# Replies that are cut off or missing


def test_given_an_answer_that_is_cut_off_after_its_letter_when_it_is_read_then_the_letter_counts() -> None:
    reply = reply_of("B because", logprobs(B, " because"), finish="length")
    assert choice_from_logprobs(reply, "ABCD").best == "B"


@pytest.mark.parametrize(
    ("reason", "content", "fields"),
    [
        ("truncated", None, {"finish": "length", "reasoning_content": "Is it A?"}),
        ("refused", None, {"refusal": "no"}),
        ("empty_reply", "", {}),
    ],
)
def test_given_no_answer_when_it_is_read_then_its_own_reason_stands(
    reason: str, content: str | None, fields: dict[str, Any]
) -> None:
    assert why(choice_from_logprobs(reply_of(content, logprobs(B), **fields), "ABCD")) == reason


SHAPES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers(-9, 300) | st.sampled_from(["B", " A", "**", "Ω", ""]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["content", "token", "bytes", "logprob", "top_logprobs"]), inner)
    ),
    max_leaves=20,
)


@given(SHAPES, st.sampled_from(["B", "B. Because", "", "**", "The answer: A"]))
def test_given_anything_in_place_of_log_probabilities_when_it_is_read_then_nothing_raises(odd: Any, text: str) -> None:
    choice = choice_from_logprobs(Reply(text, logprobs={"content": [odd, {"token": text, "top_logprobs": odd}]}), "AB")
    assert (choice.best is None) == (choice.unscored is not None)


# Scores of a model in this process


def stored(**letters: dict[str, float | None]) -> str:
    return json.dumps({"model": "m", "letters": letters})


def test_given_stored_scores_when_they_are_read_then_the_highest_form_of_all_decides() -> None:
    choice = choice_from_scores(stored(A={"A": -2.0, " A": -0.5}, B={"B": -1.0, " B": -9.0}), "AB")
    assert (choice.best, choice.scores, choice.forms) == ("A", {"A": -0.5, "B": -1.0}, {"A": " A", "B": "B"})
    assert (choice.how, choice.reply, choice.unscored) == ("logits", None, None)


@pytest.mark.parametrize(
    ("reason", "b"),
    [("letter_not_a_token", {}), ("score_not_finite", {"B": None}), ("tied_letters", {"B": -2.0})],
)
def test_given_stored_scores_that_cannot_be_compared_when_they_are_read_then_there_is_no_choice(
    reason: str, b: dict[str, float | None]
) -> None:
    choice = choice_from_scores(stored(A={"A": -2.0}, B=b), "AB")
    assert why(choice) == reason
    assert choice.scores["A"] == -2.0
