"""From questions to a report: run, show, score, on the eight synthetic questions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.runs.synthetic import (
    GOLD,
    IDS,
    Answer,
    answering,
    group_of,
    letters,
    means,
    number_of,
    numbers,
    run_arguments,
    setting_of,
)
from tests.server import ModelServer, Reply, Request, says

UNREADABLE = "Je ne sais pas."

#: Replies without the article.
#: Gold: 1 abde, 2 acd, 3 b, 4 ace (a essential), 5 de (b unacceptable), 6 abcde, 7 acd, 8 cd.
WITHOUT_ARTICLE: dict[int, Answer] = {
    1: "A, B, D, E",  # right
    2: "A, C",  # d is missing: one mismatch
    3: "C",  # c for b: two mismatches, of four options
    4: "C, E",  # the essential a is missing
    5: "B, D, E",  # the unacceptable b is chosen
    6: [says(UNREADABLE), says(UNREADABLE)],  # no answer, and none when re-asked
    7: "Aucune",  # explicitly none
    8: says("Réponse : C", finish_reason="length"),  # cut off
}

N = 6
"""Of the eight, 6 and 8 are unscored."""

EXPECTED = {
    "emr": (1 + 0 + 0 + 0 + 0 + 0) / N,
    "lca": (1 + 0.5 + 0.25 + 0 + 0 + 0) / N,
    "lca_exam": (1 + 0.5 + 0.2 + 0 + 0 + 0) / N,
    "lca_published": (1 + 0.5 + 0.2 + 0.5 + 0.5 + 0) / N,
    "precision": (1 + 2 / 2 + 0 / 1 + 2 / 2 + 2 / 3 + 0) / N,
    "recall": (1 + 2 / 3 + 0 / 1 + 2 / 3 + 2 / 2 + 0) / N,
    # 2pr/(p+r): 2·1·(2/3)/(5/3) = 4/5 three times
    "f1": (1 + 4 / 5 + 0 + 4 / 5 + 4 / 5 + 0) / N,
    # in both / in either: 2 of 3 three times
    "jaccard": (1 + 2 / 3 + 0 + 2 / 3 + 2 / 3 + 0) / N,
    # options judged rightly / options: question 3 has four; of 7, b and e are rightly not chosen
    "hamming": (1 + 4 / 5 + 2 / 4 + 4 / 5 + 4 / 5 + 2 / 5) / N,
}


@dataclass
class Played:
    folder: Path
    report: dict[str, Any]
    calls: int


def script(request: Request) -> Reply:
    if "<article>" in request.messages[0]["content"]:
        return letters(GOLD[number_of(request)])
    return answering(WITHOUT_ARTICLE)(request)


@pytest.fixture(scope="module")
def played(cli: Command, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A finished run whose server is gone."""
    folder = tmp_path_factory.mktemp("main") / "run"
    with ModelServer(script) as server:
        run = cli(*run_arguments(server.spec, folder, "--json", context=["none", "full"]))
    assert run.code == 0, run.err
    return Played(folder, run.json, server.chat_count)


def test_a_run_prints_one_json_document_and_exits_with_zero(command: Command, tmp_path: Path) -> None:
    with ModelServer(script) as server:
        ran = command(*run_arguments(server.spec, tmp_path / "run", "--json", context=["none", "full"]))
    assert ran.code == 0, ran.err
    assert ran.json["state"] == "complete"
    assert ran.out.startswith("{\n")
    assert ran.out.endswith("}\n")


def test_every_question_is_asked_once_in_every_context_and_the_unreadable_one_once_more(played: Played) -> None:
    assert played.calls == 8 + 1 + 8
    assert [setting["setting"] for setting in played.report["settings"]] == ["none", "full"]


def test_means_are_those_computed_by_hand(played: Played) -> None:
    assert means(played.report) == pytest.approx(EXPECTED)
    assert means(played.report, "full") == pytest.approx(dict.fromkeys(EXPECTED, 1.0))


