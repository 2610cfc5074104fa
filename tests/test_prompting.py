"""Prompts: filled in once and strictly; replaceable by the user's own."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.errors import DataError, SpecError
from judge.prompting import Prompt, load_prompts

NAMES = ("doctor.without_article.fr.v1", "reask.fr.v1")


def prompt(text: str) -> Prompt:
    return Prompt("p", text, replaced=False)


def test_given_variables_when_a_prompt_is_filled_then_each_is_replaced_everywhere() -> None:
    assert prompt("{{a}} and {{ b_2 }}, {{a}}").fill(a="1", b_2="2") == "1 and 2, 1"


@pytest.mark.parametrize(
    "value",
    ["{{question}}", "{{ a }}", "{x}", "{", "}}", "\\1 \\g<0>", "$a %s", "</answer>", "{{unknown}}", "\u2028", ""],
)
def test_given_a_value_with_braces_when_a_prompt_is_filled_then_it_stays_what_it_is(value: str) -> None:
    assert prompt("<{{a}}|{{question}}>").fill(a=value, question="Q") == f"<{value}|Q>"


@given(st.text(), st.text())
def test_given_any_values_when_a_prompt_is_filled_then_they_stand_as_they_are(first: str, second: str) -> None:
    assert prompt("1{{a}}2{{b}}3").fill(a=first, b=second) == f"1{first}2{second}3"


@pytest.mark.parametrize("variable", ["question", "Question", "q1", "_x"])
def test_given_a_variable_without_a_value_when_a_prompt_is_filled_then_the_error_names_it_and_what_there_is(
    variable: str,
) -> None:
    with pytest.raises(SpecError, match=rf"prompt p uses {{{{{variable}}}}}, which does not exist; there are: a, b"):
        prompt(f"{{{{ {variable} }}}} {{{{a}}}}").fill(a="1", b="2")


@pytest.mark.parametrize("text", ["{a}", "{{}}", "{{ }}", "{{a b}}", '{{"a": 1}}', "{ {a} }", "{{é}}"])
def test_given_braces_that_are_no_variable_when_a_prompt_is_filled_then_they_stay(text: str) -> None:
    assert prompt(text).variables == frozenset()
    assert prompt(text).fill() == text


def test_given_the_built_in_prompts_when_they_are_loaded_then_their_hashes_are_those_of_their_texts() -> None:
    prompts = load_prompts("caremedeval", NAMES)
    assert set(prompts) == set(NAMES)
    assert len(prompts) == len(NAMES)
    for name, text in prompts.items():
        assert prompts.hashes()[name] == hashlib.sha256(text.text.encode()).hexdigest()
    assert prompts.replaced() == ()


@pytest.mark.parametrize("layout", ["", "caremedeval"])
def test_given_a_folder_of_ones_own_when_prompts_are_loaded_then_the_file_of_the_same_name_replaces(
    tmp_path: Path, layout: str
) -> None:
    name, other = NAMES
    folder = tmp_path / layout
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.md").write_bytes(b"\xef\xbb\xbfMine:\r\n{{question}}\r\n\r\n")
    mine, built_in = load_prompts("caremedeval", NAMES, tmp_path), load_prompts("caremedeval", NAMES)

    assert mine[name] == Prompt(name, "Mine:\n{{question}}", built_in[name].variables, replaced=True)
    assert mine.replaced() == (name,)
    assert mine.hashes()[name] != built_in.hashes()[name]
    assert mine.hashes()[other] == built_in.hashes()[other]


def test_given_both_layouts_when_prompts_are_loaded_then_the_folder_itself_wins(tmp_path: Path) -> None:
    (tmp_path / "caremedeval").mkdir()
    (tmp_path / "caremedeval" / f"{NAMES[0]}.md").write_text("below", encoding="utf-8")
    (tmp_path / f"{NAMES[0]}.md").write_text("above", encoding="utf-8")
    assert load_prompts("caremedeval", NAMES, tmp_path)[NAMES[0]].text == "above"


def test_given_a_folder_that_replaces_nothing_when_prompts_are_loaded_then_the_error_names_the_files(
    tmp_path: Path,
) -> None:
    (tmp_path / "reask.en.v1.md").write_text("x", encoding="utf-8")
    with pytest.raises(SpecError, match=rf"holds none of this run's prompts: {NAMES[0]}\.md"):
        load_prompts("caremedeval", NAMES, tmp_path)


def test_given_no_folder_when_prompts_are_loaded_then_the_error_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for place in (tmp_path / "none", tmp_path / "file"):
        with pytest.raises(SpecError, match="no such folder"):
            load_prompts("caremedeval", NAMES, place)


def test_given_a_file_that_is_no_text_when_prompts_are_loaded_then_the_error_names_it(tmp_path: Path) -> None:
    (tmp_path / f"{NAMES[0]}.md").write_bytes(b"caf\xe9")
    with pytest.raises(DataError, match=r"not UTF-8 text \(byte 3\)"):
        load_prompts("caremedeval", NAMES, tmp_path)


def test_given_a_name_that_does_not_exist_when_prompts_are_loaded_then_the_error_names_the_file() -> None:
    with pytest.raises(DataError, match=r"none\.v9\.md: cannot be read"):
        load_prompts("caremedeval", ("none.v9",))


def test_given_ones_own_prompt_with_an_unknown_variable_when_loaded_then_the_error_names_it(tmp_path: Path) -> None:
    (tmp_path / f"{NAMES[0]}.md").write_text("{{question}} {{answer_key}}", encoding="utf-8")
    with pytest.raises(SpecError, match=r"\{\{answer_key\}\}, which does not exist"):
        load_prompts("caremedeval", NAMES, tmp_path)


def test_given_ones_own_prompt_without_a_variable_when_loaded_then_the_run_can_say_so(tmp_path: Path) -> None:
    (tmp_path / f"{NAMES[0]}.md").write_text("{{question}}", encoding="utf-8")
    prompts = load_prompts("caremedeval", NAMES, tmp_path)
    assert any("does not use {{options}}" in omission for omission in prompts.omissions())


def test_given_a_misspelt_file_when_prompts_are_loaded_then_the_error_names_it(tmp_path: Path) -> None:
    (tmp_path / f"{NAMES[0]}.md").write_text("{{question}}", encoding="utf-8")
    (tmp_path / "reask.fr.md").write_text("Encore.", encoding="utf-8")
    (tmp_path / "README.md").write_text("My prompts.", encoding="utf-8")
    with pytest.raises(SpecError, match=r"reask\.fr\.md: no prompt has this name; there are: .*reask\.fr\.v1\.md"):
        load_prompts("caremedeval", NAMES, tmp_path)
