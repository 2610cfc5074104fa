"""From what a user writes after ``--evidence`` to something that can be searched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from judge.errors import SpecError
from judge.evidence.passages import Evidence

if TYPE_CHECKING:
    from judge.models.door import Door

FORMS = (
    "none, corpus:DIR (a folder of .txt, .md and .jsonl files), or web:NAME (a LangChain search tool, "
    "e.g. web:TavilySearch or web:module.path:ClassName)"
)


def open_evidence(text: str, door: Door | None, *, connections: int) -> Evidence | None:
    """Open what is to be searched; None for ``none``.

    A corpus is read and hashed here and indexed at its first search. Nothing is written anywhere.

    Args:
        text: one of `FORMS`.
        door: of the run; searches on the web pass it. Without one, web evidence has its name and version, but cannot
            be searched.
        connections: how many searches on the web may be under way at once.

    Raises:
        SpecError: another form, or a tool that is not installed or cannot be set up.
        DataError: the folder, or a file in it, cannot be used.
    """
    spec = text.strip()
    if spec == "none":
        return None
    kind, _, rest = spec.partition(":")
    if kind == "corpus" and rest.strip():
        from judge.evidence.corpus import Corpus

        return Corpus(spec, Path(rest.strip()).expanduser())
    if kind == "web" and rest.strip():
        from judge.evidence.web import WebSearch

        return WebSearch(spec, door, connections=connections)
    raise SpecError(f"{text!r} is no evidence; give {FORMS}")
