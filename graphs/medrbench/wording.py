"""How findings are worded: sentences, lists of values, and the name of the test that a sentence is about."""

from __future__ import annotations

import re
from collections.abc import Iterator

from graphs.medrbench.names import TEST_WORD, names_test

_TESTISH = re.compile(
    r"\b(?:examinations?|exams?|analys[ei]s|stud(?:y|ies)|series|enzymes?|scores?|index|scale|gas(?:es)?|abg|bal|lavage|"
    r"samples?|specimens?|evaluation|assessment|electrolytes|titers?|ratio)\b",
    re.IGNORECASE,
)

_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|vs|dr|fig|approx|no|cf|sp|spp|var|etc|al|st|inc|max|min|ca)|\b[A-Z])\.$", re.I
)
_END = re.compile(r"(?<=[.!?])[)\"”]?\s+(?=[A-Z0-9(\"“*])")
_VERB = re.compile(
    r"[,:]?\s+(?:(?:also|then|later|further|all|both|had|have|has|been|could|did|\w+ly)\s+)*"
    r"(?:show\w*|reveal\w*|demonstrat\w*|confirm\w*|indicat\w*|suggest\w*|identif\w*|detect\w*|disclos\w*|exhibit\w*|"
    r"display\w*|evidenc\w*|fail\w*|report\w*|rul\w+ out|exclud\w*|support\w*|yield\w*|grew|found|note[ds]?|not|"
    r"remain\w*|includ\w*|"
    r"were|was|is|are|be|consistent|compatible|positive|negative|normal|unremarkable|abnormal|within|elevated|high|low|"
    r"reduced|decreased|increased|raised|performed|done|obtained|conducted|of|at|with|without|for|findings?|results?|"
    r"indicating|consisting|isolated|improv\w*|highlight\w*|visuali[sz]\w*|establish\w*|document\w*|measur\w*|test\w* "
    r"(?:positive|negative))\b",
    re.IGNORECASE,
)
_LEADING = re.compile(
    r"(?:(?:an?|the|his|her|otherwise|and|but|also|all|both|other|further|additional|most|some|several|no|not|"
    r"negative|positive|normal|abnormal|elevated|raised|increased|high|higher|low|lower|reduced|decreased|mild(?:ly)?|"
    r"moderate(?:ly)?|severe(?:ly)?|marked(?:ly)?|slight(?:ly)?|significant(?:ly)?|strong(?:ly)?|weak(?:ly)?|borderline|"
    r"persistent(?:ly)?|unremarkable|within normal|basic|routine|for|on|in|of|by|with|results?|findings?|confirmed|"
    r"deranged|impaired|stable|transient|inconclusive|presence|absence|evidence|initial(?:ly)?)\b[\s,]*)+",
    re.IGNORECASE,
)
_RESULT = re.compile(
    r"^(?:(?:mildly|markedly|slightly|severely|weakly|strongly|significantly|mild|marked|severe|persistently)\s+)?"
    r"(?:elevated|raised|increased|decreased|reduced|low|high|positive|negative|normal|abnormal)\s+(?=\S)",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"\d|\b(?:normal|negative|positive|elevated|raised|increased|decreased|reduced|high|low|unremarkable|abnormal|"
    r"\w*(?:a?emia|cytosis|penia|cytopenia|philia|uria))\b",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"(?:none|nil|n/?a|not (?:applicable|available|specified|stated|reported|mentioned|provided|documented|performed|"
    r"done|described|detailed)|unknown|no (?:ancillary )?(?:tests?|data|information)?)"
    r"(?: (?:specified|stated|reported|mentioned|provided|documented|performed|described|available|explicitly))*[.\s]*",
    re.IGNORECASE,
)
_NOT_DONE = re.compile(
    r"\b(?:not|never) (?:\w+ )?(?:performed|done|conducted|carried out|undertaken|obtained|measured)\b|"
    r"^no\b[^,;.]*\b(?:performed|done|conducted|undertaken|obtained|measured)\b|"
    r"\b(?:was|were) (?:deferred|declined|refused)\b",
    re.IGNORECASE,
)
_LONGEST_NAME = 70  # characters


def sentences(text: str) -> list[str]:
    """Sentences and parts between semicolons; neither brackets nor common abbreviations are cut."""
    pieces: list[str] = []
    for chunk in _outside_brackets(text, ";", keep=True):
        start = 0
        for end in _END.finditer(chunk):
            if _ABBREVIATION.search(chunk[start : end.start()]) or _depth(chunk[: end.start()]):
                continue
            pieces.append(chunk[start : end.end()].strip())
            start = end.end()
        pieces.append(chunk[start:].strip())
    return [piece for piece in pieces if piece]


def items(text: str, *, lists: bool) -> Iterator[tuple[str, bool]]:
    """Sentences with False; if ``lists``, the single values of "Hb 9 g/dL, CRP 40 mg/L" each with True."""
    for sentence in sentences(text):
        parts = _list_items(sentence) if lists else []
        if len(parts) > 1:
            yield from ((part, True) for part in parts)
        else:
            yield sentence, False


def _list_items(sentence: str) -> list[str]:
    """Parts between commas; a part that says nothing by itself stays with the one before."""
    if _VERB_OF_TEST.search(sentence):
        return [sentence]
    parts: list[str] = []
    for part in _outside_brackets(sentence, ","):
        alone = bool(_VALUE.search(part)) and bool(re.search(r"[A-Za-z]{2}", part))
        if parts and (not alone or not _VALUE.search(parts[-1])):
            parts[-1] = f"{parts[-1]}, {part}"
        else:
            parts.append(part)
    return [re.sub(r"^(?:and|but)\s+", "", part) for part in parts]


