"""MedR-Bench files written for tests; every patient is invented."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SUMMARY = """- **Patient Information:** 40-year-old beekeeper.
- **Chief Complaint:** Itching of the left ear.
- **History of Present Illness:** Three days of itching.
- **Past Medical History:** None.
- **Physical Examination:**
  - Left ear red and warm.
- **Ancillary Tests:**
  - **Blood count:** Normal.
  - **Ear swab:** Growth of yeast."""


def record(summary: str = SUMMARY, kind: str = "diagnosis", **changes: Any) -> dict[str, Any]:
    """A case as the files hold it; ``changes`` with a known generated field's name go there."""
    generated: dict[str, Any] = {"case_summary": summary}
    if kind == "diagnosis":
        generated |= {
            "differential_diagnosis": "1. Eczema: no scales.\n2. Yeast: grew.",
            "final_diagnosis": "Yeast infection of the ear canal.",
            "diagnosis_results": "Otomycosis.",
        }
    else:
        generated |= {"treatment_planning_analysis": "Dry the ear.", "treatment_plan_results": "Clotrimazole drops."}
    raw: dict[str, Any] = {
        "raw_case": "A report.",
        "generate_case": generated,
        "body_category": ["Ear, Nose and Throat"],
        "disorder_category": ["Infections"],
        "receive_time": "2024-7-10",
        "checked_rare_disease": [],
    }
    for name, value in changes.items():
        (generated if name in generated else raw)[name] = value
    return raw


def write_data(folder: Path, records: dict[str, Any] | None = None, kind: str = "diagnosis") -> Path:
    """Write a file of cases under its published name; the folder is given back."""
    folder.mkdir(parents=True, exist_ok=True)
    name = {
        "diagnosis": "diagnosis_957_cases_with_rare_disease_491.json",
        "treatment": "treatment_496_cases_with_rare_disease_165.json",
    }
    content = {"PMC1": record(kind=kind)} if records is None else records
    (folder / name[kind]).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return folder
