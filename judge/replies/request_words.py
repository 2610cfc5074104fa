"""The words that requests for examinations are made of, and the ways of asking for nothing."""

from __future__ import annotations

import re

from judge.replies.vocabulary import of

# Asking for nothing; matched against whole clauses, in lower case and without accents ---------------------------

_MORE = (
    r"(?:additional|further|more|other|extra|new|specific|supplementary|ancillary|diagnostic"
    r"|clinical|medical|laboratory|lab|immediate|urgent)"
)
_THINGS = (
    r"(?:informations?|info|data|details?|tests?|testing|exams?|examinations?|investigations?|imaging|stud(?:y|ies)"
    r"|work ?ups?|labs?|procedures?|questions?|requests?|evaluations?|assessments?|history|results?|diagnostics|work)"
)
_STATE = (
    r"(?:required|needed|necessary|requested|warranted|indicated|applicable|to (?:request|add|ask)|essential"
    r"|called for|to be (?:requested|done|performed))"
)
_BE = r"(?:is|are|was|were|will be|would be|seems?|appears?(?: to be)?)"
_ADVERB = r"(?:currently|now|strictly|deemed|considered|absolutely|really|at present|presently|further|still)"
_WHEN = (
    r"(?:(?:,? ?(?:at|for|in) (?:this|the|a|that|now|present|diagnosis)(?: (?:time|point|stage|moment|present"
    r"|case|turn|final|definitive|definite"
    r"|current|diagnosis|conclusion|treatment|decision|confident))*)|,? ?(?:currently|now|further|thank you|thanks)"
    r"|,? ?(?:to|in order to) (?:make|establish|reach|confirm|give|provide|determine|state|formulate"
    r"|support) (?:a |the |this |my )?"
    r"(?:(?:final|definitive|definite|confident|clinical|accurate|correct) )*(?:diagnosis|conclusion|answer))"
)
_GENERIC = rf"(?:{_MORE} )*{_THINGS}(?:(?: ?, ?| ?/ ?| and | or |, and |, or )(?:{_MORE} )*{_THINGS}){{0,6}}"
_SUBJECT = r"(?:i|we)"
_NOTHING_FORMS = (
    r"(?:none|nil|no|n ?/ ?a|n\.a\.?|nothing)",
    rf"(?:(?:none|nothing)(?: {_MORE}| else| at all)?)(?: {_BE})?(?: {_ADVERB})?(?: {_STATE})?{_WHEN}?",
    rf"(?:it |this |that )?(?:{_BE} )?not (?:{_ADVERB} )?{_STATE}{_WHEN}?",
    rf"(?:unnecessary|unneeded){_WHEN}?",
    rf"(?:there (?:is|are) )?no (?:need for )?(?:any )?(?:{_GENERIC}|{_MORE})(?: {_BE})?(?: {_ADVERB})?(?:"
    rf" {_STATE})?{_WHEN}?",
    rf"(?:there (?:is|are) )?no need{_WHEN}?",
    rf"(?:the |any )?{_GENERIC} {_BE} not (?:{_ADVERB} )?{_STATE}{_WHEN}?",
    rf"{_SUBJECT} (?:do not|don ?t|no longer) (?:need|require|request)(?: any| anything)?(?: {_GENERIC}"
    rf"| {_MORE}| else)?{_WHEN}?",
    rf"{_SUBJECT} (?:need|require|request) (?:nothing|no)(?: {_GENERIC}| {_MORE}| else)?{_WHEN}?",
    r"(?:no )?(?:requests|questions)? ?(?:none|no)(?: requests| questions)",
    # French
    r"(?:aucune?s?|neant|rien|sans objet|s\.o\.?|non applicable|ras)",
    r"rien (?:de plus|d ?autre|a demander|a signaler)(?: n ?est (?:requis|necessaire))?",
    r"aucune?s? (?:autres? )?(?:informations?|examens?|donnees?|tests?|bilans?|precisions?|elements?"
    r"|renseignements?|demandes?|questions?)"
    r"(?: (?:complementaires?|supplementaires?|additionnel(?:le)?s?))?(?: n ?(?:est|sont))?(?:"
    r" (?:requise?s?|necessaires?|demandee?s?|indiquee?s?|utiles?"
    r"|a demander))?(?: (?:a ce stade|pour le moment|actuellement"
    r"|pour (?:poser|etablir|confirmer|conclure|retenir)(?: (?:le|un) diagnostic(?: final)?)?))?",
    r"(?:ce n ?est )?(?:non|pas) (?:requise?s?|necessaires?|demandee?s?|indiquee?s?)(?: (?:a ce"
    r" stade|pour le moment))?",
    r"pas (?:d ?|de )(?:autres? )?(?:informations?|examens?|donnees|tests?)(?: (?:complementaires?"
    r"|supplementaires?))?(?: (?:requise?s?|necessaires?))?",
    # Chinese
    r"(?:目前|暂时|暂|现阶段)?(?:不|无|無|没有|沒有|并无|不再)(?:需要?|必要|须|適用|适用)?(?:任何)?(?:其他|其它|更多|额外|附加|补充|进一步|額外|補充|進一步|的)*"
    r"(?:信息|检查|资料|檢查|資訊|資料|检验|化验|检查或信息|信息或检查)?(?:需求|请求|需要|要求)?(?:了)?",
    # Spanish, German, Portuguese
    r"(?:ninguna?|no se (?:requiere|necesita)n?(?: (?:mas )?(?:informacion|pruebas)(?: adicional(?:es)?)?)?"
    r"|nenhuma?)",
    r"(?:keine?|nicht (?:erforderlich|notwendig)|keine (?:weiteren|zusatzlichen) (?:informationen"
    r"|untersuchungen)(?: (?:erforderlich|notwendig))?)",
)
NOTHING = re.compile("|".join(f"(?:{form})" for form in _NOTHING_FORMS))
#: A reason that may follow: "..., as the diagnosis is established".
REASON = re.compile(r"(?: ?,? ?-* ?)(?:as|because|since|given(?: that)?|due to|car|puisque|etant donne|因为|因為)[ ,]")
#: What such a reason says.
ENOUGH = re.compile(
    r"sufficien|adequate|enough|already|complete|conclusive|definitive|establish|confirm|diagnosis"
    r" (?:is|can be|has been)"
    r"|(?:is|are) (?:clear|known|available|provided)|has been (?:made|provided|reached)|provided"
    r" (?:information|data|findings)|all (?:the )?(?:necessary|required|relevant)"
    r"|proceed|suffisan|suffit|etabli|confirme|deja|足够|充分|明确|已经|确诊"
)
#: Anything like a request or a condition after the denial.
ASKS = re.compile(
    r"\?|\b(?:if|unless|but|however|except|although|though|until|once|pending|please|kindly|would"
    r" (?:like|help|be)|could|should|need(?!ed)"
    r"|want|perform|obtain|order|repeat|recommend|consider|suggest|request(?!ed)|send|provide(?!d)"
    r"|require(?!d)|only|sauf|mais|si|faire"
    r"|veuillez|merci de|demand(?:er|ez)|realiser|a moins)\b|请|如果|但|除非|建议|需要|应"
)
#: Labels of a whole field, under which "none" says that the field is empty.
FIELD_LABEL = re.compile(
    rf"(?:{_GENERIC}|{_MORE}|(?:additional |further )?information required|(?:lab|laboratory|imaging"
    rf"|blood|other|physical|radiology"
    rf"|past medical|family|social|medical) ?{_THINGS}?|informations? complementaires?(?: requises?)?"
    rf"|biopsy|pathology|所需信息|其他)"
)

