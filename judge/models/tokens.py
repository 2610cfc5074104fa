"""Counting tokens before a request is sent: by estimate, or with the model's own tokenizer."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from judge.errors import SpecError


class Tokenizer(Protocol):
    """Whatever can say how long a text is.

    Attributes:
        name: identifies the counting, so that two counts under one name are comparable; holds no local path.
    """

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int:
        """Number of tokens of ``text``, without special tokens."""
        ...


#: Below this share of the expected prompt tokens a server has probably cut the prompt.
CUT_SHARE = 0.5

#: Shorter prompts are not judged: chat templates and estimates weigh too much in them.
LEAST_TOKENS = 500


def looks_cut(asked: Iterable[str], counted: int | None, tokenizer: Tokenizer) -> bool:
    """Whether a server counted far fewer prompt tokens than were sent.

    Args:
        asked: texts of all messages of the prompt.
        counted: as the server reported; None if it did not.
    """
    if counted is None:
        return False
    expected = sum(map(tokenizer.count, asked))
    return expected > LEAST_TOKENS and counted < CUT_SHARE * expected


class EstimateTokenizer:
    """One token per 3.6 bytes of UTF-8, rounded up; needs no model.

    Bytes, not characters: the tokenizers of today's chat models start from bytes, so accents, Greek letters,
    mathematical signs and CJK cost more tokens, as they cost more bytes. Conservative: English prose usually takes
    4 to 5 bytes a token with them, so a text that fits a budget by this estimate fits it in fact, at the price of
    now and then cutting one that would have fitted. Dense tables of digits can be the exception; where it matters,
    count with the model's own tokenizer.
    """

    name = "estimate:utf8-bytes/3.6"

    def count(self, text: str) -> int:
        """``ceil(bytes / 3.6)`` in integers."""
        return -(-len(text.encode("utf-8")) * 10 // 36)


class FileTokenizer:
    """The tokenizer in a Hugging Face ``tokenizer.json``.

    Args:
        path: the file, or a folder that holds a file of that name.

    Raises:
        SpecError: nothing usable at the path, or the ``tokenizers`` library is not installed.
    """

    def __init__(self, path: Path | str) -> None:
        file = Path(path)
        if file.is_dir():
            file = file / "tokenizer.json"
        try:
            content = file.read_bytes()
        except OSError as error:
            raise SpecError(
                f"{file}: cannot be read as a tokenizer ({error.strerror or error}); "
                "give a tokenizer.json or the folder that holds one"
            ) from error
        self.name = f"tokenizer.json:sha256/{hashlib.sha256(content).hexdigest()[:12]}"
        self._tokenizer = _parse_tokenizer(content, file)

    def count(self, text: str) -> int:
        """Number of tokens, special tokens not counted."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)


def _parse_tokenizer(content: bytes, file: Path) -> Any:
    try:
        library = importlib.import_module("tokenizers")
    except ImportError as error:
        raise SpecError(
            f"{file}: reading a tokenizer needs the tokenizers library; run: pip install 'medjudge[local]'"
        ) from error
    try:
        tokenizer = library.Tokenizer.from_str(content.decode("utf-8"))
    except Exception as error:  # the library raises bare Exception for anything it cannot parse
        raise SpecError(f"{file}: this is not a Hugging Face tokenizer.json ({error})") from error
    # many published files carry a truncation length: counts would stop there
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
