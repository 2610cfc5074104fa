"""A made-up data set in the official layout, to be damaged in tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphs.caremedeval.cases import Case

Raw = dict[str, Any]


def question(number: int, **changes: Any) -> Raw:
    """One valid record; ``changes`` replace fields."""
    record: Raw = {
        "id": f"id{number}",
        "id_article": "article_1",
        "source_exam": "https://example.org/exam",
        "date_exam": "2020",
        "article_link": "https://example.org/article",
        "article_date": "2019",
        "question": f"Invented question {number}?",
        "answers": {letter: f"choice {letter} of {number}" for letter in "abcde"},
        "correct_answers": ["a", "c"],
        "essential_answers": [],
        "unacceptable_answers": [],
        "labels": ["design"],
        "justification": "",
        "nb_correct_answers": 2,
    }
    return record | changes


def without(record: Raw, *names: str) -> Raw:
    return {name: value for name, value in record.items() if name not in names}


def write_json(file: Path, content: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def write_data(
    root: Path,
    questions: Sequence[Any] = (),
    *,
    english: Sequence[Any] | None = None,
    flags: Sequence[Any] = (),
    articles: Sequence[str] = ("article_1",),
) -> Path:
    """Write a data set of these questions below ``root`` and return ``root``."""
    everything = root / "original" / "all"
    write_json(everything / "questions.json", list(questions) or [question(0), question(1)])
    write_json(root / "original" / "requires_context" / "questions_requires_context.json", list(flags))
    if english is not None:
        write_json(root / "english_only" / "all" / "questions_en.json", list(english))
        folder = root / "english_only" / "requires_context"
        write_json(folder / "questions_requires_context_en.json", list(flags))
    for name in articles:
        for folder, length in (("articles", 3000), ("articles_abstract", 600)):
            file = everything / folder / f"{name}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{folder} {name} " + "word " * (length // 5), encoding="utf-8")
    return root


def case(
    correct: str, *, options: str = "abcde", essential: str = "", unacceptable: str = "", article: str = "article_1"
) -> Case:
    """A case given by its letters only."""
    return Case(
        id=f"id-{correct}-{article}",
        article_id=article,
        question="Invented?",
        options={letter: f"choice {letter}" for letter in options},
        correct=frozenset(correct),
        essential=frozenset(essential),
        unacceptable=frozenset(unacceptable),
        labels=("design",),
        justification="",
        requires_context=None,
        index=0,
        exam_date="2020",
        article_date="2019",
        exam_link="",
        article_link="",
        language="fr",
    )
