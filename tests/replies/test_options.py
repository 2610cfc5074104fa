"""Which options a reply chooses."""

from __future__ import annotations

import json
import os
from itertools import permutations
from pathlib import Path

import pytest

from judge.replies import Reading, choose_options, read_options
from tests.replies.corpus import REPLIES, Labelled

FIVE = {
    "a": "Les groupes sont comparables à l'inclusion",
    "b": "L'allocation est stratifiée sur le centre",
    "c": "Le nombre de sujets nécessaires est atteint",
    "d": "Les analyses intermédiaires sont prévues",
    "e": "Le seuil de significativité est ajusté",
}
FOUR = {"A": "Insulin", "B": "Glucagon", "C": "Cortisol", "D": "Adrenaline"}


@pytest.mark.parametrize("labelled", REPLIES, ids=lambda labelled: labelled.id)
def test_reads_what_a_careful_reader_reads(labelled: Labelled) -> None:
    chosen = choose_options(labelled.reply, labelled.options, multiple=labelled.multiple)
    assert chosen == labelled.expected, labelled.reply


def _shared_corpus() -> Path | None:
    folder = os.environ.get("MEDJUDGE_CORPORA")
    if folder is None and "MEDJUDGE_DATA" in os.environ:
        folder = str(Path(os.environ["MEDJUDGE_DATA"]).parent / "corpora")
    path = Path(folder or "corpora") / "mcq_answers.jsonl"
    return path if path.is_file() else None


def test_reads_every_line_of_the_shared_corpus() -> None:
    path = _shared_corpus()
    if path is None:
        pytest.skip("no mcq_answers.jsonl: set MEDJUDGE_CORPORA to its folder, or MEDJUDGE_DATA to a folder beside it")
    wrong = []
    for line in filter(None, path.read_text(encoding="utf-8").split("\n")):
        case = json.loads(line)
        chosen = choose_options(case["response"], case["options"], multiple=case["benchmark"] == "caremedeval")
        if chosen != (None if case["expected"] is None else frozenset(case["expected"])):
            wrong.append((case["id"], case["response"], chosen))
    assert not wrong


@pytest.mark.parametrize(
    ("reply", "how"),
    [
        ("B", "bare"),
        ("The answer is B.", "anchored"),
        ("Réponse finale : B", "bare"),
        ('{"answer": "B"}', "json"),
        ("B, because it raises glucose.", "leading"),
        ("Glucagon raises glucose, so B.", "conclusion"),
        ("A: false\nB: true\nC: false\nD: false", "per_option"),
        ("It raises glucose in fasting.\n\nB", "trailing"),
        ("Glucagon", "option_text"),
        ("A, C and D are wrong.", "elimination"),
        ("I cannot answer this.", "refusal"),
        ("", "empty"),
        ("<think>B", "truncated_reasoning"),
        ("A and B", "ambiguous"),
        ("None of the above", "none"),
        ("F", "not_an_option"),
        ("A) Insulin\nB) Glucagon\nC) Cortisol\nD) Adrenaline", "echo"),
        ("Hormones act at a distance.", "no_answer"),
    ],
)
def test_names_the_rule_that_decided(reply: str, how: str) -> None:
    assert read_options(reply, FOUR, multiple=False).how == how


@pytest.mark.parametrize(
    "reply",
    [
        "A, C",
        "a,c",
        "A; C",
        "A et C",
        "A C",
        "**A, C**",
        "Réponse : A, C.",
        "Answer: A and C",
        "<think>B</think>\nA, C",
        "C",
    ],
)
def test_letters_alone_are_well_formed(reply: str) -> None:
    assert read_options(reply, FIVE, multiple=True).well_formed


@pytest.mark.parametrize(
    "reply", ["AC", "A à C", "A, C car c'est exact", "A : vrai", "A, F", "Toutes", "", '{"answer": "A"}', "Glucagon"]
)
def test_anything_more_than_letters_is_not_well_formed(reply: str) -> None:
    assert not read_options(reply, FIVE, multiple=True).well_formed


@pytest.mark.parametrize(
    "template",
    [
        "The answer isn't {other} but {letter}.",
        "It is not {other}. It is {letter}.",
        "The answer is {letter} because a car moves.",
        "I would pick {letter} — a safe choice.",
        "{letter} fits best",
        "Not {other} but {letter}",
    ],
)
def test_the_letter_a_is_read_as_any_other(template: str) -> None:
    for letter, other in permutations(FOUR, 2):
        reply = template.format(letter=letter, other=other)
        assert choose_options(reply, FOUR, multiple=False) == {letter}, reply


def test_letters_that_are_no_option_are_dropped_and_named() -> None:
    assert read_options("A, E", FOUR, multiple=True) == Reading(frozenset("A"), "bare", dropped=frozenset("E"))


def test_a_letter_that_is_no_option_is_no_answer() -> None:
    assert read_options("F", FIVE, multiple=True) == Reading(None, "not_an_option", dropped=frozenset("F"))


def test_none_of_them_is_an_answer_only_where_several_may_be_right() -> None:
    assert choose_options("Aucune", FIVE, multiple=True) == frozenset()
    assert choose_options("None of the above", FOUR, multiple=False) is None


def test_options_may_come_in_any_mapping_order() -> None:
    reversed_options = dict(reversed(list(FOUR.items())))
    assert choose_options("Answer: B", reversed_options, multiple=False) == {"B"}


@pytest.mark.parametrize("text", ["", " ", "\U0001f600", "None", "nan", "{}", "*", "a", "I"])
def test_an_option_may_have_any_text(text: str) -> None:
    options = {"A": text, "B": "Glucagon"}
    assert choose_options("Answer: B", options, multiple=False) == {"B"}
    assert choose_options("A", options, multiple=False) == {"A"}


def test_no_options_and_equal_texts_are_read_without_an_error() -> None:
    assert choose_options("A", {}, multiple=False) is None
    assert choose_options("same", {"A": "same", "B": "same"}, multiple=False) is None
    assert choose_options("B", {"A": "same", "B": "same"}, multiple=False) == {"B"}
