"""What the judging graph makes of one unit: every label in its place, in both protocols."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from graphs.medrbench import BENCHMARK
from graphs.medrbench.metrics import STEPS_ONLY
from judge.benchmark import ModelJudgedBenchmark, Transcript
from judge.chains.tools import Split
from judge.judgements import StepCounts, UnitJudgements
from judge.models.verdict import V
from judge.outcome import Outcome, Scored
from judge.prompting import load_prompts
from judge.settings import JudgeSpec, parse_model
from tests.chains.scripted import Asked
from tests.medrbench.examinations import KETOACIDOSIS, Seats, asks, concludes, play
from tests.medrbench.judges import Bench, KeptSplits, Library, answer, decide, labels, output, scores
from tests.server import ModelServer

PROTOCOLS = pytest.mark.parametrize("protocol", ["per-step", "batched"])

STEPS = ("First CITES the record.", "A cold goitre.", "REPEATS the goitre.", "USELESS aside.", "UNTRUE claim.")
REFERENCE = ("A cold goitre", "Nobody says this", "Hashimoto thyroiditis")


def value(outcome: Outcome) -> float:
    assert isinstance(outcome, Scored)
    return outcome.value


def is_empty(outcome: Outcome) -> bool:
    return isinstance(outcome, Scored) and outcome.empty


@PROTOCOLS
def test_labels_come_in_the_order_of_the_items_whatever_the_order_of_the_answers(protocol: str) -> None:
    bench = Bench(slow=0.02, reference=REFERENCE)
    said = bench.judge(output(answer(*STEPS)), protocol=protocol)
    assert [(found.kind, found.item, found.label) for found in said.judgements] == [
        ("accuracy", 0, True),
        ("effectiveness", 0, "citation"),
        ("effectiveness", 1, "reasoning"),
        ("effectiveness", 2, "repetition"),
        ("effectiveness", 3, "redundancy"),
        ("effectiveness", 4, "reasoning"),
        ("factuality", 1, True),
        ("factuality", 4, False),
        ("match", 0, True),
        ("match", 1, False),
        ("match", 2, True),
    ]
    assert [found.text for found in said.view.of("effectiveness")] == list(STEPS)
    assert [found.text for found in said.view.of("match")] == list(REFERENCE)
    assert said.counts == StepCounts(5, 3)
    assert not said.missing
    assert said.facts == {
        "source": "answer",
        "splitter": {"by": "rules.v1", "n": 5},
        "reference": "hash of the reference",
    }


def test_both_protocols_give_the_same_judgements_and_metrics() -> None:
    text = answer(*STEPS, "Iodine LOOKUP2 matters.", "Selenium LOOKUP1 UNTRUE helps.", "Zinc LOOKUP3 too.")
    said = {
        protocol: Bench(evidence=Library(), reference=REFERENCE).judge(output(text), protocol=protocol)
        for protocol in ("per-step", "batched")
    }
    assert said["per-step"] == said["batched"]
    assert len(said["batched"].view.of("factuality")) == 5
    assert scores(said["per-step"]) == scores(said["batched"])


def test_batched_asks_once_for_all_labels_and_once_for_all_matches() -> None:
    bench = Bench(reference=REFERENCE)
    bench.judge(output(answer(*STEPS)), protocol="batched")
    assert sorted(bench.steps) == ["accuracy/0", "labels", "match"]


def test_per_step_asks_for_facts_of_effective_steps_only() -> None:
    bench = Bench(reference=REFERENCE)
    bench.judge(output(answer(*STEPS)))
    assert sorted(bench.steps) == [
        "accuracy/0",
        *(f"effectiveness/{item}" for item in range(5)),
        "factuality/1/0",
        "factuality/4/0",
        *(f"match/{item}" for item in range(3)),
    ]


@PROTOCOLS
def test_judging_again_asks_the_same_questions_and_pays_for_none(protocol: str) -> None:
    bench = Bench(evidence=Library(), reference=REFERENCE, slow=0.01)
    transcript = output("A cold goitre. || Iodine LOOKUP2 matters.\n\n### Answer:\nHashimoto thyroiditis")
    with ModelServer(bench) as server:

        def judged() -> UnitJudgements:
            return asyncio.run(bench.judge_at(server, transcript, protocol=protocol))

        first = judged()
        asked = len(bench.asked)
        bench.answer = but_nothing
        assert judged() == first
        bench.splits.splits.clear()  # as after an end between the answer and the keeping of the split
        assert judged() == first
    assert len(bench.asked) == asked


def but_nothing(schema: str, asked: Asked) -> dict[str, Any]:
    raise AssertionError("nothing may be asked again")


async def test_questions_that_do_not_wait_for_each_other_are_asked_side_by_side() -> None:
    """Given a judge that answers only when six questions have arrived, when a unit is judged, then all are answered."""
    all_here = asyncio.Barrier(6)  # two steps, three reference steps and the answer

    class Patient:
        async def ask(self, messages: Any, schema: type[V], address: Any, *, check: Any = None) -> V:
            if schema.__name__ in ("EffectivenessVerdict", "MatchVerdict", "FinalOutcome"):
                async with asyncio.timeout(20), all_here:
                    pass
            return schema.model_validate(decide(schema.__name__, Asked("", messages[0]["content"], ())))

    said = await Bench(reference=REFERENCE).judge_with(Patient(), output(answer("A.", "B.")))
    assert len(said.judgements) == 1 + 2 + 2 + 3


# --- evidence


@PROTOCOLS
@pytest.mark.parametrize("searches", [1, 2, 3])
def test_a_judge_that_asks_for_evidence_decides_with_it(protocol: str, searches: int) -> None:
    bench = Bench(evidence=Library())
    said = bench.judge(output(answer(f"Iodine LOOKUP{searches} matters.")), protocol=protocol)
    (fact,) = said.view.of("factuality")
    assert fact.label is True
    assert fact.path == tuple(
        {"query": f"Iodine {n}", "found": [{"source": "handbook.md, line 3", "text": f"All on Iodine {n}."}]}
        for n in range(1, searches + 1)
    )
    assert bench.evidence is not None
    searched = [(role, step.rpartition("/")[0], query) for role, step, query in bench.evidence.searched]
    assert searched == [("judge:test", f"search/factuality/0/{n}", f"Iodine {n}") for n in range(1, searches + 1)]


@PROTOCOLS
def test_after_three_searches_the_judge_has_to_decide(protocol: str) -> None:
    bench = Bench(evidence=Library())
    said = bench.judge(output(answer("Iodine LOOKUP9 matters UNTRUE.")), protocol=protocol)
    (fact,) = said.view.of("factuality")
    assert fact.label is False
    assert len(fact.path) == 3
    assert bench.evidence is not None
    assert len(bench.evidence.searched) == 3


@PROTOCOLS
def test_queries_beyond_three_searches_are_not_looked_up(protocol: str) -> None:
    """Given a judge that names three queries at a time, when it asks twice, then only three searches are made."""

    def greedy(schema: str, asked: Any) -> Any:
        answer = decide(schema, asked)
        entries = [answer, *answer.get("verdicts", [])]
        for entry in entries:
            if entry.get("queries"):
                entry["queries"] = [f"{entry['queries'][0]} {letter}" for letter in "ab"]
        return answer

    bench = Bench(answer=greedy, evidence=Library())
    said = bench.judge(output(answer("Iodine LOOKUP9 matters.")), protocol=protocol)
    assert [entry["query"] for entry in said.view.of("factuality")[0].path] == [
        "Iodine 1 a",
        "Iodine 1 b",
        "Iodine 3 a",
    ]
    assert bench.evidence is not None
    assert len(bench.evidence.searched) == 3


def test_steps_whose_searches_are_used_up_wait_for_the_others_in_one_call() -> None:
    """Given one step that uses up its searches at once, when others still search, then it is decided last."""

    def greedy(schema: str, asked: Any) -> Any:
        answer = decide(schema, asked)
        for entry in answer.get("verdicts", []):
            if entry.get("queries") == ["Iodine 1"]:
                entry["queries"] = ["Iodine a", "Iodine b", "Iodine c"]
        return answer

    bench = Bench(answer=greedy, evidence=Library())
    said = bench.judge(output(answer("Iodine LOOKUP9 matters.", "Zinc LOOKUP2 too.")), protocol="batched")
    assert labels(said, "factuality") == {0: True, 1: True}
    asked = [schema for schema in bench.schemas if "Factualities" in schema]
    assert asked == ["Factualities", "Factualities", "FinalFactualities"]


@PROTOCOLS
def test_nothing_found_is_an_answer_and_stays_on_record(protocol: str) -> None:
    bench = Bench(evidence=Library(knows=lambda query: False))
    said = bench.judge(output(answer("Iodine LOOKUP1 matters.")), protocol=protocol)
    assert said.view.of("factuality")[0].path == ({"query": "Iodine 1", "found": []},)


@PROTOCOLS
def test_without_evidence_the_judge_is_never_offered_any(protocol: str) -> None:
    bench = Bench()
    said = bench.judge(output(answer("Iodine LOOKUP2 matters.")), protocol=protocol)
    assert labels(said, "factuality") == {0: True}
    assert not any("needs_evidence" in asked.text for _, asked in bench.asked)


@PROTOCOLS
def test_a_plan_may_be_borne_out_by_evidence(protocol: str) -> None:
    bench = Bench(evidence=Library())
    plan = output(answer("Dehydrated.", final="Insulin LOOKUP2"), setting="treatment", case=KETOACIDOSIS)
    said = bench.judge(plan, case=KETOACIDOSIS, only=("accuracy",), protocol=protocol)
    (right,) = said.judgements
    assert (right.kind, right.label, right.text) == ("accuracy", True, "Insulin LOOKUP2")
    assert [entry["query"] for entry in right.path] == ["Insulin 1", "Insulin 2"]
    assert bench.evidence is not None
    places = [step.rpartition("/")[0] for _, step, _ in bench.evidence.searched]
    assert places == ["search/accuracy/0/1", "search/accuracy/0/2"], "what is searched for ends the address"


def test_a_diagnosis_is_compared_without_evidence() -> None:
    bench = Bench(evidence=Library())
    said = bench.judge(output(answer("A.", final="Graves LOOKUP2")), only=("accuracy",))
    assert labels(said, "accuracy") == {0: True}
    assert bench.evidence is not None
    assert not bench.evidence.searched


# --- steps


def test_steps_that_are_labelled_are_split_by_rules_and_others_by_the_judge() -> None:
    bench = Bench()
    said = bench.judge(output("The goitre is cold. || Antibodies are high.\n\n### Answer:\nHashimoto thyroiditis"))
    assert [found.text for found in said.view.of("effectiveness")] == ["The goitre is cold.", "Antibodies are high."]
    assert said.facts["splitter"]["n"] == 2
    assert said.facts["splitter"]["by"].endswith("#test-model")
    assert said.facts["splitter"]["prompt"]
    assert "splitter/split%2Fanswer%2F1%2Ftest" in bench.memory.steps


def test_the_judge_splits_the_reasoning_without_the_answer() -> None:
    bench = Bench()
    bench.judge(output("Goitre. || Antibodies.\n\n### Answer:\nHashimoto thyroiditis"))
    (question,) = [asked for schema, asked in bench.asked if schema == "SplitVerdict"]
    assert question.inside("text") == "Goitre. || Antibodies."


@pytest.mark.parametrize(
    ("splitter", "by_judge"), [("rules", False), ("judge", True), ("auto", False)], ids=["rules", "judge", "auto"]
)
def test_the_splitter_is_the_users_choice(splitter: str, by_judge: bool) -> None:
    bench = Bench()
    said = bench.judge(output(answer("A.", "B.")), step_splitter=splitter)
    assert ("SplitVerdict" in bench.schemas) is by_judge
    assert said.counts == StepCounts(1 if by_judge else 2, 1)


def test_a_split_that_another_judge_had_made_is_used() -> None:
    bench = Bench(splits=KeptSplits(Split("answer", "openai:other", "f00", ("One.", "Two.", "Three."))))
    said = bench.judge(output("One. Two. Three.\n\n### Answer:\nx"), step_splitter="judge")
    assert "SplitVerdict" not in bench.schemas
    assert said.facts["splitter"] == {"by": "openai:other", "n": 3, "prompt": "f00"}


def test_a_split_by_the_judge_is_kept() -> None:
    bench = Bench()
    bench.judge(output("One. || Two.\n\n### Answer:\nx"))
    assert bench.splits.splits["answer"].steps == ("One.", "Two.")


def test_thinking_is_judged_apart_from_the_answer() -> None:
    bench = Bench(reference=("Only thought",))
    said = bench.judge(output(answer("Only said."), thinking="1. Only thought\n2. CITES"), reasoning_source="thinking")
    assert labels(said, "effectiveness") == {0: "reasoning", 1: "citation"}
    assert labels(said, "match") == {0: True}
    assert said.facts["source"] == "thinking"
    assert labels(said, "accuracy") == {0: True}
    assert not any("Only said" in asked.text for _, asked in bench.asked)


def test_an_answer_without_reasoning_has_no_steps_and_costs_no_call_for_them() -> None:
    bench = Bench(reference=("Hashimoto thyroiditis",))
    said = bench.judge(output("### Answer:\nHashimoto thyroiditis"))
    assert said.counts == StepCounts(0, 1)
    assert sorted(bench.schemas) == ["FinalOutcome", "MatchVerdict"]
    assert not said.missing
    found = scores(said)
    assert found["efficiency"] == Scored(0.0)
    assert is_empty(found["efficiency"])
    assert found["completeness"] == Scored(1.0)


def test_an_output_of_which_only_the_steps_are_there_is_judged_by_them() -> None:
    data = {"setting": "oracle", "turns": [], "answer": None, "steps": ["CITES it.", "A cold goitre."]}
    bench = Bench(reference=REFERENCE)
    said = bench.judge(Transcript(STEPS_ONLY, "", (), data))
    assert labels(said, "effectiveness") == {0: "citation", 1: "reasoning"}
    assert labels(said, "match") == {0: True, 1: False, 2: False}
    assert said.facts["splitter"] == {"by": "imported", "n": 2}
    assert said.missing["accuracy"].reason == STEPS_ONLY


# --- exam settings


@PROTOCOLS
def test_in_an_examination_the_steps_of_all_turns_count_and_reference_steps_are_not_looked_for(protocol: str) -> None:
    played = play(Seats([asks("TSH"), concludes("Hashimoto thyroiditis")]))
    bench = Bench(reference=REFERENCE)
    said = bench.judge(played.transcript, protocol=protocol, only=("accuracy", "reasoning"))
    assert [found.text for found in said.view.of("effectiveness")] == ["I think.", "I think."]
    assert said.counts == StepCounts(2, None)
    assert not said.view.of("match")
    assert not said.missing
    assert labels(said, "accuracy") == {0: True}


def test_the_judge_of_an_examination_sees_what_the_doctor_learned() -> None:
    played = play(Seats([asks("TSH"), concludes("Hashimoto thyroiditis")]))
    bench = Bench()
    bench.judge(played.transcript, only=("reasoning",))
    record = played.turns[0]["results"]
    question = next(asked for schema, asked in bench.asked if schema == "EffectivenessVerdict")
    assert question.inside("case").endswith(record)


def test_exams_are_judged_both_ways() -> None:
    played = play(Seats([asks("TSH", "ECG"), concludes("Hashimoto thyroiditis")]))
    said = Bench().judge(played.transcript, protocol="batched", only=("exams",))
    assert labels(said, "exam_precision") == {0: True, 1: False}
    assert labels(said, "exam_recall")[0] is True
    assert said.counts is None
    assert not said.missing


def test_exams_mean_nothing_where_everything_is_shown() -> None:
    said = Bench().judge(output(answer("A.")), only=("exams",))
    assert not said.judgements
    assert not said.missing


# --- three cases by hand


def test_three_cases_by_hand() -> None:
    """Given three outputs and the labels of each step, when they are scored, then the metrics are those by hand.

    1. six steps: two citations, three effective of which two are true, one redundant; two of four reference steps.
       efficiency 3/6, factuality 2/3, completeness 2/4, the diagnosis is right.
    2. four steps: all effective, one wrong after two searches; three of three reference steps; the diagnosis is wrong.
       efficiency 4/4, factuality 3/4, completeness 3/3.
    3. three steps: none effective, so factuality is 0 by convention; none of five reference steps.
       efficiency 0/3, completeness 0/5.
    """
    outputs = [
        (
            answer("CITES a", "CITES b", "alpha", "beta", "gamma UNTRUE", "USELESS"),
            ("alpha", "beta", "unsaid 1", "unsaid 2"),
        ),
        (answer("alpha", "beta", "gamma", "delta LOOKUP2 UNTRUE", final="Graves disease"), ("alpha", "beta", "gamma")),
        (answer("CITES a", "REPEATS a", "USELESS"), tuple(f"unsaid {n}" for n in range(5))),
    ]
    for protocol in ("per-step", "batched"):
        found = []
        for text, reference in outputs:
            said = Bench(evidence=Library(), reference=reference).judge(output(text), protocol=protocol)
            found.append(scores(said))
        assert [{name: value(outcome) for name, outcome in one.items()} for one in found] == [
            {"accuracy": 1.0, "efficiency": 3 / 6, "factuality": 2 / 3, "completeness": 2 / 4},
            {"accuracy": 0.0, "efficiency": 4 / 4, "factuality": 3 / 4, "completeness": 3 / 3},
            {"accuracy": 1.0, "efficiency": 0 / 3, "factuality": 0.0, "completeness": 0 / 5},
        ]
        assert is_empty(found[2]["factuality"])
        assert not is_empty(found[2]["efficiency"])


# --- the benchmark's public face


def test_it_is_a_benchmark_that_a_model_can_judge() -> None:
    assert isinstance(BENCHMARK, ModelJudgedBenchmark)
    assert tuple(BENCHMARK.judging_tasks) == ("accuracy", "reasoning", "exams")


def test_the_diagram_shows_every_branch_and_both_loops() -> None:
    drawn = BENCHMARK.draw_judging()
    for word in ("plan", "accuracy", "split", "label", "verify", "search", "match", "exams", "collect"):
        assert word in drawn


@pytest.mark.parametrize("protocol", ["per-step", "batched"])
@pytest.mark.parametrize("evidence", ["none", "corpus:x"])
@pytest.mark.parametrize("splitter", ["auto", "rules", "judge"])
@pytest.mark.parametrize("setting", ["oracle", "treatment", "one_turn"])
def test_every_prompt_that_is_named_exists_once(protocol: str, evidence: str, splitter: str, setting: str) -> None:
    spec = JudgeSpec(
        name="j",
        model=parse_model("http://127.0.0.1:1/v1#m"),
        only=tuple(BENCHMARK.judging_tasks),
        protocol=protocol,  # type: ignore[arg-type]
        evidence=evidence,
        step_splitter=splitter,  # type: ignore[arg-type]
    )
    names = BENCHMARK.judge_prompt_names(spec, [setting])
    assert len(set(names)) == len(names)
    assert len(load_prompts("medrbench", names)) == len(names)
    assert ("split.reasoning.v1" in names) is (splitter != "rules")
    assert any(name.startswith("match") for name in names) is (setting != "one_turn")
    assert any(name.startswith("exam") for name in names) is (setting == "one_turn")
