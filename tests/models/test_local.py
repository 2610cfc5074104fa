"""A model in this process: a tiny random one with a tokenizer trained here, so that nothing is downloaded."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from judge.errors import CallFailed, ContextExceeded, SpecError
from judge.models.chat import open_chat
from judge.models.door import Door
from judge.models.local import LocalChat
from judge.settings import Generation, parse_model
from tests.models.helpers import NO_RETRY, MemoryStore, at, user

transformers = pytest.importorskip("transformers")
torch = pytest.importorskip("torch")

WINDOW = 64
TEMPLATE = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "<|{{ m.role }}|> {{ m.content }} {% endfor %}{% if shout %}LOUD {% endif %}<|assistant|>"
)


def save_tokenizer(folder: Path, template: str | None) -> int:
    """Words of a small corpus, some special tokens, a chat template; returns the size of the vocabulary."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    words = Tokenizer(models.WordLevel(unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = ["<unk>", "</s>", "<|user|>", "<|assistant|>"]
    corpus = ["which option is right ? one two three four B C LOUD"]
    words.train_from_iterator(corpus, trainers.WordLevelTrainer(special_tokens=special))
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>", eos_token="</s>")
    fast.chat_template = template
    fast.save_pretrained(folder)
    return int(words.get_vocab_size())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    size = save_tokenizer(folder, TEMPLATE)
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=size, n_positions=WINDOW, n_embd=16, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=1
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


def local(folder: Path, store: MemoryStore | None = None, timeout: float = 60, **generation: Any) -> LocalChat:
    settings = Generation(**({"max_tokens": 8} | generation))
    return LocalChat(parse_model(f"hf:{folder}"), settings, Door(store=store, retry=NO_RETRY, timeout=timeout))


async def test_given_a_model_in_a_folder_when_it_is_asked_then_its_reply_is_counted_and_stored(folder: Path) -> None:
    store = MemoryStore()
    async with open_chat(
        parse_model(f"hf:{folder}"), Generation(max_tokens=8), Door(store=store), connections=4
    ) as chat:
        reply = await chat.ask(user("which option is right ?"), at())
        again = await chat.ask(user("which option is right ?"), at())

    assert reply == again
    assert reply.usage.prompt == len(["<|user|>", "which", "option", "is", "right", "?", "<|assistant|>"])
    assert 1 <= (reply.usage.completion or 0) <= 8
    assert reply.finish_reason in ("stop", "length")
    assert (store.last.body["temperature"], store.last.body["max_tokens"]) == (0, 8)
    assert store.last.endpoint == f"hf:{folder}"


async def test_given_no_sampling_when_it_is_asked_twice_then_the_replies_are_the_same(folder: Path) -> None:
    chat = local(folder)
    asked = [chat.ask(user("one two"), at(str(n))) for n in range(3)]
    assert len({reply.text for reply in await asyncio.gather(*asked)}) == 1


async def test_given_a_temperature_when_it_is_asked_then_the_model_samples(folder: Path) -> None:
    chat = local(folder, temperature=2.0, max_tokens=20)
    asked = [chat.ask(user("one two"), at(str(n))) for n in range(6)]
    assert len({reply.text for reply in await asyncio.gather(*asked)}) > 1


@pytest.mark.parametrize(("bias", "finish", "tokens"), [(1000.0, "stop", 1), (-1000.0, "length", 4)])
async def test_given_a_model_that_ends_at_once_or_never_when_it_is_asked_then_the_finish_reason_says_so(
    folder: Path, bias: float, finish: str, tokens: int
) -> None:
    chat = local(folder, max_tokens=tokens)
    end = torch.zeros(chat._model.config.vocab_size)
    end[chat._model.config.eos_token_id] = bias
    chat._model.lm_head.register_forward_hook(lambda module, inputs, logits: logits + end)
    reply = await chat.ask(user("one"), at())

    assert (reply.finish_reason, reply.usage.completion) == (finish, tokens)


async def test_given_options_of_the_chat_template_when_it_is_asked_then_the_template_gets_them(folder: Path) -> None:
    plain = await local(folder).ask(user("one"), at())
    loud = await local(folder, extra_body={"chat_template_kwargs": {"shout": True}}).ask(user("one"), at())
    assert (loud.usage.prompt or 0) - (plain.usage.prompt or 0) == 1


async def test_given_a_prompt_beyond_the_window_when_it_is_asked_then_the_reason_is_the_context(folder: Path) -> None:
    store = MemoryStore()
    with pytest.raises(ContextExceeded):
        await local(folder, store).ask(user("one " * WINDOW), at())
    assert store.last.error.startswith("context_exceeded: ")


async def test_given_a_template_that_refuses_the_messages_when_it_is_asked_then_only_the_call_fails(
    folder: Path,
) -> None:
    with pytest.raises(CallFailed, match="no system role") as caught:
        await local(folder).ask([{"role": "system", "content": "s"}, *user()], at())
    assert caught.value.reason == "bad_request"


async def test_given_a_generation_beyond_the_time_limit_when_it_is_given_up_then_it_stops(folder: Path) -> None:
    chat = local(folder, timeout=0.15, max_tokens=WINDOW - 10)
    steps = 0

    def slow(module: Any, inputs: Any, output: Any) -> None:
        nonlocal steps
        steps += 1
        time.sleep(0.05)

    never_ends = torch.zeros(chat._model.config.vocab_size)
    never_ends[chat._model.config.eos_token_id] = -1000.0
    chat._model.lm_head.register_forward_hook(lambda module, inputs, logits: logits + never_ends)
    chat._model.register_forward_hook(slow)
    with pytest.raises(CallFailed) as caught:
        await chat.ask(user("one"), at())
    await asyncio.sleep(0.3)
    reached = steps
    await asyncio.sleep(0.2)

    assert caught.value.reason == "timeout"
    assert steps == reached < 10


def test_given_a_folder_that_holds_no_model_when_it_is_opened_then_the_error_names_it(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be loaded"):
        local(tmp_path)


async def test_given_a_model_without_a_chat_template_when_it_is_asked_then_the_error_says_so(
    folder: Path, tmp_path: Path
) -> None:
    transformers.AutoModelForCausalLM.from_pretrained(folder).save_pretrained(tmp_path)
    save_tokenizer(tmp_path, None)
    with pytest.raises(SpecError, match="no chat template"):
        await local(tmp_path).ask(user(), at())
