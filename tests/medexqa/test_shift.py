"""Letters in the wrong rows: the matcher, the arithmetic of chance, and files that slipped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from graphs.medexqa.cases import load_cases, to_record
from graphs.medexqa.chance import binomial_tail, holm, show_p, sign_test, uniform_chi_square
from graphs.medexqa.shift import OFFSETS, corrected_labels, label_shifts
from graphs.medexqa.support import supported_option
from tests.data import real_data
from tests.medexqa.synthetic import BE, SLP, Fields, quiz, write


def records(root: Path, **files: Sequence[Fields]) -> list[dict[str, Any]]:
    for name, rows in files.items():
        write(root, list(rows), name)
    return [to_record(case) for case in load_cases(root)]


def record(options: Sequence[str], *explanations: str, question: str = "Which?") -> dict[str, Any]:
    return {
        "question": question,
        "options": dict(zip("ABCD", options, strict=True)),
        "explanations": list(explanations),
    }


@pytest.mark.parametrize(
    ("options", "explanations", "expected"),
    [
        (["liver", "spleen", "kidney", "lung"], ["The kidney does it.", "It is the kidney."], "C"),
        (["liver", "spleen", "kidney", "lung"], ["The KIDNEY.", "Kidney"], "C"),
        (["liver", "spleen", "kidney", "lung"], ["The kidney does. The lung does not.", "Not the lung."], "D"),
        (["liver", "spleen", "kidney", "lung"], ["The kidney does. The lung does not.", "Kidney, not lung."], "C"),
        (["liver", "spleen", "kidney", "lung"], ["Nobody knows.", "Indeed."], None),
        (["liver", "spleen", "kidney", "lung"], ["Kidney or lung.", "Lung or kidney."], None),
        (["liver", "spleen", "kidney", "lung"], ["", ""], None),
        (["10 mm", "2.5 mm", "25 mm", "5 mm"], ["It is 2.5 mm.", "So 2.5 mm."], "B"),
        (["D", "e", "C", "E"], ["Only E is so.", "E it is."], "D"),
        (["a rise of the left lid", "a fall of the left lid", "x", "y"], ["The left lid has a fall.", ""], "B"),
        (["same", "same", "same", "same"], ["the same", "same"], None),
    ],
)
def test_which_option_explanations_support(options: list[str], explanations: list[str], expected: str | None) -> None:
    assert supported_option(record(options, *explanations)) == expected


def test_the_support_never_looks_at_the_answer() -> None:
    row = record(["one", "two", "six", "ten"], "It is six.", "six")
    assert {supported_option(row | {"answer": letter}) for letter in "ABCD"} == {"C"}


def test_a_word_of_the_question_says_less_than_another() -> None:
    row = record(["vocal fold", "nasal cavity", "x", "y"], "The fold and the nasal part.", "")
    assert supported_option(row | {"question": "Which fold or part?"}) == "B"


@pytest.mark.parametrize(("successes", "trials", "chance"), [(0, 10, 0.3), (7, 10, 0.25), (97, 128, 0.263), (3, 3, 0.5),
                                                             (1, 372, 0.001), (5, 9, 0.0), (5, 9, 1.0)])  # fmt: skip
def test_the_binomial_tail_is_scipy_s(successes: int, trials: int, chance: float) -> None:
    expected = stats.binomtest(successes, trials, chance, alternative="greater").pvalue
    assert binomial_tail(successes, trials, chance) == pytest.approx(expected, rel=1e-9)


def test_an_impossible_experiment_is_refused() -> None:
    with pytest.raises(ValueError, match="4 of 3"):
        binomial_tail(4, 3, 0.5)


def test_the_sign_test_by_hand() -> None:
    assert sign_test(3, 0) == pytest.approx(1 / 8)
    assert sign_test(2, 1) == pytest.approx(4 / 8)
    assert sign_test(0, 0) == 1.0


@pytest.mark.parametrize("counts", [[78, 81, 62, 151], [35, 33, 31, 44], [10, 10, 10, 10], [400, 0, 0, 0]])
def test_the_chi_square_is_scipy_s(counts: list[int]) -> None:
    expected = stats.chisquare(counts)
    statistic, p = uniform_chi_square(counts)
    assert statistic == pytest.approx(expected.statistic)
    assert p == pytest.approx(expected.pvalue, rel=1e-9)


def test_holm_by_hand() -> None:
    adjusted = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.5})
    assert adjusted == pytest.approx({"a": 0.04, "b": 0.09, "c": 0.09, "d": 0.5})
    assert holm({}) == {}


@pytest.mark.parametrize(("p", "shown"), [(0.0123, "p = 0.012"), (1.0, "p = 1.000"), (4e-8, "p < 1e-7"),
                                          (0.0, "p < 1e-300"), (0.0009, "p < 1e-3")])  # fmt: skip
def test_a_p_value_is_never_shown_smaller_than_it_is(p: float, shown: str) -> None:
    assert show_p(p) == shown


def test_letters_in_their_rows_are_found_to_be(tmp_path: Path) -> None:
    shift = label_shifts(records(tmp_path, biomedical_engineer=quiz(130, seed=1)))[BE]
    assert (shift.verdict, shift.offset) == ("own", 0)
    assert shift.at(0).share > 0.85
    assert all(shift.at(offset).share < 0.45 for offset in OFFSETS if offset)
    assert shift.decided == shift.rows == 130


@pytest.mark.parametrize("slip", [1, -1, 2, -3])
def test_letters_that_slipped_are_found_in_whatever_file(tmp_path: Path, slip: int) -> None:
    rows = {SLP: quiz(130, seed=2), BE: quiz(130, seed=3, slip=slip)}
    shifts = label_shifts(records(tmp_path, **rows))
    assert (shifts[BE].verdict, shifts[BE].offset) == ("shifted", slip)
    assert shifts[SLP].verdict == "own"
    assert shifts[BE].at(slip).share > 0.85
    assert shifts[BE].at(0).share < 0.45


def test_what_perfect_knowledge_scores_on_slipped_letters(tmp_path: Path) -> None:
    """The right letters are those before the slip; the rows that keep a letter are counted by hand."""
    right = [row[-1] for row in quiz(120, seed=4)]
    slipped = quiz(120, seed=4, slip=1)
    shift = label_shifts(records(tmp_path, speech_pathologist=slipped))[SLP]
    same = sum(letter == row[-1] for letter, row in zip(right[:-1], slipped[:-1], strict=True))
    assert (shift.perfect_matches, shift.perfect_n) == (same, 119)


def test_slipped_letters_are_read_from_the_right_row_and_others_left_alone(tmp_path: Path) -> None:
    right = [row[-1] for row in quiz(120, seed=4)]
    sound = quiz(100, seed=5)
    found = corrected_labels(records(tmp_path, speech_pathologist=quiz(120, seed=4, slip=1), biomedical_engineer=sound))
    assert [found[f"{SLP}-test-{row:03d}"] for row in range(120)] == [*right[:-1], None]
    assert [found[f"{BE}-test-{row:03d}"] for row in range(100)] == [row[-1] for row in sound]


def test_a_letter_lost_within_the_file_is_no_shift_of_the_whole(tmp_path: Path) -> None:
    """Correcting every row would then spoil those above the loss."""
    rows = quiz(150, seed=6, slip=1, slips_from=75)
    data = records(tmp_path, biomedical_engineer=rows)
    shift = label_shifts(data)[BE]
    assert (shift.verdict, shift.offset) == ("partly_shifted", 1)
    assert 3 in shift.shifted_parts
    assert 1 not in shift.shifted_parts
    assert list(corrected_labels(data).values()) == [row[-1] for row in rows]


def test_a_few_rows_prove_nothing(tmp_path: Path) -> None:
    data = records(tmp_path, biomedical_engineer=quiz(6, seed=7, slip=1, noise=0))
    assert label_shifts(data)[BE].verdict == "unclear"
    assert None not in corrected_labels(data).values()


def test_random_letters_are_no_shift(tmp_path: Path) -> None:
    verdicts = [
        label_shifts(records(tmp_path / str(seed), biomedical_engineer=quiz(100, seed=seed, noise=1.0)))[BE].verdict
        for seed in range(20)
    ]
    assert verdicts == ["unclear"] * 20


def test_chance_follows_how_often_each_letter_is_given(tmp_path: Path) -> None:
    """Where every answer is D and explanations always name D, agreement at any offset is certain and means nothing."""
    rows = [[*row[:5], f"The {row[4]}.", row[4], "D"] for row in quiz(60, seed=8)]
    shift = label_shifts(records(tmp_path, biomedical_engineer=rows))[BE]
    assert {found.chance for found in shift.agreements} == {1.0}
    assert shift.verdict == "unclear"


def test_missing_rows_do_not_make_neighbours(tmp_path: Path) -> None:
    data = records(tmp_path, biomedical_engineer=quiz(60, seed=9))
    odd = [row for row in data if row["row"] % 2]
    shift = label_shifts(odd)[BE]
    assert shift.at(1).n == 0
    assert shift.at(2).n == shift.at(0).n - 1
    assert math.isclose(shift.at(1).p, 1.0)


def test_a_row_given_twice_is_refused(tmp_path: Path) -> None:
    data = records(tmp_path, biomedical_engineer=quiz(3, seed=1))
    with pytest.raises(ValueError, match="row 0 of biomedical_engineer is given twice"):
        label_shifts([*data, data[0]])


@pytest.mark.data
def test_one_real_file_is_shifted_and_four_are_not() -> None:
    """Ranges measured by two other matchers: own label 72-99 % in the sound files, a quarter in the shifted one, whose
    next label is supported in 69-79 %; 43 of its 129 rows have the letter of the next row (counted with awk)."""
    data = [to_record(case) for case in load_cases(real_data("medexqa"))]
    shifts = label_shifts(data)
    shifted = shifts.pop(SLP)
    assert (shifted.verdict, shifted.offset, shifted.shifted_parts) == ("shifted", 1, (1, 2, 3))
    assert 0.20 <= shifted.at(0).share <= 0.30
    assert 0.69 <= shifted.at(1).share <= 0.79
    assert (shifted.perfect_matches, shifted.perfect_n) == (43, 129)
    assert {shift.verdict for shift in shifts.values()} == {"own"}
    assert all(0.72 <= shift.at(0).share <= 0.99 for shift in shifts.values())
    assert all(shift.decided >= 0.9 * shift.rows for shift in shifts.values())
    corrected = corrected_labels(data)
    letters = [row["answer"] for row in data if row["specialty"] == SLP]
    assert [corrected[f"{SLP}-test-{row:03d}"] for row in range(130)] == [*letters[1:], None]
    assert all(corrected[row["id"]] == row["answer"] for row in data if row["specialty"] != SLP)
