"""Outputs made elsewhere: what is read from a text, and which files and settings can be imported."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from graphs.medrbench import BENCHMARK
from graphs.medrbench.reading import read_turn
from judge.errors import DataError
from tests.conftest import Command
from tests.data import real_data
from tests.medrbench.examinations import DATA, KETOACIDOSIS, PURPURA, THYROID, with_case
from tests.replies_doctor.mutations import mutated, published
from tests.runs.synthetic import setting_of

OUTPUT = "### Reasoning:\n<step 1> Clear.\n\n### Answer:\nHashimoto thyroiditis"


def transcript(output: Any, thinking: str = "", setting: str = "oracle") -> tuple[str, str | None, str]:
    """(status, answer, thinking) as read."""
    found = BENCHMARK.read_prediction(with_case(THYROID), output, thinking=thinking, setting=setting)
    turns = found.data["turns"]
    return found.status, found.data["answer"], turns[0]["thinking"] if turns else ""


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (OUTPUT, ("concluded", "Hashimoto thyroiditis", "")),
        (f"<think>### Answer:\nGraves</think>{OUTPUT}", ("concluded", "Hashimoto thyroiditis", "### Answer:\nGraves")),
        ("<think>### Answer:\nGraves", ("truncated_reasoning", None, "### Answer:\nGraves")),
        ("### Reasoning:\n<step 1> Clear.\n\n### Answer:\n", ("parse_failed", None, "")),
        ("I do not know.", ("parse_failed", None, "")),
        (" \n", ("empty", None, "")),
        ("", ("empty", None, "")),
        (None, ("empty", None, "")),
    ],
)
def test_what_is_read_from_an_output(output: Any, expected: tuple[str, str | None, str]) -> None:
    assert transcript(output) == expected


def test_thinking_that_the_file_keeps_apart_is_kept_and_never_read_as_answer() -> None:
    assert transcript("I do not know.", "### Answer:\nGraves") == ("parse_failed", None, "### Answer:\nGraves")


@pytest.mark.parametrize("setting", ["one_turn", "free_turn", "unstated"])
def test_a_dialogue_cannot_be_imported_as_one_text(setting: str) -> None:
    with pytest.raises(DataError, match="--setting oracle or treatment"):
        transcript(OUTPUT, setting=setting)


@pytest.mark.parametrize("output", [3, ["a"], {"content": "a"}, True])
def test_an_output_that_is_no_text_is_refused(output: Any) -> None:
    with pytest.raises(DataError, match="give the text of the answer"):
        transcript(output)


# --- files


def imported(cli: Command, folder: Path, file: Any, *more: object, setting: str = "oracle") -> Any:
    path = folder / "outputs.json"
    path.write_text(json.dumps(file), encoding="utf-8")
    return cli("import", "medrbench", "--setting", setting, "--predictions", path, "--data", DATA,
               "--out", folder / "run", *more)  # fmt: skip


def test_the_published_layout(cli: Command, tmp_path: Path) -> None:
    file = {
        THYROID: {"a": {"content": OUTPUT, "thinking_process": "hm"}, "b": {"content": "x"}},
        PURPURA: {"b": {"content": "y"}},
    }
    ran = imported(cli, tmp_path, file, "--model-key", "a", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["model"] == "imported:a"
    found = setting_of(ran.json, "oracle")
    assert found["statuses"] == {"concluded": 1, "not_predicted": 2}
    assert found["metrics"]["exact"]["mean"] == 1
    assert found["metrics"]["exact"]["signature"] == "exact|text:words|v:1"
    assert cli("show", tmp_path / "run", THYROID).code == 0


def test_plain_texts_by_case(cli: Command, tmp_path: Path) -> None:
    ran = imported(cli, tmp_path, {KETOACIDOSIS: OUTPUT}, "--json", setting="treatment")
    assert ran.json["statuses"] == {"concluded": 1, "not_predicted": 1}


@pytest.mark.parametrize(
    ("file", "more", "setting", "part"),
    [
        ({"PMC0": OUTPUT}, [], "oracle", "1 ids are not in"),
        (
            {THYROID: {"a": {"content": OUTPUT}}},
            ["--model-key", "z"],
            "oracle",
            "has no predictions of 'z'; it has those of a",
        ),
        ({THYROID: {"a": {"content": OUTPUT}}}, [], "oracle", "give the text of the answer"),
        ({THYROID: OUTPUT}, [], "free_turn", "--setting oracle or treatment"),
        ({THYROID: OUTPUT}, [], "unstated", "--setting unstated is not known"),
        ({THYROID: OUTPUT}, [], "treatment", "1 ids are not in"),
    ],
)
def test_what_cannot_be_imported_is_one_sentence(
    cli: Command, tmp_path: Path, file: Any, more: list[str], setting: str, part: str
) -> None:
    ran = imported(cli, tmp_path, file, *more, setting=setting)
    assert ran.code == 2
    assert part in ran.sentence
    assert not (tmp_path / "run").exists()


# --- the published outputs


@pytest.mark.data
@pytest.mark.parametrize("model", ["deepseek-r1", "o3-mini"])
def test_every_published_plan_is_read(cli: Command, tmp_path: Path, model: str) -> None:
    data = real_data("medrbench")
    ran = cli("import", "medrbench", "--setting", "treatment", "--predictions", data / "treatment_planning.json",
              "--model-key", model, "--data", data, "--out", tmp_path / "run", "--json")  # fmt: skip
    assert ran.code == 0, ran.err
    assert ran.json["statuses"] == {"concluded": 100}


@pytest.mark.data
def test_damaged_outputs_are_read_as_turns() -> None:
    """Python -m tests.medrbench.test_predictions reads 20,000."""
    read_damaged(500)


def read_damaged(count: int) -> None:
    texts, chance = list(published()), random.Random(count)
    earlier: list[dict[str, Any]] = []
    for number in range(count):
        damaged = mutated(chance.choice(texts), chance)
        if number % 2:  # the outputs have no section for requests
            damaged = damaged.replace(
                "### Answer", "### Additional Information Required:\n- CBC\n- CT {x}\n### Conclusion"
            )
        turn = read_turn({"text": damaged, "kind": "turn"}, earlier, examines=number % 3 > 0)
        assert len(turn["repeats"]) == len(turn["requests"])
        assert turn["answer"] is None or turn["answer"].strip()
        earlier = [turn] if number % 7 == 0 else [*earlier, turn][-4:]


if __name__ == "__main__":
    read_damaged(20_000)
