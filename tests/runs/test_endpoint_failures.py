"""A server that serves no call ends the run before anything is written; one that dies leaves a run to continue."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.runs.synthetic import numbers, resume_arguments, right, run_arguments
from tests.server import ModelServer, error, malformed


def unused_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_a_server_that_is_not_there(cli: Command, tmp_path: Path) -> None:
    ran = cli(*run_arguments(f"http://127.0.0.1:{unused_port()}/v1#m", tmp_path / "out"))
    assert (ran.code, ran.out) == (2, "")
    assert "http://127.0.0.1" in ran.sentence
    assert not (tmp_path / "out").exists()


def test_a_key_that_the_server_refuses_when_it_lists_models(cli: Command, tmp_path: Path) -> None:
    with ModelServer(right, models_key="right", chat_key="right") as server:
        ran = cli(*run_arguments(server.spec, tmp_path / "out"))
    assert (ran.code, ran.out) == (2, "")
    assert "key" in ran.sentence
    assert "401" in ran.sentence
    assert server.chat_count == 0
    assert not (tmp_path / "out").exists()


def test_a_key_that_the_server_refuses_only_when_it_is_asked(cli: Command, tmp_path: Path) -> None:
    recording = tmp_path / "recording.jsonl"
    with ModelServer(right, chat_key="right") as server:
        ran = cli(*run_arguments(server.spec, tmp_path / "out", "--record", recording))
    assert (ran.code, ran.out) == (2, "")
    assert "medjudge: the server refuses the key" in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "out").exists()
    assert not recording.exists()  # else the next attempt would find it taken


def test_a_model_that_the_server_does_not_know(cli: Command, tmp_path: Path) -> None:
    reply = error(404, "The model `m` does not exist", code="model_not_found")
    with ModelServer(reply) as server:
        ran = cli(*run_arguments(f"{server.url}#m", tmp_path / "out"))
    assert (ran.code, ran.out) == (2, "")
    assert "The model `m` does not exist" in ran.err
    assert not (tmp_path / "out").exists()


def test_an_account_without_credit(cli: Command, tmp_path: Path) -> None:
    reply = error(429, "You exceeded your current quota", code="insufficient_quota")
    with ModelServer(reply) as server:
        ran = cli(*run_arguments(server.spec, tmp_path / "out"))
    assert ran.code == 2
    assert "no credit" in ran.err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_held_something_else_keeps_it(cli: Command, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with ModelServer(right, chat_key="right") as server:
        assert cli(*run_arguments(server.spec, tmp_path)).code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_server_whose_list_of_models_is_of_no_use_is_asked_all_the_same(cli: Command, tmp_path: Path) -> None:
    with ModelServer(right, models_endpoint="missing") as server:
        assert cli(*run_arguments(server.spec, tmp_path / "out")).code == 0


def test_a_model_that_is_not_listed_is_noted(cli: Command, tmp_path: Path) -> None:
    with ModelServer(right, models=["another\x1b[31m"]) as server:
        ran = cli(*run_arguments(f"{server.url}#mine", tmp_path / "out"))
    assert ran.code == 0
    assert "does not list a model named 'mine'" in " ".join(ran.out.split())
    assert "\x1b" not in ran.out


def test_a_server_that_dies_ends_the_run_which_can_be_continued(cli: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    server = ModelServer(right, latency=0.02)
    dying = threading.Event()

    def watch() -> None:
        server.wait_for_calls(60, timeout=60)
        dying.set()
        server.close()

    with server:
        watcher = threading.Thread(target=watch)
        watcher.start()
        arguments = run_arguments(server.spec, out, "--epochs", 40, "--tries", 1, "--connections", 4, "--json")
        ran = cli(*arguments)
        watcher.join()
        assert dying.is_set()
    assert ran.code == 1, ran.err
    assert ran.json["state"] == "incomplete"
    assert "cannot be reached any more" in ran.json["error"]
    assert f"medjudge run caremedeval --resume {out}" in ran.err
    assert 0 < ran.json["statuses"]["answered"] < 320


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (error(400, "no such thing as a LCA"), "bad_request"),
        (error(500, "out of order"), "server_error"),
        (error(429, "slow down"), "rate_limited"),
        (malformed(b"<html>busy</html>"), "malformed_response"),
    ],
)
def test_calls_that_fail_for_good_are_errors_of_their_units(
    cli: Command, tmp_path: Path, reply: object, status: str
) -> None:
    with ModelServer(reply) as server:  # type: ignore[arg-type]
        ran = cli(*run_arguments(server.spec, tmp_path / "out", "--tries", 1, "--json"))
    assert ran.code == 1
    assert ran.json["statuses"] == {status: 8}
    assert ran.json["error_units"] == 8
    assert ran.json["settings"][0]["metrics"]["lca"]["mean"] is None
    assert ran.json["settings"][0]["metrics"]["lca"]["bounds"] == [0.0, 1.0]


def test_failures_that_pass_are_waited_out(cli: Command, tmp_path: Path) -> None:
    def flaky(request: object) -> object:
        return right(request) if request.seen else error(503, "loading", retry_after=0.01)  # type: ignore

    with ModelServer(flaky) as server:  # type: ignore[arg-type]
        ran = cli(*run_arguments(server.spec, tmp_path / "out", "--json"))
    assert ran.code == 0
    assert ran.json["statuses"] == {"answered": 8}
    assert server.chat_count == 16


def test_a_call_without_answer_in_time_is_a_timeout(cli: Command, tmp_path: Path) -> None:
    with ModelServer(right, latency=5) as server:
        ran = cli(*run_arguments(server.spec, tmp_path / "out", "--timeout", 0.3, "--tries", 1, "--json"))
    assert ran.code == 1
    assert ran.json["statuses"] == {"timeout": 8}


def test_one_answer_makes_a_refused_key_later_a_run_to_continue(cli: Command, tmp_path: Path) -> None:
    def expires(request: object) -> object:
        return right(request) if request.n <= 5 else error(401, "key expired")  # type: ignore

    out = tmp_path / "out"
    with ModelServer(expires) as server:  # type: ignore[arg-type]
        ran = cli(*run_arguments(server.spec, out, "--connections", 1, "--json"))
        assert ran.code == 1
        assert ran.json["statuses"] == {"answered": 5, "pending": 3}
        assert "refuses the key" in ran.err
        server.script = right
        server.reset()
        resumed = cli(*resume_arguments(out, "--json"))
    assert resumed.code == 0
    assert server.chat_count == 3
    with ModelServer(right) as server:
        undisturbed = cli(*run_arguments(server.spec, tmp_path / "other", "--json"))
    assert numbers(resumed.json) == numbers(undisturbed.json)