def test_unscored_units_are_counted_by_reason_and_left_out_of_the_means(played: Played) -> None:
    none = setting_of(played.report, "none")
    assert none["statuses"] == {"answered": 6, "no_answer": 1, "truncated": 1}
    assert {(m["n_scored"], m["n_unscored"], m["n_cases"]) for m in none["metrics"].values()} == {(6, 2, 6)}
    assert "none: 2 of 8 units are unscored; means are over the others, see the bounds" in played.report["warnings"]


def test_bounds_are_the_means_with_the_unscored_at_their_worst_and_best(played: Played) -> None:
    low, high = setting_of(played.report, "none")["metrics"]["lca"]["bounds"]
    assert low == pytest.approx((1 + 0.5 + 0.25) / 8)
    assert high == pytest.approx((1 + 0.5 + 0.25 + 1 + 1) / 8)


def test_the_standard_error_respects_that_questions_share_articles(played: Played) -> None:
    # article 1: 1, .5, .25, 0, 0; article 2: 0. Sum of residuals of each article is ±d with d = 5m - 1.75 = -(0 - m)
    mean = 1.75 / 6
    residual = 1.75 - 5 * mean
    assert residual == pytest.approx(mean)
    expected = (2 / (2 - 1) * 2 * residual**2) ** 0.5 / 6
    lca = setting_of(played.report, "none")["metrics"]["lca"]
    assert lca["se"] == pytest.approx(expected)
    assert lca["n_clusters"] == 2


@pytest.mark.parametrize(
    ("breakdown", "group", "emr", "lca", "scored", "units"),
    [
        ("label", "design", 1.0, 1.0, 1, 1),  # question 1
        ("label", "statistics", 0.0, (0.5 + 0.25 + 0 + 0 + 0) / 5, 5, 5),  # 2, 3, 4, 5, 7
        ("label", "methodology", 0.0, (0.5 + 0 + 0) / 3, 3, 4),  # 2, 4, 7, and 6 unscored
        ("label", "limitations", 0.0, 0.0, 1, 2),  # 5, and 6 unscored
        ("label", "applicability", None, None, 0, 1),  # 8 unscored
        ("correct answers", "1", 0.0, 0.25, 1, 1),  # 3
        ("correct answers", "2", 0.0, 0.0, 1, 2),  # 5, and 8 unscored
        ("correct answers", "3", 0.0, (0.5 + 0 + 0) / 3, 3, 3),  # 2, 4, 7
        ("correct answers", "4", 1.0, 1.0, 1, 1),  # 1
        ("correct answers", "5", None, None, 0, 1),  # 6 unscored
        ("subset", "with justification", 0.0, (0.25 + 0 + 0) / 3, 3, 4),  # 3, 4, 7, and 6 unscored
        ("subset", "requires context", 0.0, 0.5, 1, 2),  # 2, and 6 unscored
        ("subset", "does not require context", 0.0, 0.0, 1, 1),  # 5
    ],
)
def test_breakdowns(
    played: Played, breakdown: str, group: str, emr: float | None, lca: float | None, scored: int, units: int
) -> None:
    found = group_of(played.report, breakdown, group)
    assert found["n_units"] == units
    assert found["metrics"]["lca"]["n_scored"] == scored
    assert found["metrics"]["emr"]["mean"] == (emr if emr is None else pytest.approx(emr))
    assert found["metrics"]["lca"]["mean"] == (lca if lca is None else pytest.approx(lca))


def test_flags_tell_how_replies_kept_to_the_form(played: Played) -> None:
    # malformed: 6 (unreadable), 8 (cut off) and 7 (a word where letters were demanded), of which 7 could be read
    flags = setting_of(played.report, "none")["flags"]
    assert flags == {"malformed": 3, "extracted_from_malformed": 1, "re_asked": 1, "explicit_none": 1}
    assert setting_of(played.report, "full")["flags"] == {}


