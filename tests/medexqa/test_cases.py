"""Loading: what a case holds, every layout of folders, and one clear sentence for each kind of bad file."""

from __future__ import annotations

import hashlib
import json
import shutil
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from graphs.medexqa.cases import CaseSet, from_record, load_cases, to_record
from judge.errors import DataError, SpecError
from tests.conftest import CHECKOUT
from tests.data import real_data
from tests.medexqa.synthetic import BE, SLP, Fields, fields, text, write

FIXTURE = CHECKOUT / "fixtures" / "medexqa"


def load(root: Path, content: str | bytes | list[Fields]) -> CaseSet:
    write(root, content)
    return load_cases(root)


def failure(root: Path, content: str | bytes | list[Fields] | None = None, *names: str) -> str:
    if content is not None:
        write(root, content)
    with pytest.raises(DataError) as caught:
        load_cases(root, names)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_case_holds_what_the_row_says(tmp_path: Path) -> None:
    case = load(tmp_path, [fields(0), fields(1, answer="D")]).cases[1]
    assert (case.id, case.specialty, case.code, case.split, case.row) == (f"{BE}-test-001", BE, "BE", "test", 1)
    assert case.question == "Invented question 1?"
    assert list(case.options.items()) == [("A", "left 1"), ("B", "right 1"), ("C", "upper 1"), ("D", "lower 1")]
    assert case.explanations == ("Because right 1 is so.", "It is right 1 indeed.")
    assert (case.answer, case.flags) == ("D", ())
    assert hash(case) == hash(case)


def test_a_record_is_plain_json_and_gives_the_case_back() -> None:
    for case in load_cases(FIXTURE):
        assert from_record(json.loads(json.dumps(to_record(case)))) == case


def test_cases_come_in_the_published_order_of_specialties(tmp_path: Path) -> None:
    names = ("clinical_laboratory_scientist", "occupational_therapist", SLP, "clinical_psychologist", BE)
    for name in names:
        write(tmp_path, [fields(0)], name)
    assert [case.code for case in load_cases(tmp_path)] == ["BE", "CP", "SLP", "OT", "CLS"]


@pytest.mark.parametrize("word", ["None", "NA", "N/A", "null", "nan", "NaN", "-", "0", "#N/A", "True", "1e5", "007"])
def test_words_that_readers_turn_into_nothing_stay_texts(tmp_path: Path, word: str) -> None:
    changed = dict.fromkeys(("question", "a", "first", "second"), word)
    case = load(tmp_path, [fields(**changed)]).cases[0]
    assert (case.question, case.options["A"], *case.explanations) == (word,) * 4


@pytest.mark.parametrize(
    "stray",
    ['5" tube', '"open', 'shut"', '"', 'a "b" c', '"a" and "b"', 'a""b', '"alone"', "'", '"two" words', '""" is odd'],
)
def test_stray_quotes_are_text_and_swallow_no_row(tmp_path: Path, stray: str) -> None:
    rows = [fields(0), fields(1, question=stray, c=stray, second=stray), fields(2)]
    cases = load(tmp_path, rows).cases
    assert len(cases) == 3
    assert (cases[1].question, cases[1].options["C"], cases[1].explanations[1]) == (stray,) * 3
    assert cases[1].flags == ()
    assert cases[2].question == "Invented question 2?"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('"so ""it"" is"', 'so "it" is'),
        ('"so it ""is"""', 'so it "is"'),
        ('"""It"" is so"', '"It" is so'),
        ('"left\tright"', "left\tright"),
        ('"""a""\tb"', '"a"\tb'),
    ],
)
def test_a_field_that_had_to_be_quoted_is_read_without_its_quotes(tmp_path: Path, written: str, meant: str) -> None:
    cases = load(tmp_path, [fields(0, first=written), fields(1, second=written), fields(2)]).cases
    assert (cases[0].explanations[0], cases[1].explanations[1]) == (meant, meant)
    assert [case.flags for case in cases] == [("quoted",), ("quoted",), ()]
    assert [case.answer for case in cases] == ["B"] * 3


def test_a_row_quoted_as_a_whole_is_read_without_its_quotes(tmp_path: Path) -> None:
    case = load(tmp_path, [[f'"{field}"' for field in fields(0)]]).cases[0]
    assert (case.question, case.options["D"], case.answer) == ("Invented question 0?", "lower 0", "B")
    assert case.flags == ("quoted",)


def test_line_ends_byte_order_mark_and_empty_last_lines_change_nothing(tmp_path: Path) -> None:
    plain = text([fields(0), fields(1)])
    expected = load(tmp_path / "plain", plain).cases
    assert load(tmp_path / "crlf", plain.replace("\n", "\r\n")).cases == expected
    assert load(tmp_path / "bom", b"\xef\xbb\xbf" + plain.encode()).cases == expected
    assert load(tmp_path / "end", plain + "\n\r\n").cases == expected
    assert load(tmp_path / "no_end", plain.rstrip("\n")).cases == expected


