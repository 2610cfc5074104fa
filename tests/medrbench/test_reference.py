"""Reference steps by rules: atomic, at most ten, nothing lost; over hand-written texts and over every real case."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs.medrbench import BENCHMARK
from graphs.medrbench.cases import load_cases
from graphs.medrbench.files import CaseKind
from graphs.medrbench.records import to_record
from graphs.medrbench.reference import merged_statements, reference_parts, split_reference
from graphs.medrbench.reference_sentences import sentences
from judge.errors import DataError
from tests.data import real_data
from tests.medrbench.synthetic import record, write_data

CANDIDATES = """1. **Initial Differential Diagnoses:**
   - Otitis externa.
   - Eczema (e.g., contact, atopic or seborrhoeic).
   - Foreign body.

2. **Rationale for Inclusion/Exclusion:**
   - **Eczema:** Excluded, as there were no scales. No new shampoo was used.
   - **Foreign body:** None was seen.

3. **Ruled out:**
   - Mastoiditis: no swelling behind the ear.
   - Herpes zoster

---
"""

CONCLUSION = "**Otomycosis** of the left ear. It was confirmed by culture, which grew *Aspergillus niger*."


def test_an_item_is_a_step_with_its_heading_and_the_conclusion_stands_apart() -> None:
    assert split_reference(CANDIDATES, CONCLUSION) == (
        "Initial Differential Diagnoses: Otitis externa. Eczema (e.g., contact, atopic or seborrhoeic). Foreign body.",
        "Eczema: Excluded, as there were no scales. No new shampoo was used.",
        "Foreign body: None was seen.",
        "Ruled out: Mastoiditis: no swelling behind the ear.",
        "Ruled out: Herpes zoster",
        "Otomycosis of the left ear.",
        "It was confirmed by culture, which grew Aspergillus niger.",
    )


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("- **Step 1:** A fits.\n- **Step 2:** B does not.", ["A fits.", "B does not."]),
        ("- **Step 1: Exclusion of B**\n  - No fever.", ["Exclusion of B: No fever."]),
        (
            "- Objectives:\n  1. Stop pain.\n  2. Save the tooth.",
            ["Objectives: Stop pain.", "Objectives: Save the tooth."],
        ),
        ("- **Objectives:**\n  - 1. Stop pain.", ["Objectives: Stop pain."]),
        ("- Rationale:\n  The canal is open. It drains.", ["The canal is open.", "It drains."]),
        ("**Case 1:**\n- A.\n- B.\n\n**Case 2:**\n- C.", ["Case 1: A.", "Case 1: B.", "Case 2: C."]),
        ("#### Patient 1\n- A.\n#### Patient 2\n- B.", ["Patient 1: A.", "Patient 2: B."]),
        ("**Otomycosis of both ears**", ["Otomycosis of both ears"]),
        ("**Otomycosis of both ears.**\nCulture proved it.", ["Otomycosis of both ears.", "Culture proved it."]),
        ("- One line that\n  goes on here.\n- Two.", ["One line that goes on here.", "Two."]),
        ("- A fits.\n- Ruled out:\n", ["A fits."]),
        ("Considered were:\n- Eczema\n- Zoster", ["Considered were: Eczema; Zoster"]),
        ("s\n\nDrain both ears.", ["s Drain both ears."]),
        ("Ruled out:", ["Ruled out"]),
        (" \n", []),
    ],
)
def test_the_layouts_of_the_data(text: str, steps: list[str]) -> None:
    assert list(split_reference(text)) == steps


def test_a_long_introduction_is_said_once() -> None:
    lead = "Three days of itching after swimming in a lake that others had left with the same complaint spoke for these"
    text = (
        f"{lead}:\n- Otitis externa was likely because of the pain on pulling at the ear that day.\n- Zoster was not."
    )
    first, second = split_reference(text)
    assert first.startswith(f"{lead}: Otitis externa")
    assert second == "Zoster was not."


def test_an_item_of_more_than_sixty_words_is_split_at_its_sentences() -> None:
    sentence = " ".join(["word"] * 30) + "."
    whole, longer = f"- {sentence.capitalize()} {sentence.capitalize()}", f"- {' '.join([sentence.capitalize()] * 3)}"
    assert len(split_reference(whole)) == 1
    assert split_reference(longer) == (sentence.capitalize(),) * 3


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Seen by Dr. Bell. He agreed.", 2),
        ("Eczema vs. Zoster. See Fig. 2 and no. 3. The rest fits.", 3),
        ("It measured 2.5 cm. E. coli grew. Vitamin D. The rest was normal.", 4),
        ("S. Typhi was absent.", 1),
        ("Cf. Smith et al. 2020.", 1),
        ("Fungi (e.g., A. niger. Others were not found) were seen. Done.", 2),
        ('He said "no." Then he left.', 2),
        ("Grade 2. Three remained! Why? Nobody knew.", 4),
        ("mild pain. then none.", 1),
    ],
)
def test_where_sentences_end(text: str, count: int) -> None:
    found = sentences(text)
    assert len(found) == count, found
    assert " ".join(found) == text


def test_beyond_ten_neighbours_under_one_heading_are_joined_first_and_the_shortest_of_them() -> None:
    """Ten candidates and a conclusion: only the two about zoster share a heading, though others are shorter."""
    items = [f"- C{n}: no." for n in range(8)]
    text = "\n".join([*items, "- **Zoster:**", "  - Considered for the pain in the ear.", "  - Excluded by its skin."])
    steps = split_reference(text, "Otomycosis.")
    assert len(steps) == 10
    assert steps[8] == "Zoster: Considered for the pain in the ear. Excluded by its skin."
    assert steps[0] == "C0: no."


def test_beyond_ten_without_headings_the_shortest_neighbours_are_joined_and_the_conclusion_is_not() -> None:
    """Lengths 20, 4, 4, 20, …: the two of 4 characters become one; the conclusion, shorter still, stays apart."""
    long = "word " * 3 + "word."
    steps = split_reference("\n".join([f"- {long}", "- A b.", "- C d.", *[f"- {long}"] * 7]), "X.")
    assert steps == (long, "A b. C d.", *[long] * 7, "X.")


@given(st.lists(st.sampled_from(["- A fits.", "  - B", "1. C:", "**D:**", "", "E. F", "---", "# G", "x", "Step 1: H"])))
def test_any_text_gives_at_most_ten_steps_and_one_if_it_has_any_word(lines: list[str]) -> None:
    steps = split_reference("\n".join(lines))
    words = re.search(r"[A-Za-z]", re.sub(r"Step 1:", "", "\n".join(lines)))
    assert bool(words) == bool(steps)
    assert len(steps) <= 10
    assert all(step.strip() for step in steps)


# --- the real data

_MARKS = re.compile(r"^\s*(?:[-•*+–—]\s+)?(?:\(?\d{1,2}[.)](?!\d)\s*|[A-Za-z][.)]\s+)?(?:#+\s+)?")


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def line_words(line: str) -> list[str]:
    """A line's words without number, bullet, ``Step n`` and emphasis."""
    return words(re.sub(r"(?i)^(\W*)step \d+\W+", r"\1", _MARKS.sub("", line)))


