"""What changes if only one thing about a judge changes, judges of their own model, and a judge against itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CHECKOUT, Command
from tests.explained import caremedeval_run, grader
from tests.medrbench.synthetic_judge import SyntheticJudge
from tests.runs.synthetic import IDS
from tests.server import ModelServer, Reply, Request

DATA = CHECKOUT / "fixtures/medrbench"
CASES = ("SYN0000001", "SYN0000002", "SYN0000003")
TEXT = "### Reasoning:\n<step 1> Alpha {0}.\n<step 2> Beta {0}.\n### Answer:\n{1} {0}"


class Bench:
    """Judges behind one server: by the name of the model that is asked, each with verdicts of its own."""

    def __init__(self) -> None:
        self.judges = {"judge-model": SyntheticJudge(), "test-model": SyntheticJudge()}

    def __call__(self, request: Request) -> Reply:
        return self.judges[request.body["model"]](request)


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def server(bench: Bench) -> Iterator[ModelServer]:
    with ModelServer(bench, models=list(bench.judges)) as server:
        yield server


def outputs(cli: Command, run: Path, model: str, word: str) -> Path:
    """A run of one output a case, in which ``word`` stands before the number of the case."""
    file = run.with_suffix(".json")
    file.write_text(json.dumps({case: TEXT.format(n, word) for n, case in enumerate(CASES)}), encoding="utf-8")
    ran = cli("import", "medrbench", "--setting", "oracle", "--predictions", file, "--data", DATA,
              "--model-name", model, "--out", run)  # fmt: skip
    assert ran.code == 0, ran.err
    return run


def judge(cli: Command, server: ModelServer, run: Path, name: str, *more: object, model: str = "judge-model") -> None:
    ran = cli("judge", run, "--judge", f"{server.url}#{model}", "--judge-name", name, *more)
    assert ran.code == 0, ran.err


def report(cli: Command, *arguments: object) -> dict[str, Any]:
    ran = cli("sensitivity", *arguments, "--json")
    assert ran.code == 0, ran.err
    return dict(ran.json)


def verdicts(**outcome: str) -> Mapping[str, Mapping[str, Any]]:
    return {"outcome": {key.replace("_", " "): said for key, said in outcome.items()}}


def test_pairs_that_differ_in_one_setting_only_are_named_by_it(
    cli: Command, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, prompts, corpus = outputs(cli, tmp_path / "run", "m", "Gout"), tmp_path / "prompts", tmp_path / "corpus"
    for folder in (prompts, corpus):
        folder.mkdir()
    (corpus / "a.txt").write_text("Gout is a disease of joints.", encoding="utf-8")
    own = (CHECKOUT / "prompts/medrbench/effectiveness.v1.md").read_text(encoding="utf-8")
    (prompts / "effectiveness.v1.md").write_text(own.replace("Choose the label:", "Choose one:"), encoding="utf-8")
    judge(cli, server, run, "plain", "--only", "reasoning")
    judge(cli, server, run, "again", "--only", "reasoning")
    judge(cli, server, run, "batched", "--only", "reasoning", "--judge-protocol", "batched")
    judge(cli, server, run, "splitting", "--only", "reasoning", "--step-splitter", "rules")
    judge(cli, server, run, "other", "--only", "reasoning", model="test-model")
    judge(cli, server, run, "prompted", "--only", "reasoning", "--judge-prompts", prompts)
    judge(cli, server, run, "looking", "--only", "reasoning", "--evidence", f"corpus:{corpus}")
    judge(cli, server, run, "both", "--only", "reasoning", "--step-splitter", "rules", model="test-model")
    found = report(cli, run)
    axes = {tuple(row["judges"]): row["axis"] for row in found["differences"] if row["metric"] == "efficiency"}
    by_other = {other: axis for (first, other), axis in axes.items() if first == "plain"}
    assert by_other == {
        "again": "same settings", "batched": "protocol", "splitting": "step splitter", "other": "model",
        "prompted": "prompts", "looking": "evidence", "both": "",
    }  # fmt: skip
    for width in (80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        shown = cli("sensitivity", run).out
        assert "What changes if only one thing about the judge changes: scores" in shown
        assert "A judge against itself" in shown
        assert max(map(len, shown.splitlines())) <= width
        assert all(cell in shown for cell in numbers(found["section"]))


def numbers(section: Mapping[str, Any]) -> set[str]:
    """Every cell of the tables that holds nothing but numbers; none may be cut or folded."""
    cells = {cell for table in section["tables"] for row in table["rows"] for cell in row}
    return {cell for cell in cells if re.fullmatch(r"(?:[-+\d.,()% ]|to|of)+", cell)}


def test_the_same_judge_under_two_names_shows_how_it_repeats_itself(
    cli: Command, bench: Bench, server: ModelServer, tmp_path: Path
) -> None:
    """Given a judge that says something else of one of three answers when asked again, then it agrees in two."""
    run = outputs(cli, tmp_path / "run", "m", "Gout")
    judge(cli, server, run, "first", "--only", "accuracy")
    bench.judges["judge-model"].verdicts = verdicts(Gout_1="correct")
    judge(cli, server, run, "second", "--only", "accuracy")
    found = report(cli, run)
    (row,), (pooled,) = found["self_consistency"]["pairs"], found["self_consistency"]["pooled"]
    assert (row["how"], row["pair"]["raters"]) == ("same settings", ["first", "second"])
    assert row["pair"]["estimates"]["raw_agreement"]["value"] == pytest.approx(2 / 3)
    assert (pooled["judges"], pooled["n_outputs"], pooled["most_times"]) == (["first", "second"], 3, 2)
    assert pooled["compared"]["estimates"]["raw_agreement"]["value"] == pytest.approx(2 / 3)
    said = "Asked again under equal settings, first / second gives the same label in 66.7 %"
    assert any(sentence.startswith(said) for sentence in found["summary"])
    assert "ceiling" not in json.dumps(found) + cli("sensitivity", run).out


def test_a_judge_of_the_same_output_in_two_epochs_shows_how_it_repeats_itself(
    cli: Command, server: ModelServer, tmp_path: Path
) -> None:
    """Given a doctor that answers two of three cases alike in both epochs, then only these are compared."""
    asked: list[str] = []

    def doctor(request: Request) -> Reply:
        asked.append(request.prompt)
        changed = request.prompt == asked[0] and asked.count(request.prompt) == 2
        return Reply(content=TEXT.format(7, "Sepsis" if changed else "Gout"))

    run = tmp_path / "run"
    with ModelServer(doctor) as other:
        ran = cli("run", "medrbench", "--model", other.spec, "--data", DATA, "--setting", "oracle", "--out", run,
                  "--epochs", "2", "--connections", "1")  # fmt: skip
        assert ran.code == 0, ran.err
    judge(cli, server, run, "only", "--only", "accuracy")
    found = report(cli, run)
    (row,), (pooled,) = found["self_consistency"]["pairs"], found["self_consistency"]["pooled"]
    assert (row["how"], row["pair"]["raters"]) == ("epochs", ["only, epoch 1", "only, epoch 2"])
    raw = row["pair"]["estimates"]["raw_agreement"]
    assert (row["n_outputs"], raw["n_items"], raw["value"]) == (2, 2, 1)
    assert (pooled["judges"], pooled["n_outputs"], pooled["compared"]["estimates"]["raw_agreement"]["value"]) == (
        ["only"],
        2,
        1,
    )
    assert found["differences"] == []


def test_preference_for_the_own_model_by_hand(cli: Command, bench: Bench, server: ModelServer, tmp_path: Path) -> None:
    own, other = (outputs(cli, tmp_path / word, model, word)
                  for word, model in (("Mine", "judge-model"), ("Theirs", "doctor")))  # fmt: skip
    bench.judges["judge-model"].verdicts = verdicts(
        Mine_0="correct", Mine_1="correct", Mine_2="correct", Theirs_0="wrong", Theirs_1="correct", Theirs_2="wrong"
    )
    bench.judges["test-model"].verdicts = verdicts(
        Mine_0="correct", Mine_1="wrong", Mine_2="wrong", Theirs_0="wrong", Theirs_1="correct", Theirs_2="wrong"
    )
    for run in (own, other):
        judge(cli, server, run, "self", "--only", "accuracy")
        judge(cli, server, run, "neutral", "--only", "accuracy", model="test-model")
    found = report(cli, own, other)
    (row,) = found["self_preference"]
    assert (row["judge"], row["models"], row["others"], row["neutral"]) == ("self", ["judge-model"], ["neutral"], True)
    # own less other by the judge: 1, 0, 1; by the neutral one 1, -1, 0
    assert row["compared"]["means"] == [pytest.approx(2 / 3), pytest.approx(0)]
    assert row["compared"]["difference"] == pytest.approx(2 / 3)
    assert "Does a judge prefer outputs of its own model?" in cli("sensitivity", own, other).out
    assert report(cli, own)["self_preference"] == [], "there is no other model"


def test_a_judge_with_other_settings_under_the_same_name_is_another(
    cli: Command, server: ModelServer, tmp_path: Path
) -> None:
    runs = [outputs(cli, tmp_path / name, name, "Gout") for name in ("a", "b", "c")]
    for run, protocol in zip(runs, ("per-step", "batched", "per-step"), strict=True):
        judge(cli, server, run, "j", "--judge-protocol", protocol)
    found = report(cli, *runs)
    assert [one["name"] for one in found["judges"]] == ["j (a)", "j (b)", "j (c)"]
    same = report(cli, runs[0], runs[2])
    assert [one["name"] for one in same["judges"]] == ["j"]
    assert [row["judge"] for row in same["ranks"][0]["judges"]] == ["j"]


def test_judges_of_one_name_in_folders_of_one_name_are_told_apart(
    cli: Command, bench: Bench, server: ModelServer, tmp_path: Path
) -> None:
    """Given j, which is one model in x/run and another in y/run, then neither one's scores stand under the other's."""
    bench.judges["judge-model"].verdicts = verdicts(Gout_0="correct", Gout_1="correct", Gout_2="wrong")
    bench.judges["test-model"].verdicts = verdicts(Gout_0="wrong", Gout_1="wrong", Gout_2="correct")
    for folder, model in (("x", "judge-model"), ("y", "test-model")):
        (tmp_path / folder).mkdir()
        judge(
            cli, server, outputs(cli, tmp_path / folder / "run", folder, "Gout"), "j", "--only", "accuracy", model=model
        )
    found = report(cli, tmp_path / "x/run", tmp_path / "y/run")
    assert [(one["name"], one["settings"]["model"]["name"], one["runs"]) for one in found["judges"]] == [
        ("j (x/run)", "judge-model", ["x"]),
        ("j (y/run)", "test-model", ["y"]),
    ]
    means = {row["judge"]: row["mean"] for row in found["scores"] if row["metric"] == "accuracy"}
    assert means == {"j (x/run)": pytest.approx(2 / 3), "j (y/run)": pytest.approx(1 / 3)}
    assert all(entry["judges"] == entry["pairs"] == [] for entry in found["ranks"])


def test_a_name_made_longer_is_not_that_of_another_judge(cli: Command, server: ModelServer, tmp_path: Path) -> None:
    runs = [outputs(cli, tmp_path / name, name, "Gout") for name in ("a", "b")]
    for run, model in zip(runs, ("judge-model", "test-model"), strict=True):
        judge(cli, server, run, "j", "--only", "accuracy", model=model)
        judge(cli, server, run, "j (a)", "--only", "accuracy")
    names = [one["name"] for one in report(cli, *runs)["judges"]]
    assert sorted(names) == sorted({"j (a)", f"j ({tmp_path.name}/a)", "j (b)"})


def test_panels_of_judges_with_other_settings_are_other_panels(
    cli: Command, server: ModelServer, tmp_path: Path
) -> None:
    """Given panels of j and k by one rule, and a j that follows another protocol in the second run."""
    runs = [outputs(cli, tmp_path / name, name, "Gout") for name in ("a", "b", "c")]
    for run, protocol in zip(runs, ("per-step", "batched", "per-step"), strict=True):
        judge(cli, server, run, "j", "--judge-protocol", protocol)
        judge(cli, server, run, "k")
        made = cli("panel", run, "--judges", "j,k", "--rule", "unanimous", "--name", "jury")
        assert made.code == 0, made.err
    assert {"jury (a)", "jury (b)", "k"} <= {one["name"] for one in report(cli, *runs[:2])["judges"]}
    assert [one["name"] for one in report(cli, runs[0], runs[2])["judges"]] == ["j", "k", "jury"]
    said = cli("compare", *runs[:2], "--judge", "jury").sentence
    assert "jury is not the same judge in" in said
    assert "panels of other judges" in said
    assert cli("compare", runs[0], runs[2], "--judge", "jury").code == 0


def test_cases_that_a_metric_is_not_defined_for_are_in_no_count(cli: Command, tmp_path: Path) -> None:
    """Given four questions with a justification and some without, a model's grades of three of these four, as one has
    no explanation, and a person's grade of one, then counts are of the four, three of which the person did not rate."""
    run, file = caremedeval_run(tmp_path), tmp_path / "ann.csv"
    with ModelServer(grader, models=["judge-model"]) as server:
        judge(cli, server, run, "model")
    file.write_text(f"case_id,kind,item,label\n{IDS[3]},explanation,0,0.5\n", encoding="utf-8")
    ran = cli("import-judgements", run, "--labels", file, "--judge-name", "ann")
    assert ran.code == 0, ran.err
    found = report(cli, run, "--people", "ann")
    by_judge = {row["judge"]: row for row in found["scores"]}
    assert (by_judge["model"]["n_scored"], by_judge["model"]["n_unscored"]) == (3, 1)
    ann = by_judge["ann"]
    assert (ann["n_scored"], ann["n_unscored"], ann["n_not_rated"], ann["bounds"]) == (1, 0, 3, [0.5, 0.5])
    own = cli("score", run, "--judge", "model", "--json").json["settings"][0]["metrics"][ann["metric"]]
    assert {name: by_judge["model"][name] for name in own} == own
    (row,) = found["differences"]
    assert (row["n_units"], row["n_one_only"], row["n_neither"]) == (1, {"model": 2, "ann": 0}, 1)
    assert found["unscored"] == [], "the one that both were asked about has a score by both"
