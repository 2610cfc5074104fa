"""What is missing when something fails: always a reason, never a default, and what there is stays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from graphs.medrbench.metrics import STEPS_ONLY
from judge.benchmark import Transcript
from judge.errors import Interrupted, MedjudgeError, ReplayMiss, Unreachable
from judge.judgements import StepCounts
from judge.models.verdict import JudgeFailed, V
from judge.outcome import ERROR_REASONS, Unscored
from tests.chains.scripted import Asked
from tests.chains.test_hostile import HOSTILE
from tests.medrbench.examinations import KETOACIDOSIS, THYROID, Seats, asks, play
from tests.medrbench.judges import Answer, Bench, Library, answer, decide, effectiveness, labels, output, scores
from tests.server import Reply, error

PROTOCOLS = pytest.mark.parametrize("protocol", ["per-step", "batched"])

FAILURES = {
    "judge_truncated": Reply(content='{"rationale": "so', finish_reason="length"),
    "judge_refused": Reply(refusal="I cannot judge this."),
    "judge_empty": Reply(content=""),
    "judge_invalid": Reply(
        content='{"rationale": "r", "verdict": "maybe", "effectiveness": "good", "match": "perhaps"}'
    ),
    "judge_server_error": error(500, "down"),
    "judge_bad_request": error(400, "no such parameter"),
    "judge_rate_limited": error(429, "slow down"),
}

SOME_FAILURES = [(reason, FAILURES[reason]) for reason in ("judge_truncated", "judge_server_error")]

TEXT = answer("CITES it.", "Bad alpha.", "Beta.", "Gamma UNTRUE.")
REFERENCE = ("Beta", "Bad reference", "Gamma")


def but(failure: Answer, where: Callable[[str, Asked], bool]) -> Callable[[str, Asked], Answer]:
    """The usual answers but for some questions."""
    return lambda schema, asked: failure if where(schema, asked) else decide(schema, asked)


@pytest.mark.parametrize(("reason", "reply"), FAILURES.items())
def test_a_failed_label_is_missing_for_its_reason_and_the_others_are_kept(reason: str, reply: Reply) -> None:
    fails = but(reply, lambda schema, asked: schema == "EffectivenessVerdict" and "Bad" in asked.inside("step"))
    said = Bench(answer=fails, reference=REFERENCE).judge(output(TEXT))
    assert labels(said, "effectiveness") == {0: "citation", 2: "reasoning", 3: "reasoning"}
    assert labels(said, "factuality") == {2: True, 3: False}
    assert labels(said, "match") == {0: True, 1: False, 2: True}
    assert set(said.missing) == {"effectiveness", "factuality"}
    assert {why.reason for why in said.missing.values()} == {reason}
    assert said.missing["effectiveness"].detail.startswith("1 label is missing, the first for step 2: ")
    assert said.counts == StepCounts(4, 3)
    found = scores(said)
    assert isinstance(found["efficiency"], Unscored)
    assert isinstance(found["factuality"], Unscored)
    assert not isinstance(found["completeness"], Unscored)


@pytest.mark.parametrize(("reason", "reply"), SOME_FAILURES)
@pytest.mark.parametrize(
    ("schema", "place", "kind", "kept"),
    [
        ("FinalFactuality", "step", "factuality", {2: True, 3: False}),
        ("MatchVerdict", "reference", "match", {0: True, 2: True}),
    ],
)
def test_every_kind_of_question_can_fail_alone(
    reason: str, reply: Reply, schema: str, place: str, kind: str, kept: dict[int, bool]
) -> None:
    fails = but(reply, lambda asked_for, asked: asked_for == schema and "Bad" in asked.inside(place))
    said = Bench(answer=fails, reference=REFERENCE).judge(output(TEXT))
    assert labels(said, kind) == kept
    assert {name: why.reason for name, why in said.missing.items()} == {kind: reason}


@pytest.mark.parametrize(("reason", "reply"), SOME_FAILURES)
def test_an_answer_that_could_not_be_judged_is_missing(reason: str, reply: Reply) -> None:
    said = Bench(answer=but(reply, lambda schema, asked: schema == "FinalOutcome")).judge(output(TEXT))
    assert said.missing["accuracy"].reason == reason
    assert len(said.view.of("effectiveness")) == 4
    assert scores(said)["accuracy"] == said.missing["accuracy"]


@pytest.mark.parametrize(("reason", "reply"), SOME_FAILURES)
def test_in_one_call_for_all_steps_a_failure_takes_them_all(reason: str, reply: Reply) -> None:
    fails = but(reply, lambda schema, asked: schema == "FinalStepVerdicts")
    said = Bench(answer=fails, reference=REFERENCE).judge(output(TEXT), protocol="batched")
    assert not labels(said, "effectiveness")
    assert {kind: why.reason for kind, why in said.missing.items()} == {"effectiveness": reason, "factuality": reason}
    assert said.missing["effectiveness"].detail.startswith("4 labels are missing, the first for step 1: ")
    assert labels(said, "match") == {0: True, 1: False, 2: True}


def test_a_step_that_the_judge_left_out_is_asked_for_again() -> None:
    """Given a first answer without step 2, when it is asked for again, then no label is missing."""

    def forgetful(schema: str, asked: Asked) -> Answer:
        found = decide(schema, asked)
        if schema == "FinalStepVerdicts" and len(asked.wanted) > 1:
            assert isinstance(found, dict)
            return {"verdicts": [entry for entry in found["verdicts"] if entry["index"] != 2]}
        return found

    said = Bench(answer=forgetful).judge(output(TEXT), protocol="batched")
    assert not said.missing
    assert len(said.view.of("effectiveness")) == 4


@pytest.mark.parametrize("schema", ["FinalStepVerdicts", "Matches"])
def test_what_the_judge_leaves_out_for_good_is_missing(schema: str) -> None:
    def stubborn(asked_for: str, asked: Asked) -> Answer:
        found = decide(asked_for, asked)
        if asked_for == schema:
            assert isinstance(found, dict)
            return {"verdicts": [entry for entry in found["verdicts"] if entry["index"] != 2]}
        return found

    said = Bench(answer=stubborn, reference=REFERENCE).judge(output(TEXT), protocol="batched")
    kinds = {"match"} if schema == "Matches" else {"effectiveness", "factuality"}
    assert {kind: why.reason for kind, why in said.missing.items()} == dict.fromkeys(kinds, "judge_incomplete")
    assert all(1 not in labels(said, kind) and labels(said, kind) for kind in kinds)


# --- evidence


@PROTOCOLS
def test_a_search_that_fails_is_not_one_that_finds_nothing(protocol: str) -> None:
    bench = Bench(evidence=Library(fails_on="Iodine"))
    text = answer("Iodine LOOKUP1 matters.", "Zinc LOOKUP2 too.", "Beta.")
    said = bench.judge(output(text), protocol=protocol)
    assert labels(said, "factuality") == {1: True, 2: True}
    assert set(said.missing) == {"factuality"}
    assert said.missing["factuality"].reason == "evidence_failed"
    assert "'Iodine 1' failed (timeout): the library is closed" in said.missing["factuality"].detail
    assert said.missing["factuality"].reason in ERROR_REASONS


@PROTOCOLS
def test_a_judge_that_still_wants_evidence_when_none_is_left_has_said_nothing(protocol: str) -> None:
    def insists(schema: str, asked: Asked) -> Answer:
        if schema == "FinalFactuality":
            return {"rationale": "r", "verdict": "needs_evidence", "queries": ["more"]}
        if schema == "FinalFactualities":
            return {"verdicts": [{"index": 1, "rationale": "r", "verdict": "needs_evidence", "queries": ["more"]}]}
        return decide(schema, asked)

    bench = Bench(answer=insists, evidence=Library())
    said = bench.judge(output(answer("Iodine LOOKUP9 matters.", "Beta.")), protocol=protocol)
    assert labels(said, "factuality") == {1: True}
    assert said.missing["factuality"].reason == "judge_invalid"
    assert bench.evidence is not None
    assert len(bench.evidence.searched) == 3


def test_a_plan_whose_search_fails_is_not_judged() -> None:
    plan = output(answer("Dehydrated.", final="Insulin LOOKUP1"), setting="treatment", case=KETOACIDOSIS)
    said = Bench(evidence=Library(fails_on="Insulin")).judge(plan, case=KETOACIDOSIS)
    assert said.missing["accuracy"].reason == "evidence_failed"
    assert len(said.view.of("effectiveness")) == 1


# --- steps


def test_where_the_judge_cannot_split_there_are_no_steps_but_the_rest_is_judged() -> None:
    fails = but(FAILURES["judge_truncated"], lambda schema, asked: schema == "SplitVerdict")
    bench = Bench(answer=fails)
    said = bench.judge(output("A. || B.\n\n### Answer:\nHashimoto thyroiditis"))
    assert {kind: why.reason for kind, why in said.missing.items()} == {
        "effectiveness": "judge_truncated",
        "factuality": "judge_truncated",
    }
    assert said.counts == StepCounts(None, 1)
    assert labels(said, "accuracy") == {0: True}
    assert labels(said, "match") == {0: False}
    assert not bench.splits.splits


def test_without_a_reference_completeness_has_no_value() -> None:
    said = Bench(reference=None).judge(output(TEXT))
    assert {kind: why.reason for kind, why in said.missing.items()} == {"match": "no_reference"}
    assert said.counts == StepCounts(4, None)
    assert "reference" not in said.facts
    assert scores(said)["completeness"] == said.missing["match"]


def test_a_model_that_shows_no_thinking_has_none_to_judge() -> None:
    bench = Bench()
    said = bench.judge(output(TEXT, thinking=" \n"), reasoning_source="thinking")
    kinds = ("effectiveness", "factuality", "match")
    assert {kind: why.reason for kind, why in said.missing.items()} == dict.fromkeys(kinds, "no_thinking")
    assert said.counts is None
    assert bench.schemas == ["FinalOutcome"]


def test_labels_without_the_texts_of_their_steps_cannot_be_judged_again() -> None:
    bench = Bench()
    said = bench.judge(Transcript(STEPS_ONLY, "", (), {"setting": "oracle", "turns": [], "answer": None, "steps": []}))
    assert said.missing["effectiveness"].reason == "no_steps"
    assert said.missing["accuracy"].reason == STEPS_ONLY
    assert not bench.asked


# --- statuses

NO_TEXT = ("truncated", "truncated_reasoning", "refused", "empty", "server_error", "internal_error", "examiner_failed")


@pytest.mark.parametrize("status", NO_TEXT)
@pytest.mark.parametrize("setting", ["oracle", "treatment", "one_turn", "free_turn"])
def test_a_unit_that_gave_no_output_costs_no_call(status: str, setting: str) -> None:
    bench = Bench()
    case = KETOACIDOSIS if setting == "treatment" else THYROID
    transcript = Transcript(
        status, "what happened", (), {"setting": setting, "turns": [{"text": TEXT}], "answer": None}
    )
    said = bench.judge(transcript, case=case)
    kinds = {"accuracy", "effectiveness", "factuality"}
    kinds |= {"exam_precision", "exam_recall"} if setting.endswith("turn") else {"match"}
    assert dict(said.missing) == dict.fromkeys(kinds, Unscored(status, "what happened"))
    assert not said.judgements
    assert said.counts is None
    assert not bench.asked


def test_a_transcript_without_any_data_costs_no_call() -> None:
    bench = Bench()
    said = bench.judge(Transcript("internal_error", "", (), {"setting": "oracle"}), only=("accuracy",))
    assert not bench.asked
    assert said.missing == {"accuracy": Unscored("internal_error", "it gave no answer")}


def test_reasoning_is_judged_where_no_answer_could_be_read() -> None:
    bench = Bench()
    said = bench.judge(output("### Chain of Thought:\n<step 1> CITES it.\n<step 2> A goitre."))
    assert labels(said, "effectiveness") == {0: "citation", 1: "reasoning"}
    assert said.missing == {"accuracy": Unscored("parse_failed", "no answer could be read")}


def test_an_examination_without_a_diagnosis_has_reasoning_and_exams_but_no_accuracy() -> None:
    played = play(Seats([asks("TSH", conclusion=None)] * 2), max_turns=2)
    assert played.status == "max_turns"
    said = Bench().judge(played.transcript, protocol="batched")
    assert {kind: why.reason for kind, why in said.missing.items()} == {"accuracy": "max_turns"}
    assert len(said.view.of("effectiveness")) == 2
    assert said.view.of("exam_recall")


# --- what ends the judging


class Judge:
    """Decides like the others, without a server."""

    async def ask(self, messages: Any, schema: type[V], address: Any, *, check: Any = None) -> V:
        return schema.model_validate(decide(schema.__name__, Asked("", messages[0]["content"], ())))


@pytest.mark.parametrize(
    "fault", [Interrupted("stopping"), Unreachable("gone"), ReplayMiss("nothing"), KeyError("a fault of ours")]
)
async def test_answers_under_way_are_kept_when_the_judging_ends(fault: Exception) -> None:
    """Given a question that ends the judging, when others are under way, then these are answered before it ends."""
    failed, all_here = asyncio.Event(), asyncio.Barrier(6)
    answered: list[str] = []

    class Ending(Judge):
        async def ask(self, messages: Any, schema: type[V], address: Any, *, check: Any = None) -> V:
            async with asyncio.timeout(20), all_here:
                pass
            if address.step == "effectiveness/0":
                failed.set()
                raise fault
            await failed.wait()
            await asyncio.sleep(0)
            answered.append(address.step)
            return await super().ask(messages, schema, address, check=check)

    with pytest.raises(type(fault)) as raised:
        await Bench().judge_with(Ending(), output(TEXT))
    assert raised.value is fault
    assert sorted(answered) == ["accuracy/0", "effectiveness/1", "effectiveness/2", "effectiveness/3", "match/0"]


async def test_the_cause_is_told_and_not_what_followed_from_it() -> None:
    both_here = asyncio.Barrier(2)

    class Lost(Judge):
        async def ask(self, messages: Any, schema: type[V], address: Any, *, check: Any = None) -> V:
            if address.step not in ("accuracy/0", "match/0"):
                return await super().ask(messages, schema, address, check=check)
            async with asyncio.timeout(20), both_here:
                pass
            if address.step == "accuracy/0":
                raise Interrupted("the run is stopping")
            await asyncio.sleep(0)
            raise Unreachable("gone")

    with pytest.raises(MedjudgeError, match="gone"):
        await Bench().judge_with(Lost(), output(TEXT))


async def test_a_failure_of_one_call_never_ends_the_judging() -> None:
    class Mute:
        async def ask(self, messages: Any, schema: type[V], address: Any, *, check: Any = None) -> V:
            raise JudgeFailed("nothing", reason="judge_empty")

    said = await Bench().judge_with(Mute(), output(TEXT))
    assert not said.judgements
    assert {why.reason for why in said.missing.values()} == {"judge_empty"}


# --- candidates that write to the judge


@PROTOCOLS
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_what_a_candidate_writes_changes_no_verdict(protocol: str, text: str) -> None:
    """Given a step that argues with the judge, when it stands between others, then every verdict is the judge's own."""
    steps = ["CITES it.", f"x {text} y", "USELESS aside.", "Gamma UNTRUE."]
    data = {"setting": "oracle", "turns": [], "answer": None, "steps": steps}
    bench = Bench(reference=("Gamma", "never said"), evidence=Library())
    said = bench.judge(Transcript(STEPS_ONLY, "", (), data), protocol=protocol, only=("reasoning",))
    assert labels(said, "effectiveness") == {0: "citation", 1: effectiveness(text), 2: "redundancy", 3: "reasoning"}
    assert labels(said, "factuality") == {1: True, 3: False}
    assert labels(said, "match") == {0: True, 1: False}
    assert not said.missing
    assert said.view.of("effectiveness")[1].text == steps[1]


@PROTOCOLS
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
async def test_whatever_an_output_is_like_each_of_its_steps_gets_its_own_verdict(protocol: str, text: str) -> None:
    written = output(answer("CITES it.", text, "Gamma UNTRUE."))
    said = await Bench().judge_with(Judge(), written, protocol=protocol, step_splitter="rules")
    given = said.view.of("effectiveness")
    assert said.counts is not None
    assert len(given) == said.counts.steps
    assert [found.label for found in given] == [effectiveness(found.text) for found in given]
    assert labels(said, "accuracy") == {0: True}
    assert not said.missing
