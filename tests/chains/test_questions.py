"""Chains with a call for each question: what they show, under which address, and what they accept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from judge.chains import outcome
from judge.chains.effectiveness import judge_effectiveness
from judge.chains.factuality import Found, judge_factuality
from judge.chains.matching import match_step
from judge.chains.outcome import judge_outcome
from judge.evidence import Passage
from judge.models.verdict import JudgeFailed
from tests.chains.scripted import Asked, ScriptedJudge, asker_of

CASE = "Woman of 35 with ileus."
STEPS = ["She vomits.", "Vomiting fits an ileus.", "So: CT."]
FOUND = [Found("ifp", (Passage("IFPs lead.", "a.md:3"),))]
SURE: Mapping[str, Any] = {"rationale": "r", "verdict": "correct"}
UNSURE: Mapping[str, Any] = {"rationale": "r", "verdict": "needs_evidence", "queries": [" ifp "]}


async def test_given_a_step_when_its_effect_is_judged_then_case_and_earlier_steps_are_shown() -> None:
    judge = ScriptedJudge([{"rationale": "r", "effectiveness": " Reasoning. "}])
    verdict = await judge_effectiveness(asker_of(judge), CASE, STEPS, 2)
    assert verdict.effectiveness == "reasoning"
    (asked,) = judge.asked
    assert asked.step == "effectiveness/2"
    assert asked.inside("case") == CASE
    assert asked.pieces("previous") == [("1", STEPS[0]), ("2", STEPS[1])]
    assert asked.inside("step") == STEPS[2]


async def test_given_the_first_step_when_its_effect_is_judged_then_no_earlier_one_is_shown() -> None:
    judge = ScriptedJudge([{"rationale": "r", "effectiveness": "citation"}])
    await judge_effectiveness(asker_of(judge), CASE, STEPS, 0)
    assert judge.asked[0].inside("previous") == ""
    assert STEPS[1] not in judge.asked[0].text


@pytest.mark.parametrize("label", ["useful", "", None, "not reasoning", "[citation|reasoning]"])
async def test_given_another_word_when_the_effect_is_judged_then_there_is_no_verdict(label: str | None) -> None:
    with pytest.raises(JudgeFailed):
        await judge_effectiveness(
            asker_of(ScriptedJudge([{"rationale": "r", "effectiveness": label}] * 3)), CASE, STEPS, 1
        )


async def factuality(*answers: Mapping[str, Any], may_search: bool, round: int = 0) -> tuple[Any, list[Asked]]:
    judge = ScriptedJudge(answers)
    found = FOUND if round else []
    asker = asker_of(judge)
    verdict = await judge_factuality(asker, CASE, STEPS[1], 1, round=round, found=found, may_search=may_search)
    return verdict, judge.asked


@pytest.mark.parametrize(("may_search", "round"), [(True, 0), (True, 1), (False, 0), (False, 3)])
async def test_given_a_step_when_its_facts_are_judged_then_case_step_and_evidence_are_shown(
    may_search: bool, round: int
) -> None:
    verdict, (asked,) = await factuality(SURE, may_search=may_search, round=round)
    assert (verdict.verdict, verdict.queries) == ("correct", [])
    assert asked.step == f"factuality/1/{round}"
    assert (asked.inside("case"), asked.inside("step")) == (CASE, STEPS[1])
    assert [text for _, text in asked.pieces("evidence")] == ["searched for: ifp\nsource: a.md:3\nIFPs lead."] * bool(
        round
    )
    assert ("needs_evidence" in asked.text) is may_search


async def test_given_an_unsure_judge_when_facts_are_judged_then_it_says_what_to_look_up() -> None:
    verdict, _ = await factuality(UNSURE, may_search=True)
    assert (verdict.verdict, verdict.queries) == ("needs_evidence", ["ifp"])


@pytest.mark.parametrize("queries", [[], [""], None, ["None"]])
async def test_given_an_unsure_judge_without_a_query_when_facts_are_judged_then_it_is_asked_again(queries: Any) -> None:
    verdict, asked = await factuality(dict(UNSURE, queries=queries), SURE, may_search=True)
    assert verdict.verdict == "correct"
    assert "query" in asked[1].faults[0]


async def test_given_an_unsure_judge_that_may_not_search_when_facts_are_judged_then_nothing_is_put_in_place() -> None:
    with pytest.raises(JudgeFailed):
        await factuality(*[UNSURE] * 3, may_search=False)


async def test_given_a_reference_step_when_it_is_looked_for_then_the_reasoning_and_only_this_one_are_shown() -> None:
    judge = ScriptedJudge([{"rationale": "r", "match": "false"}])
    verdict = await match_step(asker_of(judge), "my reasoning", ["first", "second"], 1)
    assert verdict.match is False
    (asked,) = judge.asked
    assert asked.step == "match/1"
    assert (asked.inside("reasoning"), asked.inside("reference")) == ("my reasoning", "second")


@pytest.mark.parametrize("answer", [{"rationale": "r"}, {"rationale": "r", "match": "maybe"}, {"match": True}])
async def test_given_a_missing_or_odd_answer_when_a_step_is_looked_for_then_there_is_no_verdict(
    answer: Mapping[str, Any],
) -> None:
    with pytest.raises(JudgeFailed):
        await match_step(asker_of(ScriptedJudge([answer] * 3)), "r", ["s"], 0)


async def test_given_a_diagnosis_when_it_is_judged_then_answer_and_reference_are_shown() -> None:
    judge = ScriptedJudge([dict(SURE, verdict="Wrong.")])
    values = {"answer": "IFP", "reference": "GIST"}
    verdict = await judge_outcome(
        asker_of(judge), outcome.PROMPT_DIAGNOSIS, values, round=0, found=(), may_search=False
    )
    assert (verdict.verdict, verdict.queries) == ("wrong", [])
    (asked,) = judge.asked
    assert asked.step == "accuracy/0"
    assert (asked.inside("answer"), asked.inside("reference")) == ("IFP", "GIST")


async def test_given_a_treatment_when_it_is_judged_then_the_evidence_is_shown_and_more_may_be_asked_for() -> None:
    judge = ScriptedJudge([dict(UNSURE, queries=[]), UNSURE, SURE])
    asker, values = asker_of(judge), {"case": CASE, "answer": "resection", "reference": "operation"}
    first = await judge_outcome(asker, outcome.PROMPT_TREATMENT, values, round=0, found=(), may_search=True)
    last = await judge_outcome(asker, outcome.PROMPT_TREATMENT_FINAL, values, round=1, found=FOUND, may_search=False)
    assert (first.verdict, first.queries, last.verdict) == ("needs_evidence", ["ifp"], "correct")
    assert [asked.step for asked in judge.asked] == ["accuracy/0", "accuracy/0", "accuracy/1"]
    assert "IFPs lead." in judge.asked[2].inside("evidence")
