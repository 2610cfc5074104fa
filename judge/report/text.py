"""Other people's words on a terminal: what models and servers say must not steer it."""

from __future__ import annotations

import re

_LINE_ENDS = re.compile(r"\r\n?")
#: Control characters, lone surrogates, and what turns the direction of writing; line feed and tab stay.
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """`text` with whatever a terminal would act on made visible, e.g. ``\\x1b`` for an escape character."""
    return _UNSAFE.sub(lambda match: _visible(match.group()), _LINE_ENDS.sub("\n", text))


def one_line(text: str) -> str:
    """Like `printable`, on one line."""
    return " ".join(printable(text).split())


def _visible(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