# Splitting -----------------------------------------------------------------------------------------------------

#: Names of groups of examinations, which are no examination themselves.
GROUP = re.compile(
    r"(?:(?:the |any |some |all |these |following |basic |routine |initial |key |specific |special"
    r" |relevant |additional |further |more |other |recommended"
    r" |required |requested |needed |necessary |suggested |diagnostic |clinical |ancillary |repeat )*"
    r"(?:(?:blood|lab|laboratory|imaging|radiolog(?:y|ical|ic)|microbiolog(?:y|ical)|biochemical"
    r"|serologic(?:al)?|immunologic(?:al)?|genetic|molecular|patholog(?:y|ical)"
    r"|histopathologic(?:al)?|neurologic(?:al)?|cardiac|infectious|autoimmune|endocrine|functional"
    r"|hematologic(?:al)?|patient|medical|invasive|non-invasive)(?: and |[ /&]+))*"
    r"(?:tests?|testing|labs?|laborator(?:y|ies)|imaging|exams?|examinations?|investigations?|studies"
    r"|study|workup|work-up|procedures?|information|data|questions?|evaluations?"
    r"|bloods?|blood work|bloodwork|radiology|microbiology|pathology|others?|miscellaneous|history"
    r"|physical|requests?|details)"
    r"(?: (?:required|needed|requested|recommended|to (?:request|order|perform)|results?))?"
    r"|(?:examens?|bilans?|imagerie|biologie|analyses?|informations?)(?: (?:complementaires?|biologiques?"
    r"|sanguine?s?|demandes?|demandees?|requise?s?))*"
    r"|(?:实验室|影像学?|血液|其他|其它|病史|补充|病理)?(?:检查|检验|信息|化验|资料)?)",
)
PURPOSE = (
    r"(?:rule out|rule in|ruling out|exclude|excluding|assess|assessing|evaluat(?:e|ing)|confirm(?:ing)?"
    r"|check(?:ing)?|look(?:ing)?|identify(?:ing)?|detect(?:ing)?"
    r"|determin(?:e|ing)|establish|investigat(?:e|ing)|characteri[sz](?:e|ing)|visuali[sz]e|measur(?:e"
    r"|ing)|clarify|differentiat(?:e|ing)|distinguish|screen(?:ing)? for"
    r"|guide|monitor|understand|quantify|locali[sz]e|delineate|document|verify|see (?:if|whether)"
    r"|find|narrow|support|better|further|help|aid|obtain|explore|search|stage"
    r"|define|describe|define|exclure|eliminer|éliminer|rechercher|confirmer|évaluer|evaluer|préciser"
    r"|preciser|vérifier)"
)
#: How an explanation begins that follows a colon, a dash or an opening bracket.
EXPLAINS = re.compile(
    rf"(?:in order )?to (?:help )?(?:{PURPOSE}|[a-z]+ (?:whether|if|for|the|any|a)\b)|{PURPOSE}\b"
    rf"|afin d|pour\b|car\b|en raison|à la recherche|recherche d|以|用于|因为|排除|评估|明确|了解|为了"
    r"|(?:for|because|since|given|due to|as)\b|(?:this|it|these|they|that|which|would|will|may"
    r"|can|could|should|is|are|has|if|we|i)\b|(?:useful|important|needed|necessary|essential"
    r"|helpful|recommended|required|crucial|rationale|reason|purpose|looking|helps?|indicated|specifically"
    r" (?:to|for|looking)|especially|particularly|with attention|look)\b",
    re.IGNORECASE,
)
#: An explanation that follows without any mark.
TAIL = re.compile(
    rf"[ ,]{{1,5}}(?:(?:in order )?to (?:help |better |further )?{PURPOSE}\b|for (?:further |better"
    rf" |possible |detailed |definitive )?(?:evaluation|assessment|characteri[sz]ation|confirmation"
    rf"|staging"
    r"|diagnosis|clarification|suspected|the (?:evaluation|assessment|detection|diagnosis))\b|because\b"
    r"|since (?:the|this|it|there)\b|given (?:the|that|his|her)\b|due to\b|as (?:it|this|the)\b"
    r"|which (?:would|will|may|can|could|might)\b|if (?:not|available|possible|feasible|needed"
    r"|necessary|indicated|clinically|any|done|already|there|the|it|CT|MRI|negative|positive)\b"
    r"|looking for\b|afin d|pour (?:éliminer|eliminer|exclure|rechercher|confirmer|évaluer|evaluer"
    r"|préciser|preciser)|à la recherche d|si (?:possible|disponible|besoin)\b).*",
    re.IGNORECASE | re.DOTALL,
)
POLITE = re.compile(
    r"(?:(?:please|kindly|also|then|next|first(?:ly)?|second(?:ly)?|finally|lastly|additionally"
    r"|in addition|moreover|furthermore|if (?:possible|available)|and|or|maybe|now|ok(?:ay)?"
    r"|yes|thank(?:s| you)"
    r"|could|can|may|would|will|you|we|i|i'd|we'd|i'll|let's|let us|should|must|want|would|like"
    r"|wish|to|need|needs|have|request|ask(?: for)?|see|know|share|provide|perform|obtain|order"
    r"|get|do|send|check|run|repeat(?= the\b)|arrange|schedule|conduct|recommend|suggest|propose"
    r"|consider|require|proceed with|go ahead with|give|tell|inform|(?-i:me|us|[Ii]t)|with"
    r"|about|of|on|for|whether(?= an?\b)"
    r"|would be|is|are|helpful|useful|important|beneficial|the following|following|results?(?="
    r" of\b)|results?(?= from\b)|from|findings?(?= of\b)|report(?= of\b)|any|the|an?|more|some"
    r"|his|her|their"
    r"|the patient's|undertake|include|including|merci de|veuillez|pouvez-vous|pourriez-vous|svp"
    r"|s'il vous plaît|je (?:souhaite|voudrais|demande)|j'aimerais|il faut|faire|réaliser|fournir"
    r"|demander|avoir|obtenir|me|nous"
    r"|la|le|les|une?|des|du)(?![\w'-])[ ,:]*"
    r"|(?:请|請|麻烦|需要|建议|我想|希望|要求|提供|进行|完善|做|查)(?:一下|您)?|(?:l'"
    r"|d'|i'd like to |i would like to ))",
    re.IGNORECASE,
)
IMPOLITE_END = re.compile(
    r"[ ,]{1,5}(?:please|(?:is|are|was|would be|will be|should be|must be|may be|could be)(?: also)?"
    r" (?:needed|required|helpful|useful|performed|done|obtained|ordered|considered|necessary"
    r"|warranted"
    r"|recommended|requested|indicated|beneficial|important|essential|crucial|provided|checked"
    r"|repeated)|(?:if|as) (?:possible|available|needed|necessary|soon as possible)|thanks?"
    r"|thank you"
    r"|results?(?: please)?|again|s'il vous plaît|svp)$",
    re.IGNORECASE,
)
#: A statement that an exam is not asked for.
DENIED = re.compile(
    r"\b(?:not|no longer) (?:currently |strictly |immediately )?(?:required|needed|necessary|indicated"
    r"|requested)\b|\bpas (?:nécessaire|necessaire|requis)|\bnon (?:requis|nécessaire)|不需要"
    r"|无需"
)

