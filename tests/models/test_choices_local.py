"""Letters chosen by next-token logits of tiny random models; the expected numbers are computed here, one by one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from judge.errors import CallFailed, ContextExceeded
from judge.models.choices import Choice, ChoosingModel
from judge.models.door import Door
from judge.models.local import LocalChat
from judge.models.next_token import BATCH
from judge.models.recording import Header, Recorder, load_recording
from judge.settings import Generation, parse_model
from tests.models.helpers import NO_RETRY, MemoryStore, at, user

transformers = pytest.importorskip("transformers")
torch = pytest.importorskip("torch")

WINDOW = 160
TEMPLATE = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}</s>{% endfor %}<|assistant|>"
CORPUS = ["Which option is right? A B C D", " A B C D A B C D", "one two three four five six seven eight"] * 3

#: Nothing but their lengths differs from one question to the next: from 1 to 60 words.
QUESTIONS = ["one " * (1 + 7 * n % 60) + f"which of {n}" for n in range(24)]


def byte_level(folder: Path, template: str | None) -> Any:
    """Byte-level pieces, as most of today's models have: both "A" and " A" are tokens, "Ω" is two."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["</s>", "<|user|>", "<|assistant|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    pieces.train_from_iterator(CORPUS, trainer)
    return saved(pieces, folder, template)


def whole_words(folder: Path, template: str | None) -> Any:
    """Whole words: "A" is a token and " A" is none; neither is "D"."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    words = Tokenizer(models.WordLevel(unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordLevelTrainer(special_tokens=["<unk>", "</s>", "<|user|>", "<|assistant|>"])
    words.train_from_iterator(["A B C which of one"], trainer)
    return saved(words, folder, template)


def word_starts(folder: Path, template: str | None) -> Any:
    """Pieces that mark where words start, as SentencePiece does, and a token put before every text."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    pieces = ["<unk>", "</s>", "<|user|>", "<|assistant|>", "▁", "A", "B", "▁A", "▁B", "▁one", "▁which", "▁of"]
    unigram = Tokenizer(models.Unigram([(piece, -float(n)) for n, piece in enumerate(pieces)], unk_id=0))
    unigram.pre_tokenizer = pre_tokenizers.Metaspace()
    unigram.post_processor = processors.TemplateProcessing(single="</s> $A", special_tokens=[("</s>", 1)])
    return saved(unigram, folder, template)


def saved(tokenizer: Any, folder: Path, template: str | None) -> Any:
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>")
    fast.chat_template = template
    fast.save_pretrained(folder)
    return fast


def save_model(folder: Path, family: str, vocabulary: int, **config: Any) -> None:
    """Random weights, wide enough apart that prompts and letters differ clearly."""
    torch.manual_seed(0)
    common = {"vocab_size": vocabulary, "initializer_range": 0.5, "bos_token_id": 0, "eos_token_id": 0}
    if family == "gpt2":
        size = {"n_positions": WINDOW, "n_embd": 32, "n_layer": 2, "n_head": 4}
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**common, **size, **config))
    else:
        size = {"max_position_embeddings": WINDOW, "hidden_size": 32, "intermediate_size": 64,
                "num_hidden_layers": 2, "num_attention_heads": 4}  # fmt: skip
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**common, **size, **config))
    model.save_pretrained(folder)


