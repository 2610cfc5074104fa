"""What is noticed about prompts and replies beside the answers."""

from __future__ import annotations

from pathlib import Path

from graphs.caremedeval.cases import load_cases
from tests.conftest import Command
from tests.data import real_data
from tests.runs.synthetic import Answer, answering, letters, right, run_arguments, setting_of
from tests.server import ModelServer, says


def test_a_prompt_cut_silently_by_the_server_is_suspected(cli: Command, tmp_path: Path) -> None:
    with ModelServer(right, context_window=150, context_style="silent") as server:
        ran = cli(*run_arguments(server.spec, tmp_path / "run", "--json", context=["none", "full"]))
    assert ran.code == 0
    assert "prompt_cut_suspected" not in setting_of(ran.json, "none")["flags"]
    assert setting_of(ran.json, "full")["flags"]["prompt_cut_suspected"] == 8
    warning = "full: in 8 units the server counted far fewer prompt tokens than were sent"
    assert any(warning in text for text in ran.json["warnings"])


def test_whole_prompts_are_not_suspected(cli: Command, tmp_path: Path) -> None:
    with ModelServer(right) as server:
        ran = cli(*run_arguments(server.spec, tmp_path / "run", "--json", context=["full"]))
    assert setting_of(ran.json, "full")["flags"] == {}


def test_a_prompt_that_the_server_refuses_as_too_long_is_an_error_of_its_unit(cli: Command, tmp_path: Path) -> None:
    with ModelServer(right, context_window=400) as server:
        ran = cli(*run_arguments(server.spec, tmp_path / "run", context=["none", "full"]))
        again = cli("score", tmp_path / "run", "--json")
    assert ran.code == again.code == 1
    assert setting_of(again.json, "none")["statuses"] == {"answered": 8}
    assert setting_of(again.json, "full")["statuses"] == {"context_exceeded": 8}
    assert "unscored: context_exceeded 8" in ran.out
    assert "8 units are unscored through errors" in ran.err
    assert server.chat_count == 16  # it is of no use to try again


def test_malformed_and_re_asked_replies(cli: Command, tmp_path: Path) -> None:
    answers: dict[int, Answer] = {
        1: says("Les bonnes réponses sont A, B, D et E."),  # readable, but not the demanded line
        2: [says("Je ne sais pas."), "A, C, D"],  # the re-ask helps
        3: [says("Je ne sais pas."), says("Je ne sais toujours pas.")],
        4: says("A : vrai\nB : faux\nC : vrai\nD : faux\nE : vrai"),
        5: says(""),
    }
    with ModelServer(answering(answers)) as server:
        ran = cli(*run_arguments(server.spec, tmp_path / "run", "--json"))
    none = setting_of(ran.json, "none")
    assert none["statuses"] == {"answered": 6, "no_answer": 1, "empty_reply": 1}
    assert none["flags"] == {"malformed": 5, "re_asked": 3, "extracted_from_malformed": 2}
    assert none["metrics"]["emr"]["mean"] == 1.0


def test_a_letter_that_is_no_option_is_dropped(cli: Command, tmp_path: Path) -> None:
    with ModelServer(answering({3: "B, E"})) as server:  # question 3 has no E
        ran = cli(*run_arguments(server.spec, tmp_path / "run", "--json"))
    assert setting_of(ran.json, "none")["flags"]["letters_dropped"] == 1


def test_ten_articles_do_not_fit_the_medium_budget_and_two_abstracts_not_theirs(cli: Command, tmp_path: Path) -> None:
    data = real_data("caremedeval")
    one_of_each = {case.article_id: case.id for case in load_cases(data, "fr")}
    assert len(one_of_each) == 37
    chosen = [part for case in one_of_each.values() for part in ("--case", case)]
    with ModelServer(letters("A")) as server:
        contexts = ["--context", "medium", "--context", "full", "--context", "abstract"]
        arguments = ["run", "caremedeval", "--model", server.spec, "--data", data, "--out", tmp_path / "run"]
        ran = cli(*arguments, *contexts, *chosen, "--json")
    assert ran.code == 0, ran.err
    flags = {setting["setting"]: setting["flags"].get("context_cut", 0) for setting in ran.json["settings"]}
    assert flags == {"medium": 10, "full": 0, "abstract": 2}
    marked = [call for call in server.calls if "the middle of this text is left out here" in call.request.prompt]
    assert len(marked) == 10 + 2
