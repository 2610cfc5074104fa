"""What an audit of a data set reports."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

Severity = Literal["info", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One observation.

    Attributes:
        code: stable word, e.g. ``"essential_not_correct"``.
        severity: ``info`` describes, ``warning`` bears on how numbers are read, ``problem`` has to be corrected.
        count: how many questions, articles or files it concerns.
        text: one sentence.
        examples: up to ten places, ``index 275 (350275dda4a9)`` or an article's name.
    """

    code: str
    severity: Severity
    count: int
    text: str
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AuditReport:
    """All findings about one copy of the data.

    Attributes:
        root: the folder that was audited.
        counts: sizes and distributions, JSON-ready.
        reachable: best possible mean per metric.
        findings: problems first, then warnings, then information.
    """

    root: Path
    counts: dict[str, Any]
    reachable: dict[str, float]
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; without the local path, so that two copies of the same data give the same report."""
        findings = [asdict(finding) | {"examples": list(finding.examples)} for finding in self.findings]
        return {"counts": self.counts, "reachable": self.reachable, "findings": findings}
