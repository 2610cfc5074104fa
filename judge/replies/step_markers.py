"""The marks that open the steps of a reasoning text: ``<step 1>``, "Step 1:", "**Étape 1**", "步骤1：", "1."."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ETAPE = "(?:[ée]|e\u0301)tape"
_WORD = rf"(?:step|{_ETAPE}|步骤|步驟|paso|schritt)"
_NAMED_NUMBERS = {
    word: number
    for number, names in enumerate(
        (
            "one first un une première premiere i 一",
            "two second deux deuxième deuxieme seconde ii 二",
            "three third trois troisième troisieme iii 三",
            "four fourth quatre quatrième quatrieme iv 四",
            "five fifth cinq cinquième cinquieme v 五",
            "six sixth sixième sixieme vi 六",
            "seven seventh sept septième septieme vii 七",
            "eight eighth huit huitième huitieme viii 八",
            "nine ninth neuf neuvième neuvieme ix 九",
            "ten tenth dix dixième dixieme x 十",
        ),
        start=1,
    )
    for word in names.split()
}
_ZH = r"[一二三四五六七八九十]{1,3}"
_CARDINAL = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|un|une|deux|trois|quatre|cinq|sept|huit|neuf|dix)"
_ORDINAL = (
    r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|premi[èe]re|deuxi[èe]me"
    r"|seconde|troisi[èe]me"
    r"|quatri[èe]me|cinqui[èe]me|sixi[èe]me|septi[èe]me|huiti[èe]me|neuvi[èe]me|dixi[èe]me)"
)
_LAST = rf"(?:(?:final|last)[ ]step|(?:derni[èe]re|ultime)[ ]{_ETAPE}|最后一步|最後一步)"
_NUMBER = rf"(?:\d{{1,4}}|[ivx]{{1,5}}\b|{_CARDINAL}\b|{_ZH})"


@dataclass(frozen=True, slots=True)
class Marker:
    """A mark in a text.

    Attributes:
        start: where it begins.
        end: where the step's own text begins.
        number: its number; None without one.
        inline: it stands within a line.
    """

    start: int
    end: int
    number: int | None
    inline: bool


def number_of(text: str) -> int | None:
    """The number written as digits, Roman numeral, word or Chinese numeral."""
    text = text.casefold().strip()
    if text.isdecimal():
        return int(text)
    if text in _NAMED_NUMBERS:
        return _NAMED_NUMBERS[text]
    if len(text) == 2 and text[0] == "十" and text[1] in _NAMED_NUMBERS:
        return 10 + _NAMED_NUMBERS[text[1]]
    if re.fullmatch(r"x[ivx]{1,4}", text):
        return 10 + _NAMED_NUMBERS.get(text[1:], 0)
    return None


# Tags ----------------------------------------------------------------------------------------------------------

_TAG_HEAD = (
    rf"{_WORD}[ ]{{0,3}}[-_#:=.]?[ ]{{0,3}}(?:(?:n|id|number)[ ]?=[ ]?)?[\"']?(?P<n>{_NUMBER})?[\"']?"
    rf"|第[ ]?(?P<zh>{_NUMBER})[ ]?步"
)
_TAG = re.compile(
    rf"(?:^[ \t>]{{0,20}}(?:(?:\#{{1,6}}|[-*+•]|\d{{1,3}}[.)])[ \t]{{1,5}})?)?(?P<em>\*\*|__|`)?"
    rf"[<＜][ ]{{0,3}}(?:{_TAG_HEAD})[ ]{{0,3}}[:：.]?[ ]{{0,3}}[>＞](?(em)(?:(?P=em))?|)[ \t]{{0,3}}[:：]?",
    re.IGNORECASE | re.MULTILINE,
)
#: ``</step>``, ``</step 2>``, ``<steps>``.
CLOSING_TAG = re.compile(
    rf"[<＜][ ]{{0,3}}(?:/[ ]{{0,3}}{_WORD}[^<>＜＞\n]{{0,20}}|/?[ ]{{0,3}}(?:steps"
    rf"|étapes|etapes))[ ]{{0,3}}[>＞]",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?;:)\]\"”»>＞。！？；：）】*|]\Z")
#: Before a mark in running text, these make it a mention: "as said in <step 2>".
_MENTION = re.compile(
    r"\b(?:in|see|from|as|with|of|per|to|and|or|at|by|than|on|after|before|under|both|like|since"
    r"|voir|cf\.?|de|dans|à|et|selon)\Z",
    re.IGNORECASE,
)


def tags(text: str) -> list[Marker]:
    """The ``<step n>`` marks, without those that running text mentions."""
    found: list[Marker] = []
    for tag in _TAG.finditer(text):
        named = tag["n"] or tag["zh"]
        before = text[max(0, tag.start() - 60) : tag.start()]
        inline = bool(before) and not before.endswith("\n") and tag[0][:1] != "\n"
        marker = Marker(tag.start(), tag.end(), number_of(named) if named else None, inline)
        if not inline or _opens_inline(before.rstrip(), marker, found, text):
            found.append(marker)
    return found


def _opens_inline(before: str, marker: Marker, found: list[Marker], text: str) -> bool:
    if not before or _MENTION.search(before):
        return not before
    last = found[-1].number if found else 0
    if marker.number is not None and last is not None and marker.number <= last and marker.number != 1:
        return False
    if _SENTENCE_END.search(before):
        return True
    following = text[marker.end : marker.end + 5].lstrip()[:1]
    continues = last is None or marker.number is None or marker.number == last + 1
    return continues and bool(following) and not following.islower()


# Words ---------------------------------------------------------------------------------------------------------

_TOTAL = r"(?:[ ]?(?:/|of|sur|de)[ ]?\d{1,3})?"
_STEP = (
    rf"(?:{_WORD}[ \t]{{0,3}}(?:\#|n[°o]\.?[ ]?)?(?P<n>{_NUMBER}){_TOTAL}"
    rf"|第[ ]?(?P<zh>\d{{1,3}}|{_ZH})[ ]?步(?:骤|驟)?|(?P<ord>{_ORDINAL})[ ](?:step|{_ETAPE})|(?P<last>{_LAST}))"
)
_LINE_WORD = re.compile(
    rf"^[ \t>]{{0,40}}(?:[-*+•][ \t]{{1,5}})?(?P<hash>\#{{1,6}}[ \t]{{0,3}})?(?:\d{{1,2}}[.)][ \t]{{1,5}})?"
    rf"(?P<em>\*\*\*|\*\*|__|\*|_)?(?P<open>[\[(（【「])?{_STEP}[\])）】」]?",
    re.IGNORECASE | re.MULTILINE,
)
_INLINE_WORD = re.compile(
    rf"(?<=[.!?;)。！？；）*|])[ \t]{{0,5}}(?P<em>\*\*|__)?(?:(?:Step|STEP|(?:[ÉE]|E\u0301)tape|Paso|Schritt|步骤"
    rf"|步驟)[ ]?(?P<n>\d{{1,3}})|第(?P<zh>\d{{1,3}}|{_ZH})步)"
    r"(?(em)(?:\*\*|__)?)[ ]?[:：](?(em)(?:\*\*|__)?)"
)
_MARK = re.compile(r"[ \t]{0,3}(?:[:：)、，,]|[.](?!\d)|[-–—](?=[ \t]))")
_LINE_REST = re.compile(r"[ \t]*(?=\n|\Z)")
_CAPITAL = re.compile(r"[ \t]{1,3}(?=[A-ZÀ-Þ\u4e00-\u9fff*\"“(])")


def words(text: str) -> list[Marker]:
    """The "Step n" marks at line starts, and those within a line that continue the count after a sentence."""
    found = [marker for marker in map(_line_word, _LINE_WORD.finditer(text)) if marker]
    inline = [Marker(w.start(), w.end(), number_of(w["n"] or w["zh"]), True) for w in _INLINE_WORD.finditer(text)]
    if not inline:
        return found
    merged: list[Marker] = []
    for marker in sorted(found + inline, key=lambda marker: (marker.start, marker.inline)):
        last = merged[-1].number if merged else None
        if not marker.inline or (last is not None and marker.number == last + 1):
            merged.append(marker)
    return merged


def _line_word(found: re.Match[str]) -> Marker | None:
    text, end, emphasis = found.string, found.end(), found["em"]
    named = found["n"] or found["zh"] or found["ord"]
    number = number_of(named) if named else None
    strict = bool(found["ord"] or found["last"])
    end, closed = _after_emphasis(text, end, emphasis)
    mark = _MARK.match(text, end)
    if mark is not None:
        end, _ = _after_emphasis(text, mark.end(), "" if closed else emphasis)
        return Marker(found.start(), end, number, False) if not strict or mark[0].strip() in (":", "：") else None
    rest = _LINE_REST.match(text, end)
    if rest is not None:
        return Marker(found.start(), rest.end(), number, False)
    if strict or not (found["hash"] or closed or _CAPITAL.match(text, end)):
        return None
    return Marker(found.start(), end, number, False)


def _after_emphasis(text: str, end: int, emphasis: str | None) -> tuple[int, bool]:
    if emphasis and text.startswith(emphasis, end):
        return end + len(emphasis), True
    return end, False


# Numbers -------------------------------------------------------------------------------------------------------

_CIRCLED = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"
_LINE_NUMBER = re.compile(
    r"(?P<indent>[ \t>]{0,60})(?P<hash>#{1,6}[ \t]{0,3})?(?P<em>\*\*|__)?"
    rf"(?:(?P<open>[(（\[])?(?P<n>\d{{1,3}}|{_ZH}(?=[、．])|(?:I|V|X){{1,4}}(?=\.))(?P<sep>[.．)）\]、]"
    rf"|(?<=\d):(?=\*\*))(?![\d])|(?P<circled>[{_CIRCLED}]))"
    r"(?(em)(?:\*\*|__)?)[ \t]{0,20}"
)


@dataclass(frozen=True, slots=True)
class NumberedLine:
    """A line that begins with a number: its index, indentation, the form of its mark, and its text."""

    line: int
    indent: int
    form: str
    number: int
    rest: str
    titled: bool


def numbered_lines(lines: list[str]) -> Iterator[NumberedLine]:
    """The numbered lines of a text, sub-lists included."""
    for index, line in enumerate(lines):
        found = _LINE_NUMBER.match(line)
        if found is None or found.end() == len(line.rstrip()) == 0:
            continue
        indent = len(found["indent"].replace(">", "").expandtabs(4))
        titled = bool(found["hash"])
        number = _CIRCLED.index(found["circled"]) + 1 if found["circled"] else number_of(found["n"]) or 0
        form = f"{titled:d}{found['open'] or ''}{found['sep'] or 'o'}" + ("" if found["circled"] else _kind(found["n"]))
        yield NumberedLine(index, indent, form, number, line[found.end() :], titled)


def _kind(number: str) -> str:
    return "n" if number.isdecimal() else "r" if number.isascii() else "z"


def explicit_number(line: str) -> int | None:
    """The number of the step or item that a line opens, if it opens one."""
    tag = _TAG.match(line)
    if tag is not None:
        return number_of(tag["n"] or tag["zh"] or "")
    word = _LINE_WORD.match(line)
    marker = _line_word(word) if word is not None else None
    if marker is not None:
        return marker.number
    numbered = next(numbered_lines([line]), None)
    return numbered.number if numbered is not None and numbered.indent == 0 else None


def opens_step(line: str) -> bool:
    """Whether a line opens a step that is named so, not merely numbered."""
    word = _LINE_WORD.match(line)
    return _TAG.match(line) is not None or (word is not None and _line_word(word) is not None)
