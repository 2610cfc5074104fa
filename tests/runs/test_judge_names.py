"""A judge, a person and a panel get only names that can be shown and picked from a list between commas."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from judge.errors import SpecError
from judge.runs.judge_names import LONGEST, check_judge_name
from tests.conftest import CHECKOUT, Command
from tests.runs.labelled import accuracy, cases, data_of


@pytest.mark.parametrize("name", ["", " ", " a", "a\n", "a,b", "a\x1b[31m", "x" * (LONGEST + 1)])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(SpecError, match=r"^--name .*printable characters, no comma, and no spaces around them"):
        check_judge_name("--name", name)


@pytest.mark.parametrize("name", ["a", "gpt-4.1 (batched)", "Dr. Żółć", "x" * LONGEST])
def test_any_other_text_is_a_name(name: str) -> None:
    check_judge_name("--name", name)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    accuracy(tmp_path / "run", data_of(tmp_path / "data", 2), "m", {"j": dict.fromkeys(cases(2), True)})
    return tmp_path / "run"


@pytest.mark.parametrize(
    ("option", "command"),
    [
        ("--judge-name", lambda run: ("judge", run, "--judge", "http://127.0.0.1:9/v1#m", "--judge-name", "a,b")),
        ("--judge-name", lambda run: ("import-judgements", run, "--labels", run.parent / "run-j.jsonl",
                                      "--judge-key", "j", "--judge-name", "a,b")),
        ("--name", lambda run: ("panel", run, "--judges", "j,j", "--rule", "majority", "--name", "a,b")),
        ("--rater", lambda run: ("annotate", run, "--rater", "a,b")),
    ],
)  # fmt: skip
def test_every_command_that_makes_one_refuses_a_comma(
    cli: Command, run: Path, option: str, command: Callable[[Path], tuple[str | Path, ...]]
) -> None:
    ran = cli(*command(run))
    assert ran.code == 2
    assert f"{option} 'a,b': a name has at most" in ran.sentence
    assert cli("show", run, "--json").json["judges"] == ["j"]


def test_a_name_is_refused_before_a_run_is_made_for_its_labels(cli: Command, tmp_path: Path, run: Path) -> None:
    ran = cli("import-judgements", tmp_path / "new", "--labels", run.parent / "run-j.jsonl", "--judge-key", "j",
              "--judge-name", "a,b", "--benchmark", "medrbench", "--data", CHECKOUT / "fixtures/medrbench",
              "--setting", "oracle")  # fmt: skip
    assert ran.code == 2
    assert not (tmp_path / "new").exists()
