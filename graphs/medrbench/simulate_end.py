"""A session that has ended as a run folder, so that showing and scoring work on it as on any other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.benchmark import PENDING, Benchmark, Transcript
from judge.models.tokens import EstimateTokenizer
from judge.runs.scoring import rescore_run
from judge.runs.store import FILE, create_run, delete_run, open_run
from judge.seats.saved import Exchanges, Saved
from judge.settings import Generation, RunSpec, parse_model

if TYPE_CHECKING:
    from graphs.medrbench.simulate import Plan

RUN = "run"


def write_run(
    benchmark: Benchmark, plan: Plan, saved: Saved, exchanges: Exchanges, transcript: Transcript, runner: asyncio.Runner
) -> Path:
    """The run in the session's folder; one that is there already, and whole, is left as it is."""
    folder = saved.folder / RUN
    if _is_written(folder):
        return folder
    turns = transcript.data["turns"]
    facts = {
        "notes": [*plan.loaded.notes, *_notes(turns, saved.undone)],
        "files": dict(plan.loaded.files),
        "licence": benchmark.licence,
        "data": plan.head["data"],
        "session": saved.id,
    }
    store = create_run(folder, _spec(plan, turns), [plan.case], [plan.unit], facts)
    try:
        for exchange in exchanges.in_order():
            runner.run(store.keep(exchange))
        store.finish_many([(plan.unit, transcript)])
        rescore_run(store, benchmark)
    finally:
        store.close()
    return folder


def _is_written(folder: Path) -> bool:
    """Whether the run is there; one that a crash left half written is removed."""
    if not (folder / FILE).exists():
        return False
    store = open_run(folder, write=True)
    if any(stored.status == PENDING for stored in store.units(with_transcripts=False)):
        delete_run(store)
        return False
    store.close()
    return True


def _spec(plan: Plan, turns: Sequence[Mapping[str, Any]]) -> RunSpec:
    """As soon as the person wrote or steered a turn, the result is no model's."""
    seats = dict(plan.seats)
    doctor = seats.pop("doctor", None)
    alone = doctor is not None and not any(_touched(turn) for turn in turns)
    return RunSpec(
        benchmark=plan.unit.benchmark,
        model=doctor.spec if doctor and alone else parse_model("human"),
        generation=doctor.generation if doctor and alone else Generation(),
        others={role: seat.spec for role, seat in seats.items()},
        settings=(plan.unit.setting,),
        options=plan.options,
        data=plan.head["data"],
        data_hash=plan.loaded.data_hash,
        cases=(plan.case.id,),
        prompts=plan.prompts.hashes(),
        tokenizer=EstimateTokenizer.name,
        nonce=plan.head["nonce"],
    )


def _touched(turn: Mapping[str, Any]) -> bool:
    return turn["by"] == "person" or "note" in turn


def _notes(turns: Sequence[Mapping[str, Any]], undone: int) -> list[str]:
    """What must stand beside the numbers of a session."""
    of_person = [str(number) for number, turn in enumerate(turns, start=1) if turn["by"] == "person"]
    found = []
    if len(of_person) == len(turns):
        found.append("a person was the doctor")
    elif of_person:
        found.append(f"a person wrote turn {', '.join(of_person)}, a model the others")
    found += [f"after turn {n} a person told the doctor: {turn['note']}" for n, turn in enumerate(turns, start=1)
              if "note" in turn]  # fmt: skip
    if undone:
        found.append(f"the person took back {undone} turn{'s' if undone > 1 else ''}")
    return found
