"""Which entries of a record answer a request for a test.

Requests and entries are compared exam by exam, as loop detection reads them. Modality, region, side, specimen and
target must agree; what the name of an entry leaves open, such as the region of "MRI", has to stand in its finding.
In doubt there is no match: no result is better than another organ's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from graphs.medrbench.entries import Entry
from graphs.medrbench.requests import is_repeat
from graphs.medrbench.requests_reading import Exam, read
from graphs.medrbench.requests_tokens import ANALYTES, REGIONAL, TARGETED, TESTS, tokenise
from graphs.medrbench.requests_vocabulary import fold, vocabulary
from graphs.medrbench.wording import sentences


@dataclass(frozen=True, slots=True)
class Match:
    """An entry that answers a request.

    Attributes:
        entry: the entry.
        quote: the part of the record that answers, verbatim.
        whole: false if only a sentence within the finding answers, the entry itself being about another test.
    """

    entry: Entry
    quote: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Context:
    """What a text says around its tests: regions, specimens, targets, imaging modalities and all words."""

    sites: frozenset[str]
    specimens: frozenset[str]
    targets: frozenset[str]
    modalities: frozenset[str]
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Recorded:
    """An entry as read.

    Attributes:
        exams: what its name and the heading above it say was done.
        text: all of it.
        open: its name says nothing, as "Laboratory findings" does; the tests are those of the finding.
        lab: a laboratory value, or a list of them.
        blood: the same of blood.
        fluid: another specimen than blood that its name or heading says.
    """

    exams: tuple[Exam, ...]
    text: str
    open: bool
    lab: bool
    blood: bool
    fluid: frozenset[str]


#: Anatomical words that are no names of exam regions but tell the region of an image or a tissue.
_ANATOMY = tuple(
    (site, re.compile(rf"\b(?:{words})"))
    for site, words in (
        ("brain", r"frontal lobe|temporal lobe|parietal|occipital|cerebell|hippocamp|basal ganglia|thalam|"
         r"ventricul(?:ar system|itis|omegaly)|lateral ventricle|fourth ventricle|corpus callosum|white matter|"
         r"mening|pons\b|pontine|hemispher|subdural|subarachnoid|hydroceph|midbrain|insula|periventric|gyr(?:us|i)\b"),
        ("chest", r"(?:upper|lower|middle) lobe|pneumothora|pleura|ground.glass|hilar|bronch|trache|alveol|lobar|"
         r"pneumon|lingula|costophren|interstitial lung"),
        ("abdomen", r"ascit|perito|oment|mesenter|hepato|hepatic|spleno|pancrea|biliary|bowel|adrenal|retroperiton|"
         r"jejun|ile(?:um|al)\b|portal|suprarenal"),
        ("pelvis", r"adnex|retrovesical|iliac|douglas"),
        ("skin", r"epiderm|dermis|dermal|stratum|keratinocyt|dermo"),
        ("kidney", r"glomerul|hydroneph|nephro|mesangi|tubulointer"),
        ("urinary", r"ureter|hydroneph|renal pelvis"),
        ("liver", r"hepatocy|portal tract|cholangi"),
        ("heart", r"left ventric|right ventric|atri(?:um|al)\b|mitral|tricuspid|ejection fraction"),
        ("iac", r"middle ear|mastoid|cochle|auditory canal"),
        ("hip", r"acetabul|femoral head"),
        ("tspine", r"\bt(?:[1-9]|1[0-2])-t?(?:[1-9]|1[0-2])\b"),
        ("lspine", r"\bl[1-5]-[ls]?[1-5]\b"),
        ("cspine", r"\bc[1-7]-c?[1-7]\b"),
        ("foot", r"metatars|calcane|talus|talar"),
        ("hand", r"metacarp|phalan"),
        ("knee", r"patell|menisc|popliteal"),
    )
)  # fmt: skip

#: Region -> smaller regions that its images show, in addition to the vocabulary's.
_INSIDE = {
    "chest": "mediastinum pleura pulm_art ribs sternum",
    "brain": "brain_vessels pituitary skull iac",
    "abdomen": "stomach small_bowel colon mesenteric portal peritoneum appendix duodenum renal_artery gallbladder",
    "neck": "thyroid larynx neck_vessels salivary throat carotid",
    "face": "jaw sinus orbit",
    "orbit": "eye",
    "leg": "knee thigh calf femur tibia ankle",
    "arm": "forearm humerus elbow wrist",
    "urinary": "renal_artery prostate",
    "heart": "coronary pericardium",
}

#: An image of the first kind was asked for; the record's is one of the others, which are special cases of it.
_SPECIAL = {
    "ct": frozenset({"cta", "ctv", "cbct"}),
    "mri": frozenset({"mra", "mrv", "mrs"}),
    "echo": frozenset({"tee", "fetal_echo", "bubble_echo", "stress_echo"}),
    "endoscopy": frozenset({"egd", "colonoscopy", "sigmoidoscopy"}),
    "eeg": frozenset({"video_eeg"}),
    "genetic": frozenset({"wes", "wgs", "ngs", "karyotype", "microarray", "methylation", "mtdna"}),
    "scintigraphy": frozenset({"bone_scan"}),
}
_GENOME_WIDE = frozenset({"wes", "wgs", "ngs"})

#: Images that need no region in a request, with the region they show.
_FIXED_IMAGES = {
    "mammography": "breast", "mrcp": "abdomen", "ercp": "abdomen", "bone_scan": "bone", "skeletal_survey": "bone",
    "vq_scan": "chest", "ct_urography": "urinary", "ct_enterography": "abdomen", "mr_enterography": "abdomen",
    "barium_swallow": "esophagus", "upper_gi_series": "abdomen", "psma_pet": "", "sestamibi": "parathyroid",
    "cholangiography": "abdomen", "hsg": "uterus", "ivp": "urinary", "vcug": "urinary",
}  # fmt: skip

#: A finding that stands for a value of the blood: "Mild anemia" reports the hemoglobin.
_CONDITIONS = tuple(
    (re.compile(pattern), analyte)
    for pattern, analyte in (
        (r"\b(?:\w+ )?an(?:a)?emi(?:a|c)\b", "hemoglobin"),
        (r"\bleu[ck]o(?:cytosis|penia)\b", "wbc"),
        (r"\bneutro(?:philia|penia)\b", "neutrophils"),
        (r"\beosinophilia\b", "eosinophils"),
        (r"\blympho(?:cytosis|penia|cytopenia)\b", "lymphocytes"),
        (r"\bthrombocyt(?:osis|openia|h?emia)\b", "platelets"),
        (r"\bpancytopenia\b", "cbc"),
        (r"\bhyp(?:o|er)natr(?:a)?emi", "sodium"),
        (r"\bhyp(?:o|er)kal(?:a)?emi", "potassium"),
        (r"\bhyp(?:o|er)calc(?:a)?emi", "calcium"),
        (r"\bhyp(?:o|er)phosphat(?:a)?emi", "phosphate"),
        (r"\bhyp(?:o|er)magnes(?:a)?emi", "magnesium"),
        (r"\bhypoalbumin(?:a)?emi", "albumin"),
        (r"\bhyperbilirubin(?:a)?emi", "bilirubin"),
        (r"\bhyp(?:o|er)glyc(?:a)?emi", "glucose"),
        (r"\bhypertriglycerid(?:a)?emi", "triglycerides"),
        (r"\bhyperuric(?:a)?emi", "uric acid"),
        (r"\bhyperammon(?:a)?emi", "ammonia"),
        (r"\bhyperferritin(?:a)?emi", "ferritin"),
    )
)

_LAB_WORDS = re.compile(
    r"(?:blood|bloods|bloodwork|labs?|laborator(?:y|ies)|serum|biochemi(?:cal|stry)|chemistry|ha?ematolog(?:y|ical)|"
    r"tests?|testing|works?|work-?ups?|panels?|stud(?:y|ies)|results?|findings?|investigations?|values|data|analys[ie]s|"
    r"exams?|examinations?|evaluations?|routine|basic|standard|initial|admission|baseline|general|complete|full|"
    r"additional|further|other|all|any|relevant|the|and|of|for|on|from|please|available|recent|common|current)"
)
_LAB = re.compile(r"\b(?:blood|lab|serum|biochem|chemistr|ha?ematolog)")
_NOT_BLOOD = re.compile(r"\b(?:gas|cultur|smear|type|group|film|pressure)")
_FEW_SITES = 2

#: Words without which a microbe or marker in running text is no test for it.
_TESTED = re.compile(
    r"\b(?:positive|negative|test|serolog|antibod|igg|igm|pcr|screen|titer|titre|panel)", re.IGNORECASE
)

#: Words of a finding that name a test but do not report it.
_NO_TEST = re.compile(
    r"\b(?:CT|MRI?|ultrasound|US|TRUS|EUS|fluoroscopy|image)[- ]guided\b|"
    r"\b(?:no|other|active|underlying|significant|intra\w+|lung|brain|\w+al|\w+ar|\w+ic) patholog(?:y|ies)\b",
    re.IGNORECASE,
)


def matches(request: str, entries: Sequence[Entry]) -> list[Match]:
    """The entries that answer a request, in the order of the record.

    A test that is only mentioned inside other entries is answered by those sentences, if no entry is about it.
    """
    return list(_matched(request, tuple(entries)))


@lru_cache(maxsize=8192)
def _matched(request: str, entries: tuple[Entry, ...]) -> tuple[Match, ...]:
    """The examiner and each of the scores ask for the same pairs."""
    general = _asks_for_labs(request)
    found = [
        Match(entry, quote(entry), True)
        for entry in entries
        if (_is_asked_lab(entry, general) if general else _is_about(request, entry))
    ]
    if found or general:
        return tuple(found)
    return tuple(match for entry in entries if (match := _mention(request, entry)) is not None)


def quote(entry: Entry) -> str:
    """An entry verbatim: name and finding, the finding alone if it opens with the name, the patient first."""
    finding = entry.finding.strip()
    named = not finding or not finding.lower().startswith(entry.name.lower())
    text = f"{entry.name}: {finding}".rstrip(": ") if named else finding
    return f"{entry.patient}: {text}" if entry.patient else text


def names_exam(request: str, text: str) -> bool:
    """Whether a text speaks of the test that a request asks for."""
    done = [*read(text).exams, *_conditions(text)]
    return any(_agrees(asked, exam, text) for asked in _asked(request) for exam in done)


@lru_cache(maxsize=4096)
def _asked(request: str) -> tuple[Exam, ...]:
    """The exams of a request; in "Imaging (CT)" the CT alone, in "Abdominal ultrasound and MRI" both of the abdomen."""
    exams = read(request).exams
    images = [exam for exam in exams if exam.kind == "imaging"]
    sites = tuple(dict.fromkeys(exam.site for exam in exams if exam.kind in REGIONAL and exam.site))
    kept = (exam for exam in exams if exam.kind != "generic" or not images)
    return tuple(one for exam in kept for one in _placed(exam, sites))


def _placed(exam: Exam, sites: tuple[str, ...]) -> Iterator[Exam]:
    if exam.kind != "imaging" or exam.site:
        yield exam
    elif "hrct" in exam.protocols:
        yield replace(exam, site="chest")
    else:
        yield from (replace(exam, site=site) for site in sites or ("",))


def _asks_for_labs(request: str) -> str:
    """ "blood" or "lab" if the request is for such tests in general, else ""."""
    words = re.findall(r"[\w-]+", fold(request))
    if not words or not all(_LAB_WORDS.fullmatch(word) for word in words):
        return ""
    text = " ".join(words)
    if not _LAB.search(text) or read(request).exams:
        return ""
    return "lab" if re.search(r"\blab", text) else "blood"


def _is_asked_lab(entry: Entry, general: str) -> bool:
    recorded = _recorded(entry)
    return recorded.blood if general == "blood" else recorded.lab


def _is_about(request: str, entry: Entry) -> bool:
    if read(request).plain and read(request).plain == read(entry.name).plain:
        return True
    recorded = _recorded(entry)
    asked = _asked(request)
    if any(_agrees(exam, done, recorded.text) for exam in asked for done in recorded.exams):
        return True
    unknown = [exam for exam in asked if not exam.head]
    return bool(unknown) and (is_repeat(request, [entry.name]) or is_repeat(entry.name, [request]))


def _mention(request: str, entry: Entry) -> Match | None:
    """The sentences of a finding that are about the test; all of an entry whose name says nothing stays open."""
    asked = [exam for exam in _asked(request) if exam.kind in TESTS]
    recorded = _recorded(entry)
    found = [text for text in sentences(entry.finding) if any(_mentions(exam, text, recorded) for exam in asked)]
    if not found:
        return None
    text = " ".join(found)
    return Match(entry, f"{entry.patient}: {text}" if entry.patient else text, recorded.open)


def _mentions(asked: Exam, text: str, recorded: _Recorded) -> bool:
    if asked.kind in ANALYTES and (recorded.fluid or not (recorded.lab or recorded.open)):
        return False  # "positive for CEA" of a tissue is no value of the blood
    if asked.kind == "serology" and not _TESTED.search(text):
        return False
    listed = vocabulary().open - {asked.head}  # "autoantibodies against red cells" is no panel of them
    done = [exam for exam in read(_NO_TEST.sub(" ", text)).exams if exam.head not in listed and exam.kind in TESTS]
    return any(_agrees(asked, exam, text) for exam in [*done, *_conditions(text)])


@lru_cache(maxsize=16384)
def _recorded(entry: Entry) -> _Recorded:
    exams = tuple(_exams(entry))
    lab, blood = _laboratory(entry, exams)
    return _Recorded(
        exams=exams,
        text=f"{entry.name} : {entry.group} : {entry.finding}",
        open=not any(exam.head and exam.kind != "generic" for exam in exams),
        lab=lab,
        blood=blood,
        fluid=_context(f"{entry.group} : {entry.name}").specimens - {"blood_sample"},
    )


def _exams(entry: Entry) -> Iterator[Exam]:
    named = read(entry.name).exams
    function = any(exam.kind == "blood" for exam in named)  # "Differential renal function" is no differential count
    for exam in named:
        if not (function and exam.head == "differential"):
            yield _from_specimen(exam, entry)
    yield from _conditions(entry.name)
    if entry.group:
        yield from (exam for exam in read(entry.group).exams if exam.head)


def _laboratory(entry: Entry, exams: Sequence[Exam]) -> tuple[bool, bool]:
    """Whether it is a laboratory value or a list of them, and whether of blood."""
    general = bool(_asks_for_labs(entry.name))
    analytes = [exam for exam in exams if exam.kind in ANALYTES]
    heading = bool(_LAB.search(fold(entry.group))) and not any(exam.kind in REGIONAL | {"tissue"} for exam in exams)
    of_blood = [exam for exam in analytes if "blood_sample" in exam.specimens]
    lab = general or heading or bool(analytes)
    if len(of_blood) < len(analytes):
        return lab, False
    return lab, general or bool(of_blood) or (heading and not _NOT_BLOOD.search(fold(entry.name)))


def _from_specimen(exam: Exam, entry: Entry) -> Exam:
    """A value under the heading "CSF analysis" is the CSF's, though the value's own name does not say so."""
    if exam.kind not in ANALYTES or not entry.group or exam.specimens != {"blood_sample"}:
        return exam
    if "blood_sample" in _context(entry.name).specimens:
        return exam
    others = _context(entry.group).specimens - {"blood_sample"}
    return replace(exam, specimens=others) if others else exam


def _conditions(text: str) -> list[Exam]:
    folded = fold(text)
    return [exam for pattern, analyte in _CONDITIONS if pattern.search(folded) for exam in read(analyte).exams]


@lru_cache(maxsize=16384)
def _context(text: str) -> Context:
    tokens = tokenise(text)
    terms = [term for token in tokens for term in token.terms]
    fluids = vocabulary().words["fluids"]
    urine = {"urine"} & {vocabulary().specimen_of.get(term.id, "") for term in terms}
    folded = fold(text)
    return Context(
        sites=frozenset({term.id for term in terms if term.kind == "site"} | set(_anatomy(folded))),
        specimens=frozenset({t.id for t in terms if t.kind == "specimen" or t.id in fluids} | urine),
        targets=frozenset(term.id for term in terms if term.kind not in ("site", "specimen", "drop")),
        modalities=frozenset(term.id for term in terms if term.kind == "imaging"),
        words=frozenset(word for token in tokens for word in token.text.split()),
    )


def _anatomy(folded: str) -> Iterator[str]:
    return (site for site, pattern in _ANATOMY if pattern.search(folded))


def _agrees(asked: Exam, done: Exam, text: str) -> bool:
    """Whether an exam that was done answers one that is asked for."""
    if asked.prior and not done.prior:
        return False
    return (
        _same_test(asked, done, text)
        and _same_place(asked, done, text)
        and _same_specimen(asked, done, text)
        and _same_subject(asked, done, text)
    )


def _same_test(asked: Exam, done: Exam, text: str) -> bool:
    if not asked.head or not done.head:
        return False
    if asked.head == done.head:
        return True
    if asked.kind == "generic":
        return done.kind == "imaging" or done.head in _FIXED_IMAGES
    if done.kind == "generic":  # "Chest imaging: ..." that does not say which
        return asked.kind == "imaging" and bool(asked.site and done.site) and not _context(text).modalities
    return done.head in _SPECIAL.get(asked.head, ()) or _same_panel(asked, done)


def _same_panel(asked: Exam, done: Exam) -> bool:
    """Whether one contains the other: values of the panel asked for, or the panel with the value asked for."""
    if asked.site or done.site:
        return False
    return _contains(asked, done) or _contains(done, asked) or _core_within(asked, done)


def _contains(panel: Exam, member: Exam) -> bool:
    parts = vocabulary().parts.get(panel.head, frozenset())
    if member.kind in REGIONAL or member.kind == "generic":
        return False
    specimens = member.specimens - {"blood_sample"}
    if member.kind in ANALYTES and specimens:
        return any((member.head, specimen) in parts for specimen in specimens) or (
            (member.head, "") in parts and specimens <= panel.specimens
        )
    return (member.head, "") in parts


def _core_within(asked: Exam, done: Exam) -> bool:
    core = vocabulary().core.get(done.head, frozenset())
    wide = {head for head, specimen in vocabulary().parts.get(asked.head, ()) if not specimen}
    return bool(core) and core <= wide


def _same_place(asked: Exam, done: Exam, text: str) -> bool:
    if asked.sides and done.sides and not asked.sides & done.sides and "bilateral" not in asked.sides | done.sides:
        return False
    if not asked.site:
        return True
    if asked.kind not in REGIONAL and asked.kind != "generic":
        return not done.site or _near(asked, done.site)
    here = done.site or _FIXED_IMAGES.get(done.head, "")
    if here:
        return _near(asked, here)
    if done.head == "pet" or "whole_body" in _context(text).sites:
        return asked.kind in ("imaging", "generic")  # of the whole body unless a region is named
    sites = _context(text).sites
    if asked.kind == "procedure":  # of what else a pathologist's text names, nothing was taken
        sites = sites - {"lymph_node"} if len(sites) <= _FEW_SITES else frozenset()
    return any(_near(asked, site) for site in sites)


def _near(asked: Exam, site: str) -> bool:
    if asked.site == site or site in _parts_of(asked.site):
        return True
    return asked.kind in ("imaging", "generic") and asked.site in _parts_of(site)


@lru_cache(maxsize=512)
def _parts_of(site: str) -> frozenset[str]:
    known = {part for part, _ in vocabulary().parts.get(site, ())}
    return frozenset(known | set(_INSIDE.get(site, "").split()))


def _same_specimen(asked: Exam, done: Exam, text: str) -> bool:
    if asked.kind in ANALYTES and done.kind in ANALYTES:
        return bool(asked.specimens & done.specimens)
    wanted = asked.specimens - ({"blood_sample"} if asked.kind == "serology" else set())
    if asked.kind in ANALYTES or not wanted:
        return True
    return bool(wanted & (done.specimens or _context(text).specimens))


def _same_subject(asked: Exam, done: Exam, text: str) -> bool:
    if asked.head != done.head and done.head in _GENOME_WIDE:
        return True  # a test of all genes answers for any
    if asked.kind in TARGETED:
        named = not asked.about or bool(asked.about & (done.about or _context(text).targets))
        return named and _half(asked.words, done, text)
    if asked.kind in ANALYTES and done.kind in ANALYTES:
        unlike = bool(done.words) and not done.words & (asked.words | asked.aliases)
        odd = unlike and asked.kind == "lab" and asked.head == done.head
        return not odd and _half(asked.words, done, text)
    if (asked.kind in REGIONAL or asked.kind == "generic") and not asked.site:
        return _half(asked.words, done, text)
    return True


def _half(words: frozenset[str], done: Exam, text: str) -> bool:
    """Whether at least half of the words that the vocabulary does not know stand there too."""
    if not words:
        return True
    there = done.words | done.aliases
    return 2 * len(words & there) >= len(words) or 2 * len(words & (there | _context(text).words)) >= len(words)