Made = tuple[Path, Any]


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def chatty(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Positions learned (gpt2) or rotary (llama), with a chat template."""
    folder = tmp_path_factory.mktemp("models") / str(request.param)
    tokenizer = byte_level(folder, TEMPLATE)
    save_model(folder, str(request.param), len(tokenizer))
    return folder, tokenizer


def made(folder: Path, tokenizer: Any, family: str = "llama", **config: Any) -> Made:
    save_model(folder, family, len(tokenizer), **config)
    return folder, tokenizer


def local(folder: Path, store: MemoryStore | None = None, **door: Any) -> LocalChat:
    settings = Generation(max_tokens=8)
    return LocalChat(parse_model(f"hf:{folder}"), settings, Door(store=store, retry=NO_RETRY, **door))


def by_hand(model: Made, text: str, tokens: Sequence[str]) -> dict[str, float]:
    """Log-probabilities of tokens, by their names in the vocabulary, after a text: one prompt, no padding."""
    folder, tokenizer = model
    network = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype="auto").eval()
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        row = network(ids).logits[0, -1].float().log_softmax(-1)
    return {token: float(row[tokenizer.convert_tokens_to_ids(token)]) for token in tokens}


def templated(question: str) -> str:
    return f"<|user|>{question}</s><|assistant|>"


async def choose_all(chat: LocalChat, questions: Sequence[str], letters: str = "ABCD") -> list[Choice]:
    """All at once, as the units of a run ask."""
    return await asyncio.gather(*(chat.choose(user(q), letters, at(str(n))) for n, q in enumerate(questions)))


def passes_of(chat: LocalChat) -> list[tuple[int, int]]:
    """Shape of the input of every forward pass from now on."""
    shapes: list[tuple[int, int]] = []
    chat._model.register_forward_pre_hook(
        lambda module, args, kwargs: shapes.append(tuple(kwargs["input_ids"].shape)), with_kwargs=True
    )
    return shapes


# Scores


async def test_given_a_chat_template_when_a_letter_is_chosen_then_scores_are_those_after_the_reply_begins(
    chatty: Made,
) -> None:
    chat = local(chatty[0])
    assert isinstance(chat, ChoosingModel)
    choice = await chat.choose(user("Which option is right?"), "ABCD", at())

    expected = by_hand(chatty, templated("Which option is right?"), ["A", "B", "C", "D", "ĠA", "ĠB", "ĠC", "ĠD"])
    for letter in "ABCD":
        bare, spaced = expected[letter], expected[f"Ġ{letter}"]
        assert choice.scores[letter] == pytest.approx(max(bare, spaced), abs=1e-5)
        assert choice.forms[letter] == (letter if bare > spaced else f" {letter}")
    assert choice.best == max(expected, key=expected.__getitem__).removeprefix("Ġ")
    assert (choice.how, choice.unscored, choice.reply) == ("logits", None, None)


async def test_given_no_chat_template_when_a_letter_is_chosen_then_the_plain_text_is_the_prompt(
    tmp_path: Path,
) -> None:
    model = made(tmp_path, byte_level(tmp_path, None))
    messages = [{"role": "system", "content": "One."}, *user("Which is right?\nAnswer:")]
    choice = await local(tmp_path).choose(messages, "AB", at())

    expected = by_hand(model, "One.\n\nWhich is right?\nAnswer:", ["A", "ĠA", "B", "ĠB"])
    assert choice.scores["A"] == pytest.approx(max(expected["A"], expected["ĠA"]), abs=1e-5)
    assert choice.scores["B"] == pytest.approx(max(expected["B"], expected["ĠB"]), abs=1e-5)


async def test_given_pieces_that_mark_word_starts_when_a_letter_is_chosen_then_both_forms_and_the_first_token_count(
    tmp_path: Path,
) -> None:
    model = made(tmp_path, word_starts(tmp_path, None))
    choice = await local(tmp_path).choose(user("which of one"), "AB", at())

    expected = by_hand(model, "which of one", ["A", "▁A", "B", "▁B"])  # the tokenizer puts its first token there
    assert choice.scores["A"] == pytest.approx(max(expected["A"], expected["▁A"]), abs=1e-5)
    assert choice.scores["B"] == pytest.approx(max(expected["B"], expected["▁B"]), abs=1e-5)


async def test_given_whole_words_when_a_letter_is_chosen_then_its_one_form_is_enough(tmp_path: Path) -> None:
    model = made(tmp_path, whole_words(tmp_path, None))
    choice = await local(tmp_path).choose(user("which of one"), "ABC", at())

    assert choice.forms == {"A": "A", "B": "B", "C": "C"}
    expected = by_hand(model, "which of one", ["A", "B", "C"])
    assert choice.scores == {letter: pytest.approx(score, abs=1e-5) for letter, score in expected.items()}


@pytest.mark.parametrize(("make", "letters"), [(whole_words, "ABCD"), (byte_level, "ABΩ")])
async def test_given_a_letter_that_is_no_token_when_a_letter_is_chosen_then_there_is_no_choice(
    tmp_path: Path, make: Any, letters: str
) -> None:
    made(tmp_path, make(tmp_path, None))
    choice = await local(tmp_path).choose(user("which of one"), letters, at())

    assert choice.unscored is not None
    assert (choice.best, choice.unscored.reason) == (None, "letter_not_a_token")
    assert choice.scores[letters[-1]] is None
    assert choice.scores["A"] is not None


async def test_given_letters_with_the_same_weights_when_a_letter_is_chosen_then_it_is_a_tie(tmp_path: Path) -> None:
    tokenizer = whole_words(tmp_path, None)
    made(tmp_path, tokenizer)
    chat = local(tmp_path)
    head, (a, b, c) = chat._model.lm_head.weight, tokenizer.convert_tokens_to_ids(["A", "B", "C"])
    with torch.no_grad():
        head[b] = head[a]
        head[c] = 0
    choices = await choose_all(chat, QUESTIONS, "AB")
    assert {(choice.best, choice.ties) for choice in choices} == {(None, ("A", "B"))}


async def test_given_scores_that_are_no_numbers_when_a_letter_is_chosen_then_there_is_no_choice(chatty: Made) -> None:
    chat = local(chatty[0])
    chat._model.lm_head.register_forward_hook(lambda module, inputs, logits: logits * float("nan"))
    choice = await chat.choose(user(), "ABCD", at())
    assert choice.unscored is not None
    assert choice.unscored.reason == "score_not_finite"


# Batches


async def test_given_questions_of_mixed_length_when_they_are_asked_at_once_then_each_has_its_own_scores(
    chatty: Made,
) -> None:
    chat = local(chatty[0])
    shapes = passes_of(chat)
    choices = await choose_all(chat, QUESTIONS)

    assert sum(rows for rows, _ in shapes) == len(QUESTIONS)
    assert 1 < max(rows for rows, _ in shapes) <= BATCH
    for question, choice in zip(QUESTIONS, choices, strict=True):
        expected = by_hand(chatty, templated(question), ["A", "ĠA", "B", "ĠB", "C", "ĠC", "D", "ĠD"])
        for letter in "ABCD":
            assert choice.scores[letter] == pytest.approx(max(expected[letter], expected[f"Ġ{letter}"]), abs=1e-4)


async def test_given_other_company_when_a_question_is_asked_then_its_scores_stay(chatty: Made) -> None:
    chat = local(chatty[0])
    alone = await chat.choose(user(QUESTIONS[0]), "ABCD", at("alone"))
    for others in (QUESTIONS[1:4], QUESTIONS[5:20], [QUESTIONS[8]] * 7):
        choice = (await choose_all(chat, [QUESTIONS[0], *others]))[0]
        assert choice.best == alone.best
        assert choice.scores == {letter: pytest.approx(score, abs=1e-4) for letter, score in alone.scores.items()}


@pytest.mark.parametrize(
    "config",
    [{"dtype": "bfloat16"}, {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}}],
)
async def test_given_a_model_whose_scores_depend_on_company_when_it_is_asked_then_it_is_asked_alone(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    """Half precision rounds by the shape of the batch, and dynamic positions scale by its longest prompt."""
    tokenizer = byte_level(tmp_path, TEMPLATE)
    made(tmp_path, tokenizer, **config)
    if config.get("dtype"):
        transformers.AutoModelForCausalLM.from_pretrained(tmp_path).to(torch.bfloat16).save_pretrained(tmp_path)
    chat = local(tmp_path)
    shapes = passes_of(chat)
    choices = await choose_all(chat, QUESTIONS[:6])

    assert [rows for rows, _ in shapes] == [1] * 6
    again = [await local(tmp_path).choose(user(QUESTIONS[n]), "ABCD", at(str(n))) for n in (5, 0)]
    assert again == [choices[5], choices[0]]


async def test_given_a_batch_too_big_for_the_memory_when_it_fails_then_its_questions_are_asked_one_by_one(
    chatty: Made,
) -> None:
    chat = local(chatty[0])

    def memory(module: Any, args: Any, kwargs: Any) -> None:
        if len(kwargs["input_ids"]) > 1:
            raise torch.OutOfMemoryError("no memory left")

    chat._model.register_forward_pre_hook(memory, with_kwargs=True)
    together = await choose_all(chat, QUESTIONS[:3])
    assert [choice.best for choice in together] == [
        (await local(chatty[0]).choose(user(question), "ABCD", at())).best for question in QUESTIONS[:3]
    ]


async def test_given_a_question_beyond_the_window_when_it_is_asked_among_others_then_only_it_fails(
    chatty: Made,
) -> None:
    chat = local(chatty[0])
    asked = [chat.choose(user(text), "ABCD", at(str(n))) for n, text in enumerate(["one", "one " * WINDOW, "two"])]
    first, second, third = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(second, ContextExceeded)
    assert isinstance(first, Choice)
    assert isinstance(third, Choice)


async def test_given_a_question_given_up_when_its_company_is_answered_then_nothing_is_left_hanging(
    chatty: Made,
) -> None:
    chat = local(chatty[0])
    given_up = asyncio.create_task(chat.choose(user("one"), "ABCD", at("given up")))
    kept = asyncio.create_task(chat.choose(user("two"), "ABCD", at("kept")))
    await asyncio.sleep(0.005)
    given_up.cancel()
    assert (await kept).best is not None
    with pytest.raises(asyncio.CancelledError):
        await given_up


# Through the door


async def test_given_a_run_that_goes_on_when_a_letter_is_chosen_then_the_stored_scores_serve(chatty: Made) -> None:
    store = MemoryStore()
    first = await local(chatty[0], store).choose(user(), "ABCD", at())
    body, response = store.last.body, json.loads(store.last.response)
    assert (body["model"], body["letters"], body["messages"]) == (str(chatty[0]), list("ABCD"), user())
    assert set(response["letters"]["A"]) == {"A", " A"}
    assert response["usage"]["prompt_tokens"] == len(chatty[1](templated(user()[0]["content"]))["input_ids"])

    chat = local(chatty[0], store)
    shapes = passes_of(chat)
    assert await chat.choose(user(), "ABCD", at()) == first
    assert shapes == []


async def test_given_a_recording_when_it_is_replayed_then_no_model_is_needed(chatty: Made, tmp_path: Path) -> None:
    file = tmp_path / "recording.jsonl"
    recorder = Recorder(file, Header("nonce", {}, {}))
    recorded = await local(chatty[0], recorder=recorder).choose(user(), "ABCD", at())
    recorder.close()

    replayed = LocalChat(parse_model(f"hf:{chatty[0]}"), Generation(max_tokens=8), Door(replay=load_recording(file)))
    assert await replayed.choose(user(), "ABCD", at()) == recorded


async def test_given_choices_and_replies_at_once_when_they_are_asked_then_both_come(chatty: Made) -> None:
    chat = local(chatty[0])
    asked = [chat.ask(user(text), at(f"reply {n}")) for n, text in enumerate(QUESTIONS[:3])]
    replies, choices = await asyncio.gather(asyncio.gather(*asked), choose_all(chat, QUESTIONS[:6]))
    assert all(reply.usage.completion for reply in replies)
    assert all(choice.best for choice in choices)


async def test_given_a_template_that_refuses_the_messages_when_a_letter_is_chosen_then_only_the_call_fails(
    tmp_path: Path,
) -> None:
    made(tmp_path, byte_level(tmp_path, "{{ raise_exception('no system role') }}"))
    with pytest.raises(CallFailed, match="no system role"):
        await local(tmp_path).choose(user(), "ABCD", at())
