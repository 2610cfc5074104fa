"""A run is continued under its own settings only; what differs is named and nothing is touched."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from judge.runs.store import RunStore, open_run
from tests.conftest import Command
from tests.runs.synthetic import DATA, IDS, asks_of, resume_arguments, right, run_arguments
from tests.server import ModelServer, error, says


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DATA, tmp_path / "data"))


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    folder = tmp_path / "prompts"
    folder.mkdir()
    (folder / "doctor.without_article.fr.v1.md").write_text("{{question}}\n\n{{options}}", encoding="utf-8")
    return folder


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(right) as running:
        yield running


@pytest.fixture
def run(cli: Command, server: ModelServer, data: Path, tmp_path: Path) -> Path:
    """A run of which the last calls are missing."""
    server.script = lambda request: right(request) if request.n <= 6 else error(401, "no")
    arguments = ["run", "caremedeval", "--model", server.spec, "--data", data, "--context", "none"]
    ran = cli(*arguments, "--temperature", 0.5, "--out", tmp_path / "run", "--connections", 1)
    assert ran.code == 1, ran.err
    server.script = right
    server.reset()
    return tmp_path / "run"


def change_question(data: Path) -> None:
    file = data / "original" / "all" / "questions.json"
    file.write_text(file.read_text(encoding="utf-8").replace("PARAVENT", "PARAPLUIE"), encoding="utf-8")


@pytest.mark.parametrize(
    ("more", "difference"),
    [
        (["--temperature", "0.7"], "generation.temperature is 0.5 in the run, 0.7 here"),
        (["--max-tokens", "9"], "generation.max_tokens is not set in the run, 9 here"),
        (["--extra-body", '{"top_p": 0.9}'], "generation.extra_body.top_p is not set in the run, 0.9 here"),
        (["--language", "en"], "options.language is 'fr' in the run, 'en' here"),
        (["--context", "full"], "settings is ['none'] in the run, ['full'] here"),
        (["--epochs", "2"], "epochs is 1 in the run, 2 here"),
        (["--limit", "3"], "limit is not set in the run, 3 here"),
        (["--case", IDS[2]], f"cases is [] in the run, ['{IDS[2]}'] here"),
        (["--model", "http://127.0.0.1:1/v1#other"], "model.name is 'test-model' in the run, 'other' here"),
        (["--prompts", "PROMPTS"], "replaced_prompts is [] in the run, ['doctor.without_article.fr.v1'] here"),
    ],
)
def test_other_settings_are_refused(
    cli: Command, server: ModelServer, run: Path, prompts: Path, more: list[str], difference: str
) -> None:
    before = (run / "run.sqlite").read_bytes()
    ran = cli(*resume_arguments(run, *[part.replace("PROMPTS", str(prompts)) for part in more]))
    assert (ran.code, ran.out) == (2, "")
    assert "cannot be continued with other settings" in ran.sentence
    assert difference in ran.sentence
    assert (run / "run.sqlite").read_bytes() == before
    assert server.chat_count == server.models_count == 0


def test_changed_data_are_refused(cli: Command, server: ModelServer, run: Path, data: Path) -> None:
    change_question(data)
    ran = cli(*resume_arguments(run))
    assert ran.code == 2
    assert "data_hash is" in ran.sentence
    assert server.chat_count == 0


def test_data_that_have_gone_are_named(cli: Command, run: Path, data: Path) -> None:
    data.rename(data.with_name("elsewhere"))
    ran = cli(*resume_arguments(run))
    assert ran.code == 2
    assert str(data) in ran.sentence


def test_data_may_move(cli: Command, run: Path, data: Path) -> None:
    moved = data.rename(data.with_name("elsewhere"))
    assert cli(*resume_arguments(run, "--data", moved)).code == 0


def test_own_prompts_are_found_again_and_a_change_in_them_is_refused(
    cli: Command, server: ModelServer, prompts: Path, tmp_path: Path
) -> None:
    server.script = lambda request: right(request) if request.n <= 6 else error(401, "no")
    ran = cli(*run_arguments(server.spec, tmp_path / "run", "--prompts", prompts, "--connections", 1))
    assert "the prompts doctor.without_article.fr.v1 were replaced by the user's own" in " ".join(ran.out.split())
    server.script = right
    prompt = prompts / "doctor.without_article.fr.v1.md"
    written = prompt.read_text(encoding="utf-8")
    prompt.write_text(f"{written} Vite.", encoding="utf-8")
    refused = cli(*resume_arguments(tmp_path / "run"))
    assert refused.code == 2
    assert "prompts.doctor.without_article.fr.v1 is" in refused.sentence
    prompt.write_text(written, encoding="utf-8")
    assert cli(*resume_arguments(tmp_path / "run")).code == 0


def test_traffic_may_change(cli: Command, server: ModelServer, run: Path) -> None:
    ran = cli(*resume_arguments(run, "--connections", 3, "--timeout", 7, "--tries", 2, "--retry-for", 1, "--json"))
    assert ran.code == 0, ran.err
    assert ran.json["statuses"] == {"answered": 8}
    assert server.chat_count == 2


def test_the_same_settings_may_be_given_again(cli: Command, server: ModelServer, run: Path) -> None:
    again = ["--model", server.spec, "--context", "none", "--language", "fr", "--temperature", "0.5", "--epochs", "1"]
    assert cli(*resume_arguments(run, *again)).code == 0


def test_a_run_is_found_from_another_working_directory(
    cli: Command, server: ModelServer, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server.script = lambda request: right(request) if request.n <= 6 else error(401, "no")
    arguments = ["run", "caremedeval", "--model", server.spec, "--data", "data", "--context", "none"]
    assert cli(*arguments, "--out", "run", "--connections", 1).code == 1
    server.script = right
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert cli(*resume_arguments(Path("../run"))).code == 0


def test_a_finished_run_is_continued_without_asking(cli: Command, server: ModelServer, run: Path) -> None:
    finished = cli(*resume_arguments(run, "--json"))
    server.reset()
    again = cli(*resume_arguments(run, "--json"))
    assert (finished.code, again.code) == (0, 0)
    assert again.json == finished.json
    assert server.chat_count == 0


def test_what_is_no_run(cli: Command, tmp_path: Path) -> None:
    ran = cli(*resume_arguments(tmp_path / "nothing"))
    assert ran.code == 2
    assert "nothing is no run" in ran.sentence
    assert not (tmp_path / "nothing").exists()


def test_a_run_that_another_process_writes(cli: Command, run: Path) -> None:
    store = open_run(run, write=True)
    try:
        ran = cli(*resume_arguments(run))
        shown = cli("show", run)
    finally:
        store.close()
    assert ran.code == 2
    assert "is being written by another process" in ran.sentence
    assert shown.code == 0  # looking is allowed
    assert "NOT FINISHED" in shown.out
    assert cli(*resume_arguments(run)).code == 0


def test_a_run_of_another_benchmark(cli: Command, run: Path) -> None:
    edit(run, lambda value: value.replace("caremedeval", "otherbench"), "benchmark")
    ran = cli(*resume_arguments(run))
    assert ran.code == 2
    assert "is a run of otherbench; continue it with: medjudge run otherbench --resume" in ran.sentence
    shown = cli("show", run)
    assert shown.code == 2
    assert "'otherbench', which is not installed here" in shown.sentence


def test_a_run_of_another_format(cli: Command, run: Path) -> None:
    edit(run, lambda _: "99", "format")
    for ran in (cli(*resume_arguments(run)), cli("show", run), cli("score", run)):
        assert ran.code == 2
        assert "is of run format 99; this version reads 2" in ran.sentence


def test_predictions_have_no_model_to_ask(cli: Command, tmp_path: Path) -> None:
    file = tmp_path / "predictions.json"
    file.write_text(json.dumps({IDS[1]: "A"}), encoding="utf-8")
    cli("import", "caremedeval", "--predictions", file, "--data", DATA, "--out", tmp_path / "run")
    ran = cli(*resume_arguments(tmp_path / "run"))
    assert ran.code == 2
    assert "was made from predictions" in ran.sentence


def test_a_server_that_is_gone_leaves_the_run_as_it_was(cli: Command, server: ModelServer, run: Path) -> None:
    server.close()
    ran = cli(*resume_arguments(run))
    assert ran.code == 2
    assert "127.0.0.1" in ran.sentence
    with ModelServer(right) as other:
        other_port = cli(*resume_arguments(run, "--model", other.spec))
    assert other_port.code == 2  # another address is another endpoint
    assert "model.base_url" in other_port.sentence


def edit(run: Path, change: Callable[[str], str], key: str) -> None:
    store = open_run(run, write=True)
    store.set_meta(key, change(store.meta(key)))
    store.close()


def test_pending_units_asked_again_keep_the_answers_they_have(cli: Command, tmp_path: Path) -> None:
    with ModelServer(says("Je ne sais pas.")) as server:
        server.script = lambda request: error(401, "no") if asks_of(request) == 2 else says("Je ne sais pas.")
        assert cli(*run_arguments(server.spec, tmp_path / "run", "--limit", 1)).code == 1
        server.reset()
        server.script = right
        ran = cli(*resume_arguments(tmp_path / "run", "--retry", "pending", "--json"))
        assert ran.json["statuses"] == {"answered": 1}
        assert [asks_of(call.request) for call in server.calls] == [2]


def test_a_fault_of_ours_loses_no_call_in_flight(
    cli: Command, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def finish(*_: object) -> None:
        monkeypatch.undo()
        raise TypeError("a transcript that is no JSON")

    server.latency = 0.3
    monkeypatch.setattr(RunStore, "finish", finish)
    with pytest.raises(TypeError):
        cli(*run_arguments(server.spec, tmp_path / "run", "--connections", 4))
    paid = server.chat_count
    server.latency = 0
    server.reset()
    assert cli(*resume_arguments(tmp_path / "run", "--json")).json["statuses"] == {"answered": 8}
    assert (paid >= 4, server.chat_count) == (True, 8 - paid)
