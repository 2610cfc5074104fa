"""Models from a folder or the Hugging Face hub, run in this process with transformers and torch."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from judge.errors import ContextExceeded, SpecError
from judge.models.address import Address, calling
from judge.models.chat import Message, merge_same_role
from judge.models.door import Answer, Door, Endpoint
from judge.models.exchange import JSON
from judge.models.reply import Reply, read_completion
from judge.settings import Generation, ModelSpec

#: Tokens generated where --max-tokens is not given; transformers' own default of 20 would cut every answer.
DEFAULT_MAX_TOKENS = 1024


class LocalChat:
    """A causal language model with a chat template; one generation at a time."""

    def __init__(self, spec: ModelSpec, generation: Generation, door: Door) -> None:
        self._spec = spec
        self._generation = generation
        self._door = door
        self._endpoint = Endpoint(f"hf:{spec.name}", asyncio.Semaphore(1))
        self._tokenizer, self._model = _load(spec)

    async def ask(self, messages: Sequence[Message], address: Address) -> Reply:
        merged = merge_same_role(messages)
        body = self._body(merged)

        async def send() -> Answer:
            return await asyncio.to_thread(self._generate, merged)

        with calling(address) as call:
            exchange = await self._door.exchange(call, self._endpoint, self._spec.name, body, send)
        return read_completion(exchange.response)

    def _body(self, messages: Sequence[Message]) -> dict[str, JSON]:
        return {
            "model": self._spec.name,
            "messages": list(messages),
            "temperature": self._generation.temperature or 0,
            "max_tokens": self._generation.max_tokens or DEFAULT_MAX_TOKENS,
            **self._generation.extra_body,
        }

    def _generate(self, messages: Sequence[Message]) -> Answer:
        import torch

        inputs = self._encode(messages)
        length = inputs["input_ids"].shape[1]
        self._check_window(length)
        with torch.inference_mode():
            output = self._model.generate(**inputs, **self._sampling())
        new = output[0, length:]
        stopped = new.shape[0] < (self._generation.max_tokens or DEFAULT_MAX_TOKENS)
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
        return Answer(200, {}, json.dumps(completion, ensure_ascii=False))

    def _encode(self, messages: Sequence[Message]) -> Any:
        if self._tokenizer.chat_template is None:
            raise SpecError(f"{self._spec.text!r} has no chat template, so it cannot be asked as a chat model")
        return self._tokenizer.apply_chat_template(
            list(messages),
            add_generation_prompt=True,
            return_tensors="pt",
            return_dict=True,
            **self._template_options(),
        ).to(self._model.device)

    def _template_options(self) -> dict[str, Any]:
        options: dict[str, Any] = self._generation.extra_body.get("chat_template_kwargs", {})
        return options

    def _check_window(self, length: int) -> None:
        window = getattr(self._model.config, "max_position_embeddings", None)
        wanted = length + (self._generation.max_tokens or DEFAULT_MAX_TOKENS)
        if window and wanted > window:
            raise ContextExceeded(f"{length} prompt tokens and the reply do not fit the window of {window} tokens")

    def _sampling(self) -> dict[str, Any]:
        tokens = self._generation.max_tokens or DEFAULT_MAX_TOKENS
        temperature = self._generation.temperature
        if not temperature:
            return {"max_new_tokens": tokens, "do_sample": False}
        return {"max_new_tokens": tokens, "do_sample": True, "temperature": temperature}


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
