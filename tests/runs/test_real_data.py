"""The whole CareMedEval data set, every number computed a second time from the letters that were served."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.data import real_data
from tests.runs.synthetic import means, numbers, resume_arguments, setting_of
from tests.server import ModelServer, Reply, Request, says

pytestmark = pytest.mark.data


@dataclass
class Whole:
    folder: Path
    report: dict[str, Any]
    questions: list[dict[str, Any]]
    served: dict[str, str]  # question text -> letters
    server: ModelServer


def some_letters(question: dict[str, Any]) -> str:
    """Right for about half of the questions, else anything; the same every time."""
    digest = hashlib.sha256(question["id"].encode()).digest()
    if digest[0] < 128:
        return "".join(sorted(question["correct_answers"]))
    return "".join(letter for n, letter in enumerate(sorted(question["answers"])) if digest[1] >> n & 1)


@pytest.fixture(scope="module")
def whole(cli: Command, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    data = real_data("caremedeval")
    questions = json.loads((data / "original/all/questions.json").read_text(encoding="utf-8"))
    served = {question["id"]: some_letters(question) for question in questions}
    asked: dict[str, str] = {}
    for question in questions:
        lines = [f"{letter.upper()}. {text}" for letter, text in question["answers"].items()]
        asked["\n".join([question["question"], "", *lines])] = question["id"]

    def script(request: Request) -> Reply:
        prompt = request.messages[0]["content"]
        block = prompt.partition("<question>\n")[2].partition("\n</question>")[0]
        return says(f"Réponse : {', '.join(served[asked[block]].upper()) or 'aucune'}")

    folder = tmp_path_factory.mktemp("whole") / "run"
    with ModelServer(script, latency=0.1) as server:
        ran = cli("run", "caremedeval", "--model", server.spec, "--data", data, "--context", "full",
                  "--connections", 64, "--out", folder, "--json")  # fmt: skip
        assert ran.code == 0, ran.err
        yield Whole(folder, ran.json, questions, served, server)


def test_every_question_is_asked_once(whole: Whole) -> None:
    assert len(whole.questions) == 534
    assert whole.server.chat_count == 534
    assert len({call.sha256 for call in whole.server.calls}) == 534
    assert 32 < whole.server.max_in_flight <= 64
    assert whole.report["statuses"] == {"answered": 534}


def test_a_resume_asks_nothing_and_reports_the_same(cli: Command, whole: Whole) -> None:
    calls = whole.server.chat_count
    again = cli(*resume_arguments(whole.folder, "--json"))
    assert again.code == 0
    assert whole.server.chat_count == calls
    assert again.json == whole.report


def exact(question: dict[str, Any], chosen: set[str]) -> float:
    return float(chosen == set(question["correct_answers"]))


def lca(question: dict[str, Any], chosen: set[str], two: float = 0.25, rules: bool = True) -> float:
    """1 without mismatch, 1/2 with one, `two` with two, else 0; 0 for a broken rule or nothing chosen."""
    breaks = set(question["essential_answers"]) - chosen or set(question["unacceptable_answers"]) & chosen
    if not chosen or (rules and breaks):
        return 0.0
    mismatches = sum((letter in chosen) != (letter in question["correct_answers"]) for letter in question["answers"])
    return [1.0, 0.5, two, 0.0, 0.0, 0.0, 0.0, 0.0][mismatches]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_scores_equal_a_second_computation_from_the_letters_served(whole: Whole) -> None:
    pairs = [(question, set(whole.served[question["id"]])) for question in whole.questions]
    found = means(whole.report, "full")
    assert found["emr"] == pytest.approx(mean([exact(*pair) for pair in pairs]))
    assert found["lca"] == pytest.approx(mean([lca(*pair) for pair in pairs]))
    assert found["lca_exam"] == pytest.approx(mean([lca(*pair, two=0.2) for pair in pairs]))
    assert found["lca_published"] == pytest.approx(mean([lca(*pair, two=0.2, rules=False) for pair in pairs]))
    assert 0.4 < found["emr"] < 0.7  # the letters served make a difference


def test_breakdowns_equal_a_second_computation(whole: Whole) -> None:
    by = setting_of(whole.report, "full")["by"]
    for group in by["label"]:
        of_label = [q for q in whole.questions if group["group"] in q["labels"]]
        assert group["n_units"] == len(of_label)
        expected = mean([lca(q, set(whole.served[q["id"]])) for q in of_label])
        assert group["metrics"]["lca"]["mean"] == pytest.approx(expected)
    assert sum(group["n_units"] for group in by["correct answers"]) == 534
    for group in by["correct answers"]:
        of_size = [q for q in whole.questions if q["nb_correct_answers"] == int(group["group"])]
        expected = mean([exact(q, set(whole.served[q["id"]])) for q in of_size])
        assert group["metrics"]["emr"]["mean"] == pytest.approx(expected)


def test_the_standard_error_equals_a_second_computation(whole: Whole) -> None:
    values = {q["id"]: lca(q, set(whole.served[q["id"]])) for q in whole.questions}
    center = mean(list(values.values()))
    articles = {q["id_article"] for q in whole.questions}
    sums = [sum(values[q["id"]] - center for q in whole.questions if q["id_article"] == name) for name in articles]
    expected = (len(articles) / (len(articles) - 1) * sum(value**2 for value in sums)) ** 0.5 / 534
    found = setting_of(whole.report, "full")["metrics"]["lca"]
    assert (len(articles), found["n_clusters"]) == (37, 37)
    assert found["se"] == pytest.approx(expected)
    low, high = found["interval"]
    assert low < found["mean"] < high
    assert (high - low) / 2 == pytest.approx(1.96 * found["se"], rel=0.2)


def test_the_gold_answers_imported_score_what_the_key_allows(cli: Command, whole: Whole, tmp_path: Path) -> None:
    file = tmp_path / "gold.jsonl"
    rows = [{"id": q["id"], "prediction": q["correct_answers"]} for q in whole.questions]
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    ran = cli("import", "caremedeval", "--predictions", file, "--data", real_data("caremedeval"),
              "--out", tmp_path / "run", "--json")  # fmt: skip
    assert ran.code == 0, ran.err
    found = setting_of(ran.json, "unstated")["metrics"]
    assert found["emr"]["mean"] == 1.0
    # one question has an essential option that is not among its right ones: the key itself breaks the rule there
    assert found["lca"]["mean"] == pytest.approx(533 / 534)
    # and with that option added, one mismatch: half a mark
    assert found["lca"]["maximum"] == pytest.approx((533 + 0.5) / 534)
    assert numbers(cli("score", tmp_path / "run", "--json").json) == numbers(ran.json)
