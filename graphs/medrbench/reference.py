"""Reference steps of a case: its reasoned diagnosis, or its plan, split by rules into at most ten statements.

The reference is what the authors of the benchmark measure completeness against (arXiv 2503.04691): the differential
diagnosis and the final diagnosis, for treatment the analysis and the plan. How a text becomes statements:

1. An item of a list is one statement. Running text is split at the ends of its sentences, and so is an item of more
   than `LONG_ITEM` words. A list of bare names under one heading ("Initial differentials:") is one statement.
2. Numbers and bullets of lists, ``Step 3:``, emphasis and rules are dropped; so are headings without anything under
   them, and headings that say nothing ("Rationale:"). Any other heading stands before each of its statements, since
   without it "Ruled out:" would be lost; a long one, which is a sentence, only before the first.
3. While there are more than ten, two neighbours become one: of those under one heading the pair that is shortest
   together, of all pairs if there is none under one heading. The two parts of the reference are never mixed, so the
   conclusion stays apart.

Apart from headings, every word is in exactly one step, as it stands and in its order; a semicolon is put between
joined statements that end without a stop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphs.medrbench.reference_outline import Node, outline
from graphs.medrbench.reference_sentences import sentences
from judge.benchmark import Case
from judge.errors import DataError
from judge.references import References, pin

SPLITTER = "rules.v1"
"""Name and version; any change of what the rules make of any text needs a new version."""

MOST = 10
"""Steps of a case at most, as published."""

PROMPT = "split.reference.v1"
"""What a model is asked that splits in place of the rules."""

LONG_ITEM = 60
"""Words beyond which an item of a list is split at its sentences."""

LONG_HEADING = 12
"""Words beyond which what introduces a list is a statement and not a heading."""

BARE_NAME = 10
"""Words of a bare name in a list at most, brackets left out."""

_LEAST_LETTERS = 3
"""Of a statement in small letters only; "TB" may well be one."""

#: Headings of nothing but these words tell nothing about what is under them.
_SAYS_NOTHING = frozenset(
    {"a", "additional", "analysis", "and", "assessment", "based", "case", "conditions", "consideration",
     "considerations", "diagnoses", "diagnosis", "diagnostic", "differential", "differentials", "evaluation",
     "excluding", "exclusion", "final", "findings", "for", "further", "including", "inclusion", "initial", "key",
     "list", "of", "on", "or", "overview", "pathway", "patient", "possible", "potential", "presentation", "process",
     "rationale", "reasoning", "refinement", "step", "step-by-step", "steps", "stepwise", "synthesis", "systematic",
     "the", "work-up", "workup"}
)  # fmt: skip

#: Of these words, those of one side alone do say something: what is under them was left out, or was not.
_SIDES = ({"excluding", "exclusion"}, {"including", "inclusion"})

_STOPS = (".", ";", ",", "!", "?")

#: Beginnings of words in headings of lists of candidates.
_OF_CANDIDATES = ("caus", "conditions", "consider", "differential", "etiolog", "hypothes", "includ", "list", "possib",
                  "potential", "suspicion")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a reference.

    Attributes:
        headings: under which it stands, outermost first; repeated before every statement under them.
        text: its own words.
    """

    headings: tuple[str, ...]
    text: str


def reference_parts(record: Mapping[str, Any]) -> tuple[str, str]:
    """Reasoning and conclusion of a case's record, both as they stand in the data."""
    if record["kind"] == "diagnosis":
        return record["differential"], record["final_diagnosis"]
    return record["treatment_analysis"], record["treatment_plan"]


def reference_text(record: Mapping[str, Any]) -> str:
    """The whole reference of a case."""
    return "\n\n".join(reference_parts(record))


def references(cases: Sequence[Case], benchmark: str) -> References:
    """The reference steps of cases of one kind by the rules; DataError for a case without any."""
    texts = {case.id: reference_text(case.record) for case in cases}
    steps = {case.id: split_reference(*reference_parts(case.record)) for case in cases}
    if empty := [case_id for case_id, own in steps.items() if not own]:
        raise DataError(f"case {empty[0]}: there are no words in its reference, so nothing can be looked for")
    kind = cases[0].record["kind"] if cases else ""
    return pin(benchmark, kind, SPLITTER, {"most": MOST, "prompt": ""}, texts, steps)


def split_reference(*parts: str, most: int = MOST) -> tuple[str, ...]:
    """The steps of a reference in order, at most `most` and at least one a part that has any words.

    Raises:
        ValueError: more parts have words than there may be steps.
    """
    return tuple(_written(step) for step in merged_statements(parts, most))


