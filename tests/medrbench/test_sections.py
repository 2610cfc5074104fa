"""Summaries are split by position: history to the doctor, tests and everything else withheld, in every style."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphs.medrbench.entries import ancillary_entries
from graphs.medrbench.names import kind_of
from graphs.medrbench.sections import PARTS, Split, split_summary
from tests.data import real_data

HISTORY = ("Chief Complaint", "Itching.")
EXAM = ("Physical Examination", "Red ear.")
TESTS = ("Ancillary Tests", "Swab: yeast.")

STYLES = {
    "bullet, bold with colon inside": "- **{0}:** {1}",
    "bullet, bold with colon outside": "- **{0}**: {1}",
    "bullet, plain": "- {0}: {1}",
    "star bullet": "* {0}: {1}",
    "round bullet": "• {0}: {1}",
    "numbered": "1. **{0}:** {1}",
    "bold without bullet": "**{0}:** {1}",
    "italic without bullet": "*{0}*: {1}",
    "hash heading": "### {0}\n{1}",
    "hash heading with colon": "#### {0}:\n- {1}",
    "bold hash heading": "## **{0}**\n{1}",
    "plain line": "{0}: {1}",
    "nested below": "- **{0}:**\n  - {1}",
    "nested by three": "- {0}:\n   - {1}",
    "continued without bullet": "- **{0}:**  \n    {1}",
    "bulleted at the margin below a bold name": "**{0}:**\n- {1}",
    "indented throughout": "  - {0}: {1}",
    "tab": "- {0}:\n\t- {1}",
    "upper case": "- **{0}:** {1}",
}


def parts_of(split: Split) -> dict[str, str]:
    return {part: split.text(part) for part in PARTS}


def assert_partition(text: str) -> Split:
    split = split_summary(text)
    assert len(split.parts) == len(split.lines)
    assert [line.index for line in split.lines] == list(range(len(split.lines)))
    kept = [line.text for line in split.lines]
    assert kept == [line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    assert sum(split.count(part) for part in PARTS) == sum(bool(line.strip()) for line in kept)
    return split


@pytest.mark.parametrize("style", STYLES)
def test_every_style_is_split_alike(style: str) -> None:
    upper = style == "upper case"
    pieces = [(name.upper() if upper else name, text) for name, text in (HISTORY, EXAM, TESTS, ("Treatment", "Drops."))]
    split = assert_partition("\n".join(STYLES[style].format(*piece) for piece in pieces))
    assert "Itching." in split.history
    assert "Red ear." in split.history
    assert "Swab: yeast." in split.text("ancillary")
    assert "Drops." in split.text("other")
    for hidden in ("yeast", "Drops", "ncillary", "reatment"):
        assert hidden not in split.history


@pytest.mark.parametrize("name", [
    "Patient Information", "Patient Demographics", "Demographics", "Patient", "Chief Complaint",
    "Presenting complaints",
    "History of Present Illness", "HPI", "History of the presenting complaint", "Past Medical History", "PMH",
    "Allergies",
    "Personal History", "Personal and Family History", "Social/Family History", "Past Medical and Surgical History",
    "Past surgical history, transfusion, and drug history", "Obstetric history", "Review of Systems", "Vital Signs",
    "Physical Examination", "Physical Exam", "Physical Examination at Admission",
    "Physical examination and vital signs",
    "Neurological examination", "Clinical findings", "General and local examination", "Current medications",
])  # fmt: skip
def test_names_of_history_and_examination_are_allowed(name: str) -> None:
    assert kind_of(name) == "history"
    assert kind_of(name.upper()) == "history"


@pytest.mark.parametrize("name", [
    "Treatment", "Treatment history and outcome", "Surgical Findings", "Surgical and Postoperative Information",
    "Postoperative Course", "Autopsy Findings", "Diagnosis After Testing", "Final Diagnosis", "Differential diagnosis",
    "Further Testing/Management", "Additional Findings", "Other Relevant Information", "Clinical Course", "Follow-Up",
    "Final Diagnostic Results", "Prognosis and progression", "Observations during C-section", "Discharge medications",
    "Intraoperative findings", "Physical examination and diagnosis", "Note", "", "???", "Case summary",
])  # fmt: skip
def test_what_is_not_understood_is_withheld(name: str) -> None:
    assert kind_of(name) == "other"


@pytest.mark.parametrize("name", [
    "Ancillary Tests", "ancillary tests/imaging", "Ancillary Tests and Findings", "Auxiliary examinations",
    "Lab Events",
    "Imaging Events", "Laboratory findings", "Histology", "Histopathological Findings", "Renal biopsy findings",
    "Microscopic examination", "Radiological examination", "Laboratory and imaging studies",
])  # fmt: skip
def test_names_of_tests(name: str) -> None:
    assert kind_of(name) == "tests"


@pytest.mark.parametrize("name", ["Case 1", "Patient 2", "case #3", "Second case", "CASE B", "Patient no. 4"])
def test_numbers_of_patients(name: str) -> None:
    assert kind_of(name) == "patient"


def test_a_leftover_instruction_is_noise_though_it_names_the_tests() -> None:
    text = (
        "Please give the history of the patient, including chief complaint and results of ancillary tests, in the "
        "following format.\n\n- Chief Complaint: Itching.\n- Ancillary Tests: Swab: yeast."
    )
    split = assert_partition(text)
    assert split.text("noise").startswith("Please give")
    assert split.instructions == 1
    assert split.history == "- Chief Complaint: Itching."
    assert split.cleaned == "- Chief Complaint: Itching.\n- Ancillary Tests: Swab: yeast."


def test_a_preamble_that_may_name_the_diagnosis_is_withheld() -> None:
    split = assert_partition("This report is about two cases of otomycosis.\n\n- Chief Complaint: Itching.")
    assert split.text("other") == "This report is about two cases of otomycosis."
    assert split.history == "- Chief Complaint: Itching."


def test_rules_are_noise_anywhere() -> None:
    split = assert_partition("- Chief Complaint: Itching.\n---\n- Ancillary Tests: Swab: yeast.\n* * *")
    assert (split.count("noise"), split.instructions) == (2, 0)
    assert split.withheld == "- Ancillary Tests: Swab: yeast."


SERIES = """#### Case 1
- Chief Complaint: Itching.
- Past Medical History: None.
- Ancillary Tests:
  - Swab: yeast.

