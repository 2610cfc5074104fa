"""Models from a folder or the Hugging Face hub, run in this process with transformers and torch."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from judge.errors import CallFailed, ContextExceeded, SpecError
from judge.models.address import Address, calling
from judge.models.chat import Message, merge_same_role
from judge.models.door import Answer, Door
from judge.models.exchange import JSON, encodable_json
from judge.models.reply import Reply, read_completion
from judge.settings import Generation, ModelSpec, filled


class LocalChat:
    """A causal language model with a chat template; one generation at a time."""

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

    async def ask(self, messages: Sequence[Message], address: Address) -> Reply:
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
        self._check_window(length)
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
            return self._tokenizer.apply_chat_template(
                list(messages),
                add_generation_prompt=True,
                return_tensors="pt",
                return_dict=True,
                **self._template,
            ).to(self._model.device)
        except Exception as error:
            # templates refuse what they do not know, e.g. a system message, with an exception of jinja2's
            if type(error).__module__.partition(".")[0] != "jinja2":
                raise
            raise CallFailed(f"the model's chat template refuses the messages: {error}", reason="bad_request") from None

    def _check_window(self, length: int) -> None:
        window = getattr(self._model.config, "max_position_embeddings", None)
        if window and length + self._tokens > window:
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
    if tokenizer.chat_template is None:
        raise SpecError(f"{spec.text!r} has no chat template, so it cannot be asked as a chat model")
    return tokenizer, model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
