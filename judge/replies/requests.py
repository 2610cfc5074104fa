"""What a doctor asks for: nothing, or which single examinations; and whether the doctor plays the examiner too."""

from __future__ import annotations

import re

from judge.replies import request_words as vocabulary
from judge.replies.headings import Part, heading_of, name_of
from judge.replies.layout import is_rule, lines_of
from judge.replies.normalise import clean, fold

_MARKUP = re.compile(r"[*_`~#>\"“”«»]+")
_ITEM = re.compile(
    r"(?P<indent>[ \t>]{0,60})(?P<mark>(?:[-+•‣◦–●▪✓]|\*(?=[ \t])|\[[ xX]?\]|\(?\d{1,3}[.)、](?!\d)|\(?[a-z]\)"
    r"|[①-⑳])[ \t]*(?:\[[ xX]?\][ \t]*)?)(?=\S)"
)
#: Longer fields are read up to here; a request is a few lines.
_MOST_CHARACTERS = 20_000
_LONGEST_NOTHING = 600
_LONGEST_LABEL = 80


# Nothing -------------------------------------------------------------------------------------------------------

_CLAUSE_END = re.compile(r"[.!?;](?=\s|$)|[。！？；\n]")


def asks_nothing(field: str) -> bool:
    """Whether the whole field says that nothing is asked for.

    True for "None", "N/A", "**Not required.**", "No additional information is required, as the diagnosis is
    established", and the like in French and Chinese. False as soon as any part asks or sets a condition, for a single
    examination that is not required, and for an empty field, which says nothing.
    """
    text = clean(field[: _LONGEST_NOTHING + 1])
    if not text or len(field.strip()) > _LONGEST_NOTHING:
        return False
    clauses = [clause for line in _unheaded(text) for clause in _clauses(line)]
    return bool(clauses) and _says_nothing(clauses[0]) and all(_says_nothing(c) or _says_enough(c) for c in clauses[1:])


def _unheaded(text: str) -> list[str]:
    lines = [line for line in lines_of(text) if line.strip() and not is_rule(line)]
    if lines and (heading := heading_of(lines[0])) is not None and heading.part is Part.ADDITIONAL:
        lines[0] = heading.rest
    return lines


def _clauses(line: str) -> list[str]:
    item = _ITEM.match(line)
    text = _MARKUP.sub("", line[item.end() :] if item is not None else line)
    text = fold(text).replace("'", " ").replace("’", " ")
    return [part for clause in _CLAUSE_END.split(text) if (part := " ".join(clause.split()).strip(" ()[]<>-–—:,.…✅"))]


_ASIDE = re.compile(r" - | ?[–—] ?| \(")


def _says_nothing(clause: str) -> bool:
    if clause in ("n/a", "n a", "n.a"):
        return True
    label, colon, rest = clause.partition(":")
    if colon and vocabulary.FIELD_LABEL.fullmatch(label.strip()):
        clause = rest.strip()
    if vocabulary.NOTHING.fullmatch(clause):
        return True
    for reason in vocabulary.REASON.finditer(clause):
        if vocabulary.NOTHING.fullmatch(clause[: reason.start()].strip(" ,")):
            return _says_enough(clause[reason.end() :])
    aside = _ASIDE.search(clause)
    if aside is None or not vocabulary.NOTHING.fullmatch(clause[: aside.start()].strip()):
        return False
    return _says_enough(clause[aside.end() :])


def _says_enough(clause: str) -> bool:
    return vocabulary.ENOUGH.search(clause) is not None and vocabulary.ASKS.search(clause) is None


# Single requests -----------------------------------------------------------------------------------------------


def split_requests(field: str) -> list[str]:
    """The single examinations that a field asks for, in order.

    Split at bullets, numbers, sentences and semicolons, and at commas and "and" where each side names an examination
    ("CT of the chest and abdomen" stays whole). Reasons, politeness and exact repeats are left out; what is said not
    to be needed is no request. A label that names no examination ("Imaging:") is dropped; one that does is kept with
    what is listed below it ("CT: chest").
    """
    if asks_nothing(field):
        return []
    requests: dict[str, str] = {}
    for item in _listed(_without_table(_unheaded(field[:_MOST_CHARACTERS]))):
        for request in _singles(item):
            requests.setdefault(" ".join(request.casefold().split()), request)
    return list(requests.values())


_DIVIDER = re.compile(r"[\s|:\-–]+")


