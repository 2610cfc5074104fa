"""The case browser's data: what is marked, what is cut, and that no text can end its script block."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judge.judgements import Judgement, UnitJudgements
from judge.report.casedata import LEAST, disagreements, fitting
from judge.report.document import Document, Wanted
from judge.report.inert import inert, script_json
from tests.medrbench.examinations import ENDOCARDITIS, PURPURA, THYROID
from tests.report.conftest import document_of
from tests.report.runs import HOSTILE_JUDGE
from tests.runs.labelled import cases, data_of, labelled, steps


def rows(document: Document) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["setting"], row["case"]): row for row in document.cases.index["units"]}


def detail(document: Document, row: dict[str, Any]) -> dict[str, Any]:
    page, place = row["page"]
    found: dict[str, Any] = json.loads(document.cases.pages[page])[place]
    return found


# -- within the budget -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "budget", "limit"),
    [
        ([1, 2, 3], 6, 100),  # all fit whole
        ([10, 10, 10], 15, 5),  # each gets a third
        ([2, 10, 10], 12, 5),  # what the short one leaves is shared by the long ones
        ([], 0, 100),
        ([500], 1000, 100),  # no text is longer than the most, however much room there is
    ],
)
def test_the_longest_texts_are_cut_to_one_size_so_that_all_fit(sizes: list[int], budget: int, limit: int) -> None:
    found = fitting(sizes, budget, 100)
    assert found == limit
    assert sum(min(size, found) for size in sizes) <= max(budget, 0)


def test_a_small_budget_is_kept_and_short_texts_stay_whole(hostile: Path) -> None:
    document = document_of(hostile, Wanted(budget=20_000))
    assert document.cases.limit is not None
    assert document.cases.limit >= LEAST
    texts = sum(len(page.encode()) for page in document.cases.pages)
    assert texts < 2 * 20_000  # keys, labels and what marks a cut come on top
    assert '"label":true' in "".join(document.cases.pages)


def test_a_cut_text_keeps_both_ends_and_says_how_much_is_gone(hostile_document: Document) -> None:
    (text,) = [
        text
        for _, text in detail(hostile_document, rows(hostile_document)["oracle", PURPURA])["text"]
        if isinstance(text, dict)
    ]
    head, tail, left = text["$cut"]
    assert head.startswith("### Reasoning\n<step 1> endless")
    assert tail.endswith("sepsis")
    # written in tests/report/runs.py: 14 + 70,000 times 17 characters + 22
    assert len(head) + len(tail) + left == 14 + 70_000 * len("<step 1> endless ") + len("\n### Answer:\nsepsis")
    assert hostile_document.cases.n_cut == 1


# -- what stands in the file -----------------------------------------------------------------------------------------


def test_no_text_can_end_its_script_block_or_open_a_comment(hostile_document: Document) -> None:
    for page in [script_json(hostile_document.cases.index), *hostile_document.cases.pages]:
        assert "<" not in page
        page.encode("utf-8")


def test_texts_are_read_back_as_written_with_what_would_act_made_visible(hostile_document: Document) -> None:
    texts = dict(detail(hostile_document, rows(hostile_document)["oracle", THYROID])["text"])
    doctor = texts["turn 1, doctor"]
    assert "<script>window.hacked = 1; alert('hacked')</script></textarea></script>" in doctor
    assert "\\u202eright to left\\u202c" in doctor
    assert "مرحبا بالعالم שלום" in doctor
    assert "a\\x00b \\x1b[31m" in doctor


def test_keys_are_made_printable_too_and_numbers_stay() -> None:
    assert inert({"a\x00": [1, 0.5, True, None, ("\ud800",)]}) == {"a\\x00": [1, 0.5, True, None, ["\\ud800"]]}


def test_a_number_that_json_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        script_json({"mean": float("nan")})


# -- marks -----------------------------------------------------------------------------------------------------------


def test_units_are_marked_wrong_unscored_and_by_the_cut_off(demo_document: Document) -> None:
    found = {unit: set(row["marks"]) for unit, row in rows(demo_document).items()}
    # fixtures/README.md: the judge calls these wrong, and was cut off at one answer
    assert "wrong" in found["oracle", PURPURA]
    assert "wrong" not in found["oracle", THYROID]
    assert "unscored" in found["oracle", ENDOCARDITIS]
    assert "unscored" in found["one_turn", PURPURA]
    assert "before" in found["oracle", THYROID]  # 2024-7-3, the cut-off is 2024-07-16
    assert "after" in found["free_turn", PURPURA]  # 2024-7-16
    assert all("disagree" not in marks for marks in found.values())


def test_a_run_without_answers_is_not_unscored_for_lack_of_them(tmp_path: Path) -> None:
    data = data_of(tmp_path / "data", 2)
    first, second = cases(2)
    labelled(tmp_path / "run", data, "j", [steps(first, "m", {"s": "Reasoning"}, {"r": True}),
                                           steps(second, "m", {"s": "Citation"}, {"r": False})])  # fmt: skip
    document = document_of(tmp_path / "run", Wanted())
    assert [row["marks"] for row in document.cases.index["units"]] == [[], []]
    assert document.cases.index["deciding"] == []
    (beside,) = document.cases.index["leading"]
    assert document.cases.index["columns"][beside]["metric"] == "efficiency"


def test_scores_stand_judge_by_judge(hostile_document: Document) -> None:
    judges = [column["judge"] for column in hostile_document.cases.index["columns"]]
    assert judges == sorted(judges, key=["", HOSTILE_JUDGE, "plain"].index)


def test_what_looped_carries_its_flag(demo_document: Document) -> None:
    assert [unit for unit, row in rows(demo_document).items() if "looped" in row["flags"]] == [("free_turn", PURPURA)]


def test_judges_that_disagree_are_marked(hostile_document: Document) -> None:
    row = rows(hostile_document)["oracle", THYROID]
    assert "disagree" in row["marks"]
    assert detail(hostile_document, row)["disagree"] == [
        {"kind": "accuracy", "item": 0, "labels": {HOSTILE_JUDGE: True, "plain": False}}
    ]


def test_other_steps_at_one_place_are_no_disagreement() -> None:
    def said(text: str, label: str) -> UnitJudgements:
        return UnitJudgements((Judgement("effectiveness", 0, text, label),))

    assert not disagreements({"a": said("one step", "reasoning"), "b": said("another", "citation")})
    assert disagreements({"a": said("one step", "reasoning"), "b": said("one  step\n", "citation")})
    assert not disagreements({"a": said("one step", "reasoning"), "b": said("one step", "reasoning")})
