"""What `medjudge show` tells of a judge's labels."""

from __future__ import annotations

from graphs.medrbench import BENCHMARK
from judge.judgements import Judgement, StepCounts, UnitJudgements
from judge.outcome import Unscored
from tests.medrbench.examinations import Seats, asks, concludes, play
from tests.medrbench.judges import Bench, Library, answer, output


def shown(said: UnitJudgements) -> dict[str, str]:
    pairs = BENCHMARK.describe_judgements(said)
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def test_every_step_shows_its_labels_its_reason_and_what_was_looked_up() -> None:
    bench = Bench(evidence=Library(), reference=("A goitre", "never said"))
    told = shown(bench.judge(output(answer("CITES the\nrecord.", "A goitre LOOKUP1 UNTRUE."))))
    assert list(told) == [
        "judge, answer",
        "judge, steps (of the answer, split by rules.v1)",
        "judge, reference steps (1 of 2 found)",
    ]
    assert told["judge, answer"] == "correct: Hashimoto thyroiditis\n   because: r"
    assert told["judge, steps (of the answer, split by rules.v1)"].split("\n") == [
        "1. citation: CITES the record.",
        "   because: r",
        "2. reasoning, wrong: A goitre LOOKUP1 UNTRUE.",
        "   because: r",
        "   searched: A 1 → handbook.md, line 3: All on A 1.",
    ]
    assert told["judge, reference steps (1 of 2 found)"].split("\n") == [
        "1. found: A goitre",
        "   because: r",
        "2. not found: never said",
        "   because: r",
    ]


def test_long_passages_are_cut_and_empty_searches_named() -> None:
    path = (
        {"query": "a", "found": [{"source": "s", "text": "x" * 300}]},
        {"query": "b", "found": []},
    )
    said = UnitJudgements((Judgement("accuracy", 0, "plan", False, "why", path),))
    assert shown(said)["judge, answer"].split("\n") == [
        "wrong: plan",
        "   because: why",
        f"   searched: a → s: {'x' * 200} […]",
        "   searched: b → nothing found",
    ]


def test_what_is_missing_is_shown_with_its_reason() -> None:
    said = UnitJudgements(
        (), StepCounts(None, None), {"match": Unscored("no_reference", "there is none"), "accuracy": Unscored("empty")}
    )
    assert shown(said) == {"nothing to judge there": "match: no_reference (there is none)\naccuracy: empty"}


def test_exams_are_shown_both_ways() -> None:
    played = play(Seats([asks("TSH", "ECG"), concludes("Hashimoto thyroiditis")]))
    told = shown(Bench().judge(played.transcript, protocol="batched", only=("exams",)))
    requests, tests = told.values()
    assert next(iter(told)) == "judge, requests (1 of 2 a test that was done)"
    assert requests.split("\n")[:3] == ["1. a test that was done: TSH", "   because: r", "   in turn 1"]
    assert "2. no test that was done: ECG" in requests
    assert tests.startswith("1. asked for: ")
    assert "   by request 1\n   in turn 1" in tests
