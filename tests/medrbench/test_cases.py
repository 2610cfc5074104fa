"""Loading MedR-Bench: what a case holds, and one clear sentence for whatever is wrong with a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graphs.medrbench.cases import FLAGS, Case, answer_places, load_cases
from judge.errors import DataError
from tests.data import real_data
from tests.medrbench.synthetic import SUMMARY, record, write_data


def failure(data: Path, kind: Any = "diagnosis") -> str:
    with pytest.raises(DataError) as caught:
        load_cases(data, kind)
    return str(caught.value)


def one(tmp_path: Path, raw: dict[str, Any], kind: Any = "diagnosis") -> Case:
    return load_cases(write_data(tmp_path, {"PMC1": raw}, kind), kind).cases[0]


def test_a_diagnosis_case(tmp_path: Path) -> None:
    case = one(tmp_path, record(checked_rare_disease=["Otomycosis"], unknown_extra=1))
    assert (case.id, case.kind, case.index, case.rare) == ("PMC1", "diagnosis", 0, True)
    assert case.summary == SUMMARY
    assert case.history == SUMMARY.split("\n- **Ancillary")[0]
    assert case.withheld == case.ancillary_text == "- **Ancillary" + SUMMARY.split("\n- **Ancillary")[1]
    assert [(entry.name, entry.finding) for entry in case.ancillary] == [
        ("Blood count", "Normal."),
        ("Ear swab", "Growth of yeast."),
    ]
    assert (case.answer, case.other, case.flags) == ("Otomycosis.", "", ())
    assert case.body_category == ("Ear, Nose and Throat",)
    assert case.receive_time == "2024-7-10"


def test_a_treatment_case(tmp_path: Path) -> None:
    summary = "- Patient Demographics: 40 years.\n- Lab Events: Normal CRP.\n- Final Diagnostic Results: Otomycosis."
    case = one(tmp_path, record(summary, "treatment"), "treatment")
    assert (case.answer, case.treatment_analysis, case.diagnosis_results) == ("Clotrimazole drops.", "Dry the ear.", "")
    assert case.history == "- Patient Demographics: 40 years."
    assert case.other == "- Final Diagnostic Results: Otomycosis."
    assert case.flags == ()


def test_the_folder_or_its_parent_is_the_same_data(tmp_path: Path) -> None:
    inner = load_cases(write_data(tmp_path / "medrbench"), "diagnosis")
    outer = load_cases(tmp_path, "diagnosis")
    assert inner.root == outer.root == tmp_path / "medrbench"
    assert inner.data_hash == outer.data_hash
    assert [file.path for file in outer.files] == ["diagnosis_957_cases_with_rare_disease_491.json"]
    write_data(tmp_path / "medrbench", {"PMC1": record(raw_case="Another.")})
    assert load_cases(tmp_path, "diagnosis").data_hash != inner.data_hash


def test_a_case_is_found_by_id_or_the_error_names_it(tmp_path: Path) -> None:
    cases = load_cases(write_data(tmp_path), "diagnosis")
    assert cases.case("PMC1") is cases.cases[0]
    with pytest.raises(DataError, match="'PMC2'"):
        cases.case("PMC2")


def test_missing_files_say_what_was_looked_for(tmp_path: Path) -> None:
    message = failure(write_data(tmp_path), "treatment")
    assert str(tmp_path / "treatment_*cases*.json") in message
    assert "more than one file" not in message
    (tmp_path / "treatment_100_of_496_cases.json").write_text("{}")
    write_data(tmp_path, kind="treatment")
    assert "more than one file of treatment cases" in failure(tmp_path, "treatment")


FIELDS = ["raw_case", "body_category", "disorder_category", "receive_time", "checked_rare_disease", "generate_case"]
GENERATED = ["case_summary", "differential_diagnosis", "final_diagnosis", "diagnosis_results"]


@pytest.mark.parametrize("name", FIELDS + GENERATED)
@pytest.mark.parametrize("change", ["missing", "wrong type"])
def test_a_missing_or_wrong_field_is_named_with_file_and_id(tmp_path: Path, name: str, change: str) -> None:
    raw = record()
    holder = raw["generate_case"] if name in GENERATED else raw
    shown = f"generate_case.{name}" if name in GENERATED else name
    if change == "missing":
        del holder[name]
    else:
        holder[name] = 7
    message = failure(write_data(tmp_path, {"PMC0": record(), "PMC1": raw}))
    assert message.startswith(f"{tmp_path / 'diagnosis_957_cases_with_rare_disease_491.json'}: case PMC1: ")
    assert f"the field '{shown}'" in message
    assert ("is missing" if change == "missing" else "found a number") in message


@pytest.mark.parametrize("name", GENERATED)
def test_an_empty_text_is_refused(tmp_path: Path, name: str) -> None:
    message = failure(write_data(tmp_path, {"PMC1": record(**{name: " \n"})}))
    assert f"case PMC1: the field 'generate_case.{name}' is empty" in message


@pytest.mark.parametrize("values", [[1], [""], [None]])
def test_lists_hold_texts(tmp_path: Path, values: list[Any]) -> None:
    assert "'body_category' must hold texts" in failure(write_data(tmp_path, {"PMC1": record(body_category=values)}))


def write_text(folder: Path, text: str | bytes) -> Path:
    file = folder / "diagnosis_3_cases.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def test_an_id_used_twice_is_refused_with_its_lines(tmp_path: Path) -> None:
    raw = json.dumps(record())
    message = failure(write_text(tmp_path, f'{{"PMC1": {raw},\n"PMC2": {raw},\n"PMC1": {raw}}}'))
    assert "the id PMC1 is used more than once (line 1 and 3)" in message


def test_a_field_given_twice_is_refused_with_the_id(tmp_path: Path) -> None:
    twice = json.dumps(record()).replace('"final_diagnosis"', '"final_diagnosis": "x", "final_diagnosis"')
    message = failure(write_text(tmp_path, f'{{"PMC1": {twice}}}'))
    assert "case PMC1: the field 'generate_case.final_diagnosis' is given twice" in message


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{", "not valid JSON at line 1, column 2"),
        ("[]", "found a list"),
        ("{}", "no case"),
        ('{"PMC1": 3}', "case PMC1: an object is expected, found a number"),
        (b"\xff\xfe", "not UTF-8 text at byte 0"),
        ("[" * 100_000, "not usable JSON"),
        ('{"": {}}', "cannot be an id"),
        ('{"a\\u0000b": {}}', "cannot be an id"),
    ],
)
def test_files_that_are_no_data(tmp_path: Path, text: str | bytes, shown: str) -> None:
    assert shown in failure(write_text(tmp_path, text))


def test_half_a_surrogate_pair_is_refused(tmp_path: Path) -> None:
    raw = json.dumps(record()).replace("Otomycosis.", "\\ud800")
    assert "half a surrogate pair" in failure(write_text(tmp_path, f'{{"PMC1": {raw}}}'))


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "diagnosis_3_cases.json").mkdir()
    assert "this is a folder" in failure(tmp_path)


def test_a_byte_order_mark_and_crlf_change_nothing(tmp_path: Path) -> None:
    text = json.dumps({"PMC1": record(SUMMARY.replace("\n", "\r\n"))})
    case = load_cases(write_text(tmp_path, b"\xef\xbb\xbf" + text.encode()), "diagnosis").cases[0]
    assert case.summary == SUMMARY


@pytest.mark.parametrize(
    ("summary", "flags"),
    [
        ("A man itches.", {"no_ancillary_tests", "no_history"}),
        ("- Chief Complaint: Itching.", {"no_ancillary_tests"}),
        ("- Chief Complaint: Itching.\n- Ancillary Tests: None.", {"no_test_entries"}),
        (SUMMARY + "\n- Treatment: Drops.", {"sections_after_tests"}),
        ("Please use the following format.\n" + SUMMARY, {"leftover_instruction"}),
        (SUMMARY + "\n- Outcome: OTOMYCOSIS healed.", {"sections_after_tests", "answer_in_summary"}),
        (
            SUMMARY.replace("None.", "Otomycosis in 2020."),
            {"answer_in_summary", "answer_before_tests", "answer_in_history"},
        ),
        ("It was otomycosis.\n\n" + SUMMARY, {"answer_in_summary", "answer_before_tests"}),
        (f"**Case 1:**\n{SUMMARY}\n\n**Case 2:**\n{SUMMARY}", {"series"}),
        (
            "- Chief Complaint:\n  - Case 1: Itch.\n  - Case 2: Pain.\n- Ancillary Tests:\n  - Case 1: MRI: normal.",
            {"patients_in_sections"},
        ),
    ],
)
def test_flags(tmp_path: Path, summary: str, flags: set[str]) -> None:
    case = one(tmp_path, record(summary))
    assert set(case.flags) == flags
    assert flags <= set(FLAGS)


def test_a_series_names_the_patient_of_each_test(tmp_path: Path) -> None:
    case = one(tmp_path, record(f"**Case 1:**\n{SUMMARY}\n\n**Case 2:**\n{SUMMARY}"))
    assert [(entry.position, entry.patient) for entry in case.ancillary] == [
        (0, "Case 1"), (1, "Case 1"), (2, "Case 2"), (3, "Case 2")
    ]  # fmt: skip
    assert case.ancillary_text.startswith("Case 1:\n- **Ancillary Tests:**")
    assert "\nCase 2:\n- **Ancillary Tests:**" in case.ancillary_text


def test_places_of_the_answer(tmp_path: Path) -> None:
    case = one(tmp_path, record(SUMMARY + "\n- Course: Otomycosis.", diagnosis_results=" OTOMYCOSIS. "))
    assert answer_places(case) == ("summary", "other")
    doubtful = one(
        tmp_path, record(SUMMARY.replace("None.", "Otomycosis."), diagnosis_results="Possible otomycosis (OM).")
    )
    assert answer_places(doubtful) == ()
    assert answer_places(doubtful, loose=True) == ("summary", "before_tests", "history")


@pytest.mark.data
def test_the_real_data_as_described() -> None:
    cases = load_cases(real_data("medrbench"), "diagnosis")
    flagged = {flag: [case.id for case in cases if flag in case.flags] for flag in FLAGS}
    assert (len(cases), sum(case.rare for case in cases)) == (957, 491)
    assert len(flagged["leftover_instruction"]) == 12
    assert len(flagged["series"]) == 7
    assert (len(flagged["answer_in_summary"]), len(flagged["answer_before_tests"])) == (97, 8)
    assert len(flagged["sections_after_tests"]) == 48  # 55 summaries go on after the first tests, 7 with a patient
    assert len(flagged["answer_in_history"]) == 7
    assert not flagged["no_ancillary_tests"] + flagged["no_test_entries"] + flagged["no_history"]
    treatment = load_cases(real_data("medrbench"), "treatment")
    assert (len(treatment), sum(case.rare for case in treatment)) == (100, 51)


@pytest.mark.data
def test_odd_cases_of_the_real_data() -> None:
    cases = load_cases(real_data("medrbench"), "diagnosis")
    instructed = cases.case("PMC11383490")
    assert instructed.summary.startswith("- **Patient Information:**")
    assert "leftover_instruction" in instructed.flags
    series = cases.case("PMC11370703")
    assert series.history.count("Physical Examination") == series.withheld.count("Ancillary Tests") == 4
    assert series.history.count("#### Case") == 4
    assert {entry.patient for entry in series.ancillary} == {"Case 1", "Case 2", "Case 3", "Case 4"}
    assert "answer_before_tests" in series.flags
    assert answer_places(series) == ("summary", "before_tests", "other")  # the preamble names it, the doctor sees none
    named = cases.case("PMC11518685")
    assert named.other.startswith("- **Diagnosis After Testing:**")
    assert named.history.split("\n")[-1].startswith("  - Breast exam:")
    unnested = cases.case("PMC11640908")
    assert {entry.name for entry in unnested.ancillary} >= {
        "Genetic Testing",
        "Hand radiographs",
        "Biochemical Parameters",
    }
    assert unnested.other == ""
