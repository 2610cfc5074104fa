"""Chains with one call for many items: what is missing is asked for again, and nothing is put in its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from judge.chains.factuality import Found
from judge.chains.labelling import label_all, verify_all
from judge.chains.matching import match_all
from judge.evidence import Passage
from judge.models.verdict import JudgeFailed
from tests.chains.scripted import Asked, ScriptedJudge, asker_of

REFERENCE = ["one", "two", "three"]


def match(index: int, match: bool = True, rationale: str = "r") -> dict[str, Any]:
    return {"index": index, "rationale": rationale, "match": match}


async def matched(*answers: Any) -> tuple[dict[int, bool], list[Asked]]:
    script = [{"verdicts": answer} if isinstance(answer, list) else answer for answer in answers]
    judge = ScriptedJudge(script)
    found = await match_all(asker_of(judge), "reasoning", REFERENCE)
    return {index: verdict.match for index, verdict in found.items()}, judge.asked


async def test_given_a_full_answer_in_any_order_when_matched_then_numbers_from_1_become_indices_from_0() -> None:
    found, (asked,) = await matched([match(3), match(1, False), match(2)])
    assert list(found.items()) == [(0, False), (1, True), (2, True)]
    assert (asked.step, asked.wanted) == ("match", [1, 2, 3])
    assert asked.pieces("reference") == [("1", "one"), ("2", "two"), ("3", "three")]


async def test_given_a_missing_number_when_matched_then_only_that_one_is_asked_for_again() -> None:
    found, (_, repair) = await matched([match(1), match(3)], [match(2, False)])
    assert found == {0: True, 1: False, 2: True}
    assert (repair.step, repair.wanted) == ("match/repair1", [2])
    assert repair.pieces("reference") == [("2", "two")]


async def test_given_two_opinions_of_one_item_when_matched_then_it_is_asked_for_again() -> None:
    found, asked = await matched([match(1), match(2), match(2, False), match(3)], [match(2, False)])
    assert found == {0: True, 1: False, 2: True}
    assert asked[1].wanted == [2]


async def test_given_the_same_opinion_twice_when_matched_then_it_stands() -> None:
    found, asked = await matched([match(1), match(2), match(2), match(3)])
    assert (len(found), len(asked)) == (3, 1)


async def test_given_a_judge_that_counts_from_0_when_matched_then_none_of_its_labels_is_taken() -> None:
    # taken by number, the verdicts of the first two would stand with the wrong items
    found, asked = await matched([match(0, False), match(1), match(2, False)], [match(1, False), match(2), match(3)])
    assert found == {0: False, 1: True, 2: True}
    assert asked[1].wanted == [1, 2, 3]


async def test_given_a_repair_that_counts_anew_when_matched_then_it_is_not_taken() -> None:
    found, asked = await matched([match(1)], [match(1), match(2)], [match(2), match(3, False)])
    assert found == {0: True, 1: True, 2: False}
    assert [one.step for one in asked] == ["match", "match/repair1", "match/repair2"]


async def test_given_more_than_was_asked_for_when_matched_then_the_rest_is_ignored() -> None:
    found, asked = await matched([match(n) for n in (1, 2, 3, 4)])
    assert (found, len(asked)) == ({0: True, 1: True, 2: True}, 1)
    found, _ = await matched([match(1), match(3)], [match(1, False), match(2, False), match(3, False)])
    assert found == {0: True, 1: False, 2: True}


async def test_given_an_item_that_never_comes_when_matched_then_it_is_absent_after_two_repairs() -> None:
    found, asked = await matched([match(1), match(3)], [], [])
    assert found == {0: True, 2: True}
    assert len(asked) == 3


async def test_given_a_judge_that_fails_at_first_when_matched_then_that_is_the_outcome() -> None:
    with pytest.raises(JudgeFailed) as failed:
        await matched({"fails": "judge_truncated"})
    assert failed.value.reason == "judge_truncated"


async def test_given_a_judge_that_fails_in_a_repair_when_matched_then_what_there_is_stays() -> None:
    found, asked = await matched([match(1), match(3)], {"fails": "judge_truncated"})
    assert (found, len(asked)) == ({0: True, 2: True}, 2)


async def test_given_an_endpoint_that_fails_in_a_repair_when_matched_then_it_is_not_taken_for_the_judge_s_fault() -> (
    None
):
    with pytest.raises(JudgeFailed):
        await matched([match(1), match(3)], {"fails": "server_error"})


async def test_given_nothing_to_match_when_matched_then_there_is_no_call() -> None:
    judge = ScriptedJudge([])
    assert await match_all(asker_of(judge), "reasoning", []) == {}
    assert await label_all(asker_of(judge), "case", [], may_search=True) == {}
    assert await verify_all(asker_of(judge), "case", {}, round=1, found={}, may_search=True) == {}


STEPS = ["a cough", "so flu", "so rest"]


def label(index: int, effectiveness: str, factuality: str, **more: Any) -> dict[str, Any]:
    return {"index": index, "rationale": "r", "effectiveness": effectiveness, "factuality": factuality, **more}


@pytest.mark.parametrize("may_search", [True, False])
async def test_given_steps_when_labelled_then_one_call_shows_all_and_each_gets_both_labels(may_search: bool) -> None:
    answer = [label(1, "Citation", "correct"), label(2, "reasoning", "WRONG"), label(3, "redundancy", "correct.")]
    judge = ScriptedJudge([{"verdicts": answer}])
    found = await label_all(asker_of(judge), "case", STEPS, may_search=may_search)
    assert [(n, one.index, one.effectiveness, one.factuality, one.queries) for n, one in found.items()] == [
        (0, 0, "citation", "correct", []),
        (1, 1, "reasoning", "wrong", []),
        (2, 2, "redundancy", "correct", []),
    ]
    (asked,) = judge.asked
    assert asked.step == "labels"
    assert asked.inside("case") == "case"
    assert asked.pieces("steps") == [("1", "a cough"), ("2", "so flu"), ("3", "so rest")]
    assert ("needs_evidence" in asked.text) is may_search


async def test_given_a_step_without_label_when_labelled_then_the_repair_shows_all_steps_and_asks_for_one() -> None:
    whole = [label(n, "reasoning", "correct") for n in (1, 2, 3)]
    judge = ScriptedJudge([{"verdicts": whole[:2]}, {"verdicts": whole[2:]}])
    assert list(await label_all(asker_of(judge), "case", STEPS, may_search=False)) == [0, 1, 2]
    assert (judge.asked[1].step, judge.asked[1].wanted) == ("labels/repair1", [3])
    assert len(judge.asked[1].pieces("steps")) == 3


async def test_given_an_effective_step_that_needs_evidence_without_a_query_when_labelled_then_it_is_asked_again() -> (
    None
):
    first = [label(1, "citation", "needs_evidence"), label(2, "reasoning", "needs_evidence", queries=[" "])]
    again = [label(2, "reasoning", "needs_evidence", queries=["flu"])]
    judge = ScriptedJudge([{"verdicts": first}, {"verdicts": again}])
    found = await label_all(asker_of(judge), "case", STEPS[:2], may_search=True)
    assert judge.asked[1].wanted == [2]
    assert (found[1].factuality, found[1].queries) == ("needs_evidence", ["flu"])


async def test_given_nothing_may_be_searched_when_labelled_then_a_judge_that_wants_evidence_has_no_verdict() -> None:
    answer = {"verdicts": [label(1, "reasoning", "needs_evidence", queries=["flu"])]}
    with pytest.raises(JudgeFailed):
        await label_all(asker_of(ScriptedJudge([answer] * 3)), "case", STEPS[:1], may_search=False)


FOUND: Mapping[int, list[Found]] = {
    1: [Found("flu", (Passage("Flu makes one cough.", "a.md:1"),))],
    4: [Found("rest", ())],
}


async def test_given_evidence_for_some_steps_when_verified_then_steps_keep_their_numbers_and_their_evidence() -> None:
    answer = [
        {"index": 5, "rationale": "r", "verdict": "needs_evidence", "queries": ["bed rest"]},
        {"index": 2, "rationale": "r", "verdict": "correct"},
    ]
    judge = ScriptedJudge([{"verdicts": answer}])
    asker = asker_of(judge)
    found = await verify_all(asker, "case", {4: "so rest", 1: "so flu"}, round=1, found=FOUND, may_search=True)
    assert [(n, one.verdict, one.queries) for n, one in found.items()] == [
        (1, "correct", []),
        (4, "needs_evidence", ["bed rest"]),
    ]
    (asked,) = judge.asked
    assert (asked.step, asked.wanted) == ("factuality/1", [2, 5])
    assert asked.pieces("steps") == [("2", "so flu"), ("5", "so rest")]
    assert asked.pieces("evidence") == [
        ("for step 2", "searched for: flu\nsource: a.md:1\nFlu makes one cough."),
        ("for step 5", "searched for: rest\nnothing was found"),
    ]


async def test_given_the_last_round_when_verified_then_it_must_decide_and_who_does_not_is_absent() -> None:
    judge = ScriptedJudge([{"verdicts": [{"index": 2, "rationale": "r", "verdict": "wrong"}]}, *[{"verdicts": []}] * 2])
    asker = asker_of(judge)
    found = await verify_all(asker, "case", {1: "so flu", 4: "rest"}, round=3, found=FOUND, may_search=False)
    assert {n: one.verdict for n, one in found.items()} == {1: "wrong"}
    assert [asked.step for asked in judge.asked] == ["factuality/3", "factuality/3/repair1", "factuality/3/repair2"]
