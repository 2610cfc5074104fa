"""Flags on what a model said as the examiner: a leaked diagnosis, invented numbers, and what it had no answer to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphs.medrbench.cases import Case
from graphs.medrbench.examiner_records import names_exam
from graphs.medrbench.requests_vocabulary import fold, split_words
from graphs.medrbench.wording import sentences

# --- the diagnosis


def names_diagnosis(answer: str, case: Case, *, request_text: str = "") -> bool:
    """Whether an answer says the diagnosis although the tests of the record do not.

    It is found as it is written, as an alias in brackets, or by its distinctive words within one sentence.

    Args:
        answer: what the examiner said.
        case: a case with a diagnosis; never true for a treatment case.
        request_text: the doctor's requests; a diagnosis that these name may be said again.
    """
    known = [_prepared(case.ancillary_text), _prepared(request_text)]
    said = _prepared(answer)
    names = _names(case)
    if any(name.phrase and name.said_in(text) for name in names for text in known):
        return False
    return any(name.said_in(said) and not any(name.said_in(text) for text in known) for name in names)


@dataclass(frozen=True, slots=True)
class _Text:
    plain: str
    stems: tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class _Name:
    """One way to say the diagnosis: a phrase, or words that are said together; either may be empty."""

    phrase: str
    words: frozenset[str]

    def said_in(self, text: _Text) -> bool:
        if self.phrase and re.search(rf"(?<!\w){re.escape(self.phrase)}(?!\w)", text.plain):
            return True
        return bool(self.words) and any(self.words <= stems for stems in text.stems)


def _prepared(text: str) -> _Text:
    pieces = (piece for line in text.splitlines() for piece in sentences(line))
    return _Text(_phrase(text), tuple(frozenset(split_words(piece)) for piece in pieces))


def _phrase(text: str) -> str:
    return " ".join(re.sub(r"[*_]", "", fold(text)).replace("-", " ").split())


#: What follows only qualifies the diagnosis.
_CONNECTORS = re.compile(
    r"\s+(?:with|without|due to|secondary to|caused by|associated with|complicat\w+|following|in the setting of|after|"
    r"induced by|presenting|involving|leading to|resulting|arising|from|in a|of the|and)\b.*|[,;:].*",
    re.IGNORECASE | re.DOTALL,
)
_BEFORE = re.compile(
    r"^(?:\d{1,2}[.)]\s*|[-•*]\s*|(?:case|patient) \d+:\s*|(?:final )?diagnos[ei]s:?\s*|(?:possible|probable|suspected|"
    r"likely|acute|chronic|primary|recurrent|severe)\s+)+",
    re.IGNORECASE,
)

#: Words that alone do not give a diagnosis away.
_COMMON = frozenset(
    split_words(
        "disease disorder syndrome deficiency infection infectious inflammation inflammatory tumor cancer lesion "
        "lesions mass malignant malignancy benign cell type stage grade subtype variant form acute chronic primary "
        "secondary recurrent severe mild moderate early late onset adult juvenile infantile congenital hereditary "
        "familial genetic idiopathic bilateral unilateral left right upper lower anterior posterior multiple solitary "
        "giant large small rare atypical typical classic complete partial with without due from associated related "
        "induced caused following involving presenting possible probable suspected likely metastatic metastasis "
        "carcinoma adenocarcinoma lymphoma sarcoma cyst abscess hemorrhage rupture fracture failure injury obstruction "
        "stenosis thrombosis syndrome complication complications anemia pain acquired advanced diffuse focal local "
        "localized systemic generalized progressive invasive differentiated poorly well positive negative high low "
        "deformity anomaly malformation pneumonia hepatitis nephritis heart cardiac lung pulmonary liver hepatic "
        "kidney "
        "renal brain cerebral bone spinal skin cutaneous ovarian breast gastric colon bladder thyroid artery arterial "
        "vein venous nerve muscle joint eye ocular patient year old and or of the in to by on at for after i ii iii iv"
    )
)
_SHORTEST_LONE = 7  # letters of a word that gives the diagnosis away by itself


def _names(case: Case) -> list[_Name]:
    if case.kind != "diagnosis":
        return []
    return [name for line in case.answer.splitlines() for name in _names_of(line.strip(" .*_"))]


def _names_of(diagnosis: str) -> Iterator[_Name]:
    plain = _BEFORE.sub("", re.sub(r"\([^()]*\)", " ", diagnosis)).strip(" .,;")
    core = _CONNECTORS.sub("", plain).strip(" .,;")
    for phrase in dict.fromkeys(_phrase(text) for text in (plain, core, *_aliases(diagnosis))):
        words = split_words(phrase)
        if len(phrase) > 2 and (len(words) > 1 or not _COMMON.issuperset(words)):
            yield _Name(phrase, frozenset())
    distinctive = frozenset(word for word in split_words(core) if word not in _COMMON and len(word) > 3)
    if len(distinctive) > 1 or any(len(word) >= _SHORTEST_LONE for word in distinctive):
        yield _Name("", distinctive)


def _aliases(diagnosis: str) -> Iterator[str]:
    """Names in brackets; not "(Type 1b)" or a remark."""
    for inside in re.findall(r"\(([^()]*)\)", diagnosis):
        alias = re.sub(r"^(?:also known as|formerly|aka|i\.e\.,?)\s+", "", inside.strip(), flags=re.IGNORECASE)
        remark = re.match(r"(?:type|stage|grade|class|group|subtype|due|with|left|right|\w+ed)\b", alias, re.IGNORECASE)
        if re.search(r"[A-Za-z]{3}", alias) and not remark and len(alias.split()) <= 6:
            yield alias


# --- numbers

_THIN = "\u00a0\u2009\u202f"
_NUMBER = re.compile(rf"\d{{1,3}}(?:[ ,.'’{_THIN}]\d{{3}})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,·]\d+)?")
_EXPONENT = re.compile(r"[x×·*]\s*10\s*(?:\^\s*\(?[-−+]?\d{1,2}\)?|[⁻⁺]?[⁰¹²³⁴-⁹]+|[-−]?\d{1,2}(?=\s*/))")
_POWER = re.compile(r"(?<!\d)10\s*(?:\^\s*\(?[-−+]?\d{1,2}\)?|[⁻⁺]?[⁰¹²³⁴-⁹]+)")
_NUMBERING = re.compile(
    r"^[ \t>]*(?:[-*•#]+[ \t]*)*(?:\*\*)?\(?\d{1,2}[.):][*]*(?=[ \t]|$)|"
    r"\b(?:step|request|test|question|item|turn|exam)s?[ \t]+#?\d{1,2}(?=[ \t]*[:.)])|(?<=\s)\(?\d{1,2}\)(?=\s)",
    re.IGNORECASE | re.MULTILINE,
)
_NAMES = re.compile(
    r"\bCA[ -]?(?:19[-.]9|\d{2,3}(?:[-.]\d)?)\b|\b(?:12|3|6|5)-lead\b|\b(?:24|48|72)[ -]?h(?:ours?|r)?\b(?= urin)|"
    r"\bBRCA[12]/2\b|\b25[ -]?\(?OH\)?|\bvitamin B\s?\d+",
    re.IGNORECASE,
)
_UNIT = re.compile(
    r"\s*(%|‰|°\s?[CF]\b|(?:[mµμnpkcd]?c?(?:g|mol|L|l|m|IU|U|Eq|eq|Osm|Bq)|U|IU|mm[Hh]g|cmH2O|copies|cells|bpm|beats|"
    r"days?|weeks?|months?|years?|hours?|minutes?|seconds?|ms|s|min|h)(?:\s?/\s?[A-Za-zµμ0-9²³]+(?:\.\d+\s?m2)?)*)(?![A-Za-z])"
)
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_TWICE = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "single": 1, "both": 2, "twice": 2}


@dataclass(frozen=True, slots=True)
class _Stated:
    """A number with its unit, and all values that its writing may mean ("1,234": 1234 or 1.234)."""

    text: str
    values: frozenset[str]
    unit: str


def numbers_not_in_record(answer: str, record_text: str, *, request_text: str = "") -> list[str]:
    """Numbers, with their units, that an answer states and the record does not; in order, each once.

    The same value in another writing is the same number: 1.50 and 1.5, 1,234 and 1234, 0,5 and 0.5, a word for a small
    number, a month for its number. A value that the record gives with other units only counts as not in it.

    Args:
        answer: what the examiner said. Numbering of lists and digits within names (IL-6, CD30) state nothing.
        record_text: the tests of the record.
        request_text: the doctor's requests, whose numbers may be said again.
    """
    units: dict[str, set[str]] = {}
    for number in [*_numbers(record_text), *_numbers(request_text)]:
        for value in number.values:
            units.setdefault(value, set()).add(number.unit)
    for value in _worded(f"{record_text} {request_text}"):
        units.setdefault(value, set()).add("")
    missing = [number.text for number in _numbers(_NUMBERING.sub(" ", answer)) if not _is_known(number, units)]
    return list(dict.fromkeys(missing))


def _is_known(number: _Stated, units: dict[str, set[str]]) -> bool:
    found = [units[value] for value in number.values if value in units]
    return any(not number.unit or "" in there or number.unit in there for there in found)


def _numbers(text: str) -> Iterator[_Stated]:
    text = _POWER.sub(" ", _EXPONENT.sub(" ", text))
    names = [match.span() for match in _NAMES.finditer(text)]
    for match in _NUMBER.finditer(text):
        if any(start <= match.start() < end for start, end in names) or _in_name(text, match):
            continue
        unit = _UNIT.match(text, match.end())
        written = text[match.start() : unit.end() if unit else match.end()]
        yield _Stated(" ".join(written.split()), frozenset(_values(match[0])), _same_unit(unit[1]) if unit else "")


def _in_name(text: str, match: re.Match[str]) -> bool:
    """Whether the digits belong to a word: CD30, IL-6, T2, 2D."""
    before = text[: match.start()][-12:]
    if re.search(r"[A-Za-z](?:[-‐‑–])?$", before) and not re.search(r"\d[A-Za-z]+[-–]$", before):
        return True
    after = text[match.end() : match.end() + 1]
    return after.isalpha() and not _UNIT.match(text, match.end()) and after not in "x×"


def _values(written: str) -> Iterator[str]:
    groups = re.split(rf"[ ,.'’·{_THIN}]", written)
    if len(groups) == 1:
        yield _canonical(written)
        return
    if all(len(group) == 3 for group in groups[1:]):
        yield _canonical("".join(groups))
    yield _canonical("".join(groups[:-1]) + "." + groups[-1])
    if " " in written or len(groups) > 2:
        yield from (_canonical(group) for group in groups)


def _canonical(digits: str) -> str:
    whole, _, fraction = digits.partition(".")
    fraction = fraction.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{fraction}" if fraction else "")


def _same_unit(unit: str) -> str:
    plain = re.sub(r"\s", "", unit).lower().replace("μ", "u").replace("µ", "u").replace("mcg", "ug")
    words = {"hour": "h", "hours": "h", "minutes": "min", "minute": "min", "seconds": "s", "second": "s"}
    plain = re.sub(r"\biu\b", "u", words.get(plain, plain))
    return plain[:-1] if plain in ("days", "weeks", "months", "years") else plain


def _worded(text: str) -> Iterator[str]:
    for word in set(re.findall(r"[a-z]+", text.lower())):
        if word in _WORDS:
            yield str(_WORDS.index(word))
        if word in _TWICE:
            yield str(_TWICE[word])
        if word in _MONTHS:
            yield str(_MONTHS.index(word) + 1)


# --- what was not available

_UNAVAILABLE = re.compile(
    r"\b(?:not (?:yet )?(?:been )?(?:available|performed|done|recorded|reported|provided|documented|mentioned|included|"
    r"obtained|conducted|carried out|known|specified|given|listed|found in|in the|part of|described|undertaken|"
    r"measured|contained|on (?:record|file))|unavailable|n/a|"
    r"none (?:available|provided|reported|recorded|performed|documented)|"
    r"(?:no|any) (?:\w+[ -]){0,4}?(?:information|data|records?|reports?|results?|details|documentation|mention)\b"
    r"(?! (?:of|for) (?:malignan|infect|fever))|(?:can(?:not|'t)|unable to) (?:be )?(?:provide|find|locate|supply)\w*|"
    r"(?:does|do|did) not (?:contain|include|mention|provide|report|have)|(?:isn't|wasn't|aren't|weren't|hasn't been) "
    r"(?:available|performed|done|recorded|reported|provided|documented|included)|"
    r"(?:no|none of) \w+(?: \w+){0,4} (?:was|were|is|are|"
    r"has been|have been) (?:performed|done|available|recorded|reported|provided|documented|obtained|conducted))\b",
    re.IGNORECASE,
)
_REST = re.compile(
    r"\b(?:all|any|the|none of the) (?:of the )?(?:other|others|remaining|rest|requested|tests|additional|further)\b|"
    r"\b(?:others|the rest)\b|\bnone of (?:these|those|them)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r",?\s+(?:but|however|although|though|while|whereas)\b,?", re.IGNORECASE)
_MARK = re.compile(r"^[ \t>]*(?:[-*•#]+[ \t]*)*(?:\*\*)?(?:\(?(\d{1,2})[.):])?[*_ \t]*")


def not_available_requests(answer: str, requests: Sequence[str]) -> tuple[int, ...]:
    """Positions of the requests to which a free-text answer says, in whatever words, that there is nothing.

    A request that the answer does not mention counts only if the answer says so of all, or of the rest.
    """
    clauses = list(_clauses(answer))
    return tuple(position for position, request in enumerate(requests) if _is_unavailable(position, request, clauses))


def not_available_count(answer: str, requests: Sequence[str]) -> int:
    """How many requests `not_available_requests` finds."""
    return len(not_available_requests(answer, requests))


@dataclass(frozen=True, slots=True)
class _Clause:
    """A part of an answer, with the number its line has in a list, from 0."""

    text: str
    number: int | None

    @property
    def nothing(self) -> bool:
        return bool(_UNAVAILABLE.search(self.text))


def _clauses(answer: str) -> Iterator[_Clause]:
    for line in re.sub(r":[*_ \t]*\n+[ \t]*", ": ", answer).splitlines():
        mark = _MARK.match(line)
        number = int(mark[1]) - 1 if mark and mark[1] else None
        content = line[mark.end() :] if mark else line
        for sentence in sentences(content.replace("**", "")):
            yield from (_Clause(part, number) for part in _CLAUSE.split(sentence) if part.strip())


def _is_unavailable(position: int, request: str, clauses: Sequence[_Clause]) -> bool:
    about = [clause for clause in clauses if _speaks_of(clause.text, request)]
    if not about:
        about = [clause for clause in clauses if clause.number == position]
    if about:
        return all(clause.nothing for clause in about)
    general = [clause for clause in clauses if clause.nothing]
    if len(general) == len(clauses):
        return any(_REST.search(clause.text) or len(clause.text.split()) <= 6 for clause in general)
    return any(_REST.search(clause.text) for clause in general)


def _speaks_of(text: str, request: str) -> bool:
    words = set(split_words(request))
    return (bool(words) and words <= set(split_words(text))) or names_exam(request, text)
