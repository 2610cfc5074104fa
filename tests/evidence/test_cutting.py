"""Cutting: bounded passages that end where the text does, with nothing lost and lines that are right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.evidence.cutting import CHARACTERS, TITLE, cut


def sentence(letter: str, length: int) -> str:
    return letter * (length - 1) + "."


def test_given_short_paragraphs_when_cut_then_as_many_as_fit_stand_together() -> None:
    a, b, c = sentence("a", 400), sentence("b", 500), sentence("c", 300)
    pieces = list(cut(f"\n{a}\n \n\n{b}\n\n{c}\n"))
    # 400 + 4 characters between + 500 fit into 1,000; 300 more do not. Lines: 1 empty, a in 2, b in 5, c in 7.
    assert [(piece.text, piece.line) for piece in pieces] == [(f"{a}\n \n\n{b}", 2), (c, 7)]


def test_given_a_long_paragraph_when_cut_then_it_ends_at_sentences() -> None:
    first, second, third = sentence("a", 600), sentence("b", 300) + "»", sentence("c", 500)
    pieces = list(cut(f"{first} {second}\n{third}"))
    assert [(piece.text, piece.line) for piece in pieces] == [(f"{first} {second}", 1), (third, 2)]


def test_given_chinese_without_spaces_when_cut_then_it_ends_at_its_own_full_stops() -> None:
    first, second = "糖" * 699 + "。", "尿" * 699 + "。"
    assert [piece.text for piece in cut(first + second)] == [first, second]


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("a" * 600 + "\n" + "b" * 600, [600, 600]),
        ("a" * 600 + " " + "b" * 600, [600, 600]),
        ("a" * 2300, [1000, 1000, 300]),
        ("3.5 " * 250, [999]),
        (" \n\t\n ", []),
        ("", []),
    ],
    ids=range(6),
)
def test_given_a_text_without_sentences_when_cut_then_it_ends_at_lines_or_words_or_anywhere(
    text: str, lengths: list[int]
) -> None:
    assert [len(piece.text) for piece in cut(text)] == lengths


def test_given_a_title_when_cut_then_it_heads_every_passage_within_the_bound() -> None:
    pieces = list(cut(f"{sentence('a', 600)} {sentence('b', 600)}", " Asthma\nin children "))
    assert [piece.text.split("\n")[0] for piece in pieces] == ["Asthma in children"] * 2
    (only,) = cut("Text.", "t" * 900)
    assert only.text == "t" * TITLE + "\nText."


@given(st.text(alphabet=st.sampled_from("ab .。\n\r\u2028!»é"), max_size=6000), st.text(max_size=300))
def test_any_text_is_cut_within_bounds_and_nothing_of_it_is_lost(text: str, title: str) -> None:
    pieces = list(cut(text))
    assert "".join("".join(piece.text.split()) for piece in pieces) == "".join(text.split())
    assert all(0 < len(piece.text) <= CHARACTERS for piece in [*pieces, *cut(text, title)])
    lines = text.split("\n")
    for piece in pieces:
        assert piece.text.split("\n")[0] in lines[piece.line - 1]
