"""Whatever the user gets wrong: one sentence, exit code 2, nothing written, nobody asked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command, Ran
from tests.runs.synthetic import DATA, IDS, right, run_arguments
from tests.server import ModelServer


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer(right) as running:
        yield running


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A copy of the questions, to be damaged."""
    return Path(shutil.copytree(DATA, tmp_path / "data"))


def files(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def refused(ran: Ran, *words: str) -> None:
    assert ran.code == 2, (ran.out, ran.err)
    assert ran.out == ""
    assert "Traceback" not in ran.err
    for word in words:
        assert word in ran.sentence


def questions(data: Path) -> Path:
    return data / "original" / "all" / "questions.json"


def change(data: Path, edit: Callable[[list[dict[str, Any]]], None]) -> None:
    records = json.loads(questions(data).read_text(encoding="utf-8"))
    edit(records)
    questions(data).write_text(json.dumps(records), encoding="utf-8")


def no_folder(data: Path) -> None:
    shutil.rmtree(data)


def broken_json(data: Path) -> None:
    questions(data).write_text('[{"id": "a",', encoding="utf-8")


def not_utf8(data: Path) -> None:
    questions(data).write_bytes(b'["\xff"]')


def no_field(data: Path) -> None:
    change(data, lambda records: records[2].pop("correct_answers"))


def same_id(data: Path) -> None:
    change(data, lambda records: records[3].update(id=IDS[1]))


def unknown_gold(data: Path) -> None:
    change(data, lambda records: records[2].update(correct_answers=["z"]))


def no_article(data: Path) -> None:
    (data / "original" / "all" / "articles" / "article_2.txt").unlink()


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (no_folder, ["CareMedEval is not here", "original"]),
        (broken_json, ["questions.json", "line 1"]),
        (not_utf8, ["questions.json", "UTF-8"]),
        (no_field, ["questions.json", "index 2", IDS[3], "correct_answers"]),
        (same_id, ["questions.json", IDS[1], "index 0", "index 3"]),
        (unknown_gold, ["questions.json", "index 2", IDS[3], "'z'"]),
        (no_article, ["article_2.txt", "missing", IDS[6]]),
    ],
)
@pytest.mark.parametrize("verb", ["run", "import", "baselines"])
def test_damaged_data(
    cli: Command,
    server: ModelServer,
    tmp_path: Path,
    data: Path,
    verb: str,
    damage: Callable[[Path], None],
    words: list[str],
) -> None:
    damage(data)
    predictions = tmp_path / "predictions.json"
    predictions.write_text(json.dumps({IDS[1]: "A"}), encoding="utf-8")
    before, calls = files(tmp_path), server.chat_count
    arguments: dict[str, list[object]] = {
        "run": ["--model", server.spec, "--context", "full", "--out", tmp_path / "out"],
        "import": ["--predictions", predictions, "--out", tmp_path / "out"],
        "baselines": [],
    }
    refused(cli(verb, "caremedeval", "--data", data, *arguments[verb]), *words)
    assert files(tmp_path) == before
    assert server.chat_count == calls


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--case", "nobody"], ["--case nobody", "no case"]),
        (["--context", "everything"], ["--context", "everything", "none"]),
        (["--language", "de"], ["--language", "de"]),
        (["--limit", "0"], ["--limit", "0"]),
        (["--limit", "-3"], ["--limit"]),
        (["--epochs", "0"], ["--epochs"]),
        (["--temperature", "3"], ["--temperature"]),
        (["--temperature", "nan"], ["--temperature", "nan"]),
        (["--timeout", "nan"], ["--timeout", "nan"]),
        (["--timeout", "0"], ["--timeout"]),
        (["--retry-for", "inf"], ["--retry-for", "inf"]),
        (["--tries", "0"], ["--tries"]),
        (["--max-tokens", "0"], ["--max-tokens"]),
        (["--connections", "0"], ["--connections"]),
        (["--extra-body", "[1]"], ["--extra-body", "object"]),
        (["--extra-body", "{"], ["--extra-body", "JSON"]),
        (["--prompts", "PATH"], ["--prompts", "holds none", "reask.fr.v1.md"]),
        (["--prompts", "PATH/missing"], ["--prompts", "no such folder"]),
        (["--tokenizer", "PATH/missing"], ["tokenizer"]),
        (["--replay", "PATH/missing"], ["missing", "no such recording"]),
        (["--replay", "FOREIGN"], ["foreign.jsonl", "header"]),
        (["--record", "FOREIGN"], ["foreign.jsonl"]),
        (["--cache", "FOREIGN"], ["foreign.jsonl"]),
        (["--retry", "errors"], ["--retry", "--resume"]),
        (["--resume", "PATH"], ["--out", "--resume"]),
        (["--api-key-env", "NO_SUCH_VARIABLE"], ["NO_SUCH_VARIABLE"]),
        (["--nonsense"], ["--nonsense"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) and value and value[0].startswith("--") else "",
)
def test_options_that_cannot_be_used(
    cli: Command, server: ModelServer, tmp_path: Path, more: list[str], words: list[str]
) -> None:
    (tmp_path / "empty").mkdir()
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_text('{"a": 1}\n', encoding="utf-8")
    before, calls = files(tmp_path), server.chat_count
    given = [part.replace("PATH", str(tmp_path / "empty")).replace("FOREIGN", str(foreign)) for part in more]
    refused(cli(*run_arguments(server.spec, tmp_path / "out", *given)), *words)
    assert files(tmp_path) == before
    assert server.chat_count == calls
    assert foreign.read_text(encoding="utf-8") == '{"a": 1}\n'