def may_be_heading(line: str, following: str) -> bool:
    deeper = len(following) - len(following.lstrip()) > len(line) - len(line.lstrip())
    return line.rstrip("*_ ").endswith(":") or line.lstrip().startswith("#") or deeper


def is_whole(parts: tuple[str, ...]) -> bool:
    """Whether the steps' own words are those of the text, line after line, but for lines that may be headings.

    Where a heading begins like the line under it, both readings are followed.
    """
    kept = [word for step in merged_statements(parts) for statement in step for word in words(statement.text)]
    lines = [line for part in parts for line in part.split("\n") if line.strip()]
    places = {0}
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        own = line_words(line)
        after = {place + len(own) for place in places if kept[place : place + len(own)] == own}
        places = after | (places if may_be_heading(line, following) else set())
    return len(kept) in places


@cache
def real_parts(kind: CaseKind) -> dict[str, tuple[str, str]]:
    return {case.id: reference_parts(to_record(case)) for case in load_cases(real_data("medrbench"), kind)}


@pytest.mark.data
@pytest.mark.parametrize(("kind", "cases"), [("diagnosis", 957), ("treatment", 100)])
def test_every_real_reference_is_split_into_three_to_ten_steps_and_nothing_is_lost(kind: CaseKind, cases: int) -> None:
    parts = real_parts(kind)
    assert len(parts) == cases
    assert [case_id for case_id, own in parts.items() if not is_whole(own)] == []
    steps = {case_id: split_reference(*own) for case_id, own in parts.items()}
    assert {case_id for case_id, own in steps.items() if not 3 <= len(own) <= 10} == set()
    assert not any("**" in step for own in steps.values() for step in own)


