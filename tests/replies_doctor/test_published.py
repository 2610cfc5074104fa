"""The published outputs: each yields the steps and the answer that it has."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from judge.replies.sections import answer_text, read_sections
from judge.replies.steps import Style, split_steps, split_steps_with_style
from judge.replies.thinking import separate_thinking
from tests.data import real_data

pytestmark = pytest.mark.data


def _outputs(name: str, model: str) -> dict[str, str]:
    cases = json.loads((real_data("medrbench") / name).read_text(encoding="utf-8"))
    return {case: models[model]["content"] for case, models in cases.items() if model in models}


def _judged(name: str) -> list[dict[str, Any]]:
    text = (real_data("medrbench") / "judged" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def test_every_deepseek_output_yields_the_steps_that_were_judged() -> None:
    outputs = _outputs("oracle_diagnosis.json", "deepseek-r1")
    judged = _judged("reasoning_deepseek-r1_qwen2.5-7b_957.jsonl")

    equal = [record["case_id"] for record in judged if split_steps(outputs[record["case_id"]]) == _steps(record)]

    assert len(equal) == len(judged) == 957


def _steps(record: dict[str, Any]) -> list[str]:
    return [step["step"] for step in record["steps"]]


@pytest.mark.parametrize(
    "name", ["reasoning_gemini2-ft_gpt-4o-websearch_34.jsonl", "reasoning_gemini2-ft_qwen2.5-7b_35.jsonl"]
)
@pytest.mark.parametrize("mark", ["<step {}> ", "Step {}: ", "**Step {}:** ", "{}. "])
def test_the_judged_gemini_steps_survive_being_written_and_split_again(name: str, mark: str) -> None:
    for record in _judged(name):
        steps = [step.strip() for step in _steps(record)]
        written = "\n".join(mark.format(n) + step for n, step in enumerate(steps, start=1))

        assert split_steps(f"### Resoning:\n{written}\n\n### Answer:\nNone of these") == steps


@pytest.mark.parametrize(("name", "tagged"), [("oracle_diagnosis.json", 331), ("treatment_planning.json", 99)])
def test_o3_mini_outputs_yield_their_steps_once_the_thinking_is_set_apart(name: str, tagged: int) -> None:
    seen = 0
    for content in _outputs(name, "o3-mini").values():
        said = separate_thinking(content).answer.split("### Answer")[0]
        found = split_steps_with_style(content)
        if "<step 1>" in said:
            assert list(found.steps) == [step.strip() for step in re.split(r"<step \d+>", said)[1:]]
            assert found.style is Style.TAGS
            seen += 1
        else:
            named = re.findall(r"(?m)^[*# ]*step \d+", said, re.IGNORECASE) or re.findall(r"(?m)^\d+\.", said)
            assert len(found.steps) == (len(named) or 2)

    assert seen == tagged


def test_qwq_outputs_yield_two_steps_or_more() -> None:
    outputs = _outputs("oracle_diagnosis.json", "qwq")

    assert sum(len(split_steps(content)) > 1 for content in outputs.values()) >= 0.95 * len(outputs)


@pytest.mark.parametrize(
    ("name", "model", "without"),
    [
        ("oracle_diagnosis.json", "deepseek-r1", 2),
        ("oracle_diagnosis.json", "o3-mini", 0),
        ("oracle_diagnosis.json", "qwq", 0),
        ("treatment_planning.json", "deepseek-r1", 0),
        ("treatment_planning.json", "o3-mini", 0),
    ],
)
def test_the_answer_is_found_in_every_output_that_has_one(name: str, model: str, without: int) -> None:
    """Two outputs end with the empty heading of their answer."""
    outputs = _outputs(name, model)
    answers = {case: answer_text(content) for case, content in outputs.items()}

    assert sum(answer is None for answer in answers.values()) == without
    for case, answer in answers.items():
        assert answer is None or answer in separate_thinking(outputs[case]).answer


def test_every_published_output_has_a_reasoning() -> None:
    for name in ("oracle_diagnosis.json", "treatment_planning.json"):
        for model in ("deepseek-r1", "o3-mini", "qwq"):
            assert all(read_sections(content).reasoning for content in _outputs(name, model).values())
