"""Runs against a server: what is sent, what counts as the answer, and what is asked again."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judge.models.logprobs import PROMPT as PROBE
from tests.conftest import Command, Ran
from tests.medexqa.synthetic import BE, SLP, fields, write
from tests.models.tokens import logprobs
from tests.runs.synthetic import setting_of
from tests.server import ModelServer, Reply, Request, error, says

CASE = f"{BE}-test-000"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """One question, whose answer is B, and two examples."""
    write(tmp_path / "data", [fields(0)])
    write(tmp_path / "data", [fields(number, answer="C") for number in (7, 8)], split="dev")
    return tmp_path / "data"


def run(cli: Command, server: ModelServer, data: Path, *more: object) -> Ran:
    out = data.parent / "run"
    return cli(
        "run",
        "medexqa",
        "--model",
        server.spec,
        "--data",
        data,
        "--out",
        out,
        "--explanations",
        "none",
        *more,
        "--json",
    )


def shown(cli: Command, data: Path) -> dict[str, Any]:
    entry: dict[str, Any] = cli("show", data.parent / "run", CASE, "--json").json[0]
    return entry


def talk(*replies: str | Reply) -> Callable[[Request], Reply]:
    """The replies in turn."""
    return lambda request: of if isinstance(of := replies[min(request.n, len(replies)) - 1], Reply) else says(of)


TEXT = ("--answer-by", "text")


def test_one_reply_with_letter_and_explanation_is_one_call(cli: Command, data: Path) -> None:
    with ModelServer(says("B\nSo it is.")) as server:
        ran = run(cli, server, data, *TEXT)
    assert ran.code == 0, ran.err
    (call,) = server.calls
    (message,) = call.body["messages"]
    assert "Invented question 0?\n\nA. left 0\nB. right 0\nC. upper 0\nD. lower 0" in message["content"]
    assert "biomedical engineer" in message["content"]
    entry = shown(cli, data)
    assert entry["scores"] == {"accuracy": 1.0}
    assert entry["transcript"]["explanation"] == {"text": "So it is.", "reason": ""}
    metric = setting_of(ran.json, "choice")["metrics"]["accuracy"]
    assert metric["signature"] == "accuracy|by:text|shots:0|v:1"


def test_a_letter_alone_is_followed_by_one_turn_that_asks_why(cli: Command, data: Path) -> None:
    with ModelServer(talk("B", "So it is.")) as server:
        run(cli, server, data, *TEXT)
    assert [message["role"] for message in server.calls[1].body["messages"]] == ["user", "assistant", "user"]
    assert "You have answered B." in server.calls[1].body["messages"][-1]["content"]
    entry = shown(cli, data)
    assert entry["transcript"]["explanation"]["text"] == "So it is."
    assert entry["flags"] == ["explained_when_asked"]


def test_examples_are_shown_as_questions_and_the_replies_wanted(cli: Command, data: Path) -> None:
    with ModelServer(says("B\nSo it is.")) as server:
        ran = run(cli, server, data, *TEXT, "--shots", 2)
    messages = server.calls[0].body["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant", "user"]
    assert "Invented question 7?" in messages[0]["content"]
    assert messages[1]["content"] == "C\nBecause right 7 is so."
    assert "Invented question 0?" in messages[4]["content"]
    assert setting_of(ran.json, "choice")["metrics"]["accuracy"]["signature"] == "accuracy|by:text|shots:2|v:1"
    headings = [heading for heading, _ in shown(cli, data)["text"]]
    assert headings[2:6] == ["example 1, question", "example 1, reply", "example 2, question", "example 2, reply"]


def test_more_examples_than_there_are_is_one_sentence_and_no_run(cli: Command, data: Path) -> None:
    with ModelServer(says("B")) as server:
        ran = run(cli, server, data, "--shots", 3)
    assert ran.code == 2
    assert "3 example(s) of biomedical_engineer are asked for, but its dev file has 2" in ran.sentence
    assert server.chat_count == 0
    assert not (data.parent / "run").exists()


def test_only_the_specialties_named_are_asked(cli: Command, data: Path) -> None:
    write(data, [fields(3)], SLP)
    with ModelServer(says("B\nSo.")) as server:
        ran = run(cli, server, data, *TEXT, "--specialty", "SLP")
    assert server.chat_count == 1
    assert "Invented question 3?" in server.calls[0].body["messages"][0]["content"]
    assert any("Only SLP of the 5 specialties" in warning for warning in ran.json["warnings"])


@pytest.mark.parametrize(
    ("replies", "status", "calls"),
    [
        (["It depends.", "It still does."], "no_answer", 2),
        (["None of the above.", "None of the above."], "no_answer", 2),
        ([Reply(content="B\nBecause", finish_reason="length")], "truncated", 1),
        ([says("<think>B, surely")], "truncated_reasoning", 1),
        ([Reply(content=None, refusal="I may not.")], "refused", 1),
        ([Reply(content="", reasoning="B"), Reply(content="", reasoning="B")], "empty_reply", 2),
    ],
)
def test_a_reply_without_an_answer_is_unscored_and_not_wrong(
    cli: Command, data: Path, replies: list[Any], status: str, calls: int
) -> None:
    with ModelServer(talk(*replies)) as server:
        ran = run(cli, server, data, *TEXT)
    assert (ran.code, ran.json["statuses"], server.chat_count) == (0, {status: 1}, calls)
    metric = setting_of(ran.json, "choice")["metrics"]["accuracy"]
    assert (metric["mean"], metric["unscored"]) == (None, {status: 1})


def test_a_call_that_fails_while_explaining_can_be_retried_without_asking_the_answer_again(
    cli: Command, data: Path
) -> None:
    with ModelServer(talk("B", error(400, "no"), "So it is.")) as server:
        ran = run(cli, server, data, *TEXT)
        assert (ran.code, ran.json["statuses"]) == (1, {"bad_request": 1})
        again = cli("run", "medexqa", "--resume", data.parent / "run", "--retry", "errors", "--json")
    assert (again.code, again.json["statuses"]) == (0, {"answered": 1})
    assert server.chat_count == 3
    assert shown(cli, data)["transcript"]["explanation"]["text"] == "So it is."


# By scores


def weighted(text: str, **probabilities: float) -> Callable[[Request], Reply]:
    """Replies with this text, whose first token is a letter that has these alternatives."""
    first, rest = text[0], text[1:]
    tokens = logprobs((first, probabilities), *([rest] if rest else []))

    def script(request: Request) -> Reply:
        if request.text == PROBE:
            return says("A", logprobs=logprobs(("A", {"A": 0.9, "B": 0.1})))
        return says(text, logprobs=tokens if request.body.get("logprobs") else None)

    return script


def test_with_auto_the_server_s_log_probabilities_decide_and_both_ways_are_reported(cli: Command, data: Path) -> None:
    """At some temperature a model says A although B is likelier."""
    with ModelServer(weighted("A\nSo it is.", A=0.3, B=0.6, C=0.05, D=0.05)) as server:
        ran = run(cli, server, data)
    assert ran.code == 0, ran.err
    assert server.chat_count == 2  # the probe, and one call for reply and scores
    entry = shown(cli, data)
    assert entry["scores"] == {"accuracy": 1.0, "accuracy_scores": 1.0, "accuracy_text": 0.0}
    assert entry["flags"] == ["by_logprobs", "scores_and_text_differ"]
    transcript = entry["transcript"]
    assert (transcript["answer"], transcript["how"], transcript["text_answer"]["answer"]) == ("B", "logprobs", "A")
    assert transcript["scores"]["scores"]["B"] == pytest.approx(math.log(0.6))
    assert transcript["explanation"]["text"] == "So it is."
    signatures = [metric["signature"] for metric in setting_of(ran.json, "choice")["metrics"].values()]
    assert signatures == ["accuracy|by:auto|shots:0|v:1", "accuracy_scores|by:scores|shots:0|v:1",
                          "accuracy_text|by:text|shots:0|v:1"]  # fmt: skip


def test_with_auto_a_server_without_log_probabilities_is_read(cli: Command, data: Path) -> None:
    with ModelServer(says("B\nSo it is.")) as server:
        run(cli, server, data)
    entry = shown(cli, data)
    assert entry["flags"] == ["by_text"]
    assert entry["scores"] == {"accuracy": 1.0, "accuracy_scores": {"unscored": "no_scores"}, "accuracy_text": 1.0}


def test_where_scores_are_to_count_and_there_are_none_only_what_was_read_has_a_score(cli: Command, data: Path) -> None:
    with ModelServer(says("B\nSo it is.")) as server:
        ran = run(cli, server, data, "--answer-by", "logprobs")
    assert ran.json["statuses"] == {"answered": 1}
    unscored = {"unscored": "no_scores"}
    assert shown(cli, data)["scores"] == {"accuracy": unscored, "accuracy_scores": unscored, "accuracy_text": 1.0}


def test_a_tie_is_no_answer_by_scores_and_auto_then_reads_the_text(cli: Command, data: Path) -> None:
    with ModelServer(weighted("B\nSo it is.", A=0.4, B=0.4, C=0.1, D=0.1)) as server:
        run(cli, server, data)
    entry = shown(cli, data)
    assert entry["scores"]["accuracy_scores"] == {"unscored": "tied_letters"}
    assert (entry["transcript"]["how"], entry["scores"]["accuracy"]) == ("text", 1.0)


def test_logits_of_a_server_are_refused_before_anything_is_asked(cli: Command, data: Path) -> None:
    with ModelServer(says("B")) as server:
        ran = run(cli, server, data, "--answer-by", "logits")
    assert ran.code == 2
    assert "--answer-by logits needs a model in this process" in ran.err
    assert server.chat_count == 0
    assert not (data.parent / "run").exists()


def test_a_local_model_is_weighed_by_its_logits_even_where_its_text_is_cut(cli: Command, data: Path) -> None:
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    folder = data.parent / "model"
    tokenizer = tiny_model(folder, transformers, torch)
    ran = cli("run", "medexqa", "--model", f"hf:{folder}", "--data", data, "--max-tokens", 3,
              "--out", data.parent / "run", "--json")  # fmt: skip
    assert ran.code == 0, ran.err
    entry = shown(cli, data)
    assert entry["transcript"]["how"] == "logits"
    network = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype="auto").eval()
    ids = tokenizer.apply_chat_template(entry["transcript"]["messages"][:1], add_generation_prompt=True,
                                        return_tensors="pt", return_dict=True)["input_ids"]  # fmt: skip
    with torch.inference_mode():
        row = network(ids).logits[0, -1]
    by_letter = {letter: max(float(row[tokenizer.convert_tokens_to_ids(form)]) for form in (letter, f"Ġ{letter}"))
                 for letter in "ABCD"}  # fmt: skip
    expected = max(by_letter, key=by_letter.__getitem__)
    assert entry["transcript"]["answer"] == expected
    assert entry["scores"]["accuracy"] == entry["scores"]["accuracy_scores"] == float(expected == "B")
    assert entry["scores"]["accuracy_text"] == {"unscored": "truncated"}


def tiny_model(folder: Path, transformers: Any, torch: Any) -> Any:
    from tests.models.test_choices_local import TEMPLATE, byte_level

    tokenizer = byte_level(folder, TEMPLATE)
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=len(tokenizer), n_positions=2048, n_embd=16, n_layer=1, n_head=2,
                                     initializer_range=0.5, bos_token_id=0, eos_token_id=0)  # fmt: skip
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    return tokenizer
