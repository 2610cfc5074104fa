"""Which steps does a text consist of?"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from judge.chains.asking import Asker
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

    Raises:
        JudgeFailed: no usable answer; one whose steps do not stand in the text in this order, or are too many, is none.
    """
    if not text.strip():
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
    end = 0
    for step in steps:
        wanted = " ".join(step.split())
        start = collapsed.find(wanted, end) if wanted else -1
        if start < 0:
            return [*spans, ""]
        end = start + len(wanted)
        spans.append(text[places[start] : places[end - 1] + 1])
    return spans


def _collapsed(text: str) -> tuple[str, list[int]]:
    """The text with one space for every run of blanks, and where each of its characters stands in the text."""
    places = [n for n, char in enumerate(text) if not (char.isspace() and text[n - 1 : n].isspace())]
    return "".join(" " if text[n].isspace() else text[n] for n in places), places
