"""The headings of a doctor's reply: which section a title opens, whatever its style, language and spelling."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from judge.replies.normalise import clean, fold
from judge.replies.vocabulary import of


class Part(StrEnum):
    """What a heading opens."""

    REASONING = "reasoning"
    ADDITIONAL = "additional_information"
    CONCLUSION = "conclusion"
    ANSWER = "answer"
    #: Reasons given after the answer.
    EXPLANATION = "explanation"
    #: Notes, references and the like.
    OTHER = "other"


class Strength(StrEnum):
    """How a heading is set, from the clearest to the least clear."""

    HASH = "hash"
    BOLD = "bold"
    PLAIN = "plain"


#: Clearest first.
STRENGTHS = tuple(Strength)


@dataclass(frozen=True, slots=True)
class Heading:
    """One heading line.

    Attributes:
        part: what it opens.
        rank: 0 for a name that can mean nothing else ("Answer"), up to 2 for one that often is a mere label
            ("Diagnosis").
        strength: how it is set.
        level: number of ``#``; 7 for the other settings.
        indent: width of the white space before it.
        listed: it is an item of a list ("- **Conclusion:** ...", "1. **Conclusion:** ...").
        number: the number before its title; None without one.
        rest: what follows it on the same line.
    """

    part: Part
    rank: int
    strength: Strength
    level: int
    indent: int
    listed: bool
    number: int | None
    rest: str


# Names ---------------------------------------------------------------------------------------------------------

#: Words that are understood with one letter missing, added, changed or swapped with its neighbour.
_SPELLED = of(
    "reasoning answer conclusion conclusions additional information required requested diagnosis diagnoses thought"
    " thoughts process analysis further examination examinations treatment explanation rationale raisonnement"
    " complementaires supplementaires requises demandees reponse diagnostic investigations chain final"
)


def _deletions(word: str) -> set[str]:
    return {word} | {word[:i] + word[i + 1 :] for i in range(len(word))}


_MISSPELLED = {form: word for word in sorted(_SPELLED) if len(word) > 4 for form in _deletions(word)}

_HOW = (
    r"(?:my|the|our|clinical|diagnostic|medical|initial|updated|revised|detailed|full|step by step|case|current|final"
    r"|differential|therapeutic|treatment|doctor s|physician s)"
)
_MORE = r"(?:additional|further|more|extra|other|supplementary|complementary|new|missing)"
_FACTS = r"(?:information|info|data|details)"
_EXAMS = (
    r"(?:tests?|testing|exams?|examinations?|investigations?|work ?up|studies|questions?|evaluations?|history|imaging"
    r"|diagnostic tests|ancillary tests|laboratory tests)"
)
_WANTED = (
    r"(?:(?:is |are )?(?:required|needed|necessary|requested|wanted|recommended|requirements?|requests?"
    r"|to request|to obtain))"
)
_FR_EXAMS = r"(?:informations?|renseignements?|donnees|examens?|elements|precisions)"
_FR_MORE = r"(?:complementaires?|supplementaires?|additionnel(?:le)?s?)"
_FR_WANTED = r"(?:requis(?:e|es)?|necessaires?|demandes?|demandees?|souhaites?|souhaitees?|a demander)"
_ZH_MORE = r"(?:额外|附加|补充|進一步|进一步|其他|其它|更多|額外|補充)"
_ZH_FACTS = r"(?:信息|检查|資訊|資料|资料|檢查|数据)"

_NAMES: tuple[tuple[Part, int, str], ...] = (
    (
        Part.REASONING,
        0,
        rf"(?:{_HOW} )*(?:chain of thoughts?|cot|reasoning)(?: (?:process|steps?"
        rf"|chain|path|and analysis))?",
    ),
    (Part.REASONING, 0, r"(?:chain of thoughts?|reasoning) (?:and|or) (?:chain of thoughts?|reasoning|analysis)"),
    (
        Part.REASONING,
        0,
        r"reasoning (?:for|behind|to|towards?) (?:the |my )?(?:final |treatment"
        r" )?(?:diagnosis|answer|treatment|plan|choice)",
    ),
    (
        Part.REASONING,
        1,
        rf"(?:{_HOW} )*(?:thoughts?|thinking|thought process|thinking process|analysis)(?:"
        rf" (?:process|steps?))?",
    ),
    (
        Part.REASONING,
        0,
        r"raisonnement(?: (?:clinique|diagnostique|medical|detaille|therapeutique"
        r"|etape par etape))*",
    ),
    (Part.REASONING, 0, r"chaine de (?:pensees?|raisonnement)|demarche (?:diagnostique|clinique)"),
    (Part.REASONING, 1, r"analyse(?: (?:clinique|du cas|diagnostique))?|reflexion"),
    (
        Part.REASONING,
        0,
        r"(?:临床|诊断|臨床|診斷|逐步|治疗)?(?:推理|思维|思考|思維)(?:过程|步骤|链|鏈|過程|步驟|路径)?|诊断思路|思路",
    ),
    (Part.REASONING, 1, r"(?:病例|临床|病情)?分析(?:过程|過程)?"),
    (Part.REASONING, 0, r"razonamiento(?: clinico)?|cadena de pensamiento|begrundung|gedankengang"),
    (Part.ADDITIONAL, 0, rf"(?:any )?{_MORE} (?:clinical |medical |patient |diagnostic )?{_FACTS}(?: {_WANTED})?"),
    (Part.ADDITIONAL, 0, rf"{_FACTS} {_WANTED}|(?:required|needed|requested) (?:{_MORE} )?{_FACTS}"),
    (
        Part.ADDITIONAL,
        1,
        rf"(?:{_MORE}|required|requested|proposed|suggested|recommended) (?:{_MORE}"
        rf" )?{_EXAMS}(?: {_WANTED})?",
    ),
    (
        Part.ADDITIONAL,
        1,
        rf"{_EXAMS} {_WANTED}|requests?|(?:my )?(?:questions|requests) (?:for"
        rf"|to) the (?:examiner|patient)",
    ),
    (Part.ADDITIONAL, 0, rf"informations? {_FR_MORE}(?: {_FR_WANTED})?|informations? {_FR_WANTED}"),
    (Part.ADDITIONAL, 1, rf"{_FR_EXAMS} {_FR_MORE}(?: {_FR_WANTED})?|{_FR_EXAMS} {_FR_WANTED}"),
    (
        Part.ADDITIONAL,
        0,
        rf"(?:需要|所需|需|要求)?的?{_ZH_MORE}的?{_ZH_FACTS}(?:需求|要求|请求|需要)?|(?:需要|所需)的?{_ZH_FACTS}",
    ),
    (Part.ADDITIONAL, 0, r"informacion adicional(?: (?:requerida|necesaria))?|(?:zusatzliche|weitere) informationen"),
    (
        Part.CONCLUSION,
        0,
        r"(?:(?:final|overall|diagnostic|clinical|my|the) )?conclusions?(?: and"
        r" (?:final )?diagnosis)?",
    ),
    (Part.CONCLUSION, 0, r"conclusion (?:finale|diagnostique)|(?:最终|最終|诊断)?(?:结论|結論)|schlussfolgerung|fazit"),
    (Part.ANSWER, 0, r"(?:(?:final|my|the|short) )*answers?|reponse(?: finale)?|respuesta(?: final)?|antwort"),
    (Part.ANSWER, 0, r"(?:最终|最終|我的)?(?:答案|回答)"),
    (
        Part.ANSWER,
        1,
        r"(?:final|definitive|definite|confirmed) (?:diagnos[ei]s|treatment|treatment"
        r" plan|diagnosis and .{3,30})",
    ),
    (Part.ANSWER, 1, r"final diagnostic|diagnos(?:is|tic) results?|diagnostic (?:final|definitif|retenu)"),
    (Part.ANSWER, 1, r"traitement (?:final|retenu|choisi)|diagnostico (?:final|definitivo)|enddiagnose"),
    (Part.ANSWER, 1, r"(?:最终|最終|最后|最後|确定)(?:的)?(?:诊断|診斷|治疗方案|治療方案)|诊断(?:结果|结论)"),
    (Part.ANSWER, 2, r"(?:(?:most likely|likely|primary|main|working|leading|probable) )?diagnos[ie]s"),
    (Part.ANSWER, 2, r"(?:recommended |selected |chosen |proposed )?treatment(?: plan| recommendation| choice)?"),
    (Part.ANSWER, 2, r"diagnostic(?: le plus probable| principal)?|traitement|诊断|診斷|治疗方案|diagnostico|diagnose"),
    (
        Part.EXPLANATION,
        0,
        r"explanations?|rationale|justification|discussion|supporting evidence"
        r"|explications?|解释|理由",
    ),
    (
        Part.OTHER,
        0,
        r"notes?|important notes?|references?|further reading|sources|disclaimer|limitations"
        r"|remarques?|参考文献|注意?",
    ),
)
_GRAMMAR = tuple((part, rank, re.compile(names)) for part, rank, names in _NAMES)
_KNOWN = {word for _, _, names in _NAMES for word in re.findall(r"[a-z]{5,}", names)}

_NUMBERING = re.compile(
    r"(?:\(?\d{1,2}(?:[.)、]|\s?[:\-])|[ivx]{1,4}[.)]|\(?[a-e]\)|[a-e]\.|[一二三四五六七八九十]{1,2}[、.:])\s*",
    re.IGNORECASE,
)
_LEADING_NUMBER = re.compile(r"[ \t*_(]{0,9}(\d{1,3})[.):、]")
_BRACKETED = re.compile(r"\([^()]{0,60}\)")
_NO_WORD = re.compile(r"[\W_]+")
_LONGEST = 90
_AROUND = " *_#>`\"'[]【】<:-–—.~="


def name_of(title: str) -> tuple[Part, int] | None:
    """The part that a title names, with the rank of the name; the title may be numbered and misspelled."""
    return _name_of(title) if len(title) <= _LONGEST else None


@lru_cache(maxsize=4096)
def _name_of(title: str) -> tuple[Part, int] | None:
    text = _BRACKETED.sub(" ", fold(clean(title))).strip(_AROUND)
    text = _NUMBERING.sub("", text, count=1) if _NUMBERING.match(text) else text
    words = _NO_WORD.sub(" ", text).split()
    if not words or len(words) > 10:
        return None
    text = " ".join(_corrected(word) for word in words)
    for part, rank, names in _GRAMMAR:
        if names.fullmatch(text):
            return part, rank
    return None


def _corrected(word: str) -> str:
    if len(word) < 5 or word in _KNOWN:
        return word
    return next((_MISSPELLED[form] for form in sorted(_deletions(word)) if form in _MISSPELLED), word)


# Lines ---------------------------------------------------------------------------------------------------------

_HASH = re.compile(r"(?P<indent>[ \t>]{0,40})(?P<hashes>#{1,6})[ \t]{0,9}(?P<title>\S.{0,300})")
_BULLET = r"(?P<bullet>(?:[-+•*]|\(?\d{1,2}[.)]|[一二三四五六七八九十][、.])[ \t]{1,9})"
_BOLD = re.compile(
    rf"(?P<indent>[ \t>]{{0,40}}){_BULLET}?(?P<em>\*\*\*|\*\*|__|【)(?P<title>[^*\n】]{{1,300}})(?P<end>\*\*\*"
    rf"|\*\*|__|】|$)"
)
_PLAIN = re.compile(rf"(?P<indent>[ \t>]{{0,40}}){_BULLET}?(?P<title>[^\W\d_*#][^:：*#|\n]{{0,80}})(?P<colon>[:：]|$)")
_COLON = re.compile(r"[ \t*_]{0,6}[:：][ \t]{0,9}")
_TITLE_END = re.compile(r"[:：]|[ \t][-–—][ \t]")


def heading_of(line: str) -> Heading | None:
    """The heading that a line is or opens with, or None."""
    if len(line) > 4000 and not line[:400].strip():
        return None
    for read in (_hash_heading, _bold_heading, _plain_heading):
        heading = read(line)
        if heading is not None:
            return heading
    return None


def _hash_heading(line: str) -> Heading | None:
    found = _HASH.match(line)
    if found is None:
        return None
    start = found.start("title")
    for title, rest in _title_and_rest(line[start:]):
        name = name_of(title)
        if name is not None:
            level, indent = len(found["hashes"]), _width(found["indent"])
            return Heading(*name, Strength.HASH, level, indent, False, _number(title), _peeled(rest))
    return None


def _title_and_rest(text: str) -> list[tuple[str, str]]:
    """Where the title may end: at its colon, its bold, the end of the line, or after its first words."""
    ends: list[tuple[str, str]] = []
    colon = _TITLE_END.search(text, 0, _LONGEST)
    if colon is not None:
        ends.append((text[: colon.start()], text[colon.end() :]))
        numbered = re.match(r"\d{1,2}\s?[:\-]\s", text)
        second = _TITLE_END.search(text, numbered.end(), _LONGEST) if numbered else None
        ends += [(text[: second.start()], text[second.end() :])] if second else []
    bold = re.match(r"\*\*([^*]{1,80})\*\*", text)
    if bold is not None:
        ends.append((bold[1], text[bold.end() :]))
    ends.append((text, ""))
    words = text.split(" ")
    for count in (4, 3, 2, 1):
        rest = " ".join(words[count:])
        if len(words) > count and rest[:1].isupper() and rest.split()[0].casefold() not in ("and", "of", "for"):
            ends.append((" ".join(words[:count]), rest))
    return ends


def _bold_heading(line: str) -> Heading | None:
    found = _BOLD.match(line)
    if found is None:
        return None
    title, rest = found["title"], line[found.end() :]
    colon = _COLON.search(title)
    after = _COLON.match(rest)
    if colon is not None:
        inner = title[colon.end() :]
        title, rest = title[: colon.start()], inner + (found["end"] if inner.strip() else "") + rest
    elif after is not None:
        rest = rest[after.end() :]
    elif rest.strip(" \t*_.。"):
        return None
    name = name_of(title)
    if name is None:
        return None
    number = _number(found["bullet"] or found["title"])
    listed = found["bullet"] is not None or number is not None
    return Heading(*name, Strength.BOLD, 7, _width(found["indent"]), listed, number, _peeled(rest))


def _plain_heading(line: str) -> Heading | None:
    found = _PLAIN.match(line)
    if found is None or not (found["colon"] or len(line.strip()) == len(found["title"].strip())):
        return None
    name = name_of(found["title"])
    if name is None or (not found["colon"] and name[1] > 0) or name[0] is Part.OTHER:
        return None
    listed = found["bullet"] is not None
    number, rest = _number(found["bullet"] or ""), _peeled(line[found.end() :])
    return Heading(*name, Strength.PLAIN, 7, _width(found["indent"]), listed, number, rest)


def _number(text: str) -> int | None:
    found = _LEADING_NUMBER.match(text)
    return int(found[1]) if found is not None else None


def _width(space: str) -> int:
    return len(space.replace(">", "").expandtabs(4))


def _peeled(rest: str) -> str:
    """The rest of a heading line without emphasis marks that close the heading."""
    rest = rest.strip()
    if rest.count("**") % 2:
        rest = rest[2:].lstrip(" :：") if rest.startswith("**") else rest[:-2] if rest.endswith("**") else rest
    return rest.strip().strip("【】").lstrip(":： \t")
