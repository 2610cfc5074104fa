"""Reading a chat completion: the answer, the thinking kept apart from it, and why there may be none."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from judge.models.exchange import JSON, Usage, clean, read_usage
from judge.outcome import Unscored
from judge.replies import separate_thinking

#: Where servers put reasoning text, in the order in which we look.
REASONING_KEYS = ("reasoning_content", "reasoning", "reasoning_details", "thinking")


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said.

    Attributes:
        text: the answer without the thinking; its markup is left as it is.
        thinking: reasoning text, from whichever field or tags it came; never parsed for an answer.
        reasoning_key, reasoning_value: the message field the server used for reasoning and what it held, to be sent
            back unchanged in the next turn to servers that want it; key empty when none was used.
        finish_reason: as the server gave it.
        unscored: why `text` cannot be read as an answer; None when it can.
        served_model, fingerprint: what the server says it ran.
        logprobs: as the server gave them, else None.
    """

    text: str
    thinking: str = ""
    reasoning_key: str = ""
    reasoning_value: JSON = None
    finish_reason: str = ""
    unscored: Unscored | None = None
    served_model: str = ""
    fingerprint: str = ""
    usage: Usage = field(default_factory=Usage)
    logprobs: JSON = None

    def message(self, *, send_reasoning: bool) -> dict[str, JSON]:
        """This reply as the assistant message of the next turn."""
        message: dict[str, JSON] = {"role": "assistant", "content": self.text}
        if send_reasoning and self.reasoning_key:
            message[self.reasoning_key] = self.reasoning_value
        return message


def read_completion(response: str, *, prompt: str = "") -> Reply:
    """Read the response text of a chat completion.

    Args:
        prompt: the last user message; where a server echoes it before the answer it is taken off.

    Every shape a server may send gives a `Reply`; nothing raises.
    """
    try:
        parsed = _parse(response)
    except (ValueError, RecursionError):
        return _no_reply("malformed_response", "the response is no JSON")
    if not isinstance(parsed, Mapping) or "choices" not in parsed:
        return _no_reply("malformed_response", "the response has no 'choices'")
    choices = parsed["choices"]
    if not isinstance(choices, list) or not choices:
        return _no_reply("empty_choices", "the server sent no choice")
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(message, Mapping):
        return _no_reply("null_message", "the server sent a choice without a message")
    return _read_message(parsed, choice, message, read_usage(response), prompt)


#: The escape of a surrogate; alone, it stands for no character.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def _parse(response: str) -> JSON:
    """The response without lone surrogates: whatever is read from it can be stored and sent back."""
    parsed = json.loads(response)
    return json.loads(clean(json.dumps(parsed, ensure_ascii=False))) if _SURROGATE.search(response) else parsed


def _read_message(
    parsed: Mapping[str, JSON], choice: Mapping[str, JSON], message: Mapping[str, JSON], usage: Usage, prompt: str
) -> Reply:
    content, inline = _content(message.get("content"))
    separated = separate_thinking(_without_echo(content, prompt))
    key, value, reasoning = _reasoning(message)
    finish = str(choice.get("finish_reason") or "")
    thinking = "\n\n".join(part for part in (reasoning, inline, separated.thinking) if part)
    text = separated.answer.strip()
    return Reply(
        text=text,
        thinking=thinking,
        reasoning_key=key,
        reasoning_value=value,
        finish_reason=finish,
        unscored=_why_unreadable(text, thinking, separated.unclosed, finish, message),
        served_model=str(parsed.get("model") or ""),
        fingerprint=str(parsed.get("system_fingerprint") or ""),
        usage=usage,
        logprobs=choice.get("logprobs"),
    )


def _why_unreadable(
    text: str, thinking: str, unclosed: bool, finish: str, message: Mapping[str, JSON]
) -> Unscored | None:
    refusal = message.get("refusal")
    if refusal:
        return Unscored("refused", str(refusal)[:300])
    if finish == "content_filter":
        return Unscored("content_filter", "the server's content filter ended the reply")
    if unclosed:
        return Unscored("truncated_reasoning", "the thinking was never closed, so there is no answer after it")
    if finish.casefold() in CUT:
        return Unscored("truncated", "the reply reached the token limit")
    if not text:
        return Unscored("empty_reply", "there is reasoning but no answer" if thinking else "the reply is empty")
    return None


#: How servers say that a reply reached the token limit.
CUT = frozenset({"length", "max_tokens", "model_length"})


def _content(content: JSON) -> tuple[str, str]:
    """(answer text, thinking text) of a message's content, which may be text, null or a list of typed parts."""
    if isinstance(content, str):
        return content, ""
    if not isinstance(content, list):
        return "", ""
    texts: list[str] = []
    thoughts: list[str] = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            kind = str(part.get("type", ""))
            (thoughts if "thinking" in kind or "reasoning" in kind else texts).append(_flat(part))
    return "".join(texts), "\n".join(thoughts)


def _reasoning(message: Mapping[str, JSON]) -> tuple[str, JSON, str]:
    """(key, value as sent, text) of the first reasoning field that holds any text."""
    for key in REASONING_KEYS:
        value = message.get(key)
        if value and (text := _flat(value)):
            return key, value, text
    return "", None, ""


def _flat(value: JSON, depth: int = 8) -> str:
    """The text inside a reasoning field or content part, nested as servers do and no deeper than `depth`."""
    if isinstance(value, str):
        return value
    if depth and isinstance(value, list):
        return "\n".join(text for item in value if (text := _flat(item, depth - 1)))
    if depth and isinstance(value, Mapping):
        for key in ("text", "thinking", "summary", "content", "reasoning", "reasoning_content"):
            if value.get(key):
                return _flat(value[key], depth - 1)
    return ""


def _without_echo(text: str, prompt: str) -> str:
    """Endpoints that echo put the prompt before the answer; what was asked must not be read as what was answered."""
    prompt = prompt.strip()
    lead = text.lstrip()
    return lead[len(prompt) :] if len(prompt) > 40 and lead.startswith(prompt) else text


def _no_reply(reason: str, detail: str) -> Reply:
    return Reply(text="", unscored=Unscored(reason, detail))