#### Case 2:
- Chief Complaint: Pain.
- Past Medical History: None.
- Ancillary Tests: Swab: mould.
- Treatment: Drops."""


def test_a_series_keeps_every_history_and_withholds_every_test() -> None:
    split = assert_partition(SERIES)
    assert split.is_series
    assert split.history == (
        "#### Case 1\n- Chief Complaint: Itching.\n- Past Medical History: None.\n\n#### Case 2:\n"
        "- Chief Complaint: Pain.\n- Past Medical History: None."
    )
    assert [section.patient for section in split.test_sections] == ["Case 1", "Case 2"]
    assert "yeast" in split.text("ancillary")
    assert "mould" in split.text("ancillary")
    assert split.text("other") == "- Treatment: Drops."


def test_the_same_line_may_be_history_and_withheld() -> None:
    text = "- Chief Complaint: Pain.\n  - None.\n- Ancillary Tests:\n  - None.\n- Personal History: Farmer.\n  - None."
    split = assert_partition(text)
    assert split.parts == ("history", "history", "ancillary", "ancillary", "history", "history")


def test_numbered_findings_after_the_tests_are_no_patients() -> None:
    split = assert_partition(
        "- Chief Complaint: Pain.\n- Ancillary Tests:\n- Case 1: CT showed a tumor.\n- Case 2:\n  - MRI."
    )
    assert split.history == "- Chief Complaint: Pain.\n- Case 2:"


def test_a_bullet_without_a_name_at_the_level_of_the_sections_is_withheld() -> None:
    split = assert_partition("- Chief Complaint: Pain.\n- It was otomycosis.\n- Ancillary Tests: none")
    assert split.text("other") == "- It was otomycosis."
    assert split.follows_tests == ()


def test_an_indented_ancillary_heading_still_ends_the_history() -> None:
    split = assert_partition("- Physical Examination: Red.\n    - **Ancillary Tests:**\n      - Swab: yeast.")
    assert split.history == "- Physical Examination: Red."


def test_sections_after_the_tests_are_noted() -> None:
    split = assert_partition(
        "- Ancillary Tests:\n  - Swab: yeast.\n- Diagnosis After Testing: Otomycosis.\n- Histology: x"
    )
    assert [split.lines[index].label for index in split.follows_tests] == ["Diagnosis After Testing", "Histology"]
    assert split.text("other") == "- Diagnosis After Testing: Otomycosis."
    assert split.history == ""


@pytest.mark.parametrize(
    "text", ["", "\n\n", "Only a sentence.", "::::", "- ", "****", "#", "\x00", "a:\u2028b", "---"]
)
def test_text_without_sections_reaches_nobody(text: str) -> None:
    split = assert_partition(text)
    assert split.history == ""
    assert split.test_sections == ()


FRAGMENTS = st.sampled_from([
    "- ", "  ", "**", ":", "\n", "\r\n", "\t", "#", "Ancillary Tests", "Case 1", "Treatment", "Family History", "---",
    "(",
    "MRI", "1. ", "Please give the following format", "normal", ";", ". A", ",", "\u2028", "é", "*", "None",
])  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=120), st.lists(FRAGMENTS, max_size=40).map("".join)))
def test_any_text_is_partitioned_and_listed_without_a_failure(text: str) -> None:
    split = assert_partition(text)
    assert split_summary(text) == split
    assert ancillary_entries(text) == ancillary_entries(text)


ENTRIES = {
    "- **Ancillary Tests:**\n  - **MRI:** Normal.\n  - EEG: Slow.": [("MRI", "Normal."), ("EEG", "Slow.")],
    "- Ancillary Tests: MRI: Normal.": [("MRI", "Normal.")],
    "MRI showed a cyst. It was 3 cm wide. EEG was normal.": [
        ("MRI", "MRI showed a cyst. It was 3 cm wide."), ("EEG", "EEG was normal.")],
    "CT: normal; EEG: slow; ECG: normal": [("CT", "normal"), ("EEG", "slow"), ("ECG", "normal")],
    "- Tests:\n  - Hemoglobin: 6 g/dL.\n  - Sodium: 124": [("Hemoglobin", "6 g/dL."), ("Sodium", "124")],
    "- Laboratory: Hb 6.8 g/dL, WBC 19,590/mm³ (mostly neutrophils, 80%), normal CRP.": [
        ("Hb", "Hb 6.8 g/dL"), ("WBC", "WBC 19,590/mm³ (mostly neutrophils, 80%)"), ("CRP", "normal CRP.")],
    "- Imaging: CT showed a 2 cm node, 3 mm deep. Ultrasound was normal.": [
        ("CT", "CT showed a 2 cm node, 3 mm deep."), ("Ultrasound", "Ultrasound was normal.")],
    "- Imaging:\n  - Chest CT: Node.\n  - MRI: Node.": [("Chest CT", "Node."), ("MRI", "Node.")],
    "- MRI findings:\n  - No node.\n  - One cyst.": [("MRI findings", "No node.; One cyst.")],
    "- ECG and chest X-ray: Normal.": [("ECG", "Normal."), ("chest X-ray", "Normal.")],
    "- Elevated liver enzymes (AST: 74 U/L, ALT: 82 U/L).": [
        ("liver enzymes", "Elevated liver enzymes (AST: 74 U/L, ALT: 82 U/L).")],
    "- Elevated IgG: 5 g/L": [("IgG", "Elevated IgG: 5 g/L")],
    "- MRI: Cyst.\n- No other masses seen.": [("MRI", "Cyst. No other masses seen.")],
    "- MRI: Cyst.\n- Final diagnosis: Otomycosis.\n- Treatment: Drops.": [("MRI", "Cyst.")],
    "- Normal complete blood count.": [("complete blood count", "Normal complete blood count.")],
    "- **Ancillary Tests:** None.": [],
    "- Ancillary Tests: None specified.": [],
    "": [],
}  # fmt: skip


@pytest.mark.parametrize("text", ENTRIES)
def test_tests_are_listed_one_by_one(text: str) -> None:
    assert [(entry.name, entry.finding) for entry in ancillary_entries(text)] == ENTRIES[text]


def test_entries_know_their_group_patient_and_position() -> None:
    text = "- Ancillary Tests:\n  - Case 1:\n    - Imaging:\n      - CT: Node.\n  - Case 2: Biopsy was not performed."
    first, second = ancillary_entries(text)
    assert (first.group, first.patient, first.position, first.performed) == ("Imaging", "Case 1", 0, True)
    assert (second.group, second.patient, second.position, second.performed) == ("", "Case 2", 1, False)


def summaries() -> dict[str, str]:
    file = real_data("medrbench") / "diagnosis_957_cases_with_rare_disease_491.json"
    return {key: raw["generate_case"]["case_summary"] for key, raw in json.loads(file.read_bytes()).items()}


@pytest.mark.data
def test_all_957_summaries_are_partitioned_and_only_allowed_sections_reach_the_doctor() -> None:
    texts = summaries()
    assert len(texts) == 957
    for case_id, text in texts.items():
        split = assert_partition(text)
        owner = {
            index: section
            for section in split.sections
            for index in range(section.first, section.last + 1)
            if split.parts[index] != "noise" and not split.lines[index].blank
        }
        shown = {index for index, part in enumerate(split.parts) if part == "history" and not split.lines[index].blank}
        assert {owner[index].kind for index in shown} <= {"history", "patient"}, case_id
        assert len(owner) == sum(split.count(part) for part in ("history", "ancillary", "other")), case_id
        assert split.history, case_id
        assert split.text("ancillary"), case_id
        assert "ancillary" not in split.history.lower().replace("laboratory or ancillary", ""), case_id
        assert split_summary(split.cleaned).history == split.history, case_id


@pytest.mark.data
def test_every_case_of_the_real_data_lists_a_test_with_a_name_and_a_finding() -> None:
    for case_id, text in summaries().items():
        split = split_summary(text)
        entries = [entry for section in split.test_sections for entry in ancillary_entries(split.section_text(section))]
        assert entries, case_id
        assert all(entry.name and len(entry.name) <= 120 for entry in entries), case_id