#: Two words for one examination.
PAIRS = re.compile(
    r"\b(?:cultures? and sensitivit|signs and symptoms|ova and parasite|type and (?:screen|cross)"
    r"|onset and duration|rate and rhythm|height and weight)",
    re.IGNORECASE,
)
IS_CHINESE = re.compile("[\u4e00-\u9fff]")
CHINESE_HEAD = re.compile(
    r"(?:CT|MRI|PET|X线|X光|检查|常规|超声|彩超|B超|活检|培养|造影|功能|抗体|扫描|试验|镜|心电图|脑电图|肌电图|水平|蛋白|测定|检测|穿刺|病史|史)$"
)

#: Words by which a part of a list stands alone as an examination.
_HEADS = of(
    "test tests testing count counts panel panels level levels scan scans mri ct pet ecg ekg eeg"
    " emg xray x-ray x-rays radiograph radiographs ultrasound ultrasonography sonography doppler"
    " biopsy biopsies"
    " culture cultures analysis urinalysis function profile examination exam history rate study"
    " studies imaging screen screening titer titers serology serologies puncture smear stain"
    " stains pcr antibody"
    " antibodies marker markers assay gases gas electrophoresis sequencing swab aspiration aspirate"
    " cytology histology immunohistochemistry monitoring fluoroscopy evaluation assessment"
    " consultation"
    " electrolytes glucose creatinine urea ferritin troponin lactate albumin bilirubin calcium"
    " potassium sodium magnesium phosphate cortisol prolactin ammonia d-dimer fibrinogen procalcitonin"
    " amylase lipase"
    " hemoglobin haemoglobin platelets insulin testosterone lipids vitals signs travel medications"
    " allergies radiographie échographie echographie scanner irm nfs crp bilan ponction biopsie"
    " hémoculture hémocultures"
    " sérologie ionogramme radio"
)
_HEAD_END = re.compile(
    r"(?:scopy|graphy|graphie|scopie|gram|gramme|metry|métrie|therapy|centesis"
    r"|emia|uria|ase|itis|ology)s?$"
)
_CODE = re.compile(r"[A-Z][A-Z0-9\-/]{1,9}s?\d?|[a-zß-ω]{1,2}-?[A-Z]{2,5}|[A-Z]{1,2}\d{1,2}")
_NOT_CODES = of("T1 T2 AP PA II III IV C1 L5 S1")


