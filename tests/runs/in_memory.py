"""What a sensitivity report is made from, built from labels without any run on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from judge.benchmark import Case, JudgedBenchmark, Unit, registry
from judge.judgements import Judgement, UnitJudgements
from judge.outcome import Unscored
from judge.runs.store import StoredUnit
from judge.sensitivity import Material
from judge.sensitivity.material import Candidate, Judge
from judge.settings import JudgeSpec, ModelSpec, RunSpec
from tests.medrbench.synthetic import record

SETTING = "oracle"

Labels = Mapping[str, bool | None]
"""Case -> label of the whole answer; None where the judge failed; a case that is absent was not asked about."""


def model(name: str) -> ModelSpec:
    return ModelSpec(text=name, kind="imported", name=name)


def judge_of(name: str, of_model: str, **settings: Any) -> Judge:
    """A judge that is a model; without settings of its own it equals every other of that model."""
    return Judge(name, "model", JudgeSpec(name=name, model=model(of_model), only=("accuracy",), **settings))


def panel(name: str, *members: str) -> Judge:
    return Judge(name, "panel", members=members)


def candidate(
    name: str,
    said: Mapping[str, Labels],
    cases: Sequence[str],
    clusters: Mapping[str, str] | None = None,
    called: str = "",
) -> Candidate:
    """A model under test.

    Args:
        said: judge -> labels.
        clusters: case -> cluster; without it every case is one.
        called: how reports name it, if not as its model.
    """
    benchmark = registry()["medrbench"]
    assert isinstance(benchmark, JudgedBenchmark)
    units = {case: Unit("medrbench", SETTING, case, 1) for case in cases}
    by_unit = {judge: {units[case].key: _said(label) for case, label in of.items()} for judge, of in said.items()}
    return Candidate(
        name=called or name,
        folder=Path(name),
        spec=RunSpec(benchmark="medrbench", model=model(name), settings=(SETTING,), data="", data_hash="0",
                     tokenizer="words", nonce="0"),
        benchmark=benchmark,
        cases={case: Case(case, (clusters or {}).get(case, case), record()) for case in cases},
        units=tuple(StoredUnit(unit, "completed", "", (), None) for unit in units.values()),
        said=by_unit,
        facts={judge: {"source": "imported"} for judge in said},
    )  # fmt: skip


def _said(label: bool | None) -> UnitJudgements:
    if label is None:
        return UnitJudgements(missing={"accuracy": Unscored("truncated", "the reply was cut")})
    return UnitJudgements((Judgement("accuracy", 0, "", label),))


def material(
    candidates: Sequence[Candidate],
    judges: Sequence[Judge] = (),
    people: Sequence[str] = (),
    families: Sequence[Sequence[str]] = (),
) -> Material:
    """All of it; judges that are not described are imported."""
    known = {judge.name: judge for judge in judges}
    names = dict.fromkeys(name for one in candidates for name in one.said)
    found = {name: known.get(name, Judge(name, "imported")) for name in names}
    return Material(candidates[0].benchmark, tuple(candidates), found, frozenset(people), False,
                    tuple(map(tuple, families)))  # fmt: skip
