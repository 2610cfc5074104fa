"""What changes if only one thing about a judge changes, judges of their own model, and a judge against itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CHECKOUT, Command
from tests.medrbench.synthetic_judge import SyntheticJudge
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


def test_the_same_judge_under_two_names_is_its_own_ceiling(
    cli: Command, bench: Bench, server: ModelServer, tmp_path: Path
) -> None:
    """Given a judge that says something else of one of three answers when asked again, then it agrees in two."""
    run = outputs(cli, tmp_path / "run", "m", "Gout")
    judge(cli, server, run, "first", "--only", "accuracy")
    bench.judges["judge-model"].verdicts = verdicts(Gout_1="correct")
    judge(cli, server, run, "second", "--only", "accuracy")
    (row,) = report(cli, run)["self_consistency"]
    assert (row["how"], row["pair"]["raters"]) == ("same settings", ["first", "second"])
    assert row["pair"]["estimates"]["raw_agreement"]["value"] == pytest.approx(2 / 3)
    assert any("Of one judge asked twice, first and second agree on 66.7 %" in s for s in report(cli, run)["summary"])


def test_a_judge_of_the_same_output_in_two_epochs_is_its_own_ceiling(
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
    (row,) = found["self_consistency"]
    assert (row["how"], row["pair"]["raters"]) == ("epochs", ["only, epoch 1", "only, epoch 2"])
    raw = row["pair"]["estimates"]["raw_agreement"]
    assert (row["n_outputs"], raw["n_items"], raw["value"]) == (2, 2, 1)
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
    assert (row["judge"], row["model"], row["others"], row["neutral"]) == ("self", "judge-model", ["neutral"], True)
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
    assert list(same["ranks"][0]["ranked"]["ranks"]) == ["j"]
