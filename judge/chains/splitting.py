"""Which steps does a text consist of?"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise

from pydantic import Field

from judge.chains.asking import Asker
from judge.models.exchange import clean
from judge.models.verdict import Verdict

#: Characters of a step that the judge is shown when it does not stand in the text.
_SHOWN = 80


class SplitVerdict(Verdict):
    """The steps of a text."""

    rationale: str = Field(description="one short sentence on where the steps part")
    steps: list[str] = Field(description="each step copied word for word, in order")


async def split_text(asker: Asker, prompt: str, step: str, text: str, *, most: int | None = None) -> tuple[str, ...]:
    """Have a judge split a text.

    Args:
        prompt: name of the one to fill in; its variables are ``text`` and ``limit``, a sentence that says how many
            steps to give.
        step: of the call's address.
        most: how many steps there may be.

    Returns:
        The steps as they stand in the text, blanks at their ends removed; none, without a call, if the text is blank.
        A lone surrogate, which cannot be sent, is U+FFFD in them, as in what the judge reads. Characters that are not
        seen, such as NUL or a zero-width space, need not be copied.

    Raises:
        JudgeFailed: no usable answer; one whose steps do not stand in the text in this order, or are too many, is none.
    """
    text = clean(text)
    if not _collapsed(text)[0].strip():
        return ()

    def check(verdict: SplitVerdict) -> str:
        return _fault(text, verdict.steps, most)

    limit = "Give as many as there are." if most is None else f"Give at most {most}."
    verdict = await asker.ask(prompt, SplitVerdict, step, {"text": text}, words={"limit": limit}, check=check)
    return tuple(_spans(text, verdict.steps))


def _fault(text: str, steps: Sequence[str], most: int | None) -> str:
    """What is wrong with these steps; empty if nothing."""
    if not steps:
        return "steps is empty, but the text is not; a text that cannot be parted is one step"
    if most is not None and len(steps) > most:
        return f"there are {len(steps)} steps, at most {most} are allowed; join neighbours that belong together"
    for n, span in enumerate(_spans(text, steps)):
        if not span:
            return (
                f"step {n + 1} does not stand in the text, word for word and after the end of the one before: "
                f"{' '.join(steps[n].split())[:_SHOWN]!r}"
            )
    return ""


def _spans(text: str, steps: Sequence[str]) -> list[str]:
    """Each step as it stands in the text; empty, and the last one, for the first that does not."""
    collapsed, places = _collapsed(text)
    spans: list[str] = []
    end = stop = 0
    for step in steps:
        wanted = _collapsed(step)[0].strip()
        start = collapsed.find(wanted, end) if wanted else -1
        if start < 0:
            return [*spans, ""]
        end = start + len(wanted)
        # with the characters around it that are not seen, each of them in one step only
        begin = max(stop, places[start - 1] + 1 if start else 0)
        stop = places[end] if end < len(places) else len(text)
        spans.append(text[begin:stop].strip())
    return spans


def _collapsed(text: str) -> tuple[str, list[int]]:
    """The text without what is not seen and one space for every run of blanks; where in the text each character is."""
    seen = [(n, " " if char.isspace() else char) for n, char in enumerate(text) if not _unseen(char)]
    kept = [entry for before, entry in pairwise([(0, ""), *seen]) if not before[1] == entry[1] == " "]
    return "".join(char for _, char in kept), [n for n, _ in kept]


def _unseen(char: str) -> bool:
    return not char.isspace() and unicodedata.category(char) in ("Cc", "Cf")
