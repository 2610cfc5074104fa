"""What a user should know about the CareMedEval files before trusting a number computed from them.

The audit reads the raw files and goes on past what `load_cases` refuses, so one report names everything. Only a
questions file that cannot be read at all ends it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from graphs.caremedeval.cases import (
    Case,
    Language,
    Layout,
    answer_key,
    find_root,
    parse_case,
    read_questions,
    read_text,
)
from graphs.caremedeval.contexts import CONTEXTS
from graphs.caremedeval.metrics import METRICS, best_scores, reachable_maximum
from judge.audit import AuditReport, Finding, Severity
from judge.errors import DataError
from judge.models.tokens import EstimateTokenizer

_MAX_EXAMPLES = 10
_SHORT_ARTICLE = 2_000  # characters
_SHORT_ABSTRACT = 400  # characters
_NEAR = 0.9
_FIGURE = re.compile(r"(?<!qui )\b(?:figures?|tableaux?|tables?)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Material:
    """Everything read, before any judgement about it."""

    layout: Layout
    raw: list[Any]
    cases: list[Case]
    refused: list[str]
    english: list[Any] | None
    shuffled: list[Any] | None
    flagged: list[Any] | None
    articles: Mapping[str, str]
    abstracts: Mapping[str, str]
    unreadable: list[str] = field(default_factory=list)


def audit(data: Path) -> AuditReport:
    """Examine the French set, and the English and shuffled ones where they are there.

    Args:
        data: as for `load_cases`.

    Raises:
        DataError: there is no data set, or a questions file is not a readable JSON list.
    """
    material = _read(Layout(find_root(data)))
    findings = [finding for check in _CHECKS for finding in check(material)]
    order: dict[Severity, int] = {"problem": 0, "warning": 1, "info": 2}
    findings.sort(key=lambda finding: order[finding.severity])
    reachable = reachable_maximum(material.cases) if material.cases else {}
    return AuditReport(material.layout.root, _counts(material), reachable, tuple(findings))


def refers_to_figure(case: Case) -> bool:
    """Whether question or options mention a figure or table, which a text-only article lacks.

    Matches the words figure(s), tableau(x) and table(s), in either language, but not the French verb ("qui figure",
    "figurer"). Curves or flow charts mentioned without such a word are not counted.
    """
    return bool(_FIGURE.search("\n".join([case.question, *case.options.values()])))


def _read(layout: Layout) -> _Material:
    file = layout.questions("fr")
    raw = read_questions(file)
    cases, refused = _parse(raw, file, "fr")
    articles, bad_articles = _folder(layout.articles)
    abstracts, bad_abstracts = _folder(layout.abstracts)
    return _Material(
        layout=layout,
        raw=raw,
        cases=cases,
        refused=refused,
        english=_optional(layout.questions("en")),
        shuffled=_optional(file.with_name("questions_shuffled.json")),
        flagged=_optional(layout.requires_context("fr")),
        articles=articles,
        abstracts=abstracts,
        unreadable=bad_articles + bad_abstracts,
    )


def _parse(raw: Sequence[Any], file: Path, language: Language) -> tuple[list[Case], list[str]]:
    cases: list[Case] = []
    refused: list[str] = []
    for index, record in enumerate(raw):
        try:
            cases.append(parse_case(record, index, file, language))
        except DataError as error:
            refused.append(str(error).removeprefix(f"{file}: "))
    return cases, refused


def _optional(file: Path) -> list[Any] | None:
    return read_questions(file) if file.exists() else None


def _folder(folder: Path) -> tuple[dict[str, str], list[str]]:
    texts: dict[str, str] = {}
    unreadable: list[str] = []
    for file in sorted(folder.glob("*.txt")):
        try:
            texts[file.stem] = read_text(file)
        except DataError:
            unreadable.append(f"{folder.name}/{file.name}")
    return texts, unreadable


def _counts(material: _Material) -> dict[str, Any]:
    cases = material.cases
    flags = [record.get("requires_context") for record in material.flagged or [] if isinstance(record, dict)]
    return {
        "questions": len(material.raw),
        "usable_questions": len(cases),
        "articles": len({case.article_id for case in cases}),
        "options_per_question": _tally(len(case.options) for case in cases),
        "correct_per_question": _tally(len(case.correct) for case in cases),
        "correct_letters": _tally(letter for case in cases for letter in case.correct),
        "labels": _tally(label for case in cases for label in case.labels),
        "questions_per_article": _tally(Counter(case.article_id for case in cases).values()),
        "with_justification": sum(bool(case.justification.strip()) for case in cases),
        "with_essential": sum(bool(case.essential) for case in cases),
        "with_unacceptable": sum(bool(case.unacceptable) for case in cases),
        "requires_context_annotated": len(flags),
        "requires_context_true": flags.count(True),
    }


def _tally(values: Iterable[Any]) -> dict[str, int]:
    return {str(value): count for value, count in sorted(Counter(values).items())}


def _found(code: str, severity: Severity, places: Sequence[str], text: str) -> Iterator[Finding]:
    """A finding if there is any place; ``{n}`` in the text stands for their number."""
    if places:
        count = len(places)
        yield Finding(code, severity, count, text.replace("{n}", str(count)), tuple(places[:_MAX_EXAMPLES]))


def _place(case: Case) -> str:
    return f"index {case.index} ({case.id[:12]})"


def _where(cases: Iterable[Case], condition: Callable[[Case], bool]) -> list[str]:
    return [_place(case) for case in cases if condition(case)]


def _check_records(material: _Material) -> Iterator[Finding]:
    yield from _found(
        "unusable_question",
        "problem",
        material.refused,
        "{n} question(s) cannot be used and are left out of the rest of this audit.",
    )
    seen: dict[str, Case] = {}
    twice = [_place(case) for case in material.cases if seen.setdefault(case.id, case) is not case]
    yield from _found("duplicate_id", "problem", twice, "{n} question(s) have the id of an earlier one.")
    records = [(index, raw) for index, raw in enumerate(material.raw) if isinstance(raw, dict)]
    mismatch = [
        f"index {index} ({str(raw.get('id'))[:12]})"
        for index, raw in records
        if isinstance(correct := raw.get("correct_answers"), list) and raw.get("nb_correct_answers") != len(correct)
    ]
    yield from _found(
        "number_of_correct_answers", "problem", mismatch, "{n} question(s) state another number of correct answers."
    )


def _check_questions(material: _Material) -> Iterator[Finding]:
    for code, severity, text, condition in _QUESTION_RULES:
        yield from _found(code, severity, _where(material.cases, condition), text)


#: What holds of single questions: code, severity, sentence, condition.
_QUESTION_RULES: tuple[tuple[str, Severity, str, Callable[[Case], bool]], ...] = (
    (
        "essential_not_correct",
        "warning",
        "{n} question(s) have an essential option that is not correct, so that the correct answer breaks the rule.",
        lambda case: not case.essential <= case.correct,
    ),
    (
        "unacceptable_correct",
        "problem",
        "{n} question(s) have an unacceptable option that is correct.",
        lambda case: bool(case.unacceptable & case.correct),
    ),
    (
        "essential_unacceptable",
        "problem",
        "{n} question(s) have an option that is both essential and unacceptable: no answer gets a mark.",
        lambda case: bool(case.unacceptable & case.essential),
    ),
    (
        "figure_or_table",
        "warning",
        "{n} question(s) refer to a figure or table that the article's text lacks.",
        refers_to_figure,
    ),
    (
        "identical_options",
        "problem",
        "{n} question(s) offer the same option text twice.",
        lambda case: len({_plain(text) for text in case.options.values()}) < len(case.options),
    ),
    (
        "letters_out_of_order",
        "warning",
        "In {n} question(s) the option letters do not run a, b, c in order.",
        lambda case: "".join(case.options) != ascii_lowercase[: len(case.options)],
    ),
    ("every_option_correct", "info", "In {n} question(s) every option is correct.", lambda c: c.correct == c.letters),
    ("with_essential", "info", "{n} question(s) name essential options.", lambda case: bool(case.essential)),
    ("with_unacceptable", "info", "{n} question(s) name unacceptable options.", lambda case: bool(case.unacceptable)),
    (
        "with_justification",
        "info",
        "{n} question(s) have a person's justification.",
        lambda c: bool(c.justification.strip()),
    ),
)


def _check_maximum(material: _Material) -> Iterator[Finding]:
    below = [case for case in material.cases if min(best_scores(case).values()) < 1.0]
    if below:
        maxima = reachable_maximum(material.cases)
        shown = ", ".join(f"{metric.title} {maxima[metric.name]:.4f}" for metric in METRICS if maxima[metric.name] < 1)
        text = f"No answer gets full marks on {{n}} question(s); the best possible means are {shown}."
        yield from _found("reachable_maximum", "warning", [_place(case) for case in below], text)


def _check_letters(material: _Material) -> Iterator[Finding]:
    offered = Counter(letter for case in material.cases for letter in case.options)
    correct = Counter(letter for case in material.cases for letter in case.correct)
    shown = ", ".join(f"{letter} {correct[letter] / offered[letter]:.1%}" for letter in sorted(offered))
    total = correct.total()
    yield Finding("correct_letters", "info", total, f"An option is correct where offered: {shown}.")


def _check_repetition(material: _Material) -> Iterator[Finding]:
    looks = [_Look(case) for case in material.cases]
    same: list[str] = []
    near: list[str] = []
    for one, two in combinations(looks, 2):
        if one.contents == two.contents:
            same.append(f"index {one.index} and index {two.index}")
        elif one.resembles(two):
            near.append(f"index {one.index} and index {two.index}")
    same_text = "{n} pair(s) of questions have the same text and the same options, perhaps in another order."
    yield from _found("duplicate_questions", "warning", same, same_text)
    near_text = "{n} pair(s) of questions share nine tenths of their words."
    yield from _found("near_identical_questions", "warning", near, near_text)
    stems = Counter(_plain(case.question) for case in material.cases)
    shared = _where(material.cases, lambda case: stems[_plain(case.question)] > 1)
    yield from _found("shared_question_text", "info", shared, "{n} question(s) are worded like another one.")


class _Look:
    """What two questions are compared by."""

    def __init__(self, case: Case) -> None:
        self.index = case.index
        options = [_plain(text) for text in case.options.values()]
        self.contents = (_plain(case.question), frozenset(options))
        self.words = frozenset(re.findall(r"\w+", " ".join([_plain(case.question), *options])))

    def resembles(self, other: _Look) -> bool:
        small, large = sorted((len(self.words), len(other.words)))
        if small < _NEAR * large:  # cheap, and settles most pairs
            return False
        return len(self.words & other.words) >= _NEAR * len(self.words | other.words)


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _check_articles(material: _Material) -> Iterator[Finding]:
    sizes = Counter(case.article_id for case in material.cases)
    if sizes:
        text = f"Questions come in {len(sizes)} clusters of {min(sizes.values())} to {max(sizes.values())} per article."
        yield Finding("clusters", "info", len(sizes), text)
    unused = sorted(set(material.articles) - set(sizes))
    yield from _found("article_without_questions", "info", unused, "{n} article(s) have no question.")
    yield from _found("unreadable_text", "problem", material.unreadable, "{n} text file(s) cannot be read as UTF-8.")
    for kind, texts, short in (
        ("article", material.articles, _SHORT_ARTICLE),
        ("abstract", material.abstracts, _SHORT_ABSTRACT),
    ):
        missing = sorted(set(sizes) - set(texts))
        yield from _found(f"{kind}_missing", "problem", missing, f"{{n}} {kind}(s) that questions need are missing.")
        brief = sorted(name for name, text in texts.items() if len(text.strip()) < short)
        yield from _found(f"{kind}_short", "warning", brief, f"{{n}} {kind}(s) have fewer than {short} characters.")


def _check_budgets(material: _Material) -> Iterator[Finding]:
    tokenizer = EstimateTokenizer()
    sources = {"article": material.articles, "abstract": material.abstracts}
    for condition in CONTEXTS.values():
        texts = sources.get(condition.source, {})
        long = sorted(name for name, text in texts.items() if tokenizer.count(text) >= condition.budget)
        text = (
            f"{{n}} {condition.source}(s) reach {condition.budget} tokens by estimate and are cut in the condition "
            f"{condition.name!r}."
        )
        yield from _found(f"cut_in_{condition.name}", "info", long, text)


def _check_context_flags(material: _Material) -> Iterator[Finding]:
    known = {case.id for case in material.cases}
    if material.flagged is None:
        text = "The file that says which questions need context is missing."
        yield Finding("requires_context_missing", "problem", 1, text)
        return
    records = [record for record in material.flagged if isinstance(record, dict)]
    strange = [str(record.get("id"))[:12] for record in records if str(record.get("id")) not in known]
    yield from _found(
        "requires_context_unknown", "problem", strange, "{n} question(s) annotated for context are not in the set."
    )
    needing = sum(record.get("requires_context") is True for record in records)
    text = f"{len(records)} question(s) are annotated for context, {needing} of them need it."
    yield Finding("requires_context", "info", len(records), text)


def _check_english(material: _Material) -> Iterator[Finding]:
    if material.english is None:
        yield Finding("english_missing", "info", 1, "The English translation is not here and was not examined.")
        return
    english, refused = _parse(material.english, material.layout.questions("en"), "en")
    yield from _found("english_unusable", "problem", refused, "{n} English question(s) cannot be used.")
    french = {case.id: case for case in material.cases}
    yield from _found(
        "english_ids", "problem", _one_sided(english, french), "{n} question(s) are in one language only."
    )
    pairs = [(french[case.id], case) for case in english if case.id in french]
    for code, severity, what, aspect in _LANGUAGE_RULES:
        places = [_place(two) for one, two in pairs if aspect(one) != aspect(two)]
        yield from _found(f"english_{code}", severity, places, f"{{n}} question(s) have {what} in English.")


#: What both languages must share: code, severity, what differs, how to see it.
_LANGUAGE_RULES: tuple[tuple[str, Severity, str, Callable[[Case], object]], ...] = (
    ("order", "warning", "another place in the file", lambda case: case.index),
    ("key", "problem", "another key", answer_key),
    ("options", "problem", "other option letters", lambda case: tuple(case.options)),
    ("article", "problem", "another article", lambda case: case.article_id),
    ("labels", "warning", "other labels", lambda case: frozenset(case.labels)),
    ("dates", "info", "another date of exam or article", lambda case: (case.exam_date, case.article_date)),
    ("figure_or_table", "info", "a mention of a figure or table gained or lost", refers_to_figure),
)


def _one_sided(cases: Iterable[Case], others: Iterable[str]) -> list[str]:
    return [case_id[:12] for case_id in sorted({case.id for case in cases}.symmetric_difference(others))]


def _check_shuffled(material: _Material) -> Iterator[Finding]:
    """A file with the options in another order must mark the same option *texts*."""
    if material.shuffled is None:
        return
    file = material.layout.questions("fr").with_name("questions_shuffled.json")
    shuffled, refused = _parse(material.shuffled, file, "fr")
    yield from _found("shuffled_unusable", "problem", refused, "{n} question(s) of the shuffled file cannot be used.")
    original = {case.id: case for case in material.cases}
    pairs = [(original[case.id], case) for case in shuffled if case.id in original]
    for name in ("correct", "essential", "unacceptable"):
        places = [_place(two) for one, two in pairs if _marked(one, name) != _marked(two, name)]
        text = f"{{n}} question(s) of the shuffled file mark other {name} options than the set: do not use that file."
        yield from _found(f"shuffled_{name}", "warning", places, text)
    alone = _one_sided(shuffled, original)
    yield from _found("shuffled_ids", "warning", alone, "{n} question(s) are in the set or in the shuffled file only.")


def _marked(case: Case, name: str) -> set[str]:
    """The texts of the options that the key lists as ``name``."""
    return {_plain(case.options[letter]) for letter in answer_key(case)[f"{name}_answers"]}


_CHECKS: tuple[Callable[[_Material], Iterator[Finding]], ...] = (
    _check_records,
    _check_questions,
    _check_maximum,
    _check_letters,
    _check_repetition,
    _check_articles,
    _check_budgets,
    _check_context_flags,
    _check_english,
    _check_shuffled,
)
