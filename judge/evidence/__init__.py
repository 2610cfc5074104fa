"""Where factuality looks things up: nowhere, in the user's own files, or on the web."""

from judge.evidence.opening import open_evidence
from judge.evidence.passages import Evidence, Passage

__all__ = ["Evidence", "Passage", "open_evidence"]