def _without_table(lines: list[str]) -> list[str]:
    """The lines, with a table's rows as items: their first cell that is no number; its head row is dropped."""
    plain: list[str] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        if not line.lstrip().startswith("|"):
            plain.append(line)
        elif not (_DIVIDER.fullmatch(line) or ("-" in following and _DIVIDER.fullmatch(following))):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            plain.append("- " + next((cell for cell in cells if not _is_number(cell)), ""))
    return plain


def _is_number(cell: str) -> bool:
    return cell.strip(" .*)").isdecimal() or not cell


def _listed(lines: list[str]) -> list[str]:
    """The items of the field, sub-items with the label they stand under."""
    items: list[str] = []
    label, label_indent, was_item = "", -1, False
    for n, line in enumerate(lines):
        item = _ITEM.match(line)
        indent = len(line[: len(line) - len(line.lstrip())].expandtabs(4))
        text = _MARKUP.sub("", line[item.end() :] if item is not None else line).strip()
        if label and indent <= label_indent and (item is not None or label_indent > 0):
            label, label_indent = "", -1
        if item is None and was_item and indent > label_indent and indent > 0:
            if not vocabulary.EXPLAINS.match(text) and items and not label:
                items[-1] += " " + text
            continue
        if text.endswith((":", "：")) or (item is None and n + 1 < len(lines) and _is_group(text)):
            label, label_indent = _label(text.rstrip(":： ")), indent if item is not None else -1
            if label and not _is_group(label):
                items.append(label)
        elif text and not (indent > label_indent >= 0 and vocabulary.EXPLAINS.match(text)):
            _add(items, label if indent > label_indent else "", text)
        was_item = item is not None
    return items


def _add(items: list[str], label: str, text: str) -> None:
    if label and not _is_group(label):
        if items and items[-1] == label:
            items.pop()
        text = f"{label}: {text}"
    items.append(text)


def _label(text: str) -> str:
    """A label without politeness; empty if it names no examination ("Please provide the following")."""
    label = _impolite(text)
    return label if len(label.split()) <= 8 else ""


def _is_group(label: str) -> bool:
    if len(label) > _LONGEST_LABEL:
        return False
    return vocabulary.GROUP.fullmatch(fold(label).strip()) is not None or name_of(label) is not None


_SENTENCE_END = re.compile(
    r"(?<!\b[A-Z])(?<!\bvs)(?<!\be\.g)(?<!\bi\.e)(?<!\betc)[.!?](?=\s+[A-ZÀ-Þ(]"
    r"|\s*$)|[;。；！？?\n]"
)


_NOT_DONE = re.compile(r"(?:none|nothing) (?:of|in|was|were|has|have)\b", re.IGNORECASE)


def _singles(item: str) -> list[str]:
    found: list[str] = []
    for sentence in _cut(" ".join(item.split()), _SENTENCE_END):
        if vocabulary.DENIED.search(sentence) or _NOT_DONE.match(sentence):
            continue
        for part in _named(sentence):
            found += [single for piece in _split(part) if (single := _polished(piece))]
    return found


def _cut(text: str, pattern: re.Pattern[str]) -> list[str]:
    """The text, cut where the pattern matches outside of brackets."""
    depths = _depths(text)
    parts: list[str] = []
    start = 0
    for found in pattern.finditer(text):
        if depths[found.start()] == 0 and found.end() > found.start():
            parts.append(text[start : found.start()])
            start = found.end()
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def _depths(text: str) -> list[int]:
    """How many brackets are open at each character; none if they are not balanced."""
    depths: list[int] = []
    depth = 0
    for character in text:
        depth += character in "([（【"
        depths.append(depth)
        depth -= character in ")]）】" and depth > 0
    return depths if depth == 0 else [0] * len(text)


_EXPLAINING_MARK = re.compile(r"[ \t]?[:：][ \t]?(?!\d)|[ \t]+[-–—]+[ \t]+|(?<=\w)—(?=\w)|[ \t]*(?:→|=>|->)[ \t]*")
_BRACKETS = re.compile(r"\s*[(\[]([^()\[\]]{1,300})[)\]]")


