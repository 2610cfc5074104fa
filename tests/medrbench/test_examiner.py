"""The examiner without a model: what it finds and must not find; scores of requests; flags on a model's answer."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from graphs.medrbench.cases import Case, CaseSet, load_cases
from graphs.medrbench.entries import Entry, ancillary_entries
from graphs.medrbench.examiner import NOT_AVAILABLE, answer_from_records, covered_entries, exam_scores
from graphs.medrbench.examiner_flags import (
    names_diagnosis,
    not_available_count,
    not_available_requests,
    numbers_not_in_record,
)
from graphs.medrbench.examiner_records import matches, quote
from graphs.medrbench.requests_reading import read
from tests.data import real_data
from tests.medrbench.synthetic import record, write_data

RECORD = """- Ancillary Tests:
  - Laboratory: Hb 9.2 g/dL, CRP 40 mg/L, creatinine 88 µmol/L.
  - Chest X-ray: Normal.
  - Chest CT: A nodule of 8 mm. An MRI of the brain was normal.
  - MRI: Swelling in the left frontal lobe.
  - CSF analysis: Protein 1.2 g/L.
  - Skin biopsy: Deep granulomas.
  - Urine culture: No growth.
  - Lumbar puncture pressure: Not performed."""
ENTRIES = ancillary_entries(RECORD)
HB, CRP, CREATININE, XRAY, CT, MRI, CSF, SKIN, URINE, PRESSURE = range(10)


def positions(request: str, entries: list[Entry] = ENTRIES) -> set[int]:
    return set(answer_from_records([request], entries).answers[0].positions)


def test_the_record_reads_as_these_tests_assume() -> None:
    assert [entry.position for entry in ENTRIES] == list(range(10))
    assert (ENTRIES[HB].group, ENTRIES[CRP].name, ENTRIES[PRESSURE].performed) == ("Laboratory", "CRP", False)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("Complete blood count", {HB}),
        ("C-reactive protein", {CRP}),
        ("Renal function tests", {CREATININE}),
        ("Blood tests", {HB, CRP, CREATININE}),
        ("Routine laboratory tests", {HB, CRP, CREATININE}),
        ("CXR", {XRAY}),
        ("Computed tomography of the chest with contrast", {CT}),
        ("Imaging of the chest", {XRAY, CT}),
        ("CBC and chest CT", {HB, CT}),
        ("Brain MRI", {MRI}),
        ("MRI scan", {MRI}),
        ("Lumbar puncture with CSF analysis", {CSF, PRESSURE}),
        ("Punch biopsy of the skin", {SKIN}),
        ("Urine culture and sensitivity", {URINE}),
    ],
)
def test_a_request_in_other_words_finds_its_entries(request_: str, expected: set[int]) -> None:
    assert positions(request_) == expected


@pytest.mark.parametrize(
    "request_",
    [
        "CT of the abdomen",
        "Abdominal X-ray",
        "MRI of the lumbar spine",
        "Blood culture",
        "Liver biopsy",
        "Chest MRI",
        "HIV test",
        "Serum total protein",
        "Travel history",
        "Ferritin",
        "",
        "{x} \x00 ???",
    ],
)
def test_another_region_specimen_or_modality_is_not_available(request_: str) -> None:
    answer = answer_from_records([request_], ENTRIES)
    assert answer.answers[0].text == NOT_AVAILABLE
    assert (answer.not_available, answer.newly_disclosed) == (1, frozenset())


def test_a_test_mentioned_inside_another_finding_is_answered_by_that_sentence() -> None:
    entries = [Entry("Chest CT", "A nodule of 8 mm. An MRI of the brain was normal.", 0)]
    [answer] = answer_from_records(["Brain MRI"], entries).answers
    assert (answer.text, answer.positions, answer.partial) == ("An MRI of the brain was normal.", {0}, {0})
    assert answer.available
    assert covered_entries(["Brain MRI"], entries) == frozenset()
    assert exam_scores([["Brain MRI"]], entries).precision == 1


def test_an_entry_whose_name_says_nothing_is_covered_by_its_tests() -> None:
    entries = [Entry("Imaging", "Chest CT showed a nodule. Abdominal ultrasound was normal.", 0)]
    assert positions("Abdominal ultrasound", entries) == {0}
    assert covered_entries(["Abdominal ultrasound"], entries) == {0}
    assert positions("Brain MRI", entries) == set()


def test_a_marker_of_a_tissue_is_no_value_of_the_blood() -> None:
    assert positions("CEA", [Entry("Biopsy", "Positive for CK7 and CEA.", 0)]) == set()
    assert positions("Serum protein", [Entry("Protein", "1.2 g/L", 0, group="CSF analysis")]) == set()


def test_sides_are_kept_apart() -> None:
    entries = [Entry("X-ray of the left knee", "Fracture.", 0)]
    assert positions("Right knee X-ray", entries) == set()
    assert positions("Left knee X-ray", entries) == positions("Knee X-ray", entries) == {0}


def test_one_line_per_request_and_what_is_new() -> None:
    answer = answer_from_records(["CRP\nlevel", "Chest CT", "EEG"], ENTRIES, disclosed={CT})
    assert answer.text.split("\n") == [
        "CRP level: CRP 40 mg/L",
        "Chest CT: Chest CT: A nodule of 8 mm. An MRI of the brain was normal.",
        "EEG: not available",
    ]
    assert (answer.newly_disclosed, answer.positions) == ({CRP}, {CRP, CT})


def test_what_was_not_done_is_said_but_is_no_result() -> None:
    [answer] = answer_from_records(["Lumbar puncture pressure"], ENTRIES[PRESSURE:]).answers
    assert answer.text == "Lumbar puncture pressure: Not performed."
    assert not answer.available
    assert covered_entries(["Lumbar puncture pressure"], ENTRIES[PRESSURE:]) == frozenset()


def test_patients_of_a_series_are_named() -> None:
    entries = [Entry("EEG", "Slow.", 0, patient="Case 1"), Entry("EEG", "Normal.", 1, patient="Case 2")]
    assert answer_from_records(["EEG"], entries).text == "EEG: Case 1: EEG: Slow. | Case 2: EEG: Normal."


def test_scores_by_hand() -> None:
    turns = [["CBC", "Chest CT", "EEG"], ["Complete blood count", "Skin biopsy"]]
    scores = exam_scores(turns, ENTRIES, denominator="entries")  # nine tests done: Hb, CT, then skin are covered
    assert (scores.requests, scores.distinct, scores.matched) == (5, 4, 3)
    assert scores.precision == 3 / 4
    assert scores.recall_by_turn == (2 / 9, 3 / 9)
    assert scores.f1 == pytest.approx(2 * 0.75 / 3 / (0.75 + 1 / 3))
    grouped = exam_scores(turns, ENTRIES)  # the three values count a third each: seven tests
    assert grouped.denominator == "groups"
    assert list(grouped.recall_by_turn) == pytest.approx([(1 / 3 + 1) / 7, (1 / 3 + 2) / 7])


def test_everything_asked_for_is_a_recall_of_exactly_one() -> None:
    requests = [entry.name for entry in ENTRIES]
    assert exam_scores([requests], ENTRIES).recall == 1
    assert exam_scores([requests], ENTRIES, denominator="entries").recall == 1


def test_nothing_asked_and_nothing_done() -> None:
    nothing = exam_scores([[], [" "]], ENTRIES)
    assert (nothing.precision, nothing.recall, nothing.f1, nothing.asked_nothing) == (0, 0, 0, True)
    assert nothing.recall_by_turn == (0, 0)
    empty = exam_scores([["CBC"]], [])
    assert (empty.precision, empty.recall, empty.no_tests, empty.asked_nothing) == (0, 0, True, False)


# --- flags


def case_of(folder: Path, diagnosis: str) -> Case:
    return load_cases(write_data(folder, {"PMC1": record(diagnosis_results=diagnosis)}), "diagnosis").cases[0]


@pytest.mark.parametrize(
    ("diagnosis", "answer"),
    [
        ("Otomycosis.", "Swab: growth of yeast, i.e. otomycosis."),
        ("Takayasu's arteritis (Type IIb).", "This is consistent with arteritis of the Takayasu kind."),
        ("Acute eosinophilic pneumonia (AEP) induced by inhalation", "CT: typical of AEP."),
        ("Gastric cancer with metastases", "Shows gastric cancer."),
        ("1. Guillain-Barré syndrome", "Typical for guillain barre syndrome."),
    ],
)
def test_a_named_diagnosis_is_found(tmp_path: Path, diagnosis: str, answer: str) -> None:
    case = case_of(tmp_path, diagnosis)
    assert names_diagnosis(answer, case)
    assert not names_diagnosis(answer, case, request_text=f"Test for {diagnosis}")


@pytest.mark.parametrize(
    ("diagnosis", "answer"),
    [
        ("Otomycosis.", "Ear swab: Growth of yeast."),
        ("Chronic liver disease", "Chronic changes of the liver."),
        ("Yeast", "Ear swab: yeast"),  # stands in the record
        ("Takayasu's arteritis (Type IIb).", "Coronary arteritis of type IIb."),
    ],
)
def test_a_diagnosis_that_is_not_named_or_stands_in_the_record(tmp_path: Path, diagnosis: str, answer: str) -> None:
    assert not names_diagnosis(answer, case_of(tmp_path, diagnosis))


NUMBERS = "Hb 9.20 g/dL, WBC 12,500/µL, CD30 positive, two nodules of 3.2 × 2.1 cm, 45 % blasts, on 3 March 2023, 1:160"


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        ("1. Hb 9.2 g/dL\n2. WBC 12500 /µL\n3) 2 nodules", []),
        ("Hb 9,2 g/dl; WBC 12 500; 45%; 2023-03-03; 1:160; 3.2 x 2.1 cm", []),
        ("IL-6 and CA 19-9 not available; 12-lead ECG: none", []),
        ("Hb 9.3 g/dL", ["9.3 g/dL"]),
        ("Platelets 210 x 10^9/L", ["210"]),
        ("45 mg/L", ["45 mg/L"]),
        ("Blasts 46 %, range 3.2-3.8", ["46 %", "3.8"]),
        ("Titre 1:320 and 1:320", ["320"]),
        ("On 4 March 2024", ["4", "2024"]),
        ("", []),
    ],
)
def test_numbers_that_the_record_does_not_contain(answer: str, missing: list[str]) -> None:
    assert numbers_not_in_record(answer, NUMBERS) == missing


def test_numbers_of_the_request_may_be_said_again() -> None:
    assert numbers_not_in_record("24-hour urine: none. At 6 weeks: none.", "x", request_text="MRI at 6 weeks") == []


REQUESTS = ("Complete blood count", "Chest CT", "EEG")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("CBC: Hb 9 g/dL.\nChest CT: Not available.\nEEG: no information", (1, 2)),
        ("1. Hb 9.\n2. A nodule.\n3. There is no record of this test.", (2,)),
        ("**Chest CT:**\nUnavailable.\nThe CBC was normal, but no EEG was performed.", (1, 2)),
        ("CBC was normal. No information is available on the other tests.", (1, 2)),
        ("No information available.", (0, 1, 2)),
        ("None of the requested tests were performed.", (0, 1, 2)),
        ("CBC: no abnormality. CT of the chest: no nodules detected. EEG: not epileptic.", ()),
        ("", ()),
    ],
)
def test_requests_answered_with_nothing(answer: str, expected: tuple[int, ...]) -> None:
    assert not_available_requests(answer, REQUESTS) == expected
    assert not_available_count(answer, REQUESTS) == len(expected)


# --- the real record


@pytest.fixture(scope="module")
def cases() -> CaseSet:
    return load_cases(real_data("medrbench"), "diagnosis")


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


@pytest.mark.data
def test_every_entry_is_found_by_its_own_name(cases: CaseSet) -> None:
    answers = [answer_from_records([entry.name for entry in case.ancillary], case.ancillary) for case in cases]
    zipped = zip(cases, answers, strict=True)
    pairs = [pair for case, told in zipped for pair in zip(case.ancillary, told.answers, strict=True)]
    share = sum(entry.position in answer.positions for entry, answer in pairs) / len(pairs)
    print(f"own name: {share:.4f} of {len(pairs)} entries")
    assert share >= 0.97


def told_verbatim(case: Case, request: str, position: int) -> bool:
    """Whether what is told of an entry is its own text, whose finding stands in the record, marks and breaks aside."""
    [match] = [match for match in matches(request, case.ancillary) if match.entry.position == position]
    inside = match.quote in (quote(match.entry), match.entry.finding) or match.quote in match.entry.finding
    return inside and f" {' '.join(words(match.entry.finding))} " in f" {' '.join(words(case.ancillary_text))} "


@pytest.mark.data
def test_everything_told_stands_in_the_record_word_for_word(cases: CaseSet) -> None:
    told = verbatim = 0
    for case in cases:
        answers = answer_from_records([entry.name for entry in case.ancillary], case.ancillary).answers
        assert numbers_not_in_record("\n".join(answer.text for answer in answers), case.ancillary_text) == []
        known = {word for entry in case.ancillary for word in words(f"{entry.patient} {entry.name}")}
        known |= set(words(case.ancillary_text)) | {"not", "available"}
        assert {word for answer in answers for word in words(answer.text)} <= known, case.id
        for answer in answers:
            told += len(answer.positions)
            verbatim += sum(told_verbatim(case, answer.request, position) for position in answer.positions)
    print(f"told verbatim: {verbatim} of {told}")
    assert verbatim / told >= 0.99


@pytest.mark.data
def test_another_case_s_tests_are_mostly_not_available(cases: CaseSet) -> None:
    """Requests that name an exam with its region or target; a bare "CT" is rightly answered by any CT."""
    rng = random.Random(5)
    asked = answered = 0
    for case in cases:
        other = rng.choice(cases.cases)
        own = {read(entry.name).plain for entry in case.ancillary}
        names = [entry.name for entry in other.ancillary if read(entry.name).plain not in own and other is not case]
        requests = [name for name in names if any(exam.site or exam.about for exam in read(name).exams)]
        asked += len(requests)
        answered += sum(bool(answer.positions) for answer in answer_from_records(requests, case.ancillary).answers)
    print(f"cross-case requests answered: {answered} of {asked}, {answered / asked:.3f}")
    assert asked > 500
    assert answered / asked < 0.15
