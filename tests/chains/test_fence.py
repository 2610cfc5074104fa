"""Fences: data cannot close them, and the same call has the same ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from judge.chains.fence import Fence, Items, fence_for, numbered
from judge.models.address import Address

HERE = Address("b", "s", "c", 1, "judge:x", "match/0")
ANY = st.text(st.characters(), max_size=40)


def test_given_a_text_when_it_is_fenced_then_name_and_mark_stand_around_it() -> None:
    assert Fence("ab").around("case", "text") == "<<<case ab>>>\ntext\n<<<end ab>>>"


def test_given_several_texts_when_they_are_fenced_then_each_stands_below_its_number() -> None:
    shown = Fence("ab").around("steps", numbered([(0, "one"), (4, "five\n<<<2 xx>>>")]))
    assert shown == "<<<steps ab>>>\n<<<1 ab>>>\none\n<<<5 ab>>>\nfive\n<<<2 xx>>>\n<<<end ab>>>"


@given(st.dictionaries(st.sampled_from("abc"), ANY | st.lists(st.tuples(ANY, ANY)).map(lambda p: Items(tuple(p)))))
def test_given_any_texts_when_a_fence_is_made_twice_then_it_is_the_same_and_its_mark_is_in_none(
    data: dict[str, str | Items],
) -> None:
    mark = fence_for("nonce", HERE, data).mark
    assert mark == fence_for("nonce", HERE, dict(reversed(data.items()))).mark
    texts = [text for value in data.values() for text in ([value] if isinstance(value, str) else sum(value.pieces, ()))]
    assert not [text for text in texts if mark in text]


def test_given_two_texts_of_one_label_when_a_fence_is_made_then_both_decide_its_mark() -> None:
    one, other = (Items((("passage", first), ("passage", "same"))) for first in ("one", "other"))
    assert fence_for("nonce", HERE, {"x": one}) != fence_for("nonce", HERE, {"x": other})


def test_given_another_nonce_or_address_when_a_fence_is_made_then_its_mark_differs() -> None:
    there = Address("b", "s", "c", 2, "judge:x", "match/0")
    marks = {fence_for(*args, {"x": "y"}).mark for args in (("n", HERE), ("m", HERE), ("n", there))}
    assert len(marks) == 3
