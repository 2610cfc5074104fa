"""Explanations compared with the human justifications of CareMedEval, through the command line."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judge.benchmark import ANSWERED
from judge.runs.scoring import score_run
from judge.runs.store import RunStore, benchmark_of, open_run
from tests.conftest import Command, Ran
from tests.runs.synthetic import DATA, GOLD, IDS, QUESTIONS
from tests.server import ModelServer, Reply, Request, says

JUSTIFIED = {n: q["justification"] for n, q in enumerate(QUESTIONS, start=1) if (q.get("justification") or "").strip()}


def imported(cli: Command, folder: Path, replies: dict[int, str], *more: Any) -> Ran:
    file = folder / "replies.json"
    file.write_text(json.dumps({IDS[number]: text for number, text in replies.items()}), encoding="utf-8")
    return cli("import", "caremedeval", "--predictions", file, "--data", DATA, "--out", folder / "run", "--json", *more)


def metrics(ran: Ran | dict[str, Any]) -> dict[str, Any]:
    if isinstance(ran, dict):
        return dict(ran["settings"][0]["metrics"])
    assert ran.code == 0, ran.err
    return dict(ran.json["settings"][0]["metrics"])


def report_of_run(store: RunStore) -> dict[str, Any]:
    return score_run(store, benchmark_of(store))


def reply(number: int, text: str) -> str:
    return f"{text}\n\nRéponse : {GOLD[number]}"


def test_the_justification_itself_gets_one_whatever_the_form_of_its_accents(cli: Command, tmp_path: Path) -> None:
    texts = {n: reply(n, unicodedata.normalize("NFD", text)) for n, text in JUSTIFIED.items()}
    found = metrics(imported(cli, tmp_path, texts, "--explanations", "lexical"))
    for name in ("bleu", "rouge_l"):
        assert found[name]["mean"] == pytest.approx(1, abs=1e-6)
        # 4 of the 8 questions have a justification: the others are in no count, and no mean
        assert (found[name]["n_scored"], found[name]["n_unscored"]) == (4, 0)


def test_what_means_nothing_in_french_is_not_computed_and_says_so(cli: Command, tmp_path: Path) -> None:
    ran = imported(cli, tmp_path, {n: reply(n, t) for n, t in JUSTIFIED.items()}, "--explanations", "all")
    assert not {"meteor", "bertscore"} & metrics(ran).keys()
    assert {"meteor", "bertscore"} <= ran.json["explanations"]["unstated"]["not_computed"].keys()
    assert sum("is not computed" in warning for warning in ran.json["warnings"]) == 2


def test_a_reply_of_letters_alone_has_an_empty_explanation_that_is_counted(cli: Command, tmp_path: Path) -> None:
    first = next(iter(JUSTIFIED))
    texts = {n: reply(n, t) for n, t in JUSTIFIED.items()} | {first: f"Réponse : {GOLD[first]}"}
    ran = imported(cli, tmp_path, texts, "--explanations", "lexical")
    found = metrics(ran)["rouge_l"]
    assert (found["mean"], found["n_scored"]) == (pytest.approx(3 / 4), 4)
    assert "unstated: 1 explanations are empty and score 0" in ran.json["warnings"]


def test_a_question_that_was_not_answered_is_unscored_and_not_zero(cli: Command, tmp_path: Path) -> None:
    others = list(JUSTIFIED)[1:]
    ran = imported(cli, tmp_path, {n: reply(n, JUSTIFIED[n]) for n in others}, "--explanations", "lexical")
    found = metrics(ran)["rouge_l"]
    assert (found["n_scored"], found["unscored"]) == (3, {"not_predicted": 1})
    assert found["mean"] == pytest.approx(1)


def test_explanations_can_be_compared_later_and_no_longer(cli: Command, tmp_path: Path) -> None:
    texts = {n: reply(n, t) for n, t in JUSTIFIED.items()}
    assert "rouge_l" not in metrics(imported(cli, tmp_path, texts)), "nothing is compared unless it is wanted"
    run = tmp_path / "run"
    assert metrics(cli("score", run, "--explanations", "lexical", "--json"))["rouge_l"]["mean"] == pytest.approx(1)
    assert metrics(cli("show", run, "--json"))["rouge_l"]["mean"] == pytest.approx(1), "it is kept"
    assert "refs:mean" in metrics(cli("score", run, "--explanations", "lexical", "--explanation-references", "mean",
                                      "--json"))["rouge_l"]["signature"]  # fmt: skip
    assert "rouge_l" not in metrics(cli("score", run, "--explanations", "none", "--json"))


def test_what_is_not_said_anew_stays_as_it_was(cli: Command, tmp_path: Path) -> None:
    imported(cli, tmp_path, {n: reply(n, t) for n, t in JUSTIFIED.items()})
    run = tmp_path / "run"
    cli("score", run, "--explanations", "lexical", "--explanation-references", "mean")
    for which in ("none", "lexical", "all"):
        ran = cli("score", run, "--explanations", which, "--json")
    assert "refs:mean" in metrics(ran)["rouge_l"]["signature"]
    back = metrics(cli("score", run, "--explanations", "all", "--explanation-references", "best", "--json"))
    assert "refs:best" in back["rouge_l"]["signature"]


@pytest.mark.parametrize(
    "options",
    [
        ["--explanations", "none", "--judge", "nobody"],
        ["--explanations", "lexical", "--explanation-references", "mean", "--judge", "nobody", "--judge", "none"],
        ["--explanations", "all", "--bertscore-model", "/nowhere/encoder", "--bertscore-layers", "2"],
    ],
)
def test_what_cannot_be_used_replaces_nothing_of_a_run(cli: Command, tmp_path: Path, options: list[str]) -> None:
    imported(cli, tmp_path, {n: reply(n, t) for n, t in JUSTIFIED.items()}, "--explanations", "lexical")
    run = tmp_path / "run"
    before = cli("show", run, "--json").json["settings"]
    assert cli("score", run, *options).code == 2
    assert cli("show", run, "--json").json["settings"] == before


def test_a_reopened_unit_is_counted_and_nothing_over_all_texts_is_given(cli: Command, tmp_path: Path) -> None:
    """Given 3 compared explanations and a missing one, when that is asked again, then its value is missing and said."""
    others = list(JUSTIFIED)[1:]
    imported(cli, tmp_path, {n: reply(n, JUSTIFIED[n]) for n in others}, "--explanations", "lexical")
    run = tmp_path / "run"
    store = open_run(run, write=True)
    try:
        reopened = [stored.unit for stored in store.units() if stored.status == "not_predicted"]
        there = next(stored.transcript for stored in store.units() if stored.status == ANSWERED)
        assert store.reopen(["not_predicted"]) == len(reopened)
        pending = metrics(report_of_run(store))["rouge_l"]
        assert there is not None
        given = replace(there, data={**there.data, "answer": ["a"]})
        store.finish_many((unit, given) for unit in reopened)
        report = report_of_run(store)
    finally:
        store.close()
    assert (pending["n_scored"], pending["unscored"]) == (3, {"not_run": 1})
    assert (metrics(report)["rouge_l"]["n_scored"], metrics(report)["rouge_l"]["unscored"]) == (3, {"not_measured": 1})
    (bleu,) = report["explanations"]["unstated"]["corpus"].values()
    assert (bleu["value"], bleu["reason"]) == (None, "not_measured")
    assert any("1 units were asked again or played after" in warning for warning in report["warnings"])
    again = cli("score", run, "--explanations", "lexical", "--json")
    assert metrics(again)["rouge_l"]["n_scored"] == 4
    assert again.json["explanations"]["unstated"]["corpus"]["bleu_corpus"]["value"] is not None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--bertscore-model", "x"], "--bertscore-model goes with --explanations"),
        (["--explanations", "all", "--bertscore-layers", "3"], "--bertscore-layers goes with --bertscore-model"),
        (["--explanations", "all", "--bertscore-model", "/nowhere/encoder", "--bertscore-layers", "2"], "/nowhere"),
        (["--explanations", "lexical", "--meteor-synonyms", "/nowhere/synonyms"], "/nowhere"),
    ],
)
def test_what_cannot_be_used_is_said_and_nothing_is_written(
    cli: Command, tmp_path: Path, options: list[str], said: str
) -> None:
    ran = imported(cli, tmp_path, {n: reply(n, t) for n, t in JUSTIFIED.items()}, *options)
    assert (ran.code, said in ran.sentence, (tmp_path / "run").exists()) == (2, True, False), ran.err


def test_a_run_that_is_continued_compares_as_it_was_begun(cli: Command, tmp_path: Path) -> None:
    def script(request: Request) -> Reply:
        number = next(n for n, q in enumerate(QUESTIONS, start=1) if q["question"] in request.messages[0]["content"])
        return says(reply(number, JUSTIFIED.get(number, "Sans explication.")))

    with ModelServer(lambda r: Reply(status=401) if len(server.calls) > 3 else script(r)) as server:
        ran = cli("run", "caremedeval", "--model", server.spec, "--data", DATA, "--context", "none", "--connections", 1,
                  "--explanations", "lexical", "--out", tmp_path / "run", "--json")  # fmt: skip
        assert (ran.code, "rouge_l" in ran.json["settings"][0]["metrics"]) == (1, False)
        server.script = script
        again = cli("run", "caremedeval", "--resume", tmp_path / "run", "--json")
    assert metrics(again)["rouge_l"]["mean"] == pytest.approx(1)
