"""Chains with one call for many items: what is missing is asked for again, and nothing is put in its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from judge.chains.factuality import Found
from judge.chains.indexed import named
from judge.chains.labelling import label_all, verify_all
from judge.chains.matching import match_all
from judge.evidence import Passage
from judge.models.verdict import JudgeFailed
from tests.chains.scripted import ASKS, Asked, ScriptedJudge, asker_of

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
    assert (repair.step, repair.wanted) == ("match/repair1/2", [2])
    assert repair.pieces("reference") == [("2", "two")]


async def test_given_two_opinions_of_one_item_when_matched_then_it_is_asked_for_again() -> None:
    found, asked = await matched([match(1), match(2), match(2, False), match(3)], [match(2, False)])
    assert found == {0: True, 1: False, 2: True}
    assert asked[1].wanted == [2]


async def test_given_the_same_opinion_twice_when_matched_then_it_stands() -> None:
    found, asked = await matched([match(1), match(2), match(2), match(3)])
    assert (len(found), len(asked)) == (3, 1)


@pytest.mark.parametrize("numbers", [(0, 1, 2), (0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4), (1, 2, 3, 9), (0, 1, 1)])
async def test_given_a_number_that_was_not_asked_for_when_matched_then_no_label_of_the_answer_is_taken(
    numbers: tuple[int, ...],
) -> None:
    # a judge that counts from 0 and adds an entry names all items, and each of them with the verdict of the next
    shifted = [match(n, rationale="shifted") for n in numbers]
    found, asked = await matched(shifted, [match(1, False), match(2), match(3)])
    assert found == {0: False, 1: True, 2: True}
    assert [one.wanted for one in asked] == [[1, 2, 3]] * 2
    assert "there is an entry for" in asked[1].faults[0]


async def test_given_a_judge_that_always_counts_from_0_when_matched_then_there_are_no_labels() -> None:
    with pytest.raises(JudgeFailed) as failed:
        await matched(*[[match(n) for n in range(4)]] * ASKS)
    assert failed.value.reason == "judge_invalid"


async def test_given_a_repair_with_a_number_that_was_not_asked_for_when_matched_then_what_there_was_is_kept() -> None:
    found, asked = await matched([match(1)], [match(1), match(2)], [match(2), match(3, False)])
    assert found == {0: True, 1: True, 2: False}
    assert [one.step for one in asked] == ["match", "match/repair1/2+3", "match/repair1/2+3"]
    found, asked = await matched([match(1), match(3)], *[[match(1, False), match(2), match(3)]] * ASKS)
    assert (found, len(asked)) == ({0: True, 2: True}, 1 + ASKS)


@pytest.mark.parametrize("index", [True, "1", 1.0, None])
async def test_given_an_index_that_is_no_whole_number_when_matched_then_the_answer_is_none(index: Any) -> None:
    found, asked = await matched([match(index), match(2), match(3)], [match(n) for n in (1, 2, 3)])
    assert len(found) == 3
    assert "index" in asked[1].faults[0]


def test_given_items_when_an_address_names_them_then_other_items_have_another_name_of_bounded_length() -> None:
    assert (named([4, 1]), named({1: "b", 4: "e"}), named([0])) == ("2+5", "2+5", "1")
    names = {named(range(n)) for n in range(1, 300)}
    assert len(names) == 299
    assert max(map(len, names)) <= 40


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
    assert (judge.asked[1].step, judge.asked[1].wanted) == ("labels/repair1/3", [3])
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
    assert asked.step.startswith("factuality/1/2+5/")
    assert asked.wanted == [2, 5]
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
    first, *repairs = [asked.step for asked in judge.asked]
    assert repairs == [f"{first}/repair1/5", f"{first}/repair2/5"]


async def test_given_other_steps_or_other_evidence_in_a_round_when_verified_then_it_is_another_question() -> None:
    def wrong(asked: Asked) -> dict[str, Any]:
        return {"verdicts": [{"index": n, "rationale": "r", "verdict": "wrong"} for n in asked.wanted]}

    async def step(steps: dict[int, str], found: Mapping[int, list[Found]]) -> str:
        judge = ScriptedJudge(wrong)
        await verify_all(asker_of(judge), "case", steps, round=1, found=found, may_search=False)
        return judge.asked[0].step

    both, one = {1: "so flu", 4: "rest"}, {4: "rest"}
    assert await step(both, {}) == "factuality/1/2+5"
    assert await step(one, {1: FOUND[1]}) == "factuality/1/5"  # not shown, since nothing is asked about that step
    steps = [await step(both, FOUND), await step(one, FOUND), await step(both, {4: FOUND[4]}), await step(both, {})]
    assert len(set(steps)) == 4
    assert await step(dict(reversed(both.items())), dict(reversed(FOUND.items()))) == steps[0]
