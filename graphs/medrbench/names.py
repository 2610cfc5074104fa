"""What the name of a section says about it: history and examination, tests, one of several patients, or anything else.

Names are judged by rule, not by a list of whole names. A name is *history* only if every word of it is known to
belong to what is asked or seen at the bedside; whatever is not understood is "other", so that the doctor's view rests
on an allow-list.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["history", "tests", "patient", "other"]

_JOINTS = re.compile(r"\s*(?:[/,;&+]|\band\b|\bor\b|\bincluding\b)\s*")
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")


@dataclass(frozen=True, slots=True)
class _Family:
    """Names built from a head word and words that go with it.

    Attributes:
        heads: one of them must occur.
        specifiers: one of them must occur too; empty if the head says enough.
        others: further words that may occur.
    """

    heads: frozenset[str]
    specifiers: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()

    def holds(self, words: list[str]) -> bool:
        chosen = set(words)
        if not chosen <= self.heads | self.specifiers | self.others | _GLUE:
            return False
        return bool(chosen & self.heads) and (not self.specifiers or bool(chosen & self.specifiers))


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_GLUE = _set("of the a on at in for to upon and")
_TIME = _set("initial admission presentation arrival current present recent baseline entry relevant significant")
_SPECIALTIES = _set(
    "general physical clinical systemic systems local regional vital mental neurological neurologic neurology "
    "neuropsychiatric psychiatric cognitive motor sensory ophthalmological ophthalmologic ophthalmic ocular eye eyes "
    "abdominal abdomen chest thoracic cardiac cardiovascular pulmonary respiratory oral intraoral extraoral dental "
    "facial head neck ent otologic dermatological dermatologic skin cutaneous musculoskeletal orthopedic orthopaedic "
    "spinal extremity extremities limb pelvic rectal breast genital gynecological gynecologic gynaecological obstetric "
    "obstetrical urological genitourinary lymph node lymphatic functional bedside focused"
)
_HISTORY = _Family(
    _set("history histories hx anamnesis hpi pmh hopi"),
    others=_TIME
    | _set(
        "past previous prior presenting medical clinical surgical personal social family familial patient patients "
        "drug drugs medication medications medicine allergy allergies allergic obstetric obstetrical gynecological "
        "gynecologic gynaecological menstrual birth perinatal prenatal antenatal neonatal maternal paternal "
        "developmental growth feeding immunization vaccination travel occupational exposure contact epidemiological "
        "sexual reproductive marital dental ocular ophthalmic psychiatric neurological psychosocial substance smoking "
        "alcohol tobacco dietary nutritional transfusion trauma childhood illness illnesses disease diseases "
        "complaint complaints symptom symptoms other additional further general background health habits lifestyle"
    ),
)
_COMPLAINT = _Family(
    _set("complaint complaints concern concerns symptom symptoms presentation reason"),
    others=_TIME | _set("chief main primary presenting major clinical patient visit referral consultation onset cc"),
)
_PERSON = _Family(
    _set("information info data details profile characteristics background demographics demographic identification"),
    _set("patient patients personal demographic demographics biographical identifying basic general"),
    _set("age sex gender ethnicity social family"),
)
_EXAMINATION = _Family(
    _set("examination examinations exam exams signs findings status assessment vitals"), _SPECIALTIES, _TIME
)
_PLAIN = _Family(
    _set(
        "allergies allergy demographics vitals habits immunizations vaccinations occupation age sex gender ethnicity "
        "lifestyle comorbidities"
    ),
    others=_set("known drug food patient past prior personal baseline vital"),
)
_MEDICATION = _Family(
    _set("medication medications drugs"),
    _set("current home regular usual previous prior past chronic preadmission baseline"),
)
_REVIEW = _Family(_set("review"), _set("systems system"))
_PATIENT_LINE = _Family(_set("patient"))
_FAMILIES = (_PATIENT_LINE, _HISTORY, _COMPLAINT, _PERSON, _EXAMINATION, _PLAIN, _MEDICATION, _REVIEW)
_ALL_HEADS = frozenset().union(*(family.heads for family in _FAMILIES))

#: Words of tests: a section or an entry with one of them is about a test.
TEST_WORD = re.compile(
    r"\b(?:ancillar|auxiliar|laborator|labs?\b|imag(?:ing|es?)\b|radiolog|radiogr|roentgen|investigat|tests?\b|testing|"
    r"tested\b|panels?\b|screen|assay|work-?ups?\b|blood ?work|bloods?\b|serum\b|plasma\b|urin|stool|sputum|swab|smear|"
    r"biops|aspirat|histolog|histopath|patholog|cytolog|cytomet|cytogenet|karyotyp|genetic|genom|exome|sequenc|"
    r"molecular|mngs\b|ngs\b|pcr\b|microbio|microscop|cultures?\b|stain|immuno|ihc\b|serolog|antibod|antigen|markers?\b|"
    r"biochem|chemistr|ha?ematolog|hormon|coagulation|gas analysis|count\b|cbc\b|profiles?\b|function\b|levels?\b|"
    r"endoscop|\w+oscopy\b|laparoscop|echocardi|echo\b|electro|ecgs?\b|ekg\b|eeg\b|emg\b|holter|mris?\b|mra\b|mrv\b|"
    r"mrcp\b|ercp\b|cts?\b|cta\b|cect\b|hrct\b|pet\b|spect\b|scans?\b|scintigr|x-?rays?\b|ultraso|sonogra|usg?\b|doppler|"
    r"angiogra|venogra|tomogra|tomosynth|mammogra|fluoro|cystogra|urogra|urethrogra|myelogra|fnac?s?\b|csf\b|"
    r"lumbar puncture|cerebrospinal|effusion analysis|fluid\b|spirometr|audiometr|manometr|densitometr|perimetry|oct\b|"
    r"ffa\b|vep\b|polysomnogra|catheteri[sz]|monitoring|crp\b|esr\b|ldh\b|ana\b|anca\b|hba1c|h(?:a)?emoglobin|"
    r"creatinine|bilirubin|troponin|ferritin|albumin|glucose|sodium|potassium|calcium|platelets?\b|leu[ck]ocyt|wbc\b|"
    r"d-dimer|procalcitonin|cortisol|tsh\b|psa\b|ca-? ?\d+|cea\b|afp\b)",
    re.IGNORECASE,
)

#: Words of what is no test even where a test is named: what was done, concluded or came later.
_DENIED = re.compile(
    r"\b(?:treat|therap|manage|surg|operat|intra-?operat|post-?operat|pre-?operat|intervention|procedur|diagnos[ie]s\b|"
    r"outcome|course\b|follow|prognos|autops|post-?mortem|necrops|discharge|complicat|progress|conclusion|discussion|"
    r"differential|response|recovery|evolution)",
    re.IGNORECASE,
)

_NUMBER = r"(?:\d{1,2}|[a-h]|[ivx]{1,4}|one|two|three|four|five|six|seven|eight|nine|ten)"
_ORDINAL = r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|1st|2nd|3rd|\dth)"
_PATIENT = re.compile(
    rf"(?:case|patient)(?: ?(?:report|number|no\.?|#))? ?[#-]?{_NUMBER}|(?:the )?{_ORDINAL} (?:case|patient)",
    re.IGNORECASE,
)
_ANCILLARY = re.compile(r"(?:ancillary|auxiliary|paraclinical)\b", re.IGNORECASE)


def kind_of(name: str) -> Kind:
    """What a section of this name holds."""
    plain = " ".join(name.split())
    if is_patient(plain):
        return "patient"
    if _is_history(plain):
        return "history"
    return "tests" if is_ancillary(plain) or names_test(plain) else "other"


def is_patient(name: str) -> bool:
    """Whether this only numbers one of several patients, e.g. ``Case 2``."""
    return bool(_PATIENT.fullmatch(name.strip()))


def is_ancillary(name: str) -> bool:
    """Whether this is the heading of the ancillary tests themselves, e.g. ``Ancillary Tests/Imaging``."""
    return bool(_ANCILLARY.match(name)) and not _DENIED.search(name)


def names_test(name: str) -> bool:
    """Whether a name is a test's, and not that of a treatment, an operation, a diagnosis or a course."""
    return bool(TEST_WORD.search(name)) and not _DENIED.search(name)


def is_denied(name: str) -> bool:
    """Whether a name speaks of a treatment, an operation, a diagnosis or a course."""
    return bool(_DENIED.search(name))


def _is_history(name: str) -> bool:
    lowered = re.sub(r"\([^()]*\)", " ", name.lower()).strip()
    parts = [part for part in _JOINTS.split(lowered) if part]
    head: list[str] = []
    for part in reversed(parts):  # "personal and family history": a part without a head shares the next one's
        words = _WORD.findall(part)
        if re.search(r"[^a-z\s'’.()-]", part) or not words:
            return False
        heads = [word for word in words if word in _ALL_HEADS]
        if not any(family.holds(words) or (not heads and family.holds(words + head)) for family in _FAMILIES):
            return False
        head = heads or head
    return bool(parts)
