"""Models that are not OpenAI-shaped: any other LangChain provider, led through the same door."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, convert_to_messages

from judge.errors import SpecError
from judge.models.address import Address, calling
from judge.models.chat import Message, merge_same_role
from judge.models.door import Answer, Door, Endpoint
from judge.models.exchange import JSON
from judge.models.reply import Reply, read_completion
from judge.models.retry import Retryable, failure_of
from judge.settings import Generation, ModelSpec


class ProviderChat:
    """A LangChain chat model; its replies are stored in the shape of a chat completion."""

    def __init__(
        self,
        spec: ModelSpec,
        generation: Generation,
        door: Door,
        *,
        connections: int,
        client: BaseChatModel | None = None,
    ) -> None:
        self._spec = spec
        self._generation = generation
        self._door = door
        self._endpoint = Endpoint(spec.endpoint, asyncio.Semaphore(connections))
        self._client = client or _init(spec, generation)

    async def ask(self, messages: Sequence[Message], address: Address) -> Reply:
        merged = merge_same_role(messages)
        body: dict[str, JSON] = {"model": self._spec.name, "messages": merged, **_parameters(self._generation)}

        async def send() -> Answer:
            return await self._send(merged)

        with calling(address) as call:
            exchange = await self._door.exchange(call, self._endpoint, self._spec.name, body, send)
        return read_completion(exchange.response, prompt=str(merged[-1]["content"]))

    async def _send(self, messages: Sequence[Message]) -> Answer:
        """One request; a provider's exceptions carry the HTTP status in the attribute `status_code`, if at all."""
        try:
            reply = await self._client.ainvoke(convert_to_messages([dict(message) for message in messages]))
        except (ConnectionError, TimeoutError) as error:
            raise Retryable("connection_error", str(error) or type(error).__name__) from error
        except Exception as error:
            status = getattr(error, "status_code", None)
            if not isinstance(status, int):
                raise
            failure = failure_of(status, {}, str(error), any_success=self._endpoint.successes > 0)
            raise failure from error
        return Answer(200, {}, json.dumps(as_completion(reply, self._spec.name), ensure_ascii=False))


def as_completion(reply: Any, model: str) -> dict[str, JSON]:
    """A LangChain message in the shape of a chat completion, as far as it tells."""
    metadata = getattr(reply, "response_metadata", {}) or {}
    usage = getattr(reply, "usage_metadata", None) or {}
    finish = metadata.get("finish_reason") or metadata.get("stop_reason") or metadata.get("done_reason") or ""
    finish = {"max_tokens": "length", "MAX_TOKENS": "length", "end_turn": "stop"}.get(finish, finish)
    extra = getattr(reply, "additional_kwargs", {}) or {}
    message = {"role": "assistant", "content": reply.content if isinstance(reply, AIMessage) else str(reply)}
    message |= {key: extra[key] for key in ("reasoning_content", "reasoning", "refusal") if extra.get(key)}
    return {
        "model": metadata.get("model_name") or metadata.get("model") or model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": usage.get("input_tokens"), "completion_tokens": usage.get("output_tokens")},
    }


def _parameters(generation: Generation) -> dict[str, JSON]:
    sent = {"temperature": generation.temperature, "max_tokens": generation.max_tokens}
    return {key: value for key, value in sent.items() if value is not None} | generation.extra_body


def _init(spec: ModelSpec, generation: Generation) -> BaseChatModel:
    try:
        from langchain.chat_models import init_chat_model
    except ImportError:
        raise SpecError(
            f"{spec.text!r} needs LangChain's model loader and the provider's package: "
            "pip install langchain, and e.g. langchain-anthropic"
        ) from None
    try:
        model: BaseChatModel = init_chat_model(spec.name, max_retries=0, **_parameters(generation))
    except (ImportError, ValueError) as error:
        raise SpecError(f"{spec.text!r} cannot be loaded: {error}") from None
    return model