def merged_statements(parts: Iterable[str], most: int = MOST) -> list[list[Statement]]:
    """The statements of every step; see `split_reference`."""
    split = [[[statement] for statement in statements(part)] for part in parts]
    while sum(len(steps) for steps in split) > most:
        pairs = [(_closeness(steps[i], steps[i + 1]), p, i) for p, steps in enumerate(split)
                 for i in range(len(steps) - 1)]  # fmt: skip
        if not pairs:
            raise ValueError(f"{sum(map(bool, split))} parts cannot be split into at most {most} steps")
        _, part, index = min(pairs)
        split[part][index : index + 2] = [split[part][index] + split[part][index + 1]]
    return [step for steps in split for step in steps]


def _closeness(step: list[Statement], following: list[Statement]) -> tuple[bool, int]:
    """Smaller for neighbours that should rather be one step: under one heading first, then by characters together."""
    headings = {statement.headings for statement in (*step, *following)}
    return headings == {()} or len(headings) > 1, sum(len(statement.text) for statement in (*step, *following))


def _written(step: list[Statement]) -> str:
    """Headings and texts of a step; a heading that several neighbours share is written once."""
    words: list[str] = []
    before: tuple[str, ...] = ()
    for statement in step:
        new = statement.headings
        shared = next((i for i, pair in enumerate(zip(before, new, strict=False)) if pair[0] != pair[1]),
                      min(len(before), len(new)))  # fmt: skip
        if words and not words[-1].rstrip("\"'”’)").endswith(_STOPS):
            words[-1] += ";"
        words += [f"{heading}:" for heading in new[shared:]]
        words.append(statement.text)
        before = new
    return " ".join(words)


def statements(text: str) -> list[Statement]:
    """Every statement of a text, however many; a text whose only words are headings is one statement of them."""
    nodes = outline(text)
    found = _fragments_joined([statement for node in nodes for statement in _of_node(node, ())])
    if found:
        return found
    left = " ".join(word for node in nodes for word in _all_words(node))
    return [Statement((), left)] if left else []


def _fragments_joined(found: list[Statement]) -> list[Statement]:
    """Statements with stray letters, which stand in one of the texts, put before the next or behind the last."""
    joined: list[Statement] = []
    before = ""
    for statement in found:
        text = f"{before} {statement.text}".strip()
        if text == text.lower() and sum(map(str.isalpha, text)) < _LEAST_LETTERS:
            before = text
        else:
            joined.append(replace(statement, text=text))
            before = ""
    if before and joined:
        joined[-1] = replace(joined[-1], text=f"{joined[-1].text} {before}")
    return joined or found


def _all_words(node: Node) -> list[str]:
    return [node.text, *(word for child in node.children for word in _all_words(child))]


def _of_node(node: Node, headings: tuple[str, ...]) -> list[Statement]:
    if node.heading:
        return _under_heading(node, headings)
    own = [Statement(headings, text) for text in _pieces(node)]
    return own + [statement for child in node.children for statement in _of_node(child, headings)]


def _pieces(node: Node) -> list[str]:
    if node.item and len(node.text.split()) <= LONG_ITEM:
        return [node.text]
    return sentences(node.text)


def _under_heading(node: Node, headings: tuple[str, ...]) -> list[Statement]:
    if not node.children:
        return []
    names = _bare_names(node)
    if names and _lists_candidates(node.text):
        return [Statement((*headings, node.text), names)]
    if len(node.text.split()) > LONG_HEADING:
        found = [statement for child in node.children for statement in _of_node(child, headings)]
        if not found:
            return []
        first, *rest = found
        said = [f"{heading}:" for heading in first.headings[len(headings) :]]
        return [Statement(headings, " ".join([f"{node.text}:", *said, first.text])), *rest]
    kept = headings if _says_nothing(node.text) else (*headings, node.text)
    return [statement for child in node.children for statement in _of_node(child, kept)]


def _bare_names(node: Node) -> str:
    """The children as one text if all of them are names and no statements, else nothing."""
    if len(node.children) < 2 or not all(_is_bare(child) for child in node.children):
        return ""
    *names, last = [child.text for child in node.children]
    return " ".join([*(name if name.endswith(_STOPS) else f"{name};" for name in names), last])


def _is_bare(node: Node) -> bool:
    if node.heading or node.children or not node.item or ":" in node.text:
        return False
    depth, words = 0, 0
    for word in node.text.split():
        words += depth == 0 and not word.startswith("(")
        depth = max(0, depth + word.count("(") - word.count(")"))
    return words <= BARE_NAME


def _lists_candidates(heading: str) -> bool:
    return any(word.startswith(_OF_CANDIDATES) for word in _words(heading))


def _says_nothing(heading: str) -> bool:
    words = set(_words(heading))
    one_sided = bool(words & _SIDES[0]) != bool(words & _SIDES[1])
    return words <= _SAYS_NOTHING and not one_sided


def _words(heading: str) -> list[str]:
    return [word.strip(".,;:()&\"'").lower() for word in heading.replace("/", " ").split()]
