"""A made-up doctor for whole runs: what it says depends only on the messages it is sent."""

from __future__ import annotations

import hashlib
import json

from tests.server import Reply, Request

EXAMS = (
    "Complete blood count", "C-reactive protein", "Serum creatinine", "Liver function tests", "Urinalysis",
    "Blood cultures",
    "Chest X-ray", "CT of the chest", "CT of the abdomen and pelvis with contrast", "MRI of the brain",
    "Ultrasound of the abdomen", "Echocardiogram", "Electrocardiogram", "Lumbar puncture with CSF analysis",
    "Biopsy of the lesion with histopathology", "Bone marrow biopsy", "Upper endoscopy", "Colonoscopy", "EEG",
    "Genetic testing", "Antinuclear antibodies", "HIV test", "Thyroid function tests", "Serum electrolytes", "PET-CT",
)  # fmt: skip
OTHER_WORDS = {"Complete blood count": "CBC", "C-reactive protein": "CRP", "Electrocardiogram": "ECG",
               "Chest X-ray": "Radiograph of the chest", "MRI of the brain": "Brain MRI"}  # fmt: skip


def physician(request: Request) -> Reply:
    """Asks for two or three exams a turn, sometimes for earlier ones again, and concludes in turn 2 to 5.

    About one first try in twelve cannot be read, one reply in fifty is empty; re-asked it is always readable.
    """
    texts = [str(message["content"]) for message in request.messages]
    case = _digest(texts[0].partition("Your reply could not be read")[0])
    now = _digest(json.dumps(texts))
    again = "Your reply could not be read" in texts[-1]
    turn = sum("The examiner answers" in text for text in texts) + 1
    if not again and now[0] < 5:
        return Reply(content="")
    if not again and now[0] < 26:
        return Reply(content="It is hard to say what this could be; more than one thing comes to mind.")
    last = 2 + case[1] % 5  # 6 is beyond the cap: such a doctor never concludes
    if turn >= last:
        return Reply(content=_turn("Not required.", f"Disease number {case[2] % 40}"))
    return Reply(content=_turn("\n".join(f"- {exam}" for exam in _asked(case, turn)), "Provisional: unclear"))


def _asked(case: bytes, turn: int) -> list[str]:
    if turn > 1 and case[3 + turn] < 40:  # what it asked before, in other words where it knows any
        return [OTHER_WORDS.get(exam, exam) for exam in _asked(case, turn - 1)]
    start = case[3 + turn] % len(EXAMS)
    return [EXAMS[(start + 7 * n) % len(EXAMS)] for n in range(2 + case[8 + turn] % 2)]


def _turn(requests: str, conclusion: str) -> str:
    steps = "<step 1> The findings so far leave several diagnoses open.\n<step 2> The next tests decide between them."
    return (
        f"### Chain of Thought:\n{steps}\n\n### Additional Information Required:\n{requests}\n\n"
        f"### Conclusion:\n{conclusion}"
    )


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
