"""Explanations compared with the human justifications of CareMedEval, through the command line."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command, Ran
from tests.runs.synthetic import DATA, GOLD, IDS, QUESTIONS
from tests.server import ModelServer, Reply, Request, says

JUSTIFIED = {n: q["justification"] for n, q in enumerate(QUESTIONS, start=1) if (q.get("justification") or "").strip()}


def imported(cli: Command, folder: Path, replies: dict[int, str], *more: Any) -> Ran:
    file = folder / "replies.json"
    file.write_text(json.dumps({IDS[number]: text for number, text in replies.items()}), encoding="utf-8")
    return cli("import", "caremedeval", "--predictions", file, "--data", DATA, "--out", folder / "run", "--json", *more)


def metrics(ran: Ran) -> dict[str, Any]:
    assert ran.code == 0, ran.err
    return dict(ran.json["settings"][0]["metrics"])


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
