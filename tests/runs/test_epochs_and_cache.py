"""Repeats of a case are asked apart and averaged within the case; a cache shares answers between runs only."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Command
from tests.runs.synthetic import means, number_of, numbers, right, run_arguments, setting_of
from tests.server import ModelServer, Reply, Request, says


def by_turns(request: Request) -> Reply:
    """Question 1: right, wrong, right, wrong. Question 2: never right, and the first time no answer at all."""
    number = number_of(request)
    if number == 1:
        return says("Réponse : A, B, D, E" if request.seen % 2 == 0 else "Réponse : C")
    if number == 2:
        return says("Je ne sais pas.", finish_reason="length") if request.seen == 0 else says("Réponse : E")
    return right(request)


def test_means_are_over_epochs_then_over_cases(cli: Command, tmp_path: Path) -> None:
    with ModelServer(by_turns) as server:
        ran = cli(*run_arguments(server.spec, tmp_path / "run", "--epochs", 4, "--limit", 3, "--json"))
    assert server.chat_count == 4 * 3
    # question 1: 2 of 4; question 2: 0 of the 3 that are scored; question 3: 4 of 4
    assert means(ran.json)["emr"] == pytest.approx((2 / 4 + 0 / 3 + 4 / 4) / 3)
    emr = setting_of(ran.json, "none")["metrics"]["emr"]
    assert (emr["n_scored"], emr["n_unscored"], emr["n_cases"]) == (11, 1, 3)
    assert emr["bounds"] == pytest.approx([(2 + 0 + 4) / 12, (2 + 0 + 4 + 1) / 12])
    shown = cli("show", tmp_path / "run")
    assert "epochs 4" in shown.out
    (rows,) = (setting["epochs"] for setting in ran.json["settings"])
    row = next(row for row in rows if row["metric"] == "emr")
    # of questions 1 and 3, which have 4 scores, one is right in all of 4 and both in any; question 2 has 3 scores
    assert (row["k"], row["all_of"], row["any_of"], row["n_short"]) == (4, 1 / 2, 1.0, 1)
    # within: squares 4 * .25, 0, 0 over 11 scores less 3 cases
    assert row["within"] == pytest.approx(1 / 8)
    assert row["sd_within"] == pytest.approx((1 / 8) ** 0.5)
    assert "4 epochs a case" in shown.out
    for command in ("show", "score"):
        assert cli(command, tmp_path / "run", "--json").json["settings"][0]["epochs"] == rows
    page = tmp_path / "report.html"
    report = cli("report", tmp_path / "run", "--json", "--html", page).json
    assert report["settings"][0]["epochs"] == [{"judge": "", **row} for row in rows]
    assert "none: 4 epochs a case" in page.read_text(encoding="utf-8")


def test_a_case_that_was_asked_once_has_no_table_of_epochs(cli: Command, tmp_path: Path) -> None:
    with ModelServer(right) as server:
        ran = cli(*run_arguments(server.spec, tmp_path / "run", "--limit", 2, "--json"))
    assert [setting["epochs"] for setting in ran.json["settings"]] == [[]]


def test_epochs_have_addresses_of_their_own(cli: Command, tmp_path: Path) -> None:
    with ModelServer(by_turns) as server:
        cli(*run_arguments(server.spec, tmp_path / "run", "--epochs", 3, "--limit", 1))
    entries = cli("show", tmp_path / "run", "dd77", "--json").json
    assert [entry["unit"].rsplit("/", 1)[1] for entry in entries] == ["1", "2", "3"]
    assert sorted(entry["scores"]["emr"] for entry in entries) == [0.0, 1.0, 1.0]


def test_a_second_run_at_temperature_zero_is_served_from_the_cache(cli: Command, tmp_path: Path) -> None:
    cache = ["--cache", tmp_path / "answers.sqlite", "--temperature", 0, "--json"]
    with ModelServer(right) as server:
        first = cli(*run_arguments(server.spec, tmp_path / "first", *cache))
        second = cli(*run_arguments(server.spec, tmp_path / "second", *cache))
    assert server.chat_count == 8  # of 16 calls in all
    assert numbers(first.json) == numbers(second.json)
    assert [row["source"] for row in second.json["tokens"]] == ["cache"]


def test_epochs_are_not_served_from_each_other(cli: Command, tmp_path: Path) -> None:
    cache = ["--cache", tmp_path / "answers.sqlite", "--temperature", 0, "--epochs", 2]
    with ModelServer(right) as server:
        cli(*run_arguments(server.spec, tmp_path / "first", *cache))
        assert server.chat_count == 16
        cli(*run_arguments(server.spec, tmp_path / "second", *cache))
    assert server.chat_count == 16


@pytest.mark.parametrize("temperature", [[], ["--temperature", "0.1"]])
def test_other_temperatures_are_always_asked(cli: Command, tmp_path: Path, temperature: list[str]) -> None:
    cache = ["--cache", tmp_path / "answers.sqlite", *temperature]
    with ModelServer(right) as server:
        for name in ("first", "second"):
            assert cli(*run_arguments(server.spec, tmp_path / name, *cache)).code == 0
    assert server.chat_count == 16


def test_other_limits_and_other_servers_are_asked(cli: Command, tmp_path: Path) -> None:
    cache = ["--cache", tmp_path / "answers.sqlite", "--temperature", 0]
    with ModelServer(right) as server, ModelServer(right) as other:
        cli(*run_arguments(server.spec, tmp_path / "first", *cache))
        cli(*run_arguments(server.spec, tmp_path / "second", *cache, "--max-tokens", 99))
        cli(*run_arguments(other.spec, tmp_path / "third", *cache))
    assert (server.chat_count, other.chat_count) == (16, 8)
