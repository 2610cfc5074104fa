"""Predictions made elsewhere: in whichever shape, read like replies and scored like replies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command, Ran
from tests.runs.synthetic import DATA, GOLD, IDS, QUESTIONS, means, numbers

#: Question -> prediction; gold: 1 abde, 2 acd, 3 b, 4 ace, 5 de, 6 abcde, 7 acd, 8 cd.
PREDICTIONS: dict[int, Any] = {
    1: "A, B, D, E",
    2: ["a", "C"],
    3: "Après réflexion.\n\nRéponse : C",
    4: "<think>Réponse : B</think>Réponse : A, C, E",
    5: None,
    6: [],
    7: "Je ne sais pas.",
}
#: 5 and 7 are no answer, 8 is not predicted; scored are 1, 2, 3, 4 and 6.
EMR = (1 + 0 + 0 + 1 + 0) / 5
LCA = (1 + 0.5 + 0.25 + 1 + 0) / 5
STATUSES = {"answered": 5, "no_answer": 2, "not_predicted": 1}


def predicted(cli: Command, tmp_path: Path, content: str | bytes, *more: object) -> Ran:
    file = tmp_path / "predictions.txt"
    file.write_bytes(content.encode("utf-8", errors="surrogatepass") if isinstance(content, str) else content)
    return cli("import", "caremedeval", "--predictions", file, "--data", DATA, "--out", tmp_path / "run", *more)


def as_object() -> str:
    return json.dumps({IDS[n]: value for n, value in PREDICTIONS.items()})


def as_list() -> str:
    return json.dumps([{"id": IDS[n], "prediction": value} for n, value in PREDICTIONS.items()])


def as_lines(end: str = "\n", ids: str = "question_id", key: str = "answer") -> str:
    return end.join(json.dumps({ids: IDS[n], key: value}) for n, value in PREDICTIONS.items())


@pytest.mark.parametrize(
    "content",
    [
        as_object(),
        as_list(),
        as_lines(),
        as_lines() + "\n\n",
        as_lines("\r\n"),
        as_lines(ids="case_id", key="response"),
        "\ufeff" + as_object(),
        "\ufeff" + as_lines("\r\n"),
        json.dumps({IDS[n]: {"prediction": value} for n, value in PREDICTIONS.items()}, indent=1),
    ],
    ids=["object", "list", "lines", "empty lines", "CRLF", "other keys", "BOM", "BOM and CRLF", "nested"],
)
def test_every_shape_gives_the_same_scores(cli: Command, tmp_path: Path, content: str) -> None:
    ran = predicted(cli, tmp_path, content, "--json")
    assert ran.code == 0
    assert ran.json["statuses"] == STATUSES
    assert means(ran.json, "unstated")["emr"] == pytest.approx(EMR)
    assert means(ran.json, "unstated")["lca"] == pytest.approx(LCA)
    assert numbers(cli("score", tmp_path / "run", "--json").json) == numbers(ran.json)


def test_question_records_with_predictions_beside_their_options_are_read(cli: Command, tmp_path: Path) -> None:
    records = [record | {"predicted_answers": record["correct_answers"]} for record in QUESTIONS]
    ran = predicted(cli, tmp_path, json.dumps(records), "--json")
    assert ran.code == 0, ran.err
    assert means(ran.json, "unstated")["emr"] == 1.0


@pytest.mark.parametrize("content", [as_list(), as_lines()])
def test_a_model_key_that_picks_nothing_is_refused(cli: Command, tmp_path: Path, content: str) -> None:
    ran = predicted(cli, tmp_path, content, "--model-key", "gpt")
    assert (ran.code, "leave --model-key out" in ran.sentence) == (2, True)


def test_setting_and_model_are_labels(cli: Command, tmp_path: Path) -> None:
    ran = predicted(cli, tmp_path, as_object(), "--setting", "full [b]", "--model-name", "gpt[/b] :smile:")
    assert ran.code == 0
    assert "imported:gpt[/b] :smile:" in ran.out
    assert "full [b]: 8 cases" in ran.out
    assert "predictions made elsewhere" in ran.out
    assert "server's defaults" not in ran.out
    assert f"Run: {tmp_path}/run" in ran.out


def test_a_line_separator_inside_a_text_ends_no_line(cli: Command, tmp_path: Path) -> None:
    rows = [{"id": IDS[n], "text": f"Bien.\u2028\u0085Réponse : {GOLD[n]}"} for n in IDS]
    content = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    ran = predicted(cli, tmp_path, content, "--json")
    assert ran.code == 0, ran.err
    assert means(ran.json, "unstated")["emr"] == 1.0


def test_letters_that_are_no_options_are_dropped_and_alone_are_no_answer(cli: Command, tmp_path: Path) -> None:
    content = json.dumps({IDS[3]: ["(b).", "E"], IDS[4]: ["X"], IDS[5]: ["D, E"]})  # question 3 has no E
    ran = predicted(cli, tmp_path, content, "--json")
    assert ran.json["statuses"] == {"not_predicted": 5, "no_answer": 2, "answered": 1}
    assert means(ran.json, "unstated")["emr"] == 1.0
    assert ran.json["settings"][0]["flags"]["letters_dropped"] == 1


def torn(number: int) -> str:
    lines = as_lines().split("\n")
    return "\n".join([*lines[: number - 1], lines[number - 1][:20], *lines[number:]])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (json.dumps({"nobody": "A", "none": "B"}), ["2 ids", "'nobody'"]),
        (json.dumps([{"id": IDS[1], "answer": "A"}] * 2), ["index 1", IDS[1], "second time"]),
        (as_lines() + "\n" + as_lines(), ["line 8", IDS[1], "second time"]),
        (f'{{"{IDS[1]}": "A", "{IDS[1]}": "B"}}', [IDS[1], "second time"]),
        (torn(1), ["line 1"]),
        (torn(4), ["line 4 is not JSON"]),
        (as_lines()[:-5], ["line 7 is not JSON"]),
        ("", ["holds no predictions"]),
        ("[]", ["holds no predictions"]),
        ("\n\n", ["holds no predictions"]),
        ("answers: A, B", ["not JSON"]),
        ("3", ["line 1 has no id and prediction"]),
        (b'{"a": "\xe9"}', ["not UTF-8"]),
        (json.dumps([{"id": IDS[1]}]), ["index 0 has no id and prediction"]),
        (json.dumps([{"id": 7, "answer": "A"}]), ["index 0", "id that is no text"]),
        (json.dumps({IDS[1]: 3}), [IDS[1], "int"]),
        (json.dumps({IDS[1]: ["a", None]}), [IDS[1], "list"]),
        (json.dumps({IDS[1]: {"letters": "a"}}), [IDS[1], "dict"]),
        (
            json.dumps([{"id": IDS[1], "answer": "A", "output": "B"}]),
            ["index 0", "'answer' and 'output'", "right answer"],
        ),
        (json.dumps({IDS[1]: {"text": "B", "answers": ["a"]}}), [IDS[1], "'answers' and 'text'", "right answer"]),
        ("[" * 100_000, ["nested too deeply"]),
    ],
)
def test_files_that_cannot_be_read(cli: Command, tmp_path: Path, content: str | bytes, words: list[str]) -> None:
    ran = predicted(cli, tmp_path, content)
    assert (ran.code, ran.out) == (2, "")
    for word in words:
        assert word in ran.sentence
    assert "predictions.txt" in ran.sentence
    assert not (tmp_path / "run").exists()


def test_a_folder_in_place_of_the_file(cli: Command, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "missing"):
        ran = cli("import", "caremedeval", "--predictions", place, "--data", DATA, "--out", tmp_path / "run")
        assert ran.code == 2
        assert str(place) in ran.sentence


def test_a_lone_surrogate_in_a_prediction_is_kept_and_shown(cli: Command, tmp_path: Path) -> None:
    ran = predicted(cli, tmp_path, json.dumps({IDS[3]: "\ud800 Réponse : B"}), "--json")
    assert ran.code == 0, ran.err
    assert means(ran.json, "unstated")["emr"] == 1.0
    assert cli("show", tmp_path / "run", IDS[3]).code == 0
    assert cli("show", tmp_path / "run", IDS[3], "--json").code == 0


def test_a_run_is_not_overwritten(cli: Command, tmp_path: Path) -> None:
    assert predicted(cli, tmp_path, as_object()).code == 0
    ran = predicted(cli, tmp_path, as_object())
    assert ran.code == 2
    assert "holds a run already" in ran.sentence