def _named(sentence: str) -> list[str]:
    """What a sentence asks for, without what explains it."""
    sentence = _BRACKETS.sub(lambda b: "" if vocabulary.EXPLAINS.match(b[1].strip()) else b[0], sentence)
    pieces = _cut(sentence, _EXPLAINING_MARK)
    first = 0
    while first < len(pieces) - 1 and _is_mere_label(pieces[first]):
        first += 1
    if not pieces:
        return []
    head, rest = pieces[first], pieces[first + 1 :]
    if not rest or vocabulary.EXPLAINS.match(rest[0]) or len(rest[0].split()) > 8 or _VERB.search(rest[0]):
        return [head]
    return [f"{head}: {rest[0]}"]


_VERB = re.compile(r"\b(?:would|will|may|might|can|could|should|helps?|is|are|was|were|has)\b", re.IGNORECASE)


def _is_mere_label(text: str) -> bool:
    polite = _impolite(text)
    return not polite or _is_group(polite)


_LIST_MARK = re.compile(
    r",\s+(?:(?:and|et)\s+)?|、|，|\s+(?:and|et|plus|as well as|along with|ainsi"
    r" que)\s+|\s?(?:以及|和|及|与)\s?(?=[\u4e00-\u9fffA-Z])|\s\+\s|\s&\s"
)
_COMMA = re.compile(r",\s+(?:(?:and|et)\s+)?|、|，")
_ATTACHED = re.compile(
    r"\b(?:of|for|in|over|including|such as|with|from|about|de|du|des|pour|avec"
    r"|dont)\b|[:：]|详细",
    re.IGNORECASE,
)
_NARRATIVE = re.compile(
    r"\b(?:history|details?|information|description|clarification|antécédents)\b.{0,80}\b(?:of"
    r"|about|regarding|on|including|de)\b",
    re.IGNORECASE,
)
_LIST_OF_GROUP = re.compile(
    r"^(?P<group>[^,:]{3,60}?),?\s+(?:including|such as|like|namely|specifically|incluant"
    r"|comprenant)\s+(?P<list>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_MOST_WORDS = 40


def _split(text: str) -> list[str]:
    """A list cut into its parts where each of them stands alone."""
    text = vocabulary.TAIL.sub("", text)
    group = _LIST_OF_GROUP.match(text)
    if group is not None and _is_group(_impolite(group["group"])):
        text = group["list"]
    if len(text.split()) > _MOST_WORDS or vocabulary.PAIRS.search(text) or _NARRATIVE.search(text):
        return [text]
    parts = _cut(text, _LIST_MARK)
    if len(parts) < 2:
        return [text]
    if all(map(_can_stand, parts)) and (not _ATTACHED.search(parts[0]) or _all_alone(parts)):
        return parts
    pieces = _cut(text, _COMMA)
    if len(pieces) > 1 and all(map(vocabulary.stands_alone, pieces)):
        return [part for piece in pieces for part in _split(piece)]
    return [text]


def _all_alone(parts: list[str]) -> bool:
    """Whether the later parts do not hang on a preposition in the first ("serology for HIV, hepatitis B")."""
    inner = re.search(r"\b(?:including|such as)\b|[:：]", parts[0])
    return inner is None and all(map(vocabulary.stands_alone, parts))


_DANGLING = re.compile(r"(?: with| without| or| of| the)$|^(?:or|without) ", re.IGNORECASE)


def _can_stand(part: str) -> bool:
    if _DANGLING.search(part):
        return False
    if vocabulary.IS_CHINESE.search(part):
        return vocabulary.CHINESE_HEAD.search(part) is not None
    return not vocabulary.only_qualifies(part) and (vocabulary.stands_alone(part) or len(part.split()) <= 4)


def _polished(text: str) -> str:
    text = vocabulary.TAIL.sub("", text.strip()).strip(" .,;:!?·-–—")
    text = _impolite(text)
    for _ in range(3):
        text = vocabulary.IMPOLITE_END.sub("", text).strip(" .,;:!?·-–—")
    text = " ".join(text.split())
    bare = fold(text)
    is_nothing = vocabulary.NOTHING.fullmatch(bare) is not None
    return "" if is_nothing or not any(map(str.isalnum, text)) or _is_empty_group(bare) else text


_EMPTY = (
    "following",
    "tests",
    "test",
    "information",
    "additional information",
    "results",
    "exam",
    "exams",
    "them",
    "it",
)


def _is_empty_group(text: str) -> bool:
    return text in _EMPTY


_QUESTION = re.compile(
    r"(?:(?:is|are|was|were) there|(?:does|did|has|is) (?:the patient|he|she)(?: have| had| any)?"
    r"|do you have|what (?:is|are|was|were)|y a-t-il|quels? (?:est|sont))\b[ ]?",
    re.IGNORECASE,
)


def _impolite(text: str) -> str:
    """The text without the words of asking at its beginning."""
    text = _QUESTION.sub("", text.strip(" ,:"))
    for _ in range(16):
        found = vocabulary.POLITE.match(text)
        if found is None or not found[0]:
            break
        text = text[found.end() :].lstrip(" ,:")
    return text


# Playing the examiner ------------------------------------------------------------------------------------------

_ROLE = re.compile(
    r"[ \t>*_#\[(【<|]{0,9}(?:the )?(?:physical |simulated |medical )?(?:(?:examiner|exam assistant"
    r"|examination assistant|user"
    r"|examinateur|检查者|考官|检查员|用户)"
    r"(?:['’]s)?(?: (?:response|reply|answer|provides?|report|says?|findings|réponse))?"
    r"|(?:radiologist|laboratory|lab technician|nurse|patient)(?:['’]s)? (?:response|reply|answer"
    r"|provides|says))[ \t]{0,3}[*_\])】>|]{0,4}[ \t]{0,3}[:：][ \t*_]{0,5}(?:\S|$)",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(
    r"<\|?(?:im_start\|>\s?user|start_header_id\|>\s?user|user\|?>|start_of_turn>\s?user)"
    r"|\[/?INST\]",
    re.IGNORECASE,
)
_GIVEN = re.compile(
    r"(?:simulated|hypothetical|assumed|imagined|examiner s?)? ?(?:additional|requested|examination"
    r"|exam|test|laboratory|lab|imaging|investigation)?s? ?(?:information|results?|findings"
    r"|data|response)"
    r"(?: (?:provided|received|obtained|returned|available|from the examiner|by the examiner|simulated|assumed))+"
    r"|(?:simulated|hypothetical|assumed|imagined) (?:\w+ )?(?:results?|findings|response|information)"
    r"|examiner s? ?(?:response|reply)|reponse de l examinateur|检查结果返回"
)
_AFTER_REQUEST = re.compile(
    r"(?:requested |examination |exam |test |laboratory |lab |imaging "
    r"|investigation )*(?:results?|findings)|resultats?(?: des examens)?|(?:检查)?结果"
)
_ASSUMED = re.compile(
    r"\b(?:let(?:'s| us) (?:assume|say|suppose|imagine)|assum(?:e|ing)|suppos(?:e|ing)|imagine)"
    r" (?:that )?(?:the|these|this|we (?:have )?received)\b[^.\n]{0,80}"
    r"\b(?:results?|reports?|findings?|tests?|scan|mri|ct|examiner|biopsy|cultures?)\b[^.\n]{0,40}\b(?:shows?"
    r"|showed|reveals?|revealed|came back|come back|returned?|are|were|is|was|provides?|provided)\b",
    re.IGNORECASE,
)


def writes_examiner(text: str) -> bool:
    """Whether the doctor writes the examiner's reply too: its turn, or made-up results of what was just asked for.

    Signs: a line in the examiner's or user's name, chat-template marks of another turn, a heading of received or
    simulated results, a heading of results after the requests, or results that are openly assumed. Thinking does not
    count.
    """
    lines = lines_of(text)
    asked = False
    for line in lines:
        if _ROLE.match(line) or _TEMPLATE.search(line) or _gives(line, asked):
            return True
        heading = heading_of(line)
        if heading is not None:
            asked = asked or (heading.part is Part.ADDITIONAL)
        if asked and _ASSUMED.search(line[:4000]):
            return True
    return False


_TITLE = re.compile(r"[ \t>]{0,9}(?:#{1,6}[ \t]{0,9}|\*\*|__|【|\[)(?P<title>[^*_:：\]】\n]{3,80})")
_LABEL = re.compile(r"(?P<title>[A-Z][^*_:：\n]{3,60})[:：]")


def _gives(line: str, asked: bool) -> bool:
    """Whether a line is a heading of results that the doctor cannot have."""
    found = _TITLE.match(line) or (_LABEL.match(line) if asked else None)
    if found is None:
        return False
    title = re.sub(r"[\W_]+", " ", fold(found["title"])).strip()
    return _GIVEN.fullmatch(title) is not None or (asked and _AFTER_REQUEST.fullmatch(title) is not None)
