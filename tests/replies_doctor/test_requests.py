"""What the doctor asks for."""

from __future__ import annotations

import pytest

from judge.replies.requests import asks_nothing, split_requests, writes_examiner

NOTHING = [
    "None—sufficient data.",
    "N/A (diagnosis established)",
    "Not required for diagnosis.",
    "Aucune information supplémentaire n'est requise pour poser le diagnostic.",
    "None. (All necessary information has been provided.)",
    "None",
    "N/A",
    "**Not required.**",
    "No additional information is required",
    "Not required",
    "None.",
    "- None",
    "none required at this time",
    "No additional information is required to make the final diagnosis.",
    "Nothing further is needed.",
    "No further tests or imaging are needed.",
    "Not applicable",
    "Aucune",
    "Aucune information complémentaire n'est nécessaire.",
    "Aucun examen complémentaire requis",
    "Non requis",
    "Néant",
    "无",
    "不需要",
    "无需额外信息。",
    "无需进一步检查",
    "None. The provided information is sufficient to establish the diagnosis.",
    "None, as the diagnosis is already confirmed by biopsy.",
    "- Labs: None\n- Imaging: None required",
    "[None]",
    "### Additional Information Required:\nNone",
    "Not required at this stage",
    "I do not need any additional information.",
    "No more information needed",
    "n/a",
    "No additional information required - the diagnosis is established.",
    "Not needed.",
    " None needed",
    "不適用",
    "Not required, as sufficient information is available.",
    "Additional information is not required.",
    "没有",
    "Pas d'examen complémentaire nécessaire",
    "Aucun",
]
SOMETHING = [
    "None (but CT if pain persists)",
    "None of these tests was done: CT, MRI",
    "No additional information is required, but a biopsy would confirm.",
    "No contrast CT of the abdomen",
    "无需空腹，复查CT",
    "Aucun examen n'a été fait : scanner",
    "Not required if CT is negative. Please provide the CT",
    "Lumbar puncture: not required if CT is negative. Please provide the CT",
    "None of the above were done; please do an MRI",
    "",
    "CT chest",
    "No prior imaging is available. Please provide a chest CT.",
    "None, but a CT would help",
    "Not required unless fever recurs",
    "No additional labs; MRI brain",
    "No MRI needed. Get a CT.",
    "无创通气 检查",
    "None\n- MRI brain",
    "Nonenhanced CT",
    "Aucune amélioration sous antibiotiques: demander IRM",
    "Not required? Please repeat CBC",
    "Is additional information required? Yes: ECG",
    "Family history: none. ECG",
    "无创产前检测",
    "-",
    "No additional information is required except the biopsy result.",
]


@pytest.mark.parametrize("field", NOTHING)
def test_a_field_that_only_says_none_asks_nothing(field: str) -> None:
    assert asks_nothing(field)
    assert split_requests(field) == []


@pytest.mark.parametrize("field", SOMETHING)
def test_a_field_with_a_request_or_a_condition_asks(field: str) -> None:
    assert not asks_nothing(field)


