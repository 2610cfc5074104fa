"""The ancillary tests of a case as single entries: which test, what it found.

The source writes them in many ways: bullets, bullets in bullets, ``Name: finding``, whole sentences, several tests on
one line, groups such as "Laboratory" with a list behind. The entries serve an examiner that answers without a model,
and tell how many of the tests done a doctor asked for. Their findings are the text's own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from graphs.medrbench.lines import Line, read_lines
from graphs.medrbench.names import TEST_WORD, is_ancillary, is_denied, is_patient, names_test
from graphs.medrbench.wording import (
    first_words,
    guess_name,
    has_value,
    is_not_done,
    is_nothing,
    is_treatment,
    items,
    named,
    named_parts,
    split_names,
    without_value,
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One ancillary test.

    Attributes:
        name: of the test, as written or taken from the sentence.
        finding: what was found, in the text's words.
        position: from 0, in the order of the text.
        group: heading it stands under, e.g. ``Laboratory``; empty at the top.
        patient: heading of the patient in a series, e.g. ``Case 2``; else empty.
        performed: false if the text says that this was not done.
    """

    name: str
    finding: str
    position: int
    group: str = ""
    patient: str = ""
    performed: bool = True


@dataclass(slots=True)
class _Node:
    """A line with what is nested below it."""

    label: str
    body: str
    depth: tuple[int, bool]
    children: list[_Node] = field(default_factory=list)

    @property
    def labelled(self) -> bool:
        return bool(self.label)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the tree an entry is found."""

    group: str = ""
    patient: str = ""

    def below(self, label: str) -> _Place:
        return _Place(self.group, label) if is_patient(label) else _Place(label, self.patient)


@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    finding: str
    place: _Place


#: Labels made of these words only name a group of tests, or the time when they were done.
_GROUP = re.compile(
    r"(?:laborator(?:y|ies)|labs?|blood|bloods|bloodwork|work|works|work-?up|workups?|tests?|testing|results?|findings?|"
    r"investigations?|studies|study|imaging|images|radiolog(?:y|ical|ic)|analys[ie]s|analytical|routine|basic|initial|"
    r"other|others|additional|further|follow-?up|repeat|subsequent|later|late|early|prior|previous|on|at|in|of|the|and|"
    r"after|before|during|from|to|post|pre|admission|presentation|discharge|diagnostic|diagnostics|exams?|"
    r"examinations?|evaluations?|values|data|parameters|abnormal|normal|notable|significant|relevant|key|pertinent|"
    r"pre-?operative(?:ly)?|post-?operative(?:ly)?|post-?treatment|post-?surgery|events?|days?|weeks?|months?|years?|"
    r"first|second|third|january|february|march|april|may|june|july|august|september|october|november|december|"
    r"biochemical|biochemistry|ha?ematology|ha?ematological|serum|special|specific|miscellaneous|paraclinical|"
    r"ancillary|auxiliary|radiographic|confirmatory|emergency|outpatient|inpatient|hospital|hospitalization|visit|"
    r"\d+(?:st|nd|rd|th)?)",
    re.IGNORECASE,
)


#: Groups in which commas part the single values, e.g. "Laboratory: Hb 9 g/dL, CRP 40 mg/L".
_LISTED = re.compile(
    r"\b(?:lab|blood|biochem|ha?emato|serum|test|investigat|work|chemi|value|parameter)", re.IGNORECASE
)


def ancillary_entries(text: str) -> list[Entry]:
    """The entries of one ancillary section, with or without its heading; none for an empty one or "None".

    Lines that only state a diagnosis, a treatment or a course are no entries. A statement that neither names a test
    nor gives a value belongs to the entry before it.
    """
    return [
        Entry(
            one.name,
            one.finding.rstrip("; "),
            position,
            one.place.group,
            one.place.patient,
            not is_not_done(one.finding),
        )
        for position, one in enumerate(_siblings(_tree(text), _Place()))
    ]


def _tree(text: str) -> list[_Node]:
    root = _Node("", "", (-1, False))
    stack = [root]
    for line in read_lines(text):
        if line.blank or line.rule:
            continue
        node = _Node(line.label, line.body, (line.indent, line.bullet))
        if not line.bullet and not line.label and len(stack) > 1:
            _continue(stack[-1], line)
            continue
        while len(stack) > 1 and stack[-1].depth >= node.depth:
            stack.pop()
        stack[-1].children.append(node)
        stack.append(node)
    return root.children


def _continue(node: _Node, line: Line) -> None:
    node.body = f"{node.body} {line.body}".strip()


def _walk(node: _Node, place: _Place) -> Iterator[_Found]:
    if is_ancillary(node.label):
        yield from _inside(node, place, "")
    elif is_patient(node.label):
        yield from _inside(node, place.below(node.label), "")
    elif _is_no_test(node):
        return
    elif _is_group(node.label) or _holds_tests(node):
        yield from _inside(node, place.below(node.label), node.label)
    elif node.labelled or node.children:
        yield from _single(node, place)
    else:
        yield from _statements(node.body, "" if has_value(node.body) else place.group, place)


def _inside(node: _Node, place: _Place, name: str) -> Iterator[_Found]:
    lead = "" if node.children and node.body.endswith(":") else node.body
    yield from _statements(lead, name, place)
    yield from _siblings(node.children, place)


def _siblings(nodes: list[_Node], place: _Place) -> Iterator[_Found]:
    last: _Found | None = None
    for node in nodes:
        for found in _walk(node, place):
            if last and last.place.patient == found.place.patient and _continues(node):
                last = _joined(last, found.finding)
                continue
            if last:
                yield last
            last = found
    if last:
        yield last


def _continues(node: _Node) -> bool:
    return not (node.labelled or node.children or guess_name(node.body) or has_value(node.body))


def _is_no_test(node: _Node) -> bool:
    """A diagnosis, treatment or course: named so, and no test named with it."""
    if not node.labelled or not is_denied(node.label) or TEST_WORD.search(node.label) or node.children:
        return False
    return not TEST_WORD.search(node.body) or bool(re.search(r"diagnos|treat|therap|manage", node.label, re.IGNORECASE))


def _is_group(label: str) -> bool:
    words = re.findall(r"[\w-]+", re.sub(r"\([^()]*\)", " ", label))
    return bool(words) and all(_GROUP.fullmatch(word) for word in words)


def _holds_tests(node: _Node) -> bool:
    """Whether two or more labelled children are tests by name, so that the label is a heading."""
    return sum(child.labelled and names_test(child.label) for child in node.children) > 1


def _single(node: _Node, place: _Place) -> Iterator[_Found]:
    """One test with all that is nested below it, unless its own line names further tests."""
    below = "; ".join(_flat(child) for child in node.children)
    if not node.labelled:
        finding = f"{node.body} {below}".strip()
        yield _Found(guess_name(node.body) or place.group or first_words(node.body), finding, place)
        return
    first, further = named_parts(node.body)
    finding = " ".join(part for part in (first, below) if part)
    if is_nothing(finding) and not names_test(node.label):
        return
    plain = without_value(node.label)
    if not node.label.startswith(plain):  # the result before the name is part of the finding
        finding = f"{node.label}: {finding}"
    for name in split_names(plain):
        yield _Found(name, finding, place)
    for label, body in further:
        yield _Found(label, body, place)


def _flat(node: _Node) -> str:
    own = f"{node.label}: {node.body}" if node.labelled and node.body else node.label or node.body
    return " ".join([own.strip().rstrip(";"), *(_flat(child) for child in node.children)])


def _statements(body: str, name: str, place: _Place) -> Iterator[_Found]:
    """Entries of running text: a sentence about a test begins one, others continue the one before."""
    open_entry: _Found | None = None
    for piece, listed in items(body, lists=not name or bool(_LISTED.search(name))):
        if is_nothing(piece) or is_treatment(piece) or _states_diagnosis(piece):
            continue
        label, finding = named(piece)
        found = _Found(label or guess_name(piece), finding or piece, place)
        if open_entry and not found.name and not has_value(piece):
            open_entry = _joined(open_entry, piece)
            continue
        if open_entry:
            yield open_entry
        open_entry = found if found.name else _Found(_fallback(piece, name, listed), found.finding, place)
    if open_entry:
        yield open_entry


def _fallback(piece: str, name: str, listed: bool) -> str:
    return first_words(piece) if listed or not name else name


def _joined(entry: _Found, text: str) -> _Found:
    return _Found(entry.name, f"{entry.finding} {text}".strip(), entry.place)


def _states_diagnosis(piece: str) -> bool:
    return bool(re.match(r"(?:final |clinical |working )?(?:diagnos[ei]s|impression)\s*:", piece, re.IGNORECASE))
