"""Models from a folder or the Hugging Face hub, run in this process with transformers and torch."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from judge.errors import CallFailed, ContextExceeded, SpecError
from judge.models.address import Address, calling
from judge.models.batching import Batcher
from judge.models.chat import Message, merge_same_role
from judge.models.choices import Choice, How, choice_from_scores
from judge.models.door import Answer, Door, Endpoint
from judge.models.exchange import JSON, encodable_json
from judge.models.next_token import LetterScores, NextToken, Prompt
from judge.models.reply import Reply, read_completion
from judge.settings import Generation, ModelSpec, filled


class LocalChat:
    """A causal language model; one generation at a time, and several choices of a letter.

    Without a chat template it can choose after the bare text of the messages, but holds no conversation.
    """

    chooses_by: How = "logits"

    def __init__(self, spec: ModelSpec, generation: Generation, door: Door) -> None:
        self._spec = spec
        self._generation = filled(generation, "hf")
        self._tokens = self._generation.max_tokens or 0
        self._template = _template_options(spec, generation.extra_body)
        self._door = door
        self._endpoint = door.endpoint(f"hf:{spec.name}", 1)
        loaded: tuple[Any, Any] = (None, None) if door.replaying else _load(spec)
        self._tokenizer, self._model = loaded
        self._one_at_a_time = threading.Lock()
        self._encoding = threading.Lock()  # a tokenizer must not be used by two threads at once
        self._next_token = None if door.replaying else NextToken(self._tokenizer, self._model)
        size = self._next_token.batch if self._next_token else 1
        self._batcher = Batcher(self._score, size=size, length=lambda prompt: len(prompt.ids))
        # one batch under way, another gathering
        self._choosing = Endpoint(self._endpoint.name, asyncio.Semaphore(2 * size))

    async def ask(self, messages: Sequence[Message], address: Address) -> Reply:
        if self._tokenizer is not None and self._tokenizer.chat_template is None:
            raise SpecError(f"{self._spec.text!r} has no chat template, so it cannot be asked as a chat model")
        merged = merge_same_role(messages)
        body = self._body(merged)

        async def send() -> Answer:
            given_up = threading.Event()
            try:
                return await asyncio.to_thread(self._generate, merged, given_up)
            except asyncio.CancelledError:
                given_up.set()  # a thread cannot be cancelled, and two must not generate at once
                raise

        with calling(address) as call:
            exchange = await self._door.exchange(call, self._endpoint, self._spec.name, body, send)
        return read_completion(exchange.response)

    async def choose(self, messages: Sequence[Message], letters: Sequence[str], address: Address) -> Choice:
        """The letter with the highest next-token logit after the prompt; nothing is generated.

        The prompt is what the chat template makes of the messages, up to where the reply begins; without a template,
        their texts, a blank line between them.
        """
        merged = merge_same_role(messages)
        # temperature 0 says to the shared cache that the answer is always the same
        body = {"model": self._spec.name, "messages": merged, "letters": list(letters), "temperature": 0,
                **self._generation.extra_body}  # fmt: skip

        async def send() -> Answer:
            ids = await asyncio.to_thread(self._prompt, merged)
            self._check_window(len(ids), 0)
            scores = await self._batcher.ask(Prompt(ids, letters))
            usage = {"prompt_tokens": len(ids), "completion_tokens": 0}
            return Answer(200, {}, encodable_json({"model": self._spec.name, "letters": scores, "usage": usage}))

        with calling(address) as call:
            exchange = await self._door.exchange(call, self._choosing, self._spec.name, body, send)
        return choice_from_scores(exchange.response, letters)

    def _prompt(self, messages: Sequence[Message]) -> list[int]:
        if self._tokenizer.chat_template is not None:
            ids: list[int] = self._encode(messages)["input_ids"][0].tolist()
            return ids
        with self._encoding:
            return list(self._tokenizer("\n\n".join(str(message["content"]) for message in messages))["input_ids"])

    def _score(self, prompts: Sequence[Prompt]) -> list[LetterScores]:
        assert self._next_token is not None, "a replay answers before anything is scored"
        with self._one_at_a_time:
            return self._next_token.score(prompts)

    def _body(self, messages: Sequence[Message]) -> dict[str, JSON]:
        return {
            "model": self._spec.name,
            "messages": list(messages),
            "temperature": self._generation.temperature,
            "max_tokens": self._tokens,
            **self._generation.extra_body,
        }

    def _generate(self, messages: Sequence[Message], given_up: threading.Event) -> Answer:
        import torch

        inputs = self._encode(messages)
        length = inputs["input_ids"].shape[1]
        self._check_window(length, self._tokens)
        with self._one_at_a_time, torch.inference_mode():
            stop = [lambda ids, scores, **_: torch.full((ids.shape[0],), given_up.is_set(), device=ids.device)]
            output = self._model.generate(**inputs, **self._sampling(), stopping_criteria=stop)
        new = output[0, length:]
        stopped = new.shape[0] < self._tokens or int(new[-1]) in self._ends()
        text = self._tokenizer.decode(new, skip_special_tokens=True)
        completion = {
            "model": self._spec.name,
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": "stop" if stopped else "length",
                }
            ],
            "usage": {"prompt_tokens": length, "completion_tokens": int(new.shape[0])},
        }
        return Answer(200, {}, encodable_json(completion))

    def _ends(self) -> set[int]:
        """Ids of the tokens that end a reply."""
        ids = self._model.generation_config.eos_token_id
        return set(ids) if isinstance(ids, list) else {ids}

    def _encode(self, messages: Sequence[Message]) -> Any:
        try:
            with self._encoding:
                encoded = self._tokenizer.apply_chat_template(
                    list(messages),
                    add_generation_prompt=True,
                    return_tensors="pt",
                    return_dict=True,
                    **self._template,
                )
            return encoded.to(self._model.device)
        except Exception as error:
            # templates refuse what they do not know, e.g. a system message, with an exception of jinja2's
            if type(error).__module__.partition(".")[0] != "jinja2":
                raise
            raise CallFailed(f"the model's chat template refuses the messages: {error}", reason="bad_request") from None

    def _check_window(self, length: int, reply: int) -> None:
        window = getattr(self._model.config, "max_position_embeddings", None)
        if window and length + reply > window:
            raise ContextExceeded(f"{length} prompt tokens and the reply do not fit the window of {window} tokens")

    def _sampling(self) -> dict[str, Any]:
        temperature = self._generation.temperature
        if not temperature:
            return {"max_new_tokens": self._tokens, "do_sample": False}
        return {"max_new_tokens": self._tokens, "do_sample": True, "temperature": temperature}


def _template_options(spec: ModelSpec, extra: Mapping[str, JSON]) -> dict[str, JSON]:
    """Options of the chat template; nothing else in an extra body means anything to a model in this process."""
    if unknown := sorted(set(extra) - {"chat_template_kwargs"}):
        raise SpecError(f"--extra-body {unknown[0]!r} means nothing to {spec.text!r}; only chat_template_kwargs does")
    return dict(extra.get("chat_template_kwargs", {}))


def _load(spec: ModelSpec) -> tuple[Any, Any]:
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError:
        raise SpecError(f"{spec.text!r} needs torch and transformers: pip install 'medjudge[local]'") from None
    try:
        tokenizer = AutoTokenizer.from_pretrained(spec.name)
        model = AutoModelForCausalLM.from_pretrained(spec.name, dtype="auto")
    except (OSError, ValueError) as error:
        raise SpecError(f"{spec.text!r} cannot be loaded: {str(error).splitlines()[0]}") from None
    return tokenizer, model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
