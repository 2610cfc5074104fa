"""Damaged replies. ``python -m tests.replies_doctor.mutations 20000`` reads that many of the published outputs."""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator

from judge.replies.requests import asks_nothing, split_requests, writes_examiner
from judge.replies.sections import answer_text, read_sections
from judge.replies.steps import split_steps_with_style
from tests.data import real_data

_SCRAPS = (
    "<step 2>",
    "</step>",
    "Step 3:",
    "第一步：",
    "### Answer:",
    "**Conclusion:**",
    "\n",
    "\r\n",
    "\n\n",
    "```",
    "**",
    "|",
    "#",
    "<think>",
    "<br>",
    "<brain",
    "</think>",
    "> Reasoning\n",
    "Reasoned for 3 seconds\n",
    "1. ",
    "- ",
    "(",
    ")",
    ":",
    "\x00",
    "\ud800",
    "\u200b",
    "é",
    "{x}",
    "None",
    "### Additional Information Required:",
    "Examiner:",
    "\u2028",
    "  ",
    "\t",
    "<",
    ">",
    "*",
    "_",
    ".",
    ",",
)


def mutated(text: str, chance: random.Random) -> str:
    """The text after a few random deletions, insertions, swaps and repetitions."""
    for _ in range(chance.randint(1, 8)):
        start = chance.randint(0, len(text))
        end = min(len(text), start + chance.choice((1, 3, 20, 200)))
        kind = chance.randrange(5)
        if kind == 0:
            text = text[:start] + text[end:]
        elif kind == 1:
            text = text[:start] + chance.choice(_SCRAPS) + text[start:]
        elif kind == 2:
            text = text[:start] + text[start:end] * 3 + text[end:]
        elif kind == 3:
            text = text[end:] + text[start:end] + text[:start]
        else:
            text = text[:start] + text[start:end].swapcase() + text[end:]
    return text


def read_all(text: str) -> None:
    """Read a text in every way and check what always holds."""
    steps = split_steps_with_style(text)
    assert all(step == step.strip() and step for step in steps.steps)
    assert bool(steps.steps) == (steps.style != "none")
    answer_text(text)
    sections = read_sections(text)
    for field in (sections.additional_information, sections.conclusion, text):
        if field is not None:
            assert isinstance(asks_nothing(field), bool)
            assert all(split_requests(field))
    writes_examiner(text)


def published() -> Iterator[str]:
    """All published outputs."""
    for name in ("oracle_diagnosis.json", "treatment_planning.json"):
        cases = json.loads((real_data("medrbench") / name).read_text(encoding="utf-8"))
        yield from (output["content"] for models in cases.values() for output in models.values())


def main() -> None:
    """Read as many damaged outputs as asked for."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    texts, chance, slowest = list(published()), random.Random(20_000), 0.0
    for _ in range(count):
        start = time.perf_counter()
        read_all(mutated(chance.choice(texts), chance))
        slowest = max(slowest, time.perf_counter() - start)
    print(f"{count} damaged outputs read, none raised; the slowest took {slowest:.3f} s")


if __name__ == "__main__":
    main()
