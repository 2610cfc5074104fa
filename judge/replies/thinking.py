"""Set a model's thinking apart from its answer.

Nothing in the thinking is ever read as an answer, so everything that reads a reply starts here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Separated:
    """A reply cut in two.

    Attributes:
        thinking: the reasoning text without its delimiters, blocks joined by a blank line; may be empty.
        answer: what the model said outside of its reasoning; the text as given when it has no reasoning.
        unclosed: the reasoning never ended, so there is no answer to trust: ``answer`` is what stood before
            the reasoning, and callers give the reason ``truncated_reasoning``.
    """

    thinking: str
    answer: str
    unclosed: bool


_NAMES = r"(?:think|thinking|thoughts?|reasoning)"

#: Delimiters of one reasoning block. All families count as one: models mix them within a reply.
_TAG = re.compile(
    rf"""
      (?P<open> <\s?{_NAMES}\s?> | \[{_NAMES}\] | ◁{_NAMES}▷
              | <\|(?:begin_of_thought|start_thinking)\|> | <unused94>(?:thought\b)? )
    | (?P<close> <\s?/\s?{_NAMES}\s?> | \[/{_NAMES}\] | ◁/{_NAMES}▷
              | <\|(?:end_of_thought|end_thinking)\|> | <unused95> )
    """,
    re.IGNORECASE | re.VERBOSE,
)

_CHANNEL = re.compile(r"<\|channel\|>\s{0,9}(?P<name>\w{1,40})[^<]{0,200}<\|message\|>", re.IGNORECASE)
_CHANNEL_END = re.compile(r"<\|(?:end|return|call|start|channel)\|>", re.IGNORECASE)
#: What is left of the channels when a server drops the special tokens.
_BARE_CHANNELS = re.compile(r"\s*analysis(?=[A-Z\s])")
_BARE_FINAL = "assistantfinal"

_TITLE = r"(?:reasoning|thinking|thoughts?|thought process|raisonnement|réflexion|pensée)"
_QUOTED_TITLE = re.compile(rf"\s*>[ \t>]{{0,9}}[*_#\s]{{0,9}}{_TITLE}\b[^\n]{{0,80}}(?:\n|$)", re.IGNORECASE)
_DURATION = re.compile(
    r"^[ \t>*_]{0,9}(?:reasoned|thought|raisonné|réfléchi)[ \t]+(?:for|pendant|durant)[ \t]+[^\n]{1,60}$",
    re.IGNORECASE | re.MULTILINE,
)


def separate_thinking(text: str) -> Separated:
    """Separate the thinking of a reply from its answer.

    Understood: ``<think>``, ``<thinking>``, ``<thought>`` and ``<reasoning>`` tags in any case, several or nested,
    with only the closing tag (the chat template opened the block) or never closed; ``[THINK]``; ``◁think▷``;
    ``<|channel|>analysis``; and a quoted "> Reasoning" block at the head, closed by "Reasoned for N seconds".

    Args:
        text: the reply as the model sent it; any string.

    Returns:
        The two parts. A text without any of these forms is all answer, unchanged.
    """
    for separate in _FORMS:
        separated = separate(text)
        if separated is not None:
            return separated
    return Separated("", text, False)


def _channels(text: str) -> Separated | None:
    """Channels: only ``final`` is meant for the reader."""
    heads = list(_CHANNEL.finditer(text))
    if not heads:
        return None
    thinking: list[str] = []
    final: list[str] = []
    for head in heads:
        end = _CHANNEL_END.search(text, head.end())
        body = text[head.end() : end.start() if end else len(text)].strip()
        (final if head["name"].casefold() == "final" else thinking).append(body)
    return Separated(_joined(thinking), _joined(final), not final)


def _bare_channels(text: str) -> Separated | None:
    head = _BARE_CHANNELS.match(text)
    if head is None:
        return None
    end = text.rfind(_BARE_FINAL)
    if end >= 0:
        return Separated(text[head.end() : end].strip(), text[end + len(_BARE_FINAL) :].strip(), False)
    glued = text[head.end() : head.end() + 1].isalpha()
    return Separated(text[head.end() :].strip(), "", True) if glued else None


def _quoted_block(text: str) -> Separated | None:
    """A quoted block at the head; in some exports only its title line carries the quote mark."""
    title = _QUOTED_TITLE.match(text)
    if title is None:
        return _duration_line(text)
    ends = list(_DURATION.finditer(text, title.end()))
    if ends:
        return Separated(_unquoted(text[title.end() : ends[-1].start()]), text[ends[-1].end() :].strip(), False)
    body_end = _end_of_quote(text, title.end())
    if body_end == title.end():
        return Separated(text[title.end() :].strip(), "", True)
    answer = text[body_end:].strip()
    return Separated(_unquoted(text[title.end() : body_end]), answer, not answer)


def _duration_line(text: str) -> Separated | None:
    """The reasoning folded away: only its duration is left at the head."""
    start = len(text) - len(text.lstrip())
    line = _DURATION.match(text, start)
    return None if line is None else Separated("", text[line.end() :].strip(), False)


def _end_of_quote(text: str, start: int) -> int:
    end = start
    for line in text[start:].splitlines(keepends=True):
        if not line.lstrip().startswith(">"):
            break
        end += len(line)
    return end


def _unquoted(text: str) -> str:
    return "\n".join(line.lstrip().removeprefix(">").strip() for line in text.split("\n")).strip()


def _tags(text: str) -> Separated | None:
    tags = list(_TAG.finditer(text))
    if not tags:
        return None
    last_close = max((n for n, tag in enumerate(tags) if tag["close"]), default=-1)
    thinking: list[str] = []
    answer: list[str] = []
    depth = start = 0
    for n, tag in enumerate(tags):
        between = text[start : tag.start()]
        start = tag.end()
        if tag["close"] and depth == 0:
            # Closed but never opened: all so far was thinking, whatever it looked like.
            thinking += [*answer, between]
            answer = []
            continue
        (thinking if depth else answer).append(between)
        depth += 1 if tag["open"] else -1
        if n == last_close:
            depth = 0
    (thinking if depth else answer).append(text[start:])
    return Separated(_joined(thinking), _joined(answer), depth > 0)


def _joined(parts: list[str]) -> str:
    return "\n\n".join(_nonblank(parts))


def _nonblank(parts: list[str]) -> Iterator[str]:
    return (part.strip() for part in parts if part.strip())


_FORMS: tuple[Callable[[str], Separated | None], ...] = (_channels, _tags, _bare_channels, _quoted_block)
