"""The synthetic questions of fixtures/caremedeval, and scripts that answer them by number."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.server import Reply, Request, says

DATA = Path(__file__).parents[2] / "fixtures" / "caremedeval"
QUESTIONS: list[dict[str, Any]] = json.loads((DATA / "original/all/questions.json").read_text(encoding="utf-8"))
#: Number of a question, from 1 as in fixtures/README.md -> its id.
IDS = {number: question["id"] for number, question in enumerate(QUESTIONS, start=1)}
#: Number -> letters of the right options, as a reply states them.
GOLD = {number: ", ".join(question["correct_answers"]).upper() for number, question in enumerate(QUESTIONS, start=1)}

Answer = str | Reply | Sequence[str | Reply]
Script = Callable[[Request], Reply]


def number_of(request: Request) -> int:
    """Which question is asked."""
    prompt = request.messages[0]["content"]
    return next(n for n, question in enumerate(QUESTIONS, start=1) if question["question"] in prompt)


def asks_of(request: Request) -> int:
    """1 for the first ask, 2 for the re-ask."""
    return sum(message["role"] == "user" for message in request.messages)


def answering(answers: Mapping[int, Answer], otherwise: Mapping[int, Answer] = GOLD) -> Script:
    """Letters become a well-formed reply; of a list, the second item answers the re-ask."""

    def script(request: Request) -> Reply:
        number = number_of(request)
        answer = answers.get(number, otherwise.get(number, ""))
        if not isinstance(answer, str | Reply):
            answer = answer[asks_of(request) - 1]
        return answer if isinstance(answer, Reply) else letters(answer)

    return script


def letters(text: str) -> Reply:
    return says(f"Réponse : {text}")


def right(request: Request) -> Reply:
    """Every question right."""
    return letters(GOLD[number_of(request)])


def run_arguments(spec: str, out: Path, *more: object, context: Sequence[str] = ("none",)) -> list[object]:
    """`medjudge run caremedeval` on the synthetic questions."""
    contexts = [part for name in context for part in ("--context", name)]
    return ["run", "caremedeval", "--model", spec, "--data", DATA, *contexts, "--out", out, *more]


def resume_arguments(out: Path, *more: object) -> list[object]:
    return ["run", "caremedeval", "--resume", out, *more]


def means(report: Mapping[str, Any], setting: str = "none") -> dict[str, float]:
    """Metric -> mean."""
    return {name: metric["mean"] for name, metric in setting_of(report, setting)["metrics"].items()}


def setting_of(report: Mapping[str, Any], setting: str) -> dict[str, Any]:
    found: dict[str, Any] = next(item for item in report["settings"] if item["setting"] == setting)
    return found


def group_of(report: Mapping[str, Any], breakdown: str, group: str, setting: str = "none") -> dict[str, Any]:
    groups = setting_of(report, setting)["by"][breakdown]
    found: dict[str, Any] = next(item for item in groups if item["group"] == group)
    return found


def numbers(report: Mapping[str, Any]) -> dict[str, Any]:
    """What must not depend on how a run came about: everything about scores, nothing about traffic."""
    return {"settings": report["settings"], "statuses": report["statuses"], "state": report["state"]}