def test_the_table_gives_shares_with_their_meaning(played: Played, cli: Command) -> None:
    shown = cli("show", played.folder)
    assert shown.code == 0
    assert "unscored: no_answer 1, truncated 1" in shown.out
    assert "re asked: 1 (12.5 %) - asked once more because no answer could be read" in shown.out
    assert "lca|two:.25|rules:essential,unacceptable|v:1" in shown.out
    assert "none by label" in shown.out


def test_show_and_score_give_the_run_s_own_numbers_without_a_server(played: Played, cli: Command) -> None:
    shown, scored = cli("show", played.folder, "--json"), cli("score", played.folder, "--json")
    assert (shown.code, scored.code) == (0, 0)
    assert numbers(shown.json) == numbers(scored.json) == numbers(played.report)
    assert shown.err == scored.err == ""


def test_show_lists_every_unit_with_its_scores(played: Played, cli: Command) -> None:
    units = cli("show", played.folder, "--json").json["units"]
    assert len(units) == 16
    first = next(unit for unit in units if unit["case"] == IDS[2] and unit["setting"] == "none")
    assert first["scores"]["lca"] == 0.5
    unreadable = next(unit for unit in units if unit["case"] == IDS[6] and unit["setting"] == "none")
    assert unreadable["scores"]["lca"] == {"unscored": "no_answer"}


def test_show_takes_the_beginning_of_a_case_s_id(played: Played, cli: Command) -> None:
    shown = cli("show", played.folder, IDS[2][:6])
    assert shown.code == 0
    assert f"=== caremedeval/none/{IDS[2]}/1: answered ===" in shown.out
    assert f"=== caremedeval/full/{IDS[2]}/1: answered ===" in shown.out
    assert "--- reply 1" in shown.out
    assert "A, C, D" in shown.out
    document = json.loads(cli("show", played.folder, IDS[2][:6], "--json").out)
    assert [entry["scores"]["lca"] for entry in document] == [0.5, 1.0]


@pytest.mark.parametrize(("beginning", "problem"), [("zz", "no case"), ("d7", "2 cases"), ("", "8 cases")])
def test_an_id_that_names_no_single_case_is_refused(played: Played, cli: Command, beginning: str, problem: str) -> None:
    shown = cli("show", played.folder, beginning)
    assert shown.code == 2
    assert problem in shown.sentence
    assert "--json" in shown.sentence


def test_tokens_are_those_the_server_reported(played: Played) -> None:
    (tokens,) = played.report["tokens"]
    named = (tokens["role"], tokens["model"], tokens["source"], tokens["calls"])
    assert named == ("doctor", "test-model", "server", 17)
    # words of the replies: "Réponse : A, B, D, E" has 6, and so on
    none = (2 + 4) + (2 + 2) + (2 + 1) + (2 + 2) + (2 + 3) + 4 + 4 + (2 + 1) + (2 + 1)
    full = sum(2 + len(gold.split(", ")) for gold in GOLD.values())
    assert tokens["completion"] == none + full


def test_limit_and_case_choose_questions_and_the_table_says_so(cli: Command, tmp_path: Path) -> None:
    with ModelServer(script) as server:
        first = cli(*run_arguments(server.spec, tmp_path / "first", "--limit", 3, context=["full"]))
        one = cli(*run_arguments(server.spec, tmp_path / "one", "--case", IDS[7], context=["full"]))
    assert (first.code, one.code) == (0, 0)
    assert server.chat_count == 3 + 1
    assert "first 3 cases only" in first.out
    assert "chosen cases only" in one.out


def test_english_questions_are_asked_in_english(cli: Command, tmp_path: Path) -> None:
    with ModelServer(says("Answer: A, C")) as server:
        ran = cli(*run_arguments(server.spec, tmp_path / "run", "--language", "en", "--json"))
    assert ran.code == 0
    assert ran.json["statuses"] == {"answered": 8}
    assert all("Réponse" not in call.request.prompt for call in server.calls)
