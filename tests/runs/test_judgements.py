"""Another judge's labels, brought into a run through the command line."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.conftest import CHECKOUT, Command
from tests.data import real_data
from tests.server import ModelServer, Reply, Request, error

FIXTURES = CHECKOUT / "fixtures"

CASES = ("SYN0000001", "SYN0000002", "SYN0000003")


def record(case: str, steps: list[tuple[str, bool | None]], hits: list[bool]) -> dict[str, Any]:
    """One record in the published judged layout."""
    return {
        "case_id": case,
        "model": "m",
        "judge": "j",
        "steps": [
            {"step": f"step {n}", "efficiency": label, "factulity": correct, "judgment_path": []}
            for n, (label, correct) in enumerate(steps)
        ],
        "gt_steps": [{"step": f"reference {n}", "hit": hit} for n, hit in enumerate(hits)],
        "efficiency": 0.0,
        "factulity": 0.0,
        "recall": 0.0,
    }


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    """Three cases by hand: efficiency 2/4, 1/1, 0/2; factuality 1/2, 1/1, 0/0 -> 0; completeness 1/2, 3/4, 0/1."""
    records = [
        record(
            CASES[0],
            [("Reasoning", True), ("Reasoning", False), ("Citation", None), ("Repetition", None)],
            [True, False],
        ),
        record(CASES[1], [("reasoning.", True)], [True, True, True, False]),
        record(CASES[2], [("Redundancy", None), ("Citation", None)], [False]),
    ]
    file = tmp_path / "labels.jsonl"
    file.write_text("".join(json.dumps(entry) + "\n" for entry in records), encoding="utf-8")
    return file


def steps_only(cli: Command, labels: Path, out: Path, *more: str) -> Any:
    return cli("import-judgements", out, "--labels", labels, "--judge-name", "qwen", "--benchmark", "medrbench",
               "--data", FIXTURES / "medrbench", "--setting", "oracle", "--json", *more)  # fmt: skip


def means(report: dict[str, Any]) -> dict[str, Any]:
    return {name: metric["mean"] for name, metric in report["settings"][0]["metrics"].items()}


def test_labels_alone_make_a_run_with_the_means_worked_out_by_hand(cli: Command, labels: Path, tmp_path: Path) -> None:
    ran = steps_only(cli, labels, tmp_path / "run")
    assert ran.code == 0, ran.err
    found = means(json.loads(ran.out))
    assert found["efficiency"] == pytest.approx((2 / 4 + 1 + 0) / 3)
    assert found["factuality"] == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert found["completeness"] == pytest.approx((1 / 2 + 3 / 4 + 0) / 3)
    assert found["exact"] is None
    assert found["accuracy"] is None


def test_scores_by_a_judge_are_recomputed_from_what_is_stored(cli: Command, labels: Path, tmp_path: Path) -> None:
    first = json.loads(steps_only(cli, labels, tmp_path / "run").out)
    labels.unlink()
    again = cli("score", tmp_path / "run", "--judge", "qwen", "--json")
    assert json.loads(again.out)["settings"] == first["settings"]
    without = json.loads(cli("score", tmp_path / "run", "--json").out)
    assert "efficiency" not in without["settings"][0]["metrics"]
    assert without["judges"] == ["qwen"]


def test_judgements_are_added_and_never_overwritten(cli: Command, labels: Path, tmp_path: Path) -> None:
    steps_only(cli, labels, tmp_path / "run")
    again = cli("import-judgements", tmp_path / "run", "--labels", labels, "--judge-name", "qwen")
    assert again.code == 2
    assert "has judgements by 'qwen' already" in again.err
    other = cli("import-judgements", tmp_path / "run", "--labels", labels, "--judge-name", "second", "--json")
    assert json.loads(other.out)["judges"] == ["qwen", "second"]


def test_an_unknown_judge_or_label_or_case_is_one_sentence(cli: Command, labels: Path, tmp_path: Path) -> None:
    steps_only(cli, labels, tmp_path / "run")
    unknown = cli("score", tmp_path / "run", "--judge", "nobody")
    assert (unknown.code, "there are: qwen" in unknown.err) == (2, True)
    text = labels.read_text(encoding="utf-8")
    labels.write_text(text.replace("Redundancy", "Sensible"), encoding="utf-8")
    bad = steps_only(cli, labels, tmp_path / "other")
    assert (bad.code, (tmp_path / "other").exists()) == (2, False)
    assert CASES[2] in bad.err
    labels.write_text(text.replace(CASES[0], "PMC1"), encoding="utf-8")
    strange = steps_only(cli, labels, tmp_path / "other")
    assert (strange.code, (tmp_path / "other").exists()) == (2, False)
    assert "PMC1" in strange.err


@pytest.mark.data
@pytest.mark.parametrize(
    "name", ["reasoning_gemini2-ft_gpt-4o-websearch_34.jsonl", "reasoning_gemini2-ft_qwen2.5-7b_35.jsonl"]
)
def test_published_labels_alone_give_the_stored_values(cli: Command, tmp_path: Path, name: str) -> None:
    data = real_data("medrbench")
    ran = cli("import-judgements", tmp_path / "run", "--labels", data / "judged" / name, "--judge-name", "published",
              "--benchmark", "medrbench", "--data", data, "--setting", "oracle", "--json")  # fmt: skip
    assert means(json.loads(ran.out)).items() >= stored_means(data / "judged" / name).items()


@pytest.mark.data
def test_published_outputs_and_labels_give_the_stored_values(cli: Command, tmp_path: Path) -> None:
    data, out = real_data("medrbench"), tmp_path / "run"
    file = data / "judged" / "reasoning_deepseek-r1_qwen2.5-7b_957.jsonl"
    imported = cli("import", "medrbench", "--setting", "oracle", "--predictions", data / "oracle_diagnosis.json",
                   "--model-key", "deepseek-r1", "--data", data, "--out", out, "--json")  # fmt: skip
    assert imported.code == 0, imported.err
    ran = cli("import-judgements", out, "--labels", file, "--judge-name", "qwen2.5-7b", "--json")
    report = json.loads(ran.out)
    assert means(report).items() >= stored_means(file).items()
    assert report["judge"]["other_steps"] == 0, "the steps that were labelled are those that we read"


def stored_means(file: Path) -> dict[str, float]:
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
    keys = {"efficiency": "efficiency", "factuality": "factulity", "completeness": "recall"}
    return {name: fmean(entry[key] for entry in records) for name, key in keys.items()}


CSV = "case_id,kind,item,label\n"


def unscored(report: dict[str, Any]) -> set[str]:
    return {name for name, metric in report["settings"][0]["metrics"].items() if metric["mean"] is None}


@pytest.mark.parametrize(
    ("rows", "known"),
    [
        ("{0},match,0,true\n", {}),  # the case has more reference steps than this one
        ("".join(f"{{0}},match,{item},{'true' if item else 'false'}\n" for item in range(6)), {"completeness": 5 / 6}),
        ("{0},effectiveness,0,reasoning\n", {"efficiency": 1}),
        ("{0},factuality,0,true\n", {}),
        ("{0},effectiveness,0,citation\n{1},match,0,true\n", {"efficiency": 0, "factuality": 0}),
    ],
)
def test_what_a_file_of_single_labels_does_not_label_is_not_zero(
    cli: Command, tmp_path: Path, rows: str, known: dict[str, float]
) -> None:
    file = tmp_path / "labels.csv"
    file.write_text(CSV + rows.format(*CASES), encoding="utf-8")
    ran = steps_only(cli, file, tmp_path / "run")
    assert ran.code == 0, ran.err
    found = {name: mean for name, mean in means(ran.json).items() if mean is not None}
    assert found == pytest.approx(known)
    assert all(metric["n_scored"] == 1 for metric in ran.json["settings"][0]["metrics"].values() if metric["n_scored"])


def test_labels_alone_say_nothing_of_an_examination(cli: Command, labels: Path, tmp_path: Path) -> None:
    ran = cli("import-judgements", tmp_path / "run", "--labels", labels, "--judge-name", "qwen", "--benchmark",
              "medrbench", "--data", FIXTURES / "medrbench", "--setting", "free_turn", "--json")  # fmt: skip
    assert ran.code == 0, ran.err
    assert unscored(ran.json) >= {"exam_precision", "exam_recall", "exam_f1", "turns", "requests", "repeat_rate"}
    assert means(ran.json)["efficiency"] is not None


def played(cli: Command, server: ModelServer, out: Path, *more: str) -> Any:
    return cli("run", "medrbench", "--model", server.spec, "--data", FIXTURES / "medrbench", "--setting", "oracle",
               "--out", out, "--json", *more)  # fmt: skip


def test_labels_of_an_answer_do_not_count_for_the_one_that_takes_its_place(cli: Command, tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text(f"{CSV}{CASES[0]},accuracy,0,true\n{CASES[1]},accuracy,0,false\n", encoding="utf-8")
    cut = {CASES[1]: Reply(content="### Answer:", finish_reason="length")}
    cases = json.loads((FIXTURES / "medrbench/diagnosis_3_cases_with_rare_disease_1.json").read_text(encoding="utf-8"))

    def script(request: Request) -> Reply:
        case = next(c for c in CASES if cases[c]["generate_case"]["case_summary"][:80] in request.text)
        return cut.get(case, Reply(content="### Answer:\nHashimoto thyroiditis"))

    with ModelServer(script) as server:
        played(cli, server, tmp_path / "run")
        ran = cli("import-judgements", tmp_path / "run", "--labels", file, "--judge-name", "me", "--json")
        assert means(ran.json)["accuracy"] == 0.5
        cut.clear()
        again = cli("run", "medrbench", "--resume", tmp_path / "run", "--retry", "truncated", "--json")
        assert again.json["statuses"] == {"concluded": 3}
    accuracy = cli("score", tmp_path / "run", "--judge", "me", "--json").json["settings"][0]["metrics"]["accuracy"]
    assert (accuracy["mean"], accuracy["n_scored"], accuracy["n_unscored"]) == (1, 1, 2)


def test_what_has_not_been_played_cannot_have_been_judged(cli: Command, labels: Path, tmp_path: Path) -> None:
    def script(request: Request) -> Reply:
        return error(401, "no") if len(server.calls) > 1 else Reply(content="### Answer:\nHashimoto thyroiditis")

    with ModelServer(script) as server:
        ran = played(cli, server, tmp_path / "run", "--connections", "1")
    assert ran.json["statuses"]["pending"] == 2
    ran = cli("import-judgements", tmp_path / "run", "--labels", labels, "--judge-name", "me")
    assert (ran.code, "2 labelled cases have not been played" in ran.sentence) == (2, True)


def test_empty_denominators_and_labels_of_another_model_are_said_beside_the_numbers(
    cli: Command, labels: Path, tmp_path: Path
) -> None:
    alone = steps_only(cli, labels, tmp_path / "run").json
    factuality = alone["settings"][0]["metrics"]["factuality"]
    assert (factuality["n_empty"], factuality["n_scored"]) == (1, 3)
    assert "oracle: Factuality is 0 by convention in 1 units with an empty denominator" in alone["warnings"]
    assert "oracle: only 3 clusters; standard errors and intervals cannot be relied on" in alone["warnings"]
    assert not any("outputs by" in warning for warning in alone["warnings"])
    assert alone["settings"][0]["metrics"]["accuracy"]["unscored"] == {"not_judged": 3}
    predictions = tmp_path / "predictions.json"
    predictions.write_text(json.dumps(dict.fromkeys(CASES, "### Answer:\nGout")), encoding="utf-8")
    cli("import", "medrbench", "--setting", "oracle", "--predictions", predictions, "--data", FIXTURES / "medrbench",
        "--model-name", "another", "--out", tmp_path / "other")  # fmt: skip
    ran = cli("import-judgements", tmp_path / "other", "--labels", labels, "--judge-name", "qwen", "--json")
    said = "the labels by qwen are said to be of outputs by m, the run is of imported:another"
    assert said in ran.json["warnings"]
    assert "in 3 units the steps that qwen labelled are not those read from the run" in ran.json["warnings"]


def test_labels_of_other_steps_than_those_of_a_run_are_noticed(cli: Command, labels: Path, tmp_path: Path) -> None:
    with ModelServer(Reply(content="### Reasoning:\n<step 1> step 0\n### Answer:\nGout")) as server:
        played(cli, server, tmp_path / "run")
    ran = cli("import-judgements", tmp_path / "run", "--labels", labels, "--judge-name", "me", "--json")
    assert ran.json["judge"]["other_steps"] == 2, "the second case has the one step that was labelled"


def test_steps_that_a_judge_left_out_are_noticed(cli: Command, tmp_path: Path) -> None:
    file, predictions = tmp_path / "labels.csv", tmp_path / "predictions.json"
    file.write_text(f"{CSV}{CASES[0]},effectiveness,0,reasoning\n", encoding="utf-8")
    text = "### Reasoning:\n<step 1> One.\n<step 2> Two.\n### Answer:\nGout"
    predictions.write_text(json.dumps({CASES[0]: text}), encoding="utf-8")
    cli("import", "medrbench", "--setting", "oracle", "--predictions", predictions, "--data", FIXTURES / "medrbench",
        "--out", tmp_path / "run")  # fmt: skip
    ran = cli("import-judgements", tmp_path / "run", "--labels", file, "--judge-name", "me", "--json")
    assert ran.json["judge"]["other_steps"] == 1
