"""Is the explanation of a right answer right and complete?"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from judge.chains.asking import Asker
from judge.chains.fence import Data, numbered
from judge.explanations import PROMPT, Exhibit, read_grade
from judge.models.verdict import Verdict

PROMPTS = (PROMPT,)

#: Address of the one call.
STEP = "explanation"


class ExplanationVerdict(Verdict):
    """How good the explanation of a right answer is; 0 is for wrong answers, about which no judge is asked."""

    rationale: str = Field(description="one to three sentences")
    grade: Literal["0.5", "1"]

    @field_validator("grade", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        """A grade written as a number, or with other digits, is the same grade."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return value
        return read_grade(str(value).removesuffix(".")) or value


async def grade_explanation(asker: Asker, shown: Exhibit) -> ExplanationVerdict:
    """Grade one explanation of a right answer.

    Raises:
        JudgeFailed: no usable answer.
    """
    data: dict[str, Data] = {
        "question": shown.question,
        "options": shown.options,
        "right_answer": shown.right_answer,
        "references": numbered(enumerate(shown.references)),
        "answer": shown.answer,
        "explanation": shown.explanation,
    }
    return await asker.ask(PROMPT, ExplanationVerdict, STEP, data)
