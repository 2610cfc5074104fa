"""Models that are not OpenAI-shaped: any other LangChain provider, led through the same door."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, convert_to_messages

from judge.errors import MedjudgeError, SpecError
from judge.models.address import Address, calling
from judge.models.chat import Message, merge_same_role
from judge.models.door import Answer, Door
from judge.models.exchange import JSON, encodable_json
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
        self._endpoint = door.endpoint(spec.endpoint, connections)
        self._client = client or (None if door.replaying else _init(spec, generation))

    async def ask(self, messages: Sequence[Message], address: Address) -> Reply:
        merged = merge_same_role(messages)
        body: dict[str, JSON] = {"model": self._spec.name, "messages": merged, **_parameters(self._generation)}

        async def send() -> Answer:
            return await self._send(merged)

        with calling(address) as call:
            exchange = await self._door.exchange(call, self._endpoint, self._spec.name, body, send)
        return read_completion(exchange.response, prompt=str(merged[-1]["content"]))

    async def _send(self, messages: Sequence[Message]) -> Answer:
        client = self._client
        assert client is not None, "a replay answers before anything is sent"
        try:
            reply = await client.ainvoke(convert_to_messages([dict(message) for message in messages]))
        except Exception as error:
            failure = failure_in(error, any_success=self._endpoint.successes > 0)
            if failure is None:
                raise
            raise failure from error
        return Answer(200, {}, encodable_json(as_completion(reply, self._spec.name)))


def failure_in(error: Exception, *, any_success: bool) -> Exception | None:
    """What an exception of a provider or tool means for the call, as far as it tells; None: it does not."""
    if isinstance(error, MedjudgeError):
        return None
    response = getattr(error, "response", None)
    status = _status(error) or _status(response)
    if status is not None:
        headers = getattr(response, "headers", None)
        lower = {str(k).lower(): str(v) for k, v in headers.items()} if isinstance(headers, Mapping) else {}
        return failure_of(status, lower, str(error), any_success=any_success)
    shown = f"{type(error).__name__}: {error}"
    if any(isinstance(cause, TimeoutError) or "Timeout" in type(cause).__name__ for cause in _causes(error)):
        return Retryable("timeout", shown)
    if any(isinstance(cause, ConnectionError) or "Connect" in type(cause).__name__ for cause in _causes(error)):
        return Retryable("connection_error", shown)
    return None


def _status(source: Any) -> int | None:
    """The HTTP status in an exception or response, under the names that providers' SDKs use."""
    found = (getattr(source, name, None) for name in ("status_code", "http_status", "code", "status"))
    return next((int(value) for value in found if isinstance(value, int) and 300 <= value < 600), None)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def as_completion(reply: Any, model: str) -> dict[str, JSON]:
    """A LangChain message in the shape of a chat completion, as far as it tells."""
    metadata = getattr(reply, "response_metadata", {}) or {}
    usage = getattr(reply, "usage_metadata", None) or {}
    found = (metadata.get(key) for key in ("finish_reason", "stop_reason", "stopReason", "done_reason"))
    finish = str(next(filter(None, found), ""))
    extra = getattr(reply, "additional_kwargs", {}) or {}
    message = {"role": "assistant", "content": reply.content if isinstance(reply, AIMessage) else str(reply)}
    message |= {key: extra[key] for key in ("reasoning_content", "reasoning", "refusal") if extra.get(key)}
    choice = {"index": 0, "message": message, "finish_reason": _FINISH.get(finish.lower(), finish)}
    if metadata.get("logprobs"):
        choice["logprobs"] = metadata["logprobs"]
    return {
        "model": metadata.get("model_name") or metadata.get("model") or model,
        "choices": [choice],
        "usage": {
            "prompt_tokens": usage.get("input_tokens"),
            "completion_tokens": usage.get("output_tokens"),
            "prompt_tokens_details": {"cached_tokens": (usage.get("input_token_details") or {}).get("cache_read")},
            "completion_tokens_details": {
                "reasoning_tokens": (usage.get("output_token_details") or {}).get("reasoning")
            },
        },
    }


#: Providers' words for how a reply ended -> those of a chat completion.
_FINISH: Mapping[str, str] = {
    "stop": "stop", "end_turn": "stop", "stop_sequence": "stop", "complete": "stop",
    "max_tokens": "length", "model_length": "length", "model_context_window_exceeded": "length",
    "safety": "content_filter", "content_filtered": "content_filter", "guardrail_intervened": "content_filter",
    "refusal": "content_filter", "blocklist": "content_filter", "prohibited_content": "content_filter",
    "recitation": "content_filter", "spii": "content_filter",
}  # fmt: skip


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