@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1e", "\xa0"])
def test_only_a_newline_ends_a_row(tmp_path: Path, odd: str) -> None:
    cases = load(tmp_path, [fields(0, first=f"one{odd}two"), fields(1)]).cases
    assert len(cases) == 2
    assert cases[0].explanations[0] == f"one{odd}two"


def test_decomposed_accents_are_kept_as_they_are(tmp_path: Path) -> None:
    word = unicodedata.normalize("NFD", "purée")
    assert load(tmp_path, [fields(0, a=word)]).cases[0].options["A"] == word
    assert len(word) == 6


@pytest.mark.parametrize(
    ("changes", "flag"),
    [
        ({"second": "Because  right 0 is so. "}, "same_explanations"),
        ({"first": ""}, "empty_explanation"),
        ({"second": '""'}, "empty_explanation"),
        ({"a": "e", "d": "E"}, "options_differ_in_case"),
        ({"a": "same", "d": " same"}, "same_options"),
    ],
)
def test_an_oddity_becomes_a_flag_and_changes_nothing(tmp_path: Path, changes: dict[str, str], flag: str) -> None:
    row = fields(0, **changes)
    case = load(tmp_path, [row]).cases[0]
    assert flag in case.flags
    assert list(case.options.values()) == row[1:5]


BAD_ROWS: dict[str, tuple[Fields, str]] = {
    "seven columns": (fields(1)[:-1], "7 column(s) found, 8 are needed"),
    "an explanation is missing": ([*fields(1)[:6], "B"], "7 column(s) found, 8 are needed"),
    "nine columns": ([*fields(1), "x"], "9 column(s) found, 8 are needed"),
    "a tab in no quotes": (fields(1, first="a\tb"), "a text holds a tab that is not in quotes"),
    "an empty line": ([""], "1 column(s) found"),
    "no letter": (fields(1, answer=""), "the answer letter is ''"),
    "a small letter": (fields(1, answer="b"), "the answer letter is 'b', expected A, B, C or D"),
    "a fifth letter": (fields(1, answer="E"), "the answer letter is 'E'"),
    "two letters": (fields(1, answer="AB"), "the answer letter is 'AB'"),
    "empty question": (fields(1, question=" "), "the question is empty"),
    "empty option": (fields(1, c=""), "the option C is empty"),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_a_bad_row_is_refused_with_file_line_and_id(tmp_path: Path, name: str) -> None:
    row, problem = BAD_ROWS[name]
    message = failure(tmp_path, [fields(0), row, fields(2)])
    assert message.startswith(f"{tmp_path / 'test' / BE}_test.tsv: line 2 (id {BE}-test-001): ")
    assert problem in message
    assert message.endswith("correct it there or fetch the data set again")


def test_a_missing_answer_column_is_named(tmp_path: Path) -> None:
    assert "the last one is no answer letter" in failure(tmp_path, [fields(0)[:-1]])


def test_a_header_is_refused_as_such(tmp_path: Path) -> None:
    header = ["question", "A", "B", "C", "D", "exp0", "exp1", "answer"]
    assert "or is this a header, which the format does not have" in failure(tmp_path, [header, fields(0)])


def test_a_cell_that_runs_over_two_lines_is_refused(tmp_path: Path) -> None:
    assert "line 1" in failure(tmp_path, [fields(0, first='"one\ntwo"')])


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "there is no row in it"),
        (b"\n\n", "there is no row in it"),
        (b"\xff\xfea", "not UTF-8 text at byte 0"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    assert problem in failure(tmp_path, content)


def test_a_bad_dev_row_is_refused_too(tmp_path: Path) -> None:
    write(tmp_path, [fields(0)])
    write(tmp_path, [fields(0, answer="X")], split="dev")
    assert f"{BE}_dev.tsv: line 1 (id {BE}-dev-000)" in failure(tmp_path)


def test_a_folder_of_the_name_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "test" / f"{BE}_test.tsv").mkdir(parents=True)
    assert "this is a folder, a file is expected" in failure(tmp_path)


@pytest.mark.parametrize("place", ["nothing", "a file"])
def test_a_place_without_the_data_set_is_refused_with_what_to_give(tmp_path: Path, place: str) -> None:
    if place == "a file":
        (tmp_path / place).write_text("x")
    message = failure(tmp_path / place)
    assert "MedExQA is not here" in message
    assert "give the folder that holds the data set's folders 'test' and 'dev'" in message


def test_every_layout_gives_the_same_cases_and_hash(tmp_path: Path) -> None:
    expected = load_cases(FIXTURE)
    flat = tmp_path / "flat"
    for folder in ("test", "dev"):
        shutil.copytree(FIXTURE / folder, flat, dirs_exist_ok=True)
    for root in (FIXTURE / "test", flat):
        other = load_cases(root)
        assert (other.cases, other.dev, other.data_hash) == (expected.cases, expected.dev, expected.data_hash)


