"""What holds for every reply whatever."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judge.replies import choose_options, read_options, separate_thinking
from tests.replies.corpus import REPLIES, Labelled

INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad"

_PIECES = st.sampled_from(
    [
        "A",
        "B",
        "C",
        "D",
        "E",
        "a",
        "b",
        "e",
        " ",
        ", ",
        "\n",
        ": ",
        ". ",
        "et ",
        "and ",
        "or ",
        "not ",
        "pas ",
        "n'est ",
        "est ",
        "is ",
        "vrai",
        "faux",
        "true",
        "false",
        "Réponse : ",
        "the answer is ",
        "toutes ",
        "aucune ",
        "sauf ",
        "none ",
        "all of the above",
        "{",
        "}",
        '"answer"',
        "[",
        "]",
        "(",
        ")",
        "<think>",
        "</think>",
        "**",
        "|",
        "$",
        "\\boxed{",
        "→",
        "✓",
        "option ",
        "2",
        "second ",
        "mais ",
        "but ",
        "ni ",
        "?",
        "d'",
        "l'",
        "à ",
        "-",
        "/",
        "~~",
        "```",
        "&nbsp;",
        "&#",
        "> Reasoning\n",
        "Reasoned for 1 second\n",
        "<|channel|>final<|message|>",
        "Question:",
        "答案是",
        "é",
        "e\u0301",
        "Mitral stenosis",
        "vitamine ",
        "🅱",
        "Ⓑ",
        "\ud800",
        "\x00",
    ]
)
_REPLIES = st.one_of(
    st.text(), st.lists(_PIECES, max_size=25).map("".join), st.sampled_from([r.reply for r in REPLIES])
)
_LETTERS = st.sampled_from(["AB", "ABCD", "abcde", "ABCDEFGHIJ"])


@st.composite
def _questions(draw: st.DrawFn) -> dict[str, str]:
    texts = st.one_of(
        st.text(max_size=12), _PIECES, st.sampled_from(["A", "None", "NA", "True", "All of the above", "4"])
    )
    return {key: draw(texts) for key in draw(_LETTERS)}


_MANY = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@_MANY
@given(_REPLIES, _questions(), st.booleans())
def test_only_keys_of_the_options_are_chosen(reply: str, options: dict[str, str], multiple: bool) -> None:
    chosen = choose_options(reply, options, multiple=multiple)
    assert chosen is None or chosen <= options.keys()


@_MANY
@given(_REPLIES, _questions())
def test_one_answer_is_one_option_or_none_at_all(reply: str, options: dict[str, str]) -> None:
    chosen = choose_options(reply, options, multiple=False)
    assert chosen is None or len(chosen) == 1


@_MANY
@given(_REPLIES, _questions(), st.booleans())
def test_the_normalisation_form_does_not_matter(reply: str, options: dict[str, str], multiple: bool) -> None:
    readings = {read_options(unicodedata.normalize(form, reply), options, multiple=multiple) for form in ("NFC", "NFD")}
    assert len(readings) == 1


@_MANY
@given(_REPLIES, _questions(), st.booleans(), st.data())
def test_invisible_characters_do_not_matter(
    reply: str, options: dict[str, str], multiple: bool, data: st.DataObject
) -> None:
    gaps = data.draw(st.lists(st.text(alphabet=INVISIBLE, max_size=2), min_size=len(reply), max_size=len(reply)))
    spread = "".join(gap + character for gap, character in zip(gaps, reply, strict=True))
    assert read_options(spread, options, multiple=multiple) == read_options(reply, options, multiple=multiple)


@_MANY
@given(_REPLIES, _questions(), st.booleans(), st.text(alphabet=" \t\n\u00a0\u202f", max_size=4))
def test_surrounding_space_does_not_matter(reply: str, options: dict[str, str], multiple: bool, space: str) -> None:
    spaced = f"{space}{reply}{space}"
    assert read_options(spaced, options, multiple=multiple) == read_options(reply, options, multiple=multiple)


@_MANY
@given(_REPLIES)
def test_separating_thinking_never_fails_and_keeps_a_plain_text(text: str) -> None:
    separated = separate_thinking(text)
    assert len(separated.thinking) + len(separated.answer) <= len(text) + 2 * text.count("<") + 2 * text.count("[") + 2


def test_every_labelled_reply_survives_decomposition_and_invisible_characters() -> None:
    def read(labelled: Labelled) -> frozenset[str] | None:
        spread = INVISIBLE[0].join(unicodedata.normalize("NFD", labelled.reply))
        return choose_options(spread, labelled.options, multiple=labelled.multiple)

    assert [labelled.id for labelled in REPLIES if read(labelled) != labelled.expected] == []


_REPEATED = [
    "A ",
    "((((",
    "*",
    "réponse ",
    "A, ",
    "A ou ",
    "A\n",
    "A-",
    "- A\n",
    "[",
    "{",
    '{"a":',
    "<",
    "<think>",
    "</think>",
    "> ",
    "> Reasoning\n",
    "A : vrai\n",
    "the answer is ",
    "ni A ",
    "toutes ",
    "aucune ",
    "&#",
    "\\boxed{",
    "~~",
    "```",
    "| A | vrai |\n",
    "<|channel|>final<|message|>",
    "Question:",
    "\n",
    "答案是",
    "->",
    "option 1 ",
    "A: x\n\n",
    "Answer:\nA: x\nB: y\n",
    "Réponse :\n\nA) x\n",
    "it is ",
    "l'",
    "1",
    "&#1111",
    "Mitral ",
    "\\",
    "| A |\n|---|\n",
    "| A | B |\n",
    "attendez, ",
    "correction ",
]


@pytest.mark.parametrize("piece", _REPEATED, ids=ascii)
def test_a_long_degenerate_reply_is_read_to_its_end(piece: str) -> None:
    """A rule that does not run in linear time takes minutes over this."""
    options = {"A": "Mitral stenosis", "B": "Mitral regurgitation", "C": "Mitral", "D": "Aortic stenosis"}
    separate_thinking((piece * 200_000)[:200_000])
    # what is read of a longer reply is cut anyway
    choose_options((piece * 20_000)[:20_000], options, multiple=True)


def test_the_answer_is_found_at_either_end_of_a_very_long_reply() -> None:
    options = {"A": "Insulin", "B": "Glucagon"}
    filler = "The pancreas has islets. " * 10_000
    assert choose_options(f"{filler}\n\nAnswer: B", options, multiple=False) == {"B"}
    assert choose_options(f"Answer: B\n\n{filler}", options, multiple=False) == {"B"}
