"""The audit finds what is planted, goes on past it, and reports the known oddities of the real files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graphs.medrbench.audit import audit, heading_style
from judge.audit import AuditReport, Finding
from judge.errors import DataError
from tests.data import real_data
from tests.medrbench.synthetic import SUMMARY, record, write_data


def finding(report: AuditReport, code: str) -> Finding:
    return next(found for found in report.findings if found.code == code)


def codes(report: AuditReport, *severities: str) -> set[str]:
    return {found.code for found in report.findings if found.severity in severities}


def test_clean_data_have_no_warnings(tmp_path: Path) -> None:
    write_data(tmp_path, kind="treatment")
    report = audit(write_data(tmp_path))
    assert codes(report, "problem", "warning") == set()
    assert report.counts["diagnosis"]["cases"] == report.counts["treatment"]["cases"] == 1
    assert report.counts["diagnosis"]["lines"] == {"history": 6, "ancillary": 3, "other": 0, "noise": 0}
    json.dumps(report.to_dict())


PLANTED: dict[str, tuple[dict[str, Any], str]] = {
    "no_ancillary_tests": (record("- Chief Complaint: Itching."), "warning"),
    "no_test_entries": (record("- Chief Complaint: Itching.\n- Ancillary Tests: None."), "warning"),
    "no_history": (record("- Ancillary Tests:\n  - Swab: yeast."), "warning"),
    "series": (record(f"**Case 1:**\n{SUMMARY}\n**Case 2:**\n{SUMMARY}"), "warning"),
    "patients_in_sections": (record("- Chief Complaint:\n  - Case 1: Itch.\n  - Case 2: Pain."), "info"),
    "leftover_instruction": (record("Please use the following format.\n" + SUMMARY), "info"),
    "sections_after_tests": (record(SUMMARY + "\n- Treatment: Drops."), "warning"),
    "answer_in_summary": (record(SUMMARY + "\n  - Otomycosis seen."), "warning"),
    "answer_before_tests": (record("Otomycosis, a report.\n" + SUMMARY), "warning"),
    "answer_in_history": (record(SUMMARY.replace("None", "Otomycosis")), "warning"),
    "answer_loosely_in_history": (record(SUMMARY, diagnosis_results="Probable itching (left)."), "info"),
    "same_line_in_both": (record(SUMMARY + "\n  - Left ear red and warm."), "info"),
    "tests_not_done": (record(SUMMARY + "\n  - Biopsy: Not performed."), "info"),
    "receive_time_without_day": (record(receive_time="2024-7"), "info"),
}


@pytest.mark.parametrize("code", PLANTED)
def test_a_planted_oddity_is_found_with_its_id(tmp_path: Path, code: str) -> None:
    raw, severity = PLANTED[code]
    report = audit(write_data(tmp_path, {"PMC0": record(), "PMC1": raw}))
    found = finding(report, code)
    assert (found.severity, found.count, found.examples) == (severity, 1, ("PMC1",))
    assert "{n}" not in found.text
    ids = report.counts["diagnosis"]["ids"]
    assert ids.get(code, ["PMC1"]) == ["PMC1"]


def test_bad_records_do_not_end_the_audit(tmp_path: Path) -> None:
    records = {"PMC0": record(), "PMC1": 3, "PMC2": record(final_diagnosis=""), "PMC3": record()}
    report = audit(write_data(tmp_path, records))
    found = finding(report, "unusable_case")
    assert (found.severity, found.count) == ("problem", 2)
    assert found.examples[0].startswith("case PMC1: an object is expected")
    assert report.counts["diagnosis"]["usable_cases"] == 2


def test_treatment_cases_are_optional_but_diagnosis_cases_are_not(tmp_path: Path) -> None:
    assert "no_treatment_cases" in codes(audit(write_data(tmp_path / "one")), "info")
    with pytest.raises(DataError, match="no MedR-Bench diagnosis cases"):
        audit(write_data(tmp_path / "two", kind="treatment"))


@pytest.mark.parametrize(
    ("line", "style"),
    [
        ("- **Ancillary Tests:**", "- **Name:**"),
        ("- **Ancillary Tests**: Normal: all.", "- **Name**: text"),
        ("  - Ancillary Tests:  ", "- Name:"),
        ("*Ancillary Tests*: High ferritin", "*Name*: text"),
        ("### Ancillary Tests", "### Name"),
        ("", ""),
    ],
)
def test_heading_styles(line: str, style: str) -> None:
    assert heading_style(line) == style


@pytest.mark.data
def test_the_real_data() -> None:
    report = audit(real_data("medrbench"))
    counted = {found.code: found.count for found in report.findings}
    assert codes(report, "problem") == set()
    assert (counted["leftover_instruction"], counted["series"], counted["same_line_in_both"]) == (12, 7, 7)
    assert (counted["answer_in_summary"], counted["answer_before_tests"]) == (97, 8)
    assert counted["heading_styles"] >= 5
    diagnosis = report.counts["diagnosis"]
    assert (diagnosis["cases"], diagnosis["rare_cases"]) == (957, 491)
    assert diagnosis["sections_after_tests"]["treatment"] == 11
    assert diagnosis["sections_after_tests"]["surgical findings"] == 6
    assert sum(diagnosis["ancillary_heading_styles"].values()) == 957 + 14  # 7 series add 14 sections