@pytest.mark.parametrize(
    ("left_out", "words"),
    [("--context", ["--context is missing", "none, abstract, medium, full, all"]), ("--data", ["--data"]),
     ("--model", ["--model"])],
)  # fmt: skip
def test_what_a_run_needs(cli: Command, server: ModelServer, tmp_path: Path, left_out: str, words: list[str]) -> None:
    needed = {"--model": server.spec, "--data": DATA, "--context": "none", "--out": tmp_path / "out"}
    given = [part for name, value in needed.items() if name != left_out for part in (name, value)]
    refused(cli("run", "caremedeval", *given), *words)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("gpt-4.1", ["'gpt-4.1' is no model name", "openai:gpt-4.1"]),
        ("http://127.0.0.1:1/v1", ["does not say which model", "#"]),
        ("http://user:secret@127.0.0.1:1/v1#m", ["environment variable"]),
        ("openai:gpt-4.1", ["OPENAI_API_KEY"]),
        ("human", ["human"]),
        ("imported:x", ["imported"]),
        ("replay:nothing.jsonl", ["nothing.jsonl", "no such recording"]),
        ("nosuchprovider:model", ["nosuchprovider"]),
    ],
)
def test_model_names_that_cannot_be_used(cli: Command, tmp_path: Path, spec: str, words: list[str]) -> None:
    refused(cli(*run_arguments(spec, tmp_path / "out")), *words)
    assert files(tmp_path) == set()


def test_a_folder_that_holds_a_run_already(cli: Command, server: ModelServer, tmp_path: Path) -> None:
    first = cli(*run_arguments(server.spec, tmp_path / "out"))
    assert first.code == 0
    stored, calls = (tmp_path / "out" / "run.sqlite").read_bytes(), server.chat_count
    refused(cli(*run_arguments(server.spec, tmp_path / "out")), "holds a run already", "--resume")
    assert (tmp_path / "out" / "run.sqlite").read_bytes() == stored
    assert server.chat_count == calls


def test_a_folder_that_cannot_be_made(cli: Command, server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    refused(cli(*run_arguments(server.spec, tmp_path / "file" / "out")), "file")


@pytest.mark.parametrize("verb", ["show", "score"])
def test_what_is_no_run(cli: Command, tmp_path: Path, verb: str) -> None:
    refused(cli(verb, tmp_path / "missing"), "is no run")
    assert files(tmp_path) == set()
    (tmp_path / "run.sqlite").write_text("not a database, but long enough to be looked at\n" * 40, encoding="utf-8")
    refused(cli(verb, tmp_path), "run.sqlite")


def test_unknown_commands_and_benchmarks(cli: Command) -> None:
    refused(cli("evaluate"), "evaluate")
    refused(cli("run", "nothing"), "nothing")


def test_a_prompt_with_an_unknown_variable(cli: Command, server: ModelServer, tmp_path: Path) -> None:
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "doctor.without_article.fr.v1.md").write_text("{{question}} {{hint}}", encoding="utf-8")
    calls = server.chat_count
    ran = cli(*run_arguments(server.spec, tmp_path / "out", "--prompts", prompts))
    assert (ran.code, ran.out) == (2, "")
    assert "doctor.without_article.fr.v1.md: uses {{hint}}, which does not exist" in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "out").exists()
    assert server.chat_count == calls


def test_mistakes_end_in_one_sentence_in_a_real_process_too(command: Command, tmp_path: Path) -> None:
    refused(command(*run_arguments("http://127.0.0.1:1/v1#m", tmp_path / "out", "--case", "nobody")), "nobody")
