"""Results: the forms in which installed tools give what they found."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.documents import Document

from judge.evidence.passages import Passage
from judge.evidence.results import failure_in_results, plain, read_results

NAME = "web:Fake"


@dataclass
class Hit:
    url: str
    text: str


FEVER = [Passage("Fever", "https://a.example")]


@pytest.mark.parametrize(
    ("found", "passages"),
    [
        ("Fever", [Passage("Fever", NAME)]),
        ([{"content": "Fever", "url": "https://a.example"}], FEVER),
        ([{"snippet": "Fever", "link": "https://a.example"}], FEVER),
        ([{"body": "Fever", "href": "https://a.example"}], FEVER),
        ([{"text": "Fever", "source": "https://a.example"}], FEVER),
        ([("Fever", "https://a.example")], FEVER),
        (("https://a.example", "Fever"), FEVER),
        ('[{"snippet": "Fever", "link": "https://a.example"}]', FEVER),
        ({"answer": None, "results": [{"content": "Fever", "url": "https://a.example"}], "usage": {}}, FEVER),
        ({"organic": [{"snippet": "Fever", "link": "https://a.example"}]}, FEVER),
        ({"web": {"results": [{"description": "Fever", "url": "https://a.example"}]}}, FEVER),
        ([Document("Fever", metadata={"source": "https://a.example"})], FEVER),
        ([Hit("https://a.example", "Fever")], FEVER),
        ([{"content": "High.", "title": "Fever", "url": "u"}], [Passage("Fever\nHigh.", "u")]),
        ([{"content": "", "title": "Fever"}], [Passage("Fever", "Fever")]),
        (["one", "two"], [Passage("one", NAME), Passage("two", NAME)]),
        ([{"content": str(n), "url": "u"} for n in range(9)], [Passage(str(n), "u") for n in range(3)]),
        ([{"content": "a" * 1500, "url": "u"}], [Passage("a" * 1000, "u")]),
        ("a" * 1500, [Passage("a" * 1000, NAME), Passage("a" * 500, NAME)]),
        ([{"content": "\ud800Fever", "url": "u"}], [Passage("\ufffdFever", "u")]),
        ([{"content": "Fever", "url": "u"}, {"image": "x"}], [Passage("Fever", "u")]),
        ("[1] Fever", [Passage("[1] Fever", NAME)]),
        ([], []),
        ("", []),
        ({"results": []}, []),
        ("No good Google Search Result was found", []),
        ([{"Result": "No good Bing Search Result was found"}], []),
    ],
    ids=range(27),
)
def test_given_what_a_tool_found_when_it_is_read_then_passages_and_sources_are(
    found: Any, passages: list[Passage]
) -> None:
    stored = json.loads(json.dumps(plain(found)))  # as it comes back from the run's store
    assert failure_in_results(found) is None
    assert read_results(stored, NAME) == passages


@pytest.mark.parametrize("found", [None, 7, {"status": "ok"}, [{"image": "x"}], [None]], ids=range(5))
def test_given_something_that_is_not_understood_when_it_is_read_then_it_is_not_taken_for_nothing(found: Any) -> None:
    with pytest.raises(ValueError, match="no text"):
        read_results(found, NAME)


@pytest.mark.parametrize(
    "found",
    [
        {"error": ValueError("Error 401: no")},
        {"error": "quota", "results": []},
        '{"error": "quota"}',
        [{"error": "quota"}],
        "HTTPError('401 Client Error: Unauthorized')",
        "Arxiv exception: Page request resulted in HTTP 429",
        "Error: no key",
    ],
    ids=range(7),
)
def test_given_a_failure_handed_over_as_a_result_when_it_is_looked_at_then_it_is_seen(found: Any) -> None:
    assert failure_in_results(found) is not None


@pytest.mark.parametrize("text", ["Medication error: what it is", "No results found that aspirin helps, but it does"])
def test_given_a_text_on_errors_when_it_is_read_then_it_is_a_text(text: str) -> None:
    assert failure_in_results(text) is None
    assert read_results([{"content": text, "url": "u"}], NAME) == [Passage(text, "u")]
