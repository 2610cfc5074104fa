"""Pinned reference steps: what their hashes cover, and every way in which a file of them can be wrong."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judge.errors import DataError, UserError
from judge.references import References, check_replaces, pin, pin_edited, read_references, write_references

TEXTS = {"b": "Eczema was excluded. Yeast grew.", "a": "Wax, naïvely."}
STEPS = {"b": ("Eczema was excluded.", "Yeast grew."), "a": ("Wax, naïvely.",)}


def made(splitter: str = "rules.v1", **changes: Any) -> References:
    given = {"texts": TEXTS, "steps": STEPS, "parameters": {"most": 10, "prompt": ""}} | changes
    return pin("bench", "diagnosis", splitter, given["parameters"], given["texts"], given["steps"])


def sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def written(folder: Path, references: References | None = None) -> Path:
    file = folder / "steps.json"
    write_references(references or made(), file)
    return file


def changed(file: Path, edit: Callable[[dict[str, Any]], object]) -> Path:
    document = json.loads(file.read_text(encoding="utf-8"))
    edit(document)
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


def test_a_case_s_hash_is_over_canonical_json_of_all_that_decides_its_steps() -> None:
    canonical = (
        '{"case":"a","parameters":{"most":10,"prompt":""},"splitter":"rules.v1","steps":["Wax, naïvely."],'
        f'"text":"{sha("Wax, naïvely.")}"}}'
    )
    assert made().cases["a"].hash == sha(canonical)


def test_the_hash_of_all_is_over_the_hashes_of_the_cases_whatever_their_order() -> None:
    references = made()
    a, b = references.cases["a"].hash, references.cases["b"].hash
    assert references.hash == sha(f'{{"a":"{a}","b":"{b}"}}')
    assert references.hash_of(["b", "a", "b"]) == references.hash
    assert references.hash_of(["a"]) == sha(f'{{"a":"{a}"}}')
    with pytest.raises(DataError, match="no reference steps of case c"):
        references.hash_of(["a", "c"])


@pytest.mark.parametrize(
    "other",
    [
        made("rules.v2"),
        made(parameters={"most": 9, "prompt": ""}),
        made(parameters={"most": 10, "prompt": "aa"}),
        made(texts=TEXTS | {"a": "Wax,  naïvely."}),
        made(steps=STEPS | {"a": ("Wax,", "naïvely.")}),
    ],
)
def test_whatever_decides_a_case_s_steps_moves_its_hash(other: References) -> None:
    assert other.cases["a"].hash != made().cases["a"].hash


def test_a_file_gives_back_what_was_written_in_the_order_of_the_cases(tmp_path: Path) -> None:
    file = written(tmp_path)
    read = read_references(file)
    assert (list(read.cases), read.file) == (["b", "a"], str(file))
    assert (read.cases, read.hash, read.parameters) == (made().cases, made().hash, made().parameters)
    assert "naïvely" in file.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [file]


def edit_step(document: dict[str, Any]) -> None:
    document["cases"]["a"]["steps"][0] = "Wax."


def other_splitter(document: dict[str, Any]) -> None:
    document["splitter"] = "openai:gpt-4.1"


@pytest.mark.parametrize("edit", [edit_step, other_splitter])
def test_steps_that_are_not_those_that_were_pinned_are_refused_and_it_is_said_how_to_pin_them(
    tmp_path: Path, edit: Callable[[dict[str, Any]], object]
) -> None:
    file = changed(written(tmp_path), edit)
    with pytest.raises(DataError) as error:
        read_references(file)
    for part in (str(file), "case ", "were changed after they were pinned", "--splitter person:NAME"):
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda d: d.update(medjudge_reference=2), ["format 1"]),
        (lambda d: d.pop("splitter"), ["'splitter' is missing"]),
        (lambda d: d.update(kind=None), ["'kind' cannot be null"]),
        (lambda d: d.update(extra=1), ["'extra' is not known"]),
        (lambda d: d["cases"].update(a=[]), ["case a", "an object is expected"]),
        (lambda d: d["cases"]["a"].pop("hash"), ["case a", "'hash' is missing"]),
        (lambda d: d["cases"]["a"].update(steps="x"), ["case a", "'steps' cannot be a text"]),
        (lambda d: d["cases"]["a"].update(steps=[]), ["case a", "'steps' is empty"]),
        (lambda d: d["cases"]["b"].update(steps=["x", " "]), ["case b", "step 2", "an empty text"]),
        (lambda d: d["cases"]["b"].update(steps=["x", 3]), ["case b", "step 2", "a number"]),
    ],
)
def test_a_malformed_file_is_one_sentence(
    tmp_path: Path, edit: Callable[[dict[str, Any]], object], words: list[str]
) -> None:
    file = changed(written(tmp_path), edit)
    with pytest.raises(DataError) as error:
        read_references(file)
    for word in (str(file), *words):
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"a": 1, "a": 2}', "'a' is given twice"),
        (b"[]", "an object is expected"),
        (b"{", "not valid JSON"),
        (b'{"a": "\xff"}', "not UTF-8"),
    ],
)
def test_what_is_no_such_file_at_all(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "steps.json"
    file.write_bytes(content)
    with pytest.raises(DataError, match=words):
        read_references(file)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(DataError, match="cannot be read"):
            read_references(path)


def test_pinned_steps_are_used_only_for_the_texts_that_they_were_made_from() -> None:
    pinned = made("openai:gpt-4.1")
    assert pinned.checked_against(made()) is pinned
    with pytest.raises(DataError, match="case a were made from another reference text"):
        pinned.checked_against(made(texts=TEXTS | {"a": "Wax."}))
    with pytest.raises(DataError, match="no reference steps of case c"):
        pinned.checked_against(made(texts=TEXTS | {"c": "C."}, steps=STEPS | {"c": ("C.",)}))
    with pytest.raises(DataError, match="bench diagnosis cases, but bench treatment"):
        pinned.checked_against(pin("bench", "treatment", "rules.v1", {}, {}, {}))


def test_steps_for_more_cases_than_are_judged_may_be_used() -> None:
    few = made(steps={"a": STEPS["a"]})
    assert made().checked_against(few).hash_of(few.cases) == few.hash


# --- changed by a person


def test_steps_that_a_person_changed_are_pinned_under_that_person_s_name(tmp_path: Path) -> None:
    file = changed(written(tmp_path), edit_step)
    pinned = pin_edited(file, "person:bell", TEXTS)
    assert (pinned.splitter, pinned.cases["a"].steps) == ("person:bell", ("Wax.",))
    assert pinned.parameters == {"edited": {"splitter": "rules.v1", "parameters": {"most": 10, "prompt": ""}}}
    write_references(pinned, file)
    again = pin_edited(changed(file, lambda d: d["cases"]["a"].update(steps=["W."])), "person:li", TEXTS)
    assert again.parameters == pinned.parameters
    assert read_references(file_of(tmp_path, again)).cases["a"].steps == ("W.",)


def file_of(folder: Path, references: References) -> Path:
    write_references(references, folder / "other.json")
    return folder / "other.json"


def test_changed_steps_of_other_data_are_refused(tmp_path: Path) -> None:
    file = changed(written(tmp_path), edit_step)
    with pytest.raises(DataError, match="case b: the data hold no such case"):
        pin_edited(file, "person:bell", {"a": TEXTS["a"]})
    with pytest.raises(DataError, match="case a: its steps were made from another reference text"):
        pin_edited(file, "person:bell", TEXTS | {"a": "Wax."})


# --- written over


def test_pinned_steps_are_not_lost_by_writing_over_them(tmp_path: Path) -> None:
    file = written(tmp_path)
    check_replaces(file, made())
    check_replaces(file, made(texts=TEXTS | {"c": "C."}, steps=STEPS | {"c": ("C.",)}))
    check_replaces(tmp_path / "new.json", made())
    with pytest.raises(UserError, match="made in another way"):
        check_replaces(file, made("rules.v2"))
    with pytest.raises(UserError, match="1 cases that would be lost or changed, the first is b"):
        check_replaces(file, made(steps={"a": STEPS["a"]}))
    check_replaces(file, made(steps={}), complete=False)
