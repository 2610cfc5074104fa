"""Blind answers: by hand on small sets, and against the published figures on the real one."""

from __future__ import annotations

from itertools import combinations

import pytest

from graphs.caremedeval.baselines import baselines, expected_random, letters_by_frequency
from graphs.caremedeval.cases import CaseSet, load_cases
from graphs.caremedeval.metrics import mean_scores, reachable_maximum, score_answer
from tests.caremedeval.synthetic import case
from tests.data import real_data


def test_random_answer_worked_by_hand() -> None:
    # options a b c, correct a. size 1: 1/3 exact; size 2: never; size 3: never
    scores = expected_random(case("a", options="abc"))
    assert scores["emr"] == pytest.approx((1 / 3 + 0 + 0) / 3)
    # recall: 1/3 of single letters, 2/3 of pairs, all of the triple
    assert scores["recall"] == pytest.approx((1 / 3 + 2 / 3 + 1) / 3)
    # precision: 1/3; pairs with a (2 of 3) have 1/2; the triple has 1/3
    assert scores["precision"] == pytest.approx((1 / 3 + 1 / 3 + 1 / 3) / 3)


def test_random_answer_on_two_options_has_no_size_three() -> None:
    assert expected_random(case("a", options="ab"))["emr"] == pytest.approx((1 / 2 + 0) / 2)


def test_letters_are_ordered_by_frequency_then_alphabet() -> None:
    assert letters_by_frequency([case("bc"), case("cd"), case("d"), case("e")]) == ["c", "d", "b", "e"]


def test_a_letter_that_is_not_offered_is_left_out() -> None:
    rows = {row.name: row for row in baselines([case("e"), case("e"), case("a", options="abcd")])}
    assert rows["most_frequent_1"].options == ("e",)
    assert rows["most_frequent_1"].metrics["emr"] == pytest.approx(2 / 3)


def test_no_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one question"):
        baselines([])


@pytest.fixture(scope="module")
def french() -> CaseSet:
    return load_cases(real_data("caremedeval"), "fr")


NAMES = ("emr", "f1", "jaccard", "lca_published", "lca", "lca_exam", "hamming")


@pytest.mark.data
@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("a", (".0337", ".2813", ".2017", ".1597", ".1718", ".1560", ".4915")),
        ("ac", (".0337", ".4515", ".3329", ".1831", ".1948", ".1798", ".5127")),
        ("abc", (".0337", ".5513", ".4189", ".1974", ".2102", ".1942", ".5226")),
    ],
)
def test_constant_answers_reproduce_the_reference_figures(
    french: CaseSet, letters: str, expected: tuple[str, ...]
) -> None:
    means = mean_scores([score_answer(item, letters) for item in french])
    assert tuple(f"{means[name]:.4f}".removeprefix("0") for name in NAMES) == expected


@pytest.mark.data
@pytest.mark.parametrize(("row", "expected"), [("most_frequent_2", (0.03, 0.45, 0.33, 0.18)),
                                               ("most_frequent_3", (0.03, 0.55, 0.42, 0.20))])  # fmt: skip
def test_rows_published_in_the_paper(french: CaseSet, row: str, expected: tuple[float, ...]) -> None:
    metrics = next(baseline.metrics for baseline in baselines(french.cases) if baseline.name == row)
    assert tuple(round(metrics[name], 2) for name in NAMES[:4]) == expected


@pytest.mark.data
def test_rows_of_the_real_set_take_their_letters_from_the_key(french: CaseSet) -> None:
    assert {row.name: row.options for row in baselines(french.cases)} == {
        "random_1_to_3": None,
        "first_option": ("a",),
        "most_frequent_1": ("c",),
        "most_frequent_2": ("a", "c"),
        "most_frequent_3": ("a", "b", "c"),
    }


@pytest.mark.data
def test_random_row_equals_an_independent_enumeration(french: CaseSet) -> None:
    total = {"emr": 0.0, "jaccard": 0.0}
    for item in french:
        for size in (1, 2, 3):
            answers = [set(answer) for answer in combinations(item.options, size)]
            for answer in answers:
                weight = 1 / 3 / len(answers) / len(french)
                total["emr"] += weight * (answer == item.correct)
                total["jaccard"] += weight * len(answer & item.correct) / len(answer | item.correct)
    row = baselines(french.cases)[0]
    assert row.metrics["emr"] == pytest.approx(total["emr"])
    assert row.metrics["jaccard"] == pytest.approx(total["jaccard"])
    # the paper's one random draw gave .03 .39 .29 .16
    assert [row.metrics[name] for name in NAMES[:4]] == pytest.approx([0.03, 0.39, 0.29, 0.16], abs=0.03)


@pytest.mark.data
def test_one_question_cannot_be_answered_for_a_full_mark(french: CaseSet) -> None:
    # question 275: b is essential but not correct; {b, c} gets a half
    maxima = reachable_maximum(french.cases)
    assert maxima["lca"] == maxima["lca_exam"] == pytest.approx(533.5 / 534)
    assert {maxima[name] for name in ("emr", "f1", "hamming", "jaccard", "lca_published", "precision", "recall")} == {1}


@pytest.mark.data
def test_both_languages_have_the_same_baselines(french: CaseSet) -> None:
    english = load_cases(real_data("caremedeval"), "en")
    assert baselines(english.cases) == baselines(french.cases)