@pytest.mark.data
def test_headings_that_say_which_side_their_items_are_on_are_never_dropped() -> None:
    for case_id, parts in real_parts("diagnosis").items():
        text = " ".join(split_reference(*parts))
        for heading in re.findall(
            r"^\d\. \*\*((?:Exclusion|Ruling Out|Excluded)[^*:]*):?\*\*:?\s*\n\s+- ", parts[0], re.M
        ):
            assert heading in text, case_id


@pytest.mark.data
def test_there_are_about_as_many_steps_as_a_model_made_of_the_same_references() -> None:
    """A 7B model's splits of all 957 have 6.87 steps on average, with 12 beyond ten; ours may differ, but not much."""
    file = real_data("medrbench") / "judged" / "reasoning_deepseek-r1_qwen2.5-7b_957.jsonl"
    theirs = {row["case_id"]: len(row["gt_steps"]) for row in map(json.loads, file.open(encoding="utf-8"))}
    ours = {case_id: len(split_reference(*parts)) for case_id, parts in real_parts("diagnosis").items()}
    assert sum(theirs.values()) / 957 == pytest.approx(6.87, abs=0.01)
    assert sum(abs(ours[case_id] - count) for case_id, count in theirs.items()) / 957 < 1.5


# --- as the benchmark gives them


def loaded(folder: Path, kind: str = "diagnosis", **changes: Any) -> Any:
    setting = "treatment" if kind == "treatment" else "oracle"
    data = write_data(folder, {"PMC1": record(kind=kind, **changes), "PMC2": record(kind=kind)}, kind)
    return BENCHMARK.load(data, {"setting": [setting]}).cases


def test_the_benchmark_pins_the_steps_of_its_cases(tmp_path: Path) -> None:
    references = BENCHMARK.references(loaded(tmp_path))
    assert (references.benchmark, references.kind, references.splitter) == ("medrbench", "diagnosis", "rules.v1")
    assert references.parameters == {"most": 10, "prompt": ""}
    assert references.cases["PMC1"].steps == (
        "Eczema: no scales.",
        "Yeast: grew.",
        "Yeast infection of the ear canal.",
    )


def test_treatment_is_measured_against_analysis_and_plan(tmp_path: Path) -> None:
    references = BENCHMARK.references(loaded(tmp_path, "treatment"))
    assert references.kind == "treatment"
    assert references.cases["PMC2"].steps == ("Dry the ear.", "Clotrimazole drops.")


def test_a_reference_without_words_cannot_be_pinned(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="case PMC1: there are no words"):
        BENCHMARK.references(loaded(tmp_path, differential_diagnosis="---", final_diagnosis="---"))


def test_the_hash_follows_the_reference_text_and_nothing_else_of_the_case(tmp_path: Path) -> None:
    one = BENCHMARK.references(loaded(tmp_path / "a"))
    same = BENCHMARK.references(loaded(tmp_path / "b", raw_case="Another report."))
    other = BENCHMARK.references(loaded(tmp_path / "c", final_diagnosis="Yeast infection of the ear  canal."))
    assert one.hash == same.hash
    assert one.cases["PMC1"].steps == other.cases["PMC1"].steps
    assert one.cases["PMC1"].hash != other.cases["PMC1"].hash
    assert one.cases["PMC2"].hash == other.cases["PMC2"].hash
