"""One run of several that are compared: what each of its cases got, and which of them nobody asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from judge.benchmark import Case
from judge.metrics.signature import Metric
from judge.outcome import Outcome, Scored, Unscored
from judge.runs.scoring import Scorer
from judge.runs.store import StoredUnit
from judge.settings import RunSpec

#: Reasons of units of which nothing is known, since the model or the judge was not asked, or its output is not there.
NOT_ASKED = frozenset({"not_predicted", "not_run", "not_judged"})


@dataclass(frozen=True)
class Side:
    """One run.

    Attributes:
        scores: unit key -> metric -> outcome.
        judges: what the run knows of all its judges.
        outdated: whether the judge is a panel whose judges have said something else since.
    """

    name: str
    folder: Path
    spec: RunSpec
    scorer: Scorer
    cases: Mapping[str, Case]
    units: tuple[StoredUnit, ...]
    scores: Mapping[str, Mapping[str, Outcome]]
    judges: Mapping[str, Mapping[str, Any]]
    outdated: bool

    def within(self, setting: str) -> list[StoredUnit]:
        """The units of a setting."""
        return [stored for stored in self.units if stored.unit.setting == setting]

    def metrics(self, setting: str) -> dict[str, Metric]:
        """Name -> metric, signed."""
        return {metric.name: metric for metric in self.scorer.metrics_in(setting)}

    def given(self, setting: str, metric: str) -> dict[str, float | None]:
        """Case id -> mean of its scored epochs, None without any.

        Cases that were not asked, and cases that the metric is not about, are not there.
        """
        found: dict[str, list[float]] = {}
        for case, outcome in self._outcomes(setting, metric):
            if outcome is not None and not _unasked(outcome):
                values = found.setdefault(case, [])
                values += [outcome.value] if isinstance(outcome, Scored) else []
        return {case: fmean(values) if values else None for case, values in found.items()}

    def not_asked(self, setting: str, metric: str, cases: Iterable[str]) -> int:
        """How many of these cases were not asked; the others have an output at least."""
        known = {case for case, outcome in self._outcomes(setting, metric) if outcome is None or not _unasked(outcome)}
        return sum(case not in known for case in cases)

    def _outcomes(self, setting: str, metric: str) -> Iterator[tuple[str, Outcome | None]]:
        for stored in self.within(setting):
            yield stored.unit.case, self.scores[stored.unit.key].get(metric)


def _unasked(outcome: Outcome) -> bool:
    return isinstance(outcome, Unscored) and outcome.reason in NOT_ASKED
