"""What a doctor wrote in explanation of its letter, compared with the two reference explanations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs.medexqa.explained import GAVE_NONE, lacking
from judge.benchmark import Explanation, Transcript


def explanation(record: Mapping[str, Any], transcript: Transcript | None) -> Explanation | None:
    """The explanation as read; empty where the doctor gave none, missing where it was lost or never supplied."""
    references = tuple(text for text in record["explanations"] if text.strip())
    if not references:
        return None
    if transcript is None:
        return Explanation(None, references)
    found = transcript.data["explanation"]
    if found["text"] or found["reason"] in GAVE_NONE:
        return Explanation(str(found["text"]), references)
    return Explanation(None, references, lacking(found["reason"], "the explanation was not received"))