def stands_alone(part: str) -> bool:
    """Whether a part of a list names an examination by itself."""
    return any(is_head(word) for word in re.split(r"[\s/]+", part))


def is_head(word: str) -> bool:
    """Whether a word names an examination or an analyte."""
    bare = word.strip("().,;:*_\"'")
    if bare.casefold() in _HEADS or _HEAD_END.search(bare.casefold()):
        return len(bare) > 1
    return _CODE.fullmatch(bare) is not None and bare not in _NOT_CODES


#: Words that only qualify an examination: regions, specimens, sides.
_QUALIFIERS = of(
    "abdomen abdominal anterior arterial axillary bilateral blood bone brain breast cardiac cerebral"
    " cervical chest cranial csf distal facial fecal femoral foot gastric hand head heart hepatic"
    " hip joint kidney"
    " knee left leg liver lower lumbar lung mediastinal nasal neck optic oral orbital ovarian pancreas"
    " pancreatic pelvic pelvis peripheral plain posterior proximal pulmonary renal right sacral"
    " serum shoulder skin"
    " skull spinal spine spleen sputum stool synovial thoracic thorax thyroid upper urinary urine"
    " uterine vaginal venous wrist ankle elbow plasma tissue total direct free fasting random"
    " inspiratory expiratory"
    " axial sagittal coronal aerobic anaerobic systolic diastolic with without contrast and or"
    " of the a both entire whole"
)


def only_qualifies(part: str) -> bool:
    """Whether a part of a list names no examination, only where or from what."""
    found = [word.strip("().,;:*_\"'").casefold() for word in part.split()]
    return all(word in _QUALIFIERS for word in found)
