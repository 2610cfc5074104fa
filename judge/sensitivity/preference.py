"""Whether a judge prefers the outputs of its own model, or of its family's.

Models are of one family if they have one name, or if a user says so. Several judges, or runs, of one model count as
one: their values are averaged before those of different models are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from judge.sensitivity.material import Candidate, Material
from judge.sensitivity.scores import asked
from judge.sensitivity.testing import PairedTest

Values = Mapping[str, float]
"""Case -> value."""


@dataclass(frozen=True, slots=True)
class Kin:
    """Who is of one family.

    Attributes:
        judges: name of a judge -> its family.
        models: name of a model under test -> its family.
    """

    judges: Mapping[str, str]
    models: Mapping[str, str]


def kin(material: Material) -> Kin:
    """Families by the name of the model, joined where a user says that names are of one family."""
    joined: dict[str, str] = {}

    def root(name: str) -> str:
        while name in joined:
            name = joined[name]
        return name

    def join(first: str, second: str) -> None:
        if root(first) != root(second):
            joined[root(second)] = root(first)

    judges = {name: f"judge:{name.casefold()}" for name in material.judges}
    candidates = {one.name: f"candidate:{one.name.casefold()}" for one in material.candidates}
    for name, one in material.judges.items():
        if one.spec is not None:
            join(f"model:{one.spec.model.name.casefold()}", judges[name])
    for candidate in material.candidates:
        join(f"model:{candidate.spec.model.name.casefold()}", candidates[candidate.name])
    nodes = {*judges.values(), *candidates.values(), *(f"model:{name}" for name in _models(material))}
    for family in material.families:
        called = [f"{sort}:{name.casefold()}" for name in family for sort in ("model", "candidate", "judge")]
        first, *others = [node for node in called if node in nodes]
        for other in others:
            join(first, other)
    return Kin({name: root(node) for name, node in judges.items()},
               {name: root(node) for name, node in candidates.items()})  # fmt: skip


def _models(material: Material) -> set[str]:
    """Names of all models, judging or under test."""
    specs = [*(one.spec for one in material.candidates), *(one.spec for one in material.judges.values())]
    return {spec.model.name.casefold() for spec in specs if spec is not None}


def self_preference(material: Material) -> list[dict[str, Any]]:
    """One row a setting, metric and judge of whose family a model is under test, and one more where people scored too.

    A case's value is the mean score of the models of the judge's family less that of all others, by this judge. It is
    compared with the mean of the same by the other judges, and in the row more by people. The cases are those that all
    of these scored for all models. Judges of whose family a model is under test too count among the others only where
    there are no others. Under ``compared`` is a `PairedTest`, as in `judge.sensitivity.scores.differences`.
    """
    families = kin(material)
    rows = []
    for setting in material.settings:
        of_metric: dict[str, tuple[str, list[Candidate]]] = {}
        for candidate, metric in material.within(setting):
            of_metric.setdefault(metric.name, (metric.title, []))[1].append(candidate)
        for metric_name, (title, candidates) in of_metric.items():
            panel = _Panel(material, families, setting, metric_name, candidates)
            for judge in material.voters:
                rows += [{"setting": setting, "metric": metric_name, "title": title, **entry}
                         for entry in panel.of(judge)]  # fmt: skip
    return rows


def only_own(material: Material) -> list[str]:
    """Judges that have nobody to prefer their own models to: all models under test are of their family."""
    families = kin(material)
    tested = set(families.models.values())
    return [judge for judge in material.voters if tested == {families.judges[judge]}]


@dataclass(frozen=True)
class _Panel:
    """All who scored the models by one metric in one setting."""

    material: Material
    kin: Kin
    setting: str
    metric: str
    candidates: Sequence[Candidate]

    def of(self, judge: str) -> list[dict[str, Any]]:
        own = [one for one in self.candidates if self.kin.models[one.name] == self.kin.judges[judge]]
        if not own or len(own) == len(self.candidates) or judge not in self._of_all():
            return []
        rivals = [other for other in self.material.voters
                  if other in self._of_all() and self.kin.judges[other] != self.kin.judges[judge]]  # fmt: skip
        tested = set(self.kin.models.values())
        neutral = [other for other in rivals if self.kin.judges[other] not in tested]
        people = [person for person in self._of_all() if person in self.material.people]
        found = [self._row(judge, own, neutral or rivals, neutral=bool(neutral), people=False)] if rivals else []
        return found + ([self._row(judge, own, people, neutral=True, people=True)] if people else [])

    def _of_all(self) -> list[str]:
        """Who scored all models; no panels, whose members may be among the others."""
        return [
            judge
            for judge, known in self.material.judges.items()
            if known.kind != "panel"
            and all(judge in one.said and asked(one, self.setting, self.metric, judge) for one in self.candidates)
        ]

    def _row(
        self, judge: str, own: Sequence[Candidate], others: Sequence[str], *, neutral: bool, people: bool
    ) -> dict[str, Any]:
        refused = (self.material.refused(one, self.metric, (judge, other))
                   for other in others for one in self.candidates)  # fmt: skip
        row = {"judge": judge, "models": [one.name for one in own], "others": list(others), "neutral": neutral,
               "people": people, "not_comparable": next(filter(None, refused), ""), "compared": None}  # fmt: skip
        if row["not_comparable"]:
            return row
        gaps = {name: self._gaps(own, name) for name in (judge, *others)}
        shared = [case for case in gaps[judge] if all(case in of for of in gaps.values())]
        models = [self._model(other) for other in others]
        second = {case: _by_model((models[place], gaps[other][case]) for place, other in enumerate(others))
                  for case in shared}  # fmt: skip
        scores = {judge: {case: gaps[judge][case] for case in shared}, "people" if people else "other judges": second}
        return row | {"compared": PairedTest(scores, own[0].cluster_of_case.__getitem__)}

    def _model(self, judge: str) -> str:
        """What judges of one model share; a judge whose model is not known stands for itself."""
        spec = self.material.judges[judge].spec
        return f"judge:{judge}" if spec is None else f"model:{spec.model.name.casefold()}"

    def _gaps(self, own: Sequence[Candidate], judge: str) -> dict[str, float]:
        """Case -> mean of the own models less that of the others, by one judge, where all have a score."""
        scores = [(one, one.by_case(one.values(self.setting, self.metric, judge))) for one in self.candidates]
        cases = [case for case in scores[0][1] if all(case in of for _, of in scores)]
        mine = {one.name for one in own}
        found = {}
        for case in cases:
            sides: dict[bool, list[tuple[str, float]]] = {True: [], False: []}
            for one, of in scores:
                sides[one.name in mine].append((one.spec.model.name.casefold(), of[case]))
            found[case] = _by_model(sides[True]) - _by_model(sides[False])
        return found


def _by_model(values: Iterable[tuple[str, float]]) -> float:
    """The mean over models of the mean of each one's values."""
    of_model: dict[str, list[float]] = {}
    for model, value in values:
        of_model.setdefault(model, []).append(value)
    return fmean(fmean(of) for of in of_model.values())
