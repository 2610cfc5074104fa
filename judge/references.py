"""Reference steps, pinned once for each case, so that every model and every judge is measured against the same ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ReferenceSteps:
    """The reference steps of one case.

    Attributes:
        hash: SHA-256 over the case's reference text, the splitter, its prompt and parameters, and the steps.
    """

    case_id: str
    steps: tuple[str, ...]
    hash: str


@dataclass(frozen=True, slots=True)
class References:
    """The reference steps of many cases, all made in one way.

    Attributes:
        splitter: name and version of what split them, e.g. ``rules.v1``, or a model's SPEC.
        parameters: what else decides how they are split, in JSON types; the prompt's hash is among them.
        cases: by case id.
        file: where they were read from; empty when they were made here.
    """

    splitter: str
    parameters: Mapping[str, Any] = field(hash=False)
    cases: Mapping[str, ReferenceSteps] = field(repr=False, hash=False)
    file: str = ""
