"""Evidence as a judge sees it: with its source, bounded, and every cut visible."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from judge.chains.searches import EVIDENCE_CHARACTERS, PASSAGES, Found, Queries, evidence_items
from judge.evidence import Passage


def found(query: str, *texts: str) -> Found:
    return Found(query, tuple(Passage(text, f"notes.md:{n}") for n, text in enumerate(texts, start=1)))


def test_given_passages_when_shown_then_each_has_its_query_and_source() -> None:
    pieces = evidence_items({"passage": [found("ifp lead point", "An IFP can lead."), found("ifp age")]}).pieces
    assert pieces == (
        ("passage", "searched for: ifp lead point\nsource: notes.md:1\nAn IFP can lead."),
        ("passage", "searched for: ifp age\nnothing was found"),
    )


def test_given_no_search_when_shown_then_there_is_nothing() -> None:
    assert evidence_items({"passage": []}).pieces == ()


def test_given_long_passages_when_shown_then_only_the_longest_is_cut_and_says_by_how_much() -> None:
    short = "s" * 1000
    (_, first), (_, second) = evidence_items({"passage": [found("q", "l" * 9000, short)]}).pieces
    assert second.endswith("\n" + short)
    assert first.endswith(f"\n{'l' * 7000} [cut: 2000 more characters are not shown]")


def test_given_too_many_passages_when_shown_then_the_best_of_each_search_are_and_the_number_left_out() -> None:
    searches = [found(query, *(f"{query} text {n}" for n in range(15))) for query in ("one", "two")]
    *shown, note = evidence_items({"passage": searches}).pieces
    assert [text.splitlines()[-1] for _, text in shown] == [f"{q} text {n}" for q in ("one", "two") for n in range(10)]
    assert note == ("note", "10 more passages were found and are not shown")


def test_given_a_passage_found_twice_when_shown_then_it_stands_there_once() -> None:
    assert len(evidence_items({"passage": [found("a", "same"), found("b", "same", "other")]}).pieces) == 2


def test_given_several_steps_when_shown_then_each_passage_says_for_which() -> None:
    items = evidence_items({"for step 1": [found("a", "same")], "for step 3": [found("a", "same")]})
    assert [label for label, _ in items.pieces] == ["for step 1", "for step 3"]


@given(st.lists(st.lists(st.integers(0, 20_000), max_size=12), max_size=4))
def test_given_any_passages_when_shown_then_the_bound_holds_and_nothing_goes_unsaid(lengths: list[list[int]]) -> None:
    searches = [
        found(f"q{n}", *(f"{n}.{m}:" + "x" * size for m, size in enumerate(row))) for n, row in enumerate(lengths)
    ]
    pieces = evidence_items({"passage": searches}).pieces
    total = sum(len(passage.text) for search in searches for passage in search.passages)
    shown = [text.split("\n")[2].partition(" [cut: ") for _, text in pieces if "source: " in text]
    assert len(shown) <= PASSAGES
    assert sum(len(text) for text, _, _ in shown) <= EVIDENCE_CHARACTERS
    said = sum(len(text) + int(rest.split()[0] if cut else 0) for text, cut, rest in shown)
    assert said == total or any(label == "note" for label, _ in pieces)


def test_given_what_judges_write_for_no_query_when_read_then_there_is_none() -> None:
    read = TypeAdapter(Queries).validate_python
    assert read(None) == read([]) == read(["None", "N/A.", " ", "-", "null", '""']) == []
    assert read([" ifp age ", "", "a", "b", "c"]) == ["ifp age", "a", "b"]
