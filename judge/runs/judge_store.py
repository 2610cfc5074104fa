"""What judges said of a run: their facts, judgements by unit, and splits by a model, in the run's own file."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from judge.benchmark import Unit
from judge.chains.tools import Split
from judge.database import Database
from judge.errors import RunError
from judge.judgements import Judgement, StepCounts, UnitJudgements
from judge.outcome import Unscored
from judge.runs import texts
from judge.settings import ReasoningSource

#: Among the facts of a judged unit: the questions without a usable answer, as (address without ask, reason) pairs.
FAILED_CALLS = "failed_calls"

SCHEMA = """
CREATE TABLE judges (name TEXT PRIMARY KEY, facts TEXT NOT NULL);
CREATE TABLE judged (
    judge TEXT NOT NULL, unit TEXT NOT NULL, counts TEXT, missing TEXT NOT NULL, facts TEXT NOT NULL,
    finished REAL NOT NULL, PRIMARY KEY (judge, unit)
);
CREATE TABLE judgements (
    judge TEXT NOT NULL, unit TEXT NOT NULL, kind TEXT NOT NULL, item INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (judge, unit, kind, item)
);
CREATE TABLE splits (
    unit TEXT NOT NULL, source TEXT NOT NULL, prompt TEXT NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (unit, source, prompt)
);
"""


class JudgeStore:
    """The part of a run's file that is about judges; see `judge.runs.store.RunStore.judging`."""

    def __init__(self, folder: Path, database: Database) -> None:
        self._folder = folder
        self._database = database

    # -- judges ------------------------------------------------------------------------------------------------------

    def judges(self) -> dict[str, dict[str, Any]]:
        """Name of every judge -> what is known of it: its settings, source, hashes."""
        query = "SELECT name, facts FROM judges ORDER BY rowid"
        return self._database.run(lambda db: {name: json.loads(facts) for name, facts in db.execute(query)})

    def add_judge(
        self, name: str, facts: Mapping[str, Any], judged: Iterable[tuple[Unit, UnitJudgements]] = ()
    ) -> None:
        """Add a judge, perhaps with what it said; adds, never overwrites.

        Raises:
            RunError: the run has a judge of this name already.
        """
        if name in self.judges():
            raise RunError(f"{self._folder} has judgements by {name!r} already; give the judge another name")

        def write(db: sqlite3.Connection) -> None:
            db.execute("INSERT INTO judges VALUES (?, ?)", (name, json.dumps(facts)))
            for unit, said in judged:
                _insert(db, name, unit, said)

        self._database.run(write)

    def set_facts(self, name: str, facts: Mapping[str, Any]) -> None:
        """Replace what is known of a judge."""
        self._database.run(
            lambda db: db.execute("UPDATE judges SET facts = ? WHERE name = ?", (json.dumps(facts), name))
        )

    def remove_judge(self, name: str) -> None:
        """Take away a judge that has said nothing."""

        def write(db: sqlite3.Connection) -> None:
            (said,) = db.execute("SELECT count(*) FROM judged WHERE judge = ?", (name,)).fetchone()
            assert not said, "judgements are never thrown away"
            db.execute("DELETE FROM judges WHERE name = ?", (name,))
            db.execute("DELETE FROM scores WHERE judge = ?", (name,))

        self._database.run(write)

    def remove_silent(self, name: str, role: str) -> bool:
        """Take away a judge that has answered nothing but the probes, and these; whether it was such a one."""
        answers = """SELECT EXISTS (SELECT 1 FROM exchanges WHERE role = ? AND error = '' AND unit NOT LIKE '%/-/-/1')
            OR EXISTS (SELECT 1 FROM judged WHERE judge = ?)"""

        def write(db: sqlite3.Connection) -> bool:
            if db.execute(answers, (role, name)).fetchone()[0]:
                return False
            db.execute("UPDATE exchanges SET superseded = 1 WHERE role = ?", (role,))
            db.execute("DELETE FROM judges WHERE name = ?", (name,))
            return True

        return self._database.run(write)

    # -- judgements --------------------------------------------------------------------------------------------------

    async def finish(self, name: str, unit: Unit, said: UnitJudgements) -> None:
        """Keep what a judge said of a unit, in place of what it could say before with labels missing."""

        def write(db: sqlite3.Connection) -> None:
            _delete(db, unit.key, name)
            _insert(db, name, unit, said)

        await self._database.run_async(write)

    def keep_all(self, name: str, said: Iterable[tuple[Unit, UnitJudgements]]) -> None:
        """Keep what a judge said of some units, all of it or, if this fails, nothing."""

        def write(db: sqlite3.Connection) -> None:
            for unit, of_unit in said:
                _insert(db, name, unit, of_unit)

        self._database.run(write)

    def last_labelled(self, name: str) -> str | None:
        """Key of the unit that a judge gave labels last, of those that it still has labels of."""
        query = "SELECT unit FROM judgements WHERE judge = ? ORDER BY rowid DESC LIMIT 1"
        row = self._database.run(lambda db: db.execute(query, (name,)).fetchone())
        return str(row[0]) if row else None

    def take_back(self, name: str, unit: str) -> None:
        """Forget what a judge said of a unit, by its key, and the scores that rest on it."""

        def write(db: sqlite3.Connection) -> None:
            _delete(db, unit, name)
            db.execute("DELETE FROM scores WHERE unit = ? AND judge = ?", (unit, name))

        self._database.run(write)

    def judged(self, name: str) -> dict[str, UnitJudgements]:
        """Unit key -> what a judge said, for every unit that it judged."""

        def read(db: sqlite3.Connection) -> dict[str, UnitJudgements]:
            rows: dict[str, list[Judgement]] = {}
            query = "SELECT unit, body FROM judgements WHERE judge = ? ORDER BY unit, kind, item"
            for unit, body in db.execute(query, (name,)).fetchall():
                rows.setdefault(unit, []).append(Judgement.from_row(json.loads(texts.unpack(db, body))))
            heads = db.execute("SELECT unit, counts, missing, facts FROM judged WHERE judge = ?", (name,)).fetchall()
            return {
                unit: _said(rows.get(unit, ()), json.loads(counts), json.loads(missing), json.loads(facts))
                for unit, counts, missing, facts in heads
            }

        return self._database.run(read)

    def ask_again(self, said: Iterable[UnitJudgements], reasons: Collection[str]) -> None:
        """Set the exchanges aside whose answers were of no use for one of these reasons, so that they are asked again.

        Calls that failed are sent again anyway. Every other answer stays valid, and so does what was said with it.

        Args:
            said: what a judge said of the units that are judged again.
        """
        questions = {
            question for one in said for question, reason in one.facts.get(FAILED_CALLS, ()) if reason in reasons
        }

        def write(db: sqlite3.Connection) -> None:
            for question in questions:
                start = f"{question}/"
                db.execute("UPDATE exchanges SET superseded = 1 WHERE substr(address, 1, ?) = ?", (len(start), start))

        self._database.run(write)

    # -- splits: `judge.chains.tools.Splits` -------------------------------------------------------------------------

    async def find(self, unit: Unit, source: ReasoningSource, prompt: str) -> Split | None:
        def read(db: sqlite3.Connection) -> Split | None:
            query = "SELECT body FROM splits WHERE unit = ? AND source = ? AND prompt = ?"
            row = db.execute(query, (unit.key, source, prompt)).fetchone()
            return _split(json.loads(texts.unpack(db, row[0]))) if row else None

        return await self._database.run_async(read)

    async def keep(self, unit: Unit, split: Split) -> None:
        def write(db: sqlite3.Connection) -> None:
            body = texts.pack(db, json.dumps(asdict(split), ensure_ascii=False))
            row = unit.key, split.source, split.prompt, body
            db.execute("INSERT OR IGNORE INTO splits VALUES (?, ?, ?, ?)", row)

        await self._database.run_async(write)