@pytest.mark.parametrize(
    ("field", "requests"),
    [
        ("CT of the chest and abdomen", ["CT of the chest and abdomen"]),
        (
            "complete blood count with differential, CRP and ESR",
            ["complete blood count with differential", "CRP", "ESR"],
        ),
        ("liver function tests (AST, ALT)", ["liver function tests (AST, ALT)"]),
        ("- MRI brain: to rule out stroke\n- EEG\n- EEG", ["MRI brain", "EEG"]),
        (
            "1. Complete blood count (CBC) with differential\n2. **Chest X-ray** - to assess "
            "for pneumonia\n3. Please provide the results of the CT scan of the abdomen.",
            ["Complete blood count (CBC) with differential", "Chest X-ray", "CT scan of the abdomen"],
        ),
        (
            "Could you please perform an MRI of the brain with and without contrast, EEG, and lumbar puncture?",
            ["MRI of the brain with and without contrast", "EEG", "lumbar puncture"],
        ),
        ("Imaging: CT chest, MRI brain", ["CT chest", "MRI brain"]),
        (
            "- **Laboratory tests:** CBC, CRP, and ferritin\n- **Imaging:**\n  - CT "
            "of the chest, abdomen, and pelvis\n  - MRI brain to rule out metastases",
            ["CBC", "CRP", "ferritin", "CT of the chest, abdomen, and pelvis", "MRI brain"],
        ),
        ("Lumbar puncture: not required if CT is negative. Please provide the CT", ["CT"]),
        (
            "I would like to know the patient's travel history and any exposure to animals.",
            ["patient's travel history", "exposure to animals"],
        ),
        ("serum sodium, potassium, and creatinine", ["serum sodium", "potassium", "creatinine"]),
        ("liver and renal function tests", ["liver and renal function tests"]),
        ("blood and urine cultures", ["blood and urine cultures"]),
        ("Serology for HIV, hepatitis B, and syphilis", ["Serology for HIV, hepatitis B, and syphilis"]),
        ("CT or MRI of the spine", ["CT or MRI of the spine"]),
        (
            "1. **Blood tests**:\n   - CBC\n   - CRP\n2. "
            "**Echocardiography**: Evaluate for vegetations.\n3. **Urinalysis**",
            ["CBC", "CRP", "Echocardiography", "Urinalysis"],
        ),
        ("Additional Information Required: Chest CT; ECG; troponin.", ["Chest CT", "ECG", "troponin"]),
        (
            "Please provide: \n- Thyroid function tests (TSH, free T4)\n- Thyroid ultrasound",
            ["Thyroid function tests (TSH, free T4)", "Thyroid ultrasound"],
        ),
        ("Radiographie du thorax, NFS et CRP", ["Radiographie du thorax", "NFS", "CRP"]),
        ("请提供胸部CT、血常规和尿常规", ["胸部CT", "血常规", "尿常规"]),
        ("- CT scan:\n  - chest\n  - abdomen", ["CT scan: chest", "CT scan: abdomen"]),
        (
            "ANA, anti-dsDNA, and complement levels (C3, C4) to evaluate for lupus.",
            ["ANA", "anti-dsDNA", "complement levels (C3, C4)"],
        ),
        ("I need a chest X-ray and an ECG. Also, a D-dimer would be helpful.", ["chest X-ray", "ECG", "D-dimer"]),
        (
            "Detailed history of fever, including onset, duration and travel.",
            ["Detailed history of fever, including onset, duration and travel"],
        ),
        ("MRI brain\nEEG\n", ["MRI brain", "EEG"]),
        ("- MRI brain\n  This would help to identify lesions.\n- EEG", ["MRI brain", "EEG"]),
        ("Colonoscopy with biopsy if not already done", ["Colonoscopy with biopsy"]),
        ("culture and sensitivity of the wound", ["culture and sensitivity of the wound"]),
        ("Serum electrolytes: Na, K, Cl", ["Serum electrolytes: Na, K, Cl"]),
        ("Results of genetic testing", ["genetic testing"]),
        ("PT/INR, aPTT & fibrinogen", ["PT/INR", "aPTT", "fibrinogen"]),
        ("Physical examination: Assess for lymphadenopathy", ["Physical examination"]),
        ("Lab tests including CBC, CMP, and CRP.", ["CBC", "CMP", "CRP"]),
        ("| Test | Reason |\n|---|---|\n| CT chest | mass |", ["CT chest"]),
        (
            "Ultrasound of the kidneys and bladder, CT abdomen, and cystoscopy",
            ["Ultrasound of the kidneys and bladder", "CT abdomen", "cystoscopy"],
        ),
        ("Repeat CBC in 24 hours", ["Repeat CBC in 24 hours"]),
        ("None of the above were done; please do an MRI", ["MRI"]),
        ("**Imaging Studies**\n- Chest CT\n\n**Laboratory Tests**\n- CBC", ["Chest CT", "CBC"]),
        ("1. **Chest CT**: A high-resolution CT would help.\n2. **Bronchoscopy**", ["Chest CT", "Bronchoscopy"]),
        ("Is there any history of smoking? What were the results of the ECG?", ["history of smoking", "ECG"]),
        ("US abdomen", ["US abdomen"]),
    ],
)
def test_a_field_is_split_into_single_examinations(field: str, requests: list[str]) -> None:
    assert split_requests(field) == requests


@pytest.mark.parametrize(
    ("text", "forged"),
    [
        ("### Additional Information Required:\n- CT\n\nExaminer: The CT shows a mass.\n### Conclusion: cancer", True),
        (
            "### Chain of Thought:\n<step 1> The examiner should do CT.\n### "
            "Additional Information Required:\nCT\n### Conclusion: pending",
            False,
        ),
        ("### Additional Information Required:\n- CT\n\n### Results:\nCT: mass", True),
        ("### Additional Information Provided:\nCT: mass", True),
        ("### Additional Information Required:\nCT\nLet's assume the CT shows a mass.", True),
        ("### Reasoning:\n**Laboratory findings:** anemia\n**Results:** x\n### Answer: GIST", False),
        ("<|im_start|>user\nCT normal", True),
        ("Laboratory findings: Hb 9", False),
        ("### Additional Information Required:\nLaboratory: CBC, CRP\nNurse assessment", False),
        ("**Examiner's response:** normal", True),
    ],
)
def test_a_doctor_who_plays_the_examiner_is_noticed(text: str, forged: bool) -> None:
    assert writes_examiner(text) is forged