_VERB_OF_TEST = re.compile(
    r"\b(?:show|reveal|demonstrat|confirm|indicat|suggest|identif|detect|disclos|exhibit|exclud|ruled out|compar|"
    r"consistent|:)",
    re.IGNORECASE,
)


def _outside_brackets(text: str, mark: str, *, keep: bool = False) -> list[str]:
    """Parts of a text between marks; a mark inside brackets or before a digit does not count."""
    parts = [""]
    depth = 0
    for position, character in enumerate(text):
        depth = max(0, depth + (character in "([{") - (character in ")]}"))
        following = text[position + 1 : position + 2]
        if character == mark and depth == 0 and not following.isdigit():
            parts[-1] += mark if keep else ""
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _depth(text: str) -> int:
    return max(0, sum((character in "([") - (character in ")]") for character in text))


def guess_name(sentence: str) -> str:
    """The test that a sentence is about; empty if it names none."""
    subject = _subject(sentence)
    return _short(subject) if TEST_WORD.search(subject) or _TESTISH.search(subject) else ""


def first_words(sentence: str, limit: int = 8) -> str:
    """What a sentence is about when no test is recognised in it, e.g. ``PCO2`` of "PCO2 37.7 mmHg"."""
    subject = _short(_subject(sentence))
    words = subject.split() or sentence.split()
    return " ".join(words[:limit]).rstrip(" .,;:(")


def _subject(sentence: str) -> str:
    """The words before the verb or the value, without what qualifies them ("Elevated", "Normal")."""
    leading = _LEADING.match(sentence)
    rest = sentence[leading.end() :] if leading else sentence
    verb = _VERB.search(rest)
    return _NUMBER.split(rest[: verb.start()] if verb else rest, maxsplit=1)[0]


_NUMBER = re.compile(r"\s*[<>=≥≤:]|(?<!\bCA)\s\(?[-+~≈]?\d[\d.,]*(?=[\s%×x/°)a-zµμ]|$)")


def named(piece: str) -> tuple[str, str]:
    """Name and finding of a piece ``Test: finding``; two empty texts if it is none."""
    label, colon, finding = piece.partition(":")
    label = label.strip(" *_")
    if not colon or not finding.strip() or finding[:1].isdigit():  # "a titer of 1:128"
        return "", ""
    if len(label) > _LONGEST_NAME or not label[:1].isalpha():
        return "", ""
    if label.count("(") != label.count(")") or not names_test(label):
        return "", ""
    return label, finding.strip(" *_")


def named_parts(body: str) -> tuple[str, list[tuple[str, str]]]:
    """The body up to the first further ``Test: finding`` in it, and those as name and finding."""
    first: list[str] = []
    further: list[tuple[str, str]] = []
    for sentence in sentences(body):
        for part in _outside_brackets(sentence, ",", keep=True):
            name, finding = named(part)
            if name:
                further.append((name, finding))
            elif further:
                further[-1] = (further[-1][0], f"{further[-1][1]} {part}")
            else:
                first.append(part)
    return " ".join(first), further


def without_value(label: str) -> str:
    """A label without a result before or a verb behind the test: ``Elevated IgG`` is ``IgG``."""
    return re.sub(r"\s+(?:show|reveal|demonstrat|confirm)\w*$", "", _RESULT.sub("", label)) or label


def split_names(label: str) -> list[str]:
    """``ECG and chest X-ray`` names two tests; ``Cytology of the left and right node`` one."""
    parts = [part for piece in _outside_brackets(label, ",") for part in re.split(r"\s+(?:and|&)\s+", piece)]
    parts = [re.sub(r"^(?:and|&)\s+", "", part) for part in parts]
    if len(parts) > 1 and all(TEST_WORD.search(part) or _TESTISH.search(part) for part in parts):
        return [_short(part) for part in parts]
    return [label]


def _short(name: str) -> str:
    name = re.sub(r"\s+(?:and|or|with|in|of|to|on|by)$", "", name.strip(" ,.;:*_-–("))
    if name.count("(") > name.count(")"):
        name = name[: name.rindex("(")].strip()
    if name.count("(") < name.count(")"):
        name = f"({name}"
    if len(name) <= _LONGEST_NAME:
        return name
    return name[:_LONGEST_NAME].rsplit(" ", 1)[0].rstrip(" ,.;:(")


def has_value(piece: str) -> bool:
    """Whether a piece states a value or that something is normal, and may thus stand alone."""
    return len(piece.split()) <= 12 and bool(_VALUE.search(piece)) and not _REFERRING.match(piece)


_REFERRING = re.compile(
    r"(?:it|its|this|these|they|there|both|no|the (?:lesions?|mass|masses|tumou?r|cyst|nodules?|findings?|patient))\b",
    re.IGNORECASE,
)


def is_nothing(text: str) -> bool:
    """Whether a text only says that there is nothing, e.g. "None reported."."""
    return not text.strip(" .-–*_") or bool(_NOTHING.fullmatch(text.strip(" *_")))


def is_treatment(text: str) -> bool:
    """Whether a text that names no test says what was done for the patient."""
    return bool(_TREATMENT.search(text)) and not guess_name(text)


_TREATMENT = re.compile(
    r"\b(?:treated|treatment|therapy|administered|prescribed|discharged|started on|underwent|referr(?:al|ed))\b",
    re.IGNORECASE,
)


def is_not_done(text: str) -> bool:
    """Whether a finding says that the test was not done."""
    return len(text.split()) <= 14 and bool(_NOT_DONE.search(text))
