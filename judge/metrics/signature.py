"""Signatures: what exactly a number is, so that two numbers with one name are comparable."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metric:
    """A named number and the definition behind it.

    Attributes:
        name: short name used as key in reports, e.g. ``"lca"``.
        title: how a table heads the column, e.g. ``"LCA (exam rule)"``.
        parameters: what distinguishes this variant, in order, e.g. ``(("two", ".25"),)``.
        version: raised whenever the same input would give another number.
        source: paper section, decree or library that defines it.
        range: smallest and largest value a case can get, used for bounds; None for counts without a largest one.
        least: smallest value of such a count, which no interval goes below; None where there is none either.
    """

    name: str
    title: str
    parameters: tuple[tuple[str, str], ...] = ()
    version: int = 1
    source: str = ""
    range: tuple[float, float] | None = (0.0, 1.0)
    least: float | None = None

    @property
    def signature(self) -> str:
        """e.g. ``lca|two:.25|rules:essential,unacceptable|v:1``."""
        middle = [f"{key}:{value}" for key, value in self.parameters]
        return "|".join([self.name, *middle, f"v:{self.version}"])
