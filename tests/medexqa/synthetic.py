"""Made-up files in the official layout, to be damaged in tests."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

Fields = list[str]

BE = "biomedical_engineer"
SLP = "speech_pathologist"

_SYLLABLES = ("bor", "cal", "dun", "fes", "gim", "hol", "jat", "kev", "lum", "mip", "nor", "pes", "quo", "rud", "siv")


def fields(number: int = 0, **changes: str) -> Fields:
    """The eight fields of a valid row; ``changes`` replace some: question, a, b, c, d, first, second, answer."""
    values = {
        "question": f"Invented question {number}?",
        "a": f"left {number}",
        "b": f"right {number}",
        "c": f"upper {number}",
        "d": f"lower {number}",
        "first": f"Because right {number} is so.",
        "second": f"It is right {number} indeed.",
        "answer": "B",
    }
    return list((values | changes).values())


def text(rows: Sequence[Fields]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


def write(root: Path, content: str | bytes | Sequence[Fields], specialty: str = BE, split: str = "test") -> Path:
    """Write one file below ``root`` and return it."""
    file = root / split / f"{specialty}_{split}.tsv"
    file.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        file.write_bytes((content if isinstance(content, str) else text(content)).encode())
    return file


def quiz(size: int, *, seed: int, slip: int = 0, slips_from: int = 0, noise: float = 0.1) -> list[Fields]:
    """Questions whose explanations name the right option, with letters that may stand in the wrong rows.

    Args:
        slip: the right letter of a row is found this many rows further down.
        slips_from: first row whose letter is in the wrong place.
        noise: share of rows whose explanations name another option.
    """
    dice = random.Random(seed)
    rows = [_question(dice, noise) for _ in range(size)]
    right = [row[-1] for row in rows]
    moved = [dice.choice("ABCD") for _ in rows] if slip else right
    for row in range(size):
        if slip and 0 <= row + slip < size:
            moved[row + slip] = right[row]
    letters = [right[row] if row < slips_from else moved[row] for row in range(size)]
    return [[*row[:-1], letter] for row, letter in zip(rows, letters, strict=True)]


def _question(dice: random.Random, noise: float) -> Fields:
    options = [first + "".join(dice.sample(_SYLLABLES, 2)) for first in dice.sample(_SYLLABLES, 4)]
    right = dice.randrange(4)
    named = dice.randrange(4) if dice.random() < noise else right
    stem = " ".join("".join(dice.sample(_SYLLABLES, 2)) for _ in range(5))
    explanations = [f"The {options[named]} is meant here.", f"It has to be {options[named]}, whatever else is said."]
    return [f"Which {stem}?", *options, *explanations, "ABCD"[right]]
