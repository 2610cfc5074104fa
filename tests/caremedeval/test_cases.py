"""Loading: what a case holds, both roots, and one clear sentence for each kind of bad file."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphs.caremedeval.cases import load_cases
from judge.errors import DataError
from tests.caremedeval.synthetic import question, without, write_data
from tests.data import real_data

QUESTIONS = Path("original/all/questions.json")


def failure(data: Path, language: Any = "fr") -> str:
    with pytest.raises(DataError) as caught:
        load_cases(data, language)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_case_holds_what_the_record_says(tmp_path: Path) -> None:
    record = question(
        1,
        essential_answers=["a"],
        unacceptable_answers=["e"],
        labels=["statistics", "design"],
        justification="Because.",
    )
    flags = [question(1) | {"requires_context": True}]
    data = write_data(tmp_path, [question(0), record | {"unknown_extra": 1}], flags=flags)
    cases = load_cases(data, "fr")
    first, second = cases
    assert (second.id, second.article_id, second.index, second.language) == ("id1", "article_1", 1, "fr")
    assert next(iter(second.options.items())) == ("a", "choice a of 1")
    assert (second.correct, second.essential, second.unacceptable) == ({"a", "c"}, {"a"}, {"e"})
    assert second.labels == ("statistics", "design")
    assert (second.justification, second.exam_date, second.article_date) == ("Because.", "2020", "2019")
    assert (second.exam_link, second.article_link) == ("https://example.org/exam", "https://example.org/article")
    assert (first.requires_context, second.requires_context) == (None, True)
    assert second.letters == frozenset("abcde")
    assert len(cases) == 2
    assert hash(first) != hash(second)


def test_articles_are_found_by_case_or_article(tmp_path: Path) -> None:
    cases = load_cases(write_data(tmp_path), "fr")
    assert cases.article("id0") == cases.article("article_1")
    assert cases.article("id0").startswith("articles article_1")
    assert cases.abstract("id0").startswith("articles_abstract article_1")
    with pytest.raises(DataError, match="'id9'"):
        cases.article("id9")


def test_clone_and_bare_folders_are_the_same_data(tmp_path: Path) -> None:
    bare = load_cases(write_data(tmp_path / "bare"), "fr")
    clone = load_cases(write_data(tmp_path / "clone" / "data").parent, "fr")
    assert clone.root == tmp_path / "clone" / "data"
    assert clone.cases == bare.cases
    assert clone.data_hash == bare.data_hash


def test_every_file_read_is_listed_with_its_hash(tmp_path: Path) -> None:
    cases = load_cases(write_data(tmp_path), "fr")
    assert {file.path for file in cases.files} == {
        "original/all/questions.json",
        "original/requires_context/questions_requires_context.json",
        "original/all/articles/article_1.txt",
        "original/all/articles_abstract/article_1.txt",
    }
    for file in cases.files:
        assert file.sha256 == hashlib.sha256((tmp_path / file.path).read_bytes()).hexdigest()


def test_any_changed_byte_changes_the_data_hash(tmp_path: Path) -> None:
    before = load_cases(write_data(tmp_path), "fr").data_hash
    abstract = tmp_path / "original/all/articles_abstract/article_1.txt"
    abstract.write_text(abstract.read_text() + ".")
    assert load_cases(tmp_path, "fr").data_hash != before


def test_english_shares_the_articles_of_the_original(tmp_path: Path) -> None:
    english = [question(0, question="In English?"), question(1)]
    cases = load_cases(write_data(tmp_path, english=english), "en")
    assert cases.cases[0].question == "In English?"
    assert {case.language for case in cases} == {"en"}
    assert cases.article("id0").startswith("articles article_1")


def test_english_loads_without_the_french_questions(tmp_path: Path) -> None:
    write_data(tmp_path, english=[question(0)])
    (tmp_path / QUESTIONS).unlink()
    assert len(load_cases(tmp_path, "en")) == 1


def test_another_key_in_english_is_an_error(tmp_path: Path) -> None:
    english = [question(0), question(1, correct_answers=["a", "d"])]
    message = failure(write_data(tmp_path, english=english), "en")
    assert "questions_en.json: question at index 1 (id id1): 'correct_answers' is ['a', 'd'], but ['a', 'c']" in message
    assert str(tmp_path / QUESTIONS) in message


def test_essential_but_not_correct_is_accepted(tmp_path: Path) -> None:
    cases = load_cases(write_data(tmp_path, [question(0, essential_answers=["b"])]), "fr")
    assert cases.cases[0].essential == {"b"}


@pytest.mark.parametrize("encode", [lambda t: t.encode("utf-8-sig"), lambda t: t.replace("\n", "\r\n").encode()])
def test_byte_order_mark_and_crlf_are_accepted(tmp_path: Path, encode: Callable[[str], bytes]) -> None:
    write_data(tmp_path)
    for file in (tmp_path / QUESTIONS, tmp_path / "original/all/articles/article_1.txt"):
        file.write_bytes(encode(file.read_text().replace("word word", "word\nword", 1)))
    cases = load_cases(tmp_path, "fr")
    assert cases.article("id0").startswith("articles article_1 word\nword")


def test_options_that_look_like_missing_values_are_texts(tmp_path: Path) -> None:
    answers = {"a": "None", "b": "NA", "c": "null", "d": "nan"}
    cases = load_cases(write_data(tmp_path, [question(0, answers=answers)]), "fr")
    assert dict(cases.cases[0].options) == answers


BAD_RECORDS = {
    "missing field": (without(question(1), "labels"), "the field 'labels' is missing"),
    "text for list": (question(1, correct_answers="ac"), "'correct_answers' must be a list, found a text"),
    "number in list": (question(1, labels=[3]), "'labels' must hold texts, found a number"),
    "list in list": (question(1, correct_answers=[["a"]]), "'correct_answers' must hold texts, found a list"),
    "list for object": (question(1, answers=["x", "y"]), "'answers' must be an object, found a list"),
    "null for text": (question(1, question=None), "'question' must be a text, found null"),
    "text for number": (question(1, nb_correct_answers="2"), "'nb_correct_answers' must be a number, found a text"),
    "bool for number": (question(1, nb_correct_answers=True), "must be a number, found true or false"),
    "number as option": (question(1, answers={"a": "x", "b": 5}), "option 'b' must be a text, found a number"),
    "empty option": (question(1, answers={"a": "x", "b": " "}), "option 'b' is empty"),
    "option name": (question(1, answers={"a": "x", "B)": "y"}), "the key 'B)'"),
    "unknown correct": (question(1, correct_answers=["a", "f"]), "'correct_answers' names the option 'f'"),
    "unknown essential": (question(1, essential_answers=["z"]), "'essential_answers' names the option 'z'"),
    "unknown unacceptable": (question(1, unacceptable_answers=["A"]), "'unacceptable_answers' names the option 'A'"),
    "twice correct": (question(1, correct_answers=["a", "a"]), "names the option 'a' twice"),
    "one option": (
        question(1, answers={"a": "x"}, correct_answers=["a"], nb_correct_answers=1),
        "'answers' has 1 option(s), at least 2 are needed",
    ),
    "empty question": (question(1, question=" \n"), "the field 'question' is empty"),
    "no correct": (question(1, correct_answers=[], nb_correct_answers=0), "'correct_answers' is empty"),
    "unknown label": (question(1, labels=["ethics"]), "'labels' names the label 'ethics'"),
    "wrong number": (question(1, nb_correct_answers=3), "'nb_correct_answers' says 3, but 'correct_answers' has 2"),
    "path as article": (question(1, id_article="../secret"), "'id_article' is '../secret'"),
    "slash in article": (question(1, id_article="a/b"), "'id_article' is 'a/b'"),
    "NUL in article": (question(1, id_article="a\0"), "'id_article' is 'a\\x00'"),
    "half a character": (question(1, justification="\ud800"), "'justification' holds half a surrogate pair"),
}


@pytest.mark.parametrize(("record", "expected"), BAD_RECORDS.values(), ids=BAD_RECORDS)
def test_a_bad_record_is_named_with_file_index_and_id(tmp_path: Path, record: Any, expected: str) -> None:
    write_data(tmp_path)
    # ASCII escapes, so that even half a surrogate pair can be written
    (tmp_path / QUESTIONS).write_text(json.dumps([question(0), record]), encoding="utf-8")
    message = failure(tmp_path)
    assert message.startswith(f"{tmp_path / QUESTIONS}: question at index 1 (id id1): ")
    assert expected in message
    assert message.endswith("; correct it there or fetch the data set again")


def test_a_record_without_id_is_named_by_its_index(tmp_path: Path) -> None:
    message = failure(write_data(tmp_path, [without(question(0), "id")]))
    assert "question at index 0 (no id): the field 'id' is missing" in message
    assert "index 1: an object is expected, found a text" in failure(write_data(tmp_path, [question(0), "text"]))


def test_a_repeated_id_names_both_places(tmp_path: Path) -> None:
    message = failure(write_data(tmp_path, [question(0), question(1), question(0)]))
    assert "the id id0 is used at index 0 and at index 2" in message


def test_a_missing_article_or_abstract_is_named_with_its_question(tmp_path: Path) -> None:
    write_data(tmp_path, [question(0), question(1, id_article="article_2")])
    message = failure(tmp_path)
    assert message.startswith(f"{tmp_path / 'original/all/articles/article_2.txt'}: this file is missing")
    assert "index 1 (id id1)" in message
    (tmp_path / "original/all/articles/article_2.txt").write_text("text")
    assert "articles_abstract/article_2.txt: this file is missing" in failure(tmp_path)
    (tmp_path / "original/all/articles_abstract/article_2.txt").write_text(" \n")
    assert "articles_abstract/article_2.txt: this file is empty" in failure(tmp_path)


BAD_FILES = {
    "no JSON": (b'[\n  {"id": }\n]', "not valid JSON at line 2, column 10"),
    "cut off": (b'[{"id": "x"', "not valid JSON at line 1"),
    "empty": (b"", "not valid JSON at line 1, column 1"),
    "object": (b'{"a": 1}', "a list of questions is expected, found an object"),
    "Latin-1": ('["é"]'.encode("latin-1"), "not UTF-8 text at byte 2"),
    "repeated name": (b'[{"id": "x", "id": "y"}]', "the name 'id' occurs twice in one object, near 'x'"),
    "deep": (b"[" * 100_000, "not usable JSON"),
}


@pytest.mark.parametrize("name", ["questions", "requires_context"])
@pytest.mark.parametrize(("content", "expected"), BAD_FILES.values(), ids=BAD_FILES)
def test_an_unreadable_file_is_named(tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    write_data(tmp_path)
    file = next((tmp_path / "original").rglob(f"*{name}.json"))
    file.write_bytes(content)
    message = failure(tmp_path)
    assert message.startswith(f"{file}: ")
    assert expected in message


@pytest.mark.parametrize("name", ["questions", "requires_context"])
def test_a_missing_file_or_a_folder_in_its_place_is_named(tmp_path: Path, name: str) -> None:
    write_data(tmp_path)
    file = next((tmp_path / "original").rglob(f"*{name}.json"))
    file.unlink()
    assert failure(tmp_path) == f"{file}: this file is missing; fetch the data set again"
    file.mkdir()
    assert failure(tmp_path) == f"{file}: this is a folder, a file is expected; fetch the data set again"


def test_a_folder_without_the_data_set_says_what_was_looked_for(tmp_path: Path) -> None:
    message = failure(tmp_path)
    assert message.startswith(f"{tmp_path}: ")
    assert str(tmp_path / "data" / "original") in message
    assert str(tmp_path / "original") in message
    assert "neither" in failure(tmp_path / "nowhere")


def test_a_language_that_is_not_there_is_a_missing_file(tmp_path: Path) -> None:
    assert "questions_requires_context_en.json: this file is missing" in failure(write_data(tmp_path), "en")


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ([question(7) | {"requires_context": True}], "index 0 (id id7) is not in the set"),
        ([question(0) | {"requires_context": "yes"}], "'requires_context' must be true or false, found a text"),
        ([question(0)], "the field 'requires_context' is missing"),
        ([question(0) | {"requires_context": True}] * 2, "index 1 (id id0): the id is used twice in this file"),
    ],
)
def test_bad_context_annotations_are_named(tmp_path: Path, flags: list[Any], expected: str) -> None:
    message = failure(write_data(tmp_path, flags=flags))
    assert "questions_requires_context.json: question at index" in message
    assert expected in message


@pytest.mark.data
def test_the_real_set_has_the_documented_sizes() -> None:
    french = load_cases(real_data("caremedeval"), "fr")
    assert len(french) == 534
    assert len(french.articles) == len(french.abstracts) == 37
    sizes = [len(case.options) for case in french]
    assert (sizes.count(5), sizes.count(4)) == (525, 9)
    labels = [label for case in french for label in case.labels]
    documented = {"statistics": 239, "methodology": 219, "limitations": 132, "applicability": 115, "design": 105}
    assert {label: labels.count(label) for label in labels} == documented
    assert sum(bool(case.justification) for case in french) == 204
    assert sum(bool(case.essential) for case in french) == 23
    assert sum(bool(case.unacceptable) for case in french) == 19
    flags = [case.requires_context for case in french]
    assert (flags.count(True), flags.count(False)) == (11, 5)
    odd = french.cases[275]
    assert (odd.id[:8], odd.essential, odd.correct) == ("350275dd", {"b"}, {"c"})


@pytest.mark.data
def test_the_real_english_set_has_the_same_ids_and_key() -> None:
    data = real_data("caremedeval")
    french, english = load_cases(data, "fr"), load_cases(data, "en")
    assert [case.id for case in english] == [case.id for case in french]
    assert [case.correct for case in english] == [case.correct for case in french]
    assert english.articles == french.articles
    assert english.data_hash != french.data_hash


@pytest.mark.data
def test_the_real_set_loads_from_a_clone_like_layout(tmp_path: Path) -> None:
    data = real_data("caremedeval")
    shutil.copytree(data / "original", tmp_path / "data" / "original")
    assert load_cases(tmp_path, "fr").data_hash == load_cases(data, "fr").data_hash
