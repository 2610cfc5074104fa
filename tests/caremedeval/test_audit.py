"""The audit finds what is planted, goes on past it, and reports the known oddities of the real files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graphs.caremedeval.audit import AuditReport, Finding, audit, refers_to_figure
from graphs.caremedeval.cases import load_cases
from judge.errors import DataError
from tests.caremedeval.synthetic import question, write_data, write_json
from tests.data import real_data


def finding(report: AuditReport, code: str) -> Finding:
    return next(found for found in report.findings if found.code == code)


def codes(report: AuditReport, *severities: str) -> set[str]:
    return {found.code for found in report.findings if found.severity in severities}


def test_clean_data_have_no_warnings(tmp_path: Path) -> None:
    flags = [question(0) | {"requires_context": True}]
    questions = [question(0), question(1, answers={letter: f"{letter} is another thing" for letter in "abcd"})]
    report = audit(write_data(tmp_path, questions, english=questions, flags=flags))
    assert codes(report, "problem", "warning") == set()
    assert report.counts["questions"] == 2
    assert report.counts["requires_context_true"] == 1
    assert set(report.reachable.values()) == {1.0}


PLANTED: dict[str, tuple[list[dict[str, Any]], str, str]] = {
    "essential_not_correct": ([question(1, essential_answers=["b"])], "warning", "index 1 (id1)"),
    "reachable_maximum": ([question(1, essential_answers=["b"])], "warning", "index 1 (id1)"),
    "unacceptable_correct": ([question(1, unacceptable_answers=["a"])], "problem", "index 1 (id1)"),
    "essential_unacceptable": (
        [question(1, essential_answers=["a"], unacceptable_answers=["a"])],
        "problem",
        "index 1 (id1)",
    ),
    "figure_or_table": ([question(1, question="D'après le Tableau 2 :")], "warning", "index 1 (id1)"),
    "identical_options": (
        [question(1, answers={"a": "Same", "b": "other", "c": " same "})],
        "problem",
        "index 1 (id1)",
    ),
    "letters_out_of_order": ([question(1, answers={"b": "x", "a": "y", "c": "z"})], "warning", "index 1 (id1)"),
    "every_option_correct": (
        [question(1, answers={"a": "x", "c": "y"})],
        "info",
        "index 1 (id1)",
    ),
    "duplicate_questions": (
        [question(1), question(1, id="id9", answers=dict(zip("abcde", question(1)["answers"].values(), strict=True)))],
        "warning",
        "index 1 and index 2",
    ),
    "duplicate_id": ([question(1), question(1, question="Other?")], "problem", "index 2 (id1)"),
    "number_of_correct_answers": ([question(1, nb_correct_answers=4)], "problem", "index 1 (id1)"),
    "unusable_question": ([question(1, labels=["ethics"])], "problem", "question at index 1 (id id1)"),
    "article_missing": ([question(1, id_article="article_9")], "problem", "article_9"),
    "abstract_missing": ([question(1, id_article="article_9")], "problem", "article_9"),
}


@pytest.mark.parametrize("code", PLANTED)
def test_a_planted_defect_is_found_with_its_place(tmp_path: Path, code: str) -> None:
    questions, severity, place = PLANTED[code]
    found = finding(audit(write_data(tmp_path, [question(0), *questions])), code)
    assert (found.severity, found.count) == (severity, 1)
    assert found.examples[0].startswith(place)
    assert "{n}" not in found.text


def test_bad_records_do_not_end_the_audit(tmp_path: Path) -> None:
    report = audit(write_data(tmp_path, [question(0), "text", question(2, answers=[]), question(3, justification="x")]))
    assert finding(report, "unusable_question").count == 2
    assert (report.counts["questions"], report.counts["usable_questions"]) == (4, 2)
    assert finding(report, "with_justification").count == 1


def test_nothing_usable_is_still_a_report(tmp_path: Path) -> None:
    report = audit(write_data(tmp_path, ["text"]))
    assert report.reachable == {}
    assert finding(report, "unusable_question").count == 1


def test_near_identical_questions_are_found(tmp_path: Path) -> None:
    words = " ".join(f"word{i}" for i in range(60))
    near = [question(1, question=f"{words} before?"), question(2, question=f"{words} after?")]
    alike = {"answers": question(1)["answers"]}
    report = audit(write_data(tmp_path, [near[0] | alike, near[1] | alike]))
    assert finding(report, "near_identical_questions").examples == ("index 0 and index 1",)


def test_articles_are_examined(tmp_path: Path) -> None:
    write_data(tmp_path, articles=("article_1", "article_2", "article_3"))
    folder = tmp_path / "original" / "all"
    (folder / "articles" / "article_1.txt").write_text("word " * 8_000)
    (folder / "articles" / "article_2.txt").write_text("brief")
    (folder / "articles" / "article_3.txt").write_bytes(b"\xff")
    (folder / "articles_abstract" / "article_1.txt").write_text("brief")
    report = audit(tmp_path)
    assert finding(report, "article_without_questions").examples == ("article_2",)
    assert finding(report, "article_short").examples == ("article_2",)
    assert finding(report, "abstract_short").examples == ("article_1",)
    assert finding(report, "unreadable_text").examples == ("articles/article_3.txt",)
    assert finding(report, "cut_in_medium").examples == ("article_1",)
    assert "cut_in_full" not in codes(report, "info")


def test_english_differences_are_found(tmp_path: Path) -> None:
    english = [
        question(2, answers={"a": "x", "c": "y"}),
        question(1, correct_answers=["b", "c"]),
        question(0, article_date="1999", labels=["statistics"], question="See Table 1?"),
        question(5),
    ]
    report = audit(write_data(tmp_path, [question(0), question(1), question(2)], english=english))
    assert finding(report, "english_order").count == 2
    assert finding(report, "english_key").examples == ("index 1 (id1)",)
    assert finding(report, "english_options").examples == ("index 0 (id2)",)
    assert finding(report, "english_ids").examples == ("id5",)
    for code in ("english_dates", "english_labels", "english_figure_or_table"):
        assert finding(report, code).examples == ("index 2 (id0)",)


def test_a_shuffled_file_is_compared_by_option_text(tmp_path: Path) -> None:
    good = question(0, unacceptable_answers=["e"])
    swapped = {"a": "choice b of 0", "b": "choice a of 0"} | {letter: f"choice {letter} of 0" for letter in "cde"}
    write_data(tmp_path, [good, question(1)])
    shuffled = tmp_path / "original" / "all" / "questions_shuffled.json"

    write_json(shuffled, [good | {"answers": swapped, "correct_answers": ["b", "c"]}, question(1)])
    assert not any(code.startswith("shuffled") for code in codes(audit(tmp_path), "warning", "problem"))

    lost = good | {"answers": swapped, "unacceptable_answers": []}  # letters kept, options moved
    write_json(shuffled, [lost, question(1)])
    report = audit(tmp_path)
    assert finding(report, "shuffled_correct").examples == ("index 0 (id0)",)
    assert finding(report, "shuffled_unacceptable").examples == ("index 0 (id0)",)


def test_context_annotations_are_examined(tmp_path: Path) -> None:
    report = audit(write_data(tmp_path, flags=[question(8) | {"requires_context": True}]))
    assert finding(report, "requires_context_unknown").examples == ("id8",)
    next((tmp_path / "original").rglob("*requires_context.json")).unlink()
    assert "requires_context_missing" in codes(audit(tmp_path), "problem")


@pytest.mark.parametrize("name", ["questions.json", "questions_shuffled.json"])
def test_a_questions_file_that_is_no_json_ends_the_audit(tmp_path: Path, name: str) -> None:
    write_data(tmp_path)
    file = tmp_path / "original" / "all" / name
    file.write_text("[,]")
    with pytest.raises(DataError, match="line 1, column 2"):
        audit(tmp_path)


def test_the_report_is_plain_json_without_the_path(tmp_path: Path) -> None:
    text = json.dumps(audit(write_data(tmp_path)).to_dict())
    assert str(tmp_path) not in text
    assert json.loads(text)["counts"]["questions"] == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("D'après le tableau 1 :", True),
        ("les Tableaux 2 et 3", True),
        ("A propos de la table 2", True),
        ("(figure 3B)", True),
        ("Regarding Figures 1 and 2", True),
        ("la critère qui figure dans le protocole", False),
        ("devrait figurer dans les recommandations", False),
        ("un résultat stable", False),
        ("acceptable", False),
    ],
)
def test_what_counts_as_a_figure_or_table(tmp_path: Path, text: str, expected: bool) -> None:
    cases = load_cases(write_data(tmp_path, [question(0, question=text)]), "fr")
    assert refers_to_figure(cases.cases[0]) is expected


@pytest.mark.data
def test_known_oddities_of_the_real_set() -> None:
    report = audit(real_data("caremedeval"))
    assert codes(report, "problem") == set()
    assert finding(report, "essential_not_correct").examples == ("index 275 (350275dda4a9)",)
    assert finding(report, "figure_or_table").count == 85
    assert finding(report, "with_essential").count == 23
    assert finding(report, "with_unacceptable").count == 19
    assert finding(report, "with_justification").count == 204
    assert "16 question(s) are annotated for context, 11 of them" in finding(report, "requires_context").text
    assert "37 clusters of 8 to 16" in finding(report, "clusters").text
    assert report.counts["options_per_question"] == {"4": 9, "5": 525}


@pytest.mark.data
def test_both_languages_mention_figures_in_the_same_questions() -> None:
    data = real_data("caremedeval")
    french, english = load_cases(data, "fr"), load_cases(data, "en")
    assert [refers_to_figure(case) for case in french] == [refers_to_figure(case) for case in english]
