"""Judged metrics from labels: what is judged, what is missing and why, and what a signature says."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphs.medrbench.judged import judged_metrics, score_judged
from judge.judgements import Judgement, Judgements
from judge.outcome import Outcome, Scored, Unscored
from tests.conftest import Command
from tests.medrbench.examinations import DATA, ENDOCARDITIS, PURPURA, THYROID

NAMES = ("exam_precision_judged", "exam_recall_judged", "exam_f1_judged")


def scored(*judgements: Judgement, setting: str = "free_turn", **missing: Unscored) -> dict[str, Outcome]:
    return score_judged(Judgements(judgements), None, missing, setting, 2)


def test_given_no_judgement_at_all_when_scored_then_every_metric_is_not_judged() -> None:
    for setting in ("oracle", "treatment", "one_turn", "free_turn"):
        found = scored(setting=setting)
        assert list(found) == [metric.name for metric in judged_metrics(setting, 2)]
        assert {one.reason for one in found.values() if isinstance(one, Unscored)} == {"not_judged"}
        assert all(isinstance(one, Unscored) for one in found.values())
        assert ("completeness" in found) is (setting in ("oracle", "treatment"))


def test_given_labels_of_tests_only_when_scored_then_precision_is_not_taken_for_0() -> None:
    found = scored(Judgement("exam_recall", 0, "CT", False), Judgement("exam_recall", 1, "MRI", False))
    assert found["exam_recall_judged"] == Scored(0)
    assert found["exam_precision_judged"] == Unscored(
        "not_judged", "the judge did not judge which requests meet a test"
    )
    assert found["exam_f1_judged"] == found["exam_precision_judged"]


def test_given_labels_that_do_not_say_the_turn_when_scored_then_only_the_recall_as_a_whole_is_there() -> None:
    found = scored(Judgement("exam_recall", 0, "CT", True), Judgement("exam_recall", 1, "MRI", False))
    assert found["exam_recall_judged"] == Scored(0.5)
    assert {one.reason for name, one in found.items() if "_turn_" in name} == {"not_judged"}  # type: ignore[union-attr]


def test_given_the_turn_of_some_tests_only_when_scored_then_it_is_missing_and_not_unasked() -> None:
    told = Judgement("exam_recall", 0, "CT", True, path=({"turn": 1},))
    found = scored(told, Judgement("exam_recall", 1, "MRI", True))
    assert {one.reason for name, one in found.items() if "_turn_" in name} == {"missing_label"}  # type: ignore[union-attr]


def test_given_a_gap_in_the_items_when_scored_then_a_label_is_missing() -> None:
    found = scored(Judgement("exam_precision", 0, "CT", True), Judgement("exam_precision", 2, "MRI", True))
    assert found["exam_precision_judged"] == Unscored("missing_label", "1 of 3 labels are missing")


def test_given_a_text_for_a_label_when_scored_then_it_is_refused() -> None:
    with pytest.raises(ValueError, match="true or false"):
        scored(Judgement("exam_precision", 0, "CT", "false"))


FAILED = Unscored("judge_refused", "1 of 3 labels are missing")


@pytest.mark.parametrize(
    ("kind", "setting", "metrics"),
    [
        ("accuracy", "oracle", {"accuracy"}),
        ("effectiveness", "oracle", {"efficiency", "factuality"}),
        ("factuality", "oracle", {"factuality"}),
        ("match", "oracle", {"completeness"}),
        ("match", "free_turn", set()),
        ("exam_precision", "free_turn", {"exam_precision_judged", "exam_f1_judged"}),
        ("exam_recall", "free_turn", {"exam_recall_judged", "exam_f1_judged", "exam_recall_turn_1_judged",
                                      "exam_recall_turn_2_judged"}),
        ("exam_recall", "oracle", set()),
    ],
)  # fmt: skip
def test_given_missing_labels_when_scored_then_the_metrics_that_need_them_have_the_judge_s_reason(
    kind: str, setting: str, metrics: set[str]
) -> None:
    found = scored(setting=setting, **{kind: FAILED})
    assert {name for name, one in found.items() if one == FAILED} == metrics


def test_signatures_say_who_matched_and_what_counts() -> None:
    found = {metric.name: metric.signature for metric in judged_metrics("free_turn", 2)}
    of_exams = "match:judge|denominator:groups|list:any|asked-nothing:0"
    assert {name: found[name] for name in NAMES} == {name: f"{name}|{of_exams}|v:1" for name in NAMES}
    assert found["exam_recall_turn_2_judged"] == f"exam_recall_turn_2_judged|{of_exams}|ended:carried|v:1"


def test_given_a_judge_s_labels_when_broken_down_then_every_judged_metric_is_in_every_group(
    cli: Command, tmp_path: Path
) -> None:
    # accuracy of three cases: 1, 1, 0; the breakdowns are those of the metrics without a judge
    file = tmp_path / "labels.csv"
    labels = {THYROID: "true", PURPURA: "true", ENDOCARDITIS: "false"}
    rows = [f"{case},accuracy,0,{label}\n" for case, label in labels.items()]
    file.write_text("case_id,kind,item,label\n" + "".join(rows), encoding="utf-8")
    ran = cli("import-judgements", tmp_path / "run", "--labels", file, "--judge-name", "person", "--benchmark",
              "medrbench", "--data", DATA, "--setting", "oracle", "--json")  # fmt: skip
    assert ran.code == 0, ran.err
    by = ran.json["settings"][0]["by"]
    assert set(by) == {"frequency", "body", "disorder", "answer in the summary"}
    names = {metric.name for metric in judged_metrics("oracle", 1)}
    assert all(names <= set(group["metrics"]) for groups in by.values() for group in groups)
    for breakdown in ("frequency", "answer in the summary"):
        accuracies = [group["metrics"]["accuracy"] for group in by[breakdown]]
        assert sum(found["n_scored"] for found in accuracies) == 3
        assert sum(found["n_scored"] * (found["mean"] or 0) for found in accuracies) == pytest.approx(2)
