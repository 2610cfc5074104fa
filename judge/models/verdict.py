"""What a judge answers with: schemas whose rationale precedes the verdict, and the protocol of who fills them in."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar, get_args, get_origin

from pydantic import BaseModel, field_validator, model_validator

from judge.errors import CallFailed
from judge.models.address import Address
from judge.models.chat import Message
from judge.outcome import Unscored


class Verdict(BaseModel):
    """Base of every schema that a judge fills in.

    Labels, i.e. fields of type ``Literal[...]`` of texts, are accepted in any case, with spaces around and a full stop
    behind. A label that is not there, or is another word, is an error and never a default.

    Subclasses begin with a rationale, so that the model reasons before it decides. It must be there and hold a letter
    or digit. That it is written first is asked for, by the order of the schema, and not checked: the keys of a JSON
    object have no order.
    """

    @model_validator(mode="before")
    @classmethod
    def _fold_labels(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        labels = {name: choices for name, field in cls.model_fields.items() if (choices := _choices(field.annotation))}
        return {
            name: _folded(entry, labels[name]) if name in labels and isinstance(entry, str) else entry
            for name, entry in value.items()
        }

    @field_validator("rationale", check_fields=False)
    @classmethod
    def _says_why(cls, rationale: str) -> str:
        if not any(map(str.isalnum, rationale)):
            raise ValueError("it is blank; say why")
        return rationale


def _choices(annotation: Any) -> tuple[str, ...]:
    """The labels of a field; empty when it is none."""
    if get_origin(annotation) is Literal:
        return tuple(choice for choice in get_args(annotation) if isinstance(choice, str))
    if get_origin(annotation) in (typing.Union, getattr(typing, "UnionType", typing.Union)):
        return tuple(choice for part in get_args(annotation) for choice in _choices(part))
    return ()


def _folded(text: str, choices: Sequence[str]) -> str:
    plain = text.strip().removesuffix(".").rstrip().casefold()
    return next((choice for choice in choices if choice.casefold() == plain), text)


V = TypeVar("V", bound=BaseModel)

Check = Callable[[V], str]
"""Says what is wrong with a validated answer, empty if nothing: it is asked again like one that does not validate."""


class JudgeFailed(CallFailed):
    """A judge gave no usable verdict; the reason begins with ``judge_``, e.g. ``judge_truncated``."""

    reason = "judge_failed"

    def unscored(self) -> Unscored:
        """What this makes of the metrics that need the verdict."""
        return Unscored(self.reason, str(self))


class StructuredModel(Protocol):
    """A judge model behind the door."""

    async def ask(
        self, messages: Sequence[Message], schema: type[V], address: Address, *, check: Check[V] | None = None
    ) -> V:
        """A validated answer.

        Raises:
            JudgeFailed: there is none; nothing takes its place.
            EndpointError, ReplayError, Interrupted: end the run.
        """
