"""The audit finds what is planted, goes on past it, and reports the known oddities of the real files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphs.medexqa.audit import audit
from graphs.medexqa.cases import SPECIALTIES
from judge.audit import AuditReport, Finding
from judge.errors import DataError
from tests.data import real_data
from tests.medexqa.synthetic import BE, SLP, Fields, fields, quiz, write

OTHERS = ("clinical_psychologist", "occupational_therapist", "clinical_laboratory_scientist")


def finding(report: AuditReport, code: str) -> Finding:
    return findings(report, code)[0]


def findings(report: AuditReport, code: str) -> list[Finding]:
    """Those of this code, whichever specialty they are about: its code, if any, ends theirs."""
    suffixes = {"", *(f"_{specialty.code.casefold()}" for specialty in SPECIALTIES)}
    return [found for found in report.findings if found.code in {f"{code}{suffix}" for suffix in suffixes}]


def codes(report: AuditReport, *severities: str) -> set[str]:
    return {found.code for found in report.findings if found.severity in severities}


def audit_of(root: Path, rows: list[Fields]) -> AuditReport:
    write(root, rows)
    return audit(root)


def test_sound_files_of_published_size_have_no_warnings(tmp_path: Path) -> None:
    sizes = dict(zip((BE, SLP, *OTHERS), (143, 130, 106, 189, 372), strict=True))
    for seed, (name, size) in enumerate(sizes.items()):
        write(tmp_path, quiz(size, seed=10 + seed), name)
        write(tmp_path, quiz(5, seed=20 + seed), name, split="dev")
    report = audit(tmp_path)
    assert codes(report, "problem", "warning") == set()
    assert report.counts["rows"] == report.counts["usable_rows"] == 940
    assert len(findings(report, "labels_agree")) == 5


DISTINCT = {"question": "Wherefore art thou?", "first": "Because upper 1.", "second": "Upper.", "answer": "C"}

PLANTED: dict[str, tuple[Fields, str, str]] = {
    "unusable_row": (fields(1, answer="F"), "problem", f"{BE}_test.tsv: line 2 (id {BE}-test-001): the answer letter"),
    "empty_explanation": (fields(1, **DISTINCT | {"second": ""}), "problem", f"{BE}-test-001"),
    "same_explanations": (fields(1, **DISTINCT | {"second": "Because upper 1."}), "warning", f"{BE}-test-001"),
    "same_options": (fields(1, **DISTINCT | {"a": "x", "b": "x"}), "problem", f"{BE}-test-001"),
    "options_differ_in_case": (fields(1, **DISTINCT | {"a": "ph", "b": "pH "}), "warning", f"{BE}-test-001"),
    "quoted": (fields(1, **DISTINCT | {"first": '"The ""upper 1""."'}), "info", f"{BE}-test-001"),
    "near_duplicate_questions": (fields(0, question="An invented question, 0?"), "warning", f"{BE}-test-000 and {BE}"),
    "same_question_text": (
        fields(0, a="stone", b="paper scissors", c="well", d="fire brigade"),
        "warning",
        f"{BE}-test-000 and {BE}-test-001",
    ),
    "related_questions": (
        fields(0, question="Invented questions 0, 1?", a="stone", c="paper scissors", d="fire brigade"),
        "info",
        f"{BE}-test-000 and {BE}-test-001",
    ),
}


@pytest.mark.parametrize("code", PLANTED)
def test_a_planted_defect_is_found_with_its_place(tmp_path: Path, code: str) -> None:
    row, severity, place = PLANTED[code]
    found = finding(audit_of(tmp_path, [fields(0), row]), code)
    assert (found.severity, found.count) == (severity, 1)
    assert found.examples[0].startswith(place)
    assert "{" not in found.text


def test_bad_rows_do_not_end_the_audit(tmp_path: Path) -> None:
    report = audit_of(tmp_path, [fields(0), ["x"], fields(2, a=""), fields(3)])
    assert finding(report, "unusable_row").count == 2
    assert (report.counts["rows"], report.counts["usable_rows"]) == (4, 2)
    assert report.counts["specialties"][BE]["labels"]["by_offset"]["+3"]["n"] == 1


def test_nothing_usable_is_still_a_report(tmp_path: Path) -> None:
    report = audit_of(tmp_path, [["x"], ["y"]])
    assert finding(report, "unusable_row").count == 2
    assert report.counts["specialties"][BE]["labels"] is None


def test_what_is_missing_or_unknown_is_named(tmp_path: Path) -> None:
    write(tmp_path, [fields(0)], "nurse")
    report = audit_of(tmp_path, [fields(0)])
    assert finding(report, "missing_file").count == 9
    assert finding(report, "unknown_specialty").examples == ("nurse_test.tsv",)
    assert finding(report, "number_of_rows").examples == (f"{BE}_test.tsv: 1, published 143",)


def test_a_shifted_file_is_a_problem_told_with_its_numbers(tmp_path: Path) -> None:
    write(tmp_path, quiz(130, seed=3), SLP)
    report = audit_of(tmp_path, quiz(130, seed=2, slip=1))
    (found,) = findings(report, "labels_shifted")
    shown = report.counts["specialties"][BE]["labels"]
    best = shown["by_offset"]["+1"]
    assert (found.severity, shown["verdict"], shown["offset"]) == ("problem", "shifted", 1)
    assert found.text.startswith(f"{BE}: the answer letters look shifted by one row: ")
    assert f"but the label of the next row in {best['matches']} of {best['n']} rows" in found.text
    assert "a model that knows every answer would score about" in found.text
    assert finding(report, "labels_agree").text.startswith(f"{SLP}: ")


@pytest.mark.parametrize(("slip", "where"), [(-1, "the label of the row before"), (2, "the label 2 rows further down"),
                                             (-2, "the label 2 rows further up")])  # fmt: skip
def test_any_shift_is_told_in_words(tmp_path: Path, slip: int, where: str) -> None:
    assert where in finding(audit_of(tmp_path, quiz(130, seed=2, slip=slip)), "labels_shifted").text


def test_a_shift_of_a_part_is_told_with_the_part(tmp_path: Path) -> None:
    found = finding(audit_of(tmp_path, quiz(150, seed=6, slip=1, slips_from=75)), "labels_partly_shifted")
    assert found.severity == "problem"
    assert "3 of the file the answer letters look shifted by one row, but not everywhere" in found.text


def test_labels_that_explanations_do_not_support_are_listed(tmp_path: Path) -> None:
    rows = quiz(60, seed=11, noise=0)
    wrong = "ABCD".replace(rows[7][-1], "")[0]
    report = audit_of(tmp_path, [*rows[:7], [*rows[7][:-1], wrong], *rows[8:]])
    place = f"{BE}-test-007 (label {wrong}, explanations {rows[7][-1]})"
    assert finding(report, "label_not_supported").examples == (place,)


def test_skewed_letters_are_found(tmp_path: Path) -> None:
    rows = [[*row[:-1], "D" if number % 2 else row[-1]] for number, row in enumerate(quiz(100, seed=12))]
    found = finding(audit_of(tmp_path, rows), "letters_skewed")
    share = sum(row[-1] == "D" for row in rows) / 100
    assert found.severity == "warning"
    assert f"always answering D scores {share:.1%}" in found.text


def test_a_handful_of_letters_is_not_tested(tmp_path: Path) -> None:
    report = audit_of(tmp_path, [fields(number) for number in range(10)])
    assert not {"letters_skewed", "letters_even"} & codes(report, "warning", "info")
    assert report.counts["specialties"][BE]["answer_letters"] == {"A": 0, "B": 10, "C": 0, "D": 0}


def test_a_test_question_that_few_shot_prompts_give_away_is_a_problem(tmp_path: Path) -> None:
    rows = quiz(3, seed=13)
    write(tmp_path, [rows[2]], split="dev")
    found = finding(audit_of(tmp_path, rows), "dev_question_in_test")
    assert (found.severity, found.examples) == ("problem", (f"{BE}-test-002 and {BE}-dev-000",))


def test_likeness_across_specialties_is_counted(tmp_path: Path) -> None:
    rows = quiz(3, seed=14)
    write(tmp_path, [rows[1]], SLP)
    found = finding(audit_of(tmp_path, rows), "near_duplicate_questions")
    assert "1 of them across specialties" in found.text
    assert found.examples == (f"{BE}-test-001 and {SLP}-test-000",)


def test_stems_that_differ_in_one_word_are_no_duplicates(tmp_path: Path) -> None:
    rows = [
        [f"Which of the following statements about the {word} is correct?", *row[1:]]
        for word, row in zip(("heart", "liver", "skin"), quiz(3, seed=15), strict=True)
    ]
    report = audit_of(tmp_path, rows)
    assert finding(report, "no_near_duplicates").count == 3
    assert "related_questions" not in codes(report, "info")


def test_a_file_that_cannot_be_read_ends_the_audit(tmp_path: Path) -> None:
    write(tmp_path, b"\xff")
    with pytest.raises(DataError, match="not UTF-8"):
        audit(tmp_path)


def test_the_report_is_plain_json_without_the_path(tmp_path: Path) -> None:
    content = json.dumps(audit_of(tmp_path, quiz(30, seed=16)).to_dict())
    assert str(tmp_path) not in content
    assert json.loads(content)["counts"]["rows"] == 30


@pytest.mark.data
def test_known_oddities_of_the_real_set() -> None:
    """Letters counted with `cut -f8 | sort | uniq -c`: in the laboratory file 151 of 372 are D, 40.6 %."""
    report = audit(real_data("medexqa"))
    assert codes(report, "problem") == {"labels_shifted_slp"}
    assert finding(report, "labels_shifted").text.startswith("speech_pathologist: ")
    assert "score about 33% (43 of 129 rows) here" in finding(report, "labels_shifted").text
    assert len(findings(report, "labels_agree")) == 4
    assert finding(report, "same_explanations").examples == (f"{BE}-test-106",)
    assert finding(report, "quoted").examples == (f"{BE}-test-110",)
    assert finding(report, "options_differ_in_case").examples == ("clinical_laboratory_scientist-test-324",)
    skewed = {found.text.partition(":")[0]: found.text for found in findings(report, "letters_skewed")}
    assert "always answering D scores 40.6%" in skewed["clinical_laboratory_scientist"]
    assert report.counts["specialties"]["clinical_laboratory_scientist"]["answer_letters"]["D"] == 151
    same = finding(report, "same_question_text")
    assert same.examples == ("clinical_psychologist-test-005 and occupational_therapist-test-091",)
    assert "no_near_duplicates" in codes(report, "info")
    assert not {"unusable_row", "number_of_rows", "missing_file"} & codes(report, "problem", "warning")
