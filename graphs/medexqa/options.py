"""The options of MedExQA, and what of them belongs to a number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from graphs.medexqa.cases import DEV_ROWS
from judge.benchmark import Option

#: The one setting.
SETTING = "choice"

How = Literal["logits", "logprobs", "text"]
AnswerBy = Literal["auto", "logits", "logprobs", "text"]

OPTIONS = (
    Option("specialty", "name or code, e.g. speech_pathologist or SLP; repeatable; all of them if left out",
           multiple=True),
    Option(
        "shots",
        "worked examples of the specialty that the model sees first",
        choices=tuple(str(number) for number in range(DEV_ROWS + 1)),
        default="0",
        run_only=True,
    ),
    Option(
        "answer-by",
        "what counts as the answer: the likeliest letter by a local model's logits or by the log-probabilities that a "
        "server returns, or the letter or option in the text; auto takes the first of them that there is",
        choices=("auto", "logits", "logprobs", "text"),
        default="auto",
        run_only=True,
    ),
)  # fmt: skip


def specialties_of(options: Mapping[str, Any]) -> tuple[str, ...]:
    """The specialties as the user named them; none for all."""
    return tuple(options.get("specialty") or ())


def shots_of(options: Mapping[str, Any]) -> int:
    return int(options["shots"])


def answer_by(options: Mapping[str, Any]) -> AnswerBy:
    """Predictions made elsewhere, which have no such option, are read from their text."""
    return cast(AnswerBy, options.get("answer-by", "text"))


def parameters_of(options: Mapping[str, Any], by: str) -> tuple[tuple[str, str], ...]:
    """What signs an accuracy: where the answer is from, and the number of examples where it is known."""
    shots = (("shots", str(options["shots"])),) if "shots" in options else ()
    return (("by", by), *shots)


def prompt_names() -> tuple[str, ...]:
    """The prompts that a run may use; examples have the form of question and reply, so they need none."""
    return ("doctor.v1", "reask.v1", "explain.v1")