def withdraw(db: sqlite3.Connection, unit: str) -> None:
    """Forget what all judges said of a unit whose transcript is gone, and how it was split."""
    _delete(db, unit)
    db.execute("DELETE FROM splits WHERE unit = ?", (unit,))


def _delete(db: sqlite3.Connection, unit: str, judge: str | None = None) -> None:
    for table in ("judged", "judgements"):
        if judge is None:
            db.execute(f"DELETE FROM {table} WHERE unit = ?", (unit,))
        else:
            db.execute(f"DELETE FROM {table} WHERE unit = ? AND judge = ?", (unit, judge))


def _insert(db: sqlite3.Connection, name: str, unit: Unit, said: UnitJudgements) -> None:
    missing = {kind: {"reason": why.reason, "detail": why.detail} for kind, why in said.missing.items()}
    counts = list(said.counts) if said.counts is not None else None
    head = (name, unit.key, json.dumps(counts), json.dumps(missing), json.dumps(dict(said.facts)), time.time())
    db.execute("INSERT INTO judged VALUES (?, ?, ?, ?, ?, ?)", head)
    for judgement in said.judgements:
        body = texts.pack(db, json.dumps(judgement.to_row(), ensure_ascii=False))
        db.execute("INSERT INTO judgements VALUES (?, ?, ?, ?, ?)",
                   (name, unit.key, judgement.kind, judgement.item, body))  # fmt: skip


def _said(
    judgements: Iterable[Judgement], counts: Sequence[Any] | None, missing: Mapping[str, Any], facts: Mapping[str, Any]
) -> UnitJudgements:
    return UnitJudgements(
        tuple(judgements),
        StepCounts(*counts) if counts is not None else None,
        {kind: Unscored(why["reason"], why["detail"]) for kind, why in missing.items()},
        facts,
    )


def _split(row: Mapping[str, Any]) -> Split:
    return Split(row["source"], row["by"], row["prompt"], tuple(row["steps"]))