def test_the_hash_covers_every_file_that_was_read(tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(FIXTURE, data)
    before = load_cases(data)
    assert {file.path: file.sha256 for file in before.files} == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in FIXTURE.rglob("*.tsv")
    }
    for file in sorted(data.rglob("*.tsv")):
        content = file.read_bytes()
        file.write_bytes(content + b"\n")
        assert load_cases(data).data_hash != before.data_hash
        file.write_bytes(content)


@pytest.mark.parametrize("name", [SLP, "SLP", "slp", "Speech Pathologist", "speech-pathologist"])
def test_a_specialty_is_chosen_by_name_or_code(name: str) -> None:
    cases = load_cases(FIXTURE, [name])
    assert {case.specialty for case in cases} == {SLP}
    assert {file.path for file in cases.files} == {f"{SLP}_test.tsv", f"{SLP}_dev.tsv"}
    assert [note for note in cases.notes if "no test file" in note] == []


def test_chosen_specialties_come_once_and_in_published_order() -> None:
    assert [item.code for item in load_cases(FIXTURE, ["SLP", "BE", "speech_pathologist"]).specialties] == ["BE", "SLP"]


def test_an_unknown_specialty_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SpecError, match=r"'nurse' is not known; choose from biomedical_engineer \(BE\), .*\(CLS\)"):
        load_cases(FIXTURE, ["BE", "nurse"])


def test_a_chosen_specialty_without_file_is_refused() -> None:
    assert "clinical_psychologist_test.tsv: this file is missing" in failure(FIXTURE, None, "BE", "CP")


def test_the_user_is_told_what_is_not_the_published_set(tmp_path: Path) -> None:
    write(tmp_path, [fields(0)])
    write(tmp_path, [fields(0)], "nurse")
    missing, number, unknown = load_cases(tmp_path).notes
    assert "no test file of clinical_psychologist" in missing
    assert "a macro average is over 1 of 5 specialties only" in missing
    assert "biomedical_engineer has 1 (published 143)" in number
    assert "nurse_test.tsv" in unknown


def test_examples_come_from_the_dev_file_of_the_specialty() -> None:
    cases = load_cases(FIXTURE)
    assert [case.id for case in cases.examples(SLP, 2)] == [f"{SLP}-dev-000", f"{SLP}-dev-001"]
    assert cases.examples(SLP, 0) == ()
    with pytest.raises(DataError, match=r"4 example.* but its dev file has 3"):
        cases.examples(SLP, 4)


def test_examples_without_a_dev_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no dev file of it"):
        load(tmp_path, [fields(0)]).examples(BE, 1)


def test_the_fixture_has_the_traps_its_readme_names() -> None:
    flagged = {case.id: case.flags for case in load_cases(FIXTURE) if case.flags}
    assert flagged == {
        f"{BE}-test-002": ("quoted", "options_differ_in_case"),
        f"{BE}-test-003": ("same_explanations",),
    }
    by_id = {case.id: case for case in load_cases(FIXTURE)}
    assert by_id[f"{BE}-test-001"].options["D"] == "None"
    assert by_id[f"{BE}-test-002"].options["D"] == "NA"
    assert '"2 mS"' in by_id[f"{BE}-test-002"].explanations[0]
    assert '"long check"' in by_id[f"{BE}-test-004"].question


@pytest.mark.data
def test_the_real_files_have_the_published_rows() -> None:
    """Counted with `wc -l` on the published files."""
    cases = load_cases(real_data("medexqa"))
    assert Counter(case.code for case in cases) == {"BE": 143, "CLS": 372, "CP": 106, "OT": 189, "SLP": 130}
    assert len(cases) == len({case.id for case in cases}) == 940
    assert [len(examples) for examples in cases.dev.values()] == [5] * 5
    assert cases.notes == ()


@pytest.mark.data
def test_the_real_rows_are_the_lines_of_the_files_to_the_letter() -> None:
    """But for the one quoted row, a row joined by tabs is its line."""
    data = real_data("medexqa")
    cases = load_cases(data)
    for case in (*cases, *(example for examples in cases.dev.values() for example in examples)):
        file = data / case.split / f"{case.specialty}_{case.split}.tsv"
        line = file.read_bytes().split(b"\n")[case.row].decode()
        joined = "\t".join([case.question, *case.options.values(), *case.explanations, case.answer])
        assert (joined == line) is (case.id != f"{BE}-test-110")


@pytest.mark.data
def test_the_known_oddities_of_the_real_rows_are_flagged_and_kept() -> None:
    cases = {case.id: case for case in load_cases(real_data("medexqa"))}
    assert {case.id: case.flags for case in cases.values() if case.flags} == {
        f"{BE}-test-106": ("same_explanations",),
        f"{BE}-test-110": ("quoted",),
        "clinical_laboratory_scientist-test-324": ("options_differ_in_case",),
    }
    assert list(cases["clinical_laboratory_scientist-test-324"].options.values()) == ["D", "e", "C", "E"]
    for explanation in cases[f"{BE}-test-110"].explanations:
        assert explanation.endswith('"1.67".')
        assert not explanation.startswith('"')
        assert '""' not in explanation
