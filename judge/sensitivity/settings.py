"""In which settings two judges differ, and what a difference in only one of them is called."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from judge.settings import JudgeSpec

#: No difference at all: the same judge, asked twice.
SAME = "same settings"

#: Setting -> what it is called. Tasks that only one of the judges was given change no label of the others, and prompts
#: that only one of them uses follow from another setting.
_CALLED: Mapping[str, str] = MappingProxyType(
    {
        "model": "model",
        "generation": "generation",
        "protocol": "protocol",
        "prompts": "prompts",
        "evidence": "evidence",
        "step_splitter": "step splitter",
        "reasoning_source": "text judged",
        "reference": "reference steps",
    }
)


def differing(a: JudgeSpec, b: JudgeSpec) -> list[str]:
    """What two judges differ in, apart from their names."""
    ours, theirs = _compared(a), _compared(b)
    found = [called for field, called in _CALLED.items() if field != "prompts" and ours[field] != theirs[field]]
    shared = a.prompts.keys() & b.prompts.keys()
    return [*found, *(["prompts"] if any(a.prompts[name] != b.prompts[name] for name in shared) else [])]


def _compared(spec: JudgeSpec) -> dict[str, Any]:
    """The settings without what changes nothing: where a key is, and where the evidence lies."""
    kind, _, name = spec.evidence.partition(":")
    return {
        **spec.model_dump(mode="json"),
        "model": spec.model.model_dump(exclude={"key_variable"}),
        "evidence": (kind, name if kind == "web" else "", spec.evidence_version),
        "reference": (spec.reference, spec.reference_hash),
    }


def axis(a: JudgeSpec | None, b: JudgeSpec | None) -> str:
    """The one setting in which two judges differ; `SAME` for none, empty for several, or where it is not known."""
    if a is None or b is None:
        return ""
    found = differing(a, b)
    return SAME if not found else found[0] if len(found) == 1 else ""
