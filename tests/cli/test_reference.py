"""`medjudge reference`: by rules, by a model behind a real server, by a person."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from judge.references import read_references
from tests.conftest import Command, Ran
from tests.medrbench.synthetic import record, write_data
from tests.server import ModelServer, Reply, Request, error, says

CASES = {"PMC1": record(), "PMC2": record(final_diagnosis="Wax in both ears."), "PMC3": record()}
STEPS = ["1. Eczema: no scales.", "2. Yeast: grew."]
CONCLUSIONS = {"PMC1": "Yeast infection of the ear canal.", "PMC2": "Wax in both ears.", "PMC3": "Zoster of the ear."}
CASES["PMC3"]["generate_case"]["final_diagnosis"] = CONCLUSIONS["PMC3"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_data(tmp_path / "data", CASES)


@pytest.fixture
def pinning(cli: Command, data: Path, tmp_path: Path) -> Callable[..., Ran]:
    """Runs the command on the three cases, into steps.json."""

    def run(*options: object, setting: str = "oracle") -> Ran:
        return cli("reference", "medrbench", "--data", data, "--setting", setting, "--out", tmp_path / "steps.json",
                   *options)  # fmt: skip

    return run


def refused(ran: Ran, *words: str) -> None:
    assert ran.code == 2, (ran.out, ran.err)
    assert ran.out == ""
    for word in words:
        assert word in ran.sentence


# --- rules


def test_rules_need_no_model_and_say_what_they_made(pinning: Callable[..., Ran], tmp_path: Path) -> None:
    ran = pinning()
    assert ran.code == 0, ran.err
    read = read_references(tmp_path / "steps.json")
    assert read.cases["PMC2"].steps == ("Eczema: no scales.", "Yeast: grew.", "Wax in both ears.")
    assert (read.splitter, read.kind) == ("rules.v1", "diagnosis")
    for line in ("3 medrbench cases (diagnosis), split by rules.v1", "3 to 3, median 3", read.hash, "--reference"):
        assert line in ran.out


def test_some_cases_only_as_json(pinning: Callable[..., Ran], tmp_path: Path) -> None:
    document = pinning("--case", "PMC3", "--case", "PMC2", "--limit", 1, "--json").json
    assert list(read_references(tmp_path / "steps.json").cases) == ["PMC2"]
    assert document["steps"] == {"min": 3, "median": 3, "max": 3}
    assert (document["cases"], document["missing"]) == (1, {})


def test_writing_again_changes_nothing_and_fewer_cases_are_refused(pinning: Callable[..., Ran], tmp_path: Path) -> None:
    pinning()
    before = (tmp_path / "steps.json").read_bytes()
    assert pinning().code == 0
    refused(pinning("--limit", 1), "2 cases that would be lost", "--out")
    assert (tmp_path / "steps.json").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--case", "PMC9"], ["--case PMC9", "no case of that id"]),
        (["--splitter", "rulez"], ["'rulez' is no model name"]),
        (["--splitter", "person:bell"], ["--edited FILE", "go together"]),
        (["--edited", "x.json"], ["--edited FILE", "go together"]),
        (["--splitter", "person:", "--edited", "x.json"], ["the name of the person"]),
    ],
)
def test_what_the_user_gets_wrong_is_one_sentence(
    pinning: Callable[..., Ran], tmp_path: Path, options: Sequence[object], words: list[str]
) -> None:
    refused(pinning(*options), *words)
    assert not (tmp_path / "steps.json").exists()


def test_the_setting_must_be_named_and_chooses_the_file(cli: Command, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "steps.json"
    refused(cli("reference", "medrbench", "--data", data, "--out", out), "--setting is missing")
    write_data(data, kind="treatment")
    ran = cli("reference", "medrbench", "--data", data, "--out", out, "--setting", "treatment")
    assert "1 medrbench cases (treatment)" in ran.out


# --- a model


def judge_says(**content: Any) -> Reply:
    return says(json.dumps({"rationale": "as it is", **content}))


def splitter(wrong: Sequence[str] = (), failing: Sequence[str] = ()) -> Callable[[Request], Reply]:
    """Splits as a good model would; for `wrong` cases it invents a step, for `failing` ones the server breaks."""

    def script(request: Request) -> Reply:
        case = next((name for name, conclusion in CONCLUSIONS.items() if conclusion in request.prompt), None)
        if case is None:
            return judge_says(verdict="blue")
        if case in failing:
            return error(500, "broken")
        return judge_says(steps=[*STEPS, "Mastoiditis." if case in wrong else CONCLUSIONS[case]])

    return script


def splits(server: ModelServer) -> int:
    """How many requests were about a case."""
    return sum(any(text in call.request.prompt for text in CONCLUSIONS.values()) for call in server.calls)


def test_a_model_s_spans_are_pinned_with_all_that_decided_them(pinning: Callable[..., Ran], tmp_path: Path) -> None:
    with ModelServer(splitter()) as server:
        ran = pinning("--splitter", server.spec, "--temperature", 0, "--max-tokens", 500)
    assert ran.code == 0, ran.err
    read = read_references(tmp_path / "steps.json")
    assert list(read.cases) == ["PMC1", "PMC2", "PMC3"]
    assert read.cases["PMC2"].steps == (*STEPS, "Wax in both ears.")
    assert read.splitter == server.spec
    assert (read.parameters["most"], read.parameters["mode"]) == (10, "TOOLS")
    assert read.parameters["generation"] == {"temperature": 0.0, "max_tokens": 500, "extra_body": {}}
    assert len(read.parameters["prompt"]) == 64


def test_a_case_that_fails_leaves_no_file_and_the_next_run_asks_only_for_it(
    pinning: Callable[..., Ran], tmp_path: Path
) -> None:
    with ModelServer(splitter(failing=["PMC2"])) as server:
        options = ["--splitter", server.spec, "--tries", 1]
        ran = pinning(*options)
        assert ran.code == 1
        assert not (tmp_path / "steps.json").exists()
        assert "PMC2: " in ran.err
        assert "1 cases could not be split" in ran.err
        assert str(tmp_path / "steps.json.calls.jsonl") in ran.err
        server.script = splitter()
        server.reset()
        assert pinning(*options).code == 0
        assert splits(server) == 1
        assert len(server.calls) == 1, "the probe of the judge's mode is recorded too"
    assert len(read_references(tmp_path / "steps.json").cases) == 3


def test_an_answer_that_cannot_be_used_is_asked_again_on_request_only(
    pinning: Callable[..., Ran], tmp_path: Path
) -> None:
    with ModelServer(splitter(wrong=["PMC2"])) as server:
        assert pinning("--splitter", server.spec).code == 1
        server.script = splitter()
        server.reset()
        again = pinning("--splitter", server.spec)
        assert (again.code, splits(server)) == (1, 0)
        assert "--retry" in again.err
        assert pinning("--splitter", server.spec, "--retry").code == 0
        assert splits(server) == 1
        server.reset()
        assert pinning("--splitter", server.spec).code == 0
        assert len(server.calls) == 0
    assert read_references(tmp_path / "steps.json").cases["PMC2"].steps == (*STEPS, "Wax in both ears.")


def test_cases_without_steps_may_be_left_out_on_request_and_filled_in_later(
    pinning: Callable[..., Ran], tmp_path: Path
) -> None:
    with ModelServer(splitter(failing=["PMC2"])) as server:
        options = ["--splitter", server.spec, "--tries", 1]
        ran = pinning(*options, "--allow-missing")
        assert (ran.code, list(read_references(tmp_path / "steps.json").cases)) == (0, ["PMC1", "PMC3"])
        assert "Without steps: 1 cases" in ran.out
        server.script = splitter()
        assert pinning(*options).code == 0
    assert list(read_references(tmp_path / "steps.json").cases) == ["PMC1", "PMC2", "PMC3"]


def test_other_settings_over_recorded_calls_or_pinned_steps_are_refused(
    pinning: Callable[..., Ran], tmp_path: Path
) -> None:
    with ModelServer(splitter()) as server:
        pinning("--splitter", server.spec)
        before = (tmp_path / "steps.json").read_bytes()
        refused(pinning("--splitter", f"{server.url}#another"), "steps.json.calls.jsonl", "--out")
        refused(
            pinning("--splitter", server.spec, "--temperature", 1), "steps.json.calls.jsonl", "temperature", "--out"
        )
        (tmp_path / "steps.json.calls.jsonl").unlink()
        refused(pinning("--splitter", server.spec, "--temperature", 1), "made in another way", "--out")
    assert (tmp_path / "steps.json").read_bytes() == before


def test_a_server_that_is_not_there_leaves_nothing_behind(pinning: Callable[..., Ran], tmp_path: Path) -> None:
    with ModelServer(splitter()) as server:
        gone = server.spec
    assert pinning("--splitter", gone).code == 2
    assert not list(tmp_path.glob("steps.json*"))


# --- a person


def test_a_person_s_changes_are_pinned_under_a_name(pinning: Callable[..., Ran], tmp_path: Path) -> None:
    pinning()
    document = json.loads((tmp_path / "steps.json").read_text(encoding="utf-8"))
    document["cases"]["PMC2"]["steps"] = ["Wax."]
    edited = tmp_path / "edited.json"
    edited.write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / "steps.json").unlink()
    ran = pinning("--splitter", "person:bell", "--edited", edited)
    assert ran.code == 0, ran.err
    read = read_references(tmp_path / "steps.json")
    assert (read.splitter, read.cases["PMC2"].steps) == ("person:bell", ("Wax.",))
